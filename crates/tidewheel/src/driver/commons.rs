//! Looks after the part of this wheel in limits and concurrency groups that it shares with others.
//!
//! What is asked for and given back is decided by the scheduler, who gets it by the rule of the pool;
//! here both are brought together, again and again while something is missing.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tidewheel_core::decision::Action;
use tidewheel_core::id::RunId;
use tidewheel_core::input::{Event, Rejection};
use tidewheel_core::spec::{Definition, LimitSpec, RunGroup};
use tokio::sync::mpsc;

use super::places::Places;
use super::shared::Shared;
use super::shares::{Due, Shares};
use crate::error::describe;
use crate::store::{Commons, Placement, Settled, StoreError};

/// How often it is looked whether units are there that others had. Half of what is promised until
/// that is seen.
const PERIOD: Duration = Duration::from_millis(50);

/// The way to what is shared, for everybody in this process.
pub(super) type SharedCommons = Arc<Mutex<Box<dyn Commons>>>;

impl Shared {
    /// Tells all others of the limits among what a run brings.
    pub(crate) fn announce_limits(&self, defines: &[Definition]) -> Result<(), Rejection> {
        for definition in defines {
            if let Definition::Limit { name, spec } = definition {
                self.announce_limit(name, spec)?;
            }
        }
        Ok(())
    }

    /// The same, without blocking a thread of the runtime.
    pub(crate) async fn announce(
        self: &Arc<Self>,
        defines: Vec<Definition>,
    ) -> Result<(), Rejection> {
        let is_shared = |it: &Definition| {
            matches!(it, Definition::Limit { spec: LimitSpec::SharedUnits(_), .. })
        };
        if !defines.iter().any(is_shared) {
            return Ok(());
        }
        let shared = Arc::clone(self);
        let told = tokio::task::spawn_blocking(move || shared.announce_limits(&defines));
        told.await.map_err(|_| Rejection::ShuttingDown)?
    }

    /// Tells all others of a limit that is to be shared, before it is defined here.
    pub(crate) fn announce_limit(&self, name: &str, spec: &LimitSpec) -> Result<(), Rejection> {
        let LimitSpec::SharedUnits(units) = spec else { return Ok(()) };
        let Some(commons) = self.lock().commons.clone() else {
            let text = format!("limit `{name}` cannot be shared: there is no data folder");
            return Err(Rejection::Invalid(text.into()));
        };
        let mut commons = commons.lock().unwrap_or_else(PoisonError::into_inner);
        commons.define(name, *units).map_err(|error| match error {
            StoreError::Conflict { what } => Rejection::Invalid(what.into()),
            error => Rejection::Unavailable(describe(&error).into()),
        })
    }
}

impl Shared {
    /// Refuses a run of a concurrency group where there is nobody to have it in common with.
    pub(crate) fn check_group(&self, group: Option<&RunGroup>) -> Result<(), Rejection> {
        let Some(group) = group.filter(|_| self.lock().commons.is_none()) else { return Ok(()) };
        let name = &group.name;
        let text = format!("there can be no concurrency group `{name}`: there is no data folder");
        Err(Rejection::Invalid(text.into()))
    }
}

/// Runs until the wheel has ended.
pub(super) async fn look_after_shares(
    shared: Arc<Shared>,
    commons: SharedCommons,
    mut mail: mpsc::UnboundedReceiver<Action>,
) {
    let mut part = OurPart::default();
    loop {
        let period = if part.is_waiting() { PERIOD } else { Duration::MAX };
        match tokio::time::timeout(period, mail.recv()).await {
            Ok(Some(action)) => part.note(&action),
            // The wheel has ended, and nobody writes any more.
            Ok(None) => return,
            // Time to look again.
            Err(_) => {}
        }
        while let Ok(action) = mail.try_recv() {
            part.note(&action);
        }
        for event in part.settle(&commons).await {
            let mut effects = Vec::new();
            shared.tell(shared.clock.now(), event, &mut effects);
            shared.perform(&mut effects);
        }
    }
}

/// What this wheel has of what is shared.
#[derive(Default)]
struct OurPart {
    shares: Shares,
    places: Places,
}

/// What a store said.
struct Said {
    settled: Vec<(Due, Settled)>,
    placed: Vec<(RunId, Placement)>,
    left: Vec<RunId>,
}

impl OurPart {
    fn note(&mut self, action: &Action) {
        self.shares.note(action);
        self.places.note(action);
    }

    fn is_waiting(&self) -> bool {
        self.shares.is_waiting() || self.places.is_waiting()
    }

    /// Settles everything that is due. Gives what the scheduler is to be told.
    async fn settle(&mut self, commons: &SharedCommons) -> Vec<Event> {
        let (due, runs, leaving) = (self.shares.due(), self.places.due(), self.places.leaving());
        let mut events = self.places.answers();
        if due.is_empty() && runs.is_empty() && leaving.is_empty() {
            return events;
        }
        let commons = Arc::clone(commons);
        // On a thread that may wait for others who write.
        let said = tokio::task::spawn_blocking(move || {
            let mut commons = commons.lock().unwrap_or_else(PoisonError::into_inner);
            ask(&mut **commons, due, runs, leaving)
        });
        let Ok(said) = said.await else { return events };
        for (due, settled) in said.settled {
            events.extend(self.shares.settled(&due, settled));
        }
        for run in said.left {
            self.places.left(run);
        }
        let placed = said.placed.into_iter();
        events.extend(placed.filter_map(|(run, placement)| self.places.placed(run, placement)));
        events
    }
}

/// Asks a store. What it cannot do now is asked for the next time.
fn ask(
    commons: &mut dyn Commons,
    due: Vec<Due>,
    runs: Vec<(RunId, RunGroup)>,
    leaving: Vec<RunId>,
) -> Said {
    let settle = |due: Due| {
        let settled = commons.settle(&due.limit, due.held, due.asked).ok()?;
        Some((due, settled))
    };
    let settled = due.into_iter().filter_map(settle).collect();
    let left = leaving.into_iter().filter(|run| commons.leave(*run).is_ok()).collect();
    let place = |(run, group): (RunId, RunGroup)| Some((run, commons.place(run, &group).ok()?));
    Said { settled, left, placed: runs.into_iter().filter_map(place).collect() }
}
