//! [`Gate`]: a FIFO that holds processes until the test opens it.
//!
//! Futures of a test wait for a channel instead; nothing here polls.

use std::fs::{File, OpenOptions, Permissions, set_permissions};
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, mknodat};

/// Bytes written by [`Gate::open`]: each process that passes reads one.
const PASSAGES: usize = 4096;

/// A gate for shell steps, which wait for it with [`Gate::wait`].
///
/// A held step is a single process that sleeps in `read`. A polling loop would fork, which a step under test of process
/// limits cannot.
#[derive(Debug)]
pub struct Gate {
    path: PathBuf,
    // Open for both directions, so neither side blocks on open.
    file: File,
}

impl Gate {
    /// Creates a closed gate at this path.
    pub fn new(path: &Path) -> Self {
        mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        // Steps may run as another user.
        set_permissions(path, Permissions::from_mode(0o644)).unwrap();
        let file = OpenOptions::new().read(true).write(true).open(path).unwrap();
        Self { path: path.to_owned(), file }
    }

    /// Returns the shell command that waits until the gate is open.
    pub fn wait(&self) -> String {
        format!("read -r _ < {}", self.path.display())
    }

    /// Releases all waiting processes, and later ones.
    pub fn open(&self) {
        (&self.file).write_all(&[b'\n'; PASSAGES]).unwrap();
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::Gate;
    use crate::temp_folder;

    #[test]
    fn gate_holds_processes_until_it_opens() {
        let folder = temp_folder("gate");
        let gate = Gate::new(&folder.path().join("gate"));
        let start = || Command::new("sh").args(["-ec", &gate.wait()]).spawn().unwrap();
        let mut held = [start(), start()];
        for child in &mut held {
            assert!(child.try_wait().unwrap().is_none());
        }
        gate.open();
        for mut child in held.into_iter().chain([start()]) {
            assert!(child.wait().unwrap().success());
        }
    }
}
