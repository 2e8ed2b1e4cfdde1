//! [`Version`]: a flow as its file had it at some time, ready to be run.
//!
//! Which version of a flow is in force is decided in [`super::catalogue`].

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value as Json, json};
use tidewheel::Timestamp;
use tidewheel::clock::wall_clock;
use tidewheel_flow::{Flow, FlowOrder, OrderError, ParamError, Step, parse_param, resolve_params};

use super::setting::names;
use crate::api::{FlowDetail, FlowFile, FlowLine, StartWish, StepLine};
use crate::desk::{DeskError, workers_of};
use crate::files::{FlowFiles, param_line};
use crate::kind::{DiskAt, FlowRun};

/// A flow as its file had it.
#[derive(Debug)]
pub(crate) struct Version {
    /// The file.
    pub path: PathBuf,
    pub flow: Arc<Flow>,
    /// A run of it without params.
    order: FlowOrder,
    pub fingerprint: String,
    /// Since when it is known.
    pub since: Timestamp,
    /// What is not quite right with it.
    pub warnings: Json,
}

/// What came of reading a file.
#[derive(Debug, Clone)]
pub(super) enum Read {
    /// A flow that can be run.
    Good(Arc<Version>),
    /// Something that cannot.
    Broken(Arc<Broken>),
}

/// A file that makes no flow that can be run.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Broken {
    /// The name of its flow, as far as it is known.
    pub flow: Option<String>,
    /// What is wrong.
    pub problems: Json,
}

impl Broken {
    /// The first thing that is wrong, with its place.
    pub fn first(&self) -> String {
        let problem = &self.problems[0];
        let message = problem["message"].as_str().unwrap_or("it cannot be read");
        match (problem["line"].as_u64(), problem["column"].as_u64()) {
            (Some(line), Some(column)) => format!("line {line}, column {column}: {message}"),
            _ => message.to_owned(),
        }
    }
}

impl Read {
    /// Whether another look has found nothing else.
    pub fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Good(one), Self::Good(other)) => one.fingerprint == other.fingerprint,
            (Self::Broken(one), Self::Broken(other)) => one == other,
            _ => false,
        }
    }

    /// Reads a file and all that it calls. It waits for the disk.
    pub fn file(path: &Path, now: Timestamp) -> (Self, Vec<PathBuf>) {
        let paths = [path.to_owned()];
        let files = FlowFiles::read(&paths);
        let validated = files.validated(false);
        let mut parts: Vec<PathBuf> = files.loaded.texts.keys().cloned().collect();
        if parts.is_empty() {
            parts.push(path.to_owned());
        }
        let read = match files.runnable() {
            Ok(flow) => {
                let workers = workers_of(None, flow);
                let mut order =
                    FlowOrder::new(&files.loaded, paths.into(), BTreeMap::new(), workers);
                // Not that of whoever happens to read it: the same file is the same version everywhere.
                order.base = path.parent().map(Path::to_owned).unwrap_or_default();
                Self::Good(Arc::new(Version {
                    path: path.to_owned(),
                    flow: Arc::clone(flow),
                    fingerprint: order.fingerprint(),
                    order,
                    since: now,
                    warnings: validated.problems,
                }))
            }
            Err(_) => Self::Broken(Arc::new(Broken {
                flow: validated.flow,
                problems: validated.problems,
            })),
        };
        (read, parts)
    }
}

impl Version {
    /// The version that a schedule was last set with, from what is kept with it.
    pub fn of_order(mut order: FlowOrder, since: Timestamp) -> Result<Self, OrderError> {
        let flow = order.flow()?;
        let path = order.paths.first().map(|path| order.base.join(path)).unwrap_or_default();
        let fingerprint = order.fingerprint();
        order.params.clear();
        Ok(Self { path, flow, order, fingerprint, since, warnings: json!([]) })
    }

    /// The version that the files of a run have now; those of one that came from elsewhere are as they were.
    pub fn anew(then: FlowOrder) -> Result<Self, DeskError> {
        let files = match then.is_of_files() {
            true => FlowFiles::read_with(&then.paths, &DiskAt(then.base.clone())),
            false => FlowFiles::of_texts(&then.paths, &then.texts),
        };
        let Ok(flow) = files.runnable() else { return Err(DeskError::Problems(Box::new(files))) };
        let workers = workers_of(None, flow);
        let mut order = FlowOrder::new(&files.loaded, then.paths, BTreeMap::new(), workers);
        order.base = then.base;
        let warnings = files.validated(false).problems;
        Ok(Self { warnings, ..Self::of_order(order, wall_clock())? })
    }

