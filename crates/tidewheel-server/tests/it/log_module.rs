//! The module that shows logs in a browser, as far as it can be judged without one.
//!
//! What it asks for is tried in `reading`.

use std::path::Path;

fn page(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("page").join(name);
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn what_a_process_wrote_becomes_text_and_never_markup() {
    let script = page("log.js");
    // Whatever makes elements, styles or code of a text, or lets another origin have a say.
    let ways = [
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "createContextualFragment",
        "document.write",
        "DOMParser",
        "setHTML",
        "srcdoc",
        "eval(",
        "Function(",
        "setAttribute('style",
        "style=",
        "cssText",
        "import ",
        "import(",
    ];
    let found: Vec<&str> = ways.into_iter().filter(|way| script.contains(way)).collect();
    assert_eq!(found, [] as [&str; 0]);
    assert_eq!(script.matches("export function mountLog(").count(), 1);
    assert!(script.contains("https?:"), "links are those that browsers fetch");
    assert!(script.len() <= 18_000, "{} bytes", script.len());
}

#[test]
fn every_style_that_a_line_can_have_is_drawn() {
    let sheet = page("log.css");
    let colours =
        (0..16).flat_map(|colour| [format!(".log .f{colour}"), format!(".log .g{colour}")]);
    let marks = ["b", "d", "i", "u", "s"].map(|mark| format!(".log .{mark}"));
    for style in colours.chain(marks) {
        let is_drawn = [",", "{", "."].iter().any(|end| sheet.contains(&format!("{style}{end}")));
        assert!(is_drawn, "{style}");
    }
    assert!(!sheet.contains("url(") && !sheet.contains("@import"));
}
