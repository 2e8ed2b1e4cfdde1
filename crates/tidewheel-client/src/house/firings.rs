//! The runs of schedules: each is made of the version of the flow that its schedule was set with.
//!
//! When one is wanted is decided by the scheduler; which schedules there are, in [`super::setting`].

use std::pin::Pin;
use std::sync::Arc;

use tidewheel::schedule::{Firing, MadeRun, Origin};
use tidewheel::store::sqlite::DataFolder;
use tidewheel::task::BoxError;
use tidewheel_flow::{FLOW_KIND, Flow, FlowHost, FlowOrder};

use super::arrivals::Content;
use super::entry::{Version, params_of};
use super::setting::schedule_of;
use crate::desk::blocking;
use crate::session::Learnt;

/// The version in force of the flow that has a schedule of this name; `None`: the schedule is not wanted any more.
pub(crate) type InForce = Arc<dyn Fn(&str) -> Option<Arc<Version>> + Send + Sync>;

/// Makes the run of a firing.
pub(crate) type Maker = Arc<dyn Fn(Firing) -> Making + Send + Sync>;

type Making = Pin<Box<dyn Future<Output = Result<MadeRun, BoxError>> + Send>>;

/// Makes the runs of schedules of flows.
pub(crate) fn maker(
    flows: FlowHost,
    folder: DataFolder,
    learnt: Arc<Learnt>,
    in_force: Option<InForce>,
) -> Maker {
    Arc::new(move |firing| {
        let (flows, folder, in_force) = (flows.clone(), folder.clone(), in_force.clone());
        let learnt = Arc::clone(&learnt);
        Box::pin(async move {
            let version = match (firing.name(), in_force) {
                // One that is stored fires before anybody could look whether its file is still there.
                (Some(name), Some(in_force)) => {
                    Some(in_force(name).ok_or("the file of its flow is gone")?)
                }
                _ => None,
            };
            let (order, flow) = understand(version.as_deref(), &firing)?;
            let order = with_arrival(&folder, order, &flow, &firing).await?;
            // Without them the order in which steps start may be worse.
            let expected = learnt.of(&flow.name).await.unwrap_or_default();
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

/// What is to be run, from the payload of the schedule. To read a flow takes its time, and as a rule that was done: the schedule
/// was set with the version in force.
fn understand(
    version: Option<&Version>,
    firing: &Firing,
) -> Result<(FlowOrder, Arc<Flow>), BoxError> {
    let payload = firing.payload().ok_or("nothing is kept with its schedule")?;
    let order = FlowOrder::from_payload(Some(FLOW_KIND), Some(payload))?;
    let flow = match version.filter(|version| version.is_of_same_texts(&order)) {
        Some(version) => Arc::clone(&version.flow),
        None => order.flow()?,
    };
    Ok((order, flow))
}
