//! [`Progress`]: notices and what tasks say of themselves, translated.
//!
//! It has no clock and waits for nothing: what time it is comes in as an argument.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value as Json;
use tidewheel::id::TaskId;
use tidewheel::observe::{Fact, Notice};
use tidewheel::run::RunResult;
use tidewheel::store::{AttemptRecord, RecordedOutcome};
use tidewheel::task::Reason;
use tidewheel::{Graph, RunReport, TaskState, Timestamp};
use tidewheel_flow::is_further_try;

use super::event::{EndState, Event, StepInfo};
use super::sayings::Said;
use super::source::RunSource;
use crate::desk::{
    done_before, ended_by_itself, group_words, reason_words, skip_words, timeout_words,
};
use crate::kind::Definition;
use crate::session::Started;
use crate::text::{quoted, short_id};

/// Who is told what happens.
pub trait Teller {
    /// Something happened, so long after the start of the run.
    fn tell(&mut self, at: Duration, event: Event);

    /// An attempt at a step, which has this name, was admitted: from now on it may write.
    fn admitted(&mut self, _step: usize, _name: &str, _task: TaskId, _attempt: u32) {}
}

/// What was told, for whoever looks at it later.
impl Teller for Vec<(Duration, Event)> {
    fn tell(&mut self, at: Duration, event: Event) {
        self.push((at, event));
    }
}

/// How a run goes on.
#[derive(Debug)]
pub struct Progress {
    definition: Arc<dyn Definition>,
    since: Timestamp,
    /// The view's number of each task.
    places: HashMap<u32, usize>,
    /// Tasks whose end was told.
    ended: HashSet<u32>,
    /// The newest attempts that were admitted, and those that said that they have something to do, and since
    /// when: only what did both has started.
    admitted: HashMap<u32, u32>,
    begun: HashMap<u32, (u32, Duration)>,
    /// Tasks that wait, whose looks are one attempt for people, and what was told of that.
    waiting: HashMap<u32, String>,
    /// What the newest attempts left that ended.
    records: HashMap<u32, AttemptRecord>,
    /// What was said and is not told yet, because something else comes first.
    unheard: Vec<(TaskId, Said)>,
    /// Commands of attempts that are not told to have started.
    commands: HashMap<u32, Vec<String>>,
    /// What tasks need that were there from the beginning.
    needs: HashMap<u32, Vec<u32>>,
    /// Values of elements, where they were looked for.
    elements: HashMap<String, Option<Json>>,
    /// For which others the run waits.
    others: Option<String>,
    /// What keeps the store from going on, as it was told.
    trouble: Option<Arc<str>>,
}

impl Progress {
    /// Begins with a run that was started or taken over; tells what it consists of, and what of it had ended
    /// before.
    pub fn begin(
        started: &Started,
        source: &dyn RunSource,
        now: Duration,
        teller: &mut dyn Teller,
    ) -> Self {
        let mut progress = Self::new(Arc::clone(&started.definition), started.since);
        let steps = progress.steps(source, started.run.graph(), &started.expected);
        progress.open(source, &started.name, steps, &started.ended, now, teller);
        progress
    }

    pub(super) fn new(definition: Arc<dyn Definition>, since: Timestamp) -> Self {
        Self {
            definition,
            since,
            places: HashMap::new(),
            ended: HashSet::new(),
            admitted: HashMap::new(),
            begun: HashMap::new(),
            waiting: HashMap::new(),
            records: HashMap::new(),
            unheard: Vec::new(),
            commands: HashMap::new(),
            needs: HashMap::new(),
            elements: HashMap::new(),
            others: None,
            trouble: None,
        }
    }

