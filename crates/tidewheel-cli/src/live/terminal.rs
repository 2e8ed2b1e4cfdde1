//! The terminal itself: single keys, the cursor, its size, and giving all of it back.
//!
//! The only place that changes a terminal's settings. It touches none while another process group
//! is in the foreground, which would stop this one. What is drawn comes from [`tidewheel_tui::inline`].

use std::io;
use std::os::fd::AsFd;
use std::panic;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, Once, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{getpgrp, getsid};
use rustix::termios::{
    InputModes, LocalModes, OptionalActions, SpecialCodeIndex, Termios, isatty, tcgetattr,
    tcgetpgrp, tcgetwinsize, tcsetattr,
};
use tidewheel_tui::inline;

/// Columns and rows where the terminal does not say.
const SIZE_DEFAULT: (usize, usize) = (80, 24);
/// Bytes that are written at once.
const CHUNK: usize = 4096;
/// How long giving the terminal back may take.
const RELEASE_PATIENCE: Duration = Duration::from_millis(200);

/// What must be given back. Static, because a panic anywhere has to find it.
static HELD: Mutex<Option<Held>> = Mutex::new(None);

/// Threads that report a panic just now. A frame would destroy what they write.
static REPORTS: AtomicUsize = AtomicUsize::new(0);

struct Held {
    /// The settings before ours, if keys are read.
    modes: Option<Termios>,
}

/// Whether the terminal is ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Grip {
    /// From now on.
    Taken {
        /// Single keys can be read.
        has_keys: bool,
    },
    /// As before.
    Kept {
        /// Single keys can be read.
        has_keys: bool,
    },
    /// Not now: another process group is in the foreground, or somebody reports a panic.
    Refused,
}

/// Takes the terminal, if it is not ours yet: hides the cursor, and reads single keys without
/// showing them. Signals by keys stay, and so does the treatment of output.
pub(crate) fn hold() -> Grip {
    let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
    if !is_foreground(io::stderr()) {
        // Whoever is in the foreground has settings of their own by now.
        *held = None;
        return Grip::Refused;
    }
    if REPORTS.load(Ordering::SeqCst) > 0 {
        return Grip::Refused;
    }
    if let Some(held) = &*held {
        return Grip::Kept { has_keys: held.modes.is_some() };
    }
    let modes = take_keys();
    let has_keys = modes.is_some();
    *held = Some(Held { modes });
    // If it cannot be written, then neither can the frame, which is noticed.
    let _ = write(&inline::begin(), RELEASE_PATIENCE);
    Grip::Taken { has_keys }
}

/// Sets the terminal as we need it once more, as others may have changed it meanwhile. What is
/// given back stays what was found first.
pub(crate) fn hold_again() {
    let held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(held) = &*held
        && is_foreground(io::stderr())
    {
        if held.modes.is_some() {
            take_keys();
        }
        let _ = write(&inline::begin(), RELEASE_PATIENCE);
    }
}

/// Gives the terminal back as it was.
pub(crate) fn release() {
    give_back(HELD.lock().unwrap_or_else(PoisonError::into_inner).take());
}

/// Gives the terminal back before a panic is reported. If the program goes on, the next
/// [`hold`] takes it again.
pub(crate) fn release_on_panic() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let report = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            REPORTS.fetch_add(1, Ordering::SeqCst);
            // Never waits: the thread that panics may be the one that has the lock.
            let held = HELD.try_lock().ok().and_then(|mut held| held.take());
            give_back(held);
            report(info);
            REPORTS.fetch_sub(1, Ordering::SeqCst);
        }));
    });
}

fn give_back(held: Option<Held>) {
    let Some(held) = held else { return };
    if !is_foreground(io::stderr()) {
        return;
    }
    if let Some(modes) = held.modes {
        // At once: waiting for output to drain could take for ever.
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &modes);
    }
    let _ = write(&inline::end(), RELEASE_PATIENCE);
}

/// Sets the terminal for single keys and gives its settings before.
fn take_keys() -> Option<Termios> {
    let stdin = io::stdin();
    if !isatty(&stdin) || !is_foreground(&stdin) {
        return None;
    }
    let before = tcgetattr(&stdin).ok()?;
    let mut modes = before.clone();
    modes.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
    // Ctrl-S would halt our output, and with it the end of the program.
    modes.input_modes.remove(InputModes::IXON);
    // Reading never waits, even if somebody else reads the same terminal.
    modes.special_codes[SpecialCodeIndex::VMIN] = 0;
    modes.special_codes[SpecialCodeIndex::VTIME] = 0;
    tcsetattr(&stdin, OptionalActions::Now, &modes).ok()?;
    Some(before)
}

