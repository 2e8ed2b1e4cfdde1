//! Commands for other processes as they are written.
//!
//! Where they are kept until somebody reads them is the store's business.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::CodecError;
use crate::store::RunCommand;

/// A [`RunCommand`].
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CommandRecord {
    Cancel { grace: Duration },
    End { grace: Duration },
    Replace { grace: Duration },
    Pause,
    Resume,
}

impl CommandRecord {
    pub(super) fn of(command: &RunCommand) -> Self {
        match command {
            RunCommand::Cancel { grace } => Self::Cancel { grace: *grace },
            RunCommand::End { grace } => Self::End { grace: *grace },
            RunCommand::Replace { grace } => Self::Replace { grace: *grace },
            RunCommand::Pause => Self::Pause,
            RunCommand::Resume => Self::Resume,
        }
    }

    #[allow(clippy::unnecessary_wraps, reason = "all records are read alike")]
    pub(super) fn into_value(self) -> Result<RunCommand, CodecError> {
        Ok(match self {
            Self::Cancel { grace } => RunCommand::Cancel { grace },
            Self::End { grace } => RunCommand::End { grace },
            Self::Replace { grace } => RunCommand::Replace { grace },
            Self::Pause => RunCommand::Pause,
            Self::Resume => RunCommand::Resume,
        })
    }
}
