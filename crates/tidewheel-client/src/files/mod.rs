//! Flow files: read, checked, planned, and made into runs.
//!
//! What a flow may say, and what is wrong with one, is found out by `tidewheel-flow`. Runs are started in a
//! [session](crate::session).

mod field;
mod flow_files;
mod plan;

pub use flow_files::{FlowFiles, RunWish};
pub use tidewheel_flow::picture::{Picture, SvgOptions, style_sheet};
pub use tidewheel_flow::{STDIN, parse_yaml, schema};

pub(crate) use field::param_line;
