//! [`Happenings`]: what happens in a house, numbered, for whoever wants to hear it from some point on.
//!
//! The newest are kept in a ring, whether or not anybody listens. How they travel is the surface's business.

use std::collections::{HashMap, HashSet, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tidewheel::observe::{Fact, Notice, NoticeStream};
use tidewheel::{RunId, Timestamp};
use tokio::sync::watch;

use super::beside::News;
use super::catalogue::Catalogue;
use super::house::House;
use crate::api::{Happened, What};
use crate::desk::Reach;

/// How many of the newest are kept.
const KEPT: usize = 8192;

/// Names of runs that are remembered.
const NAMES_MAX: usize = 65_536;

impl House {
    /// The id of the newest event: what comes after it is still to happen.
    #[must_use]
    pub fn newest_event(&self) -> String {
        let ring = &self.inner.ring;
        format!("{}:{}", ring.epoch, ring.state().newest)
    }

    /// What happens from now on; or from after this number of this epoch on, as far as it is still kept.
    #[must_use]
    pub fn happenings(&self, after: Option<(&str, u64)>) -> Happenings {
        let ring = Arc::clone(&self.inner.ring);
        let (newest, oldest) = {
            let state = ring.state();
            (state.newest, state.newest - state.kept.len() as u64)
        };
        let (next, is_gap) = match after {
            None => (newest + 1, false),
            Some((epoch, number)) if epoch == ring.epoch && number <= newest => {
                (number.max(oldest) + 1, number < oldest)
            }
            // Those of another life, or that never were: all that there is may be news.
            Some(_) => (oldest + 1, true),
        };
        let within = (!self.reach.is_all())
            .then(|| Within(self.reach.clone(), Arc::clone(&self.inner.catalogue)));
        Happenings { seen: ring.bell.subscribe(), ring, next, is_gap, within }
    }
}

/// What happens in a house, one thing after the other.
pub struct Happenings {
    ring: Arc<Ring>,
    seen: watch::Receiver<bool>,
    /// The number of the next one.
    next: u64,
    is_gap: bool,
    /// Of which flows whoever listens may know, if not of all.
    within: Option<Within>,
}

/// What whoever listens gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Seen {
    /// The next thing that happened.
    Happened(Arc<Happened>),
    /// Some are missing before the next one: they are not kept any more, or of another life of the house. Whoever
    /// shows how things stand should look again.
    Gap,
}

impl Happenings {
    /// The next one; `None` when the house has ended and all was told.
    pub async fn next(&mut self) -> Option<Seen> {
        loop {
            // Before it is looked, so that nothing that comes between is missed.
            let is_over = *self.seen.borrow_and_update();
            if let Some(seen) = self.ready() {
                return Some(seen);
            }
            if is_over || self.seen.changed().await.is_err() {
                return None;
            }
        }
    }

    /// The next one, if it has happened already.
    pub fn ready(&mut self) -> Option<Seen> {
        loop {
            if std::mem::take(&mut self.is_gap) {
                return Some(Seen::Gap);
            }
            let happened = {
                let state = self.ring.state();
                let oldest = state.newest - state.kept.len() as u64 + 1;
                if self.next < oldest {
                    self.next = oldest;
                    self.is_gap = true;
                    continue;
                }
                let place = usize::try_from(self.next - oldest).unwrap_or(usize::MAX);
                state.kept.get(place).cloned()?
            };
            self.next += 1;
            if self.within.as_ref().is_none_or(|within| within.has(&happened)) {
                return Some(Seen::Happened(happened));
            }
        }
    }
}

impl fmt::Debug for Happenings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Happenings").field("next", &self.next).finish_non_exhaustive()
    }
}

/// Some flows, and where it is known whose schedules are.
struct Within(Reach, Arc<Mutex<Catalogue>>);

impl Within {
    /// Whether it is one of them that something is about.
    fn has(&self, happened: &Happened) -> bool {
        let Self(reach, catalogue) = self;
        match (&happened.flow, &happened.schedule) {
            (Some(flow), _) => reach.has(Some(flow)),
            (None, Some(schedule)) => {
                let catalogue = catalogue.lock().unwrap_or_else(PoisonError::into_inner);
                reach.has(catalogue.flow_of(schedule).map(|flow| flow.name()))
            }
            (None, None) => false,
        }
    }
}

/// The newest things that happened.
pub(super) struct Ring {
    epoch: String,
    state: Mutex<State>,
    /// Rings when something is new; true when nothing will be any more.
    bell: watch::Sender<bool>,
}

#[derive(Default)]
struct State {
    kept: VecDeque<Arc<Happened>>,
    /// The number of the last of them.
    newest: u64,
    /// What live runs are called.
    names: HashMap<RunId, Arc<str>>,
    /// Runs of the house, as long as anybody may ask whose they are, and in which order they came.
    own: (HashSet<RunId>, VecDeque<RunId>),
}

impl Ring {
    /// An empty one, of the life that began then.
    pub fn new(began: Timestamp) -> Arc<Self> {
        let epoch = format!("{:x}", began.as_micros());
        Arc::new(Self { epoch, state: Mutex::default(), bell: watch::Sender::new(false) })
    }

