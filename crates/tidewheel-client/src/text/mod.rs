//! Text for people: foreign text made harmless, measured and cut; names, times and differences in words.
//!
//! Which letters are dangerous is in [`tidewheel_flow::picture::letters`], which rooms below need as
//! well. Colours and tables are each surface's own.

mod columns;
mod difference;
mod drawing;
mod harmless;
mod time;
mod words;

pub use columns::{cut, wrapped};
pub use difference::difference;
pub(crate) use drawing::drawn_state;
pub use drawing::{DrawnStep, drawing};
pub use harmless::{block, coloured, harmless, name, output, sentence};
pub use tidewheel::words::nearest;
pub use tidewheel_flow::picture::TextLine;
pub use tidewheel_flow::picture::letters::{clusters, columns, is_hidden};
pub use time::{about, ago, due, span, took, until};
pub use words::{bytes, count, quoted, short_id, task_list, with_element};
