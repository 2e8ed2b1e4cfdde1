//! Random runs with groups in groups, conditions and words, against an obvious model of what becomes
//! of each task. Nothing is counted in the model: after every event it looks at all tasks again.
//!
//! Runs without groups, and tasks added to them, are in `final_state`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::common::{Bare, failed, starts};
use tidewheel_core::RunId;
use tidewheel_core::condition::{Clause, Condition, Ends, Quantifier, Standing};
use tidewheel_core::decision::Start;
use tidewheel_core::graph::Graph;
use tidewheel_core::group::{GroupKind, GroupSpec};
use tidewheel_core::input::{Command, Outcome};
use tidewheel_core::policy::{OnError, OnSkip};
use tidewheel_core::row::RunResult;
use tidewheel_core::spec::{Config, Profile, RunOptions, RunSpec};
use tidewheel_core::task::TaskState;
use tidewheel_sim::random::Random;

const RUNS: u64 = if cfg!(debug_assertions) { 4_000 } else { 40_000 };

/// How a task of the model stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stand {
    Waits,
    Runs,
    Succeeded,
    Failed,
    /// Skipped by a condition, its own or another's.
    Declined,
    /// Skipped because something failed.
    Prevented,
    /// Skipped because the run or a group was stopped.
    Cut,
}

impl Stand {
    fn has_ended(self) -> bool {
        !matches!(self, Self::Waits | Self::Runs)
    }

    fn is_in(self, ends: Ends) -> bool {
        let word = match self {
            Self::Waits | Self::Runs => return false,
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Declined => "declined",
            Self::Prevented | Self::Cut => "prevented",
        };
        ends.words().any(|known| known == word)
    }
}

/// What is said of one task.
#[derive(Debug, Clone)]
struct Said {
    needs: Vec<usize>,
    /// The end of the group it is in.
    group: Option<usize>,
    on_error: Option<OnError>,
    on_dependency_error: Option<OnError>,
    on_skip: Option<OnSkip>,
    always: bool,
    condition: Option<Condition>,
}

/// What is said of one group, by its end.
#[derive(Debug, Clone)]
struct Group {
    kind: GroupKind,
    at_once: Option<usize>,
    opener: Option<usize>,
    is_open: bool,
}

/// The run is level `None`, a group is known by its end.
type Level = Option<usize>;

#[derive(Debug)]
struct Model {
    said: Vec<Said>,
    groups: BTreeMap<usize, Group>,
    default: (OnError, OnSkip),
    stands: Vec<Stand>,
    failed: BTreeMap<Level, BTreeSet<usize>>,
    /// The task whose failure stopped a level.
    stopped: BTreeMap<Level, usize>,
    /// Tasks that were given a place in their group, some of which have ended.
    placed: BTreeSet<usize>,
}

impl Model {
    fn follows(&self, task: usize) -> bool {
        matches!(self.said[task].condition, Some(Condition::OfWhole(_)))
    }

    /// The task, the end of its group, and so on.
    fn chain(&self, task: usize) -> Vec<usize> {
        let mut chain = vec![task];
        while let Some(end) = self.said[*chain.last().expect("it has one")].group {
            chain.push(end);
        }
        chain
    }

    fn opens(&self, task: usize) -> bool {
        self.said[task].group.is_some_and(|end| self.groups[&end].opener == Some(task))
    }

    fn is_asked(&self, need: usize, task: usize) -> bool {
        match &self.said[task].condition {
            Some(Condition::OfTasks(clauses)) => {
                clauses.iter().any(|clause| clause.tasks.contains(&(need as u32)))
            }
            _ => false,
        }
    }

    /// The needs of a task that its words are asked about.
    fn judged(&self, task: usize) -> Vec<usize> {
        let is_judged = |need: &usize| {
            !self.opens(*need)
                && !self.is_asked(*need, task)
                && (!self.follows(task) || self.follows(*need))
        };
        self.said[task].needs.iter().copied().filter(is_judged).collect()
    }

    fn defaults(&self, level: Level) -> (OnError, OnSkip) {
        match level.map(|end| (end, self.groups[&end].kind)) {
            None => self.default,
            Some((_, GroupKind::Call { on_error, on_skip })) => (on_error, on_skip),
            Some((end, GroupKind::Parts)) => self.defaults(self.said[end].group),
        }
    }

    fn own_word(&self, failed: usize, dependent: usize) -> Option<OnError> {
        let said = &self.said[dependent];
        said.on_dependency_error.or(said.on_error).or(self.said[failed].on_error)
    }

