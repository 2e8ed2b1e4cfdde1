//! [`Disturbed`]: a memory store that is as slow as it is told to be, and can be held up and disturbed.
//!
//! It keeps what [`Memory`] keeps; nothing here asserts anything.

use std::error::Error;
use std::sync::{Arc, Condvar, Mutex};

use tidewheel::store::{
    AttemptRecord, ChangeSet, CommandSource, CommitProof, Memory, Pace, SentCommand, Snapshot,
    Store, StoreError, Tenure,
};
use tidewheel::{Builder, Tidewheel};
use tidewheel_testing::bounded;
use tokio::sync::watch;

/// What goes wrong with commits, or with taking the tenure again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Wrong {
    #[default]
    Nothing,
    /// There is no room: nothing is stored.
    Full,
    /// What is offered is stored, and nobody answers.
    StoredSilent,
    /// What is offered is not stored, and nobody answers.
    LostSilent,
    /// The tenure cannot be taken again.
    NoTenure,
    /// What is stored cannot be read any more.
    Corrupt,
}

/// A memory store in trouble. Clones share everything.
#[derive(Clone)]
pub struct Disturbed {
    pub memory: Memory,
    pace: Pace,
    is_patient: bool,
    pub control: Arc<Control>,
}

/// Faults to inject, and the steps that the store has seen.
#[derive(Default)]
pub struct Control {
    wrong: Mutex<Wrong>,
    /// So many commits more go wrong; all of them if it is not said.
    left: Mutex<Option<u32>>,
    held: Mutex<bool>,
    moved: Condvar,
    inbox: Mutex<Vec<SentCommand>>,
    steps: watch::Sender<Steps>,
}

/// What the scheduler has done with the store so far. Tests wait for a step, not for a time.
#[derive(Debug, Clone, Default)]
pub struct Steps {
    /// Commits that were stored.
    pub commits: u32,
    /// Commits that were refused or left without an answer.
    pub faults: u32,
    /// Whether a commit waits because commits are held.
    pub is_held: bool,
    /// How often commands of others were read.
    pub looks: u32,
    /// Commands that were acknowledged.
    pub acknowledged: Vec<i64>,
}

/// Commands of others, kept by the store itself.
struct Letters(Arc<Control>);

impl CommandSource for Letters {
    fn take(&mut self) -> Result<Vec<SentCommand>, Box<dyn Error + Send + Sync>> {
        let taken = std::mem::take(&mut *self.0.inbox.lock().unwrap());
        self.0.steps.send_modify(|steps| steps.looks += 1);
        Ok(taken)
    }

    fn acknowledge(
        &mut self,
        commands: &[SentCommand],
    ) -> Result<(), Box<dyn Error + Send + Sync>> {
        let ids = commands.iter().map(|sent| sent.id);
        self.0.steps.send_modify(|steps| steps.acknowledged.extend(ids));
        Ok(())
    }
}

impl Disturbed {
    pub fn new(pace: Pace) -> Self {
        Self { memory: Memory::new(), pace, is_patient: true, control: Arc::default() }
    }

    /// A wheel on it, with a real clock: a store's thread knows nothing of tokio's.
    pub fn builder(&self) -> Builder {
        Tidewheel::builder().store(self.clone())
    }

    /// From now on this goes wrong, with every commit.
    pub fn go(&self, wrong: Wrong) {
        *self.control.left.lock().unwrap() = None;
        *self.control.wrong.lock().unwrap() = wrong;
    }

    /// This goes wrong with so many commits.
    pub fn go_for(&self, commits: u32, wrong: Wrong) {
        self.go(wrong);
        *self.control.left.lock().unwrap() = Some(commits);
    }

    /// Commits wait until they are let go on.
    pub fn hold(&self, held: bool) {
        *self.control.held.lock().unwrap() = held;
        self.control.moved.notify_all();
    }

    /// Leaves a command, as another process does.
    pub fn send(&self, command: SentCommand) {
        self.control.inbox.lock().unwrap().push(command);
    }

    /// Returns the steps so far.
    pub fn steps(&self) -> Steps {
        self.control.steps.borrow().clone()
    }

    /// Waits until the steps fulfil `condition`.
    pub async fn until(&self, expected: &str, condition: impl FnMut(&Steps) -> bool) {
        let mut steps = self.control.steps.subscribe();
        bounded(expected, steps.wait_for(condition)).await.unwrap();
    }

    /// Somebody takes the tenure, and is gone again.
    pub fn depose(&self) {
        let _ = self.memory.clone().take_tenure().unwrap();
    }

    fn wrong(&self) -> Wrong {
        *self.control.wrong.lock().unwrap()
    }

    /// What goes wrong with this commit.
    fn next_wrong(&self) -> Wrong {
        let mut left = self.control.left.lock().unwrap();
        match &mut *left {
            Some(0) => Wrong::Nothing,
            Some(left) => {
                *left -= 1;
                self.wrong()
            }
            None => self.wrong(),
        }
    }
}

impl Store for Disturbed {
    fn take_tenure(&mut self) -> Result<(Tenure, Snapshot), StoreError> {
        self.memory.take_tenure()
    }

    fn retake_tenure(&mut self) -> Result<(Tenure, Snapshot), StoreError> {
        if self.wrong() == Wrong::NoTenure {
            return Err(StoreError::Unavailable { source: "nobody answers".into() });
        }
        self.memory.retake_tenure()
    }

    fn commit<'c>(
        &mut self,
        tenure: Tenure,
        changes: ChangeSet<'c>,
        records: &[Arc<AttemptRecord>],
    ) -> Result<CommitProof<'c>, StoreError> {
        let mut held = self.control.held.lock().unwrap();
        if *held && !self.is_patient {
            return Err(StoreError::Busy);
        }
        while *held {
            self.control.steps.send_modify(|steps| steps.is_held = true);
            held = self.control.moved.wait(held).unwrap();
        }
        drop(held);
        self.control.steps.send_modify(|steps| steps.is_held = false);
        let unknown = || Err(StoreError::Ambiguous { source: "the answer was lost".into() });
        let wrong = self.next_wrong();
        let is_fault = !matches!(wrong, Wrong::Nothing | Wrong::NoTenure);
        let result = match wrong {
            Wrong::Full => Err(StoreError::Unavailable { source: "the disk is full".into() }),
            Wrong::Corrupt => Err(StoreError::Corrupt { what: String::from("page 7") }),
            Wrong::LostSilent => unknown(),
            Wrong::StoredSilent => {
                self.memory.commit(tenure, changes, records).and_then(|_| unknown())
            }
            Wrong::Nothing | Wrong::NoTenure => self.memory.commit(tenure, changes, records),
        };
        self.control.steps.send_modify(|steps| match is_fault {
            true => steps.faults += 1,
            false => steps.commits += 1,
        });
        result
    }

    fn inbox(&mut self) -> Option<Box<dyn CommandSource>> {
        Some(Box::new(Letters(Arc::clone(&self.control))))
    }

    fn be_patient(&mut self, patient: bool) {
        self.is_patient = patient;
    }

    fn pace(&self) -> Pace {
        self.pace
    }
}
