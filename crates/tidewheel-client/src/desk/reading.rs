//! Logs read as lines, searched, and looked at for errors.
//!
//! How lines are found in files is in [`crate::log`]; which logs there are, in [`super::logs`].

use std::fs::File;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::PoisonError;

use tidewheel::id::TaskId;
use tidewheel::store::log_file;

use super::error::DeskError;
use super::find::{run_id_of, task_of};
use super::local::LocalDesk;
use super::tail::log_path;
use crate::api::{
    FoundSum, LinesWish, LogCut, LogErrorLine, LogFound, LogGrown, LogLine, LogLines, LogSpan,
    LogStream, LogWanted, SearchWish,
};
use crate::log::{Index, LogFiles, Search, ShownLine, Wanted, file_identity, first_error};

/// Lines that are shown at once.
const COUNT_MAX: u32 = 1000;
/// Lines that are shown at once by their numbers.
const ONLY_MAX: usize = 400;
/// Bytes of a line that are shown.
const BYTES_MAX: u32 = 1 << 20;
/// Bytes of each of the last lines.
const END_BYTES: usize = 4096;
/// Bytes of all lines together.
const ALL_MAX: u64 = 8 << 20;
/// Bytes of a long log whose lines are counted before somebody who wants to know what there is now is answered.
const AT_ONCE: u64 = 32 << 20;
/// Lines in which something was found that are told.
const HITS_MAX: u32 = 100_000;

/// Which log is meant.
#[derive(Debug, Clone, Copy, Default)]
pub struct LogOf<'a> {
    /// The step by its name.
    pub step: Option<&'a str>,
    /// Or by its number in the run.
    pub task: Option<u32>,
    /// This attempt instead of the newest.
    pub attempt: Option<u32>,
    /// Only this stream.
    pub stream: Option<LogStream>,
}

/// A file with what was written to a stream.
#[derive(Debug)]
pub struct RawLog {
    /// The file, if there is one.
    pub file: Option<File>,
    /// How long it is.
    pub size: u64,
    /// What it is known by, in quotes: the same for as long as it only grows.
    pub tag: String,
}

/// A log that was found.
#[derive(Debug, Clone)]
struct FoundLog {
    id: TaskId,
    attempt: u32,
    stream: Option<LogStream>,
    /// How many attempts have logs and whether nobody writes any more, if that was looked for.
    known: Option<(u32, bool)>,
}

impl LocalDesk {
    /// Some lines of a log.
    ///
    /// # Errors
    ///
    /// When there is no such run, step or attempt, too much is asked for, or the log cannot be read.
    pub fn log_lines(&self, word: &str, wish: &LinesWish) -> Result<LogLines, DeskError> {
        let LinesWish { task, attempt, stream, count, bytes, .. } = *wish;
        check("count", count.into(), 1, COUNT_MAX.into())?;
        check("bytes", bytes.into(), 1, BYTES_MAX.into())?;
        let numbers = wish.only.as_deref().map(numbers_of).transpose()?;
        let lines = numbers.as_ref().map_or(u64::from(count), |numbers| numbers.len() as u64);
        check("lines times bytes", lines * u64::from(bytes), 0, ALL_MAX)?;
        let log = self.log_of(word, LogOf { step: wish.step.as_deref(), task, attempt, stream })?;
        let bytes = bytes as usize;
        let most = if wish.now { AT_ONCE } else { u64::MAX };
        let (mut index, mut files) = self.index_by(&log, most)?;
        let mut from_end = None;
        if wish.from < 0 && numbers.is_none() && index.counted() < files.size() {
            let lines = wish.from.unsigned_abs().min(count.into());
            from_end = Index::ending(&mut files, lines, bytes).map_err(DeskError::System)?;
            if from_end.is_none() {
                (index, files) = self.index_of(&log)?;
            }
        }
        let is_numbered = from_end.is_none();
        let page = match (from_end, &numbers) {
            (Some(page), _) => Ok(page),
            (None, Some(numbers)) => index.these(&mut files, numbers, bytes),
            (None, None) => {
                let from = if wish.from > 0 { wish.from - 1 } else { wish.from };
                index.page(&mut files, Wanted { from, count: count.into(), bytes })
            }
        };
        let page = page.map_err(DeskError::System)?;
        Ok(LogLines {
            version: None,
            run_id: log.id.run.to_string(),
            task: log.id.index,
            attempt: log.attempt,
            attempts: log.known.map(|(attempts, _)| attempts),
            over: log.known.map(|(_, over)| over),
            generation: index.generation(),
            total: index.total(),
            size: files.size(),
            counted: Some(index.counted()).filter(|counted| *counted < files.size()),
            from: if is_numbered { page.from + 1 } else { 0 },
            lines: page.lines.into_iter().map(line).collect(),
        })
    }

