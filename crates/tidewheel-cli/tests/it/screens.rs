//! The screens of `tidewheel tui` without a terminal: keys change a model, and what follows from them is done by its source,
//! on the data folder of runs that the binary has started.
//!
//! What needs a terminal is in `tui.rs`; what keys do to a model alone, in `tidewheel-tui/src/update`.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::Value;
use tidewheel::Cancel;
use tidewheel::clock::wall_clock;
use tidewheel::store::sqlite::{DataFolder, Options};
use tidewheel_client::api::RunState;
use tidewheel_client::desk::{Desk, LocalDesk};
use tidewheel_client::session::{Carried, SessionOptions, Workshop};
use tidewheel_testing::wait_until;
use tidewheel_tui::input::Decoder;
use tidewheel_tui::message::{Effect, Message};
use tidewheel_tui::model::{Attached, Model, Screen};
use tidewheel_tui::source::{DeskSource, Source};
use tidewheel_tui::update::update;
use tokio::runtime::Runtime;

use crate::common::{Running, Scratch};

/// Screens of a data folder, which carry out runs themselves.
struct Screens {
    model: Model,
    source: Arc<DeskSource>,
    workshop: Workshop,
    /// What becomes of the runs that are carried out here.
    carried: Receiver<Carried>,
    decoder: Decoder,
    runtime: Runtime,
}

impl Screens {
    fn new(scratch: &Scratch) -> Self {
        let folder = DataFolder::open(scratch.data(), Options::default()).unwrap();
        let desk = Desk::from(LocalDesk::open(folder).unwrap());
        let (to, carried) = channel();
        let tell = move |what| {
            // Nobody reads it any more when the test has ended.
            let _ = to.send(what);
        };
        let workshop = Workshop::new(desk.clone(), SessionOptions::new, tell);
        let source = DeskSource::new(desk, "Ada".to_owned()).carried_out_by(workshop.clone());
        let zone = jiff::tz::TimeZone::UTC;
        Self {
            model: Model::new("here".to_owned(), Attached::Desk, wall_clock(), zone),
            source: Arc::new(source),
            workshop,
            carried,
            decoder: Decoder::default(),
            runtime: Runtime::new().unwrap(),
        }
    }

    /// Applies a message, and what follows from it until nothing does.
    fn apply(&mut self, message: Message) {
        let mut messages = VecDeque::from([message]);
        while let Some(message) = messages.pop_front() {
            for effect in update(&mut self.model, wall_clock(), message) {
                messages.push_back(match effect {
                    Effect::Ask(question) => {
                        let answer = self.runtime.block_on(self.source.ask(question.clone()));
                        Message::Answered(question, answer, Duration::ZERO)
                    }
                    Effect::Do(wish) => {
                        Message::Done(self.runtime.block_on(self.source.wish(wish)))
                    }
                    Effect::Suspend | Effect::Quit | Effect::End(_) => continue,
                });
            }
        }
    }

    /// Presses keys, as the bytes that a terminal sends.
    fn press(&mut self, keys: &str) {
        for byte in keys.bytes() {
            let event = self.decoder.push(byte).expect("each of them is a key");
            self.apply(Message::Key(event.as_key_event().expect("it is a key")));
        }
    }

    /// Looks at the data folder until the model meets a condition.
    #[track_caller]
    fn until(&mut self, expected: &str, condition: impl Fn(&Model) -> bool) {
        wait_until(expected, || {
            while let Ok(carried) = self.carried.try_recv() {
                self.apply(match carried {
                    Carried::Began(run) => Message::Began(run.to_string()),
                    Carried::Over(run) => Message::Over(run.to_string()),
                });
            }
            self.apply(Message::Changed);
            condition(&self.model)
        });
    }

    /// Opens the only run there is, which is in this state.
    fn open_run(&mut self, state: RunState) {
        self.press("2");
        self.until("the run is listed", |model| model.run_state() == Some(state));
        self.press("\r");
        self.until("the run is shown", |model| {
            model.screen() == Screen::Run && model.run_state() == Some(state)
        });
    }

