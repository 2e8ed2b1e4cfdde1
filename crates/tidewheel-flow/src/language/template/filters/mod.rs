//! The filters behind `|`, by their names.
//!
//! Those on texts are in [`text`], those on lists and maps in [`lists`] and [`picking`], the
//! others in [`convert`].

mod convert;
mod filter;
mod lists;
mod picking;
mod text;

pub(super) use filter::{Filter, find, names};
pub(super) use text::format;
