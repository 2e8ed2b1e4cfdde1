//! `tidewheel logs`: what steps of a run wrote, and how requests were answered.
//!
//! Which logs there are is found out at the desk.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{IsTerminal as _, Write as _};
use std::time::Duration;

use tidewheel_client::api::{LogList, LogStream, LogWanted, LogWish, RequestEnd, StepLogs};
use tidewheel_client::desk::Desk;
use tidewheel_client::text::{coloured, harmless, short_id};

use crate::cli::Format;
use crate::data::DeskArgs;
use crate::error::CommandError;
use crate::ui::Ui;

/// How often it is looked for more.
const LOOK: Duration = Duration::from_millis(100);

/// Show what the steps of a run wrote
///
/// One step's output is written byte for byte: standard output to standard output, standard error to
/// standard error; to a terminal without what would move its cursor, set its title or its clipboard. Of several steps each line is marked with the step's name. Of a request it is the
/// status, and the error with the beginning of the answer if it failed. What a step wrote to both streams is
/// shown in the order in which it was read: exact but for what came within the same moment.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tidewheel logs last
  tidewheel logs 3f9a build
  tidewheel logs 3f9a build --attempt 1
  tidewheel logs last -f
  tidewheel logs last build --merge | less
  tidewheel logs last --stream stderr

With --format json it prints { run_id, logs: [ { step, state, attempt, stream, path, bytes } ],
requests: [ { step, state, attempt, status, error, answer } ], steps: [ { step, attempt, turns: [
{ stream, bytes } ] } ] }.")]
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

    /// Only what was written to this stream
    #[arg(long, value_name = "STREAM")]
    stream: Option<StreamWord>,

    /// Write both streams to standard output, each line with its stream before it
    #[arg(long)]
    merge: bool,

    #[command(flatten)]
    data: DeskArgs,
}

/// One of the two streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum StreamWord {
    Stdout,
    Stderr,
}

impl From<StreamWord> for LogStream {
    fn from(word: StreamWord) -> Self {
        match word {
            StreamWord::Stdout => Self::Stdout,
            StreamWord::Stderr => Self::Stderr,
        }
    }
}

pub(crate) fn run(ui: &Ui, args: &Args) -> Result<u8, CommandError> {
    args.data.at_desk(ui, async |desk| {
        let (step, attempt) = (args.step.clone(), args.attempt);
        let wish = LogWish { version: None, step, attempt, follow: args.follow };
        let list = desk.logs(&args.run, &wish).await?;
        if ui.format(Format::Human) == Format::Json {
            ui.print_json(&list)?;
            return Ok(0);
        }
        let look = Look {
            is_of_one: args.step.is_some(),
            only: args.stream.map(LogStream::from),
            is_merged: args.merge,
        };
        let mut shown = Shown::new(&desk, &list, &wish, look);
        let run = list.run_id.clone();
        shown.show(&list).await?;
        let mut is_over = list.over || !args.follow;
        while !is_over {
            tokio::time::sleep(LOOK).await;
            // It may be removed meanwhile.
            let Ok(list) = desk.logs(&run, &wish).await else { break };
            shown.show(&list).await?;
            is_over = list.over;
        }
        shown.finish()?;
        Ok(0)
    })
}

/// How it is shown.
#[derive(Clone, Copy)]
struct Look {
    is_of_one: bool,
    /// Only this stream.
    only: Option<LogStream>,
    /// Whether all goes to standard output.
    is_merged: bool,
}

impl Look {
    /// Where a line of a stream goes.
    fn target(self, stream: LogStream) -> LogStream {
        if self.is_merged { LogStream::Stdout } else { stream }
    }

    /// What stands before a line.
    fn mark(self, step: &str, stream: LogStream) -> String {
        let word = match stream {
            LogStream::Stdout => "out",
            LogStream::Stderr => "err",
        };
        match (self.is_of_one, self.is_merged) {
            (true, false) => String::new(),
            (true, true) => format!("{word} | "),
            (false, false) => format!("{step} | "),
            (false, true) => format!("{step} {word} | "),
        }
    }

    fn wants(self, stream: LogStream) -> bool {
        self.only.is_none_or(|only| only == stream)
    }
}

/// How much of it has been shown.
struct Shown<'a> {
    desk: &'a Desk,
    run: String,
    look: Look,
    is_followed: bool,
    /// Files by task, those of the newest attempt last.
    tails: BTreeMap<u32, Vec<Tail>>,
    /// Tasks of which was told what else there is beside their files.
    told: BTreeSet<u32>,
}

/// A file, how far it was read, and what stands after the last line end.
struct Tail {
    name: String,
    wanted: LogWanted,
    rest: Vec<u8>,
}

impl<'a> Shown<'a> {
    fn new(desk: &'a Desk, list: &LogList, wish: &LogWish, look: Look) -> Self {
        Self {
            desk,
            run: list.run_id.clone(),
            look,
            is_followed: wish.follow,
            tails: BTreeMap::new(),
            told: BTreeSet::new(),
        }
    }

    /// Writes what came since the last time.
    async fn show(&mut self, list: &LogList) -> Result<(), CommandError> {
        for step in &list.steps {
            self.open(step);
            // While it is followed, there may be more of it.
            let is_final = step.state.has_ended() || !self.is_followed;
            self.write_new(step, is_final).await?;
            if !is_final || !self.told.insert(step.task) {
                continue;
            }
            let request = list.requests.iter().find(|request| request.step == step.step);
            self.tell(step, request)?;
        }
        Ok(())
    }

