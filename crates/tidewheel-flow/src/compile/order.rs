//! [`FlowOrder`]: everything about one run of a flow, as it is kept with the run.
//!
//! The texts of the files are part of it, so that a run goes on with what it was started with,
//! whatever becomes of the files. Secrets are not: they are fetched again.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};
use sha2::{Digest, Sha256};
use tidewheel::Timestamp;
use tidewheel::store::RunDetail;

use crate::definition::Flow;
use crate::definition::load::{Loaded, STDIN, load};
use crate::language::problem::{Problems, SourceFiles};
use crate::language::yaml::{self, Node, merge};

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
    /// Those among them that somebody wanted to be passed over: they count as done, and left nothing.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub passed_over: BTreeSet<String>,
    /// The instant of a schedule that the run is made for, in RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduled_at: Option<String>,
    /// The only tasks that are run, if not all are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub only: Option<Vec<String>>,
    /// The priority of steps that say none, if somebody has said one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<u8>,
    /// Words to find the run by.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Whether steps have such words too; to read the flow for them takes its time.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_tagged_steps: bool,
    /// Whether the flow [is plain](Flow::is_plain): then nobody has to read it to say how its tasks stand.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_plain: bool,
}

/// How deep flows can be inside each other, and more.
const CALLS_MAX: usize = 16;

/// The form that this program writes.
const VERSION: u32 = 1;

/// The kind of the payloads of flows.
pub const FLOW_KIND: &str = "flow";

