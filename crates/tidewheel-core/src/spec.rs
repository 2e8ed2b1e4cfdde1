//! What callers ask for: profiles of tasks, runs, queues, limits, the scheduler's own settings.
//!
//! Plain data without behaviour beyond defaults; the scheduler decides what to make of it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::condition::Condition;
use crate::graph::Graph;
use crate::group::{GroupSpec, Membership};
use crate::policy::{BreakerSpec, OnError, OnSkip, Priority, Rate, Retry};

/// The name of the queue everything is in until somebody names another.
pub const DEFAULT_QUEUE: &str = "default";

/// How a task is treated, shared by all tasks treated alike.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Profile {
    /// 0 to 100, higher first.
    pub priority: Priority,
    /// The queue it waits in; `None`: the run's queue, or `default`.
    pub queue: Option<Arc<str>>,
    /// What happens after a failed attempt.
    pub retry: Retry,
    /// Time for one attempt.
    pub attempt_timeout: Option<Duration>,
    /// Time for all attempts and the waiting between, from the moment the task first became ready.
    pub task_timeout: Option<Duration>,
    /// Wait after the last dependency ended.
    pub start_delay: Duration,
    /// The task's own word for its failure.
    pub on_error: Option<OnError>,
    /// The task's own word for the failure of what it needs.
    pub on_dependency_error: Option<OnError>,
    /// The task's own word for being skipped by a condition, and for such a skip of what it needs.
    pub on_skip: Option<OnSkip>,
    /// Runs whatever became of its dependencies and of the run (clean-up).
    pub always: bool,
    /// Never tried a second time, whatever the retries say; unknown when its attempt was lost.
    pub at_most_once: bool,
    /// Its attempts never give way to something more important: its code can be had for one attempt only. Not
    /// stored, because whoever takes it over brings code of their own.
    pub stays: bool,
    /// Named limits and the units taken of each while an attempt runs.
    pub limits: Vec<(Arc<str>, u32)>,
    /// Whose task it is: those of a queue who say something here share its slots fairly.
    pub fair_by: Option<Arc<str>>,
}

impl Default for Profile {
    fn default() -> Self {
        Self {
            priority: Priority::NORMAL,
            queue: None,
            retry: Retry::none(),
            attempt_timeout: None,
            task_timeout: None,
            start_delay: Duration::ZERO,
            on_error: None,
            on_dependency_error: None,
            on_skip: None,
            always: false,
            at_most_once: false,
            stays: false,
            limits: Vec::new(),
            fair_by: None,
        }
    }
}

/// The order inside a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RunOrder {
    /// Earliest deadline, then longest remaining path, then oldest.
    #[default]
    CriticalPath,
    /// Earliest deadline, then least slack when several resources are shared: the longest path
    /// after the task, then oldest.
    LatestFinish,
    /// Earliest deadline, then oldest.
    Deadline,
    /// Oldest first.
    Fifo,
}

/// What happens to running attempts when a failure stops the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnStop {
    /// They finish.
    #[default]
    Finish,
    /// They are told to stop, and ended after the grace.
    Cancel {
        /// Time to stop by themselves.
        grace: Duration,
    },
}

/// A concurrency group: of all runs that name it, only so many go on at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunGroup {
    /// Its name.
    pub name: Arc<str>,
    /// How many of its runs go on at once.
    pub max: u32,
    /// What happens to a run that finds so many going on.
    pub busy: Busy,
}

/// What happens to a run that finds its concurrency group taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Busy {
    /// It waits its turn.
    #[default]
    QueueAll,
    /// It waits; while one waits, the ones after it end without having started.
    QueueOne,
    /// It waits, in place of whoever has waited: only the newest does.
    QueueNewest,
    /// It ends without having started.
    Skip,
    /// Those before it are cancelled; it starts when they have ended.
    Cancel,
}

impl Busy {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::QueueAll, Self::QueueOne, Self::QueueNewest, Self::Skip, Self::Cancel];

    /// The word used in files: those of a schedule's overlap.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::QueueAll => "queue-all",
            Self::QueueOne => "queue-one",
            Self::QueueNewest => "queue-newest",
            Self::Skip => "skip",
            Self::Cancel => "cancel",
        }
    }
}

