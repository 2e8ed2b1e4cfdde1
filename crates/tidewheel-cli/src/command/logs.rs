//! `tidewheel logs`: what steps of a run wrote, and how requests were answered.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::anyhow;
use serde_json::{Value as Json, json};
use tidewheel::store::sqlite::{DataFolder, Reader};
use tidewheel::store::{AttemptRecord, RunDetail, TaskResult, TaskSummary};
use tidewheel::{RunId, TaskId, TaskState};
use tidewheel_client::text::{harmless, short_id};
use tidewheel_flow::{Flow, listed};

use crate::cli::Format;
use crate::data::{DataArgs, folder_error};
use crate::error::{CommandError, ErrorKind};
use crate::session::{
    LogTail, STREAMS, find_run, flow_of, log_path, task_of, task_state, timeout_words, words_of,
};
use crate::ui::Ui;

/// How often it is looked for more.
const LOOK: Duration = Duration::from_millis(100);

/// Show what the steps of a run wrote
///
/// One step's output is written byte for byte: standard output to standard output, standard error to
/// standard error. Of several steps each line is marked with the step's name. Of a request it is the
/// status, and the error with the beginning of the answer if it failed.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tidewheel logs last
  tidewheel logs 3f9a build
  tidewheel logs 3f9a build --attempt 1
  tidewheel logs last -f

With --format json it prints { run_id, logs: [ { step, state, attempt, stream, path, bytes } ],
requests: [ { step, state, attempt, status, error, answer } ] }.")]
pub(crate) struct Args {
    /// The run: its id, the start of it, or `last`
    run: String,

    /// Only this step
    step: Option<String>,

    /// This attempt instead of the newest
    #[arg(long, value_name = "N", requires = "step")]
    attempt: Option<u32>,

    /// Go on until the run has ended, or its process has
    #[arg(long, short = 'f')]
    follow: bool,

    #[command(flatten)]
    data: DataArgs,
}

pub(crate) fn run(ui: &Ui, args: &Args) -> Result<u8, CommandError> {
    let folder = args.data.open_existing(ui)?;
    let reader = folder.reader().map_err(|error| folder_error(error, folder.path()))?;
    let detail = find_run(&folder, &reader, &args.run)?;
    let wanted = match &args.step {
        Some(step) => Some(task_of(&detail, step)?),
        None => None,
    };
    if let (Some(task), Some(attempt)) = (wanted, args.attempt) {
        // Whoever follows may wait for one that is still to come.
        if !args.follow || task.state.is_terminal() {
            check_attempt(task, attempt)?;
        }
    }
    let logs = Logs {
        folder: &folder,
        reader: &reader,
        run: detail.summary.id,
        flow: flow_of(&detail).ok().and_then(|order| order.flow().ok()),
        wanted: wanted.map(|task| task.index),
        attempt: args.attempt,
    };
    if ui.format(Format::Human) == Format::Json {
        return logs.list(ui, &detail);
    }
    let mut shown = Shown::new(&logs, args.follow);
    shown.show(&detail)?;
    if args.follow {
        while let Some(now) = logs.newer()? {
            // Nobody writes any more when it has ended, nor when its process is gone.
            let is_over = !now.summary.is_live || logs.is_left(&now)?;
            shown.show(&now)?;
            if is_over {
                break;
            }
            std::thread::sleep(LOOK);
        }
    }
    shown.finish()?;
    Ok(0)
}

fn check_attempt(task: &TaskSummary, attempt: u32) -> Result<(), CommandError> {
    if (1..=task.attempts).contains(&attempt) {
        return Ok(());
    }
    let error = anyhow!("step `{}` has no attempt {attempt}", harmless(&task.name));
    Err(CommandError::new(ErrorKind::NotFound, error).hint(match task.attempts {
        0 => "it was not started".to_owned(),
        1 => "it has attempt 1".to_owned(),
        newest => format!("it has attempts 1 to {newest}"),
    }))
}

/// What steps of a run wrote, as far as it was asked for.
struct Logs<'a> {
    folder: &'a DataFolder,
    reader: &'a Reader,
    run: RunId,
    flow: Option<Arc<Flow>>,
    wanted: Option<u32>,
    attempt: Option<u32>,
}

