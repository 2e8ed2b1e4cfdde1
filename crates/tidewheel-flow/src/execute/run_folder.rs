//! [`RunFolder`]: a folder that the steps of a run share, kept as long as the run is.
//!
//! ```text
//! runs/<run>/work                       what steps keep there: $TIDEWHEEL_RUN_DIR
//! runs/<run>/<task>-<attempt>.output    what an attempt writes for others: $TIDEWHEEL_OUTPUT
//! ```
//!
//! What is in the second is understood in `written`. That all of it goes with the run is seen to by the data
//! folder.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Component, Path, PathBuf};

use serde_json::{Map, Value as Json};
use tidewheel::executor::process::ProcessCommand;
use tidewheel::{Attempt, RunId};

use super::end::Trouble;
use super::runner::FlowRunner;
use super::written;

/// Where steps keep files for each other.
const WORK: &str = "work";

/// The folder of a run.
#[derive(Debug)]
pub(super) struct RunFolder {
    folder: PathBuf,
}

impl FlowRunner {
    /// The folder of the run, made when the first process needs it; `None` if nothing is kept.
    pub(super) async fn run_folder(&self, run: RunId) -> Result<Option<&RunFolder>, Trouble> {
        let Some(runs) = &self.means.runs else { return Ok(None) };
        let make = || async {
            let (runs, run, earlier) = (runs.clone(), run.to_string(), self.earlier.clone());
            let make = move || RunFolder::make(&runs, &run, earlier.as_deref());
            tokio::task::spawn_blocking(make).await.map_err(io::Error::other)?
        };
        let folder = self.folder.get_or_try_init(make).await;
        folder.map(Some).map_err(|error| {
            Trouble::passing(format!("the folder of the run cannot be made: {error}"))
        })
    }

    /// Removes the folder of a run that has ended if nothing is in it.
    pub(crate) async fn leave_folder(&self) {
        let Some(folder) = self.folder.get() else { return };
        let folder = folder.folder.clone();
        let leave = move || {
            let _ = fs::remove_dir(folder.join(WORK));
            let _ = fs::remove_dir(folder);
        };
        let _ = tokio::task::spawn_blocking(leave).await;
    }
}

impl RunFolder {
    /// The folder of a run. What `earlier` kept, whose results are used again, is there too.
    fn make(runs: &Path, run: &str, earlier: Option<&str>) -> io::Result<Self> {
        let folder = Self { folder: runs.join(run) };
        let work = folder.folder.join(WORK);
        if fs::symlink_metadata(&work).is_ok_and(|found| found.is_dir()) {
            return Ok(folder);
        }
        private().recursive(true).create(&folder.folder)?;
        let earlier = earlier.and_then(plain).map(|run| runs.join(run).join(WORK));
        match earlier.filter(|earlier| earlier.is_dir()) {
            // It is there as a whole or not at all, whenever we are killed.
            Some(earlier) => {
                let part = folder.folder.join("work.part");
                let _ = fs::remove_dir_all(&part);
                copy(&earlier, &part)?;
                fs::rename(part, work)?;
            }
            None => private().create(work)?,
        }
        Ok(folder)
    }

    /// A command that knows the folder and its own file for outputs.
    pub fn given_to(&self, command: ProcessCommand, attempt: &Attempt) -> ProcessCommand {
        let output = self.output_of(attempt);
        // Of an attempt that a copy of the folder knows, and that was made again.
        let _ = fs::remove_file(&output);
        command
            .variable("TIDEWHEEL_RUN_DIR", self.folder.join(WORK))
            .variable("TIDEWHEEL_OUTPUT", output)
    }

    /// What an attempt wrote for others. Its file is gone then.
    pub async fn taken_from(
        &self,
        attempt: &Attempt,
        bytes_max: u64,
    ) -> Result<Map<String, Json>, Trouble> {
        let path = self.output_of(attempt);
        // Most write nothing.
        if fs::symlink_metadata(&path).is_err() {
            return Ok(Map::new());
        }
        let take = move || {
            let taken = written::read(&path, bytes_max);
            let _ = fs::remove_file(path);
            taken
        };
        let taken = tokio::task::spawn_blocking(take).await;
        let taken = taken.map_err(|error| Trouble::passing(error.to_string()))?;
        taken.map_err(|error| Trouble::permanent(format!("$TIDEWHEEL_OUTPUT: {error}")))
    }

    /// Removes what an attempt wrote that does not count.
    pub fn drop_output(&self, attempt: &Attempt) {
        let _ = fs::remove_file(self.output_of(attempt));
    }

    fn output_of(&self, attempt: &Attempt) -> PathBuf {
        self.folder.join(format!("{}-{}.output", attempt.id().index, attempt.number()))
    }
}

fn private() -> DirBuilder {
    let mut builder = DirBuilder::new();
    builder.mode(0o700);
    builder
}

/// The name of a folder, if it leads nowhere else.
fn plain(name: &str) -> Option<&str> {
    let mut parts = Path::new(name).components();
    let is_plain = matches!((parts.next(), parts.next()), (Some(Component::Normal(_)), None));
    is_plain.then_some(name)
}

/// Copies a folder with all that is in it. Links stay links; what is neither file nor folder is left out.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let mut left = vec![(from.to_owned(), to.to_owned())];
    while let Some((from, to)) = left.pop() {
        private().create(&to)?;
        for entry in fs::read_dir(&from)? {
            let entry = entry?;
            let (kind, to) = (entry.file_type()?, to.join(entry.file_name()));
            if kind.is_dir() {
                left.push((entry.path(), to));
            } else if kind.is_symlink() {
                std::os::unix::fs::symlink(fs::read_link(entry.path())?, to)?;
            } else if kind.is_file() {
                fs::copy(entry.path(), to)?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn the_folder_of_an_earlier_run_is_copied_once_and_its_links_stay_links() {
        let runs = std::env::temp_dir().join(format!("tidewheel-runs-{}", std::process::id()));
        let first = RunFolder::make(&runs, "a", None).unwrap().folder.join(WORK);
        fs::create_dir(first.join("deep")).unwrap();
        fs::write(first.join("deep/x"), "1").unwrap();
        symlink("/etc/hostname", first.join("link")).unwrap();
        let second = RunFolder::make(&runs, "b", Some("a")).unwrap().folder.join(WORK);
        assert_eq!(fs::read(second.join("deep/x")).unwrap(), b"1");
        assert_eq!(fs::read_link(second.join("link")).unwrap(), Path::new("/etc/hostname"));
        assert_eq!(fs::metadata(&second).unwrap().permissions().mode() & 0o777, 0o700);
        // It is another file, and a run that goes on finds what it had.
        fs::write(second.join("deep/x"), "2").unwrap();
        assert_eq!(fs::read(first.join("deep/x")).unwrap(), b"1");
        RunFolder::make(&runs, "b", Some("a")).unwrap();
        assert_eq!(fs::read(second.join("deep/x")).unwrap(), b"2");
        // Nothing is taken from elsewhere, and what is gone is no trouble.
        for earlier in ["../b", "/etc", "gone", ""] {
            let made = RunFolder::make(&runs, "c", Some(earlier)).unwrap().folder;
            assert_eq!(fs::read_dir(made.join(WORK)).unwrap().count(), 0, "{earlier}");
            fs::remove_dir_all(made).unwrap();
        }
        fs::remove_dir_all(runs).unwrap();
    }
}
