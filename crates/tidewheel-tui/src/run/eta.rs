//! When the run will be over, judged by how long its steps took before.
//!
//! Two things bound it from below: the longest chain of steps still to do, and the work still to
//! do divided among the workers. The larger of the two is the answer. It costs a pass over all
//! steps, so whoever draws asks for it seldom.

use std::time::Duration;

use super::model::{Model, Phase, Status, Step};

/// The time until the run is over, or nothing if too little is known: most of the steps that have
/// not ended need an expectation.
pub fn eta(model: &Model, workers: usize, now: Duration) -> Option<Duration> {
    if model.is_over() || model.steps.is_empty() {
        return None;
    }
    let is_stopping = matches!(model.phase, Phase::Draining | Phase::Killing);
    let counts = |step: &&Step| match step.status {
        Status::Ended(_) => false,
        Status::Running { .. } => true,
        _ => !is_stopping,
    };
    let left = model.steps.iter().filter(counts);
    let (known, all) = left
        .fold((0, 0), |(known, all), step| (known + usize::from(step.expected.is_some()), all + 1));
    if all == 0 || known * 2 <= all {
        return None;
    }
    let usual = usual(model);
    let rest = |step: &Step| if counts(&step) { rest(step, usual, now) } else { Rest::default() };
    let rests: Vec<Rest> = model.steps.iter().map(rest).collect();
    let work: Duration = rests.iter().map(|rest| rest.work).sum();
    let divided = work / u32::try_from(workers.max(1)).unwrap_or(u32::MAX);
    Some(divided.max(longest_chain(model, &rests)))
}

/// What is left of one step.
#[derive(Debug, Clone, Copy, Default)]
struct Rest {
    /// Time before it can start, whatever else happens.
    delay: Duration,
    /// Time that it keeps a worker busy.
    work: Duration,
}

fn rest(step: &Step, usual: Duration, now: Duration) -> Rest {
    let expected = step.expected.unwrap_or(usual);
    match step.status {
        // Whatever takes longer than ever may end at any moment.
        Status::Running { since } => {
            let work = expected.saturating_sub(now.saturating_sub(since));
            Rest { delay: Duration::ZERO, work }
        }
        Status::Delayed { until } => Rest { delay: until.saturating_sub(now), work: expected },
        Status::Blocked | Status::Ready => Rest { delay: Duration::ZERO, work: expected },
        Status::Ended(_) => Rest::default(),
    }
}

/// The mean expectation, for steps without one.
fn usual(model: &Model) -> Duration {
    let known = model.steps.iter().filter_map(|step| step.expected);
    let (sum, count) = known.fold((Duration::ZERO, 0), |(sum, count), expected| {
        (sum.saturating_add(expected), count + 1)
    });
    if count == 0 { Duration::ZERO } else { sum / count }
}

