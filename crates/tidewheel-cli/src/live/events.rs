//! [`Events`]: a run as lines for programs, one JSON object each, as it happens.
//!
//! What can happen is said in [`tidewheel_client::progress`]; how it reads for people, in [`tidewheel_tui::run`].

use std::time::Duration;

use serde::Serialize;
use tidewheel_client::progress::Event;

use crate::ui::in_plain_letters;

/// The names of steps, by which lines name them too.
#[derive(Debug, Default)]
pub(super) struct Events {
    names: Vec<String>,
}

/// One line.
#[derive(Debug, Serialize)]
struct Line<'a> {
    /// Since the start of the run.
    at_ms: u128,
    /// The step that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    event: &'a Event,
}

impl Events {
    /// The line of something that happened, with its end.
    pub fn line(&mut self, at: Duration, event: &Event) -> String {
        match event {
            Event::RunStarted { steps, .. } => {
                self.names = steps.iter().map(|step| step.name.clone()).collect();
            }
            Event::StepAdded(step) => self.names.push(step.name.clone()),
            _ => {}
        }
        let name = event.step().and_then(|step| self.names.get(step));
        let line = Line { at_ms: at.as_millis(), name: name.map(String::as_str), event };
        // There is nothing in it that could not be written.
        in_plain_letters(serde_json::to_string(&line).unwrap_or_default()) + "\n"
    }
}

#[cfg(test)]
mod tests {
    use tidewheel_client::progress::StepInfo;

    use super::*;

    #[test]
    fn each_line_is_an_object_that_names_its_step() {
        let mut events = Events::default();
        let step = |name: &str| StepInfo { name: name.to_owned(), ..StepInfo::default() };
        let (run_id, flow) = ("7".to_owned(), "f".to_owned());
        let begun = Event::RunStarted { run_id, flow, steps: vec![step("a\n\u{1b}")] };
        assert_eq!(events.line(Duration::ZERO, &begun).matches('\n').count(), 1);
        events.line(Duration::ZERO, &Event::StepAdded(step("b")));
        let started = |step| Event::StepStarted { step, attempt: 1 };
        assert_eq!(
            events.line(Duration::from_millis(1500), &started(1)),
            "{\"at_ms\":1500,\"name\":\"b\",\"event\":{\"type\":\"step-started\",\"step\":1,\"attempt\":1}}\n"
        );
        // What is said of unknown steps has no name.
        assert!(!events.line(Duration::ZERO, &started(2)).contains("name"));
    }
}