    /// Returns what is asked before something is done.
    fn asked(&self) -> String {
        let dialog = self.model.dialog.as_ref().expect("something is asked");
        format!("{}\n{}", dialog.question, dialog.details.join("\n"))
    }
}

impl Drop for Screens {
    fn drop(&mut self) {
        self.workshop.end(Cancel::after(Duration::ZERO));
        self.runtime.block_on(self.workshop.settled());
    }
}

/// A step that runs until it is ended, and one after it.
const ENDLESS: &str = "
name: endless
flow:
  - { name: hold, run: 'touch started; exec sleep 600' }
  - { name: next, depends_on: [hold], run: touch next }
";

/// A step that asks, without a process.
const ASKS: &str = "name: asking\nflow: [{ name: ask, wait: { approval: go on? } }]\n";

#[test]
fn one_step_of_a_run_is_left_out() {
    let scratch = Scratch::new("screens-skip");
    let file = scratch.file("flow.yaml", ENDLESS);
    let running = scratch.start(&["run", &file, "--quiet"]);
    scratch.wait_for("started");
    let mut screens = Screens::new(&scratch);
    screens.open_run(RunState::Running);
    screens.press("gX");
    assert!(screens.asked().contains("End hold of run"), "{}", screens.asked());
    screens.press("y");
    // Nobody lets the step end: it is ended, and what needs it is never begun.
    let _ = running.output();
    let result = scratch.json(&["show", "last"]);
    assert_eq!(result["steps"]["hold"]["state"], "cancelled", "{result}");
    assert_eq!(result["steps"]["next"]["state"], "skipped", "{result}");
    assert!(!scratch.path("next").exists());
}

/// Starts a run of a step that asks; returns when the run is stored.
fn asking(scratch: &Scratch) -> Running {
    let file = scratch.file("asking.yaml", ASKS);
    let running = scratch.start(&["run", &file, "--quiet"]);
    wait_until("it runs", || {
        let shown = scratch.run(&["show", "last", "--format", "json"]);
        let shown: Option<Value> = serde_json::from_slice(&shown.stdout).ok();
        shown.is_some_and(|shown| shown["state"] == "running")
    });
    running
}

/// What a retry would do is shown, and if that is something else by then, shown again.
#[test]
fn a_retry_does_nothing_that_was_not_shown() {
    let scratch = Scratch::new("screens-shown");
    let running = asking(&scratch);
    // It is refused until the step asks.
    let reject = ["approve", "last", "ask", "--reject"];
    wait_until("it is answered", || scratch.run(&reject).status.success());
    assert_eq!(running.output().status.code(), Some(1));
    let mut screens = Screens::new(&scratch);
    screens.open_run(RunState::Failed);
    screens.press("t");
    assert!(screens.asked().contains("1 step again, 0 reused"), "{}", screens.asked());
    scratch.file("asking.yaml", &ASKS.replace("go on?", "still?"));
    screens.press("y");
    let asked = screens.asked();
    assert!(asked.contains("it was not done"), "{asked}");
    assert!(asked.contains("its files have changed"), "{asked}");
    let runs = || scratch.json(&["runs"])["runs"].as_array().unwrap().len();
    assert_eq!(runs(), 1, "nothing was run");
    screens.press("y");
    screens.until("another run goes on", |model| model.run_state() == Some(RunState::Running));
    assert_eq!(runs(), 2);
}

/// A run whose process was killed is gone on with here.
#[test]
fn a_run_that_nobody_runs_is_gone_on_with() {
    let scratch = Scratch::new("screens-taken");
    let running = asking(&scratch);
    running.signal("KILL");
    let _ = running.output();
    let mut screens = Screens::new(&scratch);
    screens.open_run(RunState::Interrupted);
    screens.press("r");
    screens.until("it goes on here", |model| {
        model.own.len() == 1 && model.run_state() == Some(RunState::Running)
    });
    screens.until("it asks again", |model| model.asked().is_some());
    screens.press("y");
    let form = screens.model.form.as_ref().expect("a form for the answer");
    assert!(form.title.starts_with("Say yes to ask of run"), "{}", form.title);
    screens.press("\r");
    screens.until("it is over", |model| {
        model.over == 1 && model.run_state() == Some(RunState::Succeeded)
    });
}
