//! [`Shares`]: what a scheduler has of shared limits and asks for, between its actions and a store.
//!
//! Who gets units is decided in `tidewheel_core::pool`, when a store settles what is due here. It
//! knows no threads and no clock; the simulator drives the same machine.

use std::collections::BTreeMap;
use std::sync::Arc;

use tidewheel_core::decision::Action;
use tidewheel_core::input::Event;
use tidewheel_core::time::Moment;

use crate::store::Settled;

/// What a scheduler has of each shared limit, and asks for.
#[derive(Debug, Default)]
pub struct Shares {
    parts: BTreeMap<Arc<str>, Part>,
}

#[derive(Debug, Default)]
struct Part {
    held: u32,
    asked: u32,
    /// It is not as a store was last told.
    is_new: bool,
    /// A restored scheduler waits to hear that its predecessor is forgotten.
    restored: Option<Moment>,
    /// What was last told about who has the units.
    told: Vec<Arc<str>>,
}

/// A limit to be settled with a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Due {
    /// The limit.
    pub limit: Arc<str>,
    /// Units we have.
    pub held: u32,
    /// Units we ask for on top of these.
    pub asked: u32,
}

impl Shares {
    /// Takes note of an action about units. Others are not for us.
    pub fn note(&mut self, action: &Action) {
        match action {
            Action::AskUnits { limit, units } => {
                let part = self.part(limit);
                part.asked = *units;
                part.told.clear();
            }
            Action::ReturnUnits { limit, units } => {
                let part = self.part(limit);
                part.held = part.held.saturating_sub(*units);
            }
            Action::KeepUnits { limit, units, since } => {
                let (held, restored) = (*units, Some(*since));
                *self.part(limit) = Part { held, restored, is_new: true, ..Part::default() };
            }
            _ => {}
        }
    }

    fn part(&mut self, limit: &Arc<str>) -> &mut Part {
        let part = self.parts.entry(limit.clone()).or_default();
        part.is_new = true;
        part
    }

    /// Whether something is asked for that is not there: it must be looked for from time to time.
    #[must_use]
    pub fn is_waiting(&self) -> bool {
        self.parts.values().any(|part| part.asked > 0 || part.is_new)
    }

    /// The limits to be settled: all that changed, and all that something is asked of.
    #[must_use]
    pub fn due(&self) -> Vec<Due> {
        let due = self.parts.iter().filter(|(_, part)| part.is_new || part.asked > 0);
        due.map(|(limit, part)| Due { limit: limit.clone(), held: part.held, asked: part.asked })
            .collect()
    }

    /// A store has settled what was due. Gives what the scheduler is to be told, in order.
    pub fn settled(&mut self, due: &Due, settled: Settled) -> Vec<Event> {
        let limit = due.limit.clone();
        let Some(part) = self.parts.get_mut(&limit) else { return Vec::new() };
        part.is_new = false;
        let mut events = Vec::new();
        if let Some(since) = part.restored.take() {
            events.push(Event::UnitsKept { limit: limit.clone(), since });
        }
        match settled {
            Settled::Granted => {
                part.held += due.asked;
                part.asked = 0;
                events.push(Event::UnitsGranted { limit, units: due.asked });
            }
            Settled::Taken { holders } if due.asked > 0 && part.told != holders => {
                part.told.clone_from(&holders);
                events.push(Event::UnitsTaken { limit, holders });
            }
            Settled::Taken { .. } => {}
        }
        events
    }
}
