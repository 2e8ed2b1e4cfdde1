//! Signals as wishes about the run that is watched.
//!
//! Those of job control are the terminal's, in `live/`.

use std::collections::VecDeque;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::anyhow;
use signal_hook::low_level::emulate_default_handler;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::error::CommandError;

/// What a signal asks for.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Wish {
    Pause,
    Resume,
    /// End the run; the number of the signal says how the process ends.
    End(u8),
}

pub(crate) struct Signals {
    /// None where it is ignored: whoever started us wants us to go on.
    interrupt: Option<Signal>,
    terminate: Signal,
    hang_up: Option<Signal>,
    pause: Signal,
    resume: Signal,
    /// Wishes that came before there was a run.
    early: VecDeque<Wish>,
}

impl Signals {
    pub fn new() -> Result<Self, CommandError> {
        Ok(Self {
            interrupt: unless_ignored(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            hang_up: unless_ignored(SignalKind::hangup())?,
            pause: listen(SignalKind::user_defined1())?,
            resume: listen(SignalKind::user_defined2())?,
            early: VecDeque::new(),
        })
    }

    /// Waits until a run has started, and keeps signals that come meanwhile for [`Signals::next`]: a step may run already,
    /// and would be left behind by a process that is killed. A second signal to end does end the process, and so does the
    /// first while the start waits for another process.
    pub async fn keep_while<T>(&mut self, start: impl Future<Output = T>, waits: &AtomicBool) -> T {
        let mut start = pin!(start);
        loop {
            let wish = tokio::select! {
                started = &mut start => return started,
                wish = self.receive() => wish,
            };
            if let Wish::End(number) = wish {
                let is_second = self.early.iter().any(|early| matches!(early, Wish::End(_)));
                if is_second || waits.load(Ordering::SeqCst) {
                    // It fails for no signal that is listened for.
                    let _ = emulate_default_handler(number.into());
                }
            }
            self.early.push_back(wish);
        }
    }

    pub async fn next(&mut self) -> Wish {
        match self.early.pop_front() {
            Some(wish) => wish,
            None => self.receive().await,
        }
    }

    async fn receive(&mut self) -> Wish {
        tokio::select! {
            () = heard(&mut self.interrupt) => Wish::End(2),
            _ = self.terminate.recv() => Wish::End(15),
            () = heard(&mut self.hang_up) => Wish::End(1),
            _ = self.pause.recv() => Wish::Pause,
            _ = self.resume.recv() => Wish::Resume,
        }
    }
}

fn listen(kind: SignalKind) -> Result<Signal, CommandError> {
    signal(kind).map_err(|error| CommandError::internal(anyhow!(error)))
}

/// Listens for a signal, unless whoever started us had it ignored.
pub(crate) fn unless_ignored(kind: SignalKind) -> Result<Option<Signal>, CommandError> {
    let ignored = ignored(&std::fs::read_to_string("/proc/self/status").unwrap_or_default());
    match ignored & mask_of(kind.as_raw_value()) {
        0 => listen(kind).map(Some),
        _ => Ok(None),
    }
}

/// Waits for one that is listened for, else for ever.
pub(crate) async fn heard(signal: &mut Option<Signal>) {
    match signal {
        Some(signal) => drop(signal.recv().await),
        None => std::future::pending().await,
    }
}

/// The signals that a process ignores, a bit for each, from what the system says of it.
fn ignored(status: &str) -> u64 {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or_default()
}

fn mask_of(signal: i32) -> u64 {
    1 << (signal - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_ignored_is_known() {
        let status = "Name:\tx\nSigBlk:\t0000000000000000\nSigIgn:\t0000000000001003\n";
        assert_eq!(ignored(status), mask_of(1) | mask_of(2) | mask_of(13));
        assert_eq!(ignored(""), 0);
    }
}
