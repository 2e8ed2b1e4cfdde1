//! Looks after the part of this wheel in limits and concurrency groups that it shares with others.
//!
//! What is asked for and given back is decided by the scheduler, who gets it by the rule of the pool;
//! here both are brought together, again and again while something is missing.

use std::collections::BTreeSet;
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

/// What whoever looks after it is to do.
pub(super) enum Mail {
    /// What the scheduler has decided.
    Action(Action),
    /// Others were told something of this limit that does not hold.
    Restate(Arc<str>),
}

/// Limits that others were told of before it was decided about them. Once this goes it is decided, or
/// never will be: where something else holds by then, they are told so.
pub(crate) struct Announced {
    shared: Arc<Shared>,
    limits: Vec<Arc<str>>,
}

impl Drop for Announced {
    fn drop(&mut self) {
        if self.limits.is_empty() {
            return;
        }
        let state = self.shared.lock();
        for limit in &self.limits {
            let holds = state.engine.scheduler().shared_units(limit);
            if let Some(mail) = &state.commons_mail
                && state.limits_told.get(limit).copied() != holds
            {
                let _ = mail.send(Mail::Restate(limit.clone()));
            }
        }
    }
}

impl Shared {
    /// Tells all others of the limits among what a run brings, if the run may bring them.
    pub(crate) fn announce_limits(
        self: &Arc<Self>,
        defines: &[Definition],
        of: &Arc<str>,
        is_named: bool,
    ) -> Result<Announced, Rejection> {
        let limits = || {
            defines.iter().filter_map(|it| match it {
                Definition::Limit { name, spec } => Some((name, spec)),
                Definition::Queue { .. } => None,
            })
        };
        let names = limits().map(|(name, _)| name.clone()).collect();
        let announced = Announced { shared: Arc::clone(self), limits: names };
        if !brings_shared(defines) {
            return Ok(announced);
        }
        let allowed = self.lock().engine.scheduler().may_bring(defines, of);
        match allowed {
            // It may have been accepted under its name before, and will hear that instead.
            Err(_) if is_named => return Ok(announced),
            allowed => allowed?,
        }
        limits().try_for_each(|(name, spec)| self.tell_limit(name, spec))?;
        Ok(announced)
    }

    /// Tells all others of a limit that is to be shared, before it is defined here.
    pub(crate) fn announce_limit(
        self: &Arc<Self>,
        name: &str,
        spec: &LimitSpec,
    ) -> Result<Announced, Rejection> {
        let name: Arc<str> = Arc::from(name);
        let announced = Announced { shared: Arc::clone(self), limits: vec![name.clone()] };
        if matches!(spec, LimitSpec::SharedUnits(_)) {
            let allowed = self.lock().engine.scheduler().may_define_limit(&name, spec);
            allowed?;
            self.tell_limit(&name, spec)?;
        }
        Ok(announced)
    }

    /// Tells others without blocking a thread of the runtime.
    pub(crate) async fn announce(
        self: &Arc<Self>,
        tell: impl FnOnce(&Arc<Self>) -> Result<Announced, Rejection> + Send + 'static,
    ) -> Result<Announced, Rejection> {
        let shared = Arc::clone(self);
        let told = tokio::task::spawn_blocking(move || tell(&shared));
        told.await.map_err(|_| Rejection::ShuttingDown)?
    }

    fn tell_limit(&self, name: &Arc<str>, spec: &LimitSpec) -> Result<(), Rejection> {
        let LimitSpec::SharedUnits(units) = *spec else { return Ok(()) };
        let Some(commons) = self.lock().commons.clone() else {
            let text = format!("limit `{name}` cannot be shared: there is no data folder");
            return Err(Rejection::Invalid(text.into()));
        };
        let mut commons = commons.lock().unwrap_or_else(PoisonError::into_inner);
        commons.define(name, units).map_err(|error| match error {
            StoreError::Conflict { what } => Rejection::Invalid(what.into()),
            error => Rejection::Unavailable(describe(&error).into()),
        })?;
        self.lock().limits_told.insert(name.clone(), units);
        Ok(())
    }

