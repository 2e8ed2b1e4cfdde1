//! Looks after the part of this wheel in limits that it shares with other processes.
//!
//! What is asked for and given back is decided by the scheduler, who gets it by the rule of the pool;
//! here both are brought together, again and again while something is missing.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tidewheel_core::decision::Action;
use tidewheel_core::input::{Event, Rejection};
use tidewheel_core::spec::LimitSpec;
use tokio::sync::mpsc;

use super::shared::Shared;
use super::shares::{Due, Shares};
use crate::error::describe;
use crate::store::{Commons, Settled, StoreError};

/// How often it is looked whether units are there that others had. Half of what is promised until
/// that is seen.
const PERIOD: Duration = Duration::from_millis(50);

/// The way to what is shared, for everybody in this process.
pub(super) type SharedCommons = Arc<Mutex<Box<dyn Commons>>>;

impl Shared {
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

/// Runs until the wheel has ended.
pub(super) async fn look_after_shares(
    shared: Arc<Shared>,
    commons: SharedCommons,
    mut mail: mpsc::UnboundedReceiver<Action>,
) {
    let mut shares = Shares::default();
    loop {
        let period = if shares.is_waiting() { PERIOD } else { Duration::MAX };
        match tokio::time::timeout(period, mail.recv()).await {
            Ok(Some(action)) => shares.note(&action),
            // The wheel has ended, and nobody writes any more.
            Ok(None) => return,
            // Time to look again.
            Err(_) => {}
        }
        while let Ok(action) = mail.try_recv() {
            shares.note(&action);
        }
        for event in settle(&commons, &mut shares).await {
            let mut effects = Vec::new();
            shared.tell(shared.clock.now(), event, &mut effects);
            shared.perform(&mut effects);
        }
    }
}

/// Settles everything that is due, on a thread that may wait for others who write.
async fn settle(commons: &SharedCommons, shares: &mut Shares) -> Vec<Event> {
    let due = shares.due();
    if due.is_empty() {
        return Vec::new();
    }
    let commons = Arc::clone(commons);
    let settled = tokio::task::spawn_blocking(move || {
        let mut commons = commons.lock().unwrap_or_else(PoisonError::into_inner);
        let settle = |due: Due| {
            // What cannot be settled now is settled the next time.
            let settled = commons.settle(&due.limit, due.held, due.asked).ok()?;
            Some((due, settled))
        };
        due.into_iter().filter_map(settle).collect::<Vec<(Due, Settled)>>()
    });
    let settled = settled.await.unwrap_or_default();
    settled.into_iter().flat_map(|(due, settled)| shares.settled(&due, settled)).collect()
}
