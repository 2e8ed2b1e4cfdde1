//! [`StagedWorld`]: a world in which every step does what a test says, and which remembers what
//! was asked of it. It outlives the wheels that a story crashes.
//!
//! What the scheduler makes of it is none of its business.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Map, Value as Json};
use tidewheel::executor::http::{Data, HttpEnd, HttpFailure, HttpRequest};
use tidewheel::executor::process::{
    ProcessCommand, ProcessEnd, ProcessError, ProcessStatus, Program, Stdin,
};
use tidewheel::id::TaskId;
use tidewheel::store::{Answer, AttemptRecord, OutputValue, RecordedOutcome};
use tidewheel::task::{BoxError, Reason};
use tidewheel::{Attempt, RunId};
use tidewheel_flow::{Answers, Pending, Recalled, RecalledTask, Trace, World};
use tidewheel_testing::patience;

use super::deed::{Deed, End, Printed};

const TERM: ProcessStatus = ProcessStatus::Signalled { number: 15, name: "SIGTERM" };

#[derive(Debug, Default)]
pub struct StagedWorld {
    staged: Mutex<Staged>,
    /// Something began.
    told: Condvar,
}

/// What is said and remembered.
#[derive(Debug, Default)]
pub struct Staged {
    /// What tasks do, attempt by attempt; the last deed is done again. `[*]` stands for any element.
    pub deeds: HashMap<String, Vec<Deed>>,
    /// How often each task was done.
    pub done: HashMap<String, usize>,
    /// The tasks whose work began, since somebody looked.
    pub began: Vec<String>,
    /// What was asked the last time, by task.
    pub asked: BTreeMap<String, Asked>,
    pub variables: Vec<(OsString, OsString)>,
    pub answers: HashMap<TaskId, Answer>,
    pub records: Vec<AttemptRecord>,
    /// How often what was left cannot be read.
    pub unreadable: u32,
    /// The names of tasks whose wheel has crashed.
    pub names: BTreeMap<TaskId, String>,
}

/// What was asked of the world for a task.
#[derive(Debug, Clone, Default)]
pub struct Asked {
    /// The text for a shell, the words of a program, or the request.
    pub command: String,
    pub variables: BTreeMap<String, String>,
    pub stdin: String,
    pub cwd: PathBuf,
}

impl Asked {
    /// A file of the step: in its folder, or in one that a variable names: `$TIDEWHEEL_RUN_DIR/x`.
    pub fn path(&self, name: &str) -> PathBuf {
        let (variable, rest) = name.split_once('/').unwrap_or((name, ""));
        match variable.strip_prefix('$').and_then(|variable| self.variables.get(variable)) {
            Some(folder) if rest.is_empty() => PathBuf::from(folder),
            Some(folder) => Path::new(folder).join(rest),
            None => self.cwd.join(name),
        }
    }
}

impl StagedWorld {
    pub fn staged(&self) -> MutexGuard<'_, Staged> {
        self.staged.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until so many tasks have begun, on threads that really run.
    pub fn wait_for_beginnings(&self, count: usize) {
        let waits = |staged: &mut Staged| staged.began.len() < count;
        let waited = self.told.wait_timeout_while(self.staged(), patience(), waits);
        let (staged, _) = waited.unwrap_or_else(PoisonError::into_inner);
        assert!(staged.began.len() >= count, "only {:?} began", staged.began);
    }

    /// What a task does now.
    fn begin(&self, attempt: &Attempt, asked: Asked) -> Deed {
        let task = attempt.task_name().expect("it is a task of a run").to_string();
        let deed = self.deed_of(&task);
        let mut staged = self.staged();
        staged.began.push(task.clone());
        staged.asked.insert(task, asked);
        self.told.notify_all();
        deed
    }

    fn deed_of(&self, task: &str) -> Deed {
        let mut staged = self.staged();
        let count = staged.done.entry(task.to_owned()).or_default();
        let place = *count;
        *count += 1;
        let deeds = staged.deeds.get(task).or_else(|| staged.deeds.get(&of_any_element(task)));
        deeds.map(|all| all[place.min(all.len() - 1)].clone()).unwrap_or_default()
    }
}

