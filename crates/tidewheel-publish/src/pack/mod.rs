//! Packing: a copy of the workspace, each package's own tool in it, and what came of it, kept until it is out.
//!
//! The workspace itself is only read, unless somebody wants it packed where it is: then its manifests are
//! [pinned](Pins) meanwhile. Nothing is sent here.

mod alike;
mod archive;
mod cargo;
mod carry;
mod git;
mod handed;
mod locked;
mod named;
mod needs;
mod npm;
#[expect(clippy::module_inception, reason = "the function has the name of the room")]
mod pack;
mod pin;
mod python;
mod requirement;
mod set;
mod stop;
mod stream;
#[cfg(test)]
mod tests;
mod tool;
mod tree;

pub(crate) use alike::is_alike;
pub use archive::InnerFile;
pub use carry::Carried;
pub(crate) use carry::take_over;
pub use git::{Checkout, checkout};
pub(crate) use git::{TagState, is_kept, is_shallow, is_tag, push_tag, set_tag, tag_state};
pub use handed::Handed;
pub(crate) use locked::stale_locked;
pub use pack::{PackOptions, pack, pins_folder};
pub use pin::{PinError, Pins};
pub(crate) use set::folder_of;
pub use set::{Changed, Inside, PackedFile, PackedPackage, PackedSet};
pub use stop::Stop;
pub(crate) use stream::{Workbench, begin, is_packed};
pub(crate) use tool::{run as run_tool, run_trusted};
