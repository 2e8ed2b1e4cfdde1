//! The SQLite store against the suite that every store runs.
//!
//! What only a data folder does is in the other `sqlite_` files.

mod sqlite_common;

use tidewheel::store::conformance;
use tidewheel::store::sqlite::{Durability, Options};

use sqlite_common::TestFolder;

#[test]
fn sqlite_conforms() {
    for durability in [Durability::Process, Durability::Power] {
        conformance::exercise(|| {
            let folder = TestFolder::new();
            let data = folder.open_with(Options::default().durability(durability));
            Box::new(move || {
                let _ = &folder;
                Box::new(data.shard("default").unwrap())
            })
        });
    }
}
