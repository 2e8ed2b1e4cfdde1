//! [`Watch`]: shows a run while it runs, and passes on what people want of it: keys, signals.
//!
//! What a wish does to the run is decided by the scheduler.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use anyhow::anyhow;
use tidewheel::store::RecordedOutcome;
use tidewheel::{
    Cancel, Fact, Notice, NoticeStream, Reason, Run, RunReport, RunResult, TaskId, TaskState,
    Timestamp, wall_clock,
};
use tidewheel_client::text::{bytes, quoted, short_id};
use tidewheel_flow::{Flow, FlowRunner};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;
use tokio::time::MissedTickBehavior;

use super::logs::{LogTail, Newest, STREAMS, log_path};
use super::progress::Said;
use super::states::{timeout_words, words_of};
use super::wheel::Session;
use crate::error::CommandError;
use crate::live::{Display, EndState, Event, Key, Level, Options, StepInfo};

/// How often the output of running steps is looked at.
const LOOK: Duration = Duration::from_millis(200);
/// Lines that are shown of what all steps together wrote since the last look: nobody reads more, and
/// whatever happens is not held up by them.
const LINES_MAX: usize = 2000;
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
    since: Timestamp,
    /// The view's number of each task.
    places: HashMap<u32, usize>,
    /// Tasks whose end was told.
    ended: HashSet<u32>,
    /// The newest attempts that were admitted, and when, and those that said that they have something to do:
    /// only what did both has started.
    admitted: HashMap<u32, (u32, Duration)>,
    begun: HashMap<u32, u32>,
    /// Tasks that wait, whose looks are one attempt for people.
    waiting: HashSet<u32>,
    /// What steps that run write, if that is shown.
    tails: HashMap<u32, Vec<LogTail>>,
    /// Wishes to end the run so far.
    urgency: u8,
    ending: Ending,
}

