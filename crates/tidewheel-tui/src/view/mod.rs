//! How the screens look, drawn from the model and nothing else.
//!
//! Each screen has a file of its own. A drawing says where what is, for the mouse.

mod about;
mod dialog;
mod flow;
mod form;
mod frame;
mod graph;
mod help;
mod log;
mod overview;
mod paper;
mod queues;
mod run;
mod runs;
mod schedules;
mod step;
#[cfg(test)]
mod tests;
mod time;
#[expect(clippy::module_inception, reason = "the function has the name of the room")]
mod view;
mod words;

pub(crate) use about::about_places;
pub(crate) use help::help_places;
pub use paper::Hits;
pub(crate) use paper::Paper;
pub(crate) use step::details_places;
pub use view::view;
pub(crate) use words::seconds;
