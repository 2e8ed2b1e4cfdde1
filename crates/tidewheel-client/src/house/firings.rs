//! The runs of schedules: each is made of the version of the flow that its schedule was set with.
//!
//! When one is wanted is decided by the scheduler; which schedules there are, in [`super::setting`].

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use tidewheel::id::ScheduleId;
use tidewheel::schedule::{Firing, MadeRun, Origin};
use tidewheel::store::sqlite::DataFolder;
use tidewheel::task::BoxError;
use tidewheel_flow::{FLOW_KIND, Flow, FlowHost, FlowOrder};

use super::arrivals::Content;
use super::entry::params_of;
use super::setting::schedule_of;
use crate::desk::{LocalDesk, blocking};

/// Whether a schedule is still wanted, by its name.
pub(crate) type Permit = Arc<dyn Fn(&str) -> bool + Send + Sync>;

/// Makes the run of a firing.
pub(crate) type Maker = Arc<dyn Fn(Firing) -> Making + Send + Sync>;

type Making = Pin<Box<dyn Future<Output = Result<MadeRun, BoxError>> + Send>>;

/// Flows that were read before, with the text they were read from.
type Known = Mutex<HashMap<ScheduleId, (Arc<[u8]>, FlowOrder, Arc<Flow>)>>;

/// So many flows are kept for the next firing of their schedule.
const KNOWN_MAX: usize = 4096;

/// Makes the runs of schedules of flows.
pub(crate) fn maker(flows: FlowHost, folder: DataFolder, permit: Option<Permit>) -> Maker {
    let known = Arc::new(Known::default());
    // Opened with the first firing, and kept: thousands may fire at once.
    let desk = Arc::<OnceLock<LocalDesk>>::default();
    Arc::new(move |firing| {
        let (flows, folder, permit) = (flows.clone(), folder.clone(), permit.clone());
        let (known, desk) = (Arc::clone(&known), Arc::clone(&desk));
        Box::pin(async move {
            // One that is stored fires before anybody could look whether its file is still there.
            let is_wanted = firing.name().is_none_or(|name| permit.is_none_or(|it| it(name)));
            if !is_wanted {
                return Err("the file of its flow is gone".into());
            }
            let (order, flow) = understand(&known, &firing)?;
            let order = with_arrival(&folder, order, &flow, &firing).await?;
            let name = flow.name.clone();
            let expected = blocking(move || {
                let desk = match desk.get() {
                    Some(desk) => desk,
                    None => {
                        let opened = LocalDesk::open(folder)?;
                        desk.get_or_init(|| opened)
                    }
                };
                desk.expectations(&name)
            });
            // Without them the order in which steps start may be worse.
            let expected = expected.await.and_then(|expected| expected).unwrap_or_default();
            let order = order.scheduled_at(firing.nominal());
            Ok(flows.make_firing(&firing, &flow, &order, &expected).await?)
        })
    })
}

/// The params of a run that is made for what happened outside.
async fn with_arrival(
    folder: &DataFolder,
    mut order: FlowOrder,
    flow: &Flow,
    firing: &Firing,
) -> Result<FlowOrder, BoxError> {
    let schedule = firing.name().and_then(|name| schedule_of(flow, name));
    let (Some(schedule), Some(name)) = (schedule, firing.name()) else { return Ok(order) };
    if schedule.arrivals.is_none() {
        return Ok(order);
    }
    let (folder, name, nominal) = (folder.clone(), name.to_owned(), firing.nominal());
    let found = blocking(move || folder.reader()?.arrival(&name, nominal)).await??;
    let content = found.map(|arrival| serde_json::from_slice(&arrival.content)).transpose()?;
    let said = match content {
        Some(Content::Params(params)) => params,
        Some(Content::Unfit(why)) => return Err(why.into()),
        None if firing.origin() == Origin::Trigger => {
            return Err("what it fired for is not known any more".into());
        }
        // Somebody asked for it, and nothing arrived.
        None => schedule.params.clone(),
    };
    order.params = params_of(flow, &said)?;
    Ok(order)
}

/// What is to be run, from the payload of the schedule.
fn understand(known: &Known, firing: &Firing) -> Result<(FlowOrder, Arc<Flow>), BoxError> {
    let payload = firing.payload().ok_or("nothing is kept with its schedule")?;
    let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((same, order, flow)) = known.get(&firing.schedule())
        && same == payload
    {
        return Ok((order.clone(), Arc::clone(flow)));
    }
    let order = FlowOrder::from_payload(Some(FLOW_KIND), Some(payload))?;
    let flow = order.flow()?;
    if known.len() >= KNOWN_MAX {
        known.clear();
    }
    known.insert(firing.schedule(), (Arc::clone(payload), order.clone(), Arc::clone(&flow)));
    Ok((order, flow))
}
