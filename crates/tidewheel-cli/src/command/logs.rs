//! `tidewheel logs`: what steps of a run wrote, and how requests were answered.
//!
//! Which logs there are is found out at the desk.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::time::Duration;

use tidewheel::store::{AttemptRecord, RunDetail, TaskSummary};
use tidewheel_client::api::LogStream;
use tidewheel_client::desk::{LogTail, LogWish, Logs};
use tidewheel_client::text::{harmless, short_id};

use crate::cli::Format;
use crate::data::DataArgs;
use crate::error::CommandError;
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
    let desk = args.data.desk(ui)?;
    let wish = LogWish { step: args.step.clone(), attempt: args.attempt, follow: args.follow };
    let (logs, detail) = desk.logs(&args.run, &wish)?;
    if ui.format(Format::Human) == Format::Json {
        ui.print_json(&logs.list(&detail)?)?;
        return Ok(0);
    }
    let mut shown = Shown::new(&logs, args.follow);
    shown.show(&detail)?;
    if args.follow {
        while let Some(now) = logs.newer()? {
            let is_over = logs.is_over(&now)?;
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
    stream: LogStream,
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
            if self.logs.is_of_one() || self.logs.is_request(task) {
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
        let attempt = self.logs.attempt_of(task);
        let tails = self.tails.entry(task.index).or_default();
        if attempt == 0 || tails.last().is_some_and(|newest| newest.attempt == attempt) {
            return;
        }
        tails.extend(LogStream::ALL.map(|stream| {
            let file = self.logs.tail(task, attempt, stream);
            Tail { step: task.name.clone(), attempt, stream, file }
        }));
    }

    /// What has no line end is written when nothing more can come.
    fn write_new(&mut self, task: &TaskSummary, is_final: bool) -> Result<(), CommandError> {
        for Tail { step, stream, file, .. } in self.tails.get_mut(&task.index).into_iter().flatten()
        {
            if self.logs.is_of_one() {
                write_bytes(*stream, file)?;
                continue;
            }
            while let Some(lines) = file.lines() {
                let text: String = lines.iter().map(|line| format!("{step} | {line}\n")).collect();
                write(*stream, &text)?;
            }
            if let Some(line) = is_final.then(|| file.rest()).flatten() {
                write(*stream, &format!("{step} | {line}\n"))?;
            }
        }
        Ok(())
    }

    /// Says how a request was answered, and why one step that was asked for wrote nothing.
    fn tell(&self, task: &TaskSummary, record: Option<&AttemptRecord>) -> Result<(), CommandError> {
        let record = self.logs.record(task, record);
        let record = record.as_ref();
        let answered = record.filter(|_| self.logs.is_request(task));
        let mark = match self.logs.is_of_one() {
            true => String::new(),
            false => format!("{} | ", task.name),
        };
        for (stream, line) in answered.map(request_lines).unwrap_or_default() {
            write(stream, &format!("{mark}{line}\n"))?;
        }
        if self.logs.is_of_one()
            && let Some(why) = self.logs.why_silent(task, record)
        {
            let short = short_id(self.logs.run());
            write(
                LogStream::Stderr,
                &format!("{why}: see tidewheel show {short} --format json\n"),
            )?;
        }
        Ok(())
    }

    /// Writes what has no line end.
    fn finish(mut self) -> Result<(), CommandError> {
        if self.logs.is_of_one() {
            return Ok(());
        }
        for Tail { step, stream, file, .. } in self.tails.values_mut().flatten() {
            if let Some(line) = file.rest() {
                write(*stream, &format!("{step} | {line}\n"))?;
            }
        }
        Ok(())
    }
}

/// How a request was answered, each line with the stream it belongs to.
fn request_lines(record: &AttemptRecord) -> Vec<(LogStream, String)> {
    let status = record.code.map(|status| (LogStream::Stderr, format!("status {status}")));
    let error = record.error.as_deref().map(|error| {
        let first = record.tail.as_deref().and_then(|answer| answer.trim_start().lines().next());
        (LogStream::Stderr, harmless(without_excerpt(error, first.unwrap_or_default())))
    });
    let answer = record.tail.iter().flat_map(|answer| answer.lines());
    status
        .into_iter()
        .chain(error)
        .chain(answer.map(|line| (LogStream::Stdout, harmless(line))))
        .collect()
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

fn write_bytes(stream: LogStream, file: &mut LogTail) -> Result<(), CommandError> {
    loop {
        let bytes = file.bytes();
        if bytes.is_empty() {
            return Ok(());
        }
        write_raw(stream, &bytes)?;
    }
}

fn write(stream: LogStream, text: &str) -> Result<(), CommandError> {
    write_raw(stream, text.as_bytes())
}

fn write_raw(stream: LogStream, bytes: &[u8]) -> Result<(), CommandError> {
    if stream == LogStream::Stdout {
        let mut out = std::io::stdout().lock();
        out.write_all(bytes)?;
        out.flush()?;
    } else {
        std::io::stderr().lock().write_all(bytes)?;
    }
    Ok(())
}