    /// Its files and what is in them, the first one first.
    pub fn files(&self) -> Vec<FlowFile> {
        let first = |path: &Path| path != self.path;
        let mut files: Vec<(&PathBuf, &Arc<str>)> = self.order.texts.iter().collect();
        files.sort_by_key(|(path, _)| (first(&self.order.base.join(path)), *path));
        let file = |(path, text): (&PathBuf, &Arc<str>)| FlowFile {
            path: path.display().to_string(),
            text: text.to_string(),
        };
        files.into_iter().map(file).collect()
    }

    /// Whether a run is one of the very files that it was read from, as they were.
    pub fn is_of_same_texts(&self, order: &FlowOrder) -> bool {
        let own = &self.order;
        (&own.base, &own.paths, &own.texts) == (&order.base, &order.paths, &order.texts)
    }

    /// The name of the flow.
    pub fn name(&self) -> &str {
        &self.flow.name
    }

    /// A run of it with these params. A text for a param of another kind is read as that kind.
    pub fn order(&self, said: &BTreeMap<String, Json>) -> Result<FlowOrder, DeskError> {
        let params = params_of(&self.flow, said);
        let mut order = self.order.clone();
        order.params = params.map_err(|error| DeskError::param(&self.flow, error))?;
        Ok(order)
    }

    /// A run of it as somebody wishes for it.
    pub fn run(&self, wish: StartWish) -> Result<FlowRun, DeskError> {
        if let Some(wanted) = wish.fingerprint.filter(|wanted| *wanted != self.fingerprint) {
            return Err(DeskError::OtherVersion { flow: wish.flow, wanted });
        }
        let mut order = self.order(&wish.params)?;
        order.priority = wish.priority.and_then(|said| u8::try_from(said.clamp(0, 100)).ok());
        order.max_workers = wish.max_workers.unwrap_or(order.max_workers);
        for tag in wish.tags {
            if !order.tags.contains(&tag) {
                order.tags.push(tag);
            }
        }
        Ok(FlowRun::new(Arc::clone(&self.flow), order).once(wish.key))
    }

    /// It as a document, with what is wrong with its file by now.
    pub fn detail(&self, problems: Option<Json>) -> FlowDetail {
        let step = |step: &Arc<Step>| StepLine {
            name: step.name.clone(),
            kind: self.flow.kind_of_task(&step.name).map(str::to_owned),
            description: step.description.clone(),
            after: step.after.iter().map(|needed| needed.step.clone()).collect(),
        };
        FlowDetail {
            version: None,
            flow: self.line(problems.is_some()),
            max_workers: workers_of(None, &self.flow),
            params: self.flow.params.iter().map(param_line).collect(),
            steps: self.flow.steps.iter().map(step).collect(),
            problems: problems.unwrap_or_else(|| self.warnings.clone()),
        }
    }

    /// It in one line.
    pub fn line(&self, is_outdated: bool) -> FlowLine {
        FlowLine {
            name: self.flow.name.clone(),
            description: self.flow.description.clone(),
            tags: self.flow.tags.clone(),
            file: self.path.display().to_string(),
            fingerprint: self.fingerprint.clone(),
            since: self.since,
            steps: self.flow.steps.len(),
            schedules: names(&self.flow),
            outdated: is_outdated,
        }
    }

    /// A run of it before its params are known.
    pub fn bare_order(&self) -> FlowOrder {
        self.order.clone()
    }
}

/// All params of a run of a flow. A text for a param of another kind is read as that kind.
pub(super) fn params_of(
    flow: &Flow,
    said: &BTreeMap<String, Json>,
) -> Result<BTreeMap<String, Json>, ParamError> {
    let (mut values, mut wrong) = (BTreeMap::new(), Vec::new());
    for (name, value) in said {
        let param = flow.params.iter().find(|param| param.name == *name);
        let read = match (param, value) {
            (Some(param), Json::String(text)) => parse_param(param, text),
            _ => Ok(value.clone()),
        };
        match read {
            Ok(value) => _ = values.insert(name.clone(), value),
            Err(error) => wrong.push(error),
        }
    }
    ParamError::of(wrong).map_or_else(|| resolve_params(flow, values), Err)
}
