//! What a checked flow says: steps, what they do, what they wait for, how they are treated.
//!
//! Plain data. It is made by `decode`, turned into a run by `compile`, and carried out by
//! `execute`.

mod flow;
mod work;

pub(crate) use flow::{CapacityPlaces, Gaps, Secret, SecretOrigin, SourceView, places_of};
pub use flow::{Dependency, Flow, FlowSchedule, Param, ParamKind, Place, Runner, Step, Treatment};
pub(crate) use work::{
    Cache, ChildFlow, CommandLine, FileFormat, FileWork, Foreach, ForeachList, HttpBody, HttpWork,
    Idempotency, InputMode, OutputRule, PassTo, ProcessWork, ResourceLimits, Shown, StepOutput,
    Surroundings, Wait, WaitFor, Work,
};
