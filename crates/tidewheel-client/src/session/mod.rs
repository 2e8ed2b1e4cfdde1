//! A session: a wheel on a data folder, on which runs are started or taken over.
//!
//! What may be asked about runs without a wheel is at the [desk](crate::desk); how runs go on is told in
//! [`crate::progress`].

mod flows;
mod learnt;
mod opening;
mod options;
#[expect(clippy::module_inception, reason = "the type has the name of the room")]
mod session;
mod shard;
mod start;
mod turn;
mod workshop;

pub use opening::Opening;
pub use options::{SessionOptions, Takeover};
pub use session::Session;
pub use start::Started;
pub use workshop::{Carried, Workshop};

pub(crate) use learnt::Learnt;
pub(crate) use shard::end_left;
