//! The audit log: who wanted to change what, and what became of it, in rows that hang together.
//!
//! Which requests are written down is said by the [table](crate::table).

mod chain;
mod log;

pub use chain::{Broken, verify};
pub use log::{AuditError, AuditLog};
