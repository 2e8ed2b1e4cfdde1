//! Artifacts: files that steps name, copied so that they stay with the run.
//!
//! ```text
//! runs/<run>/artifacts/<key of the task>/manifest.json   what there is
//! runs/<run>/artifacts/<key of the task>/files/<name>    the copies
//! ```
//!
//! Which files a step names is said in the flow. That they go with the run is seen to by the data folder.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tidewheel::Attempt;
use tidewheel::file::{make_private_file, make_private_folder};

use super::cache::{Files, hexadecimal};
use super::context::Position;
use super::end::Trouble;
use super::run_folder::{ARTIFACTS, RunFolder, WORK};
use super::runner::FlowRunner;
use crate::definition::{is_inside, of_run};
use crate::language::template::Context;

/// More files than this are no artifacts of one step but a mistake.
const FILES_MAX: usize = 10_000;

/// A file that a step left with its run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Artifact {
    /// Its path, from the folder of the step or of the run.
    pub name: String,
    /// How large it is.
    pub bytes: u64,
    /// The fingerprint of what is in it.
    pub sha256: String,
}

/// What a task left with its run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TaskArtifacts {
    /// The task.
    pub task: String,
    /// The attempt that left them.
    pub attempt: u32,
    /// The files.
    pub artifacts: Vec<Artifact>,
    /// Where the copies are.
    #[serde(skip)]
    pub folder: PathBuf,
}

