//! Identities: durable ones that stores keep, and keys that live only as long as memory does.
//!
//! Nothing here makes random numbers; the driver supplies fresh ids.

use std::fmt;
use std::str::FromStr;

use slotmap::{DefaultKey, Key};

/// The durable identity of a run (a single submission is a run of one task).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct RunId(pub u128);

/// The durable identity of a schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ScheduleId(pub u128);

/// The durable identity of a task: its run and its place in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct TaskId {
    /// The run the task belongs to.
    pub run: RunId,
    /// Its index in the run's graph; zero for a single submission.
    pub index: u32,
}

/// The durable identity of one try at a task. Numbers start at 1 and are never reused.
///
/// There is no default: things are done once by it, so one must be somebody's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AttemptId {
    /// The task tried.
    pub task: TaskId,
    /// The number of the try.
    pub number: u32,
}

/// In the form of a UUID.
impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_uuid(f, self.0)
    }
}

/// In the form of a UUID.
impl fmt::Display for ScheduleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_uuid(f, self.0)
    }
}

/// `<run>/<index>`.
impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.run, self.index)
    }
}

/// `<run>/<index>/<number>`.
impl fmt::Display for AttemptId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.task, self.number)
    }
}

/// Text that is not an identity.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not the identity of {what}, such as {example}")]
pub struct ParseIdError {
    text: String,
    what: &'static str,
    example: &'static str,
}

const UUID_EXAMPLE: &str = "019ea4a0-7a51-7c3e-9f00-0123456789ab";

/// As it is printed; hyphens and the case of letters do not matter.
impl FromStr for RunId {
    type Err = ParseIdError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || ParseIdError::new(text, "a run", UUID_EXAMPLE);
        read_uuid(text).map(Self).ok_or_else(wrong)
    }
}

/// As it is printed; hyphens and the case of letters do not matter.
impl FromStr for ScheduleId {
    type Err = ParseIdError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || ParseIdError::new(text, "a schedule", UUID_EXAMPLE);
        read_uuid(text).map(Self).ok_or_else(wrong)
    }
}

impl FromStr for TaskId {
    type Err = ParseIdError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let example = "019ea4a0-7a51-7c3e-9f00-0123456789ab/2";
        let wrong = || ParseIdError::new(text, "a task", example);
        let (run, index) = text.split_once('/').ok_or_else(wrong)?;
        let (run, index) = (read_uuid(run), read_number(index));
        let (run, index) = run.zip(index).ok_or_else(wrong)?;
        Ok(Self { run: RunId(run), index })
    }
}

impl FromStr for AttemptId {
    type Err = ParseIdError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let example = "019ea4a0-7a51-7c3e-9f00-0123456789ab/2/1";
        let wrong = || ParseIdError::new(text, "an attempt", example);
        let (task, number) = text.rsplit_once('/').ok_or_else(wrong)?;
        let task = task.parse().map_err(|_| wrong())?;
        Ok(Self { task, number: read_number(number).ok_or_else(wrong)? })
    }
}

impl ParseIdError {
    fn new(text: &str, what: &'static str, example: &'static str) -> Self {
        // Whatever it is, it need not be told whole.
        Self { text: text.chars().take(80).collect(), what, example }
    }
}

fn write_uuid(f: &mut fmt::Formatter<'_>, value: u128) -> fmt::Result {
    let hex = format!("{value:032x}");
    write!(f, "{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}

fn read_uuid(text: &str) -> Option<u128> {
    let digits = text.bytes().filter(|byte| *byte != b'-').count();
    let is_hex = text.bytes().all(|byte| byte == b'-' || byte.is_ascii_hexdigit());
    if digits != 32 || !is_hex {
        return None;
    }
    let digit = |byte: u8| u128::from((byte as char).to_digit(16).unwrap_or_default());
    let bytes = text.bytes().filter(|byte| *byte != b'-');
    Some(bytes.fold(0, |value, byte| value << 4 | digit(byte)))
}

/// Only as it is printed: the same identity has one text.
fn read_number(text: &str) -> Option<u32> {
    let is_plain = text == "0" || text.starts_with(|first: char| ('1'..='9').contains(&first));
    is_plain.then(|| text.parse().ok()).flatten()
}

/// A run or single submission in memory. It carries a generation: a stale key finds nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct RunKey(pub(crate) DefaultKey);

impl RunKey {
    /// Its place in memory: small, and used again by another run once this one is gone.
    #[must_use]
    pub fn slot(self) -> u32 {
        self.0.data().as_ffi() as u32
    }
}

/// A task in memory: a [`RunKey`] and an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct TaskKey {
    /// The run or single submission.
    pub run: RunKey,
    /// The index in the run's graph; zero for a single submission.
    pub index: u32,
}

/// A schedule in memory: a slot and a generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ScheduleKey(pub(crate) DefaultKey);

/// A [`crate::spec::Profile`] that the scheduler has seen and given a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ProfileId(pub(crate) u32);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identities_are_read_as_they_are_printed() {
        let run = RunId(0x019e_a4a0_7a51_7c3e_9f00_0123_4567_89ab);
        let task = TaskId { run, index: 2 };
        let attempt = AttemptId { task, number: 1 };
        assert_eq!(run.to_string(), "019ea4a0-7a51-7c3e-9f00-0123456789ab");
        assert_eq!(attempt.to_string(), "019ea4a0-7a51-7c3e-9f00-0123456789ab/2/1");
        assert_eq!(run.to_string().parse(), Ok(run));
        assert_eq!(run.to_string().to_uppercase().replace('-', "").parse(), Ok(run));
        assert_eq!(ScheduleId(7).to_string().parse(), Ok(ScheduleId(7)));
        assert_eq!(task.to_string().parse(), Ok(task));
        assert_eq!(attempt.to_string().parse(), Ok(attempt));
        let most = AttemptId { task: TaskId { run: RunId(u128::MAX), index: u32::MAX }, number: 9 };
        assert_eq!(most.to_string().parse(), Ok(most));
    }

    #[test]
    fn other_text_is_no_identity() {
        let run = RunId(1).to_string();
        for text in ["", "1", &run[1..], &format!("{run}0"), &format!("+{}", &run[1..])] {
            assert!(text.parse::<RunId>().is_err(), "{text}");
        }
        for text in [run.clone(), format!("{run}/"), format!("{run}/+1"), format!("{run}/1/1")] {
            assert!(text.parse::<TaskId>().is_err(), "{text}");
        }
        for text in [format!("{run}/1"), format!("{run}/1/01"), format!("{run}/1/1/1")] {
            assert!(text.parse::<AttemptId>().is_err(), "{text}");
        }
        let error = "nine".parse::<RunId>().unwrap_err().to_string();
        assert!(error.starts_with("`nine` is not the identity of a run, such as 019"), "{error}");
    }
}
