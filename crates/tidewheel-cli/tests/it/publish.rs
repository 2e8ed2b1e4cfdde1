//! `tidewheel publish`, from a folder to a picture and an exit code.
//!
//! Which packages are found, and what is in their way, is tested in `tidewheel-publish`.

use crate::common::{Scratch, stderr, stdout};

fn package(name: &str, needs: &str) -> String {
    format!(r#"{{ "name": "{name}", "version": "1.0.0", "dependencies": {{ {needs} }} }}"#)
}

/// A workspace of three packages, the first of which needs this.
fn workspace(scratch: &Scratch, first_needs: &str) {
    for folder in ["a", "b", "c"] {
        std::fs::create_dir(scratch.path(folder)).unwrap();
    }
    scratch.file("package.json", r#"{ "private": true, "workspaces": ["*"] }"#);
    scratch.file("a/package.json", &package("a", first_needs));
    scratch.file("b/package.json", &package("b", r#""a": "workspace:^""#));
    scratch.file("c/package.json", &package("c", r#""a": "1", "b": "1""#));
}

#[test]
fn a_workspace_is_drawn_in_the_order_in_which_it_can_be_published() {
    let scratch = Scratch::new("publish-graph");
    workspace(&scratch, "");
    let folder = scratch.path("");
    let output = scratch.run(&["publish", "graph", folder.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let drawn = stdout(&output);
    let place = |name: &str| drawn.find(&format!(" {name}  npm · 1.0.0")).unwrap();
    assert!(place("a") < place("b") && place("b") < place("c"), "{drawn}");
    let picture = scratch.path("w.svg");
    let arguments = ["publish", "graph", "--format", "svg", "-o", picture.to_str().unwrap()];
    let output = scratch.command(&arguments).current_dir(&folder).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(scratch.read("w.svg").starts_with("<svg"));
}

#[test]
fn what_is_in_the_way_is_told_with_its_file_and_what_to_do_and_is_drawn_all_the_same() {
    let scratch = Scratch::new("publish-problems");
    workspace(&scratch, r#""c": "^1.0.0""#);
    scratch.file("b/package.json", "{\n \"name\": }");
    let folder = scratch.path("");
    let output = scratch.run(&["publish", "graph", folder.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(3));
    assert!(stdout(&output).contains(" c  npm"), "{}", stdout(&output));
    let told = stderr(&output);
    assert!(told.contains("2 problems:"), "{told}");
    assert!(told.contains("b/package.json:2: it is no JSON"), "{told}");
    assert!(
        told.contains("npm:a → npm:c → npm:a") || told.contains("npm:c → npm:a → npm:c"),
        "{told}"
    );
    assert!(
        told.contains("[cycle]") && told.contains("hint: take one of these needs out"),
        "{told}"
    );
    let output = scratch.run(&["publish", "graph", "/nowhere"]);
    assert_eq!(output.status.code(), Some(4));
}

#[test]
fn what_the_codes_mean_is_said() {
    let scratch = Scratch::new("publish-codes");
    let output = scratch.run(&["publish", "explain", "development-cycle"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let told = stdout(&output);
    assert!(told.starts_with("development-cycle: A development dependency with"), "{told}");
    // All of them, and each is on the page of what is in the way.
    let output = scratch.run(&["publish", "explain", "--format", "json"]);
    let all: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference");
    let pages =
        ["publish.md", "cli.md"].map(|name| std::fs::read_to_string(root.join(name)).unwrap());
    for code in all.as_array().unwrap().iter().map(|it| it["code"].as_str().unwrap()) {
        let row = format!("| `{code}` |");
        assert!(pages.iter().any(|page| page.contains(&row)), "{code} is on no page");
    }
    // What goes wrong on the way has a word, too.
    let output = scratch.run(&["publish", "explain", "conflict"]);
    assert!(stdout(&output).starts_with("conflict: The version is out"), "{}", stdout(&output));
    let output = scratch.run(&["publish", "explain", "nonsense"]);
    assert_eq!(output.status.code(), Some(4));
    assert!(stderr(&output).contains("development-cycle"), "{}", stderr(&output));
}
