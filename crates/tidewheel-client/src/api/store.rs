//! How much is stored.
//!
//! How the scheduler does is in [`super::Figures`].

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::document::documents;

/// How much is stored in a data folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct StoreFigures {
    /// The version of this form, where it is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// The folder.
    pub folder: String,
    /// How large the database is, with what is still to be moved into it.
    pub database_bytes: u64,
    /// Runs that have not ended.
    pub live: u64,
    /// Runs that have ended, by how.
    pub ended: BTreeMap<String, u64>,
    /// Schedules that have not ended.
    pub schedules: u64,
}

documents! { StoreFigures: "store" 1 }
