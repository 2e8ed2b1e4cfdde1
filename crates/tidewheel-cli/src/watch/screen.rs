//! [`Screen`]: what is told goes to the display, and with it what steps write.
//!
//! How anything looks is in `live/`.

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use tidewheel::RunId;
use tidewheel::id::TaskId;
use tidewheel_client::api::LogStream;
use tidewheel_client::desk::{LogTail, Newest, log_path};
use tidewheel_client::progress::{Event, Teller};
use tidewheel_client::text::{bytes, quoted, short_id};

use crate::live::Display;

/// Lines that are shown of what all steps together wrote since the last look: nobody reads more, and
/// whatever happens is not held up by them.
const LINES_MAX: usize = 2000;

/// The display, and the logs of steps that run, if they are shown.
pub(super) struct Screen {
    display: Display,
    started: Instant,
    /// Where logs are, if they are here.
    logs: Option<PathBuf>,
    tails: HashMap<usize, Tails>,
}

struct Tails {
    run: RunId,
    name: String,
    files: Vec<LogTail>,
}

impl Screen {
    pub fn new(display: Display, started: Instant, logs: Option<PathBuf>) -> Self {
        Self { display, started, logs, tails: HashMap::new() }
    }

    /// The time since the beginning.
    pub fn now(&self) -> Duration {
        self.started.elapsed()
    }

    /// Shows new lines of what running steps write.
    pub fn show_output(&mut self) {
        let files = self.tails.len() * LogStream::ALL.len();
        let each = LINES_MAX / files.max(1) + 1;
        let mut all = std::mem::take(&mut self.tails);
        for (step, Tails { run, name, files }) in &mut all {
            for file in files {
                self.tell_newest(*step, *run, name, file.newest(each));
            }
        }
        self.tails = all;
    }

    /// Shows the last that an ended step wrote.
    fn show_rest(&mut self, step: usize) {
        let Some(Tails { run, name, files }) = self.tails.remove(&step) else { return };
        for mut file in files {
            self.tell_newest(step, run, &name, file.newest(LINES_MAX));
            self.tell_lines(step, file.rest());
        }
    }

    fn tell_newest(&self, step: usize, run: RunId, name: &str, newest: Newest) {
        let skipped = (newest.skipped > 0).then(|| {
            let (run, name) = (short_id(run), quoted(name));
            format!("… {} left out, see tidewheel logs {run} {name}", bytes(newest.skipped))
        });
        self.tell_lines(step, skipped.into_iter().chain(newest.lines));
    }

    fn tell_lines(&self, step: usize, lines: impl IntoIterator<Item = String>) {
        let now = self.now();
        for line in lines {
            self.display.tell(now, Event::StepOutput { step, line });
        }
    }
}

impl Teller for Screen {
    fn tell(&mut self, at: Duration, event: Event) {
        if let Event::StepEnded { step, .. } = event {
            self.show_rest(step);
        }
        self.display.tell(at, event);
    }

    fn admitted(&mut self, step: usize, name: &str, task: TaskId, attempt: u32) {
        if let (true, Some(logs)) = (self.display.shows_output(), &self.logs) {
            let tail = |stream| LogTail::new(log_path(logs, task, attempt, stream));
            let files = LogStream::ALL.map(tail).into();
            self.tails.insert(step, Tails { run: task.run, name: name.to_owned(), files });
        }
    }
}
