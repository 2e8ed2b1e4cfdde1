//! Flow files: steps in YAML, what they wait for, and how they are run.
//!
//! [`load`] reads files and finds every problem in them at once; a [`Flow`] is what a file says,
//! checked; a [`FlowRunner`] carries out the attempts of one run. What is started when, what is
//! tried again and what a failure means is decided by the scheduler, as for every other run.
//!
//! Four layers, each using only those before it: `language` (YAML, problems, templates, queries),
//! `definition` (which keys there are, and what a checked flow says), `compile` and `execute` with `host`
//! (a run of it on a wheel), `past` (what can be told of runs, and how they are made again).
#![forbid(unsafe_code)]

pub(crate) mod compile;
pub(crate) mod definition;
mod execute;
mod host;
pub(crate) mod language;
mod past;

#[cfg(test)]
mod tests;

pub use tidewheel::store::Answer;
pub use tidewheel_picture as picture;

pub use compile::UnknownElements;
pub use compile::order::{FLOW_KIND, FlowOrder, OrderError, step_of};
pub use compile::plan::{FlowPlan, PlanError, PlannedTask};
pub use definition::load::{Disk, Loaded, ReadText, STDIN, load, parse_yaml, says_the_same};
pub use definition::params::{ParamError, known_params, parse_param, resolve_params};
pub use definition::schema::schema;
pub use definition::{
    Arrivals, Dependency, EventKind, Events, Flow, FlowSchedule, Param, ParamKind, Place, Runner,
    SignatureForm, Step, Treatment, Webhook,
};
pub use execute::{
    Answers, Artifact, CacheForecast, EnvFileError, EnvFiles, FlowRunner, Means, Outputs, Pending,
    Progress, SecretError, Secrets, TaskArtifacts, ThisMachine, Trace, World, remove_containers,
};
pub use host::{FlowHost, Recalled, RecalledTask, StartError};
pub use language::literal::{LiteralError, parse_duration, parse_rate, parse_size};
pub use language::problem::{
    FileId, Problem, Problems, Severity, SourceFile, SourceFiles, Span, Style,
};
pub use past::{
    Again, AgainError, AgainWith, PastRun, is_further_try, is_spare, listed, tolerated,
};
