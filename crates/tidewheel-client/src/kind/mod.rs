//! Kinds of work: how what a run was started with is understood, and how it is made again.
//!
//! Flows are one kind. Whoever has another makes it known to the [desk](crate::desk::LocalDesk) and gives its code to
//! the [session](crate::session::Session); listing, showing, pausing and cancelling need no kind at all.

mod definition;
mod flow;
mod kinds;

pub use definition::{Definition, Timeouts};
pub(crate) use flow::DiskAt;
pub use flow::{FlowDefinition, FlowRun, Flows};
pub use kinds::{Doing, Kind, Kinds, MadeAgain, Retry, Startable};