/// Whether we may use a terminal: without job control on it everybody may.
fn is_foreground(terminal: impl AsFd) -> bool {
    match tcgetpgrp(terminal) {
        Ok(group) => group == getpgrp(),
        Err(Errno::NOTTY) => true,
        // The foreground is a group that we cannot see, so it is not ours.
        Err(_) => false,
    }
}

/// Whether writing to a terminal in the background is allowed.
pub(crate) fn allows_background_writes() -> bool {
    tcgetattr(io::stderr()).is_ok_and(|modes| !modes.local_modes.contains(LocalModes::TOSTOP))
}

/// Whether somebody could let us go on if we stopped. A group with the leader of its session has
/// nobody above it.
pub(crate) fn can_stop() -> bool {
    getsid(None).is_ok_and(|session| session != getpgrp())
}

/// Columns and rows of the terminal.
pub(crate) fn size() -> (usize, usize) {
    match tcgetwinsize(io::stderr()) {
        Ok(size) if size.ws_col > 0 && size.ws_row > 0 => {
            (usize::from(size.ws_col), usize::from(size.ws_row))
        }
        _ => SIZE_DEFAULT,
    }
}

/// Reads what was typed, without waiting.
pub(crate) fn read(buffer: &mut [u8]) -> io::Result<usize> {
    match rustix::io::read(io::stdin(), buffer) {
        Ok(count) => Ok(count),
        Err(Errno::INTR | Errno::AGAIN) => Ok(0),
        Err(error) => Err(error.into()),
    }
}

/// Writes as long as the terminal takes it within `patience`; says whether all was written.
pub(crate) fn write(mut bytes: &[u8], patience: Duration) -> io::Result<bool> {
    let stderr = io::stderr();
    let deadline = Instant::now() + patience;
    while !bytes.is_empty() {
        let mut watched = [PollFd::new(&stderr, PollFlags::OUT)];
        let left = deadline.saturating_duration_since(Instant::now());
        match poll(&mut watched, Some(&timespec(left))) {
            Ok(0) => return Ok(false),
            Ok(_) => {}
            Err(Errno::INTR) => continue,
            Err(error) => return Err(error.into()),
        }
        match rustix::io::write(&stderr, &bytes[..bytes.len().min(CHUNK)]) {
            Ok(count) => bytes = &bytes[count..],
            Err(Errno::INTR | Errno::AGAIN) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(true)
}

/// Whether the terminal takes anything now.
pub(crate) fn is_writable() -> bool {
    let stderr = io::stderr();
    let mut watched = [PollFd::new(&stderr, PollFlags::OUT)];
    poll(&mut watched, Some(&timespec(Duration::ZERO))).is_ok_and(|count| count > 0)
}

/// Waits until there is something to read from `wake`, or from the keyboard if `has_keys`. Says
/// whether the keyboard has something, or is gone.
pub(crate) fn wait(
    wake: &impl AsFd,
    has_keys: bool,
    timeout: Option<Duration>,
) -> io::Result<Typed> {
    let stdin = io::stdin();
    let mut watched = vec![PollFd::new(wake, PollFlags::IN)];
    if has_keys {
        watched.push(PollFd::new(&stdin, PollFlags::IN));
    }
    match poll(&mut watched, timeout.map(timespec).as_ref()) {
        Ok(_) | Err(Errno::INTR) => {}
        Err(error) => return Err(error.into()),
    }
    let events = watched.get(1).map_or(PollFlags::empty(), PollFd::revents);
    if events.intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL) {
        return Ok(Typed::Gone);
    }
    Ok(if events.is_empty() { Typed::Nothing } else { Typed::Something })
}

/// What the keyboard has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Typed {
    /// Nothing so far.
    Nothing,
    /// Something to read.
    Something,
    /// Nothing any more.
    Gone,
}

fn timespec(duration: Duration) -> Timespec {
    Timespec {
        tv_sec: i64::try_from(duration.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: duration.subsec_nanos().into(),
    }
}