    fn steps(
        &self,
        source: &dyn RunSource,
        graph: &Graph,
        expected: &BTreeMap<String, Duration>,
    ) -> Vec<StepInfo> {
        let names: Vec<String> = (0..graph.len()).map(|it| graph.name(it).into_owned()).collect();
        let mut elements = source.elements(&names);
        let step = |(index, after): (u32, Vec<u32>)| {
            let name = graph.name(index).into_owned();
            // How long something lets others wait is not known from before.
            let expected = expected.get(&name).filter(|_| !self.definition.is_wait(&name));
            StepInfo {
                expected: expected.copied(),
                after: after.into_iter().map(|it| it as usize).collect(),
                attempts_max: self.definition.attempts_max(&name),
                element: elements.remove(&name),
                name,
            }
        };
        (0..).zip(graph.all_dependencies()).map(step).collect()
    }

    pub(super) fn open(
        &mut self,
        source: &dyn RunSource,
        name: &str,
        steps: Vec<StepInfo>,
        ended: &BTreeSet<u32>,
        now: Duration,
        teller: &mut dyn Teller,
    ) {
        let needed = |info: &StepInfo| info.after.iter().map(|&it| it as u32).collect();
        self.needs.extend((0..).zip(steps.iter().map(needed)));
        let (run_id, flow) = (source.id().to_string(), name.to_owned());
        let next = steps.len() as u32;
        let steps = self.placed(steps);
        teller.tell(Duration::ZERO, Event::RunStarted { run_id, flow, steps });
        // A run that was taken over may have come some way already. What has happened since is told
        // by notices.
        for index in next.. {
            if source.name(index).is_none() {
                break;
            }
            self.add(source, index, now, teller);
        }
        for index in ended {
            if let Some(state) = source.state(*index).filter(|state| state.is_terminal()) {
                let before = Some("before".to_owned());
                self.end(source, *index, (state, before), (None, now), teller);
            }
        }
    }

    /// Gives the first steps their places. Those of tries that may not be needed have none until they begin.
    fn placed(&mut self, steps: Vec<StepInfo>) -> Vec<StepInfo> {
        for (index, step) in (0_u32..).zip(&steps) {
            if !is_further_try(&step.name) {
                self.places.insert(index, self.places.len());
            }
        }
        if self.places.len() == steps.len() {
            return steps;
        }
        let place = |index: &usize| self.places.get(&(*index as u32)).copied();
        let shown = steps.into_iter().filter(|step| !is_further_try(&step.name));
        let placed = shown.map(|step| {
            let after = step.after.iter().filter_map(place).collect();
            StepInfo { after, ..step }
        });
        placed.collect()
    }

    /// Takes in a notice. How the run ended, if it has.
    pub fn notice(
        &mut self,
        source: &dyn RunSource,
        notice: &Notice,
        teller: &mut dyn Teller,
    ) -> Option<(RunResult, Duration)> {
        let id = source.id();
        let at = self.moment(notice.at);
        match &notice.fact {
            Fact::RunWaits { run, group, holders } if *run == id => {
                let why = group_words(group, holders);
                self.others = Some(why.clone());
                teller.tell(at, Event::RunWaiting { why });
            }
            Fact::RunGoesOn(run) if *run == id => {
                self.others = None;
                teller.tell(at, Event::RunGoesOn);
            }
            Fact::RunPaused(run) if *run == id => teller.tell(at, Event::Paused),
            Fact::RunResumed(run) if *run == id => teller.tell(at, Event::Resumed),
            Fact::TaskAdded(task) if task.run == id => self.add(source, task.index, at, teller),
            Fact::AttemptStarted(task, attempt) if task.run == id => {
                self.admit(source, task.index, *attempt, teller);
            }
            Fact::AttemptFailedWillRetry { task, attempt, delay, error } if task.run == id => {
                self.hear(source, at, teller);
                self.tell_commands(task.index, at, teller);
                let attempt = self.counted(source, task.index, *attempt);
                let (next, error) = (at + *delay, error.as_deref().unwrap_or("failed").to_owned());
                self.tell(task.index, at, teller, |step| Event::StepRetrying {
                    step,
                    attempt,
                    at: next,
                    error,
                });
            }
            Fact::AttemptPostponed { task, .. } if task.run == id => {
                self.hear(source, at, teller);
                self.wait(source, task.index, at, teller);
            }
            Fact::TaskEnded(task, state, reason) if task.run == id => {
                let words = self.reason(source, task.index, *state, *reason);
                self.end(source, task.index, (*state, words), (Some(at), at), teller);
            }
            Fact::RunEnded(run, result) if *run == id => return Some((*result, at)),
            _ => {}
        }
        None
    }

