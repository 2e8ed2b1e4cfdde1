//! Flows, their steps, and how those are treated.
//!
//! What steps do is in `work`.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value as Json;
use tidewheel::policy::{OnSkip, OnStop, RetryOn};
use tidewheel::run::{Busy, Ends, RunGroup, RunOrder};
use tidewheel::schedule::ScheduleSpec;
use tidewheel::{LimitSpec, OnError, Priority, QueueSpec, Retry};

use super::arrival::Arrivals;
use super::work::{ArtifactRule, Cache, Foreach, Repeat, StepOutput, Surroundings, Work};
use crate::language::problem::Span;
use crate::language::template::Context;
use crate::language::tree::{Leaf, RenderError, Tree};

/// A flow that was checked and can be run.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Flow {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: Option<String>,
    /// Words to find it by.
    pub tags: Vec<String>,
    /// What can be said when a run is started.
    pub params: Vec<Param>,
    /// Its steps, those that follow the run included.
    pub steps: Vec<Arc<Step>>,
    /// How it is run as a whole.
    pub runner: Runner,
    /// Caps that steps share, resources among them.
    pub limits: BTreeMap<String, LimitSpec>,
    /// Lanes that share the slots.
    pub queues: BTreeMap<String, QueueSpec>,
    /// The group of its runs.
    pub(crate) concurrency: Option<Concurrency>,
    /// When it is run by itself.
    pub schedules: Vec<FlowSchedule>,
    /// Flows that hear what becomes of its runs, whatever they say themselves.
    pub notify: Vec<String>,
    /// Whether each step waits for the one that is written before it.
    pub(crate) is_sequence: bool,
    /// The folder that relative paths start at.
    pub folder: PathBuf,
    /// The file it was read from, the first of several: which flow it is.
    pub(crate) file: PathBuf,
    pub(crate) secrets: Vec<Secret>,
    pub(crate) env: Vec<(String, Tree)>,
    /// Files with more variables.
    pub(crate) env_files: Vec<PathBuf>,
    /// What templates know as `sources`: for env sources the names of variables, for others the
    /// definition as it stands.
    pub(crate) sources: BTreeMap<String, SourceView>,
    /// The place of each step by its name, of the first where there are several.
    pub(crate) places: HashMap<String, usize>,
    /// The names of all steps.
    pub(crate) names: Arc<[String]>,
    /// How many tasks it comes to, called flows included, without elements.
    pub(crate) tasks: usize,
    pub(crate) gaps: Gaps,
    /// Steps that may be skipped although nothing fails.
    pub(crate) may_decline: BTreeSet<String>,
}

/// The concurrency group of a flow's runs.
#[derive(Debug, Clone)]
pub(crate) struct Concurrency {
    /// Its name, which may need params.
    pub group: Leaf,
    pub max: u32,
    pub busy: Busy,
}

impl Concurrency {
    /// The group of a run with these params.
    pub fn of(&self, params: &BTreeMap<String, Json>) -> Result<RunGroup, RenderError> {
        let params = Json::Object(params.clone().into_iter().collect());
        let name = self.group.render_text(&Context::new().with("params", params))?;
        Ok(RunGroup { name: name.into(), max: self.max, busy: self.busy })
    }
}

/// What could not be understood of a flow's files. Whatever names such a thing is not wrong because
/// of that; a flow with gaps has errors, and is not run.
#[derive(Debug, Clone, Default)]
pub(crate) struct Gaps {
    /// Steps of which it is not known what they leave.
    pub outputs: BTreeSet<String>,
    /// Keys of the file of which it is not known what they define.
    pub sections: BTreeSet<&'static str>,
}

impl Gaps {
    /// The keys of a file that define what others name.
    pub const SECTIONS: [&str; 6] = ["flow", "limits", "params", "queues", "secrets", "sources"];

    pub fn has_section(&self, section: &str) -> bool {
        self.sections.contains(section)
    }
}

impl Flow {
    /// The steps of a group, as a flow. What the flow around it has is not known yet.
    pub(crate) fn of_group(steps: Vec<Arc<Step>>) -> Self {
        Self {
            name: String::new(),
            description: None,
            tags: Vec::new(),
            params: Vec::new(),
            runner: Runner::default(),
            limits: BTreeMap::new(),
            queues: BTreeMap::new(),
            concurrency: None,
            schedules: Vec::new(),
            notify: Vec::new(),
            is_sequence: false,
            folder: PathBuf::new(),
            file: PathBuf::new(),
            secrets: Vec::new(),
            env: Vec::new(),
            env_files: Vec::new(),
            sources: BTreeMap::new(),
            places: places_of(&steps),
            names: steps.iter().map(|step| step.name.clone()).collect(),
            tasks: steps.iter().map(|step| step.work.tasks()).fold(0, usize::saturating_add),
            steps,
            gaps: Gaps::default(),
            may_decline: BTreeSet::new(),
        }
    }

