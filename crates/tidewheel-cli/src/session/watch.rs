//! [`Watch`]: shows a run while it runs, and passes on what people want of it: keys, signals.
//!
//! What a wish does to the run is decided by the scheduler.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use anyhow::anyhow;
use tidewheel::flow::FlowRunner;
use tidewheel::{Cancel, Fact, Notice, NoticeStream, Run, RunReport, RunResult, TaskId, TaskState};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;

use super::logs::{LogTail, STREAMS, log_path};
use super::progress::Said;
use super::wheel::Session;
use crate::error::CommandError;
use crate::live::{Display, EndState, Event, Key, Level, Options, StepInfo};

/// How often the output of running steps is looked at.
const LOOK: Duration = Duration::from_millis(200);
/// Time for steps to end by themselves when the run is killed by a second wish.
const GRACE: Duration = Duration::from_secs(5);
/// How long the last notices may come after the report.
const LATE: Duration = Duration::from_secs(2);

/// How a run that was watched ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// By itself.
    Own,
    /// Because of a signal, which is also the exit code's business.
    Signal(u8),
}

impl Ending {
    /// The exit code of a run that ended so.
    pub fn exit_code(self, own: u8) -> u8 {
        match self {
            Self::Own => own,
            Self::Signal(number) => 128 + number,
        }
    }
}

/// A run that is being watched.
pub(crate) struct Watch<'a> {
    session: &'a Session,
    run: Run,
    runner: Option<Arc<FlowRunner>>,
    notices: NoticeStream,
    display: Display,
    keys: mpsc::UnboundedReceiver<Key>,
    started: Instant,
    /// The view's number of each task.
    places: HashMap<u32, usize>,
    /// Tasks whose end was told.
    ended: HashSet<u32>,
    /// The newest attempts that were admitted, and those that said that they have something to do:
    /// only what did both has started.
    admitted: HashMap<u32, u32>,
    begun: HashMap<u32, u32>,
    /// Tasks that wait, whose looks are one attempt for people.
    waiting: HashSet<u32>,
    tails: HashMap<TaskId, Vec<LogTail>>,
    /// Wishes to end the run so far.
    urgency: u8,
    ending: Ending,
}

/// What the watch begins with.
pub(crate) struct Beginning {
    pub level: Level,
    pub workers: u32,
    pub flow: String,
    /// How long steps took before, by name.
    pub expected: std::collections::BTreeMap<String, Duration>,
    /// Attempts at most, by name, where there may be more than one.
    pub attempts_max: HashMap<String, u32>,
    /// Tasks of a run that was taken over that had ended before.
    pub ended: BTreeSet<u32>,
}

impl<'a> Watch<'a> {
    /// Begins to watch. `notices` were asked for before the run was started.
    pub fn new(
        session: &'a Session,
        run: Run,
        notices: NoticeStream,
        beginning: Beginning,
    ) -> Self {
        let started = Instant::now();
        let (sender, keys) = mpsc::unbounded_channel();
        let workers = beginning.workers as usize;
        let display = Display::start(
            Options { started, workers, level: beginning.level },
            // Nobody listens when the run is over.
            move |key| {
                let _ = sender.send(key);
            },
        );
        let mut watch = Self {
            session,
            runner: session.host.runner(run.id()),
            run,
            notices,
            display,
            keys,
            started,
            places: HashMap::new(),
            ended: HashSet::new(),
            admitted: HashMap::new(),
            begun: HashMap::new(),
            waiting: HashSet::new(),
            tails: HashMap::new(),
            urgency: 0,
            ending: Ending::Own,
        };
        watch.begin(beginning);
        watch
    }