impl Staged {
    /// What the tasks of a run that succeeded have left, by name.
    pub fn left_in(&mut self, run: RunId) -> Result<Recalled, BoxError> {
        if self.unreadable > 0 {
            self.unreadable -= 1;
            return Err("the disk is away".into());
        }
        let tasks = self.names.iter().filter(|(task, _)| task.run == run);
        Ok(tasks.filter_map(|(task, name)| self.recalled(*task, name)).collect())
    }

    fn recalled(&self, task: TaskId, name: &str) -> Option<RecalledTask> {
        let outputs = self.left_by(task);
        let record = self.records.iter().rev().find(|record| record.task == task)?;
        let again = Some(RecordedOutcome::Again(Reason::Postponed));
        let of_task = self.records.iter().filter(|record| record.task == task);
        let rounds = of_task.filter(|record| record.outcome == again).count();
        let trace = Trace::of(record.started_at, record.ended_at, record.code);
        let trace = trace.with_rounds(rounds as u32);
        Some(RecalledTask { name: name.to_owned(), outputs, trace })
    }

    /// What a task that succeeded has left.
    pub fn left_by(&self, task: TaskId) -> Option<Map<String, Json>> {
        let of_task = self.records.iter().rev().filter(|record| record.task == task);
        let record = of_task.into_iter().find(|record: &&AttemptRecord| {
            use RecordedOutcome::{Cached, Reused, Succeeded};
            matches!(record.outcome, Some(Succeeded | Cached | Reused))
        })?;
        let value = |value: &OutputValue| match value {
            OutputValue::Bytes(bytes) => serde_json::from_slice(bytes).expect("outputs are JSON"),
            OutputValue::File { .. } => Json::Null,
        };
        let outputs = record.outputs.iter();
        Some(outputs.map(|output| (output.name.clone(), value(&output.value))).collect())
    }
}

impl World for StagedWorld {
    fn run<'a>(
        &'a self,
        attempt: &'a Attempt,
        command: &'a ProcessCommand,
    ) -> Pending<'a, Result<ProcessEnd, ProcessError>> {
        attempt.end_by_itself();
        Box::pin(async move {
            let asked = asked_of(command);
            let deed = self.begin(attempt, asked.clone());
            leave_files(&deed, &asked);
            let was_stopped = is_stopped(&deed, attempt).await;
            let status = match deed.ends {
                _ if was_stopped => TERM,
                End::Code(code) => ProcessStatus::Exited(code),
                End::Lost => return Err(ProcessError::SpawnerLost),
                End::NotThere => return Err(ProcessError::NotFound { program: "missing".into() }),
                End::TooMuch => {
                    return Err(ProcessError::CaptureTooLarge { most: 1 << 20, seen: 2 << 20 });
                }
                // What the system says when a user may have no more processes.
                End::NoRoom => {
                    let source = std::io::Error::from(std::io::ErrorKind::WouldBlock);
                    return Err(ProcessError::NotStarted { program: "sh".into(), source });
                }
                End::Well | End::Status(_) | End::Hangs => ProcessStatus::Exited(0),
            };
            let mut end = ProcessEnd::new(status);
            end.was_stopped = was_stopped;
            end.captured = Some(printed(&deed, &asked).into_bytes());
            end.tail = deed.says;
            Ok(end)
        })
    }

    fn send<'a>(
        &'a self,
        attempt: &'a Attempt,
        request: &'a HttpRequest,
    ) -> Pending<'a, Result<HttpEnd, HttpFailure>> {
        Box::pin(async move {
            let asked = Asked { command: format!("{request:?}"), ..Asked::default() };
            let deed = self.begin(attempt, asked.clone());
            is_stopped(&deed, attempt).await;
            let status = match deed.ends {
                End::Status(status) => status,
                End::NotThere => return Err(HttpFailure::impossible("nobody is there")),
                End::Code(code) if code != 0 => 503,
                _ => 200,
            };
            let body = printed(&deed, &asked);
            if !request.accepts(status) {
                let failure = HttpFailure::answered(status, format!("answered {status}: {body}"));
                return Err(failure.of_request(request));
            }
            let data = match serde_json::from_str(&body) {
                Ok(value) => Data::Json(value),
                Err(_) if body.is_empty() => Data::Empty,
                Err(_) => Data::Text(body),
            };
            Ok(HttpEnd::new(status, data))
        })
    }

    /// Does what is said of the program.
    fn ask<'a>(
        &'a self,
        command: &'a ProcessCommand,
        time_max: Duration,
    ) -> Pending<'a, Result<ProcessEnd, ProcessError>> {
        Box::pin(async move {
            let asked = asked_of(command);
            let program = asked.command.split(' ').next().unwrap_or_default();
            let deed = self.deed_of(program);
            let ends = deed.ends != End::Hangs && deed.takes <= time_max;
            // sleeps: in paused time
            tokio::time::sleep(if ends { deed.takes } else { time_max }).await;
            let mut end = ProcessEnd::new(match deed.ends {
                End::NotThere => return Err(ProcessError::NotFound { program: program.into() }),
                End::Code(code) => ProcessStatus::Exited(code),
                _ if ends => ProcessStatus::Exited(0),
                _ => TERM,
            });
            end.was_stopped = !ends;
            end.captured = Some(printed(&deed, &asked).into_bytes());
            end.tail = deed.says;
            Ok(end)
        })
    }

    fn variables(&self) -> Vec<(OsString, OsString)> {
        self.staged().variables.clone()
    }
}

