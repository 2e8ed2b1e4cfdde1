//! The order of starts, against a naive reference that looks at everybody who waits.

use std::sync::Arc;
use std::time::Duration;

use crate::common::{Bare, starts};
use tidewheel_core::decision::Start;
use tidewheel_core::graph::Graph;
use tidewheel_core::input::{Command, Reply, Submission};
use tidewheel_core::policy::Priority;
use tidewheel_core::spec::{Config, Profile, RunOptions, RunOrder, RunSpec};
use tidewheel_core::time::Moment;
use tidewheel_core::{RunId, RunKey, TaskId};
use tidewheel_sim::random::Random;

const DECISIONS: u64 = if cfg!(debug_assertions) { 10_000 } else { 100_000 };

/// Somebody who waits.
#[derive(Debug, Clone, Copy)]
struct Waiting {
    id: TaskId,
    run: RunKey,
    is_single: bool,
    priority: u64,
    /// Whether it was given another priority than its run.
    has_own: bool,
    since: Moment,
}

/// The reference: a list in the order of submission, looked through from end to end.
#[derive(Debug, Default)]
struct Reference {
    waiting: Vec<Waiting>,
    starvation: Option<Duration>,
    /// The newest start was aged work that went past a waiting critical task.
    passed_critical: bool,
}

impl Reference {
    fn effective(&self, task: &Waiting, now: Moment) -> u64 {
        let Some(timeout) = self.starvation else { return task.priority };
        let steps = now.since(task.since).as_nanos() / (timeout.as_nanos() / 6);
        (task.priority + 10 * u64::try_from(steps).unwrap_or(10).min(10)).min(100)
    }

    /// Takes the one that goes next.
    fn take(&mut self, now: Moment) -> Waiting {
        let mut best = 0;
        for place in 1..self.waiting.len() {
            let (one, other) = (&self.waiting[place], &self.waiting[best]);
            if self.effective(one, now) > self.effective(other, now) {
                best = place;
            }
        }
        let critical = |task: &Waiting| task.priority == 100;
        let has_aged = |task: &Waiting, effective| effective == 100 && task.priority < 100;
        let chosen = &self.waiting[best];
        if self.passed_critical && has_aged(chosen, self.effective(chosen, now)) {
            best = self.waiting.iter().position(critical).unwrap_or(best);
        }
        let aged = has_aged(&self.waiting[best], self.effective(&self.waiting[best], now));
        let taken = self.waiting.remove(best);
        self.passed_critical = aged && self.waiting.iter().any(critical);
        taken
    }

    /// Changes the priority of one who waits, or of all of its run without one of their own.
    fn change(&mut self, place: usize, one: bool, priority: u64) -> Command {
        let Waiting { id, run, .. } = self.waiting[place];
        let is_meant = |task: &Waiting| match one {
            true => task.id == id,
            false => task.run == run && !task.has_own,
        };
        for task in self.waiting.iter_mut().filter(|task| is_meant(task)) {
            (task.priority, task.has_own) = (priority, one && !task.is_single);
        }
        // Who is critical no longer is owed nothing.
        self.passed_critical &= self.waiting.iter().any(|task| task.priority == 100);
        let task = one.then_some(id.index);
        Command::SetPriority { run, task, priority: Priority::new(priority as i64) }
    }
}

/// A run whose tasks are all ready at once, and go in the order in which they are.
fn run_of(tasks: u32, priority: u64) -> Arc<RunSpec> {
    let graph = Graph::numbered(tasks, []).expect("tasks without edges");
    let options = RunOptions { order: RunOrder::Fifo, ..RunOptions::default() };
    let profile = Profile { priority: Priority::new(priority as i64), ..Profile::default() };
    Arc::new(RunSpec::new(Arc::new(graph), options, profile))
}

#[test]
fn starts_follow_the_naive_order() {
    let (mut decisions, mut contested, mut seed) = (0, 0, 0);
    while decisions < DECISIONS {
        seed += 1;
        let (all, with_choice) = play(seed);
        decisions += all;
        contested += with_choice;
    }
    assert!(contested > DECISIONS / 2, "only {contested} of {decisions} had a choice");
}

