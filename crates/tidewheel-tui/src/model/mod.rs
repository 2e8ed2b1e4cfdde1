//! What is known and looked at, screen by screen.
//!
//! It has no clock and asks nobody: what changes it is in [`crate::update`], how it looks in [`crate::view`].

mod app;
mod flow;
mod form;
mod kept;
mod list;
mod listed;
mod log;
mod overview;
mod reading;
mod selected;
mod tried;
mod watched;

pub use app::{Attached, BESIDE, Dialog, Model, Note, Prompt, Screen, ledger_word};
pub use flow::{FlowRow, ShownFlow};
pub use form::{Field, Form};
pub use list::{Doubt, List};
pub use listed::RunsOf;
pub use log::{Log, Place, Room};
pub(crate) use log::{beyond, parts, places, row_end, rows as log_rows};
pub use overview::{Row, rows};
pub use reading::Reading;
pub use tried::{Stretch, Tried};
pub use watched::{Part, Shown, Watched};