/// How a run is treated as a whole.
#[derive(Debug, Clone, PartialEq)]
pub struct RunOptions {
    /// A name for people.
    pub name: Arc<str>,
    /// The queue of tasks that name none.
    pub queue: Arc<str>,
    /// Attempts of this run at once; `None`: as many as the scheduler allows.
    pub slots: Option<u32>,
    /// Time for the whole run.
    pub timeout: Option<Duration>,
    /// The word for failures where neither task has one.
    pub on_error: OnError,
    /// The word for skips by a condition where neither task has one.
    pub on_skip: OnSkip,
    /// What happens to running attempts when a failure stops the run.
    pub on_stop: OnStop,
    /// The order inside the run.
    pub order: RunOrder,
    /// Whether the run stays open for more tasks when all have ended.
    pub keep_open: bool,
    /// Whether it starts paused.
    pub paused: bool,
    /// The concurrency group it belongs to: nothing of it starts before it has a place there.
    pub group: Option<RunGroup>,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self {
            name: Arc::from(""),
            queue: Arc::from(DEFAULT_QUEUE),
            slots: None,
            timeout: None,
            on_error: OnError::Skip,
            on_skip: OnSkip::Continue,
            on_stop: OnStop::Finish,
            order: RunOrder::CriticalPath,
            keep_open: false,
            paused: false,
            group: None,
        }
    }
}

/// What travels with work and is kept with it; the scheduler never looks inside.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Attachment {
    /// What whoever runs the work must know.
    pub payload: Option<Arc<[u8]>>,
    /// Who understands the payload, in a short word.
    pub kind: Option<Arc<str>>,
    /// Makes accepting the work twice harmless.
    pub once: Option<OnceKey>,
}

/// A caller's own name for a submission, so that asking again after a lost answer is harmless.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OnceKey {
    /// The name.
    pub key: Arc<str>,
    /// A digest of what was asked for: the same name must mean the same work.
    pub digest: u128,
}

impl OnceKey {
    /// A name for work that `body` says everything about.
    #[must_use]
    pub fn new(key: &str, body: &[u8]) -> Self {
        // FNV-1a, which no update of a library can change under stored digests.
        const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
        let start = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d_u128;
        let mix = |hash: u128, byte: &u8| (hash ^ u128::from(*byte)).wrapping_mul(PRIME);
        Self { key: Arc::from(key), digest: body.iter().fold(start, mix) }
    }
}

/// A run as asked for. Immutable; stores keep it whole.
#[derive(Debug, Clone)]
pub struct RunSpec {
    /// The tasks and what waits for what.
    pub graph: Arc<Graph>,
    /// How the run is treated.
    pub options: RunOptions,
    /// The profiles its tasks use; the first is the default.
    pub profiles: Vec<Arc<Profile>>,
    /// Index into `profiles` by task; empty when all use the first.
    pub profile_of: Vec<u16>,
    /// Time until each task should have ended, counted from the start of the run.
    pub deadlines: BTreeMap<u32, Duration>,
    /// Keys of tasks that run one at a time, in order.
    pub keys: BTreeMap<u32, Arc<str>>,
    /// Conditions of tasks over others.
    pub conditions: BTreeMap<u32, Arc<Condition>>,
    /// Groups by the task that is their end.
    pub groups: BTreeMap<u32, GroupSpec>,
    /// Tasks that were done before and are not run again; with the end of a group all of it.
    pub already_done: Vec<u32>,
    /// What travels with the run.
    pub attachment: Attachment,
    /// Queues and limits that it brings along. They are defined with it and have rows of their own, so a
    /// restored run brings none.
    pub defines: Vec<Definition>,
}

/// A queue or a limit that a run brings along. What says the same under the same name is shared; what
/// says something else is refused while the other is in use.
#[derive(Debug, Clone, PartialEq)]
pub enum Definition {
    /// A queue.
    Queue {
        /// Its name.
        name: Arc<str>,
        /// Its settings.
        spec: QueueSpec,
    },
    /// A limit.
    Limit {
        /// Its name.
        name: Arc<str>,
        /// Its kind and size.
        spec: LimitSpec,
    },
}

impl RunSpec {
    /// A run of `graph` in which every task has the profile `profile`.
    #[must_use]
    pub fn new(graph: Arc<Graph>, options: RunOptions, profile: Profile) -> Self {
        Self {
            graph,
            options,
            profiles: vec![Arc::new(profile)],
            profile_of: Vec::new(),
            deadlines: BTreeMap::new(),
            keys: BTreeMap::new(),
            conditions: BTreeMap::new(),
            groups: BTreeMap::new(),
            already_done: Vec::new(),
            attachment: Attachment::default(),
            defines: Vec::new(),
        }
    }