impl TaskArtifacts {
    /// What tasks have left in the folder of a run, by the name of the task. What cannot be understood is
    /// left out: steps could have written anything there.
    ///
    /// # Errors
    ///
    /// When the folder is there and cannot be read.
    pub fn in_run(folder: &Path) -> io::Result<Vec<Self>> {
        let entries = match fs::read_dir(folder.join(ARTIFACTS)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let mut found = Vec::new();
        for entry in entries {
            let folder = entry?.path();
            let Ok(text) = fs::read(folder.join("manifest.json")) else { continue };
            let Ok(mut left) = serde_json::from_slice::<Self>(&text) else { continue };
            // One that an attempt was killed over has all files of the one that follows.
            if folder.file_name().is_none_or(|name| name != key_of(&left.task).as_str()) {
                continue;
            }
            left.artifacts.retain(|artifact| is_inside(Path::new(&artifact.name)));
            left.folder = folder.join("files");
            found.push(left);
        }
        found.sort_by(|one, other| one.task.cmp(&other.task));
        Ok(found)
    }

    /// Copies one of them to whatever takes it, and makes sure that it is still what it was.
    ///
    /// # Errors
    ///
    /// When it cannot be read or written, or is not what it was.
    pub fn copy_to(&self, artifact: &Artifact, to: &mut dyn Write) -> io::Result<()> {
        let path = self.folder.join(&artifact.name);
        if !fs::symlink_metadata(&path)?.is_file() {
            return Err(io::Error::other("something else was put in its place"));
        }
        let (_, sha256) = copy_hashed(&mut File::open(path)?, to)?;
        match sha256 == artifact.sha256 {
            true => Ok(()),
            false => Err(io::Error::other("it has changed since it was kept")),
        }
    }
}

/// The name of a task's folder.
pub(super) fn key_of(task: &str) -> String {
    hexadecimal(&Sha256::digest(task)[..16])
}

/// A file to be copied.
struct Found {
    name: String,
    path: PathBuf,
}

/// What is looked for in a folder.
struct Wanted {
    files: Files,
    base: PathBuf,
    is_optional: bool,
}

impl FlowRunner {
    /// Copies the artifacts of a step. If its work failed, what is there of them.
    pub(super) async fn keep_artifacts(
        &self,
        position: &Position,
        context: &Context,
        attempt: &Attempt,
        has_succeeded: bool,
    ) -> Result<(), Trouble> {
        let rules = &position.step.artifacts;
        let folder = match rules.is_empty() {
            true => None,
            false => self.run_folder(attempt.id().run).await?,
        };
        let Some(folder) = folder else { return Ok(()) };
        let own = self.folder_of(position, context)?;
        let mut wanted = Vec::new();
        for rule in rules {
            let text = rule.path.render_text(context)?;
            let (path, is_of_run) = of_run(&text);
            if !is_inside(Path::new(path)) {
                return Err(Trouble::permanent(format!(
                    "artifacts: {text} is not in the folder of the step; copy it to $TIDEWHEEL_RUN_DIR \
                     and name it there"
                )));
            }
            let base = if is_of_run { folder.path().join(WORK) } else { own.clone() };
            let files = Files::within(&base, path.to_owned());
            wanted.push(Wanted { files, base, is_optional: rule.is_optional || !has_succeeded });
        }
        let (folder, task) = (folder.clone(), position.name.to_string());
        let number = attempt.number();
        let keep = move || keep(&folder, task, number, &wanted);
        let kept = tokio::task::spawn_blocking(keep).await;
        let kept = kept.map_err(|error| Trouble::passing(error.to_string()))?;
        kept.map_err(|error| Trouble::passing(format!("artifacts: {error}")))
    }
}

/// Copies files, so that all of them are there or those of the attempt before.
fn keep(folder: &RunFolder, task: String, attempt: u32, wanted: &[Wanted]) -> Result<(), String> {
    let found = find(wanted)?;
    let to = folder.path().join(ARTIFACTS).join(key_of(&task));
    let part = to.with_extension("part");
    let write = || -> io::Result<()> {
        let _ = fs::remove_dir_all(&part);
        make_private_folder(&part.join("files"))?;
        let mut artifacts = Vec::new();
        for Found { name, path } in &found {
            let copy = part.join("files").join(name);
            make_private_folder(copy.parent().unwrap_or(&part))?;
            let mut file = make_private_file(&copy)?;
            let named = |error: io::Error| io::Error::new(error.kind(), format!("{name}: {error}"));
            let (bytes, sha256) =
                copy_hashed(&mut File::open(path).map_err(named)?, &mut file).map_err(named)?;
            artifacts.push(Artifact { name: name.clone(), bytes, sha256 });
        }
        let left = TaskArtifacts { task: task.clone(), attempt, artifacts, folder: PathBuf::new() };
        let mut manifest = make_private_file(&part.join("manifest.json"))?;
        manifest.write_all(&serde_json::to_vec(&left)?)?;
        let _ = fs::remove_dir_all(&to);
        fs::rename(&part, &to)
    };
    write().map_err(|error| error.to_string())
}

/// The files that are wanted, each once. One that is missing is an error, and so is one that lies elsewhere.
fn find(wanted: &[Wanted]) -> Result<Vec<Found>, String> {
    let mut found: Vec<Found> = Vec::new();
    for Wanted { files, base, is_optional } in wanted {
        let paths = files.found().map_err(|error| format!("{}: {error}", files.named))?;
        if paths.is_empty() && !is_optional {
            return Err(format!(
                "there is no {}; correct the name, or say `optional: true`",
                files.named
            ));
        }
        let mut left = paths;
        while let Some(path) = left.pop() {
            let at = |error: io::Error| format!("{}: {error}", path.display());
            check_way(&path, base)?;
            let kind = fs::metadata(&path).map_err(at)?.file_type();
            if !kind.is_dir() && !kind.is_file() {
                // To open a pipe would wait for somebody who writes to it.
                return Err(format!("{} is neither a file nor a folder", path.display()));
            }
            if kind.is_dir() {
                for entry in fs::read_dir(&path).map_err(at)? {
                    left.push(entry.map_err(at)?.path());
                }
                continue;
            }
            let name = path.strip_prefix(base).ok().and_then(Path::to_str);
            let name = name.ok_or_else(|| format!("{} is no name in UTF-8", path.display()))?;
            if found.iter().all(|it| it.name != name) {
                found.push(Found { name: name.to_owned(), path: path.clone() });
            }
            if found.len() > FILES_MAX {
                return Err(format!("more than {FILES_MAX} files"));
            }
        }
    }
    found.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(found)
}

/// A link must not lead out of the folder, nor around in circles.
fn check_way(path: &Path, base: &Path) -> Result<(), String> {
    let shown = path.display();
    let whole = |path: &Path| path.canonicalize().map_err(|error| format!("{shown}: {error}"));
    let (target, base) = (whole(path)?, whole(base)?);
    if !target.starts_with(&base) {
        return Err(format!("{shown} is a link out of the folder; only what is in it is kept"));
    }
    let is_link = fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink());
    if is_link && target.is_dir() {
        return Err(format!("{shown} is a link to a folder; name that one"));
    }
    Ok(())
}

