//! Starts one child of the spawner: its descriptors, its folder, its group and its signals.
//!
//! When that is done is in `serve.rs`.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use nix::errno::Errno;
use nix::spawn::{PosixSpawnAttr, PosixSpawnFileActions, PosixSpawnFlags, posix_spawn};
use nix::sys::signal::SigSet;
use nix::unistd::Pid;
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::process::{chdir, fchdir};

use super::limited::Control;
use super::spawner::{LIMITED, THIS_PROGRAM};
use super::wire::{Refusal, SpawnRequest};

/// What all children have in common.
pub(super) struct Starter {
    attributes: PosixSpawnAttr,
    /// Where the spawner itself is, and children for which nothing else was said.
    home: OwnedFd,
}

impl Starter {
    pub(super) fn new() -> io::Result<Self> {
        let mut attributes = PosixSpawnAttr::init()?;
        let flags = [
            PosixSpawnFlags::POSIX_SPAWN_SETPGROUP,
            PosixSpawnFlags::POSIX_SPAWN_SETSIGDEF,
            PosixSpawnFlags::POSIX_SPAWN_SETSIGMASK,
        ];
        attributes.set_flags(flags.into_iter().collect())?;
        // A group of its own.
        attributes.set_pgroup(Pid::from_raw(0))?;
        // Said of all signals, the system library need not look at each of them first.
        attributes.set_sigdefault(&SigSet::all())?;
        attributes.set_sigmask(&SigSet::empty())?;
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self { attributes, home: openat(CWD, c".", flags, Mode::empty())? })
    }

    /// Starts a child with the descriptors that came for it. Gives its number.
    pub(super) fn start(
        &self,
        request: &SpawnRequest<'_>,
        came: Vec<OwnedFd>,
    ) -> Result<(i32, Option<Control>), Refusal> {
        let mut came = came.into_iter();
        let mut streams = request.has.map(|has| if has { came.next() } else { None });
        let text = |bytes: &[u8]| CString::new(bytes).map_err(|_| refused(Errno::EINVAL));
        let mut program = text(request.program)?;
        let argv = request.argv.iter().map(|argument| text(argument));
        let mut argv: Vec<CString> = argv.collect::<Result<_, _>>()?;
        let variables = request.environment.iter();
        let variables = variables.map(|(name, value)| text(&[name, &b"="[..], value].concat()));
        let environment: Vec<CString> = variables.collect::<Result<_, _>>()?;

        let mut control = None;
        if let Some(limits) = &request.limits {
            let prepared = Control::prepare(limits, streams[0].take());
            let (ours, theirs) = prepared.map_err(|_| Refusal::Descriptors)?;
            (control, streams[0]) = (Some(ours), Some(theirs));
            argv.splice(0..0, [THIS_PROGRAM.to_owned(), LIMITED.to_owned(), program]);
            program = THIS_PROGRAM.to_owned();
        }

        let mut actions = PosixSpawnFileActions::init().map_err(refused)?;
        for (stream, number) in streams.iter().zip(0..) {
            // Without one the child has ours, which is nothing.
            if let Some(stream) = stream {
                actions.add_dup2(stream.as_raw_fd(), number).map_err(refused)?;
            }
        }
        let spawn =
            || posix_spawn(program.as_c_str(), &actions, &self.attributes, &argv, &environment);
        let pid = self.within(request.cwd, spawn)?.map_err(refused)?;
        Ok((pid.as_raw(), control))
    }

    /// Goes to a folder for as long as it takes to do something there: a child is where its parent was.
    fn within<T>(&self, folder: Option<&[u8]>, work: impl FnOnce() -> T) -> Result<T, Refusal> {
        let Some(folder) = folder else { return Ok(work()) };
        chdir(folder).map_err(|error| Refusal::Directory { errno: error.raw_os_error() })?;
        let done = work();
        let _ = fchdir(&self.home);
        Ok(done)
    }
}

fn refused(errno: Errno) -> Refusal {
    Refusal::Program { errno: errno as i32 }
}
