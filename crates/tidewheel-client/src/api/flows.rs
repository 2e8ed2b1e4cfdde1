//! The flows that a house knows, and what is wrong with their files.
//!
//! What a run of one would do is in [`super::Plan`].

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use tidewheel::Timestamp;
use utoipa::ToSchema;

use super::document::documents;
use super::times::instant;

/// The flows that a house knows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct FlowList {
    /// The version of this form, where it is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// Those that can be run, by name.
    pub flows: Vec<FlowLine>,
    /// Files that cannot, whether or not an earlier version of them is in force.
    pub broken: Vec<BrokenFile>,
}

/// A flow in one line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct FlowLine {
    /// Its name.
    pub name: String,
    /// What it says of itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Words to find it by.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// The file it was read from.
    pub file: String,
    /// Which version is in force: a fingerprint of the texts of its files.
    pub fingerprint: String,
    /// Since when.
    #[serde(with = "instant")]
    #[schema(value_type = String, format = DateTime)]
    pub since: Timestamp,
    /// How many steps it has.
    pub steps: usize,
    /// The names of its schedules.
    pub schedules: Vec<String>,
    /// Whether its file says something else by now that cannot be run: see `broken`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub outdated: bool,
}

/// A file that makes no flow that can be run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct BrokenFile {
    /// The file.
    pub file: String,
    /// The name of its flow, as far as it is known.
    pub flow: Option<String>,
    /// Whether an earlier version of it is in force.
    pub in_force: bool,
    /// What is wrong, each with its place.
    #[schema(value_type = Value)]
    pub problems: Json,
}

/// A flow, as far as it matters to whoever wants to run it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct FlowDetail {
    /// The version of this form, where it is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// What its line in the list says.
    pub flow: FlowLine,
    /// Steps at once, at most.
    pub max_workers: u32,
    /// What can be said when a run is started.
    pub params: Vec<ParamLine>,
    /// Its steps, in the order of the file.
    pub steps: Vec<StepLine>,
    /// What is not quite right with it, each with its place.
    #[schema(value_type = Value)]
    pub problems: Json,
}

/// Something that can be said when a run is started.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ParamLine {
    /// Its name.
    pub name: String,
    /// What kind of value it takes: `text`, `int`, `number`, `bool`, `list`, `map`, `any`.
    pub kind: String,
    /// Whether it must be said.
    pub required: bool,
    /// Its value when nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Value>)]
    pub default: Option<Json>,
    /// The only values it may have, unless empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<Value>)]
    pub choices: Vec<Json>,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The least a number may be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min: Option<f64>,
    /// The most a number may be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<f64>,
    /// What a text must look like, with `*` and `?`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
}

/// A step of a flow in one line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct StepLine {
    /// Its name.
    pub name: String,
    /// What it does, in one word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The steps it waits for.
    pub after: Vec<String>,
}

/// The files that a flow was read from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct FlowSource {
    /// The version of this form, where it is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// The name of the flow.
    pub flow: String,
    /// Which version is in force.
    pub fingerprint: String,
    /// Its files in that version, the first one first.
    pub files: Vec<FlowFile>,
    /// What its file says by now, if that cannot be run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outdated: Option<FlowFile>,
    /// What is wrong with that, or not quite right with the version in force, each with its place.
    #[schema(value_type = Value)]
    pub problems: Json,
}

/// A file and what is in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FlowFile {
    /// Its path.
    pub path: String,
    /// What is in it.
    pub text: String,
}

impl FlowSource {
    /// The files that are shown of it, in their order: each with what it is, where there are two versions, and with what is
    /// wrong in it.
    #[must_use]
    pub fn shown(&self) -> Vec<(&FlowFile, &'static str, Vec<&Json>)> {
        let problems = |file: &FlowFile| -> Vec<&Json> {
            let is_own = |problem: &&Json| {
                let path = problem["file"].as_str();
                path.is_none_or(|path| path == file.path || file.path.ends_with(path))
            };
            self.problems.as_array().into_iter().flatten().filter(is_own).collect()
        };
        let Some(outdated) = &self.outdated else {
            return self.files.iter().map(|file| (file, "", problems(file))).collect();
        };
        let now = (outdated, "as it is now: it cannot be run", problems(outdated));
        let then = self.files.iter().map(|file| (file, "the version in force", Vec::new()));
        std::iter::once(now).chain(then).collect()
    }
}

/// What came of reading the files of a house again.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Reloaded {
    /// The version of this form, where it is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// Flows that are new.
    pub added: Vec<String>,
    /// Flows of which another version is in force now.
    pub changed: Vec<String>,
    /// Flows that are gone.
    pub removed: Vec<String>,
    /// Files that cannot be run, and could before or were not there.
    pub broken: Vec<String>,
    /// Schedules that were refused, with why.
    pub refused: Vec<String>,
}

documents! {
    FlowList: "flows" 1,
    FlowDetail: "flow" 1,
    FlowSource: "flow-source" 1,
    Reloaded: "reloaded" 1,
}
