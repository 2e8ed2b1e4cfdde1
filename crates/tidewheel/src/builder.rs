//! [`Builder`]: a wheel's settings, checked when it starts.
//!
//! Queues and limits can also be defined and changed later, on the wheel itself.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tidewheel_core::id::{AttemptId, ProfileId};
use tidewheel_core::input::{Command, Rejection};
use tidewheel_core::policy::{BreakerSpec, Rate};
use tidewheel_core::row::Snapshot;
use tidewheel_core::spec::{Config, DEFAULT_QUEUE, LimitSpec, QueueSpec};
use tokio::runtime::Handle;

use crate::attempt::Attempt;
use crate::clock::Clock;
#[cfg(feature = "serde")]
use crate::driver::Reader;
use crate::driver::engine::{Engine, EngineError};
use crate::driver::{Adopt, Keeping, Reclaim, Settings, Shared, State, Until, plain_conclude};
use crate::error::BoxError;
use crate::observe::Hub;
use crate::output::TaskOutput;
use crate::schedule::{Firing, MadeRun, maker};
use crate::store::{Store, Volatile};
use crate::wheel::Tidewheel;

/// Notices kept for a slow listener, unless something else is said.
const NOTICES_DEFAULT: usize = 1024;

/// A wheel's settings; made by [`Tidewheel::builder`].
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use std::time::Duration;
/// use tidewheel::policy::Rate;
/// use tidewheel::{QueueSpec, Tidewheel};
///
/// let wheel = Tidewheel::builder()
///     .slots(16)
///     .queue_capacity(1000)
///     .starvation_timeout(Duration::from_secs(60))
///     .queue("reports", QueueSpec { weight: 2, slots: Some(4), ..QueueSpec::default() })
///     .limit("database", 8)
///     .rate("mail", Rate::new(10, Duration::from_secs(1))?)
///     .start();
/// assert_eq!(wheel.stats().slots, Some(16));
/// # Ok(())
/// # }
/// ```
#[must_use = "a wheel turns only once it is started"]
pub struct Builder {
    config: Config,
    default_queue: QueueSpec,
    queues: Vec<(Arc<str>, QueueSpec)>,
    limits: Vec<(Arc<str>, LimitSpec)>,
    clock: Clock,
    store: Box<dyn Store>,
    seed: Option<u64>,
    notices: usize,
    adopt: Adopt,
    reclaim: Option<Reclaim>,
    paused: bool,
    runtime: Option<Handle>,
}

