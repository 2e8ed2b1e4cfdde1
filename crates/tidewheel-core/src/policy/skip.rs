//! What a skip by a condition means for the tasks that wait for the skipped one.
//!
//! Skips that follow a failure are not asked about here: they pass on (see [`crate::policy::failure`]).
//! `docs/reference/failure-policies.md` states the rule for readers and holds the table that
//! [`truth_table`] gives.

use std::fmt;
use std::str::FromStr;

/// What to do about a task that was skipped by a condition. The order is by strictness.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum OnSkip {
    /// The dependent runs all the same.
    #[default]
    Continue,
    /// The dependent is skipped like the task it needs: by a condition, for its own dependents too.
    Skip,
}

impl OnSkip {
    /// The word as written in files.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Continue => "continue",
            Self::Skip => "skip",
        }
    }
}

impl fmt::Display for OnSkip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Text that is not one of the two words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not one of skip and continue")]
pub struct ParseOnSkipError {
    text: String,
}

/// One of the two words, in any case.
impl FromStr for OnSkip {
    type Err = ParseOnSkipError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        [Self::Continue, Self::Skip]
            .into_iter()
            .find(|word| word.as_str().eq_ignore_ascii_case(text.trim()))
            .ok_or_else(|| ParseOnSkipError { text: text.to_owned() })
    }
}

/// The word that holds between a task skipped by a condition and one dependent: the more specific
/// wins, as it does for failures.
///
/// A dependent with several skipped dependencies obeys the strictest of the words, which is the
/// greatest.
#[must_use]
pub fn word(
    dependent_own: Option<OnSkip>,
    skipped_own: Option<OnSkip>,
    run_default: OnSkip,
) -> OnSkip {
    dependent_own.or(skipped_own).unwrap_or(run_default)
}

/// One case of the rule: task A was skipped by its condition, and B waits for A and nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// A's own word.
    pub skipped_own: Option<OnSkip>,
    /// B's own word.
    pub dependent_own: Option<OnSkip>,
    /// The default of the run.
    pub run_default: OnSkip,
    /// Whether B runs; if not, it is skipped by a condition as well.
    pub runs: bool,
}

/// Every case of the rule.
#[must_use]
pub fn truth_table() -> Vec<Row> {
    let words = [None, Some(OnSkip::Skip), Some(OnSkip::Continue)];
    let mut rows = Vec::new();
    for dependent_own in words {
        for skipped_own in words {
            for run_default in [OnSkip::Skip, OnSkip::Continue] {
                let runs = word(dependent_own, skipped_own, run_default) == OnSkip::Continue;
                rows.push(Row { skipped_own, dependent_own, run_default, runs });
            }
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::OnSkip::{Continue, Skip};
    use super::*;

    const START: &str = "<!-- generated: table of skips -->\n";
    const END: &str = "<!-- end of skips -->";

    fn render(rows: &[Row]) -> String {
        let mut text =
            String::from("\n| A's word | B's word | run's default | B |\n|---|---|---|---|\n");
        let named = |own: Option<OnSkip>| own.map_or("not set", OnSkip::as_str);
        for row in rows {
            let (skipped, dependent) = (named(row.skipped_own), named(row.dependent_own));
            let fate = if row.runs { "runs" } else { "skipped" };
            writeln!(text, "| {skipped} | {dependent} | {} | {fate} |", row.run_default).unwrap();
        }
        text.push('\n');
        text
    }

    // The page is an input of the test alone; the core itself reads no files and no environment.
    #[allow(clippy::disallowed_methods)]
    #[test]
    fn the_published_table_of_skips_is_the_rule() {
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

    /// The rule once more, as the page says it in words, against every row.
    #[test]
    fn every_row_follows_from_the_words_of_the_page() {
        let rows = truth_table();
        assert_eq!(rows.len(), 3 * 3 * 2);
        for row in rows {
            let holding = match (row.dependent_own, row.skipped_own) {
                (Some(own), _) | (None, Some(own)) => own,
                (None, None) => row.run_default,
            };
            assert_eq!(row.runs, holding == Continue, "{row:?}");
        }
    }

    #[test]
    fn words_are_read_in_any_case() {
        for word in [Continue, Skip] {
            assert_eq!(word.to_string().parse(), Ok(word));
        }
        assert_eq!(" SKIP".parse(), Ok(Skip));
        let error = "fail".parse::<OnSkip>().unwrap_err();
        assert_eq!(error.to_string(), "`fail` is not one of skip and continue");
    }
}
