//! Steps that start a process.
//!
//! Starting, stopping and reading it is the executor's business.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value as Json, json};
use tidewheel::executor::process::{Limits, ProcessCommand, ProcessEnd, ProcessError, Stdin};
use tidewheel::store::{AttemptRecord, RecordedOutcome};
use tidewheel::{Attempt, Outcome};

use super::context::Position;
use super::elsewhere::Carried;
use super::end::{Success, Trouble};
use super::means::Progress;
use super::run_folder::RunFolder;
use super::runner::FlowRunner;
use crate::definition::{CommandLine, PassTo, ProcessWork, ResourceLimits, Step, adds_to_our_path};
use crate::language::problem::quote;
use crate::language::template::Context;
use crate::language::tree::{Tree, text_of};

/// How much of what a process writes can become outputs, unless its step says more.
const CAPTURE_MAX: u64 = 1 << 20;
/// Where programs are looked for.
const PATH: &str = "PATH";
/// How soon it is looked again whether the system has room for a process.
pub(super) const ROOM_AGAIN: Duration = Duration::from_millis(500);
/// How much of the last line of output is told with an error.
const LAST_LINE_MAX: usize = 200;

impl FlowRunner {
    pub(super) async fn run_process(
        &self,
        position: &Position,
        work: &ProcessWork,
        input: Option<Json>,
        context: &Context,
        attempt: &Attempt,
    ) -> Result<Success, Trouble> {
        let command = self.command(position, work, input, context, attempt)?;
        let ended = self.process_end(command, position, context, attempt).await;
        match ended {
            Ok(success) => {
                let kept = self.keep_artifacts(position, context, attempt, true).await;
                kept.map_err(|trouble| trouble.with_record(success.record.clone()))?;
                Ok(success)
            }
            // What it made says more about the failure than its last words.
            Err(mut trouble) if trouble.was_answered => {
                let kept = self.keep_artifacts(position, context, attempt, false).await;
                let why = kept.err().and_then(|error| error.message());
                trouble.record.warnings.extend(why.map(|why| self.secrets.mask(&why)));
                Err(trouble)
            }
            Err(trouble) => Err(trouble),
        }
    }

    /// Starts a process, and says how it ended.
    pub(super) async fn process_end(
        &self,
        mut command: ProcessCommand,
        position: &Position,
        context: &Context,
        attempt: &Attempt,
    ) -> Result<Success, Trouble> {
        let step = &*position.step;
        let folder = self.run_folder(attempt.id().run).await?;
        if let Some(folder) = folder {
            command = folder.given_to(command, attempt);
        }
        let Carried { command, container } = self.carried(command, position, context, attempt)?;
        let end = self.means.world.run(attempt, &command).await;
        let warning = match container {
            Some(container) => container.follow(&end, &*self.means.world).await,
            None => None,
        };
        if let Some(folder) = folder.filter(|_| !is_well(&end)) {
            folder.drop_output(attempt);
        }
        let end = match end {
            // Others will end and leave theirs: no fault of the step, and nothing was started.
            Err(error) if error.is_for_want_of_room() => {
                self.tell_why(attempt, &format!("waits: {error}"));
                return Err(Trouble::postponed(ROOM_AGAIN));
            }
            Err(ProcessError::CaptureTooLarge { most, seen }) => return Err(too_much(most, seen)),
            end => end.map_err(|error| Trouble::of(error.into_outcome()))?,
        };
        let mut record = end.record(attempt);
        record.warnings.extend(folder.and_then(RunFolder::warning).into_iter().chain(warning));
        if end.was_stopped && !end.status.is_success() {
            return Err(Trouble::of(Outcome::Cancelled).with_record(record));
        }
        if record.code.is_some_and(|code| step.skip_codes.contains(&code)) {
            let outcome = Some(RecordedOutcome::Skipped);
            return Err(Trouble::skipped().with_record(AttemptRecord { outcome, ..record }));
        }
        if !end.status.is_success() {
            let trouble = Trouble::passing(failure_text(&end)).with_record(record);
            return Err(Trouble { was_answered: true, ..trouble });
        }
        let written = match folder {
            Some(folder) => folder
                .taken_from(attempt, capture_max(step))
                .await
                .map_err(|trouble| trouble.with_record(record.clone()))?,
            None => Map::new(),
        };
        if step.takes_results()
            && let Some(number) = end.captured.as_deref().and_then(rounded_number)
        {
            record.warnings.push(format!(
                "the number {number} has more digits than `json` can keep, and is rounded there; in `stdout` \
                 it is whole"
            ));
        }
        let data = if step.takes_results() { data_of(&end, capture_max(step)) } else { Json::Null };
        Ok(Success { code: record.code, data, written, record, ..Success::default() })
    }