    /// Takes over what a group shares with the flow around it.
    pub(crate) fn join(&mut self, around: &Self) {
        *self = Self {
            steps: std::mem::take(&mut self.steps),
            places: std::mem::take(&mut self.places),
            names: Arc::clone(&self.names),
            tasks: self.tasks,
            is_sequence: self.is_sequence,
            concurrency: None,
            schedules: Vec::new(),
            ..around.without_steps()
        };
    }

    fn without_steps(&self) -> Self {
        Self { steps: Vec::new(), ..self.clone() }
    }

    /// The step called `name`.
    #[must_use]
    pub fn step(&self, name: &str) -> Option<&Arc<Step>> {
        self.steps.get(*self.places.get(name)?)
    }
}

/// The place of each step by its name.
pub(crate) fn places_of(steps: &[Arc<Step>]) -> HashMap<String, usize> {
    let mut places = HashMap::with_capacity(steps.len());
    for (place, step) in steps.iter().enumerate() {
        places.entry(step.name.clone()).or_insert(place);
    }
    places
}

#[derive(Debug, Clone)]
pub(crate) enum SourceView {
    Variables(Vec<String>),
    Definition(Json),
}

/// Something that can be said when a run is started.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Param {
    /// Its name.
    pub name: String,
    /// What kind of value it takes.
    pub kind: ParamKind,
    /// Its value when nothing is said; without one it must be said.
    pub default: Option<Json>,
    /// The only values it may have, unless empty.
    pub choices: Vec<Json>,
    /// What it is for.
    pub description: Option<String>,
    /// The least a number may be.
    pub min: Option<f64>,
    /// The most a number may be.
    pub max: Option<f64>,
    /// What a text must look like, with `*` and `?`.
    pub pattern: Option<String>,
}

impl Param {
    /// One that may have any value of its kind, and must be said.
    #[must_use]
    pub fn new(name: impl Into<String>, kind: ParamKind) -> Self {
        Self {
            name: name.into(),
            kind,
            default: None,
            choices: Vec::new(),
            description: None,
            min: None,
            max: None,
            pattern: None,
        }
    }
}

/// What kind of value a param takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParamKind {
    /// A text.
    Text,
    /// A whole number.
    Int,
    /// A number.
    Number,
    /// True or false.
    Bool,
    /// A list.
    List,
    /// A mapping.
    Map,
    /// Anything.
    Any,
}

impl ParamKind {
    /// The word in files.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Int => "int",
            Self::Number => "number",
            Self::Bool => "bool",
            Self::List => "list",
            Self::Map => "map",
            Self::Any => "any",
        }
    }
}

/// Where a secret comes from.
#[derive(Debug, Clone)]
pub(crate) struct Secret {
    pub name: String,
    pub origin: SecretOrigin,
    pub is_optional: bool,
}

#[derive(Debug, Clone)]
pub(crate) enum SecretOrigin {
    Variable(String),
    File(PathBuf),
    /// A program that prints it, and variables of ours that it gets beside the usual ones.
    Command {
        words: Vec<String>,
        inherit: Vec<String>,
    },
}

/// How a flow is run as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Runner {
    /// Steps at once, where the file says so.
    pub max_workers: Option<u32>,
    /// What a failure means where no step has a word.
    pub on_error: OnError,
    /// What a skip by a condition means where no step has a word.
    pub on_skip: OnSkip,
    /// What becomes of running steps when a failure stops the run.
    pub on_stop: OnStop,
    /// Time for the whole run.
    pub timeout: Option<Duration>,
    /// Which of the steps that could start goes first.
    pub order: RunOrder,
}

impl Default for Runner {
    fn default() -> Self {
        Self {
            max_workers: None,
            on_error: OnError::Fail,
            on_skip: OnSkip::Skip,
            on_stop: OnStop::Finish,
            timeout: None,
            order: RunOrder::CriticalPath,
        }
    }
}

/// When a flow is run by itself.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct FlowSchedule {
    /// Its name among the schedules of the flow, if it has one.
    pub name: Option<String>,
    /// Trigger and policies.
    pub spec: ScheduleSpec,
    /// The rule as the file has it.
    pub text: String,
    /// The params of these runs; of one that fires for what happens outside, those that are always the same.
    pub params: BTreeMap<String, Json>,
    /// What it fires for, if that is nothing that its trigger knows.
    pub arrivals: Option<Arrivals>,
    /// All params, as they follow from what arrived.
    pub(crate) mapping: Vec<(String, Tree)>,
}

