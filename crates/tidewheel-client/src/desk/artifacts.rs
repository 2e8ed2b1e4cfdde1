//! What steps left with their run, and copies of it.
//!
//! How it is kept is known to `tidewheel-flow`.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Component, Path, PathBuf};

use tidewheel::RunId;
use tidewheel_flow::{Artifact, TaskArtifacts};

use super::error::DeskError;
use super::local::LocalDesk;
use crate::api::{ArtifactLine, ArtifactList};
use crate::text::nearest;

impl LocalDesk {
    /// The artifacts of a run, of all of its steps or of one.
    ///
    /// # Errors
    ///
    /// When there is no such run or step.
    pub fn artifacts(&self, word: &str, step: Option<&str>) -> Result<ArtifactList, DeskError> {
        let (run, left) = self.left(word, step)?;
        Ok(list_of(run, &left))
    }

    /// Copies one artifact to whatever takes it, and makes sure that it is still what it was.
    ///
    /// # Errors
    ///
    /// When there is no such artifact, several steps left one of this name, or it cannot be copied.
    pub fn artifact(
        &self,
        word: &str,
        step: Option<&str>,
        name: &str,
        to: &mut dyn Write,
    ) -> Result<(), DeskError> {
        let (run, left) = self.left(word, step)?;
        let list = list_of(run, &left);
        let chosen = choose(&list, name)?;
        let all = left.iter().flat_map(|left| left.artifacts.iter().map(move |it| (left, it)));
        for (left, artifact) in all {
            if left.task == chosen.step && artifact.name == chosen.name {
                return left.copy_to(artifact, to).map_err(|error| not_copied(artifact, error));
            }
        }
        Ok(())
    }

    /// Copies all artifacts to a folder, each to `STEP/NAME`. Nothing that is there is overwritten.
    ///
    /// # Errors
    ///
    /// When one of them cannot be copied, or something is in the way.
    pub fn copy_artifacts(
        &self,
        word: &str,
        step: Option<&str>,
        folder: &Path,
    ) -> Result<ArtifactList, DeskError> {
        let (run, left) = self.left(word, step)?;
        let mut copied = Vec::new();
        for left in &left {
            for (artifact, mut line) in left.artifacts.iter().zip(lines(left)) {
                let path = folder.join(plain(&left.task)).join(&artifact.name);
                let copy = || {
                    let mut file = new_file(&path)?;
                    left.copy_to(artifact, &mut file)
                };
                copy().map_err(|error| not_copied(artifact, error))?;
                line.path = path.display().to_string();
                copied.push(line);
            }
        }
        Ok(ArtifactList { version: None, run_id: run.to_string(), artifacts: copied })
    }

    /// What is kept of a run's steps.
    fn left(
        &self,
        word: &str,
        step: Option<&str>,
    ) -> Result<(RunId, Vec<TaskArtifacts>), DeskError> {
        let detail = self.find(word)?;
        let run = detail.summary.id;
        let wanted = match step {
            Some(step) => Some(super::find::task_of(&detail, step)?.name.clone()),
            None => None,
        };
        let mut left = self.left_in(run)?;
        left.retain(|left| wanted.as_ref().is_none_or(|wanted| *wanted == left.task));
        Ok((run, left))
    }

    /// What is kept of all steps of a run.
    pub(super) fn left_in(&self, run: RunId) -> Result<Vec<TaskArtifacts>, DeskError> {
        let folder = self.folder.runs_dir().join(run.to_string());
        TaskArtifacts::in_run(&folder).map_err(DeskError::System)
    }
}

fn list_of(run: RunId, left: &[TaskArtifacts]) -> ArtifactList {
    let artifacts = left.iter().flat_map(lines).collect();
    ArtifactList { version: None, run_id: run.to_string(), artifacts }
}

/// The artifact of this name, if there is one and no other.
pub(crate) fn choose<'a>(
    list: &'a ArtifactList,
    name: &str,
) -> Result<&'a ArtifactLine, DeskError> {
    let found: Vec<&ArtifactLine> = list.artifacts.iter().filter(|it| it.name == name).collect();
    let (run, name) = (list.run_id.clone(), name.to_owned());
    match found[..] {
        [line] => Ok(line),
        [] => {
            let near = nearest(&name, list.artifacts.iter().map(|it| it.name.as_str()));
            let near = near.map(str::to_owned);
            Err(DeskError::NoArtifact { run, name, near })
        }
        _ => {
            let steps = found.iter().map(|line| line.step.clone()).collect();
            Err(DeskError::SeveralArtifacts { name, steps })
        }
    }
}

/// A file that was not there, in folders that need not be.
pub(crate) fn new_file(path: &Path) -> std::io::Result<File> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    OpenOptions::new().write(true).create_new(true).open(path)
}

/// The lines of what a step left.
pub(super) fn lines(left: &TaskArtifacts) -> Vec<ArtifactLine> {
    let line = |artifact: &Artifact| ArtifactLine {
        name: artifact.name.clone(),
        step: left.task.clone(),
        attempt: left.attempt,
        bytes: artifact.bytes,
        sha256: artifact.sha256.clone(),
        path: left.folder.join(&artifact.name).display().to_string(),
    };
    left.artifacts.iter().map(line).collect()
}

fn not_copied(artifact: &Artifact, error: std::io::Error) -> DeskError {
    DeskError::NotCopied { name: artifact.name.clone(), error }
}

/// A name as a path that leads nowhere else.
pub(crate) fn plain(task: &str) -> PathBuf {
    let part = |part: Component<'_>| match part {
        Component::Normal(name) => PathBuf::from(name),
        _ => PathBuf::from("_"),
    };
    Path::new(task).components().map(part).collect()
}