    /// Notices were lost, because they came faster than they were taken in: tells how tasks ended
    /// meanwhile. How those end that the run no longer knows is told at its end.
    pub fn catch_up(&mut self, source: &dyn RunSource, now: Duration, teller: &mut dyn Teller) {
        self.hear(source, now, teller);
        for index in 0.. {
            let Some(state) = source.state(index) else { break };
            self.add(source, index, now, teller);
            if state.is_terminal() && !self.ended.contains(&index) {
                let reason = source.reason(index).unwrap_or_default();
                let words = self.reason(source, index, state, reason);
                self.end(source, index, (state, words), (None, now), teller);
            }
        }
    }

    /// Tells that nothing goes on because nothing can be stored, and when it does again.
    pub fn look(&mut self, source: &dyn RunSource, now: Duration, teller: &mut dyn Teller) {
        let trouble = source.trouble();
        if trouble == self.trouble {
            return;
        }
        let event = match (&trouble, &self.others) {
            (Some(why), _) => {
                Event::RunWaiting { why: format!("waiting for the data folder: {why}") }
            }
            (None, Some(why)) => Event::RunWaiting { why: why.clone() },
            (None, None) => Event::RunGoesOn,
        };
        self.trouble = trouble;
        teller.tell(now, event);
    }

    /// Takes in what tasks said of themselves.
    pub fn hear(&mut self, source: &dyn RunSource, now: Duration, teller: &mut dyn Teller) {
        self.listen(source);
        let said = std::mem::take(&mut self.unheard);
        self.tell_said(source, said, now, teller);
    }

    /// The same of one task: what others say, who may have started because of its end, comes after that.
    fn hear_of(
        &mut self,
        source: &dyn RunSource,
        index: u32,
        now: Duration,
        teller: &mut dyn Teller,
    ) {
        self.listen(source);
        let said = std::mem::take(&mut self.unheard);
        let (own, others) = said.into_iter().partition(|(task, _)| task.index == index);
        self.unheard = others;
        self.tell_said(source, own, now, teller);
    }

    fn listen(&mut self, source: &dyn RunSource) {
        let own = source.hear().into_iter().filter(|(task, _)| task.run == source.id());
        self.unheard.extend(own);
    }

    fn tell_said(
        &mut self,
        source: &dyn RunSource,
        said: Vec<(TaskId, Said)>,
        now: Duration,
        teller: &mut dyn Teller,
    ) {
        for (task, said) in said {
            match said {
                // Its notice comes as well, or what it needs has ended and is told first.
                Said::Admitted(_) if !self.may_begin(task.index) => {
                    self.unheard.push((task, said));
                }
                Said::Admitted(attempt) => self.admit(source, task.index, attempt, teller),
                Said::Began(attempt, at) => {
                    self.begun.insert(task.index, (attempt, self.moment(at)));
                    self.start(source, task.index, teller);
                }
                Said::Left(record) => {
                    self.records.insert(task.index, *record);
                }
                Said::Command(command) => {
                    self.commands.entry(task.index).or_default().push(command);
                    if self.has_started(task.index) {
                        self.tell_commands(task.index, now, teller);
                    }
                }
            }
        }
    }

    /// Whether everything that a task needs is told to have ended.
    fn may_begin(&self, index: u32) -> bool {
        self.needs.get(&index).is_none_or(|needs| needs.iter().all(|it| self.ended.contains(it)))
    }

    /// Whether the newest attempt was admitted and has something to do.
    fn has_started(&self, index: u32) -> bool {
        let begun = self.begun.get(&index).map(|(attempt, _)| attempt);
        begun.is_some() && self.admitted.get(&index) == begun
    }

    fn tell_commands(&mut self, index: u32, at: Duration, teller: &mut dyn Teller) {
        for command in self.commands.remove(&index).unwrap_or_default() {
            let line = format!("$ {command}");
            self.tell(index, at, teller, |step| Event::StepOutput { step, line });
        }
    }

