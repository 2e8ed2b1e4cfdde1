//! A registry of our own on loopback, for tests: truthful to those who use it, except where a script says otherwise.
//!
//! It speaks what cargo, npm and Python's tools speak, with the parts of the registry for rehearsals, keeps what they send, and
//! notes everything it was asked. What goes wrong is said by [`Faults`], written down or drawn from a seed. It has threads of its own, so it serves tests
//! with and without a runtime, and outlives the programs that a test kills.
#![allow(dead_code, unused_imports, reason = "two test programs use parts of this")]

mod fault;
mod random;
mod seen;
mod serve;
mod trust;

use tidewheel_publish::rehearse::{cargo, http, listen, npm, protocol, python, shelf};

pub use fault::{Fault, Faults, RetryAfter};
pub use protocol::{Asked, Protocol, What};
pub use random::Random;
pub use seen::{Request, Upload};
pub use serve::{Bell, Registry};
pub use shelf::{Package, Stored, StoredFile};
pub use trust::Pipeline;