/// One thing to be done. A flow may have very many: what few of them have is kept apart.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Step {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: Option<String>,
    /// Words to find it by.
    pub tags: Vec<String>,
    /// Whether it belongs to the flow itself or follows it.
    pub place: Place,
    /// What it waits for, written down or found in templates, in order of the file.
    pub after: Vec<Dependency>,
    /// How it is treated.
    pub treatment: Treatment,
    pub(crate) span: Span,
    pub(crate) capacity: CapacityPlaces,
    pub(crate) work: Work,
    pub(crate) surroundings: Surroundings,
    pub(crate) input: Option<Box<Tree>>,
    pub(crate) outputs: Vec<StepOutput>,
    pub(crate) when: Option<Box<Leaf>>,
    /// What must have become of steps it waits for.
    pub(crate) clauses: Vec<StepClause>,
    /// Exit codes by which it says that there is nothing to do.
    pub(crate) skip_codes: Vec<i32>,
    /// Which of its failures are worth another attempt, where more is said than a kind.
    pub(crate) retry_if: Option<Box<RetryIf>>,
    /// Until when it is done again.
    pub(crate) repeat: Option<Box<Repeat>>,
    pub(crate) foreach: Option<Box<Foreach>>,
    pub(crate) cache: Option<Box<Cache>>,
    /// Files that stay with the run.
    pub(crate) artifacts: Vec<ArtifactRule>,
}

/// What a step waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dependency {
    /// The step.
    pub step: String,
    /// Whether it was found in a template, or in the files that steps read and make, and not written down.
    pub is_inferred: bool,
    /// The file by which it was found: the other makes it, and this one reads it.
    pub(crate) file: Option<Arc<str>>,
    /// Where it is written.
    pub(crate) span: Span,
}

impl Dependency {
    /// Whether what the other left is used.
    #[must_use]
    pub fn needs_outputs(&self) -> bool {
        self.is_inferred && self.file.is_none()
    }
}

/// How some of the steps that a step waits for must have ended.
#[derive(Debug, Clone)]
pub(crate) struct StepClause {
    pub steps: Vec<String>,
    /// Whether one of them is enough, and is not waited for more.
    pub is_any: bool,
    pub ends: Ends,
    pub span: Span,
}

/// Which failures are worth another attempt.
#[derive(Debug, Clone)]
pub(crate) struct RetryIf {
    /// The codes that are, unless empty.
    pub codes: Vec<i32>,
    /// The codes that are not.
    pub not_codes: Vec<i32>,
    /// What must hold besides.
    pub when: Option<Leaf>,
    /// The kinds that are, of failures with any other code.
    pub on: RetryOn,
}

/// When a step has its turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// It is part of the flow.
    Flow,
    /// It follows a run in which all went well.
    OnSuccess,
    /// It follows a run that failed.
    OnFailure,
    /// It follows every run.
    Finally,
}

/// How a step is treated by the scheduler. What the file does not say is left open.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Treatment {
    /// 0 to 100.
    pub priority: Option<Priority>,
    /// The queue it waits in.
    pub queue: Option<String>,
    /// What follows a failed attempt.
    pub retry: Option<Retry>,
    /// Time for one attempt.
    pub attempt_timeout: Option<Duration>,
    /// Time for all attempts and the waits between.
    pub step_timeout: Option<Duration>,
    /// Limits and resources, with units.
    pub limits: BTreeMap<String, u32>,
    /// When it should have ended, from the start of the run.
    pub deadline: Option<Duration>,
    /// How long it is expected to take.
    pub estimate: Option<Duration>,
    /// What its failure means.
    pub on_error: Option<OnError>,
    /// What the failure of something it needs means.
    pub on_dependency_error: Option<OnError>,
    /// What it means that it was skipped by its condition, or that something it needs was.
    pub on_skip: Option<OnSkip>,
    /// Whether it runs whatever became of the others.
    pub always: bool,
    /// Whether it is never tried again when nobody knows whether it took effect.
    pub at_most_once: bool,
    /// Steps of one key run one at a time.
    pub key: Option<String>,
}

/// Where a step names what it shares with others.
#[derive(Debug, Clone, Default)]
pub(crate) struct CapacityPlaces {
    /// Limits and resources.
    pub limits: BTreeMap<String, Span>,
    pub queue: Option<Span>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_takes_no_room_for_what_few_have() {
        assert!(size_of::<Step>() <= 800, "{}", size_of::<Step>());
    }
}
