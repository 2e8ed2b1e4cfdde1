//! The terminal: taken as a whole, and given back whatever happens.
//!
//! What is drawn on it is in [`crate::view`]. The live view of `tidewheel run`, which stands where the cursor is, has a
//! terminal of its own.

use std::io;
use std::panic;
use std::sync::{Mutex, Once, PoisonError};
use std::time::{Duration, Instant};

use ratatui::backend::{Backend as _, CrosstermBackend};
use ratatui::buffer::Buffer;
use ratatui::crossterm::cursor::{Hide, Show};
use ratatui::crossterm::event::{
    DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture,
};
use ratatui::crossterm::queue;
use ratatui::crossterm::style::{Attribute, SetAttribute};
use ratatui::crossterm::terminal::{
    Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen, SetTitle, disable_raw_mode,
    enable_raw_mode, size,
};
use ratatui::layout::Rect;

use crate::outlet::{Outlet, Tty};
use crate::pace::Pace;

/// The terminal that is ours. Static, because a panic anywhere has to find it.
static HELD: Mutex<Option<Tty>> = Mutex::new(None);

/// How long a terminal that is given back may take to hear of it.
const PATIENCE: Duration = Duration::from_millis(300);

/// A terminal that is ours. When it is dropped, it is as it was before.
pub struct Held {
    outlet: Outlet,
    frames: Frames,
    pace: Pace,
}

/// What was drawn last.
#[derive(Default)]
struct Frames {
    shown: Option<Buffer>,
}

impl Frames {
    /// The bytes of what differs from the frame before: none at all, if nothing does.
    fn draw(&mut self, area: Rect, draw: impl FnOnce(&mut Buffer)) -> io::Result<Vec<u8>> {
        let mut next = Buffer::empty(area);
        draw(&mut next);
        let mut bytes = Vec::new();
        let before = match self.shown.take().filter(|shown| shown.area == area) {
            Some(shown) => shown,
            None => {
                queue!(bytes, SetAttribute(Attribute::Reset), Clear(ClearType::All))?;
                Buffer::empty(area)
            }
        };
        let differs = before.diff(&next);
        if !differs.is_empty() {
            CrosstermBackend::new(&mut bytes).draw(differs.into_iter())?;
        }
        self.shown = Some(next);
        Ok(bytes)
    }
}

impl Held {
    /// Takes the terminal. There must be a runtime that knows when it can be written to.
    ///
    /// # Errors
    ///
    /// When there is none, or it does not let itself be taken.
    pub fn take() -> io::Result<Self> {
        give_back_on_panic();
        let tty = Tty::open()?;
        let outlet = Outlet::new(tty.clone())?;
        let mut held = Self { outlet, frames: Frames::default(), pace: Pace::default() };
        hold(tty)?;
        held.outlet.push(&taking())?;
        Ok(held)
    }

    /// Draws a frame: what has changed since the last one is written, and behind it a title, if there is one. While the
    /// terminal has not taken the last frame, nothing is drawn: what it gets next is how things are then.
    ///
    /// # Errors
    ///
    /// When the terminal is gone, or was given back because something has crashed.
    pub fn draw(
        &mut self,
        title: Option<String>,
        draw: impl FnOnce(&mut Buffer),
    ) -> io::Result<()> {
        if lock().is_none() {
            return Err(io::Error::other("a part of it has crashed"));
        }
        if self.outlet.is_empty() {
            let (width, height) = self.size()?;
            let mut bytes = self.frames.draw(Rect::new(0, 0, width, height), draw)?;
            if let Some(title) = title {
                queue!(bytes, SetTitle(title))?;
            }
            self.pace.drawn(Instant::now(), bytes.len());
            self.outlet.push(&bytes)?;
        }
        Ok(())
    }

    /// For how long there is no other frame, if it is too early for one.
    #[must_use]
    pub fn early(&self) -> Option<Duration> {
        self.pace.early(Instant::now())
    }

    /// Waits until the terminal has taken the frame: for ever, if it has.
    ///
    /// # Errors
    ///
    /// When the terminal is gone.
    pub async fn taken(&mut self) -> io::Result<()> {
        self.outlet.relieved().await
    }

    /// Columns and rows.
    ///
    /// # Errors
    ///
    /// When the terminal is gone.
    pub fn size(&self) -> io::Result<(u16, u16)> {
        size()
    }

    /// Gives the terminal back, stops this process as Ctrl-Z does, and takes the terminal again once somebody lets it go
    /// on. Where nobody could, nothing happens.
    ///
    /// # Errors
    ///
    /// When the terminal cannot be taken again.
    pub fn stop(&mut self) -> io::Result<()> {
        if !can_stop() {
            return Ok(());
        }
        give_back(lock().take());
        signal_hook::low_level::emulate_default_handler(signal_hook::consts::SIGTSTP)?;
        self.again()
    }

