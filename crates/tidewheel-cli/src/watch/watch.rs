//! [`Watch`]: shows a run while it runs, and passes on what people want of it: keys, signals.
//!
//! What a wish does to the run is decided by the scheduler.

use std::time::{Duration, Instant};

use tidewheel::Cancel;
use tidewheel::clock::wall_clock;
use tidewheel_client::progress::{Event, Follow, Teller as _};
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

/// A run that is being watched.
pub(crate) struct Watch {
    follow: Follow,
    screen: Screen,
    keys: mpsc::UnboundedReceiver<Key>,
    /// Wishes to end the run so far.
    urgency: u8,
    ending: Ending,
}

impl Watch {
    /// Begins to watch.
    pub fn new(session: &Session, started: Started, workers: u32, level: Level) -> Self {
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
        let follow = Follow::begin(session, started, &mut screen);
        Self { follow, screen, keys, urgency: 0, ending: Ending::Own }
    }

    /// Watches until the run has ended.
    pub async fn until_end(mut self) -> Result<Seen, CommandError> {
        let mut signals = Signals::new()?;
        let mut look = tokio::time::interval(LOOK);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                goes_on = self.follow.next(&mut self.screen) => if !goes_on {
                    break;
                },
                wish = signals.next() => self.heed(wish),
                Some(key) = self.keys.recv() => self.press(key),
                _ = look.tick() => {
                    self.follow.hear(&mut self.screen);
                    self.screen.show_output();
                },
            }
        }
        let Self { follow, mut screen, ending, .. } = self;
        screen.show_output();
        let lost = follow.finish(&mut screen).await;
        Ok(Seen { ending, lost })
    }

    fn press(&mut self, key: Key) {
        match key {
            Key::Pause => self.heed(Wish::Pause),
            Key::Resume => self.heed(Wish::Resume),
            Key::Quit => self.heed(Wish::End(2)),
            _ => {}
        }
    }

    fn heed(&mut self, wish: Wish) {
        match wish {
            // A run that has just ended can be neither.
            Wish::Pause => {
                self.follow.run().pause();
            }
            Wish::Resume => {
                self.follow.run().resume();
            }
            Wish::End(number) => {
                self.urgency = self.urgency.saturating_add(1);
                self.ending = Ending::Signal(number);
                // Clean-up is spared until somebody insists.
                let ends_all =
                    self.urgency > 2 || (self.urgency == 2 && self.follow.run().is_cleaning_up());
                // SIGTERM and SIGHUP come from somebody who will not ask twice.
                if self.urgency == 1 && number == 2 {
                    self.screen.tell(self.screen.now(), Event::Draining);
                    self.follow.run().cancel(Cancel::Drain);
                } else {
                    self.screen.tell(self.screen.now(), Event::Killing);
                    let grace = if self.urgency > 2 { Duration::ZERO } else { GRACE };
                    self.follow.run().cancel(match ends_all {
                        true => Cancel::everything(grace),
                        false => Cancel::after(grace),
                    });
                }
            }
        }
    }
}