    pub(super) fn command(
        &self,
        position: &Position,
        work: &ProcessWork,
        input: Option<Json>,
        context: &Context,
        attempt: &Attempt,
    ) -> Result<ProcessCommand, Trouble> {
        let step = &*position.step;
        let input = input.filter(|input| !input.is_null());
        let mut stdin = match &step.surroundings.stdin {
            Some(tree) => Some(text_of(&tree.render(context)?)),
            None => None,
        };
        let mut command = match &work.command {
            CommandLine::Shell { text, shell } => {
                self.tell(attempt, text);
                ProcessCommand::shell(text.clone()).shell_argv(shell.words())
            }
            CommandLine::Argv(trees) => {
                let words = words_of(work, trees, input.as_ref(), context)?;
                self.check_options(work, &words, |place| match trees.get(place) {
                    Some(tree) => tree.render(context).ok(),
                    None => input.clone(),
                })?;
                if let (PassTo::Stdin, Some(input)) = (work.pass_to, &input) {
                    stdin = Some(text_of(input));
                }
                self.tell(attempt, &shown_command(work, &words).join(" "));
                ProcessCommand::argv(words)
            }
        };
        if matches!(work.command, CommandLine::Shell { .. }) && stdin.is_none() {
            stdin = input.as_ref().map(text_of);
        }
        if let Some(text) = stdin {
            command = command.stdin(Stdin::Bytes(Arc::from(text.into_bytes())));
        }
        self.surround(command, position, context, attempt)
    }

    /// Whoever controls a value must not choose options of a program by it.
    fn check_options(
        &self,
        work: &ProcessWork,
        words: &[String],
        value: impl Fn(usize) -> Option<Json>,
    ) -> Result<(), Trouble> {
        for place in &work.guarded {
            let Some(word) = words.get(*place).filter(|word| word.starts_with('-')) else {
                continue;
            };
            // A number has a sign, and is as harmless as its kind says.
            if value(*place).is_some_and(|value| value.is_number()) {
                continue;
            }
            let word = quote(&self.secrets.mask(word));
            return Err(Trouble::permanent(format!(
                "argv[{place}]: {word} begins with a dash, so the program would take it for an \
                 option; put \"--\" before it if the program knows that, or say `allow_options: true`"
            )));
        }
        Ok(())
    }

    /// Tells which command is started: its first line, without secrets.
    fn tell(&self, attempt: &Attempt, command: &str) {
        let shown = self.secrets.mask(command);
        let command = shown.lines().next().unwrap_or_default();
        (self.means.told)(attempt.id(), Progress::Command(command));
    }

    /// The variables that a flow and its step say for a process, the last of a name counts.
    pub(super) fn variables_of(
        &self,
        position: &Position,
        context: &Context,
    ) -> Result<Vec<(String, String)>, Trouble> {
        let (flow, step) = (&position.scope.flow, &*position.step);
        let mut variables = self.env_files.of(flow).to_vec();
        for (name, tree) in flow.env.iter().chain(&step.surroundings.env) {
            variables.push((name.clone(), tree.render_text(context)?));
        }
        if step.surroundings.elsewhere.is_some() {
            // It adds to a list of folders of this machine.
            variables.retain(|(name, value)| name != PATH || !adds_to_our_path(value));
        }
        for (_, value) in variables.iter_mut().filter(|(name, _)| name == PATH) {
            *value = self.with_our_path(value);
        }
        Ok(variables)
    }

    /// A list of folders in which `$PATH` stands for ours.
    fn with_our_path(&self, value: &str) -> String {
        if !value.contains('$') {
            return value.to_owned();
        }
        let ours = self.variables(&[PATH.to_owned()]);
        let ours = ours[PATH].as_str().unwrap_or_default();
        value.replace("${PATH}", ours).replace("$PATH", ours)
    }

