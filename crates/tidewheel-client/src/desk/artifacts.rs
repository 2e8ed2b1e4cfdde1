//! What steps left with their run, and copies of it.
//!
//! How it is kept is known to `tidewheel-flow`.

use std::fs::OpenOptions;
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
        let artifacts = left.iter().flat_map(lines).collect();
        Ok(ArtifactList { version: None, run_id: run.to_string(), artifacts })
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
        let all = left.iter().flat_map(|left| left.artifacts.iter().map(move |it| (left, it)));
        let found: Vec<(&TaskArtifacts, &Artifact)> =
            all.clone().filter(|(_, artifact)| artifact.name == name).collect();
        match found[..] {
            [(left, artifact)] => {
                left.copy_to(artifact, to).map_err(|error| not_copied(artifact, error))
            }
            [] => {
                let names = all.map(|(_, artifact)| artifact.name.as_str());
                let near = nearest(name, names).map(str::to_owned);
                Err(DeskError::NoArtifact { run, name: name.to_owned(), near })
            }
            _ => {
                let steps = found.iter().map(|(left, _)| left.task.clone()).collect();
                Err(DeskError::SeveralArtifacts { name: name.to_owned(), steps })
            }
        }
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
                    std::fs::create_dir_all(path.parent().unwrap_or(folder))?;
                    let mut file = OpenOptions::new().write(true).create_new(true).open(&path)?;
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

/// The name of a task as a path that leads nowhere else.
fn plain(task: &str) -> PathBuf {
    let part = |part: Component<'_>| match part {
        Component::Normal(name) => PathBuf::from(name),
        _ => PathBuf::from("_"),
    };
    Path::new(task).components().map(part).collect()
}
