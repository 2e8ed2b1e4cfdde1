//! What commands run on: a tokio runtime, and the descriptors that many steps at once need.
//!
//! What is done on it is each command's own business.

use std::fs::File;
use std::io;
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::runtime::{Builder, Runtime};

use crate::error::CommandError;

/// Threads that every command can do with: one that works, those that wait for files.
const THREADS: usize = 4;
/// Descriptors that no command gets by without.
const DESCRIPTORS_MIN: usize = 12;
/// Descriptors that are asked for, where the system would give more.
const DESCRIPTORS_MAX: u64 = 65_536;

/// Does something on what runs are carried out on, and waits a little for what it has left behind. One
/// thread is enough to start processes and to hear of their ends.
pub(crate) fn on_runtime<T>(
    work: impl Future<Output = Result<T, CommandError>>,
) -> Result<T, CommandError> {
    on_runtime_in(Room::look(), work)
}

/// The same where the room for it was looked for before.
pub(crate) fn on_runtime_in<T>(
    room: Room,
    work: impl Future<Output = Result<T, CommandError>>,
) -> Result<T, CommandError> {
    let mut builder = Builder::new_multi_thread();
    let runtime = build(room, builder.worker_threads(1).max_blocking_threads(16))?;
    let done = runtime.block_on(work);
    runtime.shutdown_timeout(Duration::from_secs(5));
    done
}

/// Does something that is soon done, on the thread of whoever asks.
pub(crate) fn on_this_thread<T>(
    work: impl Future<Output = Result<T, CommandError>>,
) -> Result<T, CommandError> {
    build(Room::look(), &mut Builder::new_current_thread())?.block_on(work)
}

fn build(room: Room, builder: &mut Builder) -> Result<Runtime, CommandError> {
    let room = room.found().and_then(|()| check_descriptors());
    room.and_then(|()| builder.enable_all().build()).map_err(CommandError::system)
}

/// Looks for the threads that a runtime needs, while other things are done: a runtime that gets no thread or
/// descriptor panics, and says nothing that helps. So it is tried first.
pub(crate) struct Room(io::Result<JoinHandle<io::Result<()>>>);

impl Room {
    /// Begins to look.
    pub fn look() -> Self {
        // The thread that looks is one of them.
        Self(thread::Builder::new().spawn(|| check_threads(THREADS - 1)))
    }

    fn found(self) -> io::Result<()> {
        let looked = self.0?.join();
        looked.unwrap_or_else(|_| Err(io::Error::other("the look for threads panicked")))
    }
}

fn check_threads(threads: usize) -> io::Result<()> {
    let mut ends = Vec::new();
    for _ in 0..threads {
        let (end, ended) = mpsc::channel::<()>();
        ends.push(end);
        // It waits for the others, and goes when all were there.
        thread::Builder::new().spawn(move || ended.recv().is_err())?;
    }
    Ok(())
}

fn check_descriptors() -> io::Result<()> {
    let opened = (0..DESCRIPTORS_MIN).map(|_| File::open("/dev/null"));
    opened.collect::<io::Result<Vec<File>>>().map(drop)
}

/// Lets this process have as many descriptors as the system allows it, within reason: each step that runs
/// takes three. Gives how many it had, which is what its children are to have: programs that are older than
/// such numbers go wrong with more.
pub(crate) fn raise_descriptors() -> Option<u64> {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let before = current?;
    let wanted = maximum.unwrap_or(DESCRIPTORS_MAX).min(DESCRIPTORS_MAX);
    if wanted <= before {
        return None;
    }
    let raised = Rlimit { current: Some(wanted), maximum };
    setrlimit(Resource::Nofile, raised).ok().map(|()| before)
}