/// Why a wheel could not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// A setting makes no sense.
    #[error("invalid setting: {0}")]
    Setting(#[from] Rejection),
    /// There is no tokio runtime to run on.
    #[error("a wheel must be started inside a tokio runtime, or be given one")]
    NoRuntime,
    /// The store cannot be used.
    #[error("the store cannot be used")]
    Store(#[source] EngineError),
}

impl Builder {
    pub(crate) fn new() -> Self {
        Self {
            config: Config::default(),
            default_queue: QueueSpec::default(),
            queues: Vec::new(),
            limits: Vec::new(),
            clock: Clock::system(),
            store: Box::new(Volatile),
            seed: None,
            notices: NOTICES_DEFAULT,
            adopt: Adopt::default(),
            reclaim: None,
            paused: false,
            runtime: None,
        }
    }

    /// Tasks that run at once, of all runs and queues together. Without it there is no bound.
    pub fn slots(mut self, slots: u32) -> Self {
        self.config.slots = Some(slots);
        self
    }

    /// Tasks of the queue `default` that may be accepted and not started, so that what waits cannot take
    /// all memory; 0: no bound. It counts tasks that wait for a slot, for time and for other tasks. What
    /// would be over it is refused as a whole, be it a submission, a run or tasks added to one
    /// ([`Rejection::QueueFull`](crate::Rejection::QueueFull)); an instant of a schedule is skipped, for
    /// the reason *queue full*, as its ledger and counters tell.
    pub fn queue_capacity(mut self, waiting_max: u32) -> Self {
        self.default_queue.waiting_max = Some(waiting_max).filter(|max| *max > 0);
        self
    }

    /// The time in which waiting work gains 60 points of priority (ten points in each sixth of
    /// it), so that nothing waits for ever. `None`: no ageing. Default: 30 s.
    pub fn starvation_timeout(mut self, timeout: impl Into<Option<Duration>>) -> Self {
        self.config.starvation_timeout = timeout.into();
        self
    }

    /// How long the name of a submission or run is remembered after it was accepted
    /// ([`once`](crate::task::TaskRequest::once)), and with it the value that everybody gets who asks again
    /// ([`submit_shared`](crate::task::TaskRequest::submit_shared)). Default: a day.
    pub fn once_kept(mut self, time: Duration) -> Self {
        self.config.once_kept = time;
        self
    }

    /// Defines a queue, or changes `default`.
    pub fn queue(mut self, name: &str, spec: QueueSpec) -> Self {
        if name == DEFAULT_QUEUE {
            // What `queue_capacity` said holds unless the queue's own word differs.
            let waiting_max = spec.waiting_max.or(self.default_queue.waiting_max);
            self.default_queue = QueueSpec { waiting_max, ..spec };
        } else {
            self.queues.push((Arc::from(name), spec));
        }
        self
    }

    /// Defines a limit: at most `units` at once of whatever names it.
    pub fn limit(mut self, name: &str, units: u32) -> Self {
        self.limits.push((Arc::from(name), LimitSpec::Units(units)));
        self
    }

    /// Defines a limit on starts per time.
    pub fn rate(mut self, name: &str, rate: Rate) -> Self {
        self.limits.push((Arc::from(name), LimitSpec::Rate(rate)));
        self
    }

    /// Defines a circuit breaker: open for a time after failures in a row, then one probe.
    pub fn breaker(mut self, name: &str, spec: BreakerSpec) -> Self {
        self.limits.push((Arc::from(name), LimitSpec::Breaker(spec)));
        self
    }

    /// The clock to go by; see [`crate::clock::VirtualClock`] for tests.
    pub fn clock(mut self, clock: impl Into<Clock>) -> Self {
        self.clock = clock.into();
        self
    }

    /// The store that keeps decisions. Default: [`Volatile`], which keeps nothing.
    pub fn store(mut self, store: impl Store + 'static) -> Self {
        self.store = Box::new(store);
        self
    }

    /// How many attempts of one task may be lost with their worker before the task is given up.
    /// Default: 10.
    pub fn lost_attempts_max(mut self, attempts: u32) -> Self {
        self.config.lost_attempts_max = attempts;
        self
    }

    /// Makes all chance (jitter, identities) repeatable, for tests. Identities differ from one wheel on a store
    /// to the next; wheels on several shards of one data folder need a seed each.
    pub fn seed(mut self, seed: u64) -> Self {
        self.config.seed = seed;
        self.seed = Some(seed);
        self
    }

    /// How many notices are kept for a listener that is slow. Default: 1024.
    pub fn notices(mut self, capacity: usize) -> Self {
        self.notices = capacity;
        self
    }

    /// Code for tasks that are restored from the store, whatever their [kind](Builder::adopt_kind),
    /// unless there is code for just that. Without any code a wheel does not start on a store that
    /// holds unfinished work: what nobody here understands is left for somebody who does.
    ///
    /// Tasks added to a restored run run this code too, unless they bring their own.
    ///
    /// What was submitted as a plain future comes back as well, without a
    /// [payload](crate::Attempt::payload): its code was all there was, and is gone. What becomes of it, this
    /// code says: `Outcome::Skipped`, or a failure.
    pub fn adopt<F, R>(mut self, code: F) -> Self
    where
        F: Fn(Attempt) -> R + Send + Sync + 'static,
        R: Future + Send + 'static,
        R::Output: TaskOutput,
    {
        self.adopt.rest = Some(plain_conclude(code));
        self
    }

    /// Code for tasks that are restored from the store and whose work is of this kind, or says none
    /// for `None`. A wheel may have code for several kinds.
    ///
    /// If there is no [`Builder::adopt`] for all others, work of other kinds is held: it stays in the
    /// store as it is, nothing of it is started, ended or timed out, and commands for it wait; a wheel
    /// that knows its kind goes on with it. [`Tidewheel::held_work`] lists it.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use tidewheel::store::Memory;
    /// use tidewheel::{Shutdown, Tidewheel};
    ///
    /// let store = Memory::new();
    /// let wheel = Tidewheel::builder().store(store.clone()).paused().start();
    /// let mail = wheel.task(|| async { Ok::<_, std::io::Error>(()) }).kind("mail").submit();
    /// mail.accepted().await?;
    /// wheel.shutdown(Shutdown::persist()).await;
    ///
    /// let wheel = Tidewheel::builder().store(store).adopt_kind("report", |_| async {}).start();
    /// assert_eq!(wheel.held_work()[0].kind.as_deref(), Some("mail"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn adopt_kind<'a, F, R>(mut self, kind: impl Into<Option<&'a str>>, code: F) -> Self
    where
        F: Fn(Attempt) -> R + Send + Sync + 'static,
        R: Future + Send + 'static,
        R::Output: TaskOutput,
    {
        self.adopt.kinds.insert(kind.into().map(Arc::from), plain_conclude(code));
        self
    }

    #[cfg(feature = "serde")]
    pub(crate) fn read_by(mut self, kind: Option<&str>, reader: Arc<Reader>) -> Self {
        self.adopt.readers.insert(kind.map(Arc::from), reader);
        self
    }

    /// Makes the runs of restored schedules whose firings are runs and that are of this kind, or say
    /// none for `None`. Such a schedule that nobody makes runs for is held, as work of unknown kinds is.
    ///
    /// The tasks of those runs are restored work like all other after a restart: see
    /// [`Builder::adopt_kind`].
    pub fn make_runs<'a, F, R, B, E>(mut self, kind: impl Into<Option<&'a str>>, make: F) -> Self
    where
        F: Fn(Firing) -> R + Send + Sync + 'static,
        R: Future<Output = Result<B, E>> + Send + 'static,
        B: Into<MadeRun>,
        E: Into<BoxError>,
    {
        self.adopt.makers.insert(kind.into().map(Arc::from), maker(make));
        self
    }

    /// Told, before anything starts, which attempts were under way when the last owner of the store
    /// died: whatever is left of them should be ended first.
    /// If that fails, the wheel does not start.
    ///
    /// It is told again when the wheel had lost the store to somebody else and takes over from them.
    pub fn reclaim(
        mut self,
        end: impl FnMut(&[AttemptId]) -> Result<(), BoxError> + Send + 'static,
    ) -> Self {
        self.reclaim = Some(Box::new(end));
        self
    }

    /// Starts nothing until [`Tidewheel::resume`]: for whoever wants to see or to end what is restored
    /// before it goes on. It is not stored: the next owner of the store is not paused by it.
    pub fn paused(mut self) -> Self {
        self.paused = true;
        self
    }

    /// The runtime to run tasks on. Default: the one the wheel is started in.
    pub fn runtime(mut self, runtime: Handle) -> Self {
        self.runtime = Some(runtime);
        self
    }

    /// Starts the wheel.
    ///
    /// # Panics
    ///
    /// When a setting makes no sense (such as no slots), outside of a tokio runtime, or when the
    /// store cannot be used. [`Builder::try_start`] gives an error instead.
    #[must_use = "dropping the only handle of a wheel shuts it down"]
    pub fn start(self) -> Tidewheel {
        match self.try_start() {
            Ok(wheel) => wheel,
            Err(error) => panic!("the wheel cannot start: {}", crate::error::describe(&error)),
        }
    }

    /// Starts the wheel.
    ///
    /// # Errors
    ///
    /// When a setting makes no sense, there is no tokio runtime, or the store cannot be used.
    pub fn try_start(mut self) -> Result<Tidewheel, BuildError> {
        if self.config.slots == Some(0) {
            return Err(invalid("a wheel needs at least one slot"));
        }
        if self.config.starvation_timeout == Some(Duration::ZERO) {
            return Err(invalid("the starvation timeout must be longer than zero"));
        }
        if self.notices == 0 || self.notices > usize::MAX / 4 {
            return Err(invalid("the capacity for notices must be at least 1 and sensible"));
        }
        let runtime = match self.runtime.take() {
            Some(runtime) => runtime,
            None => Handle::try_current().map_err(|_| BuildError::NoRuntime)?,
        };
        let now = self.clock.now_exactly();
        let (mut reclaim, has_code) = (self.reclaim.take(), !self.adopt.is_empty());
        let paused = self.paused;
        let look = |snapshot: &mut Snapshot| {
            snapshot.paused |= paused;
            let runs = snapshot.runs.len() + snapshot.submissions.len();
            let schedules = snapshot.schedules.len();
            if runs + schedules > 0 && !has_code {
                return Err(EngineError::NoCode { runs, schedules });
            }
            match &mut reclaim {
                Some(reclaim) => reclaim(&snapshot.under_way()).map_err(EngineError::Reclaim),
                None => Ok(()),
            }
        };
        let engine = Engine::open_after(self.config, self.store, self.adopt.known(), now, look)
            .map_err(BuildError::Store)?;
        let (hub, pace) = (Hub::new(self.notices), engine.pace());
        let keeping = Keeping { reclaim, paused };
        let state = State::new(engine, ProfileId::default(), self.adopt, self.seed, keeping);
        let settings = Settings { clock: self.clock, runtime, hub, pace };
        let shared = Shared::new(settings, state);
        let default_queue = (Arc::from(DEFAULT_QUEUE), self.default_queue);
        // One that is stored may be of an earlier start, which said something else.
        let stored = shared.lock().engine.scheduler().queue_spec(&default_queue.0).cloned();
        if stored.as_ref() != Some(&default_queue.1) {
            self.queues.insert(0, default_queue);
        }
        for (name, spec) in self.queues {
            shared.command(Until::Stored, Command::DefineQueue { name, spec })?;
        }
        for (name, spec) in self.limits {
            shared.announce_limit(&name, &spec)?;
            shared.command(Until::Stored, Command::DefineLimit { name, spec })?;
        }
        let mut state = shared.lock();
        state.plain = state.engine.scheduler_mut().keep_profile(&State::plain_profile())?;
        drop(state);
        // What is restored may begin at once, and takes handles of its own: the wheel must not end with
        // the last of those.
        let wheel = Tidewheel::from_shared(Arc::clone(&shared));
        shared.begin();
        Ok(wheel)
    }
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder").field("config", &self.config).finish_non_exhaustive()
    }
}

fn invalid(text: &str) -> BuildError {
    BuildError::Setting(Rejection::Invalid(Arc::from(text)))
}