impl Logs<'_> {
    /// The tasks that were asked for, in the order of the flow.
    fn tasks<'b>(&self, detail: &'b RunDetail) -> Vec<&'b TaskSummary> {
        let mut tasks = listed(&detail.tasks);
        tasks.retain(|task| self.wanted.is_none_or(|wanted| wanted == task.index));
        tasks
    }

    fn path(&self, task: &TaskSummary, attempt: u32, stream: &str) -> PathBuf {
        let id = TaskId { run: self.run, index: task.index };
        log_path(&self.folder.logs_dir(), id, attempt, stream)
    }

    fn kind(&self, task: &TaskSummary) -> Option<&'static str> {
        self.flow.as_ref()?.kind_of_task(&task.name)
    }

    /// What is kept of attempts beside what they wrote, by task.
    fn results(&self) -> Result<BTreeMap<u32, TaskResult>, CommandError> {
        self.reader.results(self.run).map_err(|error| folder_error(error, self.folder.path()))
    }

    fn newer(&self) -> Result<Option<RunDetail>, CommandError> {
        self.reader.run(self.run).map_err(|error| folder_error(error, self.folder.path()))
    }

    fn is_left(&self, detail: &RunDetail) -> Result<bool, CommandError> {
        let Some(shard) = &detail.summary.shard else { return Ok(false) };
        self.folder.is_left(shard).map_err(|error| folder_error(error, self.folder.path()))
    }

    fn list(&self, ui: &Ui, detail: &RunDetail) -> Result<u8, CommandError> {
        let results = self.results()?;
        let (mut logs, mut requests) = (Vec::new(), Vec::new());
        for task in self.tasks(detail) {
            logs.extend(self.files(task));
            let newest = results.get(&task.index).and_then(|result| result.newest.as_ref());
            if self.kind(task) == Some("http")
                && let Some(record) = self.record(task, newest)
            {
                requests.push(json!({
                    "step": task.name,
                    "state": task_state(task.state),
                    "attempt": record.attempt,
                    "status": record.code,
                    "error": record.error,
                    "answer": record.tail,
                }));
            }
        }
        let id = self.run.to_string();
        ui.print(&json!({ "run_id": id, "logs": logs, "requests": requests }).to_string())?;
        Ok(0)
    }

    /// What is known of the attempt that was asked for, else of the newest. What ended it may have left
    /// nothing but that: a limit of time, somebody who cancelled it.
    fn record(&self, task: &TaskSummary, newest: Option<&AttemptRecord>) -> Option<AttemptRecord> {
        let attempt = self.attempt.unwrap_or(task.attempts);
        if let Some(record) = newest.filter(|record| record.attempt == attempt) {
            return Some(record.clone());
        }
        let is_last = attempt > 0 && attempt == task.attempts && task.state.is_terminal();
        if !is_last || task.state == TaskState::Succeeded {
            return None;
        }
        let step = self.flow.as_ref().and_then(|flow| flow.step_of_task(&task.name));
        let error = timeout_words(task.reason, step.as_deref())
            .or_else(|| task.error.clone())
            .or_else(|| words_of(task.reason, |_| "another step".to_owned()));
        Some(AttemptRecord { attempt, error, ..AttemptRecord::default() })
    }

    /// The files that there are of a task.
    fn files(&self, task: &TaskSummary) -> Vec<Json> {
        let attempts = (1..=task.attempts).filter(|it| self.attempt.is_none_or(|only| only == *it));
        let streams = attempts.flat_map(|attempt| STREAMS.map(|stream| (attempt, stream)));
        let file = |(attempt, stream)| {
            let path = self.path(task, attempt, stream);
            let bytes = std::fs::metadata(&path).ok()?.len();
            Some(json!({
                "step": task.name,
                "state": task_state(task.state),
                "attempt": attempt,
                "stream": if stream == "out" { "stdout" } else { "stderr" },
                "path": path,
                "bytes": bytes,
            }))
        };
        streams.filter_map(file).collect()
    }
}

/// How much of it has been shown.
struct Shown<'a> {
    logs: &'a Logs<'a>,
    is_followed: bool,
    /// Files by task, those of the newest attempt last.
    tails: BTreeMap<u32, Vec<Tail>>,
    /// Tasks of which was told what else there is beside their files.
    told: BTreeSet<u32>,
}

struct Tail {
    step: String,
    attempt: u32,
    stream: &'static str,
    file: LogTail,
}

impl<'a> Shown<'a> {
    fn new(logs: &'a Logs<'a>, is_followed: bool) -> Self {
        Self { logs, is_followed, tails: BTreeMap::new(), told: BTreeSet::new() }
    }

    /// Writes what came since the last time.
    fn show(&mut self, detail: &RunDetail) -> Result<(), CommandError> {
        let mut results = None;
        for task in self.logs.tasks(detail) {
            self.open(task);
            // While it is followed, there may be more of it.
            let is_final = task.state.is_terminal() || !self.is_followed;
            self.write_new(task, is_final)?;
            if !is_final || !self.told.insert(task.index) {
                continue;
            }
            if self.logs.wanted.is_some() || self.logs.kind(task) == Some("http") {
                if results.is_none() {
                    results = Some(self.logs.results()?);
                }
                let result = results.as_ref().and_then(|results| results.get(&task.index));
                self.tell(task, result.and_then(|result| result.newest.as_ref()))?;
            }
        }
        Ok(())
    }

    fn open(&mut self, task: &TaskSummary) {
        let attempt = self.logs.attempt.unwrap_or(task.attempts);
        let tails = self.tails.entry(task.index).or_default();
        if attempt == 0 || tails.last().is_some_and(|newest| newest.attempt == attempt) {
            return;
        }
        tails.extend(STREAMS.map(|stream| {
            let file = LogTail::new(self.logs.path(task, attempt, stream));
            Tail { step: task.name.clone(), attempt, stream, file }
        }));
    }

