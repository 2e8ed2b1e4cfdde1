//! Looking at what waits without going through all of it: how many are ahead, how much waiting has raised
//! priorities, since when the oldest waits.
//!
//! Whoever asks holds up whoever decides. So an answer looks at so many tasks at the most, those that matter
//! most first, and says when there are more.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use super::explain::NAMES_MAX;
use super::state::Scheduler;
use crate::id::{RunKey, TaskKey};
use crate::policy::Priority;
use crate::ready::{Entry, ReadySet, Visit};
use crate::run::{Run, Work};
use crate::task::{Task, TaskState};
use crate::time::Moment;

/// The most tasks, or runs, that one answer looks at.
pub(super) const LOOKS_MAX: u32 = 10_000;

/// The most that the answers to one question about many tasks look at together.
const LOOKS_TOGETHER: u32 = 100_000;

/// How many more may be looked at.
#[derive(Debug, Clone, Copy)]
pub(super) struct Looks(u32);

impl Looks {
    pub fn new() -> Self {
        Self(LOOKS_MAX)
    }

    /// For a question about many tasks.
    pub fn together() -> Self {
        Self(LOOKS_TOGETHER)
    }

    /// Looks for one answer of several: as many as each may have, as long as there are any.
    pub fn share<T>(&mut self, answer: impl FnOnce(&mut Self) -> T) -> T {
        let mut share = Self(self.0.min(LOOKS_MAX));
        let given = share.0;
        let answer = answer(&mut share);
        self.0 -= given - share.0;
        answer
    }

    /// Whether one more may be looked at, which it then is.
    pub fn take(&mut self) -> bool {
        let is_left = self.0 > 0;
        self.0 = self.0.saturating_sub(1);
        is_left
    }

    pub fn is_left(self) -> bool {
        self.0 > 0
    }
}

/// Who holds units of which limit, for all answers to one question: looked up once, when somebody needs it.
#[derive(Debug, Default)]
pub(super) struct Holders(Option<BTreeMap<u32, Vec<Arc<str>>>>);

impl Holders {
    /// Names of running tasks that have units of a limit, some of many.
    pub fn of(&mut self, scheduler: &Scheduler, limit: u32) -> Vec<Arc<str>> {
        let known = self.0.get_or_insert_with(|| scheduler.holders());
        known.get(&limit).cloned().unwrap_or_default()
    }
}

/// Tasks that go before another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ahead {
    pub count: u64,
    /// There are more; these were counted.
    pub is_least: bool,
}

/// What is found about those who wait in one queue.
#[derive(Debug, Clone, Copy)]
pub(super) struct WaitingFigures {
    /// Times that waiting has raised a priority.
    pub promotions: u64,
    /// Since when the oldest waits.
    pub oldest: Moment,
}

impl Scheduler {
    /// Ready tasks of the same queue that go before this one as things stand: of runs that may start nothing
    /// only its own.
    pub(super) fn ahead_of(&self, key: TaskKey, now: Moment, looks: &mut Looks) -> Ahead {
        let Some(own) = self.member(key) else { return Ahead { count: 0, is_least: false } };
        let queue = self.classes[self.work(key).class(key.index) as usize].queue;
        let mut order = Order {
            scheduler: self,
            now,
            own,
            effective: self.effective(own.priority, own.ready_at, now),
            party: self.queues[queue as usize].parties.is_some().then(|| self.party(key)),
            before: 0,
            of_party: 0,
            others: BTreeMap::new(),
        };
        if let Some(run) = self.run(key.run.0) {
            order.look_inside(run, queue, looks);
        }
        for class in self.classes.iter().filter(|class| class.queue == queue) {
            class.lanes.visit(|priority, entry| {
                if entry.is_single() {
                    return order.look_at_single(priority, entry, looks);
                }
                if !looks.take() {
                    return Visit::Stop;
                }
                if let Some(run) = self.run(entry.run).filter(|_| entry.run != key.run.0) {
                    order.look_at_set(run, &run.sets[entry.set as usize], looks);
                }
                Visit::Next
            });
        }
        Ahead { count: order.total(queue), is_least: !looks.is_left() }
    }

