//! The virtual world: feeds the scheduler, lets attempts last as long as declared, moves the clock.
//!
//! It decides nothing; it is the smallest driver there can be, in one thread and without a store.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::sync::Arc;
use std::time::Duration;

use anyhow::anyhow;
use tidewheel_core::Scheduler;
use tidewheel_core::decision::{Action, Decision, Start};
use tidewheel_core::graph::Graph;
use tidewheel_core::id::{RunId, TaskKey};
use tidewheel_core::input::{Command, Event, Input, Outcome, Rejection};
use tidewheel_core::policy::Priority;
use tidewheel_core::row::RunResult;
use tidewheel_core::spec::{Config, LimitSpec, Profile, RunOptions, RunOrder, RunSpec};
use tidewheel_core::time::{Moment, Now, Timestamp};

use super::plan::{Plan, PlannedTask};
use super::problem::{Order, Problem};
use crate::error::CommandError;

impl Problem {
    /// Plays the problem through the scheduler on so many slots; `None`: as many as can be used.
    ///
    /// # Errors
    ///
    /// When the problem does not make sense.
    pub fn run(&self, slots: Option<u32>, order: Order) -> Result<Plan, CommandError> {
        let graph = self.graph()?;
        self.run_graph(graph, slots, order)
    }

    /// As [`Problem::run`], with the graph that [`Problem::graph`] gave.
    ///
    /// # Errors
    ///
    /// When the scheduler refuses the problem.
    pub fn run_graph(
        &self,
        graph: Arc<Graph>,
        slots: Option<u32>,
        order: Order,
    ) -> Result<Plan, CommandError> {
        let spec = self.spec(Arc::clone(&graph), order)?;
        let mut world = World::new(self, slots);
        for (name, units) in &self.capacity {
            let name = Arc::from(name.as_str());
            let spec = LimitSpec::Units(*units);
            world.command(Command::DefineLimit { name, spec })?;
        }
        world.command(Command::SubmitRun { id: RunId(1), spec: Arc::new(spec) })?;
        world.play()?;
        let mut tasks = world.planned;
        for index in 0..graph.len() {
            let end = tasks[index as usize].end;
            for &next in graph.successors(index) {
                let ready = &mut tasks[next as usize].ready;
                *ready = end.max(*ready);
            }
        }
        let makespan = tasks.iter().map(|task| task.end).max().unwrap_or_default();
        Ok(Plan { makespan, slots, order, tasks })
    }

    fn spec(&self, graph: Arc<Graph>, order: Order) -> Result<RunSpec, CommandError> {
        let options = RunOptions { order: self.run_order(order), ..RunOptions::default() };
        let mut spec = RunSpec::new(graph, options, Profile::default());
        spec.profiles.clear();
        let mut numbers = BTreeMap::new();
        for (task, index) in self.tasks.iter().zip(0..) {
            let priority = match order {
                Order::Priority => task.priority,
                _ => Priority::NORMAL,
            };
            let number = *numbers.entry((priority, &task.resources)).or_insert_with(|| {
                let limits =
                    task.resources.iter().map(|(name, units)| (Arc::from(&**name), *units));
                let limits = limits.collect();
                spec.profiles.push(Arc::new(Profile { priority, limits, ..Profile::default() }));
                spec.profiles.len() - 1
            });
            spec.profile_of.push(u16::try_from(number).map_err(|_| too_many_kinds())?);
            if let Some(deadline) = task.deadline {
                spec.deadlines.insert(index, deadline);
            }
        }
        if spec.profiles.is_empty() {
            spec.profiles.push(Arc::default());
        }
        Ok(spec)
    }

    /// With resources, not the longest path but the latest finish leads to the shorter schedules:
    /// a long task that nothing waits for may give way to a short one that much waits for.
    fn run_order(&self, order: Order) -> RunOrder {
        match order {
            Order::CriticalPath if self.has_resources() => RunOrder::LatestFinish,
            Order::CriticalPath => RunOrder::CriticalPath,
            Order::Edf => RunOrder::Deadline,
            Order::Fifo | Order::Priority => RunOrder::Fifo,
        }
    }
}