    fn word(&self, failed: usize, dependent: usize) -> OnError {
        let own = self.own_word(failed, dependent);
        own.unwrap_or(self.defaults(self.said[dependent].group).0)
    }

    fn skip_word(&self, skipped: usize, dependent: usize) -> OnSkip {
        let said = &self.said[dependent];
        let own = said.on_skip.or(self.said[skipped].on_skip);
        own.unwrap_or(self.defaults(said.group).1)
    }

    fn is_open(&self, level: Level) -> bool {
        level.is_none_or(|end| self.groups[&end].is_open)
    }

    /// Whether all of a level has ended but what follows it.
    fn is_over(&self, level: Level) -> bool {
        let is_body = |task: &usize| {
            let chain = self.chain(*task);
            let member = chain.iter().find(|at| self.said[**at].group == level);
            member.is_some_and(|member| !self.follows(*member))
        };
        let mut body = (0..self.said.len()).filter(is_body);
        self.is_open(level) && body.all(|task| self.stands[task].has_ended())
    }

    fn has_failed(&self, level: Level) -> bool {
        let is_cut = |task: usize| {
            self.said[task].group == level && !self.follows(task) && self.stands[task] == Stand::Cut
        };
        // What fails among those that follow does not count for them.
        let is_of_body = |task: usize| {
            let chain = self.chain(task);
            chain.into_iter().any(|at| self.said[at].group == level && !self.follows(at))
        };
        self.failed.get(&level).is_some_and(|failed| failed.iter().any(|it| is_of_body(*it)))
            || self.stopped.get(&level).is_some_and(|it| is_of_body(*it))
            || (0..self.said.len()).any(is_cut)
    }

    /// The value of a task's condition, once it is known.
    fn value(&self, task: usize) -> Option<bool> {
        let level = self.said[task].group;
        let clauses = match &self.said[task].condition {
            None => return Some(true),
            Some(Condition::OfWhole(_)) if !self.is_over(level) => return None,
            Some(Condition::OfWhole(Standing::Succeeded)) => return Some(!self.has_failed(level)),
            Some(Condition::OfWhole(Standing::Failed)) => return Some(self.has_failed(level)),
            Some(Condition::OfWhole(Standing::Ended)) => return Some(true),
            Some(Condition::OfTasks(clauses)) => clauses,
        };
        let stand = |task: &u32| self.stands[*task as usize];
        let is_sure = |clause: &Clause, value: bool| {
            let fits = |task: &u32| stand(task).has_ended() && stand(task).is_in(clause.ends);
            let misses = |task: &u32| stand(task).has_ended() && !stand(task).is_in(clause.ends);
            match (clause.quantifier, value) {
                (Quantifier::All, true) => clause.tasks.iter().all(fits),
                (Quantifier::All, false) => clause.tasks.iter().any(misses),
                (Quantifier::Any, true) => clause.tasks.iter().any(fits),
                (Quantifier::Any, false) => clause.tasks.iter().all(misses),
            }
        };
        if clauses.iter().any(|clause| is_sure(clause, false)) {
            return Some(false);
        }
        clauses.iter().all(|clause| is_sure(clause, true)).then_some(true)
    }

    /// Whether nothing is open that a task, or for an end its group, waits for.
    fn has_its_turn(&self, task: usize) -> bool {
        let level = self.said[task].group;
        let is_let_in = match level {
            Some(end) if self.opens(task) => {
                self.has_its_turn(end) && !self.declines(end) && !self.lacks_place(end)
            }
            level => self.is_open(level),
        };
        is_let_in
            && self.judged(task).iter().all(|&need| self.stands[need].has_ended())
            && self.value(task).is_some()
    }

    /// Whether only so many tasks of its group are under way at once, and this is none of them.
    fn lacks_place(&self, task: usize) -> bool {
        let group = self.said[task].group.map(|end| &self.groups[&end]);
        group.is_some_and(|group| group.at_once.is_some())
            && !self.opens(task)
            && !self.placed.contains(&task)
    }

    fn has_free_place(&self, end: usize) -> bool {
        let is_under_way = |&&task: &&usize| {
            let is_over = self.stands[task].has_ended() && self.has_group_ended(task);
            self.said[task].group == Some(end) && !is_over
        };
        let under_way = self.placed.iter().filter(is_under_way).count();
        self.groups[&end].at_once.is_some_and(|at_once| under_way < at_once)
    }

