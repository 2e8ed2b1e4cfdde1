//! Why a command did not do what it was asked, and the exit code of each such case.
//!
//! The errors of the library have their own types; here they become what a person reads.

use std::io;

use tidewheel_client::api::{FileChange, Refusal, RefusalKind, Refused};
use tidewheel_client::desk::DeskError;

use crate::files::problem_lines;

/// The reason for an exit code other than 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The work itself failed. Exit code 1.
    Failed,
    /// The command line is wrong. Exit code 2.
    Usage,
    /// The input, or a definition in it, is wrong. Exit code 3.
    Input,
    /// What was asked for is not there. Exit code 4.
    NotFound,
    /// Somebody else is using it, or it has changed meanwhile. Exit code 5.
    Conflict,
    /// It is not safe, so it was not done. Exit code 6.
    Refused,
    /// Whoever reads our output has left. Nothing is said, exit code 0.
    BrokenPipe,
    /// A bug in this program. Exit code 70.
    Internal,
}

/// An error as a command hands it to the user: what, where, and what to do about it.
#[derive(Debug)]
pub struct CommandError {
    /// Which exit code it has.
    pub kind: ErrorKind,
    /// What went wrong, outermost first.
    pub error: anyhow::Error,
    /// The place in the input, drawn: lines of text with a mark under the culprit.
    pub excerpt: Option<String>,
    /// Where the culprit begins in the text that was given, in bytes from 0.
    pub position: Option<usize>,
    /// What the user can do.
    pub hints: Vec<String>,
    /// What is wrong with flow files, for programs.
    pub problems: Option<Box<serde_json::Value>>,
    /// Files that are not what they were, for programs.
    pub changes: Vec<FileChange>,
}

impl CommandError {
    /// An error of this kind, without hints.
    pub fn new(kind: ErrorKind, error: impl Into<anyhow::Error>) -> Self {
        Self {
            kind,
            error: error.into(),
            excerpt: None,
            position: None,
            hints: Vec::new(),
            problems: None,
            changes: Vec::new(),
        }
    }

    /// Something is wrong with the input.
    pub fn input(error: impl Into<anyhow::Error>) -> Self {
        Self::new(ErrorKind::Input, error)
    }

    /// Something is wrong with the command line that clap cannot know.
    pub fn usage(error: impl Into<anyhow::Error>) -> Self {
        Self::new(ErrorKind::Usage, error)
    }

    /// A bug.
    pub fn internal(error: impl Into<anyhow::Error>) -> Self {
        Self::new(ErrorKind::Internal, error)
    }

    /// The system refused what every command needs.
    pub(crate) fn system(error: io::Error) -> Self {
        let error = anyhow::Error::new(error).context("the system gives no more threads or files");
        Self::new(ErrorKind::Failed, error).hint("`ulimit -a` shows what a process may have")
    }

    pub(crate) fn panicked() -> Self {
        Self::internal(anyhow::anyhow!("the program came upon a state that should not exist"))
            .hint("this is a bug: please report it with the command and the message above")
    }

    /// Adds what the user can do.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Adds a drawing of the place.
    #[must_use]
    pub fn excerpt(mut self, excerpt: impl Into<String>) -> Self {
        self.excerpt = Some(excerpt.into());
        self
    }

    /// Adds what is wrong with flow files, for programs.
    #[must_use]
    pub fn problems(mut self, problems: serde_json::Value) -> Self {
        self.problems = Some(Box::new(problems));
        self
    }

    /// Adds the position of the culprit in the text.
    #[must_use]
    pub fn position(mut self, position: usize) -> Self {
        self.position = Some(position);
        self
    }

    /// The exit code of the process.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        self.kind.exit_code()
    }
}

impl ErrorKind {
    /// The exit code for it.
    #[must_use]
    pub fn exit_code(self) -> u8 {
        match self {
            Self::BrokenPipe => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Input => 3,
            Self::NotFound => 4,
            Self::Conflict => 5,
            Self::Refused => 6,
            Self::Internal => 70,
        }
    }
}

impl CommandError {
    /// The same as a document.
    pub(crate) fn refused(&self) -> Refused {
        let kind = match self.kind {
            ErrorKind::Failed | ErrorKind::BrokenPipe => RefusalKind::Failed,
            ErrorKind::Usage => RefusalKind::Usage,
            ErrorKind::Input => RefusalKind::Input,
            ErrorKind::NotFound => RefusalKind::NotFound,
            ErrorKind::Conflict => RefusalKind::Conflict,
            ErrorKind::Refused => RefusalKind::Refused,
            ErrorKind::Internal => RefusalKind::Internal,
        };
        let error = Refusal {
            kind,
            exit_code: Some(self.exit_code()),
            message: format!("{:#}", self.error),
            hints: self.hints.clone(),
            position: self.position,
            problems: self.problems.as_deref().cloned(),
            changes: self.changes.clone(),
        };
        Refused { version: None, error }
    }
}

/// The desk refused something.
impl From<DeskError> for CommandError {
    fn from(error: DeskError) -> Self {
        let kind = match error.kind() {
            RefusalKind::Failed => ErrorKind::Failed,
            RefusalKind::Usage => ErrorKind::Usage,
            RefusalKind::Input => ErrorKind::Input,
            RefusalKind::NotFound => ErrorKind::NotFound,
            RefusalKind::Conflict => ErrorKind::Conflict,
            RefusalKind::Refused => ErrorKind::Refused,
            RefusalKind::Internal => ErrorKind::Internal,
        };
        let refusal = error.refusal();
        Self {
            excerpt: excerpt(&error, &refusal),
            hints: refusal.hints,
            problems: refusal.problems.map(Box::new),
            changes: refusal.changes,
            ..Self::new(kind, error)
        }
    }
}

/// What is shown of the files that are to blame. Those that were read here have been shown already.
fn excerpt(error: &DeskError, refusal: &Refusal) -> Option<String> {
    if !refusal.changes.is_empty() {
        return Some(differences(&refusal.changes));
    }
    let is_elsewhere = matches!(error, DeskError::OfKind(_));
    refusal.problems.as_ref().filter(|_| is_elsewhere).map(problem_lines)
}

fn differences(changes: &[FileChange]) -> String {
    changes.iter().map(|FileChange { file, change }| format!("{file}:\n{change}")).collect()
}

/// Writing output failed.
impl From<io::Error> for CommandError {
    fn from(error: io::Error) -> Self {
        let kind = if error.kind() == io::ErrorKind::BrokenPipe {
            ErrorKind::BrokenPipe
        } else {
            ErrorKind::Failed
        };
        Self::new(kind, anyhow::Error::new(error).context("failed to write the output"))
    }
}
