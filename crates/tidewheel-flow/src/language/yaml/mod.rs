//! YAML as a tree in which every value knows where it was written.
//!
//! Nothing here knows what a flow looks like: what is wrong with the YAML itself is reported here,
//! what is wrong with the flow by whoever reads the tree. Values are typed by the core schema of
//! YAML 1.2 (`no` is a text, `017` is seventeen); merge keys (`<<`), which it lacks, are followed.

mod align;
mod decode;
mod draft;
mod expand;
mod limits;
mod map;
mod merge;
mod node;
mod parse;
mod scalar;
mod syntax;
mod text;

#[cfg(test)]
mod tests;

pub use decode::decode;
pub use limits::Limits;
pub use map::Map;
pub use merge::merge;
pub use node::{Node, Value};
pub use parse::parse;
