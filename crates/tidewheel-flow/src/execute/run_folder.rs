//! [`RunFolder`]: a folder that the steps of a run share, kept as long as the run is.
//!
//! ```text
//! runs/<run>/work                       what steps keep there: $TIDEWHEEL_RUN_DIR
//! runs/<run>/artifacts                  what stays with the run, see `artifacts`
//! runs/<run>/<task>-<attempt>.output    what an attempt writes for others: $TIDEWHEEL_OUTPUT
//! ```
//!
//! What is in the last is understood in `written`. That all of it goes with the run is seen to by the data
//! folder.

use std::fmt;
use std::fs::{self, File};
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::io::Errno;
use serde_json::{Map, Value as Json};
use tidewheel::executor::process::ProcessCommand;
use tidewheel::file::make_private_folder;
use tidewheel::{Attempt, RunId};

use super::artifacts::key_of;
use super::end::Trouble;
use super::process::ROOM_AGAIN;
use super::runner::FlowRunner;
use super::written;

/// Where steps keep files for each other.
pub(super) const WORK: &str = "work";
/// Where what stays with the run is.
pub(super) const ARTIFACTS: &str = "artifacts";

/// A run whose results are used again.
#[derive(Debug, Clone)]
pub(crate) struct Earlier {
    pub run: String,
    /// The tasks that are not done again.
    pub tasks: Vec<String>,
}

/// The folder of a run.
#[derive(Debug, Clone)]
pub(super) struct RunFolder {
    folder: PathBuf,
    /// It was made here: nothing is in it but what attempts of this runner leave.
    is_new: bool,
    /// What of an earlier run could not be read, until a step has told of it.
    unread: Arc<Mutex<Vec<PathBuf>>>,
}

impl FlowRunner {
    /// The folder of the run, made when the first process needs it; `None` if nothing is kept.
    pub(super) async fn run_folder(&self, run: RunId) -> Result<Option<&RunFolder>, Trouble> {
        let Some(runs) = &self.means.runs else { return Ok(None) };
        let make = || async {
            let run = run.to_string();
            let Some(earlier) = self.earlier.clone() else {
                // Two folders are made sooner than a thread.
                return RunFolder::make(runs, &run, None);
            };
            let runs = runs.clone();
            let make = move || RunFolder::make(&runs, &run, Some(&earlier));
            tokio::task::spawn_blocking(make).await.map_err(io::Error::other)?
        };
        let folder = self.folder.get_or_try_init(make).await;
        folder.map(Some).map_err(|error| {
            Trouble::passing(format!("the folder of the run cannot be made: {error}"))
        })
    }

    /// Takes over what an earlier run kept, also if nothing of this one needs a folder. Should that fail, the
    /// first step that needs it says so.
    pub(crate) async fn take_over_folder(&self, run: RunId) {
        if self.earlier.is_some() {
            let _ = self.run_folder(run).await;
        }
    }

    /// Removes the folder of a run that has ended if nothing is in it.
    pub(crate) fn leave_folder(&self) {
        let Some(RunFolder { folder, .. }) = self.folder.get() else { return };
        let _ = fs::remove_dir(folder.join(WORK));
        let _ = fs::remove_dir(folder.join(ARTIFACTS));
        let _ = fs::remove_dir(folder);
    }
}

impl RunFolder {
    /// The folder at this place, whatever is there.
    pub fn at(folder: PathBuf) -> Self {
        Self { folder, is_new: false, unread: Arc::default() }
    }

    pub fn path(&self) -> &Path {
        &self.folder
    }

    /// The folder of a run. What `earlier` kept is there too.
    fn make(runs: &Path, run: &str, earlier: Option<&Earlier>) -> io::Result<Self> {
        let mut folder = Self::at(runs.join(run));
        let work = folder.folder.join(WORK);
        if fs::symlink_metadata(&work).is_ok_and(|found| found.is_dir()) {
            return Ok(folder);
        }
        make_private_folder(&folder.folder)?;
        let from = earlier.and_then(|earlier| Some((runs.join(plain(&earlier.run)?), earlier)));
        if let Some((from, earlier)) = &from {
            for task in &earlier.tasks {
                let place = Path::new(ARTIFACTS).join(key_of(task));
                let unread = copy_whole(&from.join(&place), &folder.folder.join(place))?;
                folder.unread().extend(unread);
            }
        }
        // Comes last: once it is there, all is.
        if let Some((from, _)) = from.filter(|(from, _)| from.join(WORK).is_dir()) {
            let unread = copy_whole(&from.join(WORK), &work)?;
            folder.unread().extend(unread);
        } else {
            make_private_folder(&work)?;
        }
        folder.is_new = true;
        Ok(folder)
    }