    /// Takes the terminal once more: others may have used it meanwhile.
    ///
    /// # Errors
    ///
    /// When it cannot be taken.
    pub fn again(&mut self) -> io::Result<()> {
        hold(self.outlet.tty())?;
        // All of it is drawn anew, without asking where the cursor is: the answer would go to whoever reads keys.
        self.frames = Frames::default();
        self.outlet.forget();
        self.outlet.push(&taking())
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        give_back(lock().take());
    }
}

fn lock() -> std::sync::MutexGuard<'static, Option<Tty>> {
    HELD.lock().unwrap_or_else(PoisonError::into_inner)
}

fn hold(tty: Tty) -> io::Result<()> {
    enable_raw_mode()?;
    *lock() = Some(tty);
    Ok(())
}

/// What a terminal is told when it is taken.
fn taking() -> Vec<u8> {
    let mut bytes = Vec::new();
    // Memory takes whatever it is given.
    let _ = queue!(bytes, EnterAlternateScreen, EnableMouseCapture, EnableBracketedPaste, Hide);
    bytes
}

/// What it is told when it is given back.
fn giving() -> Vec<u8> {
    let mut bytes = Vec::new();
    let _ = queue!(
        bytes,
        SetAttribute(Attribute::Reset),
        DisableBracketedPaste,
        DisableMouseCapture,
        LeaveAlternateScreen,
        Show
    );
    bytes
}

/// Gives the terminal back, if it is ours. It may be gone: then there is nobody to tell.
fn give_back(held: Option<Tty>) {
    if let Some(tty) = held {
        tty.last(&giving(), PATIENCE);
        let _ = disable_raw_mode();
    }
}

/// Gives the terminal back before a panic is reported, or nobody would see the report.
fn give_back_on_panic() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let report = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            // Never waits: the thread that panics may be the one that has the lock.
            give_back(HELD.try_lock().ok().and_then(|mut held| held.take()));
            report(info);
        }));
    });
}