    /// What has no line end is written when nothing more can come.
    fn write_new(&mut self, task: &TaskSummary, is_final: bool) -> Result<(), CommandError> {
        for Tail { step, stream, file, .. } in self.tails.get_mut(&task.index).into_iter().flatten()
        {
            if self.logs.wanted.is_some() {
                write_bytes(stream, file)?;
                continue;
            }
            while let Some(lines) = file.lines() {
                let text: String = lines.iter().map(|line| format!("{step} | {line}\n")).collect();
                write(stream, &text)?;
            }
            if let Some(line) = is_final.then(|| file.rest()).flatten() {
                write(stream, &format!("{step} | {line}\n"))?;
            }
        }
        Ok(())
    }

    /// Says how a request was answered, and why one step that was asked for wrote nothing.
    fn tell(&self, task: &TaskSummary, record: Option<&AttemptRecord>) -> Result<(), CommandError> {
        let record = self.logs.record(task, record);
        let record = record.as_ref();
        let kind = self.logs.kind(task);
        let answered = record.filter(|_| kind == Some("http"));
        let mark = match self.logs.wanted {
            Some(_) => String::new(),
            None => format!("{} | ", task.name),
        };
        for (stream, line) in answered.map(request_lines).unwrap_or_default() {
            write(stream, &format!("{mark}{line}\n"))?;
        }
        if self.logs.wanted.is_some()
            && let Some(why) = why_silent(task, kind, record)
        {
            let short = short_id(self.logs.run);
            write("err", &format!("{why}: see tidewheel show {short} --format json\n"))?;
        }
        Ok(())
    }

    /// Writes what has no line end.
    fn finish(mut self) -> Result<(), CommandError> {
        if self.logs.wanted.is_some() {
            return Ok(());
        }
        for Tail { step, stream, file, .. } in self.tails.values_mut().flatten() {
            if let Some(line) = file.rest() {
                write(stream, &format!("{step} | {line}\n"))?;
            }
        }
        Ok(())
    }
}

/// Why a step has no log; `None` if it has one, or its process wrote nothing.
fn why_silent(
    task: &TaskSummary,
    kind: Option<&str>,
    record: Option<&AttemptRecord>,
) -> Option<&'static str> {
    let was_reused = match record.and_then(|record| record.outcome) {
        Some(outcome) => outcome.is_without_work(),
        None => task.attempts == 0 && task.state == TaskState::Succeeded,
    };
    match (task.state, kind) {
        _ if was_reused => Some("the step was not run, what it had left before was used"),
        (TaskState::Skipped, _) => Some("the step was skipped, so it wrote nothing"),
        _ if task.attempts == 0 => Some("the step has not started"),
        (_, Some("http")) => {
            let has_failed = record.is_some_and(|record| record.error.is_some());
            (!has_failed).then_some("what a request brings is not kept in a log")
        }
        (_, None | Some("process")) => None,
        _ => Some("a step of this kind writes no log"),
    }
}

/// How a request was answered, each line with the stream it belongs to.
fn request_lines(record: &AttemptRecord) -> Vec<(&'static str, String)> {
    let status = record.code.map(|status| ("err", format!("status {status}")));
    let error = record.error.as_deref().map(|error| {
        let first = record.tail.as_deref().and_then(|answer| answer.trim_start().lines().next());
        ("err", harmless(without_excerpt(error, first.unwrap_or_default())))
    });
    let answer = record.tail.iter().flat_map(|answer| answer.lines());
    status.into_iter().chain(error).chain(answer.map(|line| ("out", harmless(line)))).collect()
}

/// An error without the beginning of the answer, which is shown below it.
fn without_excerpt<'a>(error: &'a str, first: &str) -> &'a str {
    let is_excerpt = |place: usize| {
        let rest = &error[place + 2..];
        !rest.is_empty() && first.starts_with(rest)
    };
    let mut places = error.match_indices(": ").map(|(place, _)| place);
    places.find(|place| is_excerpt(*place)).map_or(error, |place| &error[..place])
}

fn write_bytes(stream: &str, file: &mut LogTail) -> Result<(), CommandError> {
    loop {
        let bytes = file.bytes();
        if bytes.is_empty() {
            return Ok(());
        }
        write_raw(stream, &bytes)?;
    }
}

fn write(stream: &str, text: &str) -> Result<(), CommandError> {
    write_raw(stream, text.as_bytes())
}

fn write_raw(stream: &str, bytes: &[u8]) -> Result<(), CommandError> {
    if stream == "out" {
        let mut out = std::io::stdout().lock();
        out.write_all(bytes)?;
        out.flush()?;
    } else {
        std::io::stderr().lock().write_all(bytes)?;
    }
    Ok(())
}