/// Why a stored run cannot be understood.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OrderError {
    /// It was not started from a flow file.
    #[error("the run was not started from a flow file")]
    NoFlow,
    /// It is work of another kind.
    #[error("the run was not started from a flow file: it is of the kind `{0}`")]
    OtherKind(String),
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
        let flow = loaded.flow.as_ref();
        Self {
            version: VERSION,
            paths,
            texts: loaded.texts.clone(),
            base: std::env::current_dir().unwrap_or_default(),
            params,
            max_workers,
            again: None,
            reused: BTreeMap::new(),
            passed_over: BTreeSet::new(),
            scheduled_at: None,
            only: None,
            priority: None,
            tags: flow.map(|flow| flow.tags.clone()).unwrap_or_default(),
            has_tagged_steps: flow.is_some_and(|flow| flow.has_tagged_steps()),
            is_plain: flow.is_some_and(|flow| flow.is_plain()),
        }
    }

    /// The tags of a stored run, without reading the rest of it.
    #[must_use]
    pub fn tags_in(payload: &[u8]) -> Vec<String> {
        #[derive(Deserialize)]
        struct Tagged {
            #[serde(default)]
            tags: Vec<String>,
        }
        serde_json::from_slice(payload).map(|it: Tagged| it.tags).unwrap_or_default()
    }

    /// Whether the flow of a stored run is plain, without reading the rest of it.
    #[must_use]
    pub fn is_plain_in(payload: &[u8]) -> bool {
        #[derive(Deserialize)]
        struct Plain {
            #[serde(default)]
            is_plain: bool,
        }
        serde_json::from_slice(payload).is_ok_and(|it: Plain| it.is_plain)
    }

    /// The run that a stored one makes again, without reading the rest of it.
    #[must_use]
    pub fn again_in(payload: &[u8]) -> Option<String> {
        #[derive(Deserialize)]
        struct Made {
            #[serde(default)]
            again: Option<String>,
        }
        serde_json::from_slice(payload).ok().and_then(|it: Made| it.again)
    }

    /// Says which instant of a schedule the run is made for.
    #[must_use]
    pub fn scheduled_at(mut self, instant: Timestamp) -> Self {
        self.scheduled_at = Some(instant.to_string());
        self
    }

    /// What tells one version of its files from another: a fingerprint of all of their texts.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        let mut hash = Sha256::new();
        for (path, text) in &self.texts {
            for part in [path.as_os_str().as_encoded_bytes(), text.as_bytes()] {
                hash.update((part.len() as u64).to_be_bytes());
                hash.update(part);
            }
        }
        hash.finalize()[..6].iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Whether a task is one of those that are run: elements and called flows come with their step.
    #[must_use]
    pub fn is_chosen(&self, task: &str) -> bool {
        let step = step_of(task);
        self.only.as_ref().is_none_or(|only| only.iter().any(|chosen| chosen == step))
    }

    /// Whether it is a run of the same files as another, whatever they said then.
    #[must_use]
    pub fn is_of_same_files(&self, other: &Self) -> bool {
        let place = |base: &Path, path: &PathBuf| {
            let path = base.join(path);
            path.canonicalize().unwrap_or(path)
        };
        let own = self.paths.iter().map(|path| place(&self.base, path));
        self.is_of_files() && own.eq(other.paths.iter().map(|path| place(&other.base, path)))
    }

    /// Whether all of it comes from files, which may be read again.
    #[must_use]
    pub fn is_of_files(&self) -> bool {
        !self.paths.iter().any(|path| path == Path::new(STDIN))
    }

    /// What the files say of each step, with what they say for all of them and the flows that are
    /// called: as long as that is the same, so is what the step does.
    #[must_use]
    pub fn definitions(&self) -> BTreeMap<String, Json> {
        let (Some(whole), Some(file)) = (self.document(&self.paths), self.paths.first()) else {
            return BTreeMap::new();
        };
        let common =
            ["defaults", "env", "env_file", "secrets", "sources"].map(|key| whole.get(key));
        let steps = steps_of(&whole).filter_map(|step| {
            let name = match step.get("name")? {
                Json::String(name) => name.clone(),
                other => other.to_string(),
            };
            let called = self.called(step, file, CALLS_MAX);
            Some((name, serde_json::json!([common, step, called])))
        });
        steps.collect()
    }

    /// The flows that a step calls, and those that these call.
    fn called(&self, step: &Json, file: &Path, depth: usize) -> Vec<Json> {
        if let (Some(Json::Array(steps)), 1..) = (step.get("steps"), depth) {
            return steps.iter().flat_map(|step| self.called(step, file, depth - 1)).collect();
        }
        let (Some(Json::String(path)), 1..) = (step.get("flow"), depth) else { return Vec::new() };
        let path = file.parent().unwrap_or(Path::new("")).join(path);
        let Some(whole) = self.document(std::slice::from_ref(&path)) else { return Vec::new() };
        let mut called: Vec<Json> =
            steps_of(&whole).flat_map(|step| self.called(step, &path, depth - 1)).collect();
        called.push(whole);
        called
    }

    fn document(&self, paths: &[PathBuf]) -> Option<Json> {
        let (mut files, mut problems) = (SourceFiles::default(), Problems::default());
        let mut whole: Option<Node> = None;
        for path in paths {
            let text = self.texts.get(path)?;
            let file = files.push("", Arc::clone(text));
            let node = yaml::parse(file, text, &yaml::Limits::default(), &mut problems)?;
            whole = Some(match whole {
                Some(before) => merge(before, node),
                None => node,
            });
        }
        Some(whole?.to_json())
    }

    /// What is kept with the run.
    #[must_use]
    pub fn to_payload(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// A run as a store shows it.
    ///
    /// # Errors
    ///
    /// As [`FlowOrder::from_payload`].
    pub fn of_run(detail: &RunDetail) -> Result<Self, OrderError> {
        Self::from_payload(detail.payload_kind.as_deref(), detail.payload.as_deref())
    }

    /// A run from what was kept with it, and the kind of that. Runs from before there were kinds say
    /// none; what they hold is looked at.
    ///
    /// # Errors
    ///
    /// When it was not made by [`FlowOrder::to_payload`], or is of another kind.
    pub fn from_payload(kind: Option<&str>, payload: Option<&[u8]>) -> Result<Self, OrderError> {
        #[derive(Deserialize)]
        struct Version {
            version: u32,
        }
        if let Some(other) = kind.filter(|kind| *kind != FLOW_KIND) {
            return Err(OrderError::OtherKind(other.to_owned()));
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
        // With whole paths, so that it does not matter from where the run is taken up.
        let paths: Vec<PathBuf> = self.paths.iter().map(|path| self.base.join(path)).collect();
        let texts = self.texts.iter().map(|(path, text)| (self.base.join(path), Arc::clone(text)));
        let texts: BTreeMap<PathBuf, Arc<str>> = texts.collect();
        let loaded = load(&paths, &texts);
        match loaded.runnable() {
            Some(flow) => Ok(Arc::clone(flow)),
            None => {
                let first = loaded.problems.iter().next().map(|it| it.message.clone());
                Err(OrderError::Unreadable(first.unwrap_or_default()))
            }
        }
    }
}

/// The steps of a document, those that follow it included.
fn steps_of(whole: &Json) -> impl Iterator<Item = &Json> {
    let lists = ["flow", "on_success", "on_failure", "finally"].into_iter();
    lists.filter_map(|key| whole.get(key)?.as_array()).flatten()
}

/// The step of the flow itself that a task belongs to: elements and called flows come with theirs.
#[must_use]
pub fn step_of(task: &str) -> &str {
    task.split(['[', '/', '{']).next().unwrap_or_default()
}