    /// The last lines of a log. Those of a long one of one stream are known before its lines are counted.
    ///
    /// # Errors
    ///
    /// When there is no such run, step or attempt, too much is asked for, or the log cannot be read.
    pub fn log_end(
        &self,
        word: &str,
        of: LogOf<'_>,
        lines: u32,
    ) -> Result<Vec<LogLine>, DeskError> {
        check("lines", lines.into(), 1, COUNT_MAX.into())?;
        let log = self.log_of(word, of)?;
        let mut files = self.open_files(&log).map_err(DeskError::System)?;
        let ending = Index::ending(&mut files, lines.into(), END_BYTES);
        let page = match ending.map_err(DeskError::System)? {
            Some(page) => page,
            None => {
                let (index, mut files) = self.index_of(&log)?;
                let from = -i64::from(lines);
                let wanted = Wanted { from, count: lines.into(), bytes: END_BYTES };
                index.page(&mut files, wanted).map_err(DeskError::System)?
            }
        };
        Ok(page.lines.into_iter().map(line).collect())
    }

    /// Searches a log, and tells piece by piece what was found, for as long as it is told to go on.
    ///
    /// # Errors
    ///
    /// When there is no such run, step or attempt, it cannot be searched for, or the log cannot be read.
    pub fn search_log(
        &self,
        word: &str,
        wish: &SearchWish,
        mut tell: impl FnMut(LogFound) -> bool,
    ) -> Result<(), DeskError> {
        let SearchWish { task, attempt, stream, .. } = *wish;
        check("limit", wish.limit.into(), 0, HITS_MAX.into())?;
        let search = match &wish.text {
            Some(text) => Search::new(text, wish.regex, wish.case),
            None => Search::errors(),
        };
        let search = search.map_err(DeskError::Search)?;
        let log = self.log_of(word, LogOf { step: wish.step.as_deref(), task, attempt, stream })?;
        let (index, mut files) = self.index_of(&log)?;
        let size = files.size();
        let mut left = wish.limit as usize;
        let mut piece = |hits: &[u64], bytes: u64, sum: Option<FoundSum>| {
            let told = hits.len().min(left);
            left -= told;
            let hits = hits[..told].iter().map(|line| line + 1).collect();
            tell(LogFound { version: None, hits, bytes, size, sum })
        };
        let from = wish.from.max(1) - 1;
        let found = index.search(&mut files, &search, from, |hits, bytes| piece(hits, bytes, None));
        let found = found.map_err(DeskError::System)?;
        if found.is_whole {
            let (count, buckets) = (found.count, found.buckets);
            let (total, generation) = (index.total(), index.generation());
            piece(&[], found.bytes, Some(FoundSum { count, total, generation, buckets }));
        }
        Ok(())
    }

    /// Where to look first in the log of something that failed.
    ///
    /// # Errors
    ///
    /// When there is no such run, step or attempt, or the log cannot be read.
    pub fn log_error(&self, word: &str, of: LogOf<'_>) -> Result<LogErrorLine, DeskError> {
        let log = self.log_of(word, of)?;
        let (index, mut files) = self.index_of(&log)?;
        let found = first_error(&index, &mut files).map_err(DeskError::System)?;
        Ok(LogErrorLine {
            version: None,
            run_id: log.id.run.to_string(),
            task: log.id.index,
            attempt: log.attempt,
            line: found.map(|found| found.line + 1),
            stream: found.map(|found| stream_of(found.is_error)),
            likely: found.is_some_and(|found| found.is_likely),
        })
    }

    /// How long a log is, and whether nobody writes to it any more; of one that is named by numbers, that is not looked for.
    ///
    /// # Errors
    ///
    /// When there is no such run, step or attempt.
    pub fn log_size(&self, word: &str, of: LogOf<'_>) -> Result<LogGrown, DeskError> {
        let log = self.log_of(word, of)?;
        let bytes =
            |stream| std::fs::metadata(self.stream_path(&log, stream)).map_or(0, |file| file.len());
        Ok(LogGrown {
            version: None,
            run_id: log.id.run.to_string(),
            step: of.step.unwrap_or_default().to_owned(),
            task: log.id.index,
            attempt: log.attempt,
            stdout: bytes(LogStream::Stdout),
            stderr: bytes(LogStream::Stderr),
            over: log.known.is_some_and(|(_, over)| over),
        })
    }

    /// The file with what an attempt wrote to a stream, as long as it is now.
    ///
    /// # Errors
    ///
    /// When there can be no such run, or the file cannot be opened.
    pub fn raw_log(&self, wanted: &LogWanted) -> Result<RawLog, DeskError> {
        let run = run_id_of(&wanted.run_id).ok_or_else(|| self.no_run(&wanted.run_id))?;
        self.check_within(run, &wanted.run_id)?;
        let id = TaskId { run, index: wanted.task };
        let path = log_path(&self.folder.logs_dir(), id, wanted.attempt, wanted.stream);
        let file = match File::open(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            file => Some(file.map_err(DeskError::System)?),
        };
        let known = file.as_ref().map(File::metadata).transpose().map_err(DeskError::System)?;
        let tag = format!("\"{:x}\"", known.as_ref().map_or(0, file_identity));
        Ok(RawLog { file, size: known.map_or(0, |known| known.len()), tag })
    }