    /// What there is to tell of what was taken over, once.
    pub fn warning(&self) -> Option<String> {
        let unread = std::mem::take(&mut *self.unread());
        let (first, more) = (unread.first()?.display().to_string(), unread.len() - 1);
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        Some(format!(
            "of what the run before kept, {first}{more} cannot be read and is not here; change who may read \
             it there, then retry that run"
        ))
    }

    fn unread(&self) -> MutexGuard<'_, Vec<PathBuf>> {
        self.unread.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A command that knows the folder and its own file for outputs.
    pub fn given_to(&self, command: ProcessCommand, attempt: &Attempt) -> ProcessCommand {
        let output = self.output_of(attempt);
        if !self.is_new {
            // Of an attempt that was forgotten, by a copy of the folder or for want of power, and is made again. In a
            // new folder there is none, and asking for it at each step takes its time.
            let _ = fs::remove_file(&output);
        }
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
        let wrong = |error: &dyn fmt::Display| format!("$TIDEWHEEL_OUTPUT: {error}");
        loop {
            let from = path.clone();
            let read = tokio::task::spawn_blocking(move || written::read(&from, bytes_max)).await;
            match read.unwrap_or_else(|error| Err(io::Error::other(error))) {
                // The work is done: to fail now would have it done again.
                Err(error) if is_for_want_of_descriptors(&error) && !attempt.is_cancelled() => {
                    let _ = tokio::time::timeout(ROOM_AGAIN, attempt.cancelled()).await;
                }
                Err(error) => return Err(Trouble::passing(wrong(&error))),
                Ok(taken) => {
                    let _ = fs::remove_file(path);
                    return taken.map_err(|error| Trouble::permanent(wrong(&error)));
                }
            }
        }
    }

    /// Removes what an attempt wrote that does not count.
    pub fn drop_output(&self, attempt: &Attempt) {
        let _ = fs::remove_file(self.output_of(attempt));
    }

    fn output_of(&self, attempt: &Attempt) -> PathBuf {
        self.folder.join(format!("{}-{}.output", attempt.id().index, attempt.number()))
    }
}

/// Whether this process, or the system, may open nothing more for now.
fn is_for_want_of_descriptors(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::MFILE | Errno::NFILE))
}

/// The name of a folder, if it leads nowhere else.
fn plain(name: &str) -> Option<&str> {
    let mut parts = Path::new(name).components();
    let is_plain = matches!((parts.next(), parts.next()), (Some(Component::Normal(_)), None));
    is_plain.then_some(name)
}

/// Copies a folder, if it is there, so that it is there as a whole or not at all, whenever we are killed. What
/// of it could not be read.
pub(super) fn copy_whole(from: &Path, to: &Path) -> io::Result<Vec<PathBuf>> {
    if !from.is_dir() || to.exists() {
        return Ok(Vec::new());
    }
    let part = to.with_extension("part");
    let _ = fs::remove_dir_all(&part);
    make_private_folder(part.parent().unwrap_or(to))?;
    let unread = copy(from, &part)?;
    fs::rename(part, to)?;
    Ok(unread)
}