    fn begin(&mut self, beginning: Beginning) {
        let graph = Arc::clone(self.run.graph());
        let steps: Vec<StepInfo> = (0..)
            .zip(graph.all_dependencies())
            .map(|(index, after)| {
                let name = graph.name(index).into_owned();
                StepInfo {
                    expected: beginning.expected.get(&name).copied(),
                    after: after.into_iter().map(|it| it as usize).collect(),
                    attempts_max: beginning.attempts_max.get(&name).copied(),
                    name,
                }
            })
            .collect();
        self.places.extend((0..graph.len()).map(|index| (index, index as usize)));
        let (run_id, flow) = (self.run.id().to_string(), beginning.flow);
        self.display.tell(Event::RunStarted { run_id, flow, steps });
        // A run that was taken over may have come some way already. What has happened since is told
        // by notices.
        for index in graph.len().. {
            if self.run.task_name(index).is_none() {
                break;
            }
            self.add(index);
        }
        for index in beginning.ended {
            let state = self.run.task_state(index);
            if let Some(state) = state.filter(|state| state.is_terminal()) {
                self.end(index, state, Some("before".to_owned()));
            }
        }
    }

    /// Watches until the run has ended.
    pub async fn until_end(mut self) -> Result<Ending, CommandError> {
        let mut signals = Signals::new()?;
        let mut look = tokio::time::interval(LOOK);
        let run = self.run.clone();
        let sayings = Arc::clone(&self.session.sayings);
        let report = run.report();
        tokio::pin!(report);
        let mut reported = None;
        let mut deadline = None;
        let result = loop {
            tokio::select! {
                notice = self.notices.recv() => match notice {
                    Some(Ok(notice)) => if let Some(result) = self.notice(&notice) {
                        break Some(result);
                    },
                    Some(Err(_)) => self.catch_up(),
                    None => break None,
                },
                () = sayings.ring() => self.hear(),
                wish = signals.next() => self.follow(wish),
                Some(key) = self.keys.recv() => self.press(key),
                _ = look.tick() => {
                    // The last notice comes with the report, or soon after.
                    if deadline.is_some_and(|deadline| Instant::now() > deadline) {
                        break None;
                    }
                    self.show_output();
                },
                report = &mut report, if reported.is_none() => {
                    reported = Some(report);
                    deadline = Some(Instant::now() + LATE);
                }
            }
        };
        if reported.is_none() {
            reported = tokio::time::timeout(LATE, report).await.ok();
        }
        let report = reported.and_then(Result::ok);
        self.finish(result, report.as_ref());
        Ok(self.ending)
    }

    /// Tells what no notice has told, and the end.
    fn finish(&mut self, result: Option<RunResult>, report: Option<&RunReport>) {
        self.show_output();
        for task in report.iter().flat_map(|report| report.tasks()) {
            let index = task.index();
            if !self.ended.contains(&index) {
                self.add(index);
                let words = self.reason(task.state(), task.reason());
                self.end(index, task.state(), words);
            }
        }
        let state = match result.or(report.map(RunReport::result)) {
            Some(RunResult::Succeeded) => EndState::Succeeded,
            Some(RunResult::Failed) => EndState::Failed,
            Some(RunResult::Cancelled) => EndState::Cancelled,
            None => return,
        };
        self.display.tell(Event::RunEnded { state });
    }

    /// Shows what happened. How the run ended, if it has.
    fn notice(&mut self, notice: &Notice) -> Option<RunResult> {
        let id = self.run.id();
        match &notice.fact {
            Fact::RunPaused(run) if *run == id => self.display.tell(Event::Paused),
            Fact::RunResumed(run) if *run == id => self.display.tell(Event::Resumed),
            Fact::TaskAdded(task) if task.run == id => self.add(task.index),
            // One that was caught up with has ended already.
            Fact::AttemptStarted(task, attempt)
                if task.run == id && !self.ended.contains(&task.index) =>
            {
                self.tails.insert(*task, tails(self.session, *task, *attempt));
                self.admitted.insert(task.index, *attempt);
                self.start(task.index);
            }
            Fact::AttemptFailedWillRetry { task, attempt, delay, error } if task.run == id => {
                let at = self.started.elapsed() + *delay;
                let error = error.as_deref().unwrap_or("failed").to_owned();
                self.hear();
                let attempt = self.counted(task.index, *attempt);
                self.tell(task.index, |step| Event::StepRetrying { step, attempt, at, error });
            }
            Fact::AttemptPostponed { task, .. } if task.run == id => {
                self.hear();
                if self.waiting.insert(task.index) {
                    let why = self.waits_for(task.index);
                    self.tell(task.index, |step| Event::StepWaiting { step, why });
                }
            }
            Fact::TaskEnded(task, state, reason) if task.run == id => {
                let words = self.reason(*state, *reason);
                self.end(task.index, *state, words);
            }
            Fact::RunEnded(run, result) if *run == id => return Some(*result),
            _ => {}
        }
        None
    }