impl Answers for StagedWorld {
    fn answer(&self, task: TaskId) -> Option<Answer> {
        self.staged().answers.get(&task).cloned()
    }
}

/// Lets the time of a deed pass; whether it was told to stop before.
async fn is_stopped(deed: &Deed, attempt: &Attempt) -> bool {
    let passes = async {
        match deed.ends {
            End::Hangs => std::future::pending().await,
            _ if deed.takes.is_zero() => (),
            // sleeps: in paused time
            _ => tokio::time::sleep(deed.takes).await,
        }
    };
    tokio::select! {
        biased;
        () = passes => false,
        _ = attempt.stop() => true,
    }
}

/// Writes what a deed writes to files.
fn leave_files(deed: &Deed, asked: &Asked) {
    let output = deed.writes.iter().map(|text| (asked.path("$TIDEWHEEL_OUTPUT"), text));
    let made = deed.makes.iter().map(|(name, text)| (asked.path(name), text));
    for (path, text) in output.chain(made) {
        std::fs::create_dir_all(path.parent().expect("it is in a folder")).expect("it is ours");
        std::fs::write(path, text).expect("the step can write there");
    }
}

fn printed(deed: &Deed, asked: &Asked) -> String {
    match &deed.prints {
        Printed::Text(text) => text.clone(),
        Printed::Variable(name) => asked.variables.get(name).cloned().unwrap_or_default(),
        Printed::Input => asked.stdin.clone(),
        Printed::File(name) => std::fs::read_to_string(asked.path(name)).unwrap_or_default(),
    }
}

fn asked_of(command: &ProcessCommand) -> Asked {
    let parts = command.parts();
    let text = |text: &OsString| text.to_string_lossy().into_owned();
    let command = match parts.program {
        Program::Shell(text) => text.clone(),
        Program::Argv(words) => words.iter().map(text).collect::<Vec<_>>().join(" "),
    };
    let variables = parts.variables.iter().map(|(name, value)| (text(name), text(value)));
    let stdin = match parts.stdin {
        Stdin::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        _ => String::new(),
    };
    let cwd = parts.cwd.map(Path::to_owned).unwrap_or_default();
    Asked { command, variables: variables.collect(), stdin, cwd }
}

/// `each[3]/a` is `each[*]/a`.
fn of_any_element(task: &str) -> String {
    let mut name = String::with_capacity(task.len());
    let mut rest = task;
    while let Some((before, inside)) = rest.split_once('[') {
        let after = inside.split_once(']').map_or("", |(_, after)| after);
        name.push_str(before);
        name.push_str("[*]");
        rest = after;
    }
    name + rest
}
