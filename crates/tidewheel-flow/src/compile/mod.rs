//! From a flow to the graph of a run: which tasks there are, what they wait for, and what each is.
//!
//! A step is one task. A step that is done for many elements has one for each, `step[3]`, and one
//! of its own that gathers what they leave. A step that calls a flow has a task for each step of
//! that flow, `step/inner`, and one of its own that collects. If such a step has a condition, or its
//! elements are known only when others have run, a task `step[]` looks and finds out. So a run is one
//! graph, however flows are put together, and everything about a task can be told from its name.
//!
//! The elements of a step, and a called flow, are groups of the scheduler, of which the step's own task
//! is the end; hooks are conditions over the whole. What becomes of them is decided there, and doing
//! what tasks say is the business of `execute`.

mod blueprint;
mod expand;
mod name;
pub(crate) mod order;
pub(crate) mod plan;
mod scope;

pub(crate) use blueprint::{Blueprint, CompileError, Estimates};
pub use expand::UnknownElements;
pub(crate) use expand::{Draft, DraftTask, NewTasks, estimate_of};
pub(crate) use name::{Role, Segment, TaskName, try_name};
pub(crate) use scope::{Scope, is_late};