/// Plays one world; how many starts there were, and how many of them with a choice.
fn play(seed: u64) -> (u64, u64) {
    let mut random = Random::new(seed);
    let starvation = match random.below(4) {
        0 => None,
        1 => Some(Duration::from_secs(6)),
        _ => Some(Duration::from_secs(30)),
    };
    let mut slots = random.between(1, 6) as usize;
    let config =
        Config { slots: Some(slots as u32), starvation_timeout: starvation, ..Config::default() };
    let mut bare = Bare::new(config);
    let profile = bare.scheduler.profile(&Profile::default()).expect("a plain profile");
    let mut reference = Reference { starvation, ..Reference::default() };
    let mut running: Vec<Start> = Vec::new();
    let (mut decisions, mut contested) = (0, 0);
    let priorities = [0, 10, 20, 50, 50, 75, 80, 100, random.below(101)];
    let busy = random.between(40, 56);
    for number in 0..600_u64 {
        if random.percent(60) {
            bare.now.monotonic = bare.now.monotonic.after(random.millis(0, 3_000));
        }
        let now = bare.now.monotonic;
        let outputs = match random.below(100) {
            0..=1 => {
                slots = random.between(1, 6) as usize;
                bare.ask(Command::SetSlots(Some(slots as u32)))
            }
            2..=9 if !reference.waiting.is_empty() => {
                let place = random.below(reference.waiting.len() as u64) as usize;
                let (priority, one) = (*random.pick(&priorities), random.percent(50));
                bare.ask(reference.change(place, one, priority))
            }
            roll if roll < busy || running.is_empty() => {
                let priority = *random.pick(&priorities);
                let id = RunId(u128::from(number + 1));
                let tasks = if random.percent(30) { random.between(1, 4) as u32 } else { 0 };
                let outputs = match tasks {
                    0 => bare.ask(Command::Submit(Submission {
                        id,
                        profile,
                        priority: Priority::new(priority as i64),
                        ..Submission::default()
                    })),
                    _ => bare.ask(Command::SubmitRun { id, spec: run_of(tasks, priority) }),
                };
                let [Ok(Reply::Accepted(run))] = outputs.replies[..] else { panic!("{outputs:?}") };
                for index in 0..tasks.max(1) {
                    let id = TaskId { run: id, index };
                    let is_single = tasks == 0;
                    let (since, has_own) = (now, false);
                    reference.waiting.push(Waiting {
                        id,
                        run,
                        is_single,
                        priority,
                        has_own,
                        since,
                    });
                }
                outputs
            }
            _ => {
                let place = random.below(running.len() as u64) as usize;
                let ended = running.swap_remove(place);
                let fails = random.percent(20);
                bare.end(ended, fails)
            }
        };
        for start in starts(&outputs) {
            let choice = reference.waiting.len() > 1;
            let before = format!("{:?} at {now:?}", reference.waiting);
            let expected = reference.take(now);
            assert_eq!(start.id, expected.id, "seed {seed}, input {number}: {before}");
            running.push(start);
            decisions += 1;
            contested += u64::from(choice);
        }
        bare.scheduler.check();
        let idle = running.len() < slots && !reference.waiting.is_empty();
        assert!(!idle, "seed {seed}, input {number}: a slot is free and somebody waits");
    }
    (decisions, contested)
}

/// One who waits in a queue that is shared fairly.
#[derive(Debug, Clone, Copy)]
struct Sharing {
    id: RunId,
    party: usize,
}

/// The reference for fairness: what each party has had, looked through from end to end.
#[derive(Debug, Default)]
struct FairReference {
    /// In the order of submission.
    waiting: Vec<Sharing>,
    /// By party: microseconds of ended attempts, attempts running, and both together as they were last
    /// reckoned. The first is of those without a party.
    had: [(u64, u64, u64); 4],
    virtual_time: u64,
    estimate: u64,
}

impl FairReference {
    fn take(&mut self) -> Sharing {
        let least = self.waiting.iter().map(|task| (self.had[task.party].2, task.party)).min();
        let party = least.expect("somebody waits").1;
        let place = self.waiting.iter().position(|task| task.party == party);
        let (served, active, tag) = &mut self.had[party];
        self.virtual_time = self.virtual_time.max(*tag);
        *served += self.virtual_time - *tag;
        *active += 1;
        *tag = *served + *active * self.estimate;
        self.waiting.remove(place.expect("one of the party waits"))
    }

    fn ended(&mut self, party: usize, ran: Duration) {
        let ran = ran.as_micros() as u64;
        let (served, active, tag) = &mut self.had[party];
        *active -= 1;
        *served += ran;
        *tag = *served + *active * self.estimate;
        self.estimate = (self.estimate - self.estimate / 8 + ran / 8).max(1);
    }
}

#[test]
fn parties_share_as_the_naive_reference_says() {
    let mut contested = 0;
    for seed in 1..=DECISIONS / 200 {
        contested += play_fairly(seed);
    }
    assert!(contested > DECISIONS / 4, "only {contested} had a choice between parties");
}

/// Plays one world of parties; how many starts had a choice between some.
fn play_fairly(seed: u64) -> u64 {
    let mut random = Random::new(seed);
    let slots = random.between(1, 4) as usize;
    let mut bare = Bare::new(Config { slots: Some(slots as u32), ..Config::default() });
    let profiles: Vec<_> = [None, Some("one"), Some("two"), Some("three")]
        .into_iter()
        .map(|name: Option<&str>| {
            let profile = Profile { fair_by: name.map(Into::into), ..Profile::default() };
            bare.scheduler.profile(&profile).expect("a plain profile")
        })
        .collect();
    let mut reference = FairReference { estimate: 1000, ..FairReference::default() };
    let mut running: Vec<(Start, usize, Moment)> = Vec::new();
    let mut contested = 0;
    for number in 0..400_u64 {
        bare.now.monotonic = bare.now.monotonic.after(random.millis(0, 200));
        let now = bare.now.monotonic;
        let outputs = if random.percent(55) || running.is_empty() {
            // The crowd of one party does not keep the others from their share.
            let party = *random.pick(&[0, 1, 2, 3, 3, 3, 3]);
            let id = RunId(u128::from(number + 1));
            reference.waiting.push(Sharing { id, party });
            let profile = profiles[party];
            bare.ask(Command::Submit(Submission { id, profile, ..Submission::default() }))
        } else {
            let place = random.below(running.len() as u64) as usize;
            let (ended, party, started) = running.swap_remove(place);
            reference.ended(party, now.since(started));
            bare.end(ended, false)
        };
        bare.scheduler.check();
        for start in starts(&outputs) {
            let mut parties: Vec<_> = reference.waiting.iter().map(|task| task.party).collect();
            parties.sort_unstable();
            parties.dedup();
            contested += u64::from(parties.len() > 1);
            let before = format!("{reference:?} at {now:?}");
            let expected = reference.take();
            assert_eq!(start.id.run, expected.id, "seed {seed}, input {number}: {before}");
            running.push((start, expected.party, now));
        }
    }
    contested
}
