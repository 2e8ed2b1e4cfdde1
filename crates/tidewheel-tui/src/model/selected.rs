//! What is selected: the row, run, schedule or flow that keys are about.
//!
//! What they do with it is in [`crate::update`].

use tidewheel_client::api::{RunState, ScheduleLine, ScheduleWord, WaitingStep};

use super::app::{Model, Screen};
use super::overview::{Row, rows};

impl Model {
    /// The selected row of the first screen.
    #[must_use]
    pub fn row(&self) -> Option<Row> {
        let rows = rows(self);
        rows.get(self.overview.cursor.min(rows.len().saturating_sub(1))).copied()
    }

    /// The run that is meant.
    #[must_use]
    pub fn run(&self) -> Option<&str> {
        match self.screen() {
            Screen::Run | Screen::Step | Screen::Log => Some(&self.watched.as_ref()?.run),
            Screen::Runs => {
                let shown = self.shown_runs();
                let place = shown.get(self.runs_list.cursor.min(shown.len().saturating_sub(1)))?;
                Some(&self.runs.as_ref()?.runs.get(*place)?.run_id)
            }
            Screen::Overview => {
                let glance = self.glance.as_ref()?;
                Some(match self.row()? {
                    Row::Asks(place) => &glance.approvals.get(place)?.run_id,
                    Row::Fails(place) => &glance.failing.get(place)?.run_id,
                    Row::Runs(place) => &glance.now.get(place)?.run.run_id,
                    Row::Flow(place) => &glance.flows.get(place)?.runs.last()?.run_id,
                    Row::Late(_) => return None,
                })
            }
            Screen::Queues => {
                let line = self.line.as_ref()?;
                let place = self.place_in_line()?;
                Some(match place.checked_sub(line.holders.len()) {
                    None => &line.holders.get(place)?.run_id,
                    Some(place) => &line.waiting.get(place)?.run_id,
                })
            }
            Screen::Schedule => {
                let ((_, ledger), shown) = (self.schedule.as_ref()?, self.shown_ledger());
                let cursor = self.ledger_list.cursor.min(shown.len().saturating_sub(1));
                ledger.firings.get(*shown.get(cursor)?)?.run_id.as_deref()
            }
            Screen::Schedules | Screen::Flow => None,
        }
    }

    /// How it stands, as far as that is known.
    #[must_use]
    pub fn run_state(&self) -> Option<RunState> {
        let run = self.run()?;
        match self.screen() {
            Screen::Run | Screen::Step | Screen::Log => self.watched.as_ref()?.state,
            Screen::Runs => {
                let runs = &self.runs.as_ref()?.runs;
                runs.iter().find(|it| it.run_id == run).map(|it| it.state)
            }
            Screen::Overview => {
                let glance = self.glance.as_ref()?;
                let now = glance.now.iter().map(|it| (&it.run.run_id, it.run.state));
                let failing = glance.failing.iter().map(|it| (&it.run_id, it.state));
                let past = glance.flows.iter().flat_map(|it| &it.runs);
                let past = past.map(|it| (&it.run_id, it.state));
                now.chain(failing).chain(past).find(|(id, _)| *id == run).map(|(_, state)| state)
            }
            Screen::Queues => Some(RunState::Running),
            Screen::Schedule | Screen::Schedules | Screen::Flow => None,
        }
    }

    /// The flow that is meant.
    #[must_use]
    pub fn flow(&self) -> Option<&str> {
        let glance = self.glance.as_ref();
        match (self.screen(), self.row()) {
            (Screen::Overview, Some(Row::Flow(place))) => Some(&glance?.flows.get(place)?.name),
            (Screen::Overview, Some(Row::Fails(place))) => {
                glance?.failing.get(place)?.flow.as_deref()
            }
            (Screen::Runs, _) => {
                let (run, runs) = (self.run()?, &self.runs.as_ref()?.runs);
                runs.iter().find(|it| it.run_id == run)?.flow.as_deref()
            }
            (Screen::Flow, _) => Some(&self.looked_flow.as_ref()?.name),
            _ => None,
        }
    }

    /// The flow of what is selected or looked at, whatever that is.
    #[must_use]
    pub fn flow_meant(&self) -> Option<&str> {
        if let Some(name) = self.named_schedule() {
            let late = self.glance.iter().flat_map(|it| &it.late);
            let mut all = self.schedules.iter().flat_map(|it| &it.schedules).chain(late);
            return all.find(|it| it.name == name)?.flow.as_deref();
        }
        self.flow().or_else(|| self.flow_of(self.run()?))
    }

