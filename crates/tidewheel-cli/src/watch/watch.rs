//! [`Watch`]: shows a run while it runs, and passes on what people want of it: keys, signals.
//!
//! What a wish does to the run is decided by the scheduler.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tidewheel::{Cancel, NoticeStream, Run, wall_clock};
use tidewheel_client::progress::{Event, LiveRun, Progress, Teller as _};
use tidewheel_client::session::{Session, Started};
use tokio::sync::mpsc;
use tokio::time::MissedTickBehavior;

use super::screen::Screen;
use super::signals::{Signals, Wish};
use crate::error::CommandError;
use crate::live::{Display, Key, Level, Options};

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
    notices: NoticeStream,
    progress: Progress,
    screen: Screen,
    keys: mpsc::UnboundedReceiver<Key>,
    /// Wishes to end the run so far.
    urgency: u8,
    ending: Ending,
}

impl<'a> Watch<'a> {
    /// Begins to watch.
    pub fn new(session: &'a Session, started: Started, workers: u32, level: Level) -> Self {
        let (now, since) = (Instant::now(), started.since);
        let beginning = now.checked_sub(wall_clock().since(since)).unwrap_or(now);
        let (sender, keys) = mpsc::unbounded_channel();
        let display = Display::start(
            Options { started: beginning, since, workers: workers as usize, level },
            // Nobody listens when the run is over.
            move |key| {
                let _ = sender.send(key);
            },
        );
        let mut screen = Screen::new(display, beginning, session.folder.logs_dir());
        let (source, now) = (LiveRun::new(session, &started.run), screen.now());
        let progress = Progress::begin(&started, &source, now, &mut screen);
        let Started { run, notices, .. } = started;
        let (urgency, ending) = (0, Ending::Own);
        Self { session, run, notices, progress, screen, keys, urgency, ending }
    }

    /// Watches until the run has ended.
    pub async fn until_end(mut self) -> Result<Ending, CommandError> {
        let mut signals = Signals::new()?;
        let mut look = tokio::time::interval(LOOK);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let run = self.run.clone();
        let source = LiveRun::new(self.session, &run);
        let sayings = Arc::clone(&self.session.sayings);
        let report = run.report();
        tokio::pin!(report);
        let mut reported = None;
        let mut deadline = None;
        let result = loop {
            tokio::select! {
                notice = self.notices.recv() => match notice {
                    Some(Ok(notice)) => {
                        let ended = self.progress.notice(&source, &notice, &mut self.screen);
                        if ended.is_some() {
                            break ended;
                        }
                    }
                    Some(Err(_)) => {
                        self.progress.catch_up(&source, self.screen.now(), &mut self.screen);
                    }
                    None => break None,
                },
                () = sayings.ring() => self.hear(&source),
                wish = signals.next() => self.follow(wish),
                Some(key) = self.keys.recv() => self.press(key),
                _ = look.tick() => {
                    // The last notice comes with the report, or soon after.
                    if deadline.is_some_and(|deadline| Instant::now() > deadline) {
                        break None;
                    }
                    self.hear(&source);
                    self.screen.show_output();
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
        self.hear(&source);
        self.screen.show_output();
        let now = self.screen.now();
        self.progress.finish(&source, result, report.as_ref(), now, &mut self.screen);
        Ok(self.ending)
    }

    fn hear(&mut self, source: &LiveRun<'_>) {
        self.progress.hear(source, self.screen.now(), &mut self.screen);
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
                    self.screen.tell(self.screen.now(), Event::Draining);
                    self.run.cancel(Cancel::Drain);
                } else {
                    self.screen.tell(self.screen.now(), Event::Killing);
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
