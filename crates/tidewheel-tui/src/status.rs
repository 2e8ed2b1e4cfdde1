//! The status line of tests: which screen is shown, what is selected, and how much of what was typed is in it.
//!
//! Tests that drive the screens through a terminal wait for it, instead of guessing from the screen whether a key has been
//! handled. It is the title of the terminal, so it takes no room on the screen.

use ratatui::crossterm::event::Event;

use crate::message::{Effect, Message};
use crate::model::{Model, Prompt, Row, Screen, Shown};

/// The variable that turns it on; for tests only.
const VARIABLE: &str = "TIDEWHEEL_TEST_STATUS";

/// Counters of the event loop for the status line.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    /// Whether there is a status line.
    is_on: bool,
    /// Frames that were drawn.
    frames: u64,
    /// Keys, clicks and pasted texts that were handled.
    inputs: u64,
    /// Requests that are not answered yet.
    requests: u64,
}

impl Counts {
    /// Counts for a status line, if the environment asks for one.
    pub(crate) fn from_environment() -> Self {
        Self { is_on: std::env::var_os(VARIABLE).is_some(), ..Self::default() }
    }

    /// Counts an event of the terminal, and returns it.
    pub(crate) fn input(&mut self, event: Event) -> Event {
        self.inputs += u64::from(!matches!(event, Event::Resize(..)));
        event
    }

    /// Counts a request that is sent.
    pub(crate) fn sent(&mut self, effect: &Effect) {
        self.requests += u64::from(matches!(effect, Effect::Ask(_) | Effect::Do(_)));
    }

    /// Counts a message if it answers a request, and returns it.
    pub(crate) fn received(&mut self, message: Message) -> Message {
        self.requests -= u64::from(matches!(message, Message::Answered(..) | Message::Done(_)));
        message
    }

    /// Returns the status line of the next frame, if there is one.
    pub(crate) fn next_line(&mut self, model: &Model) -> Option<String> {
        if !self.is_on {
            return None;
        }
        self.frames += 1;
        let pending = self.requests + u64::from(is_outdated(model));
        let (frames, inputs) = (self.frames, self.inputs);
        Some(format!("frame={frames} inputs={inputs} pending={pending} {}", line(model)))
    }
}

/// Whether what is shown is about to be requested again.
fn is_outdated(model: &Model) -> bool {
    model.is_stale && model.asking.is_none() && model.trouble.is_none()
}

/// Returns what a model shows, as fields without spaces.
fn line(model: &Model) -> String {
    let (width, height) = model.size;
    let state = model.schedule_state().map(|state| word(format!("{state:?}")));
    let state = state.or_else(|| model.run_state().map(|state| word(state.word())));
    let fields = [
        ("size", format!("{width}x{height}")),
        ("screen", screen(model).to_owned()),
        ("selected", selected(model).map(word).unwrap_or_default()),
        ("state", state.unwrap_or_default()),
        ("dialog", dialog(model).to_owned()),
        ("own", model.own.len().to_string()),
        ("over", model.over.to_string()),
        ("doubt", if is_doubtful(model) { "yes" } else { "no" }.to_owned()),
    ];
    fields.map(|(name, value)| format!("{name}={value}")).join(" ")
}

/// Returns a text as one word, of letters that no terminal acts on.
fn word(text: impl AsRef<str>) -> String {
    let letter = |letter: char| {
        if letter.is_control() || letter.is_whitespace() { '_' } else { letter }
    };
    text.as_ref().chars().map(letter).flat_map(char::to_lowercase).collect()
}

fn screen(model: &Model) -> &'static str {
    match model.screen() {
        Screen::Overview => "overview",
        Screen::Runs => "runs",
        Screen::Run => match model.watched.as_ref().map(|watched| watched.shown) {
            Some(Shown::Graph) => "run/graph",
            Some(Shown::Time) => "run/time",
            Some(Shown::About) => "run/about",
            Some(Shown::Steps) | None => "run/steps",
        },
        Screen::Step => "step",
        Screen::Log => "log",
        Screen::Queues => "queues",
        Screen::Schedules => "schedules",
        Screen::Schedule => "schedule",
        Screen::Flow => "flow",
    }
}

