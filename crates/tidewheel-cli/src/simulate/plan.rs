//! [`Plan`]: when each task of a problem ran, and the JSON form of it.
//!
//! The picture for people is drawn in `gantt`.

use std::time::Duration;

use serde_json::{Number, Value, json};

use super::problem::{Order, Problem};

/// The schedule that came of a [`Problem`].
#[derive(Debug, Clone)]
pub struct Plan {
    /// From the start to the end of the last task.
    pub makespan: Duration,
    /// Tasks that could run at once; `None`: any number.
    pub slots: Option<u32>,
    /// The order they were taken in.
    pub order: Order,
    /// When each task ran, by its index in the problem.
    pub tasks: Vec<PlannedTask>,
}

/// When a task ran, from the start of the whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PlannedTask {
    /// When it could have started.
    pub ready: Duration,
    /// When it started.
    pub start: Duration,
    /// When it ended.
    pub end: Duration,
    /// The slot it ran in, counted from 1.
    pub slot: u32,
}

impl Plan {
    /// The plan as JSON, one line a task, in the order of starting.
    #[must_use]
    pub fn to_json(&self, problem: &Problem) -> String {
        let head = [
            ("makespan", seconds(self.makespan)),
            ("slots", self.slots.map_or(Value::Null, Value::from)),
            ("order", self.order.word().into()),
        ];
        let mut text = String::from("{\n");
        for (name, value) in head {
            text.push_str(&format!("\"{name}\":{value},\n"));
        }
        text.push_str("\"tasks\":[");
        for (position, index) in self.by_start().into_iter().enumerate() {
            let PlannedTask { start, end, slot, .. } = self.tasks[index];
            let name = Value::from(problem.tasks[index].name.as_str());
            let (start, end) = (seconds(start), seconds(end));
            let comma = if position == 0 { "" } else { "," };
            text.push_str(&format!(
                "{comma}\n{{\"name\":{name},\"start\":{start},\"end\":{end},\"slot\":{slot}"
            ));
            if let Some(deadline) = problem.tasks[index].deadline {
                let late = self.tasks[index].end.saturating_sub(deadline);
                text.push_str(&format!(",\"late\":{}", seconds(late)));
            }
            text.push('}');
        }
        text.push_str("\n]}\n");
        text
    }

    /// Indices of the tasks, the first to start first.
    #[must_use]
    pub fn by_start(&self) -> Vec<usize> {
        let mut indices: Vec<usize> = (0..self.tasks.len()).collect();
        indices.sort_by_key(|&index| (self.tasks[index].start, self.tasks[index].end, index));
        indices
    }
}

/// Seconds as a JSON number: whole where they are whole.
fn seconds(duration: Duration) -> Value {
    if duration.subsec_nanos() == 0 {
        return duration.as_secs().into();
    }
    Number::from_f64(duration.as_secs_f64()).map_or(json!(null), Value::Number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_seconds_are_whole_numbers() {
        assert_eq!(seconds(Duration::from_secs(3)).to_string(), "3");
        assert_eq!(seconds(Duration::from_millis(2_500)).to_string(), "2.5");
        assert_eq!(seconds(Duration::from_secs_f64(0.1)).to_string(), "0.1");
    }
}
