//! The terminal: taken as a whole, and given back whatever happens.
//!
//! What is drawn on it is in [`crate::view`]. The live view of `tidewheel run`, which stands where the cursor is, has a
//! terminal of its own.

use std::io::{self, BufWriter, Stdout, Write};
use std::panic;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::buffer::Buffer;
use ratatui::crossterm::cursor::Show;
use ratatui::crossterm::event::{
    DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture,
};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::layout::Rect;

/// Whether the terminal is ours. Static, because a panic anywhere has to find it.
static IS_HELD: AtomicBool = AtomicBool::new(false);

/// A terminal that is ours. When it is dropped, it is as it was before.
pub struct Held {
    frames: Frames<BufWriter<Stdout>>,
}

/// Frames on their way to a terminal.
struct Frames<W: Write> {
    terminal: Terminal<CrosstermBackend<W>>,
    /// What was drawn last.
    shown: Option<Buffer>,
}

impl<W: Write> Frames<W> {
    /// Writes what differs from the frame before: nothing at all, if nothing does.
    fn draw(&mut self, area: Rect, draw: impl FnOnce(&mut Buffer)) -> io::Result<()> {
        let mut next = Buffer::empty(area);
        draw(&mut next);
        if self.shown.as_ref() == Some(&next) {
            return Ok(());
        }
        self.terminal.draw(|frame| {
            // Of another size, it has changed just now, and will be drawn again.
            if *frame.buffer_mut().area() == next.area {
                frame.buffer_mut().clone_from(&next);
            }
        })?;
        self.shown = Some(next);
        Ok(())
    }
}

impl Held {
    /// Takes the terminal.
    ///
    /// # Errors
    ///
    /// When there is none, or it does not let itself be taken.
    pub fn take() -> io::Result<Self> {
        give_back_on_panic();
        hold()?;
        // A frame goes out in one piece.
        let backend = CrosstermBackend::new(BufWriter::with_capacity(1 << 16, io::stdout()));
        let terminal = Terminal::new(backend).inspect_err(|_| give_back())?;
        Ok(Self { frames: Frames { terminal, shown: None } })
    }

    /// Draws a frame: what has changed since the last one is written.
    ///
    /// # Errors
    ///
    /// When the terminal is gone, or was given back because something has crashed.
    pub fn draw(&mut self, draw: impl FnOnce(&mut Buffer)) -> io::Result<()> {
        if !IS_HELD.load(Ordering::SeqCst) {
            return Err(io::Error::other("a part of it has crashed"));
        }
        let (width, height) = self.size()?;
        self.frames.draw(Rect::new(0, 0, width, height), draw)
    }

    /// Columns and rows.
    ///
    /// # Errors
    ///
    /// When the terminal is gone.
    pub fn size(&self) -> io::Result<(u16, u16)> {
        self.frames.terminal.size().map(|size| (size.width, size.height))
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
        give_back();
        signal_hook::low_level::emulate_default_handler(signal_hook::consts::SIGTSTP)?;
        self.again()
    }

    /// Takes the terminal once more: others may have used it meanwhile.
    ///
    /// # Errors
    ///
    /// When it cannot be taken.
    pub fn again(&mut self) -> io::Result<()> {
        hold()?;
        // Draws all of it anew, without asking where the cursor is: the answer would go to whoever reads keys.
        let (width, height) = self.size()?;
        self.frames.shown = None;
        self.frames.terminal.resize(Rect::new(0, 0, width, height))
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        give_back();
    }
}

fn hold() -> io::Result<()> {
    enable_raw_mode()?;
    IS_HELD.store(true, Ordering::SeqCst);
    let taken =
        execute!(io::stdout(), EnterAlternateScreen, EnableMouseCapture, EnableBracketedPaste);
    taken.inspect_err(|_| give_back())
}

/// Gives the terminal back, if it is ours. It may be gone: then there is nobody to tell.
fn give_back() {
    if !IS_HELD.swap(false, Ordering::SeqCst) {
        return;
    }
    let _ = execute!(
        io::stdout(),
        DisableBracketedPaste,
        DisableMouseCapture,
        LeaveAlternateScreen,
        Show
    );
    let _ = disable_raw_mode();
    let _ = io::stdout().flush();
}

/// Gives the terminal back before a panic is reported, or nobody would see the report.
fn give_back_on_panic() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let report = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            give_back();
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

    use std::sync::{Arc, Mutex};
    use std::time::Duration;

    use jiff::tz::TimeZone;
    use ratatui::{TerminalOptions, Viewport};
    use tidewheel::Timestamp;

    use super::*;
    use crate::message::{Answer, Message, Question};
    use crate::model::{Attached, Model};
    use crate::run::Look;
    use crate::samples::{NOW, glance, standing};
    use crate::theme::Theme;
    use crate::update::{next_tick, update};
    use crate::view::view;

    /// A link that counts.
    #[derive(Clone, Default)]
    struct Link(Arc<Mutex<usize>>);

    impl Write for Link {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            *self.0.lock().unwrap() += bytes.len();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// The bytes of the first frame, and of all others of a minute, in which what is drawn is what the loop would draw.
    fn minute(model: &mut Model) -> (usize, usize) {
        let area = Rect::new(0, 0, 120, 40);
        model.size = (area.width, area.height);
        let link = Link::default();
        let options = TerminalOptions { viewport: Viewport::Fixed(area) };
        let backend = CrosstermBackend::new(link.clone());
        let terminal = Terminal::with_options(backend, options).unwrap();
        let mut frames = Frames { terminal, shown: None };
        let theme = Theme::new(Look { is_live: true, is_colourful: true, is_unicode: true });
        let mut draw = |model: &Model| {
            frames.draw(area, |buffer| drop(view(model, theme, buffer))).unwrap();
            std::mem::take(&mut *link.0.lock().unwrap())
        };
        let (first, mut rest, mut passed) = (draw(model), 0, Duration::ZERO);
        loop {
            passed += next_tick(model);
            if passed > Duration::from_secs(60) {
                return (first, rest);
            }
            update(model, NOW.after(passed), Message::Tick);
            rest += draw(model);
        }
    }

    fn told(question: Question, answer: Answer) -> Message {
        Message::Answered(question, Ok(answer), Duration::ZERO)
    }

    fn model(now: Timestamp) -> Model {
        Model::new("/srv/tide".to_owned(), Attached::Desk, now, TimeZone::UTC)
    }

    #[test]
    fn while_nothing_happens_next_to_nothing_is_written() {
        let mut model = model(NOW);
        let mut idle = glance();
        idle.now.clear();
        idle.running = 0;
        update(&mut model, NOW, told(Question::Glance, Answer::Glance(Box::new(idle))));
        let (first, rest) = minute(&mut model);
        assert!(first < 4_000, "{first} bytes");
        assert!(rest < 200, "{rest} bytes in a minute");
    }

    #[test]
    fn a_run_that_goes_on_takes_a_few_bytes_a_second() {
        let mut model = model(NOW);
        let standing = standing();
        model.watch(&standing.run_id);
        let question = Question::Run(standing.run_id.clone());
        update(&mut model, NOW, told(question, Answer::Run(Box::new(standing))));
        let (first, rest) = minute(&mut model);
        assert!(first < 4_000, "{first} bytes");
        assert!(rest < 60 * 150, "{rest} bytes in a minute");
    }
}