    /// Notices were lost, because they came faster than they were shown: tells how tasks ended
    /// meanwhile. How those end that the run no longer knows is told at its end.
    fn catch_up(&mut self) {
        self.hear();
        for index in 0.. {
            let Some(state) = self.run.task_state(index) else { break };
            self.add(index);
            if state.is_terminal() && !self.ended.contains(&index) {
                let reason = self.run.task_reason(index).unwrap_or_default();
                let words = self.reason(state, reason);
                self.end(index, state, words);
            }
        }
    }

    /// Takes in what tasks said of themselves.
    fn hear(&mut self) {
        for (task, said) in self.session.sayings.hear() {
            if task.run != self.run.id() {
                continue;
            }
            match said {
                Said::Began(attempt) => {
                    self.begun.insert(task.index, attempt);
                    self.start(task.index);
                }
                Said::Command(command) => {
                    let line = format!("$ {command}");
                    self.tell(task.index, |step| Event::StepOutput { step, line });
                }
            }
        }
    }

    /// Tells that a task has started, if the newest attempt has something to do and is not only
    /// another look of a task that waits.
    fn start(&mut self, index: u32) {
        let Some(attempt) = self.admitted.get(&index).copied() else { return };
        if self.begun.get(&index) == Some(&attempt) && !self.waiting.contains(&index) {
            let attempt = self.counted(index, attempt);
            self.tell(index, |step| Event::StepStarted { step, attempt });
        }
    }

    /// The number of an attempt as people count: the looks of a task that waits are one.
    fn counted(&self, index: u32, attempt: u32) -> u32 {
        if self.waiting.contains(&index) { 1 } else { attempt }
    }

    fn name(&self, index: u32) -> String {
        self.run.task_name(index).unwrap_or_default()
    }

    fn add(&mut self, index: u32) {
        if self.places.contains_key(&index) {
            return;
        }
        let Some(name) = self.run.task_name(index) else { return };
        let place = self.places.len();
        self.places.insert(index, place);
        self.display.tell(Event::StepAdded(StepInfo { name, ..StepInfo::default() }));
    }

    fn end(&mut self, index: u32, state: TaskState, reason: Option<String>) {
        if !self.ended.insert(index) {
            return;
        }
        let task = TaskId { run: self.run.id(), index };
        self.show_output();
        self.admitted.remove(&index);
        self.begun.remove(&index);
        for mut tail in self.tails.remove(&task).unwrap_or_default() {
            while let Some(lines) = tail.lines() {
                self.tell_lines(index, lines);
            }
            self.tell_lines(index, tail.rest());
        }
        let record = {
            let records = &self.session.records;
            records.lock().unwrap_or_else(PoisonError::into_inner).remove(&task)
        };
        let record = record.unwrap_or_default();
        let is_tolerated = self.runner.as_ref().is_some_and(|it| it.tolerates(&self.name(index)));
        // What a step wrote matters here only where it went wrong.
        let tail = record.tail.filter(|_| state != TaskState::Succeeded).unwrap_or_default();
        let tail = tail.lines().map(str::to_owned).collect();
        let reason = match record.outcome.as_deref() {
            Some("cached") => Some("cached".to_owned()),
            _ => reason,
        };
        let state = end_state(state);
        let error = record.error.filter(|_| state != EndState::Succeeded);
        self.tell(index, |step| Event::StepEnded {
            step,
            state,
            reason,
            error,
            tail,
            is_tolerated,
        });
    }

    fn tell(&self, index: u32, event: impl FnOnce(usize) -> Event) {
        if let Some(step) = self.places.get(&index) {
            self.display.tell(event(*step));
        }
    }

    fn tell_lines(&self, index: u32, lines: impl IntoIterator<Item = String>) {
        for line in lines {
            self.tell(index, |step| Event::StepOutput { step, line });
        }
    }

