//! The commands shown in the documentation print what stands there.
//!
//! In a `console` block a line that begins with `$ ` is a command, and what follows is all it prints, on
//! both streams. Blocks whose output is never twice the same are marked `text`.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The folder of the whole workspace.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The pages at the top and below `docs/`.
fn pages() -> Vec<PathBuf> {
    let root = root();
    let mut pages = Vec::new();
    for folder in ["", "docs/guide", "docs/reference", "docs/design"] {
        for entry in fs::read_dir(root.join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "md") {
                pages.push(path);
            }
        }
    }
    pages.sort();
    pages
}

/// The commands of a page, each with what should follow it.
fn sessions(text: &str) -> Vec<(String, String)> {
    let mut sessions: Vec<(String, String)> = Vec::new();
    let mut is_console = false;
    for line in text.lines() {
        if let Some(language) = line.strip_prefix("```") {
            is_console = language == "console";
        } else if let Some(command) = line.strip_prefix("$ ").filter(|_| is_console) {
            sessions.push((command.to_owned(), String::new()));
        } else if let Some((_, output)) = sessions.last_mut().filter(|_| is_console) {
            output.push_str(line);
            output.push('\n');
        }
    }
    sessions
}

/// What the command prints, on both streams, in a terminal of 80 columns without colours.
fn printed(command: &str) -> String {
    let binary = Path::new(env!("CARGO_BIN_EXE_tidewheel"));
    let command = command.replace("cargo run --release -- ", "tidewheel ");
    assert!(command.starts_with("tidewheel "), "only our own commands can be checked: {command}");
    let path = std::env::var("PATH").unwrap_or_default();
    let output = Command::new("sh")
        .args(["-c", &format!("exec 2>&1; {command}")])
        .current_dir(root())
        .env("PATH", format!("{}:{path}", binary.parent().unwrap().display()))
        .env("COLUMNS", "80")
        .env("NO_COLOR", "1")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn commands_print_what_the_pages_show() {
    let mut count = 0;
    let mut wrong = Vec::new();
    for page in pages() {
        for (command, shown) in sessions(&fs::read_to_string(&page).unwrap()) {
            count += 1;
            let printed = printed(&command);
            if printed.trim_end() != shown.trim_end() {
                let page = page.display();
                wrong.push(format!("{page}: $ {command}\nshown:\n{shown}\nprinted:\n{printed}"));
            }
        }
    }
    assert!(count >= 10, "only {count} commands were found");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
