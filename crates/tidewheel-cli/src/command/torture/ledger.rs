//! The ledger: what tasks say about themselves, one line a fact, outside the database.
//!
//! What the lines must add up to is in `check`.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

use tidewheel::RunId;
use tidewheel::id::{AttemptId, TaskId};

/// A ledger open for writing. Each call is one write at the end of the file, so that lines of many
/// processes never mix.
#[derive(Debug)]
pub(super) struct Ledger {
    file: File,
}

impl Ledger {
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().append(true).create(true).open(path)?;
        Ok(Self { file })
    }

    /// Appends whole lines.
    pub fn say(&self, lines: &str) -> io::Result<()> {
        (&self.file).write_all(lines.as_bytes())
    }
}

/// The words by which an attempt is written: run, index, number.
pub(super) fn words_of(attempt: AttemptId) -> String {
    format!("{} {} {}", attempt.task.run, attempt.task.index, attempt.number)
}

/// One line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Line<'a> {
    /// A victim came to life.
    Victim,
    /// A submission was answered: this name is this run.
    Accepted { name: &'a str, run: RunId },
    /// An attempt began.
    Start(AttemptId),
    /// An attempt did all it had to do.
    End(AttemptId),
    /// An attempt failed on purpose.
    Fail(AttemptId),
    /// The wheel turns, and nothing was submitted.
    Gate,
    /// All was submitted.
    Ready,
    /// The first task of this victim's life began, at this many nanoseconds of the monotonic clock.
    Dispatched { nanos: u64 },
}

impl<'a> Line<'a> {
    /// Reads a line; `None` if nobody would write it so.
    pub fn parse(line: &'a str) -> Option<Self> {
        let mut words = line.split(' ');
        let read = match words.next()? {
            "victim" => {
                words.next()?;
                Self::Victim
            }
            "accepted" => Self::Accepted { name: words.next()?, run: words.next()?.parse().ok()? },
            "start" => Self::Start(attempt_of(&mut words)?),
            "end" => Self::End(attempt_of(&mut words)?),
            "fail" => Self::Fail(attempt_of(&mut words)?),
            "gate" => Self::Gate,
            "ready" => Self::Ready,
            "dispatched" => Self::Dispatched { nanos: words.next()?.parse().ok()? },
            _ => return None,
        };
        words.next().is_none().then_some(read)
    }
}

/// Run, index and number of an attempt, and the process that wrote it, which is for people.
fn attempt_of<'a>(words: &mut impl Iterator<Item = &'a str>) -> Option<AttemptId> {
    let run = words.next()?.parse().ok()?;
    let index = words.next()?.parse().ok()?;
    let number = words.next()?.parse().ok()?;
    words.next()?.parse::<u32>().ok()?;
    Some(AttemptId { task: TaskId { run, index }, number })
}