/// The longest way through what is left: each step begins when the last one before it is over.
fn longest_chain(model: &Model, rests: &[Rest]) -> Duration {
    let mut unmet: Vec<usize> = model.steps.iter().map(|step| step.after.len()).collect();
    let mut begins = vec![Duration::ZERO; unmet.len()];
    let mut due: Vec<usize> = (0..unmet.len()).filter(|&index| unmet[index] == 0).collect();
    let mut longest = Duration::ZERO;
    while let Some(index) = due.pop() {
        let rest = rests[index];
        let end = begins[index].saturating_add(rest.delay).saturating_add(rest.work);
        longest = longest.max(end);
        for &dependent in &model.steps[index].dependents {
            begins[dependent] = begins[dependent].max(end);
            unmet[dependent] -= 1;
            if unmet[dependent] == 0 {
                due.push(dependent);
            }
        }
    }
    longest
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidewheel_client::progress::{EndState, Event, StepInfo};

    const fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn model(steps: &[(Option<u64>, &[usize])]) -> Model {
        let steps = steps.iter().enumerate().map(|(index, (expected, after))| StepInfo {
            name: format!("step{index}"),
            expected: expected.map(s),
            after: after.to_vec(),
            ..StepInfo::default()
        });
        let mut model = Model::default();
        let steps = steps.collect();
        let start = Event::RunStarted { run_id: "id".into(), flow: "flow".into(), steps };
        model.update(s(0), start);
        model
    }

    fn end(step: usize, state: EndState) -> Event {
        let (reason, error, tail, is_tolerated) = (None, None, Vec::new(), false);
        Event::StepEnded { step, state, reason, error, tail, is_tolerated, is_late: false }
    }

    #[test]
    fn a_chain_takes_its_length_however_many_workers_there_are() {
        let model = model(&[(Some(10), &[]), (Some(20), &[0]), (Some(30), &[1]), (Some(5), &[])]);
        assert_eq!(eta(&model, 100, s(0)), Some(s(60)));
        assert_eq!(eta(&model, 1, s(0)), Some(s(65)));
    }

    #[test]
    fn wide_work_is_divided_among_the_workers() {
        let step: (_, &[usize]) = (Some(10), &[]);
        let model = model(&[step; 8]);
        assert_eq!(eta(&model, 4, s(0)), Some(s(20)));
        assert_eq!(eta(&model, 0, s(0)), Some(s(80)));
    }

    #[test]
    fn running_steps_count_what_is_left_of_them_and_ended_ones_nothing() {
        let mut model = model(&[(Some(10), &[]), (Some(20), &[0]), (Some(40), &[])]);
        model.update(s(0), Event::StepStarted { step: 0, attempt: 1 });
        assert_eq!(eta(&model, 9, s(4)), Some(s(40)));
        assert_eq!(eta(&model, 1, s(4)), Some(s(66)));
        model.update(s(4), end(2, EndState::Skipped));
        assert_eq!(eta(&model, 9, s(4)), Some(s(26)));
        // It takes longer than ever.
        assert_eq!(eta(&model, 9, s(50)), Some(s(20)));
        model.update(s(50), end(0, EndState::Succeeded));
        model.update(s(50), Event::StepStarted { step: 1, attempt: 1 });
        assert_eq!(eta(&model, 9, s(60)), Some(s(10)));
    }

    #[test]
    fn waiting_for_another_attempt_delays_but_keeps_no_worker_busy() {
        let mut model = model(&[(Some(10), &[])]);
        model.update(s(0), Event::StepStarted { step: 0, attempt: 1 });
        let error = "exit code 1".to_owned();
        model.update(s(3), Event::StepRetrying { step: 0, attempt: 1, at: s(60), error });
        assert_eq!(eta(&model, 1, s(10)), Some(s(60)));
    }

    #[test]
    fn nothing_is_said_unless_most_is_known() {
        assert_eq!(eta(&model(&[(Some(10), &[]), (None, &[])]), 1, s(0)), None);
        assert_eq!(eta(&model(&[(None, &[])]), 1, s(0)), None);
        assert_eq!(eta(&model(&[]), 1, s(0)), None);
        // The unknown one is taken for an average one.
        let mostly = model(&[(Some(10), &[]), (Some(20), &[]), (None, &[])]);
        assert_eq!(eta(&mostly, 1, s(0)), Some(s(45)));
    }

    #[test]
    fn only_what_runs_counts_while_the_run_is_stopping() {
        let mut model = model(&[(Some(10), &[]), (Some(20), &[0])]);
        model.update(s(0), Event::StepStarted { step: 0, attempt: 1 });
        model.update(s(1), Event::Draining);
        assert_eq!(eta(&model, 1, s(2)), Some(s(8)));
    }

    #[test]
    fn a_cycle_does_no_harm() {
        let model = model(&[(Some(10), &[1]), (Some(20), &[0])]);
        assert_eq!(eta(&model, 2, s(0)), Some(s(15)));
    }
}
