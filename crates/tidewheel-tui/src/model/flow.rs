//! [`ShownFlow`]: a flow that is looked at, with its files line by line and what is wrong there.
//!
//! How it did in its last runs is told with what matters now; how it looks is in [`crate::view`].

use serde_json::Value as Json;
use tidewheel_client::api::FlowSource;
use tidewheel_client::text::{name, sentence};

use super::list::List;
use super::log::visible;

/// A flow that is looked at.
#[derive(Debug, Default)]
pub struct ShownFlow {
    /// Its name.
    pub name: String,
    /// Its files, row by row; `None`: nothing is known yet.
    pub rows: Option<Vec<FlowRow>>,
    /// Where in them.
    pub list: List,
}

/// A row of the files of a flow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FlowRow {
    /// A file begins, which is this version of it, if there are several.
    File(String, &'static str),
    /// A line of it, with its number.
    Line(usize, String),
    /// What is wrong with the line above, or with the file as a whole, and whether it keeps the flow from being run.
    Problem(String, bool),
    /// What to do about it.
    Hint(String),
}

impl FlowRow {
    /// Its words.
    #[must_use]
    pub fn text(&self) -> &str {
        match self {
            Self::File(text, _)
            | Self::Line(_, text)
            | Self::Problem(text, _)
            | Self::Hint(text) => text,
        }
    }
}

impl ShownFlow {
    /// A flow of which nothing is known yet.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self { name: name.to_owned(), ..Self::default() }
    }

    /// Takes in what its files say. Whoever comes to look begins at the first thing that is wrong.
    pub fn take_in(&mut self, source: &FlowSource) {
        let mut rows = Vec::new();
        let shown = source.shown();
        for (file, note, problems) in &shown {
            rows.push(FlowRow::File(name(&file.path), note));
            let count = file.text.lines().count();
            let line = |problem: &Json| problem["line"].as_u64().map_or(0, |line| line as usize);
            let is_of_none = |problem: &&&Json| !(1..=count).contains(&line(problem));
            problems.iter().filter(is_of_none).for_each(|it| push_problem(&mut rows, it, ""));
            for (text, number) in file.text.lines().zip(1..) {
                rows.push(FlowRow::Line(number, visible(text)));
                let here = problems.iter().filter(|problem| line(problem) == number);
                here.for_each(|it| push_problem(&mut rows, it, ""));
            }
        }
        // In files that are not shown, as those of flows that it calls.
        for problem in source.problems.as_array().into_iter().flatten() {
            let is_it = |other: &&Json| std::ptr::eq(*other, problem);
            if !shown.iter().any(|(_, _, problems)| problems.iter().any(is_it)) {
                let file = problem["file"].as_str().unwrap_or_default();
                let place = match problem["line"].as_u64() {
                    Some(line) => format!("{file}, line {line}: "),
                    None => format!("{file}: "),
                };
                push_problem(&mut rows, problem, &place);
            }
        }
        if self.rows.is_none() {
            let is_problem = |row: &FlowRow| matches!(row, FlowRow::Problem(..));
            self.list.cursor = rows.iter().position(is_problem).unwrap_or_default();
        }
        self.rows = Some(rows);
    }

    /// The rows that are shown, by their places.
    #[must_use]
    pub fn shown(&self) -> Vec<usize> {
        let all = self.rows.iter().flatten().enumerate();
        all.filter(|(_, row)| self.list.takes(row.text())).map(|(place, _)| place).collect()
    }

    /// The row that is selected.
    #[must_use]
    pub fn selected(&self) -> Option<&FlowRow> {
        let shown = self.shown();
        let place = shown.get(self.list.cursor.min(shown.len().saturating_sub(1)))?;
        self.rows.as_ref()?.get(*place)
    }
}

fn push_problem(rows: &mut Vec<FlowRow>, problem: &Json, place: &str) {
    let message = problem["message"].as_str().unwrap_or_default();
    let is_error = problem["severity"] == "error";
    rows.push(FlowRow::Problem(sentence(&format!("{place}{message}")), is_error));
    rows.extend(problem["hint"].as_str().map(|hint| FlowRow::Hint(sentence(hint))));
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test")]

    use serde_json::json;

    use super::*;
    use crate::samples::source;

    fn problems(flow: &ShownFlow) -> Vec<(String, String)> {
        let rows = flow.rows.as_ref().unwrap();
        let all = rows.windows(2).filter(|rows| matches!(rows[1], FlowRow::Problem(..)));
        all.map(|rows| (rows[0].text().to_owned(), rows[1].text().to_owned())).collect()
    }

    #[test]
    fn what_is_wrong_stands_below_its_line_and_is_looked_at_first() {
        let mut flow = ShownFlow::new("nightly");
        flow.take_in(&source());
        let (line, problem) = problems(&flow).remove(0);
        assert!(line.contains("shel:") && problem.contains("unknown key"), "{line}, {problem}");
        assert_eq!(flow.selected().unwrap().text(), problem);
        // Whoever has gone elsewhere stays there.
        flow.list.cursor = 0;
        flow.take_in(&source());
        assert_eq!(flow.list.cursor, 0);
    }

    #[test]
    fn no_problem_is_left_out_whatever_its_place() {
        let mut source = source();
        source.problems = json!([
            { "message": "of the file", "severity": "error", "file": "flows/nightly.yaml" },
            { "message": "beyond it", "severity": "error", "file": "flows/nightly.yaml", "line": 900 },
            { "message": "of another", "severity": "error", "file": "flows/child.yaml", "line": 2 },
            { "message": "of no file", "severity": "warning" },
        ]);
        let mut flow = ShownFlow::new("nightly");
        flow.take_in(&source);
        let mut told: Vec<String> = problems(&flow).into_iter().map(|(_, told)| told).collect();
        told.sort();
        let all =
            ["beyond it", "flows/child.yaml, line 2: of another", "of no file", "of the file"];
        assert_eq!(told, all);
    }

    #[test]
    fn lines_are_found_by_their_text() {
        let mut flow = ShownFlow::new("nightly");
        flow.take_in(&source());
        flow.list.filter = "LOAD".to_owned();
        let rows = flow.rows.as_ref().unwrap();
        let found: Vec<&str> = flow.shown().iter().map(|place| rows[*place].text()).collect();
        assert!(!found.is_empty() && found.iter().all(|it| it.contains("load")), "{found:?}");
    }
}
