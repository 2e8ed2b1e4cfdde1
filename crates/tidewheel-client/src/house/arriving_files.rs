//! Files that schedules fire for: looked for, again and again, each of which counts once.
//!
//! They are looked at instead of being told about, as flow files are, for the same reasons. What has arrived is
//! remembered in the store; what becomes of it is in [`super::arrivals`].

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use glob::MatchOptions;
use serde_json::{Value as Json, json};
use tidewheel::Timestamp;
use tidewheel::store::sqlite::DataFolder;
use tidewheel_flow::{Arrivals, Flow};

use super::arrivals::Content;
use super::house::House;
use super::setting::{names, schedule_of};
use crate::desk::{DeskError, blocking};

/// Files that arrive at once; more do at the next look.
const AT_ONCE: usize = 1000;

/// A file that is gone is forgotten so long after it arrived: what is out of sight for a while is not gone.
const REMEMBERED: Duration = Duration::from_secs(30 * 24 * 3600);

/// How many looks it takes until it is looked whether files are to be forgotten.
const FORGET_EVERY: u32 = 3600;

/// As the shell does it: what is hidden is not meant by a star, and no star leads into a folder.
const OPTIONS: MatchOptions = MatchOptions {
    case_sensitive: true,
    require_literal_separator: true,
    require_literal_leading_dot: true,
};

/// What is known of the files that schedules fire for, by the name of the schedule.
#[derive(Debug, Default)]
pub(super) struct FilesSeen {
    of: HashMap<String, Seen>,
}

#[derive(Debug, Default)]
struct Seen {
    /// The keys of those that have arrived, as they are stored.
    arrived: HashSet<String>,
    /// Those that may still be written, as they looked last.
    unsettled: BTreeMap<PathBuf, Mark>,
    /// Looks since files were forgotten.
    looks: u32,
}

/// How a file looks without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Mark {
    size: u64,
    /// When it was changed, in nanoseconds since 1970.
    modified: i128,
}

/// A file that has arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Found {
    key: String,
    path: PathBuf,
    mark: Mark,
}

impl House {
    /// Looks once for files that schedules fire for, as the house does by itself from time to time. A file has arrived
    /// when it looks the same twice. Gives how many have.
    ///
    /// # Errors
    ///
    /// When what was seen cannot be read or stored: then it is found again by the next look.
    pub async fn look_for_files(&self) -> Result<usize, DeskError> {
        if self.is_ending() {
            return Ok(0);
        }
        let flows: Vec<_> =
            self.inner.catalogue().flows().map(|version| version.flow.clone()).collect();
        let mut count = 0;
        for flow in flows {
            for name in names(&flow) {
                count += self.look_for_files_of(&flow, &name).await?;
            }
        }
        Ok(count)
    }

    async fn look_for_files_of(&self, flow: &Flow, name: &str) -> Result<usize, DeskError> {
        let Some(schedule) = schedule_of(flow, name) else { return Ok(0) };
        let Some(Arrivals::Files(pattern)) = &schedule.arrivals else { return Ok(0) };
        let Some(handle) = self.inner.session.wheel.find_schedule(name) else { return Ok(0) };
        let (inner, pattern) = (std::sync::Arc::clone(&self.inner), pattern.clone());
        let (named, now) = (name.to_owned(), inner.session.wheel.wall_clock());
        let looked = blocking(move || {
            let mut seen = inner.files.blocking_lock();
            seen.look(&inner.session.folder, &named, &pattern, now)
        });
        let found = looked.await??;
        if found.is_empty() {
            return Ok(0);
        }
        let arrived = found.iter().map(|file| {
            let content = Content::of(schedule, &told(file));
            (file.key.clone(), content.to_bytes())
        });
        let kept = self.arrive(name, &handle, arrived.collect()).await?;
        let mut seen = self.inner.files.lock().await;
        if let Some(seen) = seen.of.get_mut(name) {
            seen.arrived.extend(found.into_iter().map(|file| file.key));
        }
        Ok(kept.iter().filter(|kept| kept.is_new).count())
    }
}

impl FilesSeen {
    /// The files that have arrived since the look before. It waits for the disk.
    fn look(
        &mut self,
        folder: &DataFolder,
        name: &str,
        pattern: &Path,
        now: Timestamp,
    ) -> Result<Vec<Found>, DeskError> {
        let failed = |error| DeskError::folder(error, folder.path());
        if !self.of.contains_key(name) {
            let stored = folder.reader().and_then(|reader| reader.arrivals(name));
            let arrived = stored.map_err(failed)?.into_iter().map(|(key, _)| key).collect();
            self.of.insert(name.to_owned(), Seen { arrived, ..Seen::default() });
        }
        let Some(seen) = self.of.get_mut(name) else { return Ok(Vec::new()) };
        seen.looks += 1;
        if seen.looks >= FORGET_EVERY {
            seen.looks = 0;
            seen.forget(folder, name, now).map_err(failed)?;
        }
        seen.look(pattern).map_err(DeskError::System)
    }
}

impl Seen {
    fn look(&mut self, pattern: &Path) -> io::Result<Vec<Found>> {
        let Some(pattern) = pattern.to_str() else { return Ok(Vec::new()) };
        let files = glob::glob_with(pattern, OPTIONS).map_err(io::Error::other)?;
        let (mut found, mut unsettled) = (Vec::new(), BTreeMap::new());
        // A folder that cannot be read is out of sight, as are files with names that no param can have.
        for path in files.flatten() {
            let Some((key, mark)) = key_of(&path) else { continue };
            if self.arrived.contains(&key) {
                continue;
            }
            if found.len() < AT_ONCE && self.unsettled.get(&path) == Some(&mark) {
                found.push(Found { key, path: path.clone(), mark });
            }
            // It stays until it is stored that it has arrived.
            unsettled.insert(path, mark);
        }
        self.unsettled = unsettled;
        Ok(found)
    }

