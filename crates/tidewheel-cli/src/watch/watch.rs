//! [`Watch`]: shows a run while it runs, and passes on what people want of it: keys, signals.
//!
//! What a wish does to the run is decided by the scheduler.

use std::time::{Duration, Instant};

use tidewheel::clock::wall_clock;
use tidewheel::{Cancel, Timestamp};
use tidewheel_client::api::CancelWish;
use tidewheel_client::progress::{Event, Follow, Teller};
use tidewheel_client::remote::RemoteFollow;
use tidewheel_client::session::{Session, Started};
use tokio::sync::mpsc;
use tokio::time::MissedTickBehavior;

use super::screen::Screen;
use super::signals::{Signals, Wish};
use crate::error::CommandError;
use crate::live::{Action, Display, Options, Shown};

/// How often the output of running steps is looked at.
const LOOK: Duration = Duration::from_millis(200);
/// Time for steps to end by themselves when the run is killed by a second wish.
const GRACE: Duration = Duration::from_secs(5);

/// How a run that was watched ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// By itself.
    Own,
    /// Because of a signal, which is also the exit code's business.
    Signal(u8),
}

/// What came of watching.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Seen {
    pub ending: Ending,
    /// Why the run did not come to its end here, if it did not.
    pub lost: Option<String>,
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

/// A run, wherever it runs.
enum Subject {
    /// In this process.
    Here(Box<Follow>),
    /// At a server.
    There(Box<RemoteFollow>),
}

/// How a run is to end.
#[derive(Debug, Clone, Copy)]
enum End {
    /// Running steps finish.
    Drain,
    /// They are ended; clean-up is run.
    Stop(Duration),
    /// Clean-up is ended, too.
    Everything(Duration),
}

/// A run that is being watched.
pub(crate) struct Watch {
    subject: Subject,
    screen: Screen,
    keys: mpsc::UnboundedReceiver<Action>,
    /// Wishes to end the run so far.
    urgency: u8,
    ending: Ending,
}

impl Watch {
    /// Begins to watch.
    pub fn new(session: &Session, started: Started, workers: u32, shown: Shown) -> Self {
        let (display, beginning, keys) = show(started.since, workers, shown);
        let mut screen = Screen::new(display, beginning, Some(session.folder.logs_dir()));
        let follow = Follow::begin(session, started, &mut screen);
        let subject = Subject::Here(Box::new(follow));
        Self { subject, screen, keys, urgency: 0, ending: Ending::Own }
    }

    /// Begins to watch a run of a server.
    pub fn there(mut follow: RemoteFollow, workers: u32, shown: Shown) -> Self {
        let (display, beginning, keys) = show(follow.since(), workers, shown);
        follow.listen(display.shows_output());
        let screen = Screen::new(display, beginning, None);
        let subject = Subject::There(Box::new(follow));
        Self { subject, screen, keys, urgency: 0, ending: Ending::Own }
    }

    /// Watches until the run has ended, with signals from before it started.
    pub async fn until_end(mut self, mut signals: Signals) -> Result<Seen, CommandError> {
        let mut look = tokio::time::interval(LOOK);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                goes_on = self.subject.next(&mut self.screen) => if !goes_on {
                    break;
                },
                wish = signals.next() => self.heed(wish),
                Some(key) = self.keys.recv() => self.press(key),
                _ = look.tick() => {
                    self.subject.hear(&mut self.screen);
                    self.screen.show_output();
                },
            }
        }
        let Self { subject, mut screen, ending, .. } = self;
        screen.show_output();
        let lost = subject.finish(&mut screen).await;
        Ok(Seen { ending, lost })
    }

    fn press(&mut self, key: Action) {
        match key {
            Action::Pause => self.heed(Wish::Pause),
            Action::Resume => self.heed(Wish::Resume),
            Action::Quit => self.heed(Wish::End(2)),
            _ => {}
        }
    }

    fn heed(&mut self, wish: Wish) {
        match wish {
            Wish::Pause => self.subject.pause(),
            Wish::Resume => self.subject.resume(),
            Wish::End(number) => {
                self.urgency = self.urgency.saturating_add(1);
                self.ending = Ending::Signal(number);
                // Clean-up is spared until somebody insists.
                let ends_all =
                    self.urgency > 2 || (self.urgency == 2 && self.subject.is_cleaning_up());
                // SIGTERM and SIGHUP come from somebody who will not ask twice.
                if self.urgency == 1 && number == 2 {
                    self.screen.tell(self.screen.now(), Event::Draining);
                    self.subject.end(End::Drain);
                } else {
                    self.screen.tell(self.screen.now(), Event::Killing);
                    let grace = if self.urgency > 2 { Duration::ZERO } else { GRACE };
                    self.subject.end(match ends_all {
                        true => End::Everything(grace),
                        false => End::Stop(grace),
                    });
                }
            }
        }
    }
}

impl Subject {
    async fn next(&mut self, teller: &mut dyn Teller) -> bool {
        match self {
            Self::Here(follow) => follow.next(teller).await,
            Self::There(follow) => follow.next(teller).await,
        }
    }

    fn hear(&mut self, teller: &mut dyn Teller) {
        match self {
            Self::Here(follow) => follow.hear(teller),
            Self::There(_) => {}
        }
    }

    async fn finish(self, teller: &mut dyn Teller) -> Option<String> {
        match self {
            Self::Here(follow) => follow.finish(teller).await,
            Self::There(follow) => follow.finish(),
        }
    }

    fn pause(&self) {
        match self {
            // A run that has just ended can be neither.
            Self::Here(follow) => _ = follow.run().pause(),
            Self::There(follow) => follow.pause(),
        }
    }

    fn resume(&self) {
        match self {
            Self::Here(follow) => _ = follow.run().resume(),
            Self::There(follow) => follow.resume(),
        }
    }

    /// Whether only its clean-up is left, as far as that is known here.
    fn is_cleaning_up(&self) -> bool {
        match self {
            Self::Here(follow) => follow.run().is_cleaning_up(),
            Self::There(_) => false,
        }
    }

    fn end(&self, how: End) {
        match self {
            Self::Here(follow) => _ = follow.run().cancel(how.here()),
            Self::There(follow) => follow.cancel(how.there()),
        }
    }
}

impl End {
    fn here(self) -> Cancel {
        match self {
            Self::Drain => Cancel::Drain,
            Self::Stop(grace) => Cancel::after(grace),
            Self::Everything(grace) => Cancel::everything(grace),
        }
    }

    fn there(self) -> CancelWish {
        let wish = CancelWish::default();
        match self {
            Self::Drain => CancelWish { drain: true, ..wish },
            Self::Stop(grace) => CancelWish { grace: Some(grace), ..wish },
            Self::Everything(grace) => CancelWish { grace: Some(grace), everything: true, ..wish },
        }
    }
}

/// Shows a run that began then; with the keys that are pressed.
fn show(
    since: Timestamp,
    workers: u32,
    shown: Shown,
) -> (Display, Instant, mpsc::UnboundedReceiver<Action>) {
    let now = Instant::now();
    let started = now.checked_sub(wall_clock().since(since)).unwrap_or(now);
    let (sender, keys) = mpsc::unbounded_channel();
    let display = Display::start(
        Options { started, since, workers: workers as usize, shown },
        // Nobody listens when the run is over.
        move |key| {
            let _ = sender.send(key);
        },
    );
    (display, started, keys)
}
