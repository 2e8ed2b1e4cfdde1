//! The SQLite store against the suite that every store runs.
//!
//! What only a data folder does is in the other `sqlite_` files.

use tidewheel::store::sqlite::{Durability, Options};
use tidewheel::store::{Store, conformance};

use crate::sqlite_common::TestFolder;

#[test]
fn sqlite_shows_and_passes_on_what_every_store_does() {
    conformance::exercise_sides(|| {
        let folder = TestFolder::new();
        let data = folder.open();
        let (reader, outbox) = (data.clone(), data.clone());
        conformance::Sides {
            store: move || {
                let _ = &folder;
                Box::new(data.shard("default").unwrap()) as Box<dyn Store>
            },
            reader: move || reader.reader().unwrap(),
            outbox: move || outbox.clone(),
        }
    });
}

#[test]
fn sqlite_shares_what_every_store_shares() {
    conformance::exercise_commons(|| {
        let folder = TestFolder::new();
        let data = folder.open();
        Box::new(move |name| {
            let _ = &folder;
            Box::new(data.shard(name).unwrap())
        })
    });
}

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
