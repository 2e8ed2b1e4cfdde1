//! A [`DeskError`] as whoever asked is told: its kind, which exit codes and statuses follow, and the document of it.
//!
//! What can be done about it is in [`super::hints`].

use std::error::Error;

use tidewheel::Rejection;
use tidewheel::store::StoreError;
use tidewheel::store::sqlite::FolderError;
use tidewheel_flow::{AgainError, StartError};

use super::error::DeskError;
use super::surface::Surface;
use crate::api::{Refusal, RefusalKind};

impl DeskError {
    /// The kind of it, for exit codes and statuses.
    #[must_use]
    pub fn kind(&self) -> RefusalKind {
        match self {
            Self::Folder(problem) => folder_kind(&problem.error),
            Self::NoRun { .. }
            | Self::RunGone { .. }
            | Self::NoStep { .. }
            | Self::NoFlow { .. }
            | Self::NoSchedule { .. }
            | Self::NoArtifact { .. }
            | Self::NoAttempt { .. } => RefusalKind::NotFound,
            Self::SeveralRuns { .. }
            | Self::SeveralArtifacts { .. }
            | Self::NoFiles { .. }
            | Self::NotInFlow { .. }
            | Self::Cursor { .. }
            | Self::Search(_)
            | Self::OutOfRange { .. }
            | Self::LineNumbers { .. }
            | Self::Param { .. }
            | Self::ParamForm { .. }
            | Self::BackfillFromWhen
            | Self::TooManyFirings { .. }
            | Self::NotDelivered { .. }
            | Self::AsksNobody { .. } => RefusalKind::Usage,
            Self::Again { error, .. } => again_kind(error),
            // That a flow makes no graph is told by its plan, or at the start.
            Self::Problems(_)
            | Self::Unrunnable { .. }
            | Self::FlowsNotRead { .. }
            | Self::Plan(_)
            | Self::Start(StartError::Flow(_)) => RefusalKind::Input,
            Self::OfKind(refusal) => refusal.kind,
            // It was not refused: the store could not, for want of room or of an answer.
            Self::Start(StartError::Rejected(Rejection::Unavailable(_)))
            | Self::Rejected(Rejection::Unavailable(_)) => RefusalKind::Failed,
            Self::Order(_)
            | Self::UnknownKind { .. }
            | Self::Changed { .. }
            | Self::Start(_)
            | Self::Rejected(_)
            | Self::NotSigned
            | Self::HookFull { .. }
            | Self::Secret(_) => RefusalKind::Refused,
            Self::NotEnded { .. }
            | Self::Retried { .. }
            | Self::OtherPreview(_)
            | Self::Ended { .. }
            | Self::NothingLeft { .. }
            | Self::Abandoned { .. }
            | Self::Silent { .. }
            | Self::NotChanged { .. }
            | Self::StepEnded { .. }
            | Self::AnsweredBefore { .. }
            | Self::LeftBehind { .. }
            | Self::NotTakenOver(..)
            | Self::OtherVersion { .. }
            | Self::ScheduleEnded { .. }
            | Self::NotServed { .. }
            | Self::NotHeard { .. }
            | Self::Served(_)
            | Self::Held(_) => RefusalKind::Conflict,
            Self::Server { status, .. } => RefusalKind::of_status(*status),
            Self::NotHere => RefusalKind::Usage,
            Self::NoServer { .. } => RefusalKind::NotFound,
            Self::Unreachable { .. }
            | Self::NotStarted(_)
            | Self::System(_)
            | Self::NotCopied { .. } => RefusalKind::Failed,
        }
    }

    /// The same as a document, for whoever uses the command.
    #[must_use]
    pub fn refusal(&self) -> Refusal {
        self.refusal_for(Surface::Command)
    }

    /// The same as a document, in the words of a surface.
    #[must_use]
    pub fn refusal_for(&self, at: Surface) -> Refusal {
        if let Self::OfKind(refusal) = self {
            return (**refusal).clone();
        }
        let (changes, problems) = match self {
            Self::Changed { changes, .. } => (changes.clone(), None),
            Self::Problems(files) => (Vec::new(), Some(files.validated(false).problems)),
            Self::Unrunnable { problems, .. } => (Vec::new(), Some(problems.clone())),
            _ => (Vec::new(), None),
        };
        Refusal {
            kind: self.kind(),
            exit_code: None,
            message: self.message(),
            hints: self.hints_for(at),
            position: None,
            problems,
            changes,
        }
    }

    /// What went wrong and why, outermost first.
    fn message(&self) -> String {
        let mut message = self.to_string();
        let mut source = Error::source(self);
        while let Some(error) = source {
            message.push_str(&format!(": {error}"));
            source = error.source();
        }
        message
    }
}

fn again_kind(error: &AgainError) -> RefusalKind {
    match error {
        AgainError::Unknown { .. } => RefusalKind::Refused,
        AgainError::NoStep { .. } => RefusalKind::NotFound,
        _ => RefusalKind::Usage,
    }
}

fn folder_kind(error: &FolderError) -> RefusalKind {
    match error {
        FolderError::WritableByOthers { .. }
        | FolderError::NotOurs { .. }
        | FolderError::NetworkFileSystem { .. }
        | FolderError::Newer { .. }
        | FolderError::OldSqlite { .. }
        | FolderError::LongPath { .. }
        | FolderError::LogWithoutDatabase { .. } => RefusalKind::Refused,
        FolderError::UnknownRun { .. } => RefusalKind::NotFound,
        FolderError::AlreadyEnded { .. }
        | FolderError::Exists { .. }
        | FolderError::InUse { .. }
        | FolderError::Busy { .. }
        | FolderError::Store(StoreError::Held { .. }) => RefusalKind::Conflict,
        _ => RefusalKind::Failed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flow_that_makes_no_graph_is_wrong_and_not_unsafe() {
        let error = DeskError::Start(StartError::Flow("step `a`: two are alike".to_owned()));
        assert_eq!(error.kind(), RefusalKind::Input);
    }
}