    fn open(&mut self, step: &StepLogs) {
        let tails = self.tails.entry(step.task).or_default();
        let is_newest = tails.last().is_some_and(|newest| newest.wanted.attempt == step.attempt);
        if step.attempt == 0 || is_newest {
            return;
        }
        let look = self.look;
        let streams = LogStream::ALL.into_iter().filter(|stream| look.wants(*stream));
        tails.extend(streams.map(|stream| {
            let (run_id, task, attempt) = (self.run.clone(), step.task, step.attempt);
            let wanted = LogWanted { version: None, run_id, task, attempt, stream, from: 0 };
            Tail { name: step.step.clone(), wanted, rest: Vec::new() }
        }));
    }

    /// What has no line end is written when nothing more can come, but for one step byte for byte.
    async fn write_new(&mut self, step: &StepLogs, is_final: bool) -> Result<(), CommandError> {
        let (desk, look) = (self.desk, self.look);
        let Some(tails) = self.tails.get_mut(&step.task) else { return Ok(()) };
        // First as far as the order is known, then the rest.
        let newest = tails.iter_mut().filter(|tail| tail.wanted.attempt == step.attempt);
        let mut newest: Vec<&mut Tail> = newest.collect();
        let mut ends = BTreeMap::new();
        for turn in &step.turns {
            let end = ends.entry(turn.stream).or_insert(0);
            *end += turn.bytes;
            let tail = newest.iter_mut().find(|tail| tail.wanted.stream == turn.stream);
            if let Some(tail) = tail {
                tail.write_until(*end, desk, look).await?;
            }
        }
        for tail in tails {
            tail.write_until(u64::MAX, desk, look).await?;
            if is_final {
                let rest = tail.take_rest();
                look.write_lines(tail.wanted.stream, &tail.name, rest)?;
            }
        }
        Ok(())
    }

    /// Says how a request was answered, and why one step that was asked for wrote nothing.
    fn tell(&self, step: &StepLogs, request: Option<&RequestEnd>) -> Result<(), CommandError> {
        let name = harmless(&step.step);
        for (stream, line) in request.map(request_lines).unwrap_or_default() {
            if self.look.wants(stream) {
                let text = format!("{}{line}\n", self.look.mark(&name, stream));
                write_raw(self.look.target(stream), text.as_bytes())?;
            }
        }
        for warning in &step.warnings {
            let mark = if self.look.is_of_one { String::new() } else { format!("{name} | ") };
            let text = format!("{mark}warning: {}\n", harmless(warning));
            write_raw(LogStream::Stderr, text.as_bytes())?;
        }
        if self.look.is_of_one
            && let Some(why) = &step.silent
        {
            let short = short_id(&self.run);
            let text = format!("{why}: see tidewheel show {short} --format json\n");
            write_raw(LogStream::Stderr, text.as_bytes())?;
        }
        Ok(())
    }

    /// Writes what has no line end.
    fn finish(mut self) -> Result<(), CommandError> {
        for tail in self.tails.values_mut().flatten() {
            let rest = tail.take_rest();
            self.look.write_lines(tail.wanted.stream, &tail.name, rest)?;
        }
        Ok(())
    }
}

impl Tail {
    /// Writes what came up to this byte.
    async fn write_until(&mut self, end: u64, desk: &Desk, look: Look) -> Result<(), CommandError> {
        let stream = self.wanted.stream;
        let is_raw = look.is_of_one && !look.is_merged && !is_terminal(stream);
        while self.wanted.from < end {
            let mut bytes = desk.log(self.wanted.clone()).await?;
            let left = usize::try_from(end - self.wanted.from).unwrap_or(usize::MAX);
            bytes.truncate(left);
            if bytes.is_empty() {
                break;
            }
            self.wanted.from += bytes.len() as u64;
            if is_raw {
                write_raw(stream, &bytes)?;
            } else {
                self.rest.extend(bytes);
                let lines = self.take_lines();
                look.write_lines(stream, &self.name, lines)?;
            }
        }
        Ok(())
    }

    /// The whole lines.
    fn take_lines(&mut self) -> Vec<u8> {
        let end = self.rest.iter().rposition(|byte| *byte == b'\n').map_or(0, |place| place + 1);
        let rest = self.rest.split_off(end);
        std::mem::replace(&mut self.rest, rest)
    }

    fn take_rest(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.rest)
    }
}

impl Look {
    /// Writes lines, of several steps each with its step. What a terminal would obey does not get there, but for
    /// colours.
    fn write_lines(
        self,
        stream: LogStream,
        step: &str,
        bytes: Vec<u8>,
    ) -> Result<(), CommandError> {
        let text = String::from_utf8_lossy(&bytes);
        let (mark, target) = (self.mark(step, stream), self.target(stream));
        let mut shown = String::new();
        for line in text.lines() {
            shown.push_str(&mark);
            match is_terminal(target) {
                true => shown.push_str(&coloured(line)),
                false => shown.push_str(line),
            }
            shown.push('\n');
        }
        write_raw(target, shown.as_bytes())
    }
}

fn is_terminal(stream: LogStream) -> bool {
    match stream {
        LogStream::Stdout => std::io::stdout().is_terminal(),
        LogStream::Stderr => std::io::stderr().is_terminal(),
    }
}

/// How a request was answered, each line with the stream it belongs to.
fn request_lines(request: &RequestEnd) -> Vec<(LogStream, String)> {
    let status = request.status.map(|status| (LogStream::Stderr, format!("status {status}")));
    let error = request.error.as_deref().map(|error| {
        let first = request.answer.as_deref().and_then(|answer| answer.trim_start().lines().next());
        (LogStream::Stderr, harmless(without_excerpt(error, first.unwrap_or_default())))
    });
    let answer = request.answer.iter().flat_map(|answer| answer.lines());
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
