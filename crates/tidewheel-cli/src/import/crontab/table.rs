//! [`import`]: the lines of a crontab in order, with what holds for those that follow.
//!
//! How a single line is read, and what becomes of its parts, is in the files beside this one.

use std::collections::BTreeMap;

use super::flow;
use super::line::{Entry, Line, read_line};
use super::name::Names;
use crate::import::Warning;

/// What an import knows besides the crontab.
#[derive(Debug, Clone, Default)]
pub(crate) struct Surroundings {
    /// Whether entries have a column with the user.
    pub is_system: bool,
    /// The zone that was asked for.
    pub zone: Option<String>,
    /// The zone of this machine.
    pub zone_here: String,
    /// The home folder of whoever owns the crontab.
    pub home: Option<String>,
    /// Home folders by user, for entries with a user.
    pub homes: BTreeMap<String, String>,
}

/// A crontab as flows.
#[derive(Debug, Default)]
pub(crate) struct Imported {
    pub flows: Vec<ImportedFlow>,
    /// In the order of the lines.
    pub warnings: Vec<Warning>,
}

/// One entry as a flow file.
#[derive(Debug)]
pub(crate) struct ImportedFlow {
    /// Unique among the flows of the crontab, and fit for the name of a file.
    pub name: String,
    pub line: usize,
    /// When it runs, if that can be said.
    pub schedule: Option<String>,
    pub text: String,
}

/// Makes a flow of every entry.
pub(crate) fn import(text: &str, surroundings: &Surroundings) -> Imported {
    let mut reader = Reader {
        surroundings,
        variables: Vec::new(),
        comments: Vec::new(),
        names: Names::default(),
        drafts: Vec::new(),
        unreadable: Vec::new(),
        warnings: Vec::new(),
    };
    for (line, number) in text.lines().zip(1..) {
        reader.line(line.trim_end_matches('\r'), number);
    }
    reader.finish()
}

/// Reads line by line, since what a line means depends on those above it.
struct Reader<'a> {
    surroundings: &'a Surroundings,
    /// Variables in force, in the order they were first set.
    variables: Vec<(String, String)>,
    /// Comments directly above.
    comments: Vec<String>,
    names: Names,
    drafts: Vec<flow::Draft>,
    /// Remarks about lines that are no entries, for the next flow.
    unreadable: Vec<String>,
    warnings: Vec<Warning>,
}

impl Reader<'_> {
    fn line(&mut self, text: &str, number: usize) {
        match read_line(text, self.surroundings.is_system) {
            Line::Blank => self.comments.clear(),
            Line::Comment(comment) => self.comment(comment, number),
            Line::Variable { name, value } => {
                self.comments.clear();
                self.set(name, value);
            }
            Line::Entry(entry) => self.entry(&entry, text, number),
            Line::Unreadable(why) => {
                self.comments.clear();
                self.warn(number, format!("this is no entry: {why}"));
                let text = text.trim();
                self.unreadable.push(format!("Line {number} could not be read ({why}):\n  {text}"));
            }
        }
    }

    fn comment(&mut self, comment: String, number: usize) {
        if is_legend(&comment) {
            // Explains the columns, as does what stands above it.
            self.comments.clear();
        } else if let Line::Entry(entry) = read_line(&comment, self.surroundings.is_system)
            && entry.when.is_valid()
        {
            self.comments.clear();
            self.warn(number, "this is an entry that is commented out; it was left out".to_owned());
        } else {
            self.comments.push(comment);
        }
    }

    /// Sets a variable for all entries that follow.
    fn set(&mut self, name: String, value: String) {
        match self.variables.iter_mut().find(|(known, _)| *known == name) {
            Some((_, known)) => *known = value,
            None => self.variables.push((name, value)),
        }
    }

    fn entry(&mut self, entry: &Entry, text: &str, number: usize) {
        let name = self.names.of_command(&entry.command, number);
        let comments = std::mem::take(&mut self.comments);
        let mut draft = flow::Draft::new(name, number, text, entry, self.surroundings);
        draft.describe(&comments);
        draft.variables(&self.variables);
        draft.remarks.append(&mut self.unreadable);
        self.warnings.append(&mut draft.warnings);
        self.drafts.push(draft);
    }

    fn warn(&mut self, line: usize, text: String) {
        self.warnings.push(Warning { line: Some(line), text });
    }

    fn finish(mut self) -> Imported {
        if let Some(last) = self.drafts.last_mut() {
            last.remarks.append(&mut self.unreadable);
        }
        let flows = self.drafts.iter().map(flow::Draft::write).collect();
        Imported { flows, warnings: self.warnings }
    }
}

/// Whether a comment explains the columns, as the first lines of many crontabs do.
fn is_legend(comment: &str) -> bool {
    let words: Vec<String> = comment.split_whitespace().map(str::to_ascii_lowercase).collect();
    let has = |phrase: &[&str]| words.windows(phrase.len()).any(|part| part == phrase);
    has(&["dom", "mon", "dow"])
        || has(&["command", "to", "be", "executed"])
        || has(&["mday", "month", "wday"])
        || (comment.trim_start().starts_with(['.', '|']) && comment.contains("---"))
}

#[cfg(test)]
mod legend_tests {
    use super::*;

    #[test]
    fn what_explains_the_columns_is_no_description() {
        for (comment, expected) in [
            ("m h  dom mon dow   command", true),
            ("m h dom mon dow user\tcommand", true),
            ("*  *  *  *  * user-name command to be executed", true),
            ("minute hour mday month wday who command", true),
            (".---------------- minute (0 - 59)", true),
            ("|  .------------- hour (0 - 23)", true),
            ("every month: the command to run", false),
            ("------ backups ------", false),
        ] {
            assert_eq!(is_legend(comment), expected, "{comment}");
        }
    }
}
