//! A run that is watched: shown while it goes on, steered by keys and signals, served to whoever asks.
//!
//! What happens is told by [`tidewheel_client::progress`]; how it looks is in `live/`, and what a wish does to
//! the run is decided by the scheduler.

mod screen;
mod signals;
mod status;
#[expect(clippy::module_inception, reason = "the type has the name of the room")]
mod watch;

pub(crate) use signals::{Signals, Wish, heard, unless_ignored};
pub(crate) use status::StoredStatus;
pub(crate) use watch::{Ending, Seen, Watch};