/// What the watch begins with.
pub(crate) struct Beginning {
    /// When: before anything could happen.
    pub since: Timestamp,
    pub level: Level,
    pub workers: u32,
    pub flow: String,
    /// How long steps took before, by name.
    pub expected: std::collections::BTreeMap<String, Duration>,
    /// What says how often steps are tried.
    pub definition: Arc<Flow>,
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
        let (now, since) = (Instant::now(), beginning.since);
        let started = now.checked_sub(wall_clock().since(since)).unwrap_or(now);
        let (sender, keys) = mpsc::unbounded_channel();
        let workers = beginning.workers as usize;
        let display = Display::start(
            Options { started, since, workers, level: beginning.level },
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
            since,
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
                // How long something lets others wait is not known from before.
                let expected = beginning.expected.get(&name).filter(|_| !self.is_wait(&name));
                StepInfo {
                    expected: expected.copied(),
                    after: after.into_iter().map(|it| it as usize).collect(),
                    attempts_max: beginning.definition.attempts_of_task(&name),
                    name,
                }
            })
            .collect();
        self.places.extend((0..graph.len()).map(|index| (index, index as usize)));
        let (run_id, flow) = (self.run.id().to_string(), beginning.flow);
        self.display.tell(Duration::ZERO, Event::RunStarted { run_id, flow, steps });
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
                self.end(index, state, Some("before".to_owned()), None);
            }
        }
    }

    /// Watches until the run has ended.
    pub async fn until_end(mut self) -> Result<Ending, CommandError> {
        let mut signals = Signals::new()?;
        let mut look = tokio::time::interval(LOOK);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
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
                        break Some((result, self.moment(notice.at)));
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
    fn finish(&mut self, result: Option<(RunResult, Duration)>, report: Option<&RunReport>) {
        self.show_output();
        for task in report.iter().flat_map(|report| report.tasks()) {
            let index = task.index();
            if !self.ended.contains(&index) {
                self.add(index);
                let words = self.reason(index, task.state(), task.reason());
                self.end(index, task.state(), words, None);
            }
        }
        let now = self.now();
        let (result, at) = result.or(report.map(|report| (report.result(), now))).unzip();
        let state = match result {
            Some(RunResult::Succeeded) => EndState::Succeeded,
            Some(RunResult::Failed) => EndState::Failed,
            Some(RunResult::Cancelled) => EndState::Cancelled,
            None => return,
        };
        self.display.tell(at.unwrap_or(now), Event::RunEnded { state });
    }

    /// Shows what happened. How the run ended, if it has.
    fn notice(&mut self, notice: &Notice) -> Option<RunResult> {
        let id = self.run.id();
        let at = self.moment(notice.at);
        match &notice.fact {
            Fact::RunPaused(run) if *run == id => self.display.tell(at, Event::Paused),
            Fact::RunResumed(run) if *run == id => self.display.tell(at, Event::Resumed),
            Fact::TaskAdded(task) if task.run == id => self.add(task.index),
            Fact::AttemptStarted(task, attempt) if task.run == id => {
                self.admit(task.index, *attempt, at);
            }
            Fact::AttemptFailedWillRetry { task, attempt, delay, error } if task.run == id => {
                let next = at + *delay;
                let error = error.as_deref().unwrap_or("failed").to_owned();
                self.hear();
                let attempt = self.counted(task.index, *attempt);
                self.tell(task.index, at, |step| Event::StepRetrying {
                    step,
                    attempt,
                    at: next,
                    error,
                });
            }
            Fact::AttemptPostponed { task, .. } if task.run == id => {
                self.hear();
                if self.waiting.insert(task.index) {
                    let (why, answer) = self.waits_for(task.index);
                    self.tell(task.index, at, |step| Event::StepWaiting { step, why, answer });
                }
            }
            Fact::TaskEnded(task, state, reason) if task.run == id => {
                let words = self.reason(task.index, *state, *reason);
                self.end(task.index, *state, words, Some(at));
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
                let words = self.reason(index, state, reason);
                self.end(index, state, words, None);
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
                Said::Admitted(attempt, at) => self.admit(task.index, attempt, self.moment(at)),
                Said::Began(attempt) => {
                    self.begun.insert(task.index, attempt);
                    self.start(task.index);
                }
                Said::Command(command) => {
                    let line = format!("$ {command}");
                    let now = self.now();
                    self.tell(task.index, now, |step| Event::StepOutput { step, line });
                }
            }
        }
    }

    /// Takes in that an attempt was admitted, unless that is known.
    fn admit(&mut self, index: u32, attempt: u32, at: Duration) {
        let is_known = self.admitted.get(&index).is_some_and(|(known, _)| *known >= attempt);
        // One that was caught up with has ended already.
        if is_known || self.ended.contains(&index) {
            return;
        }
        if self.display.shows_output() {
            let task = TaskId { run: self.run.id(), index };
            self.tails.insert(index, tails(self.session, task, attempt));
        }
        self.admitted.insert(index, (attempt, at));
        self.start(index);
    }

    /// Tells that a task has started, if the newest attempt has something to do and is not only
    /// another look of a task that waits.
    fn start(&mut self, index: u32) {
        let Some((attempt, at)) = self.admitted.get(&index).copied() else { return };
        if self.begun.get(&index) == Some(&attempt) && !self.waiting.contains(&index) {
            let attempt = self.counted(index, attempt);
            self.tell(index, at, |step| Event::StepStarted { step, attempt });
        }
    }

    /// The number of an attempt as people count: the looks of a task that waits are one.
    fn counted(&self, index: u32, attempt: u32) -> u32 {
        if self.is_wait(&self.name(index)) { 1 } else { attempt }
    }

    fn is_wait(&self, name: &str) -> bool {
        self.runner.as_ref().is_some_and(|runner| runner.flow().is_wait(name))
    }

    fn now(&self) -> Duration {
        self.started.elapsed()
    }

    /// An instant, as the time since the beginning.
    fn moment(&self, at: Timestamp) -> Duration {
        at.since(self.since)
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
        let info = StepInfo { name, ..StepInfo::default() };
        self.display.tell(self.now(), Event::StepAdded(info));
    }

    /// Tells the end of a task, and when it was, if that is known.
    fn end(&mut self, index: u32, state: TaskState, reason: Option<String>, at: Option<Duration>) {
        if !self.ended.insert(index) {
            return;
        }
        let task = TaskId { run: self.run.id(), index };
        self.hear();
        self.admitted.remove(&index);
        self.begun.remove(&index);
        for mut tail in self.tails.remove(&index).unwrap_or_default() {
            self.tell_newest(index, tail.newest(LINES_MAX));
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
        let mut tail: Vec<String> = tail.lines().map(str::to_owned).collect();
        let reason = match record.outcome {
            Some(cached @ RecordedOutcome::Cached) => Some(cached.word().to_owned()),
            _ => reason,
        };
        let state = end_state(state);
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
        self.tell(index, at.unwrap_or(self.now()), |step| Event::StepEnded {
            step,
            state,
            reason,
            error,
            tail,
            is_tolerated,
            is_late,
        });
    }

    fn tell(&self, index: u32, at: Duration, event: impl FnOnce(usize) -> Event) {
        if let Some(step) = self.places.get(&index) {
            self.display.tell(at, event(*step));
        }
    }

    fn tell_lines(&self, index: u32, lines: impl IntoIterator<Item = String>) {
        let now = self.now();
        for line in lines {
            self.tell(index, now, |step| Event::StepOutput { step, line });
        }
    }

    fn tell_newest(&self, index: u32, newest: Newest) {
        let skipped = (newest.skipped > 0).then(|| {
            let (run, name) = (short_id(self.run.id()), quoted(&self.name(index)));
            format!("… {} left out, see tidewheel logs {run} {name}", bytes(newest.skipped))
        });
        self.tell_lines(index, skipped.into_iter().chain(newest.lines));
    }

    fn reason(&self, index: u32, state: TaskState, reason: Reason) -> Option<String> {
        let step = || self.runner.as_ref()?.flow().step_of_task(&self.name(index));
        match reason {
            // The error says it.
            Reason::Error => None,
            Reason::Requested if state == TaskState::Cancelled => None,
            Reason::AttemptTimeout | Reason::TaskTimeout => {
                timeout_words(reason, step().as_deref())
            }
            other => words_of(other, |cause| self.name(cause)),
        }
    }

    /// What a task waits for, and how it is answered if it waits for somebody.
    fn waits_for(&self, index: u32) -> (String, Option<String>) {
        let name = self.name(index);
        let what = self.runner.as_ref().and_then(|runner| runner.waits_for(&name));
        let asks = self.runner.as_ref().is_some_and(|runner| runner.flow().asks(&name));
        let answer = || format!("tidewheel approve {} {}", short_id(self.run.id()), quoted(&name));
        (what.unwrap_or_else(|| "waits".to_owned()), asks.then(answer))
    }

    /// Shows what tasks said, and new lines of what running steps write.
    fn show_output(&mut self) {
        self.hear();
        let files = self.tails.len() * STREAMS.len();
        let each = LINES_MAX / files.max(1) + 1;
        let mut all = std::mem::take(&mut self.tails);
        for (index, tails) in &mut all {
            for tail in tails {
                self.tell_newest(*index, tail.newest(each));
            }
        }
        self.tails = all;
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
                    self.display.tell(self.now(), Event::Draining);
                    self.run.cancel(Cancel::Drain);
                } else {
                    self.display.tell(self.now(), Event::Killing);
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
