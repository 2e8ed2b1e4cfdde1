//! [`forget`]: nothing is left of the registry of a rehearsal, with whatever tools it was looked at.
//!
//! What the registry itself holds ends with its process, and never was in a folder of the user.

use std::fs;
use std::path::{Path, PathBuf};

use crate::settings::{Stage, Surroundings};

/// Where cargo keeps what it has seen of registries.
const KEPT: [&str; 3] = ["index", "cache", "src"];

/// Removes what cargo keeps of the registry of a rehearsal, which will never be asked again. Npm and pip were told to keep
/// nothing.
pub fn forget(around: &Surroundings, stage: &Stage) {
    let Some(home) = cargo_home(around) else { return };
    let registry = home.join("registry");
    let folders = fs::read_dir(registry.join(KEPT[0])).into_iter().flatten();
    for name in folders.filter_map(Result::ok).map(|entry| entry.file_name()) {
        if is_of(&registry.join(KEPT[0]).join(&name), stage) {
            for kept in KEPT {
                // What cannot be removed takes room, and nothing else.
                let _ = fs::remove_dir_all(registry.join(kept).join(&name));
            }
        }
    }
}

/// Whether cargo keeps the index of a rehearsal there. Its address has a word in it that no other registry has.
fn is_of(index: &Path, stage: &Stage) -> bool {
    let about = fs::read_to_string(index.join("config.json"));
    about.is_ok_and(|about| about.contains(&stage.base))
}

fn cargo_home(around: &Surroundings) -> Option<PathBuf> {
    let own = || Some(Path::new(around.variable("HOME")?).join(".cargo"));
    around.variable("CARGO_HOME").map(PathBuf::from).or_else(own)
}
