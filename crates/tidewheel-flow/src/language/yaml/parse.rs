//! [`parse`]: from the text of a file to its tree.
//!
//! It takes two passes: [`super::draft`] takes in what is written and counts what it will become,
//! [`super::expand`] follows aliases and merge keys, gives types, and builds.

use crate::language::problem::{FileId, Problem, Problems, Span};

use super::draft::Draft;
use super::expand::expand;
use super::limits::Limits;
use super::node::Node;

/// The tree of a file. All that is wrong with it is added to `problems`.
///
/// Nothing if the file cannot be read to its end: it is no YAML, or it asks for more than
/// `limits` allow. What is wrong only in one place (a key that is there twice, an alias of
/// nothing) leaves a tree in which the rest can still be checked: the first of two keys counts, an
/// alias of nothing is null, a tag that is not known is not there. Without a document in it, a
/// file is an empty mapping.
pub fn parse(file: FileId, text: &str, limits: &Limits, problems: &mut Problems) -> Option<Node> {
    let bytes_max = limits.bytes_max.min(u32::MAX as usize);
    if text.len() > bytes_max {
        let message = format!(
            "the file is too large: {} bytes, but no more than {bytes_max} are read",
            text.len()
        );
        problems.push(Problem::error("yaml-too-large", message).at(Span::new(file, 0..0)));
        return None;
    }
    let draft = Draft::read(file, text, limits, problems)?;
    Some(expand(&draft, problems))
}
