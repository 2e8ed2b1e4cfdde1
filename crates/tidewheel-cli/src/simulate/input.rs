//! Reading a [`Problem`] from JSON, with errors that show the place.
//!
//! Whether the numbers make sense together is checked in `problem`.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use anyhow::anyhow;
use serde::Deserialize;
use serde::de::{Deserializer, Error as _, Visitor};
use tidewheel_core::policy::Priority;

use super::problem::{Faults, Problem, Task};
use tidewheel_client::text::nearest;

use crate::error::CommandError;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ProblemInput {
    tasks: Vec<TaskInput>,
    #[serde(default)]
    capacity: BTreeMap<String, u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TaskInput {
    name: String,
    duration: f64,
    #[serde(default)]
    after: Vec<String>,
    #[serde(default, deserialize_with = "priority")]
    priority: Priority,
    #[serde(default)]
    resources: BTreeMap<String, u32>,
    #[serde(default)]
    deadline: Option<f64>,
}

impl Problem {
    /// Reads a problem from JSON; `source` names the file in errors.
    ///
    /// # Errors
    ///
    /// When it is not JSON, has fields that are not known, or times that are not times.
    pub fn from_json(text: &str, source: &str) -> Result<Self, CommandError> {
        let input: ProblemInput =
            serde_json::from_str(text).map_err(|error| json_error(&error, text, source))?;
        let mut faults = Faults::default();
        let tasks = input.tasks.into_iter().map(|task| task.read(&mut faults)).collect();
        faults.into_result()?;
        Ok(Self { tasks, capacity: input.capacity })
    }
}

impl TaskInput {
    fn read(self, faults: &mut Faults) -> Task {
        let Self { name, duration, after, priority, mut resources, deadline } = self;
        resources.retain(|_, units| *units > 0);
        let duration = seconds(duration, "duration", &name, faults);
        let deadline = deadline.map(|deadline| seconds(deadline, "deadline", &name, faults));
        Task { name, duration, after, priority, resources, deadline }
    }
}

fn seconds(value: f64, field: &str, task: &str, faults: &mut Faults) -> Duration {
    match Duration::try_from_secs_f64(value) {
        Ok(duration) => duration,
        Err(_) if value < 0.0 => {
            faults.add(
                format!("task `{task}` has a negative {field} ({value})"),
                format!("a {field} is a number of seconds, 0 or more"),
            );
            Duration::ZERO
        }
        Err(_) => {
            faults.add(
                format!("task `{task}` has a {field} that is too long ({value})"),
                format!("a {field} is a number of seconds"),
            );
            Duration::ZERO
        }
    }
}

/// A number from 0 to 100, or the name of a level.
fn priority<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Priority, D::Error> {
    struct PriorityVisitor;

    impl Visitor<'_> for PriorityVisitor {
        type Value = Priority;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a priority from 0 to 100, or critical, high, normal, low, background")
        }

        fn visit_i64<E>(self, value: i64) -> Result<Priority, E> {
            Ok(Priority::new(value))
        }

        fn visit_u64<E>(self, value: u64) -> Result<Priority, E> {
            Ok(Priority::new(i64::try_from(value).unwrap_or(i64::MAX)))
        }

        fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Priority, E> {
            text.parse().map_err(E::custom)
        }
    }

    deserializer.deserialize_any(PriorityVisitor).map_err(D::Error::custom)
}

/// Columns of the input shown around the culprit.
const EXCERPT_WIDTH: usize = 72;

fn json_error(error: &serde_json::Error, text: &str, source: &str) -> CommandError {
    let (line, column) = (error.line(), error.column());
    let whole = error.to_string();
    let message = whole.strip_suffix(&format!(" at line {line} column {column}")).unwrap_or(&whole);
    let shown = CommandError::input(anyhow!("{source}:{line}:{column}: {message}"));
    let shown = match excerpt(text, line, column) {
        Some((position, excerpt)) => shown.position(position).excerpt(excerpt),
        None => shown,
    };
    if message.starts_with("unknown field") {
        let mut words = message.split('`').skip(1).step_by(2);
        let wanted = words.next().unwrap_or_default();
        if let Some(meant) = nearest(wanted, words) {
            return shown.hint(format!("did you mean `{meant}`?"));
        }
    }
    shown.hint("`tidewheel simulate --help` shows what the input looks like")
}

/// The line of a fault, with a mark under its column, and the offset of the fault in the text.
fn excerpt(text: &str, line: usize, column: usize) -> Option<(usize, String)> {
    let content = text.lines().nth(line.checked_sub(1)?)?;
    let line_start = content.as_ptr() as usize - text.as_ptr() as usize;
    // Columns are bytes counted from 1, and 0 for the end of the line before.
    let at = content.floor_char_boundary(column.saturating_sub(1));
    let start = content.floor_char_boundary(at.saturating_sub(EXCERPT_WIDTH / 2));
    let end = content.floor_char_boundary((start + EXCERPT_WIDTH).min(content.len()));
    let shown: String =
        content[start..end].chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let mark = " ".repeat(content[start..at].chars().count());
    Some((line_start + at, format!("{shown}\n{mark}^")))
}
