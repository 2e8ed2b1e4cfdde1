//! What a failure means for the tasks that wait for it, for the other branches, and for the run.
//!
//! Retries come before all this (see [`crate::policy::retry`]); skipping descendants and stopping a
//! run are done by the scheduler. `docs/reference/failure-policies.md` states the rule for readers
//! and holds the table that [`truth_table`] gives.

use std::fmt;
use std::str::FromStr;

/// What to do about a failure. The order is by strictness: `Continue < Skip < Fail`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OnError {
    /// The dependent runs all the same.
    Continue,
    /// The dependent and everything after it is skipped; other branches go on.
    Skip,
    /// The run stops: nothing more starts, and all that has not started is skipped.
    Fail,
}

impl OnError {
    /// The word as written in files.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Continue => "continue",
            Self::Skip => "skip",
            Self::Fail => "fail",
        }
    }
}

impl fmt::Display for OnError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Text that is not one of the three words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not one of fail, skip and continue")]
pub struct ParseOnErrorError {
    text: String,
}

/// One of the three words, in any case.
impl FromStr for OnError {
    type Err = ParseOnErrorError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        [Self::Continue, Self::Skip, Self::Fail]
            .into_iter()
            .find(|word| word.as_str().eq_ignore_ascii_case(text.trim()))
            .ok_or_else(|| ParseOnErrorError { text: text.to_owned() })
    }
}

/// The two words a task may have of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ErrorWords {
    /// For when the task fails and, unless the other word is set, when what it needs failed.
    pub on_error: Option<OnError>,
    /// For when what the task needs failed.
    pub on_dependency_error: Option<OnError>,
}

impl ErrorWords {
    /// The task's own word as the one that failed.
    #[must_use]
    pub fn as_failed(self) -> Option<OnError> {
        self.on_error
    }

    /// The task's own word as the one that waits for a failed task.
    #[must_use]
    pub fn as_dependent(self) -> Option<OnError> {
        self.on_dependency_error.or(self.on_error)
    }
}

/// The word that holds between a failed task and one dependent: the more specific wins.
///
/// That is the dependent's own, else the failed task's own, else the run's default. A dependent
/// with several failed dependencies obeys the strictest of the words, which is the greatest.
#[must_use]
pub fn word(
    dependent_own: Option<OnError>,
    failed_own: Option<OnError>,
    run_default: OnError,
) -> OnError {
    dependent_own.or(failed_own).unwrap_or(run_default)
}

/// Whether a failure stops the run, given the own words of all dependents of the failed task.
///
/// It does when [`word`] is `fail` for any of them. Dependents count even if they have ended, for
/// instance skipped because of another failure: so the result does not depend on which of two
/// failures came first. Without dependents, nobody is more specific than the failed task itself.
#[must_use]
pub fn stops_run(
    failed_own: Option<OnError>,
    dependents_own: impl IntoIterator<Item = Option<OnError>>,
    run_default: OnError,
) -> bool {
    let strictest = dependents_own.into_iter().map(|own| word(own, failed_own, run_default)).max();
    match strictest {
        Some(strictest) => strictest == OnError::Fail,
        None => stops_run_without_dependents(failed_own, run_default),
    }
}

/// Whether the failure of a task that nothing waits for stops the run.
#[must_use]
pub fn stops_run_without_dependents(failed_own: Option<OnError>, run_default: OnError) -> bool {
    failed_own.unwrap_or(run_default) == OnError::Fail
}

/// Whether the run may still count as succeeded after a failure.
///
/// Only the failed task's own word, `skip` or `continue`, can say that its failure does not matter.
/// A default is too far away to say so, and a dependent that goes on says only that it can do
/// without. A failure that stopped the run has mattered, whatever the failed task says of itself.
#[must_use]
pub fn is_tolerated(failed_own: Option<OnError>, stopped_run: bool) -> bool {
    !stopped_run && matches!(failed_own, Some(OnError::Skip | OnError::Continue))
}

/// One case of the rule: task A has failed for good, and B waits for A and nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// A's own word.
    pub failed_own: Option<OnError>,
    /// B and its own word; `None` when nothing waits for A.
    pub dependent: Option<Option<OnError>>,
    /// The default of the run.
    pub run_default: OnError,
    /// What becomes of B; `None` when there is no B.
    pub fate: Option<Fate>,
    /// Whether branches that do not wait for A go on to start tasks.
    pub others_go_on: bool,
    /// Whether the run succeeds, when nothing but A fails.
    pub run_succeeds: bool,
}

/// What becomes of a task that waits for a failed one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It runs.
    Runs,
    /// It is skipped, and everything after it.
    Skipped,
}

