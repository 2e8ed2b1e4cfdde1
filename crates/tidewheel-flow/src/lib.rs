//! Flow files: steps in YAML, what they wait for, and how they are run.
//!
//! [`load`] reads files and finds every problem in them at once; a [`Flow`] is what a file says,
//! checked; a [`FlowRunner`] carries out the attempts of one run. What is started when, what is
//! tried again and what a failure means is decided by the scheduler, as for every other run.
#![forbid(unsafe_code)]

mod again;
pub(crate) mod check;
pub(crate) mod compile;
mod decode;
pub(crate) mod definition;
mod execute;
mod host;
mod instant;
mod keys;
mod listing;
mod literal;
mod load;
mod order;
mod params;
mod plan;
mod problem;
mod query;
mod questions;
mod schema;
mod shape;
mod template;
mod tree;
mod visit;
mod why;
mod words;
mod yaml;

#[cfg(test)]
mod tests;

pub use again::{Again, AgainError, AgainWith, PastRun};
pub use compile::UnknownElements;
pub use definition::{
    Dependency, Flow, FlowSchedule, Param, ParamKind, Place, Runner, Step, Treatment,
};
pub use execute::{Answers, FlowRunner, Means, Outputs, Progress, SecretError, Secrets};
pub use host::{FlowHost, StartError};
pub use listing::{listed, tolerated};
pub use literal::{LiteralError, parse_duration, parse_rate, parse_size};
pub use load::{Disk, Loaded, ReadText, load, parse_yaml, says_the_same};
pub use order::{FlowOrder, OrderError, step_of};
pub use params::{ParamError, known_params, parse_param, resolve_params};
pub use plan::{FlowPlan, PlanError, PlannedTask};
pub use problem::{
    FileId, Problem, Problems, Severity, SourceFile, SourceFiles, Span, Style, is_hidden, nearest,
};
pub use schema::schema;
pub use tidewheel::store::Answer;
pub use tidewheel_picture as picture;
pub use why::{Scene, Why};
