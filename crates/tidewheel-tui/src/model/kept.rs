//! What is selected stays selected wherever it stands: rows are known by what they are of, not by their numbers.
//!
//! Which row that is at the moment is a [`List`](super::List); what keys do with it is in [`crate::update`].

use tidewheel::Timestamp;

use super::app::{Model, Screen};
use super::list::{Doubt, List};
use super::overview::{Row, rows};

/// What a row is of.
#[derive(Debug, PartialEq, Eq)]
enum Name {
    /// On the first screen: a step that asks, and its run.
    Asks(String, String),
    Fails(String),
    Late(String),
    Runs(String),
    Flow(String),
    /// A run.
    Run(String),
    /// A step, by its own name.
    Step(String),
    /// A step in line, and its run.
    InLine(String, String),
    /// A schedule.
    Schedule(String),
    /// An instant of a schedule: when, why, and the run that was made for it.
    Instant(Timestamp, String, Option<String>),
}

/// A row that was selected.
#[derive(Debug)]
struct Kept {
    name: Name,
    /// The run that keys are about, where that may become another one while the row is the same.
    newest: Option<String>,
}

impl Model {
    /// Changes what the rows of a screen are, and leaves selected what is. Where that is gone, the nearest row is selected, and
    /// the next key that would be about it only says so: whoever pressed it may not have seen.
    pub fn keeping(&mut self, screen: Screen, change: impl FnOnce(&mut Self)) {
        let kept = self.kept(screen);
        change(self);
        let Some(Kept { name, newest }) = kept else { return };
        let names = self.names(screen);
        let is_other = newest.is_some() && newest != self.newest_of(&name);
        let Some(list) = self.list_of(screen) else { return };
        // What stands twice stays where it is.
        let is_it = |place: &usize| names.get(*place) == Some(&name);
        let place = Some(list.cursor).filter(is_it);
        match place.or_else(|| names.iter().position(|it| *it == name)) {
            Some(place) => {
                list.cursor = place;
                list.doubt = list.doubt.or(is_other.then_some(Doubt::OtherRun));
            }
            None => {
                list.cursor = list.cursor.min(names.len().saturating_sub(1));
                list.doubt = Some(Doubt::Gone);
            }
        }
    }

    fn kept(&mut self, screen: Screen) -> Option<Kept> {
        let mut names = self.names(screen);
        let cursor = self.list_of(screen)?.cursor.min(names.len().checked_sub(1)?);
        let name = names.swap_remove(cursor);
        Some(Kept { newest: self.newest_of(&name), name })
    }

    /// The newest run of a flow on the first screen.
    fn newest_of(&self, name: &Name) -> Option<String> {
        let Name::Flow(flow) = name else { return None };
        let flow = self.glance.as_ref()?.flows.iter().find(|it| it.name == *flow)?;
        Some(flow.runs.last()?.run_id.clone())
    }

    /// What the rows are of that are shown on a screen.
    fn names(&self, screen: Screen) -> Vec<Name> {
        match screen {
            Screen::Overview => rows(self).into_iter().filter_map(|row| self.named(row)).collect(),
            Screen::Runs => {
                let Some(list) = &self.runs else { return Vec::new() };
                let shown = self.shown_runs().into_iter();
                shown.map(|place| Name::Run(list.runs[place].run_id.clone())).collect()
            }
            Screen::Run => {
                let Some(watched) = &self.watched else { return Vec::new() };
                let shown = watched.shown().into_iter();
                shown.map(|step| Name::Step(watched.names[step].to_string())).collect()
            }
            Screen::Queues => {
                let Some(line) = &self.line else { return Vec::new() };
                let holders = line.holders.iter().map(|it| (&it.run_id, &it.step));
                let waiting = line.waiting.iter().map(|it| (&it.run_id, &it.step));
                let all: Vec<(&String, &String)> = holders.chain(waiting).collect();
                let name = |place: usize| Name::InLine(all[place].0.clone(), all[place].1.clone());
                self.shown_line().into_iter().map(name).collect()
            }
            Screen::Schedules => {
                let Some(list) = &self.schedules else { return Vec::new() };
                let shown = self.shown_schedules().into_iter();
                shown.map(|place| Name::Schedule(list.schedules[place].name.clone())).collect()
            }
            Screen::Schedule => {
                let Some((_, ledger)) = &self.schedule else { return Vec::new() };
                let shown = self.shown_ledger().into_iter().map(|place| &ledger.firings[place]);
                shown
                    .map(|it| Name::Instant(it.nominal, it.origin.clone(), it.run_id.clone()))
                    .collect()
            }
            // Lines of files have no names.
            Screen::Step | Screen::Log | Screen::Flow => Vec::new(),
        }
    }

    fn named(&self, row: Row) -> Option<Name> {
        let glance = self.glance.as_ref()?;
        Some(match row {
            Row::Asks(place) => {
                let it = glance.approvals.get(place)?;
                Name::Asks(it.run_id.clone(), it.step.clone())
            }
            Row::Fails(place) => Name::Fails(glance.failing.get(place)?.run_id.clone()),
            Row::Late(place) => Name::Late(glance.late.get(place)?.name.clone()),
            Row::Runs(place) => Name::Runs(glance.now.get(place)?.run.run_id.clone()),
            Row::Flow(place) => Name::Flow(glance.flows.get(place)?.name.clone()),
        })
    }

    /// The list of a screen, if it has one.
    pub fn list_of(&mut self, screen: Screen) -> Option<&mut List> {
        Some(match screen {
            Screen::Overview => &mut self.overview,
            Screen::Runs => &mut self.runs_list,
            Screen::Run => &mut self.watched.as_mut()?.list,
            Screen::Queues => &mut self.line_list,
            Screen::Schedules => &mut self.schedules_list,
            Screen::Schedule => &mut self.ledger_list,
            Screen::Flow => &mut self.looked_flow.as_mut()?.list,
            Screen::Step | Screen::Log => return None,
        })
    }
}
