//! Data folders for tests, and schedulers that fill them.
//!
//! Nothing here asserts anything.

use std::path::{Path, PathBuf};

use tidewheel::store::sqlite::{DataFolder, Durability, Options};
use tidewheel_testing::{TempDir, temp_folder};

/// A data folder that is removed when the test ends.
#[derive(Debug)]
pub struct TestFolder {
    path: PathBuf,
    _parent: TempDir,
}

impl TestFolder {
    /// Returns a new path; nothing is there.
    pub fn new() -> Self {
        let parent = temp_folder("sqlite");
        Self { path: parent.path().join("data"), _parent: parent }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens it in the way that is fast to test.
    pub fn open(&self) -> DataFolder {
        self.open_with(Options::default().durability(Durability::Process))
    }

    pub fn open_with(&self, options: Options) -> DataFolder {
        DataFolder::open(&self.path, options).unwrap()
    }
}

use std::sync::Arc;
use std::time::Duration;

use tidewheel::engine::Engine;
use tidewheel::store::{AttemptRecord, Store};
use tidewheel::{Priority, RunId};
use tidewheel_core::decision::{Action, Start};
use tidewheel_core::id::ProfileId;
use tidewheel_core::input::{Command, Event, Input, Outcome, Submission};
use tidewheel_core::spec::{Attachment, Config, Profile};
use tidewheel_core::time::{Moment, Now, Timestamp};

/// A scheduler on a store, driven by hand.
pub struct Rig {
    pub engine: Engine,
    profile: ProfileId,
    next: u128,
    clock: u64,
}

impl Rig {
    pub fn open(store: impl Store + 'static) -> Self {
        Self::open_at(store, 0)
    }

    /// As though `from` submissions had been made before.
    pub fn open_at(store: impl Store + 'static, from: u128) -> Self {
        let mut engine = Engine::open(Config::default(), Box::new(store), at(1)).unwrap();
        let profile = engine.scheduler_mut().profile(&Profile::default()).unwrap();
        Self { engine, profile, next: from, clock: 1 }
    }

    pub fn now(&mut self) -> Now {
        self.clock += 1;
        Now {
            monotonic: Moment::ZERO.after(Duration::from_millis(self.clock)),
            wall: Timestamp::from_micros(1_700_000_000_000_000 + 1_000 * self.clock as i64),
        }
    }

    /// Ids that rise with time, as those of a wheel do.
    pub fn id(&mut self) -> RunId {
        self.next += 1;
        RunId(0x0190_0000_0000_7000_8000_0000_0000_0000 + (self.next << 64) + self.next)
    }

    pub fn submission(&mut self) -> Submission {
        Submission {
            id: self.id(),
            profile: self.profile,
            priority: Priority::NORMAL,
            deadline: None,
            key: None,
            attachment: None,
        }
    }

    /// Submits so many at once, in one decision, and says what is to start.
    pub fn submit(&mut self, count: usize) -> Vec<Start> {
        let inputs: Vec<Input> =
            (0..count).map(|_| Input::Command(Command::Submit(self.submission()))).collect();
        self.turn(inputs)
    }

    pub fn submit_with(&mut self, attachment: Attachment) -> Vec<Start> {
        let submission = Submission { attachment: Some(Arc::new(attachment)), ..self.submission() };
        self.turn(vec![Input::Command(Command::Submit(submission))])
    }

    /// Ends attempts, in one decision.
    pub fn end(&mut self, starts: &[Start], outcome: impl Fn() -> Outcome) -> Vec<Start> {
        let ended = |start: &Start| {
            let (task, attempt) = (start.task, start.attempt);
            Input::Event(Event::AttemptEnded { task, attempt, outcome: outcome() })
        };
        self.turn(starts.iter().map(ended).collect())
    }

    /// Has what an attempt left stored with the next turn.
    pub fn leave(&mut self, record: AttemptRecord) {
        self.engine.keep(Arc::new(record));
    }

    pub fn turn(&mut self, inputs: Vec<Input>) -> Vec<Start> {
        let now = self.now();
        let outputs = self.engine.turn(now, inputs).unwrap();
        let start = |action: &Action| match action {
            Action::StartAttempt(start) => Some(*start),
            _ => None,
        };
        outputs.actions.iter().filter_map(start).collect()
    }
}

pub fn at(seconds: u64) -> Now {
    Now {
        monotonic: Moment::ZERO.after(Duration::from_secs(seconds)),
        wall: Timestamp::from_seconds(1_700_000_000 + seconds as i64),
    }
}
