//! [`Diary`]: what is done about a package and what its registry says to it, as the log of its task.
//!
//! How far a package has come is in its [journal](super::journal), which decides what is done next; nobody decides anything
//! by what is written here.

use std::collections::HashMap;
use std::fmt;
use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::sync::{Mutex, OnceLock, PoisonError};

use tidewheel::clock::wall_clock;
use tidewheel::file::make_private_folder;
use tidewheel::id::TaskId;
use tidewheel::store::log_file;

/// What is written about the packages of a process.
#[derive(Debug, Default)]
pub(super) struct Diary {
    /// The folder of logs, once somebody has said which; nothing is written before.
    folder: OnceLock<PathBuf>,
    /// The last line of each: what is the same at each look is written once.
    last: Mutex<HashMap<TaskId, String>>,
}

impl Diary {
    /// Writes into this folder from now on. The first word counts.
    pub fn keep_in(&self, folder: PathBuf) {
        let _ = self.folder.set(folder);
    }

    /// Writes a line with the time into the log of a package. A log that cannot be written is no reason to publish nothing.
    pub fn tell(&self, task: TaskId, what: impl fmt::Display) {
        let Some(folder) = self.folder.get() else { return };
        let what = what.to_string().lines().map(str::trim).collect::<Vec<_>>().join(" ");
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.get(&task) == Some(&what) {
            return;
        }
        let _ = append(&folder.join(log_file(task, 1, "out")), &what);
        last.insert(task, what);
    }
}

/// One write a line: whoever reads meanwhile sees whole ones.
fn append(path: &std::path::Path, what: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        make_private_folder(folder)?;
    }
    let mut options = OpenOptions::new();
    options.create(true).append(true);
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)?.write_all(format!("{}  {what}\n", wall_clock()).as_bytes())
}

#[cfg(test)]
mod tests {
    use tidewheel_testing::temp_folder;

    use super::*;

    #[test]
    fn what_is_the_same_at_each_look_is_written_once() {
        let folder = temp_folder("diary");
        let task = TaskId { run: tidewheel::RunId(8), index: 3 };
        let diary = Diary::default();
        diary.tell(task, "before anybody said where");
        diary.keep_in(folder.path().to_owned());
        for line in [
            "it cannot be seen yet",
            "it cannot be seen yet",
            "500\nof many",
            "it cannot be seen yet",
        ] {
            diary.tell(task, line);
        }
        let text = std::fs::read_to_string(folder.path().join(log_file(task, 1, "out"))).unwrap();
        let said: Vec<&str> =
            text.lines().filter_map(|line| Some(line.split_once("  ")?.1)).collect();
        assert_eq!(
            said,
            ["it cannot be seen yet", "500 of many", "it cannot be seen yet"],
            "{text}"
        );
    }
}
