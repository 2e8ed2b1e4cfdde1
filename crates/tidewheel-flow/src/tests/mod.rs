//! Flow files as people write them, from the text to what is said about it.

mod constants;
mod listing;
mod past;
mod plans;
mod problems;
mod schedules;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use super::{Loaded, load};

/// Loads the first of these files; the others can be called by it.
fn load_texts(texts: &[(&str, &str)]) -> Loaded {
    let files: BTreeMap<PathBuf, Arc<str>> =
        texts.iter().map(|(path, text)| (PathBuf::from(path), Arc::from(*text))).collect();
    load(&[PathBuf::from(texts[0].0)], &files)
}
