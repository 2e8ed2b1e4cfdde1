//! Which runs are listed: the newest of those that are meant, and older ones as far down as somebody has looked.
//!
//! What can be listed is known to the desk; rows are in [`crate::view`].

use tidewheel_client::api::{RunLine, RunList, StateWish};

use super::app::Model;

/// Runs that are listed at most: whoever looks for older ones says which.
const RUNS_MAX: usize = 10_000;

/// So many rows before the last one, older runs are asked for.
const AHEAD: usize = 20;

/// Which runs are asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunsOf {
    /// Only of this flow.
    pub flow: Option<String>,
    /// Only in this state.
    pub state: Option<StateWish>,
}

impl Model {
    /// Has other runs listed, if what was typed means those. That is found out when it is typed: what is listed then says which
    /// flows there are, and may say otherwise once it is a part of them.
    pub fn mean_runs(&mut self) {
        self.runs_meant = self.runs_typed();
        if self.runs_of != self.runs_meant {
            self.want_now();
        }
    }

    /// Which runs are meant by what was typed: a state or the name of a flow is found among all runs there are, other texts
    /// among those that are listed. So is what is a part of the name of another flow, which may be meant as well.
    fn runs_typed(&self) -> RunsOf {
        let text = self.runs_list.filter.as_str();
        if text.is_empty() {
            return RunsOf::default();
        }
        let known = self.glance.iter().flat_map(|glance| &glance.flows).map(|it| it.name.as_str());
        let listed = self.runs.iter().flat_map(|list| &list.runs);
        let flows = || known.clone().chain(listed.clone().filter_map(|run| run.flow.as_deref()));
        if flows().any(|name| name != text && self.runs_list.takes(name)) {
            return RunsOf::default();
        }
        let state = StateWish::ALL.into_iter().find(|state| state.word() == text);
        let is_flow = state.is_none() && flows().any(|name| name == text);
        RunsOf { flow: is_flow.then(|| text.to_owned()), state }
    }

    /// The place in the list from which on older runs are asked for, if they are.
    #[must_use]
    pub fn runs_after(&self) -> Option<String> {
        let is_of_it = self.wants_older && self.runs_of == self.runs_meant;
        self.runs.as_ref().filter(|_| is_of_it)?.next.clone()
    }

    /// Wants older runs, where the selected row is near the last one and there are any.
    pub fn want_older(&mut self) {
        let (rows, cursor) = (self.shown_runs().len(), self.runs_list.cursor);
        let has_older = self.runs.as_ref().is_some_and(|list| list.next.is_some());
        let count = self.runs.as_ref().map_or(0, |list| list.runs.len());
        self.wants_older = has_older && count < RUNS_MAX && cursor + AHEAD >= rows;
        self.is_stale |= self.wants_older;
    }

    /// Takes in runs: the newest, beside which older ones that are known stay, or those that follow.
    pub fn take_in_runs(&mut self, of: RunsOf, is_older: bool, told: RunList) {
        let is_same = self.runs_of == of;
        if is_older && !is_same {
            return;
        }
        let was = self.runs.take().filter(|_| is_same);
        self.runs_of = of;
        self.runs = Some(match (was, is_older) {
            (Some(mut was), true) => {
                self.wants_older = false;
                // The newest may not be those any more.
                self.is_stale = true;
                let known = |run: &RunLine| was.runs.iter().any(|it| it.run_id == run.run_id);
                let told_anew: Vec<RunLine> =
                    told.runs.into_iter().filter(|run| !known(run)).collect();
                was.runs.extend(told_anew);
                RunList { next: told.next, ..was }
            }
            (Some(was), false) => with_older(told, was),
            (None, _) => told,
        });
    }

    /// The places of the runs that are shown.
    #[must_use]
    pub fn shown_runs(&self) -> Vec<usize> {
        let runs = self.runs.iter().flat_map(|list| &list.runs).enumerate();
        // What the desk has chosen is what is meant.
        let is_chosen = self.runs_of != RunsOf::default() && self.runs_of == self.runs_meant;
        let is_shown = |run: &RunLine| {
            let flow = run.flow.as_deref().unwrap_or_default();
            let tags = run.tags.join(" ");
            is_chosen
                || self.runs_list.takes(&format!("{flow} {} {} {tags}", run.run_id, run.state))
        };
        runs.filter(|(_, run)| is_shown(run)).map(|(place, _)| place).collect()
    }
}