fn too_many_kinds() -> CommandError {
    CommandError::input(anyhow!(
        "there are more than 65,536 combinations of priority and resources"
    ))
    .hint("round what the tasks need")
}

/// An attempt under way: when it ends, then in the order of starting.
type Running = Reverse<(Moment, u64, TaskKey, u32)>;

struct World<'a> {
    problem: &'a Problem,
    scheduler: Scheduler,
    decision: Decision,
    now: Moment,
    running: BinaryHeap<Running>,
    started: u64,
    free_slots: BTreeSet<u32>,
    planned: Vec<PlannedTask>,
    result: Option<RunResult>,
}

impl<'a> World<'a> {
    fn new(problem: &'a Problem, slots: Option<u32>) -> Self {
        // Ageing would be felt only between runs, and there is one; reservations for wide tasks,
        // which are made on account of age, would spoil the order within it.
        let config = Config { slots, starvation_timeout: None, ..Config::default() };
        Self {
            problem,
            scheduler: Scheduler::new(config),
            decision: Decision::volatile(),
            now: Moment::ZERO,
            running: BinaryHeap::new(),
            started: 0,
            free_slots: BTreeSet::new(),
            planned: vec![PlannedTask::default(); problem.tasks.len()],
            result: None,
        }
    }

    /// Lets attempts end, in order, until the run has.
    fn play(&mut self) -> Result<(), CommandError> {
        while self.result.is_none() {
            let Some(Reverse((now, ..))) = self.running.peek() else {
                return Err(stuck("nothing runs, and the run has not ended"));
            };
            self.now = *now;
            // What ends at the same instant ends before anything new is chosen.
            self.command(Command::Pause)?;
            while let Some(&Reverse((end, _, task, attempt))) = self.running.peek()
                && end == self.now
            {
                self.running.pop();
                self.free_slots.insert(self.planned[task.index as usize].slot);
                let outcome = Outcome::Succeeded;
                self.step(Input::Event(Event::AttemptEnded { task, attempt, outcome }));
            }
            self.command(Command::Resume)?;
        }
        if self.result != Some(RunResult::Succeeded) {
            return Err(stuck("every task succeeded, but the run did not"));
        }
        Ok(())
    }

    fn command(&mut self, command: Command) -> Result<(), CommandError> {
        match self.step(Input::Command(command)) {
            Some(rejection) => Err(CommandError::input(rejection)),
            None => Ok(()),
        }
    }

    /// One turn: step, commit (to nothing), act. Gives the refusal if there was one.
    fn step(&mut self, input: Input) -> Option<Rejection> {
        let elapsed = Duration::from_nanos(self.now.as_nanos());
        let now = Now { monotonic: self.now, wall: Timestamp::UNIX_EPOCH.after(elapsed) };
        self.decision.clear();
        self.scheduler.step(now, input, &mut self.decision);
        let outputs = self.decision.open().expect("nothing is to be stored");
        let refusal = outputs.replies.pop().and_then(Result::err);
        for action in std::mem::take(&mut outputs.actions) {
            match action {
                Action::StartAttempt(start) => self.start(start),
                Action::RunEnded { result, .. } => self.result = Some(result),
                _ => {}
            }
        }
        refusal
    }

    fn start(&mut self, start: Start) {
        let index = start.task.index as usize;
        let end = self.now.after(self.problem.tasks[index].duration);
        self.started += 1;
        self.running.push(Reverse((end, self.started, start.task, start.attempt)));
        // Slots are numbered by those in use: a new one only when all others are taken.
        let next = self.running.len() as u32;
        let slot = self.free_slots.pop_first().unwrap_or(next);
        let elapsed = |moment: Moment| moment.since(Moment::ZERO);
        self.planned[index] = PlannedTask {
            ready: Duration::ZERO,
            start: elapsed(self.now),
            end: elapsed(end),
            slot,
        };
    }
}

fn stuck(what: &str) -> CommandError {
    CommandError::internal(anyhow!("{what}")).hint("this is a bug: please report it with the input")
}