/// Copies a folder with all that is in it. Links stay links; what is neither file nor folder is left out, and so
/// is what we may not read: a container may have left it. That is given back.
fn copy(from: &Path, to: &Path) -> io::Result<Vec<PathBuf>> {
    let mut unread = Vec::new();
    let mut left = vec![(from.to_owned(), to.to_owned())];
    while let Some((from, to)) = left.pop() {
        make_private_folder(&to)?;
        let entries = match fs::read_dir(&from) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                unread.push(from);
                continue;
            }
            entries => entries?,
        };
        for entry in entries {
            let entry = entry?;
            let (kind, to) = (entry.file_type()?, to.join(entry.file_name()));
            if kind.is_dir() {
                left.push((entry.path(), to));
            } else if kind.is_symlink() {
                std::os::unix::fs::symlink(fs::read_link(entry.path())?, to)?;
            } else if kind.is_file() {
                match File::open(entry.path()) {
                    Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                        unread.push(entry.path());
                    }
                    _ => {
                        fs::copy(entry.path(), to)?;
                    }
                }
            }
        }
    }
    Ok(unread)
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, chown, symlink};
    use std::thread;

    use rustix::process::{Uid, geteuid};
    use rustix::thread::set_thread_res_uid;
    use tidewheel_testing::temp_folder;

    use super::*;

    #[test]
    fn the_folder_of_an_earlier_run_is_copied_once_and_its_links_stay_links() {
        let scratch = temp_folder("runs");
        let runs = scratch.path();
        let first = RunFolder::make(runs, "a", None).unwrap().folder.join(WORK);
        fs::create_dir(first.join("deep")).unwrap();
        fs::write(first.join("deep/x"), "1").unwrap();
        symlink("/etc/hostname", first.join("link")).unwrap();
        let earlier = |run: &str| Earlier { run: run.to_owned(), tasks: Vec::new() };
        let make =
            |run: &str, from: &str| RunFolder::make(runs, run, Some(&earlier(from))).unwrap();
        let second = make("b", "a").folder.join(WORK);
        assert_eq!(fs::read(second.join("deep/x")).unwrap(), b"1");
        assert_eq!(fs::read_link(second.join("link")).unwrap(), Path::new("/etc/hostname"));
        assert_eq!(fs::metadata(&second).unwrap().permissions().mode() & 0o777, 0o700);
        // It is another file, and a run that goes on finds what it had.
        fs::write(second.join("deep/x"), "2").unwrap();
        assert_eq!(fs::read(first.join("deep/x")).unwrap(), b"1");
        let found = make("b", "a");
        assert_eq!(fs::read(second.join("deep/x")).unwrap(), b"2");
        assert!(!found.is_new, "there may be something of attempts that are made again");
        // Nothing is taken from elsewhere, and what is gone is no trouble.
        for from in ["../b", "/etc", "gone", ""] {
            let made = make("c", from).folder;
            assert_eq!(fs::read_dir(made.join(WORK)).unwrap().count(), 0, "{from}");
            fs::remove_dir_all(made).unwrap();
        }
    }

    #[test]
    fn what_an_earlier_run_keeps_from_us_is_left_out_and_told() {
        // Root may read everything, whatever modes say.
        const PLAIN_USER: u32 = 65_534;
        let user = if geteuid().is_root() { PLAIN_USER } else { geteuid().as_raw() };
        let scratch = temp_folder("kept-back");
        let runs = scratch.path();
        chown(runs, Some(user), None).unwrap();
        let as_user = || {
            set_thread_res_uid(Uid::from_raw(user), Uid::from_raw(user), Uid::from_raw(user))
                .unwrap();
            let first = RunFolder::make(runs, "a", None).unwrap().folder.join(WORK);
            for name in ["mine", "theirs"] {
                fs::write(first.join(name), "1").unwrap();
                fs::create_dir(first.join(format!("{name}.d"))).unwrap();
            }
            for name in ["theirs", "theirs.d"] {
                fs::set_permissions(first.join(name), Permissions::from_mode(0o000)).unwrap();
            }
            let earlier = Earlier { run: "a".to_owned(), tasks: Vec::new() };
            RunFolder::make(runs, "b", Some(&earlier)).unwrap()
        };
        let second = thread::scope(|scope| scope.spawn(as_user).join().unwrap());
        assert!(second.folder.join(WORK).join("mine").exists());
        assert!(!second.folder.join(WORK).join("theirs").exists());
        let warning = second.warning().unwrap();
        assert!(warning.contains("theirs") && warning.contains("and 1 more"), "{warning}");
        assert_eq!(second.warning(), None);
    }
}
