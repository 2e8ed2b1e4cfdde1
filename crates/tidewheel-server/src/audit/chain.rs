//! Rows that hang together: each has the fingerprint of the one before, so none can be changed, left out or moved.
//!
//! It is pure: where rows are kept is in [`super::log`].

use serde::{Deserialize, Serialize};
use tidewheel_client::api::AuditRow;
use tidewheel_client::text::harmless;

use crate::identity::fingerprint;

/// Letters of a word that are written down.
const WORD_MAX: usize = 200;

/// What a chain hangs on.
const FIRST: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// The place where the next row goes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct End {
    /// How many rows there are.
    pub rows: u64,
    /// The fingerprint of the last.
    pub hash: String,
}

impl Default for End {
    fn default() -> Self {
        Self { rows: 0, hash: FIRST.to_owned() }
    }
}

/// A row that is not as it was written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Broken {
    /// It cannot be read.
    #[error("line {line} is no row: {why}")]
    Unreadable {
        /// Which, from 1.
        line: u64,
        /// Why.
        why: String,
    },
    /// Something in it was changed.
    #[error("row {row} was changed")]
    Changed {
        /// Which.
        row: u64,
    },
    /// It does not follow the one before: some are missing, or their order is another.
    #[error(
        "at line {line}, row {row} does not follow the one before it: rows were removed or moved"
    )]
    OutOfOrder {
        /// Where, from 1.
        line: u64,
        /// Which is there.
        row: u64,
    },
    /// The newest are missing.
    #[error("the log ends with row {last}, but {known} were written: the newest were removed")]
    CutOff {
        /// The last that is there.
        last: u64,
        /// How many there should be.
        known: u64,
    },
}

/// A row at its place in the log, after these.
pub(super) fn row_after(end: &End, row: &AuditRow) -> AuditRow {
    let word = |text: &str| harmless(text).chars().take(WORD_MAX).collect::<String>();
    let mut row = AuditRow {
        number: end.rows + 1,
        at: row.at,
        actor: word(&row.actor),
        token: row.token.as_deref().map(word),
        address: word(&row.address),
        action: word(&row.action),
        object: word(&row.object),
        result: row.result,
        before: end.hash.clone(),
        hash: String::new(),
    };
    row.hash = fingerprint_of(&row);
    row
}

pub(super) fn end_of(row: &AuditRow) -> End {
    End { rows: row.number, hash: row.hash.clone() }
}

/// The fingerprint of everything else in it.
fn fingerprint_of(row: &AuditRow) -> String {
    // A list has one form, whatever becomes of the names of fields.
    let content = serde_json::json!([
        row.number,
        row.at.as_micros(),
        row.actor,
        row.token,
        row.address,
        row.action,
        row.object,
        row.result,
        row.before,
    ]);
    fingerprint(&content.to_string())
}

/// Finds the first row that was changed, removed or moved; else says how many there are. `known` says how many were
/// written, as far as that is known.
///
/// # Errors
///
/// Where the chain is broken.
pub fn verify(text: &str, known: Option<u64>) -> Result<u64, Broken> {
    let mut end = End::default();
    for (line, text) in (1..).zip(text.lines()) {
        let row: AuditRow = serde_json::from_str(text)
            .map_err(|error| Broken::Unreadable { line, why: error.to_string() })?;
        if row.hash != fingerprint_of(&row) {
            return Err(Broken::Changed { row: row.number });
        }
        if row.number != end.rows + 1 || row.before != end.hash {
            return Err(Broken::OutOfOrder { line, row: row.number });
        }
        end = end_of(&row);
    }
    match known {
        Some(known) if known > end.rows => Err(Broken::CutOff { last: end.rows, known }),
        _ => Ok(end.rows),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test")]

    use tidewheel::Timestamp;

    use super::*;

    fn entry(object: &str) -> AuditRow {
        let at = Timestamp::from_seconds(1_800_000_000);
        AuditRow {
            token: Some("0123abcd".to_owned()),
            address: "127.0.0.1".to_owned(),
            object: object.to_owned(),
            ..AuditRow::unwritten(at, "me", "cancel-run", 200)
        }
    }

    fn rows(count: u32) -> Vec<String> {
        let mut end = End::default();
        let rows = (0..count).map(|number| {
            let row = row_after(&end, &entry(&format!("run {number}")));
            end = end_of(&row);
            serde_json::to_string(&row).unwrap()
        });
        rows.collect()
    }

    #[test]
    fn every_change_removal_and_move_is_found() {
        let good = rows(5);
        assert_eq!(verify(&good.join("\n"), Some(5)), Ok(5));
        for at in 0..5 {
            let row = at as u64 + 1;
            for (was, is) in [("\"me\"", "\"you\""), ("200", "403"), ("0123abcd", "0123abce")] {
                let mut rows = good.clone();
                rows[at] = rows[at].replace(was, is);
                assert_eq!(verify(&rows.join("\n"), None), Err(Broken::Changed { row }));
            }
            let mut rows = good.clone();
            rows.remove(at);
            let removed = verify(&rows.join("\n"), Some(5));
            let expected = match at {
                4 => Broken::CutOff { last: 4, known: 5 },
                _ => Broken::OutOfOrder { line: row, row: row + 1 },
            };
            assert_eq!(removed, Err(expected));
            if at < 4 {
                let mut rows = good.clone();
                rows.swap(at, at + 1);
                let line = row;
                assert_eq!(
                    verify(&rows.join("\n"), None),
                    Err(Broken::OutOfOrder { line, row: row + 1 })
                );
            }
            let mut rows = good.clone();
            rows.insert(at, good[at].clone());
            assert!(matches!(verify(&rows.join("\n"), None), Err(Broken::OutOfOrder { .. })));
            let mut rows = good.clone();
            rows[at] = "{}".to_owned();
            assert!(matches!(verify(&rows.join("\n"), None), Err(Broken::Unreadable { .. })));
        }
    }

    #[test]
    fn a_row_written_anew_breaks_the_chain_behind_it() {
        let mut rows = rows(3);
        let first: AuditRow = serde_json::from_str(&rows[0]).unwrap();
        let mut second: AuditRow = serde_json::from_str(&rows[1]).unwrap();
        second.actor = "somebody else".to_owned();
        second.hash = fingerprint_of(&second);
        assert_eq!(second.before, first.hash);
        rows[1] = serde_json::to_string(&second).unwrap();
        let broken = verify(&rows.join("\n"), None);
        assert_eq!(broken, Err(Broken::OutOfOrder { line: 3, row: 3 }));
    }

    #[test]
    fn nothing_in_a_row_looks_like_another_row() {
        let forged = "x\n{\"number\":2}\r\u{1b}[2J\u{202e}\u{85}";
        let row = row_after(&End::default(), &entry(forged));
        let text = serde_json::to_string(&row).unwrap();
        let is_plain = |letter: char| !letter.is_control() && letter != '\u{202e}';
        assert!(text.chars().all(is_plain), "{text}");
        assert_eq!(verify(&text, Some(1)), Ok(1));
        let long = row_after(&End::default(), &entry(&"a".repeat(10_000)));
        assert_eq!(long.object.len(), WORD_MAX);
    }
}