    fn next_to_place(&self) -> Option<usize> {
        (0..self.said.len()).find(|&task| {
            self.stands[task] == Stand::Waits
                && self.lacks_place(task)
                && self.has_its_turn(task)
                && self.said[task].group.is_some_and(|end| self.has_free_place(end))
        })
    }

    fn declines(&self, task: usize) -> bool {
        let follows = |&need: &usize| {
            self.stands[need] == Stand::Declined
                && !self.said[task].always
                && self.skip_word(need, task) == OnSkip::Skip
        };
        self.has_its_turn(task)
            && (self.value(task) == Some(false) || self.judged(task).iter().any(follows))
    }

    fn is_prevented(&self, task: usize) -> bool {
        let prevents = |&need: &usize| match self.stands[need] {
            Stand::Failed => self.word(need, task) != OnError::Continue,
            Stand::Prevented | Stand::Cut => true,
            _ => false,
        };
        !self.said[task].always && self.judged(task).iter().any(prevents)
    }

    /// Whether a stop of a level around a task ends it before it starts.
    fn is_cut(&self, task: usize) -> bool {
        let mut is_spared = false;
        for at in self.chain(task) {
            is_spared |= self.said[at].always || self.follows(at);
            if let Some(&stopper) = self.stopped.get(&self.said[at].group)
                && !is_spared
                && !self.stands_for(stopper).contains(&task)
            {
                return true;
            }
        }
        false
    }

    /// The ends whose failure the failure of a task is.
    fn stands_for(&self, task: usize) -> Vec<usize> {
        let chain = self.chain(task);
        let ends = chain.into_iter().skip(1);
        ends.take_while(|end| self.groups[end].kind == GroupKind::Parts).collect()
    }

    /// Whether a task may be running: it has its turn, and all of its group has ended.
    fn may_start(&self, task: usize) -> bool {
        let is_free = match self.groups.get(&task) {
            None => self.has_its_turn(task) && !self.declines(task) && !self.lacks_place(task),
            Some(group) => group.is_open && self.has_group_ended(task),
        };
        self.stands[task] == Stand::Waits && is_free
    }

    fn has_group_ended(&self, end: usize) -> bool {
        let is_inside = |task: &usize| self.chain(*task)[1..].contains(&end);
        (0..self.said.len()).filter(is_inside).all(|task| self.stands[task].has_ended())
    }

    fn end(&mut self, task: usize, stand: Stand) {
        self.stands[task] = stand;
        if stand == Stand::Failed && !self.opens(task) {
            self.judge(task);
        }
        while self.settle() {}
    }

    /// Whether somebody asks how the failed task ended, or one that it keeps from running.
    fn is_heard(&self, failed: usize) -> bool {
        let all = 0..self.said.len();
        let mut kept = BTreeSet::from([failed]);
        loop {
            let is_kept = |task: &usize| {
                let said = &self.said[*task];
                let goes_on = said.on_dependency_error.or(said.on_error) == Some(OnError::Continue);
                let keeps = |it: &usize| kept.contains(it) && (*it != failed || !goes_on);
                !said.always && self.judged(*task).iter().any(keeps)
            };
            let more: BTreeSet<usize> = all.clone().filter(is_kept).chain([failed]).collect();
            if more == kept {
                return kept.iter().any(|&it| all.clone().any(|other| self.is_asked(it, other)));
            }
            kept = more;
        }
    }

    fn judge(&mut self, task: usize) {
        let mut subject = task;
        while let Some(end) = self.said[subject].group
            && self.groups[&end].kind == GroupKind::Parts
        {
            self.failed.entry(Some(end)).or_default().insert(subject);
            subject = end;
        }
        let level = self.said[subject].group;
        let own = self.said[subject].on_error;
        let default = match self.defaults(level).0 {
            OnError::Fail if self.is_heard(subject) => OnError::Skip,
            default => default,
        };
        let mut words = Vec::new();
        for other in 0..self.said.len() {
            if self.is_asked(subject, other) {
                words.push(OnError::Continue);
            } else if self.judged(other).contains(&subject) && !self.said[other].always {
                words.push(self.own_word(subject, other).unwrap_or(default));
            }
        }
        let stops = match words.iter().max() {
            Some(strictest) => *strictest == OnError::Fail,
            None => own.unwrap_or(default) == OnError::Fail,
        };
        let is_excused = !stops && matches!(own, Some(OnError::Skip | OnError::Continue));
        if stops || subject == task && !is_excused {
            self.failed.entry(level).or_default().insert(subject);
        }
        if stops {
            self.stopped.entry(level).or_insert(task);
        }
    }

