//! Browser tests act on a page and read it only with the functions of `actions.mjs`, which wait.
//!
//! A read right after an action finds the page as it was before, and a key is lost that is pressed before the modules of
//! the page have started. Waits themselves are checked by the browser tests.

use std::fs;

use super::assert_none;
use super::sources::root;

/// Methods of Playwright that act at once or read at once, and waits for a time.
const REFUSED: [&str; 26] = [
    ".allInnerTexts(",
    ".allTextContents(",
    ".boundingBox(",
    ".check(",
    ".click(",
    ".count(",
    ".fill(",
    ".goBack(",
    ".hover(",
    ".innerText(",
    ".inputValue(",
    ".isChecked(",
    ".isDisabled(",
    ".isVisible(",
    ".keyboard.",
    ".mouse.",
    ".press(",
    ".reload(",
    ".selectOption(",
    ".tap(",
    ".textContent(",
    ".uncheck(",
    ".waitForTimeout(",
    "page.getAttribute(",
    "page.goto(",
    "setTimeout(",
];

/// Files that may use them: the functions themselves, the world with its login, and what measures without asserting.
const EXEMPT: [&str; 3] = ["actions.mjs", "measure.mjs", "world.mjs"];

/// Reads of a page whose clock or server the test has stopped.
const ALLOWED: &str = "now.count(";

fn refused(text: &str) -> Vec<String> {
    let lines = text.lines().enumerate();
    let wrong = lines.filter_map(|(number, line)| {
        let line = line.replace(ALLOWED, "");
        let word = REFUSED.iter().find(|word| line.contains(**word))?;
        Some(format!("{}: {word}", number + 1))
    });
    wrong.collect()
}

#[test]
fn browser_tests_wait_before_they_act_and_read() {
    let folder = root().join("crates/tidewheel-cli/tests/browser");
    let mut found = Vec::new();
    let mut files = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if EXEMPT.contains(&name.as_str()) || !name.ends_with(".mjs") {
            continue;
        }
        files += 1;
        let text = fs::read_to_string(&path).unwrap();
        found.extend(refused(&text).into_iter().map(|line| format!("{name}:{line}")));
    }
    assert!(files >= 7, "only {files} files were found");
    assert_none("reads and actions that do not wait: use `actions.mjs`", found);
}

#[test]
fn refused_methods_are_found() {
    let text = "await page.click('a');\nawait click(page, 'a');\nassert.equal(await page.textContent('h1'), 'x');\n";
    assert_eq!(refused(text), ["1: .click(", "3: .textContent("]);
    assert_eq!(refused("expect(() => now.count(page, 'a'), 1)"), [] as [&str; 0]);
}