/// Copies bytes, and gives how many there were and their fingerprint.
fn copy_hashed(from: &mut dyn Read, to: &mut dyn Write) -> io::Result<(u64, String)> {
    let (mut hash, mut bytes) = (Sha256::new(), 0);
    let mut buffer = vec![0; 64 << 10];
    loop {
        let read = match from.read(&mut buffer) {
            Ok(0) => return Ok((bytes, hexadecimal(&hash.finalize()))),
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        hash.update(&buffer[..read]);
        to.write_all(&buffer[..read])?;
        bytes += read as u64;
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    use tidewheel_testing::temp_folder;

    use super::super::run_folder::copy_whole;
    use super::*;

    #[test]
    fn only_what_is_in_the_folder_is_an_artifact() {
        let scratch = temp_folder("left");
        let base = scratch.path().to_owned();
        fs::create_dir_all(base.join("dist/deep")).unwrap();
        fs::write(base.join("dist/a.txt"), "1").unwrap();
        fs::write(base.join("dist/deep/b.txt"), "22").unwrap();
        symlink("a.txt", base.join("dist/inside")).unwrap();
        let find_in = |named: &str, is_optional: bool| {
            let files = Files::within(&base, named.to_owned());
            find(&[Wanted { files, base: base.clone(), is_optional }])
                .map(|found| found.into_iter().map(|it| it.name).collect::<Vec<_>>())
        };
        let all = ["dist/a.txt", "dist/deep/b.txt", "dist/inside"];
        assert_eq!(find_in("dist", false).unwrap(), all);
        assert_eq!(find_in("dist/*.txt", false).unwrap(), ["dist/a.txt"]);
        assert!(find_in("*.never", false).unwrap_err().contains("say `optional: true`"));
        assert_eq!(find_in("*.never", true).unwrap(), [""; 0]);
        let socket = UnixListener::bind(base.join("dist/socket")).unwrap();
        assert!(find_in("dist", true).unwrap_err().contains("neither a file nor a folder"));
        drop(socket);
        fs::remove_file(base.join("dist/socket")).unwrap();
        symlink("/etc", base.join("dist/out")).unwrap();
        assert!(find_in("dist", true).unwrap_err().contains("is a link out of the folder"));
        assert!(find_in("dist/out/hostname", true).unwrap_err().contains("link out"));
        fs::remove_file(base.join("dist/out")).unwrap();
        symlink("..", base.join("dist/deep/around")).unwrap();
        assert!(find_in("dist", true).unwrap_err().contains("is a link to a folder"));
        for outside in ["/etc/hostname", "../x", "a/../../x", ""] {
            assert!(!is_inside(Path::new(outside)), "{outside}");
        }
    }

    #[test]
    fn what_is_kept_is_checked_when_it_is_taken() {
        let scratch = temp_folder("kept");
        let runs = scratch.path();
        let folder = RunFolder::at(runs.join("run"));
        let base = runs.join("base");
        fs::create_dir_all(&base).unwrap();
        fs::write(base.join("x"), "abc").unwrap();
        let wanted = || {
            let files = Files::within(&base, "*".to_owned());
            [Wanted { files, base: base.clone(), is_optional: false }]
        };
        keep(&folder, "build[1]".to_owned(), 1, &wanted()).unwrap();
        // The next attempt replaces all of it.
        fs::rename(base.join("x"), base.join("y")).unwrap();
        keep(&folder, "build[1]".to_owned(), 2, &wanted()).unwrap();
        let [left] = &TaskArtifacts::in_run(folder.path()).unwrap()[..] else { panic!("not one") };
        assert_eq!((left.task.as_str(), left.attempt), ("build[1]", 2));
        let [artifact] = &left.artifacts[..] else { panic!("not one") };
        assert_eq!((artifact.name.as_str(), artifact.bytes), ("y", 3));
        // Killed before the last thing it does.
        let whole = folder.path().join(ARTIFACTS).join(key_of("build[1]"));
        copy_whole(&whole, &whole.with_extension("part")).unwrap();
        assert_eq!(TaskArtifacts::in_run(folder.path()).unwrap().len(), 1);
        let mut taken = Vec::new();
        left.copy_to(artifact, &mut taken).unwrap();
        assert_eq!(taken, b"abc");
        fs::write(left.folder.join("y"), "abd").unwrap();
        assert!(left.copy_to(artifact, &mut taken).is_err(), "it has changed");
    }
}