    /// Draws one consequence, the weightiest first. Whether there was one.
    fn settle(&mut self) -> bool {
        let waiting: Vec<usize> =
            (0..self.said.len()).filter(|&task| self.stands[task] == Stand::Waits).collect();
        let closed = |task: &usize| {
            let end = self.said[*task].group.filter(|end| !self.groups[end].is_open);
            end.is_some_and(|end| self.stands[end].has_ended())
        };
        let is_shut = |task: &usize| self.groups.get(task).is_none_or(|group| !group.is_open);
        if let Some(&task) = waiting.iter().find(|task| self.is_cut(**task)) {
            self.end(task, Stand::Cut);
        } else if let Some(&task) = waiting.iter().find(|task| closed(task)) {
            self.end(task, Stand::Prevented);
        } else if let Some(&task) =
            waiting.iter().find(|task| is_shut(task) && self.is_prevented(**task))
        {
            self.end(task, Stand::Prevented);
        } else if let Some((end, stand)) = self.end_by_group() {
            self.end(end, stand);
        } else if let Some(&task) =
            waiting.iter().find(|task| is_shut(task) && self.declines(**task))
        {
            self.end(task, Stand::Declined);
        } else if let Some(end) = self.next_to_open() {
            self.groups.get_mut(&end).expect("it is one").is_open = true;
        } else if let Some(task) = self.next_to_place() {
            self.placed.insert(task);
        } else {
            return false;
        }
        true
    }

    /// An end that ends without being started.
    fn end_by_group(&self) -> Option<(usize, Stand)> {
        self.groups.iter().find_map(|(&end, group)| {
            if self.stands[end] != Stand::Waits {
                return None;
            }
            let opener = group.opener.map(|opener| self.stands[opener]);
            match opener.filter(|stand| stand.has_ended() && *stand != Stand::Succeeded) {
                Some(stand) => Some((end, stand)),
                None => {
                    let failed = self.failed.get(&Some(end)).is_some_and(|it| !it.is_empty());
                    let is_over = group.is_open && self.has_group_ended(end);
                    (failed && is_over).then_some((end, Stand::Failed))
                }
            }
        })
    }

    fn next_to_open(&self) -> Option<usize> {
        let opens = |(end, group): &(&usize, &Group)| {
            let opener = group.opener.map(|opener| self.stands[opener]);
            !group.is_open
                && self.stands[**end] == Stand::Waits
                && self.has_its_turn(**end)
                && !self.lacks_place(**end)
                && opener.is_none_or(|stand| stand == Stand::Succeeded)
        };
        self.groups.iter().find(opens).map(|(end, _)| *end)
    }
}

fn error_word(random: &mut Random) -> Option<OnError> {
    let words =
        [None, None, None, Some(OnError::Continue), Some(OnError::Skip), Some(OnError::Fail)];
    *random.pick(&words)
}

fn default_word(random: &mut Random) -> OnError {
    *random.pick(&[OnError::Continue, OnError::Skip, OnError::Skip, OnError::Fail, OnError::Fail])
}

fn condition(random: &mut Random, needs: &[usize]) -> Option<Condition> {
    if random.percent(10) {
        let standings = [Standing::Succeeded, Standing::Failed, Standing::Ended];
        return Some(Condition::OfWhole(*random.pick(&standings)));
    }
    if needs.is_empty() || random.percent(80) {
        return None;
    }
    let clause = |random: &mut Random| {
        let tasks: Vec<u32> =
            (0..random.between(1, 2)).map(|_| *random.pick(needs) as u32).collect();
        let ways = [Ends::SUCCEEDED, Ends::FAILED, Ends::DECLINED, Ends::PREVENTED, Ends::SKIPPED];
        let ends = ways.iter().fold(Ends::ANY.not(), |ends, way| {
            if random.percent(40) { ends.or(*way) } else { ends }
        });
        let quantifier = *random.pick(&[Quantifier::All, Quantifier::Any]);
        Clause { quantifier, tasks, ends }
    };
    Some(Condition::OfTasks((0..random.between(1, 2)).map(|_| clause(random)).collect()))
}