    /// The log that is meant.
    fn log_of(&self, word: &str, of: LogOf<'_>) -> Result<FoundLog, DeskError> {
        let LogOf { step, task, attempt, stream } = of;
        if let (None, Some(index), Some(attempt), Some(run)) =
            (step, task, attempt, run_id_of(word))
        {
            // Whatever that is the log of, no name is needed to find it.
            self.check_within(run, word)?;
            return Ok(FoundLog { id: TaskId { run, index }, attempt, stream, known: None });
        }
        let detail = self.find(word)?;
        let task = match (step, task) {
            (Some(step), _) => task_of(&detail, step)?,
            (None, task) => {
                let found = detail.tasks.iter().find(|it| Some(it.index) == task);
                let step = task.map(|task| task.to_string()).unwrap_or_default();
                found.ok_or(DeskError::NoStep { step, near: None })?
            }
        };
        if let Some(attempt) = attempt {
            super::logs::check_attempt(task, attempt)?;
        }
        let definition = self.definition_of(&detail);
        let log_of = |attempt| super::logs::log_attempt(&*definition, &task.name, attempt);
        let newest = log_of(task.attempts);
        let attempt = attempt.map_or(newest, log_of);
        let is_left = || self.is_abandoned(&detail.summary);
        let over =
            task.state.is_terminal() || attempt < newest || !detail.summary.is_live || is_left()?;
        let id = TaskId { run: detail.summary.id, index: task.index };
        Ok(FoundLog { id, attempt, stream, known: Some((newest, over)) })
    }

    fn stream_path(&self, log: &FoundLog, stream: LogStream) -> PathBuf {
        log_path(&self.folder.logs_dir(), log.id, log.attempt, stream)
    }

    fn open_files(&self, log: &FoundLog) -> std::io::Result<LogFiles> {
        let path = |stream| {
            let is_wanted = log.stream.is_none_or(|wanted| wanted == stream);
            is_wanted.then(|| self.stream_path(log, stream))
        };
        let [out, err] = LogStream::ALL.map(path);
        let order = self.folder.logs_dir().join(log_file(log.id, log.attempt, "seq"));
        let order = log.stream.is_none().then_some(order);
        LogFiles::open([out.as_deref(), err.as_deref()], order.as_deref())
    }

    /// The files of a log and its index, which has grown with it. It is a copy, so that nobody waits for whoever
    /// reads or searches.
    fn index_of(&self, log: &FoundLog) -> Result<(Index, LogFiles), DeskError> {
        self.index_by(log, u64::MAX)
    }

    /// The same, which has grown by no more than about so many bytes.
    fn index_by(&self, log: &FoundLog, most: u64) -> Result<(Index, LogFiles), DeskError> {
        let index = self.shelf.index((log.id, log.attempt, log.stream));
        let mut index = index.lock().unwrap_or_else(PoisonError::into_inner);
        let mut files = self.open_files(log).map_err(DeskError::System)?;
        index.grow_by(&mut files, most).map_err(DeskError::System)?;
        Ok((index.clone(), files))
    }
}

fn check(what: &'static str, value: u64, least: u64, most: u64) -> Result<(), DeskError> {
    match (least..=most).contains(&value) {
        true => Ok(()),
        false => Err(DeskError::OutOfRange { what, least, most }),
    }
}

/// Numbers with commas between, in their order, counted from 0.
fn numbers_of(text: &str) -> Result<Vec<u64>, DeskError> {
    let wrong = || DeskError::LineNumbers { most: ONLY_MAX };
    let number = |it: &str| it.trim().parse::<u64>().ok()?.checked_sub(1);
    let numbers: Option<Vec<u64>> = text.split(',').take(ONLY_MAX + 1).map(number).collect();
    let mut numbers = numbers.filter(|it| it.len() <= ONLY_MAX).ok_or_else(wrong)?;
    numbers.sort_unstable();
    numbers.dedup();
    Ok(numbers)
}

fn stream_of(is_error: bool) -> LogStream {
    if is_error { LogStream::Stderr } else { LogStream::Stdout }
}

fn line(shown: ShownLine) -> LogLine {
    let spans = shown.spans.into_iter().map(|(style, text)| LogSpan(style.words(), text));
    let cut = shown.cut.map(|cut| LogCut(cut.from, cut.bytes));
    LogLine(None, stream_of(shown.is_error), spans.collect(), cut)
}
