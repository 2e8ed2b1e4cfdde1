//! Which program serves as the spawner, and the two hidden entries by which it does.
//!
//! What a spawner does once it runs is in `serve.rs`.

use std::ffi::{CStr, OsStr};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::{limited, serve};

/// The first argument of a program that shall serve as spawner.
const SPAWNER: &str = "--tidewheel-spawner";

/// The first argument of a program that shall limit itself and become another.
pub(super) const LIMITED: &CStr = c"--tidewheel-limited";

/// The program that is running now. The link still works when the file was replaced or deleted by an
/// upgrade.
pub(super) const THIS_PROGRAM: &CStr = c"/proc/self/exe";

/// Set for a spawner, so that a program which does not know how to be one does not start another.
const GUARD: &str = "TIDEWHEEL_SPAWNER";

/// The program that starts all children.
///
/// A small process of its own does it, for three reasons: a process with few pages and no threads
/// starts children cheaply, it can adopt orphans without changing anything in ours, and when we
/// die, by whatever cause, it sees its socket close and ends what we started.
#[derive(Debug, Clone, Default)]
pub struct Spawner {
    program: Option<PathBuf>,
    /// Descriptors that children may have, if not as many as this process.
    descriptors: Option<u64>,
    /// One that was started before anybody needed it.
    ahead: Arc<Mutex<Option<Started>>>,
}

/// One that was started ahead makes no difference.
impl PartialEq for Spawner {
    fn eq(&self, other: &Self) -> bool {
        (&self.program, self.descriptors) == (&other.program, other.descriptors)
    }
}

impl Eq for Spawner {}

impl Spawner {
    /// The program that is running now. Its `main` must call [`serve_if_spawner`] first.
    #[must_use]
    pub fn this_program() -> Self {
        Self::default()
    }

    /// Another program whose `main` calls [`serve_if_spawner`] first, such as `tidewheel`. It must
    /// be of the same version.
    #[must_use]
    pub fn program(path: impl Into<PathBuf>) -> Self {
        Self { program: Some(path.into()), ..Self::default() }
    }

    /// How many descriptors children may have before they ask for more, the soft limit. As many as this
    /// process unless set: for programs that have raised their own.
    #[must_use]
    pub fn descriptors(mut self, soft: u64) -> Self {
        self.descriptors = Some(soft);
        self
    }

    /// Starts it ahead of the first command, while other things are done: whoever of its clones needs it first, has it.
    /// If that fails, it is started when it is needed, and whoever needs it is told.
    pub fn start_ahead(&self) {
        let mut ahead = self.ahead();
        if ahead.is_none() {
            *ahead = self.launch().ok();
        }
    }

    pub(super) fn path(&self) -> io::Result<PathBuf> {
        match &self.program {
            Some(path) => Ok(path.clone()),
            None => Ok(PathBuf::from(OsStr::from_bytes(THIS_PROGRAM.to_bytes()))),
        }
    }

    /// The one that was started ahead, if there is one and it lives.
    pub(super) fn take_ahead(&self) -> Option<Started> {
        let mut ahead = self.ahead().take()?;
        (!ahead.child.has_ended()).then_some(ahead)
    }

    fn ahead(&self) -> MutexGuard<'_, Option<Started>> {
        self.ahead.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts it. Requests go over a socket, because descriptors go with them; reports come by a pipe.
    pub(super) fn launch(&self) -> io::Result<Started> {
        if std::env::var_os(GUARD).is_some() {
            return Err(io::Error::other(
                "this program was started as a spawner, but its main does not begin with \
                 serve_if_spawner()",
            ));
        }
        let (ours, theirs) = UnixStream::pair()?;
        ours.set_nonblocking(true)?;
        let (reports, tell) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
        let child = Command::new(self.path()?)
            .arg(SPAWNER)
            .args(self.descriptors.map(|soft| soft.to_string()))
            .env(GUARD, "1")
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::from(tell))
            .stderr(Stdio::null())
            .spawn()?;
        let child = Reaped { child: Some(child) };
        Ok(Started { child, requests: ours, reports })
    }
}

/// A spawner that was started, and our ends of what connects us. It goes when they are closed.
#[derive(Debug)]
pub(super) struct Started {
    pub child: Reaped,
    pub requests: UnixStream,
    pub reports: OwnedFd,
}

/// The spawner as a child of ours: waited for once its socket is closed, lest it stay a zombie.
#[derive(Debug)]
pub(super) struct Reaped {
    child: Option<Child>,
}

impl Reaped {
    pub(super) fn kill(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
        }
    }

    fn has_ended(&mut self) -> bool {
        self.child.as_mut().is_none_or(|child| !matches!(child.try_wait(), Ok(None)))
    }
}

impl Drop for Reaped {
    fn drop(&mut self) {
        let Some(mut child) = self.child.take() else { return };
        if let Ok(None) = child.try_wait() {
            // It may have trees to end first, and this must not block.
            let _ = std::thread::Builder::new().spawn(move || child.wait());
        }
    }
}

/// Serves as spawner and ends the process, if that is what this process was started for; does
/// nothing otherwise. To be called first in `main`, before any thread starts.
///
/// ```
/// // The first line of `main`.
/// tidewheel::executor::process::serve_if_spawner();
/// ```
pub fn serve_if_spawner() {
    let mut arguments = std::env::args_os().skip(1);
    match arguments.next() {
        Some(first) if first == SPAWNER => {
            if let Some(soft) = arguments.next() {
                limit_descriptors(&soft);
            }
            let code = i32::from(serve::serve().is_err());
            std::process::exit(code);
        }
        Some(first) if first.as_bytes() == LIMITED.to_bytes() => limited::become_limited(arguments),
        _ => {}
    }
}

/// The limit of this process is that of its children. What it has open already stays open.
fn limit_descriptors(soft: &OsStr) {
    let Some(soft) = soft.to_str().and_then(|soft| soft.parse().ok()) else { return };
    let limit = getrlimit(Resource::Nofile);
    // Lower is always allowed.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(soft), ..limit });
}
