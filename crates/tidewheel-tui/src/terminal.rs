//! The terminal: taken as a whole, and given back whatever happens.
//!
//! What is drawn on it is in [`crate::view`]. The live view of `tidewheel run`, which stands where the cursor is, has a
//! terminal of its own.

use std::io::{self, BufWriter, Stdout, Write as _};
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
    terminal: Terminal<CrosstermBackend<BufWriter<Stdout>>>,
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
        Ok(Self { terminal })
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
        self.terminal.draw(|frame| draw(frame.buffer_mut())).map(drop)
    }

    /// Columns and rows.
    ///
    /// # Errors
    ///
    /// When the terminal is gone.
    pub fn size(&self) -> io::Result<(u16, u16)> {
        self.terminal.size().map(|size| (size.width, size.height))
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
        self.terminal.resize(Rect::new(0, 0, width, height))
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