    /// Everything around the command itself.
    fn surround(
        &self,
        mut command: ProcessCommand,
        position: &Position,
        context: &Context,
        attempt: &Attempt,
    ) -> Result<ProcessCommand, Trouble> {
        let step = &*position.step;
        for (name, value) in &self.means.variables {
            command = command.variable(name, value);
        }
        for (name, value) in self.variables_of(position, context)? {
            command = command.variable(name, value);
        }
        command = command
            .variable("TIDEWHEEL_RUN_ID", attempt.id().run.to_string())
            .variable("TIDEWHEEL_STEP", position.name.to_string())
            .variable("TIDEWHEEL_ATTEMPT", attempt.number().to_string())
            .cwd(self.folder_of(position, context)?)
            .limits(step.surroundings.limits.as_deref().map_or_else(Limits::default, limits_of));
        if let Some(names) = &step.surroundings.inherit {
            command = command.inherit_also(names);
        }
        if let Some(bytes) = step.surroundings.output_max {
            command = command.output_max(bytes);
        }
        if let Some(grace) = step.surroundings.grace {
            command = command.grace(grace);
        }
        if step.takes_results() {
            command = command.capture_max(capture_max(step));
        }
        if let Some(masker) = self.secrets.masker() {
            command = command.secrets(Arc::clone(masker));
        }
        Ok(command)
    }
}

/// A program and its arguments, the input among them where it is one.
pub(super) fn words_of(
    work: &ProcessWork,
    trees: &[Tree],
    input: Option<&Json>,
    context: &Context,
) -> Result<Vec<String>, Trouble> {
    let context = match work.pass_to {
        PassTo::Template => with_input(context.clone(), input),
        _ => context.clone(),
    };
    let mut words = Vec::with_capacity(trees.len() + 1);
    for tree in trees {
        words.push(tree.render_text(&context)?);
    }
    if let (PassTo::Argument, Some(input)) = (work.pass_to, input) {
        words.push(text_of(input));
    }
    Ok(words)
}

/// What flowtoy's command templates may name: the input, and the input as JSON.
fn with_input(context: Context, input: Option<&Json>) -> Context {
    let parsed = match input {
        Some(Json::String(text)) => serde_json::from_str(text).unwrap_or_default(),
        Some(value @ (Json::Object(_) | Json::Array(_))) => value.clone(),
        _ => Json::Null,
    };
    context.with("input", input.cloned().unwrap_or_default()).with("json", parsed)
}

fn limits_of(asked: &ResourceLimits) -> Limits {
    let mut limits = Limits::default();
    limits.cpu_time = asked.cpu_time;
    limits.memory = asked.memory;
    limits.processes = asked.processes;
    limits.open_files = asked.open_files;
    limits.file_size = asked.file_size;
    limits
}

/// How it ended, with the last thing it complained of, or else said.
fn failure_text(end: &ProcessEnd) -> String {
    let mut text = end.status.to_string();
    if let Some(limit) = &end.limit {
        text.push_str(&format!(" (limit of {limit:?})"));
    }
    let said = || end.tail.lines().rev().map(str::trim).find(|line| !line.is_empty());
    let complaint = Some(end.complaint.as_str()).filter(|line| !line.is_empty());
    if let Some(line) = complaint.or_else(said) {
        let shown: String = line.chars().take(LAST_LINE_MAX).collect();
        text.push_str(": ");
        text.push_str(&shown);
    }
    text
}

/// Whether what it wrote for others counts.
fn is_well(end: &Result<ProcessEnd, ProcessError>) -> bool {
    end.as_ref().is_ok_and(|end| end.status.is_success())
}

fn capture_max(step: &Step) -> u64 {
    step.surroundings.capture_max.unwrap_or(CAPTURE_MAX)
}

fn too_much(most: u64, seen: u64) -> Trouble {
    Trouble::permanent(format!(
        "it printed {seen} bytes, and outputs are taken from at most {most}; say `capture_max: \
         64MiB` for more, or leave large things in a file of $TIDEWHEEL_RUN_DIR"
    ))
}

/// What outputs are taken from.
fn data_of(end: &ProcessEnd, bytes_max: u64) -> Json {
    let stdout = end.captured.as_deref().unwrap_or_default();
    let stdout = String::from_utf8_lossy(stdout);
    let stderr = end.stderr.path.as_deref().map(|path| read_start(path, bytes_max));
    let stderr = stderr.unwrap_or_default();
    let code = match end.status {
        tidewheel::executor::process::ProcessStatus::Exited(code) => Some(code),
        tidewheel::executor::process::ProcessStatus::Signalled { .. } => None,
    };
    let mut data = json!({ "stdout": stdout, "stderr": stderr, "returncode": code });
    if let (Ok(parsed), Some(map)) = (serde_json::from_str::<Json>(&stdout), data.as_object_mut()) {
        map.insert("json".to_owned(), parsed);
    }
    data
}

