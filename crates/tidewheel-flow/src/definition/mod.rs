//! What a flow file may say, and what a checked one says: steps, what they do, what they wait for, how they
//! are treated.
//!
//! [`Flow`] and what it holds is plain data. `load` reads files, `shape` checks them against the tables in
//! `keys`, `decode` makes the data, `connect` finds what steps say of each other. A flow is turned into a
//! run by [`crate::compile`] and carried out by [`crate::execute`].

mod arrival;
pub(crate) mod connect;
pub(crate) mod decode;
mod elements;
mod flow;
pub(crate) mod keys;
pub(crate) mod load;
pub(crate) mod names;
pub(crate) mod params;
pub(crate) mod schema;
pub(crate) mod shape;
pub(crate) mod visit;
mod work;

pub use arrival::{Arrivals, EventKind, Events, SignatureForm, Webhook};
pub(crate) use elements::{Element, Elements, ElementsError, check_labels, elements_of, values_of};
pub(crate) use flow::{
    CapacityPlaces, Gaps, RetryIf, Secret, SecretOrigin, SourceView, StepClause, places_of,
};
pub use flow::{Dependency, Flow, FlowSchedule, Param, ParamKind, Place, Runner, Step, Treatment};
pub(crate) use work::{
    ArtifactRule, Cache, ChildFlow, CommandLine, Container, Elsewhere, FileFormat, FileWork,
    Foreach, ForeachList, HttpBody, HttpWork, Idempotency, InputMode, Matrix, OutputRule, PassTo,
    ProcessWork, Pull, Remote, Repeat, ResourceLimits, Shell, Shown, StepOutput, Surroundings,
    Wait, WaitFor, Work, adds_to_our_path, is_inside, of_run,
};
