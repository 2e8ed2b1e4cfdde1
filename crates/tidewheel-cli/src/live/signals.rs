//! [`Signals`]: those of job control and of the terminal, turned into flags and a wake-up.
//!
//! Ctrl-C and the other signals that end a run are not handled here: what they do is up to the
//! command.

use std::io;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGCONT, SIGQUIT, SIGTSTP, SIGWINCH};
use signal_hook::low_level::{self, emulate_default_handler, pipe};
use signal_hook::{SigId, flag};

use super::terminal;

/// Signals that have come, until somebody asks.
#[derive(Debug)]
pub(crate) struct Signals {
    stop: Arc<AtomicBool>,
    quit: Arc<AtomicBool>,
    resumption: Arc<AtomicBool>,
    resize: Arc<AtomicBool>,
    /// Whether signals do again what they do without us.
    is_over: Arc<AtomicBool>,
    registered: Vec<SigId>,
}

impl Signals {
    /// Listens to signals from now on; each makes something readable at the other end of `waker`.
    pub fn listen(waker: &UnixStream) -> io::Result<Self> {
        let mut signals = Self {
            stop: Arc::default(),
            quit: Arc::default(),
            resumption: Arc::default(),
            resize: Arc::default(),
            is_over: Arc::default(),
            registered: Vec::new(),
        };
        for signal in [SIGTSTP, SIGQUIT] {
            // This one stays registered: there is no other way back to the default.
            flag::register_conditional_default(signal, Arc::clone(&signals.is_over))?;
        }
        let registrations = [
            (SIGTSTP, &signals.stop),
            (SIGQUIT, &signals.quit),
            (SIGCONT, &signals.resumption),
            (SIGWINCH, &signals.resize),
        ];
        let mut registered = Vec::new();
        for (signal, flag) in registrations {
            // The flag first, so that whoever wakes up finds it.
            registered.push(flag::register(signal, Arc::clone(flag))?);
            registered.push(pipe::register(signal, waker.try_clone()?)?);
        }
        signals.registered = registered;
        Ok(signals)
    }

    /// Whether we were asked to stop (Ctrl-Z) since the last call.
    pub fn take_stop(&self) -> bool {
        self.stop.swap(false, Ordering::SeqCst)
    }

    /// Whether we were asked to die at once (Ctrl-\) since the last call.
    pub fn take_quit(&self) -> bool {
        self.quit.swap(false, Ordering::SeqCst)
    }

    /// Whether we were stopped and go on since the last call.
    pub fn take_resumption(&self) -> bool {
        self.resumption.swap(false, Ordering::SeqCst)
    }

    /// Whether the terminal has another size since the last call.
    pub fn take_resize(&self) -> bool {
        self.resize.swap(false, Ordering::SeqCst)
    }

    /// Stops this process; returns when somebody lets it go on.
    pub fn stop_now(&self) {
        let _ = emulate_default_handler(SIGTSTP);
    }

    /// Ends this process.
    pub fn quit_now(&self) {
        let _ = emulate_default_handler(SIGQUIT);
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        // Where nobody could let us go on, the kernel would not stop us either.
        self.is_over.store(terminal::can_stop(), Ordering::SeqCst);
        for id in self.registered.drain(..) {
            low_level::unregister(id);
        }
    }
}