/// A run: ends come before the tasks in their groups, edges lead forward within a level.
fn some_model(random: &mut Random) -> Model {
    let count = random.between(2, 14) as usize;
    let density = *random.pick(&[15, 30, 60]);
    let mut groups: BTreeMap<usize, Group> = BTreeMap::new();
    let mut said: Vec<Said> = Vec::new();
    for task in 0..count {
        let ends: Vec<usize> = groups.keys().copied().collect();
        let group = (!ends.is_empty() && random.percent(70)).then(|| *random.pick(&ends));
        let mut needs: Vec<usize> = (0..task)
            .filter(|&need| said[need].group == group && random.percent(density))
            .collect();
        let mut condition = condition(random, &needs);
        let opens = group.is_some_and(|end| {
            let is_first = !said.iter().any(|other: &Said| other.group == Some(end));
            is_first && random.percent(35)
        });
        if opens {
            (needs, condition) = (Vec::new(), None);
            groups.get_mut(&group.expect("it is in one")).expect("it is one").opener = Some(task);
        }
        let is_whole = |said: &Option<Condition>| matches!(said, Some(Condition::OfWhole(_)));
        if !is_whole(&condition) {
            // What follows is not needed by what it follows.
            needs.retain(|&need| !is_whole(&said[need].condition));
            if let Some(Condition::OfTasks(clauses)) = &mut condition {
                for clause in &mut *clauses {
                    clause.tasks.retain(|task| needs.contains(&(*task as usize)));
                }
                clauses.retain(|clause| !clause.tasks.is_empty());
                if clauses.is_empty() {
                    condition = None;
                }
            }
        }
        said.push(Said {
            needs,
            group,
            on_error: error_word(random),
            on_dependency_error: error_word(random).filter(|_| random.percent(40)),
            on_skip: *random.pick(&[None, None, Some(OnSkip::Continue), Some(OnSkip::Skip)]),
            always: random.percent(6),
            condition,
        });
        if !opens && random.percent(30) {
            let on_skip = *random.pick(&[OnSkip::Continue, OnSkip::Skip]);
            let kind = match random.percent(30) {
                true => GroupKind::Parts,
                false => GroupKind::Call { on_error: default_word(random), on_skip },
            };
            let at_once = random.percent(40).then(|| random.between(1, 3) as usize);
            groups.insert(task, Group { kind, at_once, opener: None, is_open: false });
        }
    }
    let skip_default = *random.pick(&[OnSkip::Continue, OnSkip::Skip]);
    Model {
        stands: vec![Stand::Waits; count],
        said,
        groups,
        default: (default_word(random), skip_default),
        failed: BTreeMap::new(),
        stopped: BTreeMap::new(),
        placed: BTreeSet::new(),
    }
}

fn spec_of(model: &Model, random: &mut Random) -> RunSpec {
    let numbered = model.said.iter().enumerate();
    let edges = numbered
        .flat_map(|(task, said)| said.needs.iter().map(move |it| (*it as u32, task as u32)));
    let graph = Graph::numbered(model.said.len() as u32, edges).expect("edges lead forward");
    let options = RunOptions {
        on_error: model.default.0,
        on_skip: model.default.1,
        slots: random.percent(50).then(|| random.between(1, 3) as u32),
        ..RunOptions::default()
    };
    let mut spec = RunSpec::new(Arc::new(graph), options, Profile::default());
    let profile = |said: &Said| {
        Arc::new(Profile {
            on_error: said.on_error,
            on_dependency_error: said.on_dependency_error,
            on_skip: said.on_skip,
            always: said.always,
            ..Profile::default()
        })
    };
    spec.profiles = model.said.iter().map(profile).collect();
    spec.profile_of = (0..model.said.len() as u16).collect();
    for (index, said) in (0..).zip(&model.said) {
        spec.conditions.extend(said.condition.clone().map(|it| (index, Arc::new(it))));
    }
    for (&end, group) in &model.groups {
        let is_member = |task: &usize| model.said[*task].group == Some(end);
        let members = (0..model.said.len()).filter(is_member).map(|task| task as u32).collect();
        let (kind, opener) = (group.kind, group.opener.map(|opener| opener as u32));
        let at_once = group.at_once.map(|at_once| at_once as u32);
        spec.groups.insert(end as u32, GroupSpec { kind, at_once, opener, members });
    }
    spec
}

/// What the runs together came to, so that nothing is missed by chance.
#[derive(Debug, Default)]
struct Seen {
    declined: u64,
    cut: u64,
    failed_ends: u64,
    stopped_groups: u64,
    nested: u64,
    followers_run: u64,
    early: u64,
    held_by_place: u64,
}

