//! The documentation is true: its code is code that runs, its links lead somewhere, and the tests
//! it promises exist.
//!
//! Commands and their output are checked beside the binary, in `tidewheel-cli`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

#[cfg(feature = "sqlite")]
#[path = "../../examples/durable.rs"]
mod durable;
#[path = "../../examples/explain_and_observe.rs"]
mod explain_and_observe;
#[cfg(all(feature = "serde", feature = "tracing", feature = "metrics"))]
#[path = "../../examples/fitting_in.rs"]
mod fitting_in;
#[path = "../../examples/getting_started.rs"]
mod getting_started;
#[path = "../../examples/graphs.rs"]
mod graphs;
#[path = "../../examples/priorities_and_limits.rs"]
mod priorities_and_limits;
#[path = "../../examples/quickstart.rs"]
mod quickstart;
#[cfg(feature = "http")]
#[path = "../../examples/requests.rs"]
mod requests;
#[path = "../../examples/schedules.rs"]
mod schedules;

#[test]
fn the_quickstart_runs() {
    quickstart::run().unwrap();
}

#[test]
fn getting_started_runs() {
    getting_started::run().unwrap();
}

#[test]
fn the_guide_to_graphs_runs() {
    graphs::run().unwrap();
}

#[test]
fn the_guide_to_priorities_and_limits_runs() {
    priorities_and_limits::run().unwrap();
}

#[test]
fn the_guide_to_schedules_runs() {
    schedules::run().unwrap();
}

#[test]
fn the_guide_to_explaining_runs_and_shows_what_it_prints() {
    explain_and_observe::run().unwrap();
}

#[cfg(feature = "sqlite")]
#[test]
fn the_guide_to_surviving_a_crash_runs() {
    durable::run().unwrap();
}

#[cfg(feature = "http")]
#[test]
fn the_requests_of_the_reference_run() {
    requests::run().unwrap();
}

#[cfg(all(feature = "serde", feature = "tracing", feature = "metrics"))]
#[test]
fn the_guide_to_fitting_in_runs() {
    fitting_in::run().unwrap();
}

/// The folder of the whole workspace.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Every page: those at the top, those of the crates, all of `docs/`.
fn pages() -> Vec<PathBuf> {
    let mut pages = Vec::new();
    for folder in [root(), root().join("crates")] {
        collect(&folder, 1, "md", &mut pages);
    }
    collect(&root().join("docs"), 9, "md", &mut pages);
    pages.sort();
    pages.dedup();
    assert!(pages.len() > 15, "only {} pages were found", pages.len());
    pages
}

fn collect(folder: &Path, depth: u32, extension: &str, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if depth > 0 && name != "target" && !name.starts_with('.') {
                collect(&path, depth - 1, extension, found);
            }
        } else if path.extension().is_some_and(|found| found == extension) {
            found.push(path);
        }
    }
}

/// The fenced blocks of a page: language and text.
fn blocks(text: &str) -> Vec<(String, String)> {
    let mut blocks = Vec::new();
    let mut open: Option<(String, String)> = None;
    for line in text.lines() {
        match (line.strip_prefix("```"), &mut open) {
            (Some(language), None) => open = Some((language.trim().to_owned(), String::new())),
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (None, Some((_, block))) => {
                block.push_str(line);
                block.push('\n');
            }
            (None, None) => {}
        }
    }
    assert!(open.is_none(), "a block is not closed");
    blocks
}

/// What stands between `// [snippet: name]` and `// [end]` in the examples, without indentation.
fn snippets() -> BTreeMap<String, String> {
    let mut files = Vec::new();
    for crate_folder in fs::read_dir(root().join("crates")).unwrap() {
        let examples = crate_folder.unwrap().path().join("examples");
        if examples.exists() {
            collect(&examples, 0, "rs", &mut files);
        }
    }
    let mut snippets = BTreeMap::new();
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let stem = file.file_stem().unwrap().to_string_lossy().into_owned();
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            let Some(name) = line.trim().strip_prefix("// [snippet: ") else { continue };
            let name = name.trim_end_matches(']');
            let body: Vec<&str> =
                lines.by_ref().take_while(|line| line.trim() != "// [end]").collect();
            snippets.insert(format!("{stem}: {name}"), unindented(&body));
        }
    }
    snippets
}

fn unindented(lines: &[&str]) -> String {
    let indent = |line: &&str| line.len() - line.trim_start().len();
    let least = lines.iter().filter(|line| !line.trim().is_empty()).map(indent).min().unwrap_or(0);
    lines.iter().map(|line| format!("{}\n", line.get(least..).unwrap_or(""))).collect()
}

#[test]
fn all_rust_in_the_pages_is_taken_from_examples_that_run() {
    let snippets = snippets();
    let mut used = BTreeSet::new();
    let mut strangers = Vec::new();
    for page in pages() {
        for (language, block) in blocks(&fs::read_to_string(&page).unwrap()) {
            if !language.starts_with("rust") {
                continue;
            }
            match snippets.iter().find(|(_, snippet)| **snippet == block) {
                Some((name, _)) => drop(used.insert(name.clone())),
                None => strangers.push(format!("{}:\n{block}", page.display())),
            }
        }
    }
    assert!(strangers.is_empty(), "in no example:\n{}", strangers.join("\n"));
    let unused: Vec<_> = snippets.keys().filter(|name| !used.contains(*name)).collect();
    assert!(unused.is_empty(), "shown on no page: {unused:?}");
}