/// The newest runs, and behind them the older ones that were listed before.
fn with_older(told: RunList, was: RunList) -> RunList {
    let last = told.runs.last().map(|run| run.run_id.as_str());
    let place = was.runs.iter().position(|run| Some(run.run_id.as_str()) == last);
    match place {
        Some(place) if place + 1 < was.runs.len() => {
            let runs = [&told.runs[..], &was.runs[place + 1..]].concat();
            RunList { runs, next: was.next, ..told }
        }
        // There is nothing older, or so much is new that nobody knows what is between.
        _ => told,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test")]

    use jiff::tz::TimeZone;

    use super::*;
    use crate::model::{Attached, Screen};
    use crate::samples::{NOW, runs};

    /// A page of runs with these numbers, the newest first.
    fn page(numbers: std::ops::Range<usize>, next: Option<&str>) -> RunList {
        let line = |number: usize| RunLine {
            run_id: format!("{number:026}"),
            ..runs().runs[number % 4].clone()
        };
        RunList { runs: numbers.rev().map(line).collect(), next: next.map(str::to_owned), ..runs() }
    }

    fn model() -> Model {
        let mut model = Model::new("/srv/tide".to_owned(), Attached::Desk, NOW, TimeZone::UTC);
        model.screens = vec![Screen::Runs];
        model
    }

    fn numbers(model: &Model) -> Vec<usize> {
        let runs = &model.runs.as_ref().unwrap().runs;
        runs.iter().map(|run| run.run_id.parse().unwrap()).collect()
    }

    #[test]
    fn older_runs_are_listed_further_down_and_stay_when_there_are_new_ones() {
        let mut model = model();
        model.take_in_runs(RunsOf::default(), false, page(100..300, Some("64")));
        assert_eq!(model.runs_after(), None, "nobody has looked so far down");
        model.runs_list.cursor = 199;
        model.want_older();
        assert_eq!((model.runs_after().as_deref(), model.is_stale), (Some("64"), true));
        model.take_in_runs(RunsOf::default(), true, page(40..100, None));
        assert_eq!(model.runs_after(), None);
        model.want_older();
        assert!(!model.wants_older, "there is no older one");
        model.take_in_runs(RunsOf::default(), false, page(103..303, Some("67")));
        assert_eq!(numbers(&model), (40..303).rev().collect::<Vec<_>>());
        assert_eq!(model.runs.as_ref().unwrap().next, None);
        // So many are new that some between are not known.
        model.take_in_runs(RunsOf::default(), false, page(500..700, Some("1f4")));
        assert_eq!(numbers(&model).len(), 200);
    }

    #[test]
    fn states_and_flows_are_found_among_all_runs_other_texts_among_those_listed() {
        let mut model = model();
        model.take_in_runs(RunsOf::default(), false, page(100..300, Some("64")));
        let mut meant = |text: &str| {
            model.runs_list.filter = text.to_owned();
            model.mean_runs();
            let RunsOf { flow, state } = model.runs_meant.clone();
            (flow, state, model.shown_runs().len())
        };
        assert_eq!(meant("failed"), (None, Some(StateWish::Failed), 50));
        assert_eq!(meant("nightly"), (Some("nightly".to_owned()), None, 50));
        assert_eq!(meant("night"), (None, None, 50));
        assert_eq!(meant("00299"), (None, None, 1));
        model.runs.as_mut().unwrap().runs[0].flow = Some("nightly-2".to_owned());
        model.runs_list.filter = "nightly".to_owned();
        model.mean_runs();
        assert_eq!(model.runs_meant, RunsOf::default(), "both may be meant");
        let of = RunsOf { state: Some(StateWish::Running), ..RunsOf::default() };
        model.runs_list.filter = "running".to_owned();
        model.mean_runs();
        model.take_in_runs(of, false, page(0..4, None));
        assert_eq!(model.shown_runs().len(), 4, "also those that wait or are paused");
    }
}
