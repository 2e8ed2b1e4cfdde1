//! [`Bell`]: rings when somebody may have written to the database, so that nobody needs to look again and again.
//!
//! What was written is found out by whoever hears it. Where the system does not tell of changes there is no bell.

#[cfg(not(target_os = "linux"))]
use elsewhere::Listening;
#[cfg(target_os = "linux")]
use linux::Listening;

use super::folder::DataFolder;

/// Rings when somebody may have written to the database of a folder, as long as it is there. Made by [`DataFolder::bell`].
#[derive(Debug)]
pub struct Bell {
    _listening: Listening,
}

impl DataFolder {
    /// Has `ring` called when somebody may have written to the database, for as long as the bell is kept; `None` where the
    /// system does not tell of that. It rings for what this process writes too, at most twenty times a second, on a thread
    /// of its own. Who must not miss anything looks from time to time all the same.
    #[must_use]
    pub fn bell(&self, ring: impl Fn() + Send + 'static) -> Option<Bell> {
        let listening = Listening::begin(self.database(), ring).ok()?;
        Some(Bell { _listening: listening })
    }
}

#[cfg(not(target_os = "linux"))]
mod elsewhere {
    use std::io;
    use std::path::Path;

    /// Nobody tells.
    #[derive(Debug)]
    pub(super) enum Listening {}

    impl Listening {
        pub fn begin(_: &Path, _: impl Fn() + Send + 'static) -> io::Result<Self> {
            Err(io::ErrorKind::Unsupported.into())
        }
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use std::io;
    use std::mem::MaybeUninit;
    use std::os::fd::OwnedFd;
    use std::path::{Path, PathBuf};
    use std::thread::{self, JoinHandle};
    use std::time::Duration;

    use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
    use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
    use rustix::io::Errno;

    use crate::store::sqlite::connection::with_suffix;

    /// How long it is silent after it rang: whoever writes much is heard once.
    const SILENCE: Duration = Duration::from_millis(50);

    /// How often it rings when the system does not say any more whether it should.
    const BLIND: Duration = Duration::from_millis(50);

    /// Room for some events; they all say the same.
    const EVENTS_BYTES: usize = 1024;

    /// A thread that listens.
    #[derive(Debug)]
    pub(super) struct Listening {
        enough: OwnedFd,
        thread: Option<JoinHandle<()>>,
    }

    impl Listening {
        pub fn begin(database: &Path, ring: impl Fn() + Send + 'static) -> io::Result<Self> {
            let enough = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
            let mut ear = Ear {
                // Every commit is written to the log first; the file stays as long as anybody has the database open.
                path: with_suffix(database, "-wal"),
                told: inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?,
                is_watching: false,
            };
            ear.watch()?;
            let until = enough.try_clone()?;
            let builder = thread::Builder::new().name("tidewheel-bell".to_owned());
            let thread = Some(builder.spawn(move || ear.listen(&until, ring))?);
            Ok(Self { enough, thread })
        }
    }

    impl Drop for Listening {
        fn drop(&mut self) {
            // A counter that is full has been written to.
            let _ = rustix::io::write(&self.enough, &1_u64.to_ne_bytes());
            if let Some(thread) = self.thread.take() {
                let _ = thread.join();
            }
        }
    }

    struct Ear {
        path: PathBuf,
        told: OwnedFd,
        is_watching: bool,
    }

    impl Ear {
        fn watch(&mut self) -> io::Result<()> {
            inotify::add_watch(&self.told, &self.path, WatchFlags::MODIFY)?;
            self.is_watching = true;
            Ok(())
        }

        fn listen(mut self, until: &OwnedFd, ring: impl Fn()) {
            loop {
                let has_ended = match self.is_watching {
                    true => is_over(until, Some(&self.told), None),
                    false => is_over(until, None, Some(BLIND)),
                };
                if has_ended {
                    return;
                }
                self.take_in();
                ring();
                if is_over(until, None, Some(SILENCE)) {
                    return;
                }
            }
        }

        /// Takes in everything that the system has said so far.
        fn take_in(&mut self) {
            let mut room = [MaybeUninit::uninit(); EVENTS_BYTES];
            let mut events = inotify::Reader::new(&self.told, &mut room);
            loop {
                match events.next() {
                    // The file is gone, and another one may be in its place.
                    Ok(event) if event.events().contains(ReadFlags::IGNORED) => {
                        self.is_watching = false;
                    }
                    Ok(_) | Err(Errno::INTR) => {}
                    Err(_) => break,
                }
            }
            if !self.is_watching {
                // If it cannot be watched now, it can perhaps the next time.
                let _ = self.watch();
            }
        }
    }

    /// Waits until nobody wants to hear any more, something is told, or so much time has passed; whether it was the first.
    fn is_over(until: &OwnedFd, told: Option<&OwnedFd>, at_most: Option<Duration>) -> bool {
        let ears = [until].into_iter().chain(told);
        let mut ears: Vec<PollFd<'_>> = ears.map(|ear| PollFd::new(ear, PollFlags::IN)).collect();
        let time = at_most.map(|time| Timespec {
            tv_sec: time.as_secs().cast_signed(),
            tv_nsec: time.subsec_nanos().into(),
        });
        match poll(&mut ears, time.as_ref()) {
            Ok(_) => !ears[0].revents().is_empty(),
            Err(Errno::INTR) => false,
            // Whoever wants to hear looks from time to time in any case.
            Err(_) => true,
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test")]

    use std::sync::mpsc;

    use super::*;
    use crate::store::sqlite::Options;

    #[test]
    fn it_rings_when_somebody_else_writes_and_is_silent_when_it_is_gone() {
        let scratch = tidewheel_testing::temp_folder("bell");
        let path = scratch.path().join("data");
        let folder = DataFolder::open(&path, Options::default()).unwrap();
        let (told, rung) = mpsc::channel();
        let bell = folder.bell(move || _ = told.send(())).unwrap();
        let other = DataFolder::open(&path, Options::default()).unwrap();
        let write = |word: &str| {
            let sql = "INSERT INTO meta (key, value) VALUES (?1, '')";
            other.connect().unwrap().execute(sql, [word]).unwrap();
        };
        // What is behind is heard together, what comes later again.
        for word in ["one", "two"] {
            while rung.try_recv().is_ok() {}
            write(word);
            rung.recv_timeout(tidewheel_testing::patience()).unwrap();
        }
        drop(bell);
        assert!(rung.iter().count() < 10, "whoever rang is gone, or this would never end");
    }
}
