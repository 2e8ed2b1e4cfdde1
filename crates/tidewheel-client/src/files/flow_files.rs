//! [`FlowFiles`]: what came of reading files, and the runs that can be made of them.
//!
//! What a run would do is in [`super::plan`].

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value as Json;
use tidewheel_flow::{
    Disk, Flow, FlowOrder, Loaded, ParamError, ReadText, STDIN, Style, known_params, load,
    parse_param, resolve_params,
};

use crate::api::Validated;
use crate::desk::{DeskError, near_step, workers_of};
use crate::kind::FlowRun;

/// What came of reading flow files: a flow if there is one, and every problem.
#[derive(Debug)]
pub struct FlowFiles {
    pub(crate) loaded: Loaded,
    paths: Vec<PathBuf>,
}

/// What is said about a run of files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunWish {
    /// Its params, as `name=value`.
    pub params: Vec<String>,
    /// Only these steps.
    pub only: Vec<String>,
    /// Only this step and what comes after it.
    pub from: Option<String>,
    /// Only these steps and what they need.
    pub to: Vec<String>,
    /// Steps at once, if it is to be other than the flow says.
    pub max_workers: Option<u32>,
}

/// What becomes of the params that were said.
type Resolve = fn(&Flow, BTreeMap<String, Json>) -> Result<BTreeMap<String, Json>, ParamError>;

impl FlowFiles {
    /// Reads files, which are merged from left to right. It waits for the disk.
    #[must_use]
    pub fn read(paths: &[PathBuf]) -> Self {
        Self::read_with(paths, &Disk)
    }

    /// The same, where the path `-` stands for this text.
    #[must_use]
    pub fn read_with_stdin(paths: &[PathBuf], text: Vec<u8>) -> Self {
        Self::read_with(paths, &BesideStdin(text))
    }

    /// The same of texts that are at hand, by path.
    #[must_use]
    pub fn of_texts(paths: &[PathBuf], texts: &BTreeMap<PathBuf, Arc<str>>) -> Self {
        Self::read_with(paths, texts)
    }

    pub(crate) fn read_with(paths: &[PathBuf], reader: &dyn ReadText) -> Self {
        Self { loaded: load(paths, reader), paths: paths.to_owned() }
    }

    /// The flow.
    ///
    /// # Errors
    ///
    /// When it has problems that are errors: how many.
    pub fn runnable(&self) -> Result<&Arc<Flow>, DeskError> {
        let errors = self.loaded.problems.errors();
        let problems = || self.loaded.problems.to_json(&self.loaded.files);
        self.loaded.runnable().ok_or_else(|| DeskError::Unrunnable { errors, problems: problems() })
    }

    /// Whether anything is wrong with them, warnings included.
    #[must_use]
    pub fn has_problems(&self) -> bool {
        !self.loaded.problems.is_empty()
    }

    /// What is wrong with them, each with its place in the text, for people.
    #[must_use]
    pub fn problems(&self, is_colourful: bool, width: usize) -> String {
        let style = if is_colourful { Style::Colour } else { Style::Plain };
        self.loaded.problems.render(&self.loaded.files, style, width)
    }

    /// Whether they make a flow that can be run; strictly, warnings count as errors.
    #[must_use]
    pub fn validated(&self, is_strict: bool) -> Validated {
        let flow = self.loaded.flow.as_ref();
        let is_strict_enough = !is_strict || !self.has_problems();
        Validated {
            version: None,
            valid: self.loaded.runnable().is_some() && is_strict_enough,
            flow: flow.map(|flow| flow.name.clone()),
            steps: flow.map_or(0, |flow| flow.steps.len()),
            problems: self.loaded.problems.to_json(&self.loaded.files),
        }
    }

    /// A run of them.
    ///
    /// # Errors
    ///
    /// When they make no flow, a param is missing or wrong, or there is no such step.
    pub fn run(&self, wish: &RunWish) -> Result<FlowRun, DeskError> {
        self.make(wish, resolve_params)
    }

    /// A run of them that is only planned: params may be missing.
    ///
    /// # Errors
    ///
    /// When they make no flow, a param is wrong, or there is no such step.
    pub fn draft(&self, wish: &RunWish) -> Result<FlowRun, DeskError> {
        self.make(wish, known_params)
    }

    fn make(&self, wish: &RunWish, resolve: Resolve) -> Result<FlowRun, DeskError> {
        let flow = self.runnable()?;
        let params = params_of(flow, &wish.params, resolve)?;
        let workers = workers_of(wish.max_workers, flow);
        let mut order = FlowOrder::new(&self.loaded, self.paths.clone(), params, workers);
        order.only = chosen(flow, wish)?.map(|chosen| chosen.into_iter().collect());
        Ok(FlowRun::new(Arc::clone(flow), order))
    }
}

/// Files on disk, and the text that came from standard input.
struct BesideStdin(Vec<u8>);

impl ReadText for BesideStdin {
    fn read(&self, path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
        match path == Path::new(STDIN) {
            true => Ok(self.0.clone()),
            false => Disk.read(path, bytes_max),
        }
    }
}

/// The params of a run, from `name=value`. All that is wrong with them is told at once.
fn params_of(
    flow: &Flow,
    said: &[String],
    resolve: Resolve,
) -> Result<BTreeMap<String, Json>, DeskError> {
    let (mut values, mut wrong) = (BTreeMap::new(), Vec::new());
    for pair in said {
        let Some((name, text)) = pair.split_once('=') else {
            return Err(DeskError::ParamForm { text: pair.clone() });
        };
        let param = flow.params.iter().find(|param| param.name == name);
        match param.map_or(Ok(Json::String(text.to_owned())), |param| parse_param(param, text)) {
            Ok(value) => _ = values.insert(name.to_owned(), value),
            Err(error) => wrong.push((name, error)),
        }
    }
    let (resolved, errors) = match resolve(flow, values) {
        Ok(resolved) => (resolved, Vec::new()),
        Err(error) => (BTreeMap::new(), error.into_all()),
    };
    // What was said and cannot be read is not missing.
    let is_said = |error: &ParamError| match error {
        ParamError::Missing { name: missing } => wrong.iter().any(|(name, _)| name == missing),
        _ => false,
    };
    let errors: Vec<ParamError> = errors.into_iter().filter(|error| !is_said(error)).collect();
    let all = wrong.into_iter().map(|(_, error)| error).chain(errors).collect();
    match ParamError::of(all) {
        Some(error) => Err(DeskError::param(flow, error)),
        None => Ok(resolved),
    }
}

/// The steps that are run, if not all are: these, or one and all that comes after it.
fn chosen(flow: &Flow, wish: &RunWish) -> Result<Option<BTreeSet<String>>, DeskError> {
    for name in wish.from.iter().chain(&wish.only).chain(&wish.to) {
        if flow.step(name).is_none() {
            return Err(DeskError::NotInFlow { step: name.clone(), near: near_step(flow, name) });
        }
    }
    Ok(match &wish.from {
        Some(from) => Some(flow.descendants(from)),
        None if !wish.to.is_empty() => Some(flow.ancestors_of(wish.to.iter().map(String::as_str))),
        None => (!wish.only.is_empty()).then(|| wish.only.iter().cloned().collect()),
    })
}