    /// Whether more than edges and words decide what becomes of its tasks.
    pub(crate) fn is_special(&self) -> bool {
        !self.conditions.is_empty() || !self.groups.is_empty()
    }
}

/// Tasks to be added to a live run: all of them or none.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Addition {
    /// The tasks. They may name each other, in any order: see [`Addition::FIRST`].
    pub tasks: Vec<TaskSpec>,
    /// Whether a task whose name is in the run already is passed over; otherwise all are refused.
    pub passes_over_known: bool,
}

impl Addition {
    /// The index that stands for the first task of the same request, whatever index it gets, in
    /// [`TaskSpec::after`] and [`TaskSpec::before`]; the ones that follow stand for the others.
    pub const FIRST: u32 = 1 << 31;
}

impl From<TaskSpec> for Addition {
    fn from(task: TaskSpec) -> Self {
        Self { tasks: vec![task], passes_over_known: false }
    }
}

/// A task to be added to a live run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskSpec {
    /// Its name; unique in the run.
    pub name: Arc<str>,
    /// Indices of the tasks it waits for.
    pub after: Vec<u32>,
    /// Indices of tasks that wait for others and shall wait for it as well.
    pub before: Vec<u32>,
    /// Its condition over others.
    pub condition: Option<Arc<Condition>>,
    /// Its part in groups.
    pub membership: Membership,
    /// How it is treated.
    pub profile: Arc<Profile>,
    /// How long it is expected to take.
    pub estimate: Option<Duration>,
    /// Tasks of one key run one at a time, in order.
    pub key: Option<Arc<str>>,
    /// Time until it should have ended, from now.
    pub deadline: Option<Duration>,
    /// What whoever runs it must know.
    pub payload: Option<Arc<[u8]>>,
}

impl TaskSpec {
    /// Whether more than edges and words decide what becomes of it.
    pub(crate) fn is_special(&self) -> bool {
        self.condition.is_some() || self.membership != Membership::default()
    }
}

/// A queue: a lane with weight, slots and rate.
#[derive(Debug, Clone, PartialEq)]
pub struct QueueSpec {
    /// Share of the scheduler's slots against other queues with waiting work.
    pub weight: u32,
    /// Attempts of this queue at once; `None`: no own bound.
    pub slots: Option<u32>,
    /// Starts per time.
    pub rate: Option<Rate>,
    /// Tasks that may be accepted and not started, whatever they wait for: a slot, time, other tasks. A
    /// submission, a run or an addition over it is refused as a whole, the task of a firing skipped
    /// (*queue full*). What tasks that succeed add to their run always has room.
    pub waiting_max: Option<u32>,
    /// Whether a more important task may end a less important attempt.
    pub preempt: bool,
}

impl Default for QueueSpec {
    fn default() -> Self {
        Self { weight: 1, slots: None, rate: None, waiting_max: None, preempt: false }
    }
}

/// A named cap shared by everything that names it.
#[derive(Debug, Clone, PartialEq)]
pub enum LimitSpec {
    /// At most this many units at once (a concurrency cap, or a resource).
    Units(u32),
    /// At most this many units at once among all schedulers that share the limit: each must be given
    /// units before it can use them.
    SharedUnits(u32),
    /// At most so many starts per time.
    Rate(Rate),
    /// Closed for a time after failures, then one probe.
    Breaker(BreakerSpec),
}

/// The scheduler's own settings.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// Attempts at once in all; `None`: no bound.
    pub slots: Option<u32>,
    /// Time in which waiting work gains sixty points of priority; `None`: no ageing.
    pub starvation_timeout: Option<Duration>,
    /// Attempts that may be lost with their worker before a task is quarantined.
    pub lost_attempts_max: u32,
    /// How long the name of a submission is remembered after it was accepted.
    pub once_kept: Duration,
    /// Mixed into every jitter.
    pub seed: u64,
    /// Whether notices are made; they cost time when nobody looks.
    pub notices: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            slots: None,
            starvation_timeout: Some(Duration::from_secs(30)),
            lost_attempts_max: 10,
            once_kept: Duration::from_secs(24 * 60 * 60),
            seed: 0,
            notices: false,
        }
    }
}
