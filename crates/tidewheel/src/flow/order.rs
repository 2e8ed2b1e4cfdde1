//! [`FlowOrder`]: everything about one run of a flow, as it is kept with the run.
//!
//! The texts of the files are part of it, so that a run goes on with what it was started with,
//! whatever becomes of the files. Secrets are not: they are fetched again.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use super::definition::Flow;
use super::load::{Loaded, load};

/// One run of a flow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FlowOrder {
    /// The version of this form.
    pub version: u32,
    /// The files, in the order in which they are merged.
    pub paths: Vec<PathBuf>,
    /// Their texts, and those of flows they call.
    pub texts: BTreeMap<PathBuf, Arc<str>>,
    /// The folder that relative paths of files start at.
    pub base: PathBuf,
    /// The value of every param.
    pub params: BTreeMap<String, Json>,
    /// Steps at once.
    pub max_workers: u32,
    /// The run whose results are used again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub again: Option<String>,
    /// What tasks that are not run again left before, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub reused: BTreeMap<String, Map<String, Json>>,
    /// The only tasks that are run, if not all are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub only: Option<Vec<String>>,
}

/// The form that this program writes.
const VERSION: u32 = 1;

/// Why a stored run cannot be understood.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OrderError {
    /// It was not started from a flow file.
    #[error("the run was not started from a flow file")]
    NoFlow,
    /// It is of a newer version.
    #[error("the run was started by a newer version of this program")]
    Newer,
    /// What is kept of it cannot be read.
    #[error("what is kept of the run cannot be read: {0}")]
    Unreadable(String),
}

impl FlowOrder {
    /// A run of what was loaded, from its beginning.
    #[must_use]
    pub fn new(
        loaded: &Loaded,
        paths: Vec<PathBuf>,
        params: BTreeMap<String, Json>,
        max_workers: u32,
    ) -> Self {
        Self {
            version: VERSION,
            paths,
            texts: loaded.texts.clone(),
            base: std::env::current_dir().unwrap_or_default(),
            params,
            max_workers,
            again: None,
            reused: BTreeMap::new(),
            only: None,
        }
    }

    /// What is kept with the run.
    #[must_use]
    pub fn to_payload(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// A run from what was kept with it.
    ///
    /// # Errors
    ///
    /// When it was not made by [`FlowOrder::to_payload`].
    pub fn from_payload(payload: Option<&[u8]>) -> Result<Self, OrderError> {
        #[derive(Deserialize)]
        struct Version {
            version: u32,
        }
        let payload = payload.ok_or(OrderError::NoFlow)?;
        let version: Version = serde_json::from_slice(payload).map_err(|_| OrderError::NoFlow)?;
        if version.version > VERSION {
            return Err(OrderError::Newer);
        }
        serde_json::from_slice(payload).map_err(|error| OrderError::Unreadable(error.to_string()))
    }

    /// The flow, from the texts that were kept.
    ///
    /// # Errors
    ///
    /// When they can no longer be read, such as after a change of this program.
    pub fn flow(&self) -> Result<Arc<Flow>, OrderError> {
        let loaded = load(&self.paths, &self.texts);
        match loaded.runnable() {
            Some(flow) => {
                let mut flow = Flow::clone(flow);
                flow.folder = self.base.join(&flow.folder);
                Ok(Arc::new(flow))
            }
            None => {
                let first = loaded.problems.iter().next().map(|it| it.message.clone());
                Err(OrderError::Unreadable(first.unwrap_or_default()))
            }
        }
    }
}