/// Every case of the rule.
#[must_use]
pub fn truth_table() -> Vec<Row> {
    use OnError::{Continue, Fail, Skip};
    let words = [None, Some(Fail), Some(Skip), Some(Continue)];
    let mut rows = Vec::new();
    for dependent in words.map(Some).into_iter().chain([None]) {
        for failed_own in words {
            for run_default in [Fail, Skip, Continue] {
                let stopped = stops_run(failed_own, dependent, run_default);
                let fate = dependent.map(|own| match word(own, failed_own, run_default) {
                    Continue => Fate::Runs,
                    Skip | Fail => Fate::Skipped,
                });
                rows.push(Row {
                    failed_own,
                    dependent,
                    run_default,
                    fate,
                    others_go_on: !stopped,
                    run_succeeds: is_tolerated(failed_own, stopped),
                });
            }
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::OnError::{Continue, Fail, Skip};
    use super::*;

    const START: &str = "<!-- generated: truth table -->\n";
    const END: &str = "<!-- end -->";

    fn render(rows: &[Row]) -> String {
        let mut text = String::from(
            "\n| A's word | B's word | run's default | B | other branches | run |\n\
             |---|---|---|---|---|---|\n",
        );
        let named = |own: Option<OnError>| own.map_or("not set", OnError::as_str);
        for row in rows {
            let dependent = row.dependent.map_or("no B", named);
            let fate = match row.fate {
                Some(Fate::Runs) => "runs",
                Some(Fate::Skipped) => "skipped",
                None => "–",
            };
            let others = if row.others_go_on { "go on" } else { "stopped" };
            let result = if row.run_succeeds { "succeeded" } else { "failed" };
            let (failed, default) = (named(row.failed_own), row.run_default);
            writeln!(text, "| {failed} | {dependent} | {default} | {fate} | {others} | {result} |")
                .unwrap();
        }
        text.push('\n');
        text
    }

    // The page is an input of the test alone; the core itself reads no files and no environment.
    #[allow(clippy::disallowed_methods)]
    #[test]
    fn the_published_table_is_the_rule() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/failure-policies.md");
        let page = std::fs::read_to_string(path).unwrap();
        let (head, rest) = page.split_once(START).expect("the page has the start marker");
        let (published, tail) = rest.split_once(END).expect("the page has the end marker");
        let table = render(&truth_table());
        if std::env::var_os("TIDEWHEEL_BLESS").is_some_and(|value| value == "1") {
            std::fs::write(path, format!("{head}{START}{table}{END}{tail}")).unwrap();
            return;
        }
        assert_eq!(published, table, "run the test with TIDEWHEEL_BLESS=1 to rewrite {path}");
    }

    /// The rule once more, case by case as the page says it in words, against every row.
    #[test]
    fn every_row_follows_from_the_words_of_the_page() {
        let rows = truth_table();
        assert_eq!(rows.len(), 4 * 4 * 3 + 4 * 3);
        for row in rows {
            let holding = match (row.dependent, row.failed_own) {
                (Some(Some(own)), _) | (Some(None) | None, Some(own)) => own,
                (Some(None) | None, None) => row.run_default,
            };
            assert_eq!(row.others_go_on, holding != Fail, "{row:?}");
            match (row.dependent, holding) {
                (None, _) => assert_eq!(row.fate, None, "{row:?}"),
                (Some(_), Continue) => assert_eq!(row.fate, Some(Fate::Runs), "{row:?}"),
                (Some(_), _) => assert_eq!(row.fate, Some(Fate::Skipped), "{row:?}"),
            }
            let forgiving = row.failed_own == Some(Skip) || row.failed_own == Some(Continue);
            assert_eq!(row.run_succeeds, forgiving && holding != Fail, "{row:?}");
        }
    }

    #[test]
    fn the_strictest_word_stops_the_run() {
        assert!(stops_run(None, [Some(Skip), Some(Fail)], Continue));
        assert!(!stops_run(Some(Fail), [Some(Skip), Some(Continue)], Fail));
        assert!(stops_run(Some(Fail), [Some(Skip), None], Continue));
        assert!(stops_run(Some(Fail), [], Continue));
        assert!(!stops_run(None, [], Skip));
        assert_eq!([Skip, Continue, Fail].into_iter().max(), Some(Fail));
        assert_eq!([Skip, Continue].into_iter().max(), Some(Skip));
    }

    #[test]
    fn only_the_failed_task_itself_excuses_its_failure() {
        assert!(is_tolerated(Some(Skip), false) && is_tolerated(Some(Continue), false));
        assert!(!is_tolerated(Some(Continue), true));
        assert!(!is_tolerated(Some(Fail), false));
        assert!(!is_tolerated(None, false));
    }

    #[test]
    fn one_word_serves_both_sides_until_the_second_is_set() {
        let both = ErrorWords { on_error: Some(Skip), on_dependency_error: None };
        assert_eq!((both.as_failed(), both.as_dependent()), (Some(Skip), Some(Skip)));
        let apart = ErrorWords { on_error: Some(Skip), on_dependency_error: Some(Continue) };
        assert_eq!((apart.as_failed(), apart.as_dependent()), (Some(Skip), Some(Continue)));
        let second = ErrorWords { on_error: None, on_dependency_error: Some(Fail) };
        assert_eq!((second.as_failed(), second.as_dependent()), (None, Some(Fail)));
    }

    #[test]
    fn words_are_read_in_any_case() {
        for word in [Continue, Skip, Fail] {
            assert_eq!(word.to_string().parse(), Ok(word));
        }
        assert_eq!(" FAIL".parse(), Ok(Fail));
        let error = "ignore".parse::<OnError>().unwrap_err();
        assert_eq!(error.to_string(), "`ignore` is not one of fail, skip and continue");
    }
}