    /// Tasks that hold a slot: all, or those that are found with so many looks.
    pub(super) fn some_running(&self) -> impl Iterator<Item = TaskKey> + '_ {
        let tasks = self.works.iter().flat_map(|(run, work)| {
            let count = match work {
                // One that holds nothing is passed over as a whole.
                Work::Run(run) if run.active == 0 => 1,
                Work::Run(run) => run.tasks.len() as u32,
                Work::Single(_) => 1,
            };
            (0..count).map(move |index| TaskKey { run: RunKey(run), index })
        });
        let looked = tasks.take(LOOKS_MAX as usize).inspect(|_| note_look());
        let holds = |key: &TaskKey| self.member(*key).is_some_and(|task| task.state.holds_slot());
        looked.filter(holds).take(self.active as usize)
    }

    fn holders(&self) -> BTreeMap<u32, Vec<Arc<str>>> {
        let mut holders: BTreeMap<u32, Vec<Arc<str>>> = BTreeMap::new();
        for key in self.some_running() {
            for (limit, _) in &self.classes[self.work(key).class(key.index) as usize].needs {
                let names = holders.entry(*limit).or_default();
                if names.len() < NAMES_MAX {
                    names.extend(self.task_name(key));
                }
            }
        }
        holders
    }

    pub(super) fn effective(&self, priority: u8, ready_at: Moment, now: Moment) -> u8 {
        self.ageing.effective(Priority::new(i64::from(priority)), now.since(ready_at))
    }

    /// Promotions of tasks that still wait, oldest first, and since when the oldest waits.
    pub(super) fn waiting_figures(
        &self,
        queue: u32,
        now: Moment,
        looks: &mut Looks,
    ) -> WaitingFigures {
        let mut figures = WaitingFigures { promotions: 0, oldest: now };
        for class in self.classes.iter().filter(|class| class.queue == queue) {
            class.lanes.visit(|priority, entry| {
                if !looks.take() {
                    return Visit::Stop;
                }
                match self.works.get(entry.run) {
                    Some(Work::Single(single)) if entry.is_single() && single.stands_at(entry) => {
                        figures.add(self, priority, entry.ready_at, now)
                    }
                    _ => Visit::Next,
                }
            });
        }
        for run in self.run_keys.values().filter_map(|&key| self.run(key)) {
            if !looks.take() {
                break;
            }
            if run.counts.of(TaskState::Ready) == 0 {
                continue;
            }
            let of_queue = |set: &&ReadySet| self.classes[set.class as usize].queue == queue;
            for set in run.sets.iter().filter(of_queue) {
                let _ = each_ready(run, set, looks, |_, task| {
                    match figures.add(self, set.priority, task.ready_at, now) {
                        Visit::Next => ControlFlow::Continue(()),
                        _ => ControlFlow::Break(()),
                    }
                });
            }
        }
        figures
    }
}

impl WaitingFigures {
    /// Counts one that waits. Whoever came after one that nothing was gained for gained nothing either.
    fn add(&mut self, scheduler: &Scheduler, priority: u8, since: Moment, now: Moment) -> Visit {
        self.oldest = self.oldest.min(since);
        let waited = now.since(since);
        if !scheduler.ageing.has_aged(now.nanos_since(since)) {
            return Visit::NextPart;
        }
        let priority = Priority::new(i64::from(priority));
        self.promotions += u64::from(scheduler.ageing.promotions(priority, waited));
        Visit::Next
    }
}

/// Goes through the ready tasks of a set, oldest first, until it is enough.
pub(super) fn each_ready(
    run: &Run,
    set: &ReadySet,
    looks: &mut Looks,
    mut look: impl FnMut(u32, &Task) -> ControlFlow<()>,
) -> ControlFlow<()> {
    for (sequence, index) in set.by_age() {
        if !looks.take() {
            return ControlFlow::Break(());
        }
        let task = &run.tasks[index as usize];
        if task.state == TaskState::Ready && task.ready_sequence == sequence {
            look(index, task)?;
        }
    }
    ControlFlow::Continue(())
}

/// Counting those that go before one task.
struct Order<'a> {
    scheduler: &'a Scheduler,
    now: Moment,
    own: &'a Task,
    effective: u8,
    /// Its party, where its queue has parties.
    party: Option<u32>,
    /// Tasks that go before it whoever has had what.
    before: u64,
    /// Tasks of its party that go before it, as urgent as it is by now.
    of_party: u64,
    /// Tasks of other parties that are as urgent.
    others: BTreeMap<u32, u64>,
}

