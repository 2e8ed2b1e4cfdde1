//! [`merge`]: one tree laid over another.
//!
//! Merge keys (`<<`) inside one file are something else: see [`super::expand`].

use super::map::{Entry, Map};
use super::node::{Node, Value};

/// `over` laid over `base`: mappings key by key all the way down, everything else replaced whole.
///
/// A null that is written replaces what is below it. Keys stay in the order of `base`, new ones
/// follow. Every value keeps the place it was written at; a key that is in both is taken to be
/// written in `over`, and so is a mapping that is made of both.
pub fn merge(base: Node, over: Node) -> Node {
    match (base.value, over.value) {
        (Value::Map(base), Value::Map(patch)) => {
            Node { value: Value::Map(merge_maps(base, patch)), span: over.span }
        }
        (_, value) => Node { value, span: over.span },
    }
}

fn merge_maps(base: Map, over: Map) -> Map {
    let mut added = Vec::new();
    let mut replaced: Vec<Option<Entry>> = vec![None; base.len()];
    for entry in over.into_entries() {
        match base.position(&entry.key) {
            Some(place) => replaced[place] = Some(entry),
            None => added.push(entry),
        }
    }
    let below = base.into_entries().into_iter().zip(replaced);
    let merged = below.map(|(below, above)| match above {
        Some(above) => Entry { value: merge(below.value, above.value), ..above },
        None => below,
    });
    Map::new(merged.chain(added).collect())
}
