//! Signals as wishes about the run that is watched.
//!
//! Those of job control are the terminal's, in `live/`.

use anyhow::anyhow;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::error::CommandError;

/// What a signal asks for.
#[derive(Debug, Clone, Copy)]
pub(super) enum Wish {
    Pause,
    Resume,
    /// End the run; the number of the signal says how the process ends.
    End(u8),
}

pub(super) struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
    pause: Signal,
    resume: Signal,
}

impl Signals {
    pub fn new() -> Result<Self, CommandError> {
        let listen = |kind| signal(kind).map_err(|error| CommandError::internal(anyhow!(error)));
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            hang_up: listen(SignalKind::hangup())?,
            pause: listen(SignalKind::user_defined1())?,
            resume: listen(SignalKind::user_defined2())?,
        })
    }

    pub async fn next(&mut self) -> Wish {
        tokio::select! {
            _ = self.interrupt.recv() => Wish::End(2),
            _ = self.terminate.recv() => Wish::End(15),
            _ = self.hang_up.recv() => Wish::End(1),
            _ = self.pause.recv() => Wish::Pause,
            _ = self.resume.recv() => Wish::Resume,
        }
    }
}