    /// Forgets files that arrived long ago and are gone.
    fn forget(
        &mut self,
        folder: &DataFolder,
        name: &str,
        now: Timestamp,
    ) -> Result<(), tidewheel::store::sqlite::FolderError> {
        let reader = folder.reader()?;
        let waiting = reader.waiting_arrivals(name)?.into_iter().map(|(key, _)| key);
        let waiting: HashSet<String> = waiting.collect();
        let is_old = |at: Timestamp| at < now.before(REMEMBERED);
        let is_gone = |key: &String| path_in(key).is_some_and(|path| !path.exists());
        let gone: Vec<String> = reader
            .arrivals(name)?
            .into_iter()
            .filter(|(key, at)| is_old(*at) && !waiting.contains(key) && is_gone(key))
            .map(|(key, _)| key)
            .collect();
        folder.forget_arrivals(name, &gone)?;
        for key in &gone {
            self.arrived.remove(key);
        }
        Ok(())
    }
}

/// A file is another one when it looks different: it was written anew, or replaced.
fn key_of(path: &Path) -> Option<(String, Mark)> {
    let text = path.to_str()?;
    let it = std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file)?;
    let modified = i128::from(it.mtime()) * 1_000_000_000 + i128::from(it.mtime_nsec());
    let mark = Mark { size: it.size(), modified };
    Some((format!("{}:{}:{text}", mark.size, mark.modified), mark))
}

/// The path in a key.
fn path_in(key: &str) -> Option<&Path> {
    key.splitn(3, ':').nth(2).map(Path::new)
}

/// What templates know of a file.
fn told(file: &Found) -> Json {
    let text = |part: Option<&Path>| part.map(|part| part.to_string_lossy().into_owned());
    let micros = i64::try_from(file.mark.modified / 1000).unwrap_or(i64::MAX);
    json!({
        "path": file.path.to_string_lossy(),
        "name": text(file.path.file_name().map(Path::new)),
        "folder": text(file.path.parent()),
        "size": file.mark.size,
        "modified": Timestamp::from_micros(micros).to_string(),
    })
}

#[cfg(test)]
mod tests {
    use tidewheel_testing::{TempDir, temp_folder};

    use super::*;

    /// Files in a folder of one test.
    struct Scene(TempDir);

    impl Scene {
        fn new(name: &str) -> Self {
            Self(temp_folder(&format!("arriving-{name}")))
        }

        fn write(&self, name: &str, text: &str) {
            std::fs::write(self.0.path().join(name), text).expect("a file");
        }
    }

    /// The names of files that a look finds, which are remembered as if they were stored.
    fn look(seen: &mut Seen, scene: &Scene, pattern: &str) -> Vec<String> {
        let found = seen.look(&scene.0.path().join(pattern)).expect("a look");
        seen.arrived.extend(found.iter().map(|file| file.key.clone()));
        let name = |file: Found| told(&file)["name"].as_str().unwrap_or_default().to_owned();
        found.into_iter().map(name).collect()
    }

    #[test]
    fn a_file_arrives_once_when_it_looks_the_same_twice() {
        let (scene, mut seen) = (Scene::new("twice"), Seen::default());
        scene.write("a.csv", "1");
        scene.write("notes.txt", "1");
        scene.write(".b.csv", "1");
        assert!(look(&mut seen, &scene, "*.csv").is_empty(), "it may still be written");
        scene.write("a.csv", "1,2");
        assert!(look(&mut seen, &scene, "*.csv").is_empty(), "it was");
        assert_eq!(look(&mut seen, &scene, "*.csv"), ["a.csv"]);
        assert!(look(&mut seen, &scene, "*.csv").is_empty(), "it has arrived");
        scene.write("a.csv", "something else");
        assert!(look(&mut seen, &scene, "*.csv").is_empty());
        assert_eq!(look(&mut seen, &scene, "*.csv"), ["a.csv"], "it is another one");
    }

    #[test]
    fn what_was_found_and_not_stored_is_found_again() {
        let (scene, mut seen) = (Scene::new("again"), Seen::default());
        scene.write("a.csv", "1");
        let pattern = scene.0.path().join("*.csv");
        assert_eq!(seen.look(&pattern).expect("a look"), []);
        assert_eq!(seen.look(&pattern).expect("a look").len(), 1);
        assert_eq!(seen.look(&pattern).expect("a look").len(), 1);
    }

    #[test]
    fn folders_are_no_files_and_one_out_of_sight_is_no_error() {
        let (scene, mut seen) = (Scene::new("folders"), Seen::default());
        std::fs::create_dir_all(scene.0.path().join("deep/down.csv")).expect("a folder");
        scene.write("deep/a.csv", "1");
        for _ in 0..2 {
            assert!(look(&mut seen, &scene, "*/b.csv").is_empty());
            assert!(look(&mut seen, &scene, "nowhere/*.csv").is_empty());
        }
        look(&mut seen, &scene, "**/*.csv");
        assert_eq!(look(&mut seen, &scene, "**/*.csv"), ["a.csv"]);
    }
}
