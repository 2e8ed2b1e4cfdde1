//! [`Input`]: reads the keyboard and the mouse of a terminal, beside everything else that is waited for.
//!
//! What the bytes mean is decided by the [`Decoder`]. There is no thread, and a byte that was not read stays readable: a
//! key is not lost, whatever else happens at the same time.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::AsFd as _;
use std::time::Duration;

use ratatui::crossterm::event::Event;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use tokio::net::unix::pipe::Receiver;
use tokio::time::{Instant, sleep, sleep_until};

use super::decoder::Decoder;
use crate::outlet::{NOW_AND_THEN, open_anew};

/// Time after which an escape is a key, and not the beginning of a sequence that a slow link has torn apart.
const ESCAPE: Duration = Duration::from_millis(50);

/// The keyboard and the mouse of a terminal.
pub(crate) struct Input {
    tty: File,
    /// Readiness of the terminal. `None` if reads may block: then the terminal is polled at intervals.
    ready: Option<Receiver>,
    decoder: Decoder,
    events: VecDeque<Event>,
    /// Time at which a trailing escape becomes the Escape key.
    escape_at: Option<Instant>,
}

impl Input {
    /// Reads the terminal of standard input. There must be a runtime.
    ///
    /// # Errors
    ///
    /// Fails if it cannot be waited for.
    pub(crate) fn of_stdin() -> io::Result<Self> {
        let (tty, is_prompt) = open_anew(io::stdin().as_fd(), OFlags::RDONLY)?;
        Self::new(tty, is_prompt)
    }

    fn new(tty: File, is_prompt: bool) -> io::Result<Self> {
        // The type of the file is not checked: a nonblocking terminal is polled and read like a pipe.
        let ready = match is_prompt {
            true => Some(Receiver::from_file_unchecked(tty.try_clone()?)?),
            false => None,
        };
        let (decoder, events) = (Decoder::default(), VecDeque::new());
        Ok(Self { tty, ready, decoder, events, escape_at: None })
    }

    /// Returns an event that is there already.
    ///
    /// # Errors
    ///
    /// Fails if the terminal is gone.
    pub(crate) fn take(&mut self) -> io::Result<Option<Event>> {
        while self.events.is_empty() && self.read()? {}
        if self.events.is_empty() && self.escape_at.is_some_and(|at| at <= Instant::now()) {
            self.settle();
        }
        Ok(self.events.pop_front())
    }

    /// Waits for an event. Nothing is lost if the wait is dropped.
    ///
    /// # Errors
    ///
    /// Fails if the terminal is gone.
    pub(crate) async fn next(&mut self) -> io::Result<Event> {
        loop {
            if let Some(event) = self.events.pop_front() {
                return Ok(event);
            }
            let escape_at = self.escape_at;
            tokio::select! {
                // Bytes that are there go before the end of the time for them.
                biased;
                read = readable(self.ready.as_ref()) => {
                    read?;
                    self.read_when_ready()?;
                }
                () = sleep_until(escape_at.unwrap_or_else(Instant::now)), if escape_at.is_some() => {
                    self.settle();
                }
            }
        }
    }

    fn settle(&mut self) {
        self.escape_at = None;
        self.events.extend(self.decoder.settle());
    }

    /// Reads the available bytes; returns whether there were any.
    fn read(&mut self) -> io::Result<bool> {
        if self.ready.is_none() && !is_readable(&self.tty)? {
            return Ok(false);
        }
        let mut bytes = [0; 1024];
        let read = self.tty.read(&mut bytes);
        self.decode(&bytes, read)
    }

    /// The same; if nothing is there, the next wait is for something new.
    fn read_when_ready(&mut self) -> io::Result<bool> {
        let Some(ready) = &self.ready else { return self.read() };
        let mut bytes = [0; 1024];
        let read = ready.try_read(&mut bytes);
        self.decode(&bytes, read)
    }

    fn decode(&mut self, bytes: &[u8], read: io::Result<usize>) -> io::Result<bool> {
        let count = match read {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(true),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
            Err(error) => return Err(error),
        };
        for &byte in &bytes[..count] {
            self.events.extend(self.decoder.push(byte));
        }
        self.escape_at = self.decoder.is_escaped().then(|| Instant::now() + ESCAPE);
        Ok(true)
    }
}

async fn readable(ready: Option<&Receiver>) -> io::Result<()> {
    match ready {
        Some(ready) => ready.readable().await,
        None => {
            sleep(NOW_AND_THEN).await;
            Ok(())
        }
    }
}

/// Whether a read would not wait: there are bytes, or the terminal is gone.
fn is_readable(tty: &File) -> io::Result<bool> {
    let mut watched = [PollFd::new(tty, PollFlags::IN)];
    match poll(&mut watched, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })) {
        Err(rustix::io::Errno::INTR) => Ok(false),
        other => Ok(other? > 0),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test")]

    use ratatui::crossterm::event::{KeyCode, KeyEvent};
    use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};
    use tidewheel_testing::{Pty, wait_until};
    use tokio::runtime::{Builder, Runtime};

    use super::*;

    /// A terminal that passes single keys, and its reader.
    fn input(runtime: &Runtime, is_prompt: bool) -> (Pty, Input) {
        let pty = Pty::open(80, 24);
        let device = pty.device(if is_prompt { OFlags::NONBLOCK } else { OFlags::empty() });
        let mut modes = tcgetattr(&device).unwrap();
        modes.make_raw();
        tcsetattr(&device, OptionalActions::Now, &modes).unwrap();
        let _entered = runtime.enter();
        (pty, Input::new(device, is_prompt).unwrap())
    }

    /// Does something with a terminal that could be opened anew, and with one that could not.
    fn with_each(check: impl Fn(&Runtime, Pty, Input)) {
        for is_prompt in [true, false] {
            let runtime = Builder::new_current_thread().enable_all().build().unwrap();
            let (pty, input) = input(&runtime, is_prompt);
            check(&runtime, pty, input);
        }
    }

    fn key(code: KeyCode) -> Event {
        Event::Key(KeyEvent::from(code))
    }

    #[test]
    fn events_arrive_in_pieces_and_several_at_once() {
        with_each(|runtime, pty, mut input| {
            assert_eq!(input.take().unwrap(), None);
            pty.press("ab\x1b[");
            let mut read = || runtime.block_on(input.next()).unwrap();
            assert_eq!([read(), read()], ['a', 'b'].map(|letter| key(KeyCode::Char(letter))));
            pty.press("A");
            assert_eq!(read(), key(KeyCode::Up));
        });
    }

    #[test]
    fn escape_is_a_key_when_nothing_follows() {
        with_each(|runtime, pty, mut input| {
            pty.press("\x1b");
            assert_eq!(runtime.block_on(input.next()).unwrap(), key(KeyCode::Esc));
            // The same where nobody waits.
            pty.press("\x1b");
            let mut taken = None;
            wait_until("it is taken", || {
                taken = input.take().unwrap();
                taken.is_some()
            });
            assert_eq!(taken, Some(key(KeyCode::Esc)));
        });
    }

    #[test]
    fn terminal_that_is_gone_is_an_error() {
        with_each(|runtime, pty, mut input| {
            drop(pty);
            assert!(runtime.block_on(input.next()).is_err());
        });
    }
}