/// Returns the object that a key acts on.
fn selected(model: &Model) -> Option<String> {
    match model.screen() {
        Screen::Overview => {
            let flow = || model.flow_meant().unwrap_or_default();
            Some(match model.row()? {
                Row::Asks(_) => format!("asks:{}", model.asked()?.1),
                Row::Fails(_) => format!("fails:{}", flow()),
                Row::Late(_) => format!("late:{}", model.named_schedule().unwrap_or_default()),
                Row::Runs(_) => format!("runs:{}", flow()),
                Row::Flow(_) => format!("flow:{}", flow()),
            })
        }
        Screen::Runs | Screen::Flow => model.flow_meant().map(str::to_owned),
        Screen::Run => {
            let watched = model.watched.as_ref()?;
            Some(watched.names[watched.selected()?].to_string())
        }
        Screen::Step | Screen::Log => Some(model.reading.as_ref()?.step.clone()),
        Screen::Queues => {
            let (line, place) = (model.line.as_ref()?, model.place_in_line()?);
            let holder = line.holders.get(place).map(|it| it.step.clone());
            holder.or_else(|| Some(model.waiting_step()?.step.clone()))
        }
        Screen::Schedules | Screen::Schedule => model.named_schedule().map(str::to_owned),
    }
}

/// Returns the dialog that receives the keys instead of the screen.
fn dialog(model: &Model) -> &'static str {
    match (&model.dialog, &model.form, &model.prompt, model.help) {
        (Some(_), ..) => "confirm",
        (_, Some(form), ..) if form.is_sent => "sent",
        (_, Some(_), ..) => "form",
        (_, _, Some(Prompt::Search(_)), _) => "search",
        (_, _, Some(Prompt::Command(_)), _) => "command",
        (_, _, _, Some(_)) => "help",
        (None, None, None, None) => "none",
    }
}

/// Whether the next key is rejected with a message, because the selected row changed without input.
fn is_doubtful(model: &Model) -> bool {
    let list = match model.screen() {
        Screen::Overview => &model.overview,
        Screen::Runs => &model.runs_list,
        Screen::Queues => &model.line_list,
        Screen::Schedules => &model.schedules_list,
        Screen::Schedule => &model.ledger_list,
        Screen::Run => match &model.watched {
            Some(watched) => &watched.list,
            None => return false,
        },
        Screen::Step | Screen::Log | Screen::Flow => return false,
    };
    list.doubt.is_some()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test")]

    use std::time::Duration;

    use jiff::tz::TimeZone;
    use ratatui::crossterm::event::{KeyCode, KeyEvent};

    use super::*;
    use crate::message::{Answer, Question};
    use crate::model::Attached;
    use crate::samples::{NOW, glance};
    use crate::update::update;

    #[test]
    fn status_line_follows_keys_requests_and_answers() {
        let mut model = Model::new("here".to_owned(), Attached::Desk, NOW, TimeZone::UTC);
        assert_eq!(Counts::default().next_line(&model), None);
        let mut counts = Counts { is_on: true, ..Counts::default() };
        let line = counts.next_line(&model).unwrap();
        assert!(line.starts_with("frame=1 inputs=0 pending=1 size=80x24 "), "{line}");
        for effect in update(&mut model, NOW, Message::Tick) {
            counts.sent(&effect);
        }
        let line = counts.next_line(&model).unwrap();
        assert!(line.contains("frame=2 inputs=0 pending=1 "), "{line}");
        let answer = Answer::Glance(Box::new(glance()));
        let answered = Message::Answered(Question::Glance, Ok(answer), Duration::ZERO);
        update(&mut model, NOW, counts.received(answered));
        let line = counts.next_line(&model).unwrap();
        let selected =
            "screen=overview selected=asks:approve state=running dialog=none own=0 over=0 doubt=no";
        assert!(line.contains("pending=0 ") && line.ends_with(selected), "{line}");
        let key = KeyEvent::from(KeyCode::Char(':'));
        counts.input(Event::Key(key));
        counts.input(Event::Resize(1, 1));
        update(&mut model, NOW, Message::Key(key));
        let line = counts.next_line(&model).unwrap();
        assert!(line.contains("inputs=1 ") && line.contains("dialog=command "), "{line}");
        assert_eq!(word("a b\x1b\u{9d}C"), "a_b__c");
    }
}