/// The first whole number in a text of JSON that is too large to be kept as it is.
fn rounded_number(text: &[u8]) -> Option<String> {
    let (mut is_quoted, mut at) = (false, 0);
    while at < text.len() {
        match text[at] {
            b'\\' if is_quoted => at += 2,
            b'"' => {
                is_quoted = !is_quoted;
                at += 1;
            }
            b'-' | b'0'..=b'9' if !is_quoted => {
                let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-._".contains(byte);
                let length = text[at..].iter().take_while(|byte| is_part(byte)).count();
                let number = std::str::from_utf8(&text[at..at + length]).unwrap_or_default();
                let digits = number.strip_prefix('-').unwrap_or(number);
                let is_whole = !digits.is_empty() && digits.bytes().all(|it| it.is_ascii_digit());
                if is_whole && number.parse::<i64>().is_err() && number.parse::<u64>().is_err() {
                    return serde_json::from_slice::<serde::de::IgnoredAny>(text)
                        .is_ok()
                        .then(|| number.chars().take(LAST_LINE_MAX).collect());
                }
                at += length.max(1);
            }
            _ => at += 1,
        }
    }
    None
}

/// The start of a log file as text.
fn read_start(path: &Path, bytes_max: u64) -> String {
    let mut bytes = Vec::new();
    // A log that cannot be read is no reason to fail a step that succeeded.
    let _ = File::open(path).and_then(|file| file.take(bytes_max).read_to_end(&mut bytes));
    String::from_utf8_lossy(&bytes).into_owned()
}

/// What may be shown of a command, as flowtoy has it: the program and how many arguments, unless
/// more is allowed.
fn shown_command(work: &ProcessWork, words: &[String]) -> Vec<String> {
    let shown = &work.shown;
    if shown.is_full || words.len() < 2 {
        return words.to_vec();
    }
    if shown.hidden_places.is_none() && shown.hidden_words.is_none() {
        let count = words.len() - 1;
        return vec![words[0].clone(), format!("<{count} args>")];
    }
    let is_hidden = |place: usize, word: &str| {
        let places = shown.hidden_places.as_deref().unwrap_or_default();
        let patterns = shown.hidden_words.as_deref().unwrap_or_default();
        places.contains(&place) || patterns.iter().any(|pattern| word.contains(pattern.as_str()))
    };
    let show = |(place, word): (usize, &String)| match is_hidden(place, word) {
        true => "[REDACTED]".to_owned(),
        false => word.clone(),
    };
    words.iter().enumerate().map(show).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::Shown;

    #[test]
    fn numbers_that_would_be_rounded_are_found() {
        let found = |text: &str| rounded_number(text.as_bytes());
        let large = "123456789012345678901234567890";
        assert_eq!(found(&format!("{{\"id\": {large}}}")).as_deref(), Some(large));
        assert_eq!(found(&format!("[1, -{large}]")), Some(format!("-{large}")));
        let fine = ["18446744073709551615", "-9223372036854775808", "1.5e300", "text 1", ""];
        for text in fine.into_iter().chain([&*format!("\"{large}\""), &*format!("no {large}")]) {
            assert_eq!(found(text), None, "{text}");
        }
        assert_eq!(
            found("{\"a\\\"1\": 18446744073709551616}").as_deref(),
            Some("18446744073709551616")
        );
    }

    #[test]
    fn commands_are_shown_as_far_as_is_allowed() {
        let work = |shown: Shown| ProcessWork {
            command: CommandLine::Argv(Vec::new()),
            pass_to: PassTo::Argument,
            shown,
            guarded: Vec::new(),
        };
        let words = ["curl", "--token", "abc", "url"].map(str::to_owned);
        let show = |shown: Shown, words: &[String]| shown_command(&work(shown), words).join(" ");
        assert_eq!(show(Shown::default(), &words), "curl <3 args>");
        assert_eq!(show(Shown::default(), &words[..1]), "curl");
        assert_eq!(show(Shown::default(), &[]), "");
        let places = Shown { hidden_places: Some(vec![2]), ..Shown::default() };
        assert_eq!(show(places.clone(), &words), "curl --token [REDACTED] url");
        let patterns = Shown { hidden_words: Some(vec!["ab".into()]), ..Shown::default() };
        assert_eq!(show(patterns, &words), "curl --token [REDACTED] url");
        let other_case = Shown { hidden_words: Some(vec!["AB".into()]), ..Shown::default() };
        assert_eq!(show(other_case, &words), "curl --token abc url");
        let both = Shown { hidden_words: Some(vec!["ur".into()]), ..places.clone() };
        assert_eq!(show(both, &words), "[REDACTED] --token [REDACTED] [REDACTED]");
        assert_eq!(show(Shown { is_full: true, ..places }, &words), "curl --token abc url");
    }
}
