//! How keys are written down, and kinds of values that many of them take.
//!
//! The keys themselves are in the files beside this one.

use crate::definition::shape::{Key, Kind};

pub(super) const fn key(name: &'static str, kind: Kind, about: &'static str) -> Key {
    Key { name, kind, is_required: false, about }
}

pub(super) const fn required(name: &'static str, kind: Kind, about: &'static str) -> Key {
    Key { name, kind, is_required: true, about }
}

pub(super) const COUNT: Kind = Kind::Integer { min: 1, max: 1_000_000 };
pub(super) const ON_SKIP: Kind = Kind::Choice(&["skip", "continue"]);
pub(super) const ON_ERROR: Kind = Kind::Choice(&["fail", "skip", "continue"]);
pub(super) const WORDS: Kind = Kind::List(&Kind::Template);
pub(super) const VARIABLES: Kind = Kind::Map(&Kind::Either(&[Kind::Template]));
