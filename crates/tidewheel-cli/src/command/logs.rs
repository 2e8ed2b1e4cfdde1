//! `tidewheel logs`: what steps of a run wrote.

use std::io::Write as _;
use std::time::Duration;

use serde_json::{Value as Json, json};
use tidewheel::store::sqlite::{DataFolder, Reader};
use tidewheel::store::{RunDetail, TaskSummary};
use tidewheel::{RunId, TaskId};

use crate::cli::Format;
use crate::data::{DataArgs, folder_error};
use crate::error::CommandError;
use crate::session::{LogTail, find_run, log_path, task_of, task_state};
use crate::ui::Ui;

/// How often it is looked for more.
const LOOK: Duration = Duration::from_millis(100);

/// Show what the steps of a run wrote
///
/// One step's output is written byte for byte: standard output to standard output, standard error to
/// standard error. Of several steps each line is marked with the step's name.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tidewheel logs last
  tidewheel logs 3f9a build
  tidewheel logs 3f9a build --attempt 1
  tidewheel logs last -f

With --format json it prints { run_id, logs: [ { step, attempt, stream, path, bytes } ] }.")]
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
        Some(step) => Some(task_of(&detail, step)?.index),
        None => None,
    };
    if ui.format(Format::Human) == Format::Json {
        return list(ui, &folder, &detail, wanted, args.attempt);
    }
    let mut shown = Shown { folder: &folder, wanted, attempt: args.attempt, tails: Vec::new() };
    shown.show(&detail)?;
    if args.follow {
        while let Some(now) = newer(&reader, detail.summary.id, &folder)? {
            // Nobody writes any more when it has ended, nor when its process is gone.
            let is_over = !now.summary.is_live || is_left(&folder, &now)?;
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

fn newer(
    reader: &Reader,
    id: RunId,
    folder: &DataFolder,
) -> Result<Option<RunDetail>, CommandError> {
    reader.run(id).map_err(|error| folder_error(error, folder.path()))
}

fn is_left(folder: &DataFolder, detail: &RunDetail) -> Result<bool, CommandError> {
    let Some(shard) = &detail.summary.shard else { return Ok(false) };
    folder.is_left(shard).map_err(|error| folder_error(error, folder.path()))
}

/// Files that are being shown.
struct Shown<'a> {
    folder: &'a DataFolder,
    wanted: Option<u32>,
    attempt: Option<u32>,
    tails: Vec<(TaskId, u32, &'static str, String, LogTail)>,
}

impl Shown<'_> {
    /// Writes what came since the last time.
    fn show(&mut self, detail: &RunDetail) -> Result<(), CommandError> {
        for task in &detail.tasks {
            if self.wanted.is_some_and(|wanted| wanted != task.index) || task.attempts == 0 {
                continue;
            }
            self.open(detail, task);
        }
        let is_one = self.wanted.is_some();
        for (_, _, stream, name, tail) in &mut self.tails {
            if is_one {
                write_bytes(stream, tail)?;
                continue;
            }
            while let Some(lines) = tail.lines() {
                for line in lines {
                    write_line(stream, name, &line)?;
                }
            }
        }
        Ok(())
    }

    fn open(&mut self, detail: &RunDetail, task: &TaskSummary) {
        let id = TaskId { run: detail.summary.id, index: task.index };
        let attempt = self.attempt.unwrap_or(task.attempts);
        if self.tails.iter().any(|(known, number, ..)| *known == id && *number == attempt) {
            return;
        }
        for stream in ["out", "err"] {
            let path = log_path(&self.folder.logs_dir(), id, attempt, stream);
            self.tails.push((id, attempt, stream, task.name.clone(), LogTail::new(path)));
        }
    }

    /// Writes what has no line end.
    fn finish(mut self) -> Result<(), CommandError> {
        if self.wanted.is_some() {
            return Ok(());
        }
        for (_, _, stream, name, tail) in &mut self.tails {
            if let Some(line) = tail.rest() {
                write_line(stream, name, &line)?;
            }
        }
        Ok(())
    }
}

fn write_bytes(stream: &str, tail: &mut LogTail) -> Result<(), CommandError> {
    loop {
        let bytes = tail.bytes();
        if bytes.is_empty() {
            return Ok(());
        }
        match stream {
            "out" => {
                let mut out = std::io::stdout().lock();
                out.write_all(&bytes)?;
                out.flush()?;
            }
            _ => std::io::stderr().lock().write_all(&bytes)?,
        }
    }
}

fn write_line(stream: &str, name: &str, line: &str) -> Result<(), CommandError> {
    let text = format!("{name} | {line}\n");
    match stream {
        "out" => std::io::stdout().lock().write_all(text.as_bytes())?,
        _ => std::io::stderr().lock().write_all(text.as_bytes())?,
    }
    Ok(())
}

fn list(
    ui: &Ui,
    folder: &DataFolder,
    detail: &RunDetail,
    wanted: Option<u32>,
    attempt: Option<u32>,
) -> Result<u8, CommandError> {
    let mut logs: Vec<Json> = Vec::new();
    for task in &detail.tasks {
        if wanted.is_some_and(|wanted| wanted != task.index) {
            continue;
        }
        let id = TaskId { run: detail.summary.id, index: task.index };
        for number in 1..=task.attempts {
            if attempt.is_some_and(|wanted| wanted != number) {
                continue;
            }
            for stream in ["out", "err"] {
                let path = log_path(&folder.logs_dir(), id, number, stream);
                let Ok(file) = std::fs::metadata(&path) else { continue };
                logs.push(json!({
                    "step": task.name,
                    "state": task_state(task.state),
                    "attempt": number,
                    "stream": if stream == "out" { "stdout" } else { "stderr" },
                    "path": path,
                    "bytes": file.len(),
                }));
            }
        }
    }
    ui.print(&json!({ "run_id": detail.summary.id.to_string(), "logs": logs }).to_string())?;
    Ok(0)
}