#[test]
fn every_task_of_groups_ends_as_the_model_says() {
    let mut seen = Seen::default();
    for seed in 0..RUNS {
        play(seed, &mut seen);
    }
    let Seen { declined, cut, failed_ends, stopped_groups, nested, .. } = seen;
    let Seen { followers_run, early, held_by_place, .. } = seen;
    for (what, count) in [
        ("declined", declined),
        ("cut", cut),
        ("failed ends", failed_ends),
        ("stopped groups", stopped_groups),
        ("nested groups", nested),
        ("followers that ran", followers_run),
        ("conditions decided early", early),
        ("tasks held by the places of their group", held_by_place),
    ] {
        assert!(count > RUNS / 400, "{count} {what} in {RUNS} runs");
    }
}

fn play(seed: u64, seen: &mut Seen) {
    let mut random = Random::new(seed);
    let mut model = some_model(&mut random);
    let spec = spec_of(&model, &mut random);
    let chance = *random.pick(&[5, 20, 50]);
    let mut bare = Bare::new(Config::default());
    let mut outputs = bare.ask(Command::SubmitRun { id: RunId(1), spec: Arc::new(spec) });
    let Ok(tidewheel_core::Reply::Accepted(run)) = outputs.replies[0] else { unreachable!() };
    while model.settle() {}
    let mut running: Vec<Start> = Vec::new();
    loop {
        for start in starts(&outputs) {
            let task = start.id.index as usize;
            assert!(model.may_start(task), "seed {seed}: {task} started in {model:?}");
            let is_asked = |need: &&usize| model.is_asked(**need, task);
            let needs = model.said[task].needs.iter().filter(is_asked);
            seen.early += u64::from(needs.clone().any(|it| !model.stands[*it].has_ended()));
            seen.followers_run += u64::from(model.follows(task));
            model.stands[task] = Stand::Runs;
            running.push(start);
        }
        bare.scheduler.check();
        let is_held = |&task: &usize| {
            let waits = model.stands[task] == Stand::Waits;
            waits && model.lacks_place(task) && model.has_its_turn(task)
        };
        seen.held_by_place += (0..model.said.len()).filter(is_held).count() as u64;
        if running.is_empty() {
            break;
        }
        let ended = running.swap_remove(random.below(running.len() as u64) as usize);
        let (stand, outcome) = match random.percent(chance) {
            true => (Stand::Failed, failed()),
            false if random.percent(15) => (Stand::Declined, Outcome::Skipped),
            false => (Stand::Succeeded, Outcome::Succeeded),
        };
        outputs = bare.end_with(ended, outcome);
        model.end(ended.id.index as usize, stand);
    }
    compare(seed, &mut bare, run, &model);
    let count = |stand: Stand| model.stands.iter().filter(|it| **it == stand).count() as u64;
    seen.declined += count(Stand::Declined);
    seen.cut += count(Stand::Cut);
    let failed_end = |end: &&usize| model.stands[**end] == Stand::Failed;
    seen.failed_ends += model.groups.keys().filter(failed_end).count() as u64;
    seen.stopped_groups += model.stopped.keys().flatten().count() as u64;
    seen.nested +=
        model.groups.keys().filter(|end| model.said[**end].group.is_some()).count() as u64;
}

fn compare(seed: u64, bare: &mut Bare, run: tidewheel_core::RunKey, model: &Model) {
    let report = bare
        .scheduler
        .take_report(run)
        .unwrap_or_else(|| panic!("seed {seed}: not ended: {model:?}"));
    let state = |stand: &Stand| match stand {
        Stand::Succeeded => TaskState::Succeeded,
        Stand::Failed => TaskState::Failed,
        Stand::Waits => TaskState::Blocked,
        Stand::Runs => TaskState::Running,
        _ => TaskState::Skipped,
    };
    let expected: Vec<TaskState> = model.stands.iter().map(state).collect();
    let ends: Vec<TaskState> = report.tasks().map(|task| task.state).collect();
    assert_eq!(ends, expected, "seed {seed}: {model:?}");
    let has_failed = model.failed.get(&None).is_some_and(|failed| !failed.is_empty());
    let expected = if has_failed { RunResult::Failed } else { RunResult::Succeeded };
    assert_eq!(report.result, expected, "seed {seed}: {model:?}");
}