    fn reason(&self, state: TaskState, reason: tidewheel::Reason) -> Option<String> {
        use tidewheel::Reason;
        let name = |index: u32| self.name(index);
        match reason {
            Reason::Ordinary | Reason::Error => None,
            Reason::DependencyFailed(cause) => Some(format!("`{}` failed", name(cause))),
            Reason::DependencySkipped(cause) => Some(format!("`{}` was skipped", name(cause))),
            Reason::RunStopped(cause) => Some(format!("`{}` stopped the run", name(cause))),
            Reason::Condition => Some("condition".to_owned()),
            Reason::AlreadyDone => Some("reused".to_owned()),
            Reason::Requested if state == TaskState::Cancelled => None,
            other => Some(other.word().replace('-', " ")),
        }
    }

    fn waits_for(&self, index: u32) -> String {
        let what = self.runner.as_ref().and_then(|runner| runner.waits_for(&self.name(index)));
        what.unwrap_or_else(|| "waits".to_owned())
    }

    /// Shows what tasks said, and new lines of what running steps write.
    fn show_output(&mut self) {
        self.hear();
        for (task, tails) in &mut self.tails {
            let Some(step) = self.places.get(&task.index).copied() else { continue };
            for line in tails.iter_mut().filter_map(LogTail::lines).flatten() {
                self.display.tell(Event::StepOutput { step, line });
            }
        }
    }

    fn press(&mut self, key: Key) {
        match key {
            Key::Pause => self.follow(Wish::Pause),
            Key::Resume => self.follow(Wish::Resume),
            Key::Quit => self.follow(Wish::End(2)),
            _ => {}
        }
    }

    fn follow(&mut self, wish: Wish) {
        match wish {
            // A run that has just ended can be neither.
            Wish::Pause => {
                self.run.pause();
            }
            Wish::Resume => {
                self.run.resume();
            }
            Wish::End(number) => {
                self.urgency = self.urgency.saturating_add(1);
                self.ending = Ending::Signal(number);
                // Clean-up is spared until somebody insists.
                let ends_all = self.urgency > 2 || (self.urgency == 2 && self.run.is_cleaning_up());
                // SIGTERM and SIGHUP come from somebody who will not ask twice.
                if self.urgency == 1 && number == 2 {
                    self.display.tell(Event::Draining);
                    self.run.cancel(Cancel::Drain);
                } else {
                    self.display.tell(Event::Killing);
                    let grace = if self.urgency > 2 { Duration::ZERO } else { GRACE };
                    self.run.cancel(match ends_all {
                        true => Cancel::everything(grace),
                        false => Cancel::after(grace),
                    });
                }
            }
        }
    }
}

fn tails(session: &Session, task: TaskId, attempt: u32) -> Vec<LogTail> {
    let logs = session.folder.logs_dir();
    STREAMS.iter().map(|stream| LogTail::new(log_path(&logs, task, attempt, stream))).collect()
}

fn end_state(state: TaskState) -> EndState {
    match state {
        TaskState::Succeeded => EndState::Succeeded,
        TaskState::Failed => EndState::Failed,
        TaskState::Skipped => EndState::Skipped,
        TaskState::Cancelled => EndState::Cancelled,
        _ => EndState::Unknown,
    }
}

/// What a signal asks for.
#[derive(Debug, Clone, Copy)]
enum Wish {
    Pause,
    Resume,
    /// End the run; the number of the signal says how the process ends.
    End(u8),
}

struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
    pause: Signal,
    resume: Signal,
}

impl Signals {
    fn new() -> Result<Self, CommandError> {
        let listen = |kind| signal(kind).map_err(|error| CommandError::internal(anyhow!(error)));
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            hang_up: listen(SignalKind::hangup())?,
            pause: listen(SignalKind::user_defined1())?,
            resume: listen(SignalKind::user_defined2())?,
        })
    }

    async fn next(&mut self) -> Wish {
        tokio::select! {
            _ = self.interrupt.recv() => Wish::End(2),
            _ = self.terminate.recv() => Wish::End(15),
            _ = self.hang_up.recv() => Wish::End(1),
            _ = self.pause.recv() => Wish::Pause,
            _ = self.resume.recv() => Wish::Resume,
        }
    }
}
