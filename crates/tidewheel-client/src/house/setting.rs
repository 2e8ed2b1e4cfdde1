//! Schedules of flows on the wheel: set, changed and ended as the catalogue says.
//!
//! A schedule has a name, by which it is the same one after a change of its file and after a restart. When it fires
//! is decided by the scheduler.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tidewheel::Tidewheel;
use tidewheel::schedule::{ScheduleSpec, Trigger};
use tidewheel::store::ScheduleSummary;
use tidewheel_flow::{FLOW_KIND, Flow, FlowOrder, FlowSchedule};

use super::catalogue::Catalogue;
use super::entry::Version;
use super::firings::Maker;
use crate::text::harmless;

/// What schedules there are to be.
#[derive(Debug, Default)]
pub(super) struct Wanted {
    /// Each by its name.
    pub specs: BTreeMap<String, ScheduleSpec>,
    /// Those that cannot be, with why.
    pub refused: BTreeMap<String, String>,
}

/// The names of the schedules of a flow, in the order of the file.
pub(super) fn names(flow: &Flow) -> Vec<String> {
    let schedules = flow.schedules.iter().enumerate();
    let flow = &flow.name;
    let name = |(place, schedule): (usize, &FlowSchedule)| match &schedule.name {
        Some(name) => format!("{flow}/{name}"),
        None if place == 0 => flow.clone(),
        None => format!("{flow}/{}", place + 1),
    };
    schedules.map(name).collect()
}

/// The schedule of a flow that is called so.
pub(crate) fn schedule_of<'a>(flow: &'a Flow, name: &str) -> Option<&'a FlowSchedule> {
    let place = names(flow).iter().position(|known| known == name)?;
    flow.schedules.get(place)
}

impl Wanted {
    /// All schedules of all flows in force.
    pub fn of(catalogue: &Catalogue) -> Self {
        let mut wanted = Self::default();
        for version in catalogue.flows() {
            for (name, schedule) in names(&version.flow).into_iter().zip(&version.flow.schedules) {
                if wanted.specs.contains_key(&name) {
                    let why = "another schedule has the same name".to_owned();
                    wanted.refused.insert(name, why);
                    continue;
                }
                // The params of one that fires for what happens outside follow from that.
                let order = match schedule.arrivals {
                    Some(_) => Ok(version.bare_order()),
                    None => version.order(&schedule.params),
                };
                match order {
                    Ok(order) => {
                        let spec = ScheduleSpec {
                            name: Some(Arc::from(name.as_str())),
                            payload: Some(order.to_payload().into()),
                            kind: Some(Arc::from(FLOW_KIND)),
                            ..schedule.spec.clone()
                        };
                        wanted.specs.insert(name, spec);
                    }
                    Err(error) => _ = wanted.refused.insert(name, error.to_string()),
                }
            }
        }
        wanted
    }

    /// Schedules that fire for what happens outside and that the wheel does not have.
    pub fn new_outside(&self, wheel: &Tidewheel) -> Vec<String> {
        let outside = self.specs.iter().filter(|(_, spec)| spec.trigger == Trigger::Custom);
        let new = outside.filter(|(name, _)| wheel.find_schedule(name).is_none());
        new.map(|(name, _)| name.clone()).collect()
    }

    /// Sets what is not there or says something else, and ends what is not wanted any more. `ended` are the
    /// schedules that have ended: one that came to its end by itself does not begin anew.
    pub fn set(&mut self, wheel: &Tidewheel, maker: &Maker, ended: &[ScheduleSummary]) {
        let wheel = wheel.without_waiting();
        let mut live = BTreeSet::new();
        for handle in wheel.schedules() {
            let Some(spec) = handle.spec() else { continue };
            let Some(name) = spec.name.as_deref() else { continue };
            let is_flow = spec.kind.as_deref() == Some(FLOW_KIND);
            match self.specs.get(name) {
                // That its instants are told is not stored: it is set again, and stays the same.
                Some(wanted) if *wanted == spec && spec.trigger != Trigger::Custom => {
                    live.insert(name.to_owned());
                }
                Some(_) => {}
                // What cannot be set now is not ended for that.
                None if !is_flow || self.refused.contains_key(name) => {}
                None => handle.cancel(),
            }
        }
        let mut refused = Vec::new();
        for (name, spec) in &self.specs {
            if live.contains(name) || has_come_to_its_end(spec, ended) {
                continue;
            }
            let maker = Arc::clone(maker);
            let mut schedule = wheel.schedule(spec.clone());
            if spec.trigger == Trigger::Custom {
                schedule = schedule.told();
            }
            if let Err(error) = schedule.make_run(move |it| maker(it)) {
                refused.push((name.clone(), error.to_string()));
            }
        }
        for (name, _) in &refused {
            self.specs.remove(name);
        }
        self.refused.extend(refused);
    }

    /// What was refused of those that are known, in sentences.
    pub fn sentences(&self, is_known: impl Fn(&str) -> bool) -> Vec<String> {
        let refused = self.refused.iter().filter(|(name, _)| is_known(name));
        refused
            .map(|(name, why)| format!("schedule `{}`: {}", harmless(name), harmless(why)))
            .collect()
    }
}

/// Whether a schedule of this name and rule has fired as often as it may.
fn has_come_to_its_end(spec: &ScheduleSpec, ended: &[ScheduleSummary]) -> bool {
    ended.iter().any(|it| {
        it.has_come_to_its_end()
            && it.spec.name == spec.name
            && it.spec.trigger == spec.trigger
            && it.spec.window == spec.window
            && it.spec.max_firings == spec.max_firings
    })
}

/// What was in force when schedules were last set: flows whose schedules are stored.
pub(super) fn stored_versions(stored: &[ScheduleSummary]) -> Vec<Version> {
    let of_flows = stored.iter().filter(|it| it.spec.kind.as_deref() == Some(FLOW_KIND));
    let versions = of_flows.filter_map(|it| {
        let order = FlowOrder::from_payload(Some(FLOW_KIND), it.spec.payload.as_deref()).ok()?;
        Version::of_order(order, it.state.seen_wall).ok()
    });
    versions.collect()
}