#[test]
fn links_between_pages_lead_somewhere() {
    let mut broken = Vec::new();
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        for target in links(&text) {
            if target.contains("://") || target.starts_with("mailto:") {
                continue;
            }
            let (file, anchor) = target.split_once('#').unwrap_or((target.as_str(), ""));
            let there = if file.is_empty() { page.clone() } else { page.with_file_name(file) };
            if !there.exists() {
                broken.push(format!("{} -> {target}", page.display()));
            } else if !anchor.is_empty() && !anchors(&there).contains(anchor) {
                broken.push(format!("{} -> {target} (no such heading)", page.display()));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

/// The targets of `[text](target)`, outside of blocks.
fn links(text: &str) -> Vec<String> {
    let mut is_code = false;
    let mut targets = Vec::new();
    for line in text.lines() {
        is_code ^= line.starts_with("```");
        if is_code {
            continue;
        }
        for piece in line.split("](").skip(1) {
            if let Some((target, _)) = piece.split_once(')') {
                targets.push(target.to_owned());
            }
        }
    }
    targets
}

/// The names that headings of a page have as targets of links.
fn anchors(page: &Path) -> BTreeSet<String> {
    let text = fs::read_to_string(page).unwrap();
    let headings = text.lines().filter(|line| line.starts_with('#'));
    headings
        .map(|line| {
            let title = line.trim_start_matches('#').trim().to_lowercase();
            let kept =
                title.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
            kept.map(|c| if c == ' ' { '-' } else { c }).collect()
        })
        .collect()
}

#[test]
fn files_that_pages_name_exist() {
    let mut files = Vec::new();
    for extension in ["rs", "md", "txt", "json", "toml"] {
        collect(&root(), 9, extension, &mut files);
    }
    let mut missing = Vec::new();
    for page in pages() {
        for span in fs::read_to_string(&page).unwrap().split('`').skip(1).step_by(2) {
            let (file, _) = span.split_once("::").unwrap_or((span, ""));
            let is_file = [".rs", ".md", ".txt", ".json"].iter().any(|end| file.ends_with(end));
            // What begins with a slash is asked of a server.
            if is_file
                && file.contains('/')
                && !file.starts_with('/')
                && !file.contains(char::is_whitespace)
                && !files.iter().any(|known| known.ends_with(file))
            {
                missing.push(format!("{}: {file}", page.display()));
            }
        }
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

#[test]
fn constants_that_pages_name_exist() {
    let mut files = Vec::new();
    collect(&root().join("crates"), 9, "rs", &mut files);
    let sources: String = files.iter().map(|file| fs::read_to_string(file).unwrap()).collect();
    let mut missing = Vec::new();
    for page in pages() {
        for span in fs::read_to_string(&page).unwrap().split('`').skip(1).step_by(2) {
            let is_constant =
                span.contains('_') && span.chars().all(|c| c == '_' || c.is_ascii_uppercase());
            if is_constant && !sources.contains(span) {
                missing.push(format!("{}: {span}", page.display()));
            }
        }
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

#[test]
fn every_promised_test_exists() {
    let page = fs::read_to_string(root().join("docs/reference/guarantees.md")).unwrap();
    let mut promises = 0;
    let mut missing = Vec::new();
    for line in page.lines().filter(|line| line.starts_with('|')) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let Some(shown_by) = cells.last().filter(|cell| cell.starts_with('`')) else { continue };
        promises += 1;
        for name in shown_by.split('`').skip(1).step_by(2) {
            if !is_shown(name) {
                missing.push(name.to_owned());
            }
        }
    }
    assert!(promises >= 60, "only {promises} promises were found");
    assert!(missing.is_empty(), "not found: {missing:#?}");
}

/// `path/of/file.rs::test`, `path/of/file.mjs::what holds in a browser`, or a file by itself.
fn is_shown(name: &str) -> bool {
    let (file, test) = name.split_once("::").unwrap_or((name, ""));
    let Ok(text) = fs::read_to_string(root().join("crates").join(file)) else { return false };
    if file.ends_with(".mjs") {
        return text.contains(&format!("  async '{test}'("));
    }
    let lines: Vec<&str> = text.lines().map(str::trim_start).collect();
    let is_test = |at: usize| {
        let before = lines[..at].iter().rev();
        before
            .take_while(|line| line.starts_with("#[") || line.starts_with("//"))
            .any(|line| line.starts_with("#[test]") || line.starts_with("#[tokio::test"))
    };
    // Tests of processes have a runner of their own, which goes by lists.
    let is_listed =
        text.contains("pub const TESTS: &[Test]") && text.contains(&format!(" {test})"));
    let heads = [format!("fn {test}("), format!("async fn {test}(")];
    let is_head = |at: &usize| heads.iter().any(|head| lines[*at].starts_with(head));
    test.is_empty() || (0..lines.len()).filter(is_head).any(|at| is_listed || is_test(at))
}