    /// The flow of a run, as far as that has been told on any screen.
    #[must_use]
    pub fn flow_of(&self, run: &str) -> Option<&str> {
        let watched = self.watched.iter().filter(|it| it.run == run && !it.model.flow.is_empty());
        if let Some(flow) = watched.map(|it| it.model.flow.as_str()).next() {
            return Some(flow);
        }
        let listed = self.runs.iter().flat_map(|list| &list.runs);
        let glances = || self.glance.iter();
        let failing = glances().flat_map(|it| &it.failing);
        let now = glances().flat_map(|it| &it.now).map(|it| &it.run);
        let lines = listed.chain(failing).chain(now).map(|it| (&it.run_id, it.flow.as_deref()));
        let asking = glances().flat_map(|it| &it.approvals);
        let asking = asking.map(|it| (&it.run_id, it.flow.as_deref()));
        let holders = self.line.iter().flat_map(|it| &it.holders);
        let holders = holders.map(|it| (&it.run_id, it.flow.as_deref()));
        let waiting = self.line.iter().flat_map(|it| &it.waiting);
        let waiting = waiting.map(|it| (&it.run_id, it.flow.as_deref()));
        let past = glances().flat_map(|it| &it.flows).flat_map(|flow| {
            flow.runs.iter().map(move |past| (&past.run_id, Some(flow.name.as_str())))
        });
        let mut all = lines.chain(asking).chain(holders).chain(waiting).chain(past);
        all.find_map(|(id, flow)| flow.filter(|_| id == run))
    }

    /// The schedule that is meant.
    #[must_use]
    pub fn named_schedule(&self) -> Option<&str> {
        match self.screen() {
            Screen::Schedule => Some(&self.schedule_name),
            Screen::Overview => Some(&self.late()?.name),
            Screen::Schedules => {
                let shown = self.shown_schedules();
                let place = self.schedules_list.cursor.min(shown.len().saturating_sub(1));
                Some(&self.schedules.as_ref()?.schedules.get(*shown.get(place)?)?.name)
            }
            _ => None,
        }
    }

    /// The schedule of the selected row of the first screen, if that is one that is late.
    fn late(&self) -> Option<&ScheduleLine> {
        let Some(Row::Late(place)) = self.row() else { return None };
        self.glance.as_ref()?.late.get(place)
    }

    /// How it stands, as far as that is known.
    #[must_use]
    pub fn schedule_state(&self) -> Option<ScheduleWord> {
        if self.screen() == Screen::Overview {
            return Some(self.late()?.state);
        }
        let (name, all) = (self.named_schedule()?, self.schedules.as_ref()?);
        all.schedules.iter().find(|it| it.name == name).map(|it| it.state)
    }

    /// The step that asks and is meant, with its run, and whether it wants a one-time code: the selected one, else the first
    /// of the run that is meant. One that is looked at may have begun to ask without that having been told.
    #[must_use]
    pub fn asked(&self) -> Option<(&str, &str, bool)> {
        match self.screen() {
            Screen::Overview => {
                let approvals = &self.glance.as_ref()?.approvals;
                let line = match self.row()? {
                    Row::Asks(place) => approvals.get(place)?,
                    _ => {
                        let run = self.run()?;
                        approvals.iter().find(|line| line.run_id == run)?
                    }
                };
                Some((&line.run_id, &line.step, line.wants_code))
            }
            Screen::Run => {
                let watched = self.watched.as_ref()?;
                let step = watched.selected().filter(|step| watched.asks.contains(step));
                let step = step.or_else(|| watched.asks.first().copied())?;
                Some((&watched.run, &watched.names[step], watched.codes.contains(&step)))
            }
            Screen::Step | Screen::Log => {
                let (watched, reading) = (self.watched.as_ref()?, self.reading.as_ref()?);
                let is_it = |step: &&usize| *watched.names[**step] == *reading.step;
                let step = watched.asks.iter().find(is_it).copied()?;
                Some((&watched.run, &watched.names[step], watched.codes.contains(&step)))
            }
            _ => None,
        }
    }

    /// The step in line that is selected, if it is one that waits.
    #[must_use]
    pub fn waiting_step(&self) -> Option<&WaitingStep> {
        let line = self.line.as_ref()?;
        line.waiting.get(self.place_in_line()?.checked_sub(line.holders.len())?)
    }

    /// The place in line that is selected: holders first.
    #[must_use]
    pub fn place_in_line(&self) -> Option<usize> {
        let shown = self.shown_line();
        shown.get(self.line_list.cursor.min(shown.len().saturating_sub(1))).copied()
    }
}