/// Whether somebody could let us go on if we stopped. A group with the leader of its session has nobody above it.
fn can_stop() -> bool {
    use rustix::process::{getpgrp, getsid};
    getsid(None).is_ok_and(|session| session != getpgrp())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test")]

    use jiff::tz::TimeZone;
    use ratatui::crossterm::event::{KeyCode, KeyEvent};
    use tidewheel::Timestamp;
    use tidewheel_client::api::StepStanding;

    use super::*;
    use crate::message::{Answer, Message, Question};
    use crate::model::{Attached, Model};
    use crate::run::Look;
    use crate::samples::{NOW, busy_glance, busy_queue, glance, standing};
    use crate::theme::Theme;
    use crate::update::{next_tick, update};
    use crate::view::view;

    const AREA: Rect = Rect { x: 0, y: 0, width: 120, height: 40 };

    /// A minute in which nothing comes from outside.
    #[derive(Debug, Default)]
    struct Minute {
        /// Bytes of the first frame.
        first: usize,
        /// And of all others.
        rest: usize,
        /// How often something was done.
        wakes: usize,
        /// What followed from it.
        effects: usize,
    }

    /// A minute, in which what is done and drawn is what the loop would do and draw.
    fn minute(model: &mut Model) -> Minute {
        model.size = (AREA.width, AREA.height);
        let mut frames = Frames::default();
        let mut draw = |model: &Model| {
            frames.draw(AREA, |buffer| drop(view(model, theme(), buffer))).unwrap().len()
        };
        let mut minute = Minute { first: draw(model), ..Minute::default() };
        let mut passed = Duration::ZERO;
        loop {
            passed += next_tick(model);
            if passed > Duration::from_secs(60) {
                return minute;
            }
            minute.wakes += 1;
            minute.effects += update(model, NOW.after(passed), Message::Tick).len();
            minute.rest += draw(model);
        }
    }

    fn theme() -> Theme {
        Theme::new(Look { is_live: true, is_colourful: true, is_unicode: true })
    }

    /// Two hundred screens, one after the other in a second, on a terminal that takes so many bytes in a millisecond.
    #[derive(Debug, Default)]
    struct Hurried {
        /// Frames that were drawn.
        frames: usize,
        /// Their bytes.
        bytes: usize,
        /// Those of the largest.
        largest: usize,
        /// Milliseconds from the last key to the last frame.
        late: u64,
    }

    /// What the loop does then, with a clock of our own. In the end the terminal shows how things are then.
    fn hurried(rate: usize) -> Hurried {
        const KEYS: [char; 4] = ['1', '2', '3', '4'];
        let mut model = model(NOW);
        model.size = (AREA.width, AREA.height);
        update(&mut model, NOW, told(Question::Glance, Answer::Glance(Box::new(busy_glance()))));
        let line = Answer::Line(Box::new((busy_queue(), None)));
        update(&mut model, NOW, told(Question::Line, line));
        let (mut frames, mut pace, begin) = (Frames::default(), Pace::default(), Instant::now());
        let (mut hurried, mut waiting, mut is_new) = (Hurried::default(), 0_usize, true);
        for passed in 0..20_000 {
            waiting = waiting.saturating_sub(rate);
            if passed < 1_000 && passed % 5 == 0 {
                let key = KeyCode::Char(KEYS[(passed / 5 % 4) as usize]);
                update(&mut model, NOW, Message::Key(KeyEvent::from(key)));
                is_new = true;
            }
            let now = begin + Duration::from_millis(passed);
            if is_new && waiting == 0 && pace.early(now).is_none() {
                let drawn = frames.draw(AREA, |buffer| drop(view(&model, theme(), buffer)));
                let bytes = drawn.unwrap().len();
                pace.drawn(now, bytes);
                (waiting, is_new) = (bytes, false);
                hurried.frames += 1;
                hurried.bytes += bytes;
                hurried.largest = hurried.largest.max(bytes);
                hurried.late = passed.saturating_sub(995);
            }
        }
        let mut last = Buffer::empty(AREA);
        view(&model, theme(), &mut last);
        assert_eq!(frames.shown, Some(last), "{hurried:?}");
        hurried
    }

    /// Frames that it could not have shown are passed over, not put into a line: no more than one of them is on its way.
    #[test]
    fn a_slow_terminal_gets_fewer_frames_and_the_last_as_things_are_then() {
        for rate in [1, 4, 16, 50] {
            let hurried = hurried(rate);
            let carried = rate * 1_000;
            assert!(hurried.bytes <= carried + 2 * hurried.largest, "{rate}: {hurried:?}");
            assert!(hurried.frames < 40, "{rate}: {hurried:?}");
            // What was on its way, or the pause behind it.
            let most = 250.max(hurried.largest / rate + 1) as u64;
            assert!(hurried.late <= most, "{rate}: {hurried:?}");
        }
    }

    /// What takes everything at once may be a link that is slow further on.
    #[test]
    fn no_more_is_written_than_a_link_is_trusted_to_carry() {
        let hurried = hurried(usize::MAX);
        assert!(hurried.largest < 16_000, "{hurried:?}");
        assert!(hurried.bytes <= 64 * 1_000 + 2 * hurried.largest, "{hurried:?}");
        assert!((4..=36).contains(&hurried.frames) && hurried.late <= 250, "{hurried:?}");
    }

    fn told(question: Question, answer: Answer) -> Message {
        Message::Answered(question, Ok(answer), Duration::ZERO)
    }

    fn model(now: Timestamp) -> Model {
        Model::new("/srv/tide".to_owned(), Attached::Desk, now, TimeZone::UTC)
    }

    #[test]
    fn a_row_further_in_ten_thousand_takes_few_bytes() {
        let area = Rect::new(0, 0, 120, 40);
        let mut many = standing();
        let step = many.steps.swap_remove(0);
        many.steps = (0..10_000)
            .map(|number| StepStanding { name: format!("step-{number}"), ..step.clone() })
            .collect();
        let mut model = model(NOW);
        model.size = (area.width, area.height);
        model.watch(&many.run_id);
        let question = Question::Run(many.run_id.clone());
        update(&mut model, NOW, told(question, Answer::Run(Box::new(many))));
        let theme = Theme::new(Look { is_live: true, is_colourful: true, is_unicode: true });
        let mut frames = Frames::default();
        let mut pressed = |times: usize| {
            for _ in 0..times {
                update(&mut model, NOW, Message::Key(KeyEvent::from(KeyCode::Down)));
            }
            frames.draw(area, |buffer| drop(view(&model, theme, buffer))).unwrap().len()
        };
        let first = pressed(5_000);
        let most = (0..50).map(|_| pressed(1)).max().unwrap();
        assert!(most < 2_000 && first < 6_000, "{first} bytes, then {most} at most");
    }

    #[test]
    fn while_nothing_happens_next_to_nothing_is_written() {
        let mut model = model(NOW);
        update(&mut model, NOW, Message::Tick);
        let mut idle = glance();
        idle.now.clear();
        idle.running = 0;
        update(&mut model, NOW, told(Question::Glance, Answer::Glance(Box::new(idle))));
        let minute = minute(&mut model);
        assert!(minute.first < 4_000, "{minute:?}");
        // Once in half a minute, for the time of day.
        assert!(minute.rest < 300 && minute.wakes <= 2, "{minute:?}");
        assert_eq!(minute.effects, 0, "nobody is asked");
    }

    #[test]
    fn a_run_that_goes_on_takes_a_few_bytes_a_second() {
        let mut model = model(NOW);
        let standing = standing();
        model.watch(&standing.run_id);
        let question = Question::Run(standing.run_id.clone());
        update(&mut model, NOW, told(question, Answer::Run(Box::new(standing))));
        let minute = minute(&mut model);
        assert!(minute.first < 4_000, "{minute:?}");
        assert!(minute.rest < 60 * 150, "{minute:?}");
    }
}