    /// Takes in what a wheel tells, until it ends.
    pub async fn fill(self: Arc<Self>, mut notices: NoticeStream) {
        while let Some(notice) = notices.recv().await {
            match notice {
                Ok(notice) => self.notice(&notice),
                Err(lagged) => {
                    let at = tidewheel::clock::wall_clock();
                    self.tell(at, What::Missed, |told| told.count = Some(lagged.0));
                }
            }
        }
    }

    /// Nothing more will happen.
    pub fn end(&self) {
        self.bell.send_replace(true);
    }

    /// Notes something that happened.
    pub fn tell(&self, at: Timestamp, what: What, fill: impl FnOnce(&mut Happened)) {
        let mut state = self.state();
        state.newest += 1;
        let mut happened = Happened {
            version: None,
            epoch: self.epoch.clone(),
            sequence: state.newest,
            at,
            what,
            run_id: None,
            flow: None,
            step: None,
            attempt: None,
            state: None,
            schedule: None,
            nominal: None,
            count: None,
            error: None,
        };
        fill(&mut happened);
        if state.kept.len() == KEPT {
            state.kept.pop_front();
        }
        state.kept.push_back(Arc::new(happened));
        drop(state);
        self.bell.send_replace(false);
    }

    /// Notes what a wheel tells, as far as it is for people.
    fn notice(&self, notice: &Notice) {
        let (at, name) = (notice.at, notice.name.as_deref().map(str::to_owned));
        let text = |error: &Option<Arc<str>>| error.as_deref().map(str::to_owned);
        match &notice.fact {
            Fact::RunAccepted(run) => {
                self.own(*run, notice.name.as_deref());
                self.of_run(at, What::RunAccepted, *run, |_| ());
            }
            Fact::RunPaused(run) => self.of_run(at, What::RunPaused, *run, |_| ()),
            Fact::RunResumed(run) | Fact::RunGoesOn(run) => {
                self.of_run(at, What::RunResumed, *run, |_| ());
            }
            Fact::RunWaits { run, .. } => self.of_run(at, What::RunWaits, *run, |_| ()),
            Fact::PriorityChanged { run, task, priority } => {
                self.of_run(at, What::PriorityChanged, *run, |told| {
                    told.step = task.and(name);
                    told.state = Some(priority.value().to_string());
                });
            }
            Fact::RunEnded(run, result) => {
                self.of_run(at, What::RunEnded, *run, |told| {
                    told.state = Some(result.word().to_owned());
                    told.flow = told.flow.take().or(name);
                });
                self.state().names.remove(run);
            }
            Fact::AttemptStarted(task, attempt) => {
                self.of_run(at, What::StepStarted, task.run, |told| {
                    (told.step, told.attempt) = (name, Some(*attempt));
                });
            }
            Fact::AttemptFailedWillRetry { task, attempt, error, .. } => {
                self.of_run(at, What::StepRetries, task.run, |told| {
                    (told.step, told.attempt) = (name, Some(*attempt));
                    told.error = text(error);
                });
            }
            Fact::TaskEnded(task, state, _) => {
                self.of_run(at, What::StepEnded, task.run, |told| {
                    (told.step, told.state) = (name, Some(state.to_string()));
                });
            }
            Fact::ScheduleFired { nominal, run, .. } => {
                self.of_run(at, What::ScheduleFired, *run, |told| {
                    (told.schedule, told.nominal) = (name, Some(*nominal));
                });
            }
            Fact::InstantsSkipped { first, count, reason, .. } => {
                self.tell(at, What::ScheduleSkipped, |told| {
                    (told.schedule, told.nominal) = (name, Some(*first));
                    (told.count, told.state) = (Some(*count), Some((*reason).to_owned()));
                });
            }
            Fact::RunNotMade { nominal, error, .. } => {
                self.tell(at, What::FiringFailed, |told| {
                    (told.schedule, told.nominal) = (name, Some(*nominal));
                    told.error = Some(error.to_string());
                });
            }
            Fact::ScheduleEnded(_) => {
                self.tell(at, What::ScheduleEnded, |told| told.schedule = name);
            }
            _ => {}
        }
    }

    /// Notes what happened to a run that others have.
    pub fn of_others(&self, news: News) {
        self.tell(news.at, news.what, |told| {
            (told.run_id, told.flow) = (Some(news.run.to_string()), news.flow);
            (told.step, told.attempt) = (news.step, news.attempt);
            (told.state, told.error) = (news.state, news.error);
        });
    }

    /// Whether a run that came lately is one of the house.
    pub fn is_own(&self, run: RunId) -> bool {
        self.state().own.0.contains(&run)
    }

    /// A run is one of the house from now on.
    pub fn own(&self, run: RunId, name: Option<&str>) {
        let mut state = self.state();
        if state.names.len() >= NAMES_MAX {
            state.names.clear();
        }
        state.names.extend(name.map(|name| (run, Arc::from(name))));
        let (own, order) = &mut state.own;
        if order.len() == NAMES_MAX
            && let Some(oldest) = order.pop_front()
        {
            own.remove(&oldest);
        }
        if own.insert(run) {
            order.push_back(run);
        }
    }

    fn of_run(&self, at: Timestamp, what: What, run: RunId, fill: impl FnOnce(&mut Happened)) {
        let flow = self.state().names.get(&run).map(|name| name.to_string());
        self.tell(at, what, |told| {
            told.run_id = Some(run.to_string());
            told.flow = flow;
            fill(told);
        });
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
