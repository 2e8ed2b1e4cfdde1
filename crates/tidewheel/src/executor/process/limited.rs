//! The step between the spawner and a limited child: limits itself, then becomes the program.
//!
//! Which limits there are is in `limits.rs`. Limits can be set only by the process they are for,
//! before its program starts, and running code between fork and exec is unsafe; so this program
//! is started first. Its standard input is a socket that brings the limits and the real standard
//! input, and takes back what went wrong; it closes when the program starts.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use super::limits::{Limit, Limits};
use super::wire::{self, Descriptors, Refusal};

/// The spawner's end of it.
#[derive(Debug)]
pub(super) struct Control {
    socket: UnixStream,
}

impl Control {
    /// Prepares the socket that tells the limits and hands on the real input; the second end is to be
    /// the standard input of the step.
    pub(super) fn prepare(limits: &Limits, input: Option<OwnedFd>) -> io::Result<(Self, OwnedFd)> {
        let (ours, theirs) = UnixStream::pair()?;
        let input = match input {
            Some(input) => input,
            None => std::fs::File::open("/dev/null")?.into(),
        };
        let bytes = limits.encode();
        if wire::send(&ours, &bytes, &[input.as_fd()])? != bytes.len() {
            return Err(io::Error::other("limits did not fit into an empty socket"));
        }
        Ok((Self { socket: ours }, theirs.into()))
    }

    /// What kept the program from starting; asked once the child has ended.
    pub(super) fn refusal(mut self) -> Option<Refusal> {
        self.socket.set_nonblocking(true).ok()?;
        let mut bytes = Vec::new();
        // A process of the tree cannot hold the other end, so this ends at once.
        let _ = self.socket.read_to_end(&mut bytes);
        Refusal::decode(&bytes)
    }
}

/// Never returns: becomes the program, or says why not and exits.
pub(super) fn become_limited(mut arguments: impl Iterator<Item = OsString>) -> ! {
    let (mut socket, refusal) = limited(&mut arguments);
    let _ = socket.write_all(&refusal.encode());
    std::process::exit(127);
}

/// Returns only if the program does not start.
fn limited(arguments: &mut dyn Iterator<Item = OsString>) -> (UnixStream, Refusal) {
    // The copy closes when the program starts; the original is replaced by the real input.
    let Ok(copy) = io::stdin().as_fd().try_clone_to_owned() else { std::process::exit(127) };
    let socket = UnixStream::from(copy);
    let mut descriptors = Descriptors::new();
    let mut buffer = [0; 256];
    let received = wire::receive(&socket, &mut buffer, &mut descriptors).unwrap_or(0);
    let limits = Limits::decode(&buffer[..received]);
    let input = descriptors.pop_front().and_then(|mut came| came.pop());
    let (Some(limits), Some(input)) = (limits, input) else {
        return (socket, Refusal::Descriptors);
    };
    let (Some(program), Some(name)) = (arguments.next(), arguments.next()) else {
        return (socket, Refusal::Program { errno: 0 });
    };
    let mut command = Command::new(program);
    command.arg0(name).args(arguments).stdin(Stdio::from(input));
    if let Err((limit, why)) = limits.apply() {
        return (socket, Refusal::Limit { limit, why });
    }
    let error = command.exec();
    let out_of_memory = error.raw_os_error() == Some(rustix::io::Errno::NOMEM.raw_os_error());
    if limits.memory.is_some() && out_of_memory {
        let why = "too small to start the program".to_owned();
        return (socket, Refusal::Limit { limit: Limit::Memory, why });
    }
    (socket, Refusal::Program { errno: error.raw_os_error().unwrap_or(0) })
}
