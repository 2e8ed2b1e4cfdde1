//! [`Disturbed`]: a memory store that is as slow as it is told to be, and can be held up and disturbed.
//!
//! It keeps what [`Memory`] keeps; nothing here asserts anything.

use std::error::Error;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex};

use tidewheel::store::{
    AttemptRecord, ChangeSet, CommandSource, CommitProof, Memory, Pace, SentCommand, Snapshot,
    Store, StoreError, Tenure,
};
use tidewheel::{Builder, Tidewheel};

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

/// What disturbs it, and what it has seen.
#[derive(Default)]
pub struct Control {
    wrong: Mutex<Wrong>,
    /// So many commits more go wrong; all of them if it is not said.
    left: Mutex<Option<u32>>,
    commits: AtomicU32,
    held: Mutex<bool>,
    asked: AtomicBool,
    moved: Condvar,
    pub inbox: Mutex<Vec<SentCommand>>,
    /// How often it was looked for commands.
    pub taken: AtomicU32,
    pub acknowledged: Mutex<Vec<i64>>,
}

/// Commands of others, kept by the store itself.
struct Letters(Arc<Control>);

impl CommandSource for Letters {
    fn take(&mut self) -> Result<Vec<SentCommand>, Box<dyn Error + Send + Sync>> {
        let taken = std::mem::take(&mut *self.0.inbox.lock().unwrap());
        self.0.taken.fetch_add(1, Ordering::SeqCst);
        Ok(taken)
    }

    fn acknowledge(
        &mut self,
        commands: &[SentCommand],
    ) -> Result<(), Box<dyn Error + Send + Sync>> {
        let ids = commands.iter().map(|sent| sent.id);
        self.0.acknowledged.lock().unwrap().extend(ids);
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

    /// Whether a commit waits.
    pub fn is_asked(&self) -> bool {
        self.control.asked.load(Ordering::SeqCst)
    }

    /// Somebody takes the tenure, and is gone again.
    pub fn depose(&self) {
        let _ = self.memory.clone().take_tenure().unwrap();
    }

    /// How many commits were stored.
    pub fn commits(&self) -> u32 {
        self.control.commits.load(Ordering::SeqCst)
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
            self.control.asked.store(true, Ordering::SeqCst);
            held = self.control.moved.wait(held).unwrap();
        }
        drop(held);
        let unknown = || Err(StoreError::Ambiguous { source: "the answer was lost".into() });
        match self.next_wrong() {
            Wrong::Full => Err(StoreError::Unavailable { source: "the disk is full".into() }),
            Wrong::Corrupt => Err(StoreError::Corrupt { what: String::from("page 7") }),
            Wrong::LostSilent => unknown(),
            Wrong::StoredSilent => {
                self.memory.commit(tenure, changes, records).and_then(|_| unknown())
            }
            Wrong::Nothing | Wrong::NoTenure => {
                self.control.commits.fetch_add(1, Ordering::SeqCst);
                self.memory.commit(tenure, changes, records)
            }
        }
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