    /// Tells what no notice has told, and the end, if it is known from a notice or from the report.
    pub fn finish(
        &mut self,
        source: &dyn RunSource,
        result: Option<(RunResult, Duration)>,
        report: Option<&RunReport>,
        now: Duration,
        teller: &mut dyn Teller,
    ) {
        for task in report.iter().flat_map(|report| report.tasks()) {
            let index = task.index();
            if !self.ended.contains(&index) {
                self.add(source, index, now, teller);
                let words = self.reason(source, index, task.state(), task.reason());
                self.end(source, index, (task.state(), words), (None, now), teller);
            }
        }
        let Some((result, at)) = result.or(report.map(|report| (report.result(), now))) else {
            return;
        };
        let state = match result {
            RunResult::Succeeded => EndState::Succeeded,
            RunResult::Failed => EndState::Failed,
            RunResult::Cancelled => EndState::Cancelled,
        };
        teller.tell(at, Event::RunEnded { state });
    }

    /// Takes in that an attempt was admitted, unless that is known.
    fn admit(&mut self, source: &dyn RunSource, index: u32, attempt: u32, teller: &mut dyn Teller) {
        let is_known = self.admitted.get(&index).is_some_and(|known| *known >= attempt);
        // One that was caught up with has ended already.
        if is_known || self.ended.contains(&index) {
            return;
        }
        self.place(source, index, Duration::ZERO, teller);
        if let Some(step) = self.places.get(&index) {
            let task = TaskId { run: source.id(), index };
            teller.admitted(*step, &name(source, index), task, attempt);
        }
        self.admitted.insert(index, attempt);
        self.start(source, index, teller);
    }

    /// Tells that a task has started, if the newest attempt has something to do and is not only
    /// another look of a task that waits.
    fn start(&mut self, source: &dyn RunSource, index: u32, teller: &mut dyn Teller) {
        let Some(&(attempt, at)) = self.begun.get(&index) else { return };
        if !self.has_started(index) {
            return;
        }
        if !self.waiting.contains_key(&index) {
            let attempt = self.counted(source, index, attempt);
            let at = at.saturating_sub(self.definition.waited_before(&name(source, index)));
            self.tell(index, at, teller, |step| Event::StepStarted { step, attempt });
        }
        self.tell_commands(index, at, teller);
    }

    /// Tells what a task waits for, and how it is answered if it waits for somebody. Later looks that find the same are
    /// no news.
    fn wait(&mut self, source: &dyn RunSource, index: u32, at: Duration, teller: &mut dyn Teller) {
        let name = name(source, index);
        let why = self.definition.waits_for(&name).unwrap_or_else(|| "waits".to_owned());
        if self.waiting.insert(index, why.clone()).is_some_and(|told| told == why) {
            return;
        }
        let code = if self.definition.wants_code(&name) { " --code" } else { "" };
        let answer = self.definition.asks(&name).then(|| {
            format!("tidewheel approve {} {}{code}", short_id(source.id()), quoted(&name))
        });
        self.tell(index, at, teller, |step| Event::StepWaiting { step, why, answer });
    }

    /// The number of an attempt as people count: the looks of a task that waits are one.
    fn counted(&self, source: &dyn RunSource, index: u32, attempt: u32) -> u32 {
        if self.definition.is_wait(&name(source, index)) { 1 } else { attempt }
    }

    /// Tells that there is a task, unless it is of a try that may not be needed.
    fn add(&mut self, source: &dyn RunSource, index: u32, at: Duration, teller: &mut dyn Teller) {
        let is_further = || source.name(index).is_some_and(|name| is_further_try(&name));
        if !self.places.contains_key(&index) && !is_further() {
            self.place(source, index, at, teller);
        }
    }