    /// Tells all others what holds of a limit. Gives whether they know.
    fn restate_limit(&self, commons: &mut dyn Commons, name: &Arc<str>) -> bool {
        let holds = self.lock().engine.scheduler().shared_units(name);
        let told = match holds {
            Some(units) => commons.define(name, units),
            None => commons.forget(name),
        };
        match told {
            Ok(()) => {}
            // Somebody has believed what did not hold. The fewer units count, until one of us says it again.
            Err(StoreError::Conflict { .. }) => return true,
            Err(_) => return false,
        }
        let mut state = self.lock();
        match holds {
            Some(units) => state.limits_told.insert(name.clone(), units),
            None => state.limits_told.remove(name),
        };
        // It may have been decided about it meanwhile, by what others had been told before.
        state.engine.scheduler().shared_units(name) == holds
    }
}

/// Whether there is a limit among what a run brings that others share.
pub(crate) fn brings_shared(defines: &[Definition]) -> bool {
    defines.iter().any(|it| matches!(it, Definition::Limit { spec: LimitSpec::SharedUnits(_), .. }))
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
    mut mail: mpsc::UnboundedReceiver<Mail>,
) {
    let mut part = OurPart::default();
    loop {
        let period = if part.is_waiting() { PERIOD } else { Duration::MAX };
        match tokio::time::timeout(period, mail.recv()).await {
            Ok(Some(mail)) => part.note(mail),
            // The wheel has ended, and nobody writes any more.
            Ok(None) => return,
            // Time to look again.
            Err(_) => {}
        }
        while let Ok(mail) = mail.try_recv() {
            part.note(mail);
        }
        for event in part.settle(&shared, &commons).await {
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
    /// Limits of which others were told what does not hold.
    misstated: BTreeSet<Arc<str>>,
}

/// What a store said.
struct Said {
    settled: Vec<(Due, Settled)>,
    placed: Vec<(RunId, Placement)>,
    left: Vec<RunId>,
    restated: Vec<Arc<str>>,
}

impl OurPart {
    fn note(&mut self, mail: Mail) {
        match mail {
            Mail::Action(action) => {
                self.shares.note(&action);
                self.places.note(&action);
            }
            Mail::Restate(limit) => {
                self.misstated.insert(limit);
            }
        }
    }

    fn is_waiting(&self) -> bool {
        self.shares.is_waiting() || self.places.is_waiting() || !self.misstated.is_empty()
    }

    /// Settles everything that is due. Gives what the scheduler is to be told.
    async fn settle(&mut self, shared: &Arc<Shared>, commons: &SharedCommons) -> Vec<Event> {
        let (due, runs, leaving) = (self.shares.due(), self.places.due(), self.places.leaving());
        let mut events = self.places.answers();
        let misstated = self.misstated.clone();
        if due.is_empty() && runs.is_empty() && leaving.is_empty() && misstated.is_empty() {
            return events;
        }
        let (shared, commons) = (Arc::clone(shared), Arc::clone(commons));
        // On a thread that may wait for others who write.
        let said = tokio::task::spawn_blocking(move || {
            let mut commons = commons.lock().unwrap_or_else(PoisonError::into_inner);
            let restate = |it: &Arc<str>| shared.restate_limit(&mut **commons, it);
            let restated = misstated.into_iter().filter(restate).collect();
            Said { restated, ..ask(&mut **commons, due, runs, leaving) }
        });
        let Ok(said) = said.await else { return events };
        for (due, settled) in said.settled {
            events.extend(self.shares.settled(&due, settled));
        }
        for run in said.left {
            self.places.left(run);
        }
        self.misstated.retain(|it| !said.restated.contains(it));
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
    let placed = runs.into_iter().filter_map(place).collect();
    Said { settled, left, placed, restated: Vec::new() }
}
