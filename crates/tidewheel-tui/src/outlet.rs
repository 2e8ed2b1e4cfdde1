//! [`Outlet`]: bytes on their way to a terminal that may take them slowly, or not at all.
//!
//! What they say is up to [`crate::terminal`]. Nothing here waits but [`Outlet::relieved`], which others may wait beside,
//! and [`Tty::last`], which has little patience.

use std::fs::File;
use std::future::pending;
use std::io::{self, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags, open};
use rustix::process::getsid;
use rustix::termios::{QueueSelector, tcflush, tcgetsid, ttyname};
use tokio::net::unix::pipe::Sender;
use tokio::time::sleep;

/// Bytes at once for a terminal that could not be opened anew, so that a write may wait.
const LITTLE: usize = 256;

/// How often such a terminal is looked at while it takes nothing, or nothing is typed.
pub(crate) const NOW_AND_THEN: Duration = Duration::from_millis(50);

/// Ends a sequence that was cut off, as terminals have done since the VT100.
const CANCEL: u8 = 0x18;

/// A terminal that is written to. There may be several of them for one, as for a panic.
#[derive(Debug, Clone)]
pub(crate) struct Tty {
    file: Arc<File>,
    /// Whether writing never waits.
    is_prompt: bool,
    /// Whether it has only a part of what it was to get.
    is_torn: Arc<AtomicBool>,
}

impl Tty {
    /// The terminal of standard output, opened anew: whether writing waits is a matter of the opened file, and that of
    /// standard output belongs to the shell as well.
    pub(crate) fn open() -> io::Result<Self> {
        let (file, is_prompt) = open_anew(io::stdout().as_fd(), OFlags::WRONLY)?;
        Ok(Self { file: Arc::new(file), is_prompt, is_torn: Arc::default() })
    }

    /// Writes what is taken now; says how much that was.
    fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        let most = if self.is_prompt { bytes.len() } else { bytes.len().min(LITTLE) };
        if !self.is_prompt && !self.has_room(Duration::ZERO)? {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        loop {
            match (&*self.file).write(&bytes[..most]) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => return other,
            }
        }
    }

    /// Says the last thing, within so long. A terminal that has not taken it by then gets it before all that still waits for
    /// it, which is thrown away: whoever comes back to it finds it as it was before.
    pub(crate) fn last(&self, bytes: &[u8], patience: Duration) {
        let is_torn = self.is_torn.swap(false, Ordering::SeqCst);
        let cancelled = [&[CANCEL][..], bytes].concat();
        let bytes = if is_torn { &cancelled } else { bytes };
        if !self.written(bytes, patience) {
            // What cannot be thrown away or written now never can.
            let _ = tcflush(&*self.file, QueueSelector::OFlush);
            self.written(&cancelled, Duration::ZERO);
        }
    }

    /// Writes all of it, if that takes no longer than `patience`.
    fn written(&self, mut bytes: &[u8], patience: Duration) -> bool {
        let deadline = Instant::now() + patience;
        while !bytes.is_empty() {
            let left = deadline.saturating_duration_since(Instant::now());
            if !self.has_room(left).unwrap_or(false) {
                return false;
            }
            match self.write(bytes) {
                Ok(count) => bytes = &bytes[count..],
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) => return false,
            }
        }
        true
    }

    /// Whether something can be written within so long. A signal may end the wait before.
    fn has_room(&self, patience: Duration) -> io::Result<bool> {
        let patience = Timespec {
            tv_sec: i64::try_from(patience.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: patience.subsec_nanos().into(),
        };
        let mut watched = [PollFd::new(&*self.file, PollFlags::OUT)];
        Ok(poll(&mut watched, Some(&patience))? > 0)
    }
}

/// Opens the terminal of a stream anew, so that reading and writing never wait; else returns the stream, with `false`.
pub(crate) fn open_anew(stream: BorrowedFd<'_>, access: OFlags) -> io::Result<(File, bool)> {
    let flags = access | OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let is_own = tcgetsid(stream).is_ok_and(|session| getsid(None) == Ok(session));
    let anew = match is_own {
        // May be opened by whoever has it, whoever owns the device.
        true => open("/dev/tty", flags, Mode::empty()),
        false => ttyname(stream, Vec::new()).and_then(|name| open(name, flags, Mode::empty())),
    };
    Ok(match anew {
        Ok(file) => (file.into(), true),
        Err(_) => (stream.try_clone_to_owned()?.into(), false),
    })
}

/// What a terminal has not taken yet.
#[derive(Debug)]
pub(crate) struct Outlet {
    tty: Tty,
    /// Says when it can be written to; none where writing may wait, which is looked at now and then.
    ready: Option<Sender>,
    waiting: Vec<u8>,
    taken: usize,
}

impl Outlet {
    /// An outlet with nothing in it.
    pub(crate) fn new(tty: Tty) -> io::Result<Self> {
        // It is no pipe, which is not looked at: what is written to and waited for in the same way is as good as one.
        let ready = match tty.is_prompt {
            true => Some(Sender::from_file_unchecked(tty.file.try_clone()?)?),
            false => None,
        };
        Ok(Self { tty, ready, waiting: Vec::new(), taken: 0 })
    }

    /// Where it leads.
    pub(crate) fn tty(&self) -> Tty {
        self.tty.clone()
    }

    /// Whether everything was taken.
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Adds bytes; what of them can be written now, is.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.waiting.extend(bytes);
        while !self.is_empty() {
            let written = self.tty.write(&self.waiting[self.taken..]);
            if !self.take_in(written)? {
                break;
            }
        }
        Ok(())
    }

    /// Forgets what was not taken: what the terminal shows is not known any more.
    pub(crate) fn forget(&mut self) {
        self.waiting.clear();
        self.taken = 0;
    }

    /// Waits until everything was taken: for ever, if that is so already.
    pub(crate) async fn relieved(&mut self) -> io::Result<()> {
        if self.is_empty() {
            return pending().await;
        }
        while !self.is_empty() {
            let rest = &self.waiting[self.taken..];
            let written = match &self.ready {
                Some(ready) => {
                    ready.writable().await?;
                    ready.try_write(rest)
                }
                None => {
                    sleep(NOW_AND_THEN).await;
                    self.tty.write(rest)
                }
            };
            self.take_in(written)?;
        }
        Ok(())
    }

    /// Takes in how much was written; says whether that was anything.
    fn take_in(&mut self, written: io::Result<usize>) -> io::Result<bool> {
        match written {
            Ok(count) => self.taken += count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
            Err(error) => return Err(error),
        }
        let is_torn = self.taken < self.waiting.len();
        self.tty.is_torn.store(is_torn, Ordering::SeqCst);
        if !is_torn {
            self.forget();
        }
        Ok(true)
    }
}