    /// Tells that there is a task, if that was not told.
    fn place(&mut self, source: &dyn RunSource, index: u32, at: Duration, teller: &mut dyn Teller) {
        if self.places.contains_key(&index) {
            return;
        }
        let Some(name) = source.name(index) else { return };
        let place = self.places.len();
        self.places.insert(index, place);
        let element = self.element(source, index, &name);
        teller.tell(at, Event::StepAdded(StepInfo { name, element, ..StepInfo::default() }));
    }

    /// The value that a task is for. Those that are added together are looked for together.
    fn element(&mut self, source: &dyn RunSource, index: u32, name: &str) -> Option<Json> {
        if !self.elements.contains_key(name) {
            let names: Vec<String> = (index..).map_while(|index| source.name(index)).collect();
            let mut known = source.elements(&names);
            let values = names.into_iter().map(|name| {
                let value = known.remove(&name);
                (name, value)
            });
            self.elements = values.collect();
        }
        self.elements.remove(name).flatten()
    }

    /// Tells the end of a task, and when it was, if that is known.
    fn end(
        &mut self,
        source: &dyn RunSource,
        index: u32,
        (state, reason): (TaskState, Option<String>),
        (at, now): (Option<Duration>, Duration),
        teller: &mut dyn Teller,
    ) {
        if !self.ended.insert(index) {
            return;
        }
        self.hear_of(source, index, now, teller);
        if state != TaskState::Skipped {
            self.place(source, index, now, teller);
        }
        self.tell_commands(index, now, teller);
        self.admitted.remove(&index);
        let begun = self.begun.remove(&index).map_or(Duration::ZERO, |(_, at)| at);
        let record = self.records.remove(&index).unwrap_or_default();
        // The record may be that of an attempt before, and a clock may have been set back.
        let happened = ended_by_itself(state, &record).map(|at| self.moment(at));
        let happened = happened.filter(|at| *at >= begun);
        let is_tolerated = self.definition.tolerates(&name(source, index));
        // What a step wrote matters here only where it went wrong.
        let tail = record.tail.filter(|_| state != TaskState::Succeeded).unwrap_or_default();
        let mut tail: Vec<String> = tail.lines().map(str::to_owned).collect();
        let reason = match record.outcome {
            Some(cached @ RecordedOutcome::Cached) => Some(cached.word().to_owned()),
            Some(RecordedOutcome::Skipped) => record.code.map(skip_words).or(reason),
            _ => reason,
        };
        let state = EndState::of(state);
        let error = record.error.filter(|_| state != EndState::Succeeded);
        // One line is not said twice.
        let is_said =
            |line: &String| error.as_ref().is_some_and(|error| error.contains(line.trim()));
        if let [line] = tail.as_slice()
            && is_said(line)
        {
            tail.clear();
        }
        let is_late = at.is_none();
        let at = at.map(|decided| happened.map_or(decided, |at| at.min(decided)));
        self.tell(index, at.unwrap_or(now), teller, |step| Event::StepEnded {
            step,
            state,
            reason,
            error,
            tail,
            is_tolerated,
            is_late,
        });
        self.hear(source, now, teller);
    }

    fn tell(
        &self,
        index: u32,
        at: Duration,
        teller: &mut dyn Teller,
        event: impl FnOnce(usize) -> Event,
    ) {
        if let Some(step) = self.places.get(&index) {
            teller.tell(at, event(*step));
        }
    }

    fn reason(
        &self,
        source: &dyn RunSource,
        index: u32,
        state: TaskState,
        reason: Reason,
    ) -> Option<String> {
        match reason {
            // The error says it.
            Reason::Error => None,
            Reason::Requested if state == TaskState::Cancelled => None,
            Reason::AlreadyDone => Some(done_before(&*self.definition, &name(source, index))),
            Reason::AttemptTimeout | Reason::TaskTimeout => {
                timeout_words(reason, &*self.definition, &name(source, index))
            }
            other => reason_words(other, |cause| name(source, cause)),
        }
    }

    /// An instant, as the time since the beginning.
    fn moment(&self, at: Timestamp) -> Duration {
        at.since(self.since)
    }
}

fn name(source: &dyn RunSource, index: u32) -> String {
    source.name(index).unwrap_or_default()
}
