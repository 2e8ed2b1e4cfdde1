//! What files become, where its values are, and what is said about files that are wrong.

use super::*;
use crate::language::problem::{Problems, SourceFiles, Style};

mod hostile;
mod places;
mod values;
mod wrong;

/// A file that was read.
struct Read {
    files: SourceFiles,
    problems: Problems,
    root: Option<Node>,
}

fn read(text: &str) -> Read {
    read_with(text, &Limits::default())
}

fn read_with(text: &str, limits: &Limits) -> Read {
    let mut files = SourceFiles::new();
    let file = files.push("flow.yaml", text.into());
    let mut problems = Problems::new();
    let root = parse(file, text, limits, &mut problems);
    Read { files, problems, root }
}

/// The tree of a file without problems.
fn good(text: &str) -> Node {
    let read = read(text);
    assert!(read.problems.is_empty(), "{}", read.shown());
    read.root.unwrap()
}

fn json(text: &str) -> serde_json::Value {
    good(text).to_json()
}

impl Read {
    fn shown(&self) -> String {
        self.problems.render(&self.files, Style::Plain, 100)
    }

    /// The codes and the places of all problems.
    fn found(&self) -> Vec<String> {
        let found = self.problems.iter().map(|problem| {
            let (line, column) = self.files.line_column(problem.span.unwrap());
            format!("{}@{line}:{column}", problem.code)
        });
        found.collect()
    }
}