impl Order<'_> {
    fn look_at_single(&mut self, priority: u8, entry: &Entry, looks: &mut Looks) -> Visit {
        if !looks.take() {
            return Visit::Stop;
        }
        match self.scheduler.works.get(entry.run) {
            Some(Work::Single(single)) if single.stands_at(entry) => {
                self.add(priority, entry.party, &single.task)
            }
            _ => Visit::Next,
        }
    }

    fn look_at_set(&mut self, run: &Run, set: &ReadySet, looks: &mut Looks) {
        let _ =
            each_ready(run, set, looks, |_, task| match self.add(set.priority, set.party, task) {
                Visit::Next => ControlFlow::Continue(()),
                _ => ControlFlow::Break(()),
            });
    }

    /// Inside its own run the order is another.
    fn look_inside(&mut self, run: &Run, queue: u32, looks: &mut Looks) {
        for set in &run.sets {
            if self.scheduler.classes[set.class as usize].queue != queue {
                continue;
            }
            let is_alike = set.priority == self.own.priority
                && self.party.is_none_or(|party| party == set.party);
            if !is_alike {
                self.look_at_set(run, set, looks);
                continue;
            }
            let _ = each_ready(run, set, looks, |_, task| {
                let own = (self.own.rank, self.own.ready_sequence);
                self.of_party += u64::from((task.rank, task.ready_sequence) < own);
                ControlFlow::Continue(())
            });
        }
    }

    /// Counts one of those that wait, who come oldest first. Whoever came after one that does not go before is
    /// no better off.
    fn add(&mut self, priority: u8, party: u32, task: &Task) -> Visit {
        let effective = self.scheduler.effective(priority, task.ready_at, self.now);
        if effective != self.effective {
            let goes_before = effective > self.effective;
            self.before += u64::from(goes_before);
            return if goes_before { Visit::Next } else { Visit::NextPart };
        }
        if self.party.is_some_and(|own| own != party) {
            *self.others.entry(party).or_default() += 1;
            return Visit::Next;
        }
        let goes_before = task.ready_sequence < self.own.ready_sequence;
        self.of_party += u64::from(goes_before);
        if goes_before { Visit::Next } else { Visit::NextPart }
    }

    /// Parties take turns: before each of its own a task of every other goes that has one, and before itself
    /// one of those that have had less.
    fn total(&self, queue: u32) -> u64 {
        let mut total = self.before + self.of_party;
        if let (Some(own), Some(parties)) =
            (self.party, &self.scheduler.queues[queue as usize].parties)
        {
            let had = |party: u32| (parties.tag(party), party);
            for (&party, &count) in &self.others {
                let turns = self.of_party + u64::from(had(party) < had(own));
                total += count.min(turns);
            }
        }
        total
    }
}

/// Tests count how much is looked through.
#[cfg(not(test))]
pub(super) fn note_look() {}

#[cfg(test)]
pub(super) use tests::{LOOKS, note_look};

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::time::Duration;

    use super::*;
    use crate::decision::Decision;
    use crate::explain::{Explanation, Hold};
    use crate::graph::Graph;
    use crate::id::{RunId, RunKey};
    use crate::input::{Command, Input, Reply, Submission};
    use crate::spec::{Config, LimitSpec, Profile, RunOptions, RunSpec};
    use crate::time::Now;

    const MANY: u32 = 100_000;

    thread_local! {
        pub(in super::super) static LOOKS: Cell<u64> = const { Cell::new(0) };
    }

    pub(in super::super) fn note_look() {
        LOOKS.set(LOOKS.get() + 1);
    }

    /// A paused scheduler, so that everything waits.
    fn paused() -> Scheduler {
        let mut scheduler = Scheduler::new(Config::default());
        ask(&mut scheduler, Now::default(), Command::Pause);
        scheduler
    }

    fn ask(scheduler: &mut Scheduler, now: Now, command: Command) -> Option<RunKey> {
        let mut decision = Decision::volatile();
        scheduler.step(now, Input::Command(command), &mut decision);
        let outputs = decision.open().expect("nothing is to be stored");
        match outputs.replies.pop() {
            Some(Ok(Reply::Accepted(run))) => Some(run),
            Some(Err(rejection)) => panic!("{rejection}"),
            _ => None,
        }
    }

    fn submit(scheduler: &mut Scheduler, number: u32, fair_by: Option<&str>) -> TaskKey {
        let fair_by = fair_by.map(Arc::from);
        let profile = scheduler.profile(&Profile { fair_by, ..Profile::default() }).unwrap();
        let submission = Submission { id: RunId(number.into()), profile, ..Submission::default() };
        let run = ask(scheduler, Now::default(), Command::Submit(submission)).unwrap();
        TaskKey { run, index: 0 }
    }

    fn ahead(scheduler: &Scheduler, key: TaskKey) -> (Ahead, u32) {
        let mut looks = Looks::new();
        let ahead = scheduler.ahead_of(key, Moment::ZERO, &mut looks);
        (ahead, LOOKS_MAX - looks.0)
    }

    /// D14 of the review: with a million tasks waiting an answer took 13 ms, under the lock.
    #[test]
    fn an_answer_looks_at_a_bounded_number_of_tasks_that_wait() {
        let mut scheduler = paused();
        let keys: Vec<_> = (0..MANY).map(|number| submit(&mut scheduler, number, None)).collect();
        for place in [0, 1, 99, LOOKS_MAX - 2] {
            let (ahead, looked) = ahead(&scheduler, keys[place as usize]);
            assert_eq!(ahead, Ahead { count: place.into(), is_least: false });
            assert!(looked <= place + 1, "{looked} looks for place {place}");
        }
        let (last, looked) = ahead(&scheduler, keys[MANY as usize - 1]);
        assert_eq!(last, Ahead { count: LOOKS_MAX.into(), is_least: true });
        assert_eq!(looked, LOOKS_MAX);
        let mut looks = Looks::new();
        let figures = scheduler.waiting_figures(0, Moment::from_millis(4_999), &mut looks);
        assert_eq!((figures.promotions, figures.oldest), (0, Moment::ZERO));
        assert_eq!(looks.0, LOOKS_MAX - 1, "nobody has gained anything, as the oldest shows");
        let mut looks = Looks::new();
        let figures = scheduler.waiting_figures(0, Moment::from_millis(5_000), &mut looks);
        assert_eq!((figures.promotions, looks.0), (LOOKS_MAX.into(), 0));
    }

    #[test]
    fn a_large_run_is_looked_at_in_part_too() {
        let mut scheduler = paused();
        let graph = Arc::new(Graph::numbered(MANY, []).unwrap());
        let spec = RunSpec::new(graph, RunOptions::default(), Profile::default());
        let command = Command::SubmitRun { id: RunId(1), spec: Arc::new(spec) };
        let run = ask(&mut scheduler, Now::default(), command).unwrap();
        let single = submit(&mut scheduler, 2, None);
        for key in [single, TaskKey { run, index: MANY - 1 }] {
            let (ahead, looked) = ahead(&scheduler, key);
            assert_eq!((ahead.is_least, looked), (true, LOOKS_MAX));
            // One look was at the run, one at the other that waits.
            assert!(ahead.count >= u64::from(LOOKS_MAX) - 2, "{ahead:?}");
        }
        let mut looks = Looks::new();
        let now = Moment::ZERO.after(Duration::from_secs(60));
        let figures = scheduler.waiting_figures(0, now, &mut looks);
        assert_eq!((figures.oldest, looks.is_left()), (Moment::ZERO, false));
    }

    #[test]
    fn of_many_small_runs_some_are_looked_at() {
        let mut scheduler = paused();
        let graph = Arc::new(Graph::numbered(1, []).unwrap());
        let spec = Arc::new(RunSpec::new(graph, RunOptions::default(), Profile::default()));
        for number in 0..MANY {
            let id = RunId(number.into());
            let command = Command::SubmitRun { id, spec: Arc::clone(&spec) };
            ask(&mut scheduler, Now::default(), command).unwrap();
        }
        let single = submit(&mut scheduler, MANY, None);
        let mut visits = 0;
        let class = scheduler.classes.iter().find(|class| class.queue == 0).unwrap();
        class.lanes.visit(|_, _| {
            visits += 1;
            Visit::Next
        });
        assert_eq!(visits, MANY + 1, "each stands by itself");
        let (ahead, looked) = ahead(&scheduler, single);
        // One look at a run, one at its task; and one at the task that is asked about.
        assert_eq!((ahead.count, ahead.is_least), (u64::from(LOOKS_MAX / 2 - 1), true));
        assert_eq!(looked, LOOKS_MAX);
        let mut looks = Looks::new();
        scheduler.waiting_figures(0, Moment::from_millis(5_000), &mut looks);
        assert!(!looks.is_left());
    }

    #[test]
    fn answers_to_one_question_share_what_may_be_looked_at() {
        let mut scheduler = paused();
        let keys: Vec<_> = (0..MANY).map(|number| submit(&mut scheduler, number, None)).collect();
        let late = keys[LOOKS_MAX as usize..].iter().copied();
        let explained = scheduler.explain_all(late.take(100), Now::default());
        let counted = |it: &(TaskKey, Explanation)| it.1.place.as_ref().map(|place| place.ahead);
        let all: u64 = explained.iter().filter_map(counted).sum();
        assert_eq!((explained.len(), all), (100, u64::from(LOOKS_TOGETHER)));
    }

    /// A task that has the only unit of a limit, and many that wait for it.
    fn crowd_for_a_limit() -> (Scheduler, Vec<TaskKey>) {
        let mut scheduler = Scheduler::new(Config::default());
        let (name, spec) = (Arc::from("database"), LimitSpec::Units(1));
        ask(&mut scheduler, Now::default(), Command::DefineLimit { name, spec });
        let limits = vec![(Arc::from("database"), 1)];
        let profile = scheduler.profile(&Profile { limits, ..Profile::default() }).unwrap();
        let keys = (0..LOOKS_MAX * 2).map(|number| {
            let id = RunId(number.into());
            let submission = Submission { id, profile, ..Submission::default() };
            let run = ask(&mut scheduler, Now::default(), Command::Submit(submission)).unwrap();
            TaskKey { run, index: 0 }
        });
        let keys = keys.collect();
        (scheduler, keys)
    }

    #[test]
    fn who_holds_a_limit_is_looked_up_once_for_a_question() {
        let (scheduler, keys) = crowd_for_a_limit();
        let holder = scheduler.task_name(keys[0]).unwrap();
        let is_told = |told: &Explanation| {
            let held_by = |hold: &Hold| matches!(hold, Hold::LimitTaken { holders, .. } if *holders == [Arc::clone(&holder)]);
            told.holds.iter().any(held_by)
        };
        let line = scheduler.line(Now::default(), usize::MAX);
        assert!(line.tasks.len() > 5_000 && line.tasks.iter().all(|it| is_told(&it.explanation)));
        assert!(LOOKS.get() <= u64::from(LOOKS_MAX), "{} looks for a line", LOOKS.get());
        LOOKS.set(0);
        let explained = scheduler.explain_all(keys[1..1_000].iter().copied(), Now::default());
        assert!(explained.iter().all(|(_, it)| is_told(it)));
        assert!(LOOKS.get() <= u64::from(LOOKS_MAX), "{} looks for an answer", LOOKS.get());
    }

    #[test]
    fn what_runs_is_found_without_looking_at_all_that_waits() {
        let (scheduler, keys) = crowd_for_a_limit();
        let found: Vec<_> = scheduler.under_way(10).collect();
        assert_eq!((found, LOOKS.get()), (vec![(keys[0], 1)], 1), "the only one is found at once");
    }

    #[test]
    fn parties_take_turns_in_what_is_ahead_as_well() {
        let mut scheduler = paused();
        let crowd: Vec<_> =
            (0..100).map(|number| submit(&mut scheduler, number, Some("crowd"))).collect();
        let few: Vec<_> =
            (100..103).map(|number| submit(&mut scheduler, number, Some("few"))).collect();
        let count = |key: TaskKey| ahead(&scheduler, key).0.count;
        assert_eq!([count(few[0]), count(few[1]), count(few[2])], [1, 3, 5]);
        assert_eq!([count(crowd[0]), count(crowd[1]), count(crowd[50])], [0, 2, 53]);
    }
}
