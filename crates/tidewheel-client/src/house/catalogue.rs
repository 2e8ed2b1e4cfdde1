//! [`Catalogue`]: which version of which flow is in force.
//!
//! It only decides: files are read in [`super::look`], schedules are set in [`super::setting`].

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::json;

use super::entry::{Broken, Read, Version};
use super::setting::names;
use crate::text::harmless;

/// The flows that are known, and the files that cannot be run.
///
/// - A file that cannot be run leaves the version in force that it had before.
/// - A name belongs to one file. If a second one has it too, the one that had it first keeps it; if none did,
///   neither has it.
/// - A file that is gone takes its flow along.
#[derive(Debug, Default)]
pub(super) struct Catalogue {
    flows: BTreeMap<String, Arc<Version>>,
    broken: BTreeMap<PathBuf, Arc<Broken>>,
}

/// What a look at the files has changed.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Changes {
    pub added: Vec<String>,
    pub changed: Vec<String>,
    pub removed: Vec<String>,
    /// Files.
    pub broken: Vec<PathBuf>,
}

impl Changes {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl Catalogue {
    /// What was known before anything was read: from schedules that are stored.
    pub fn of_stored(versions: impl IntoIterator<Item = Version>) -> Self {
        let named = versions.into_iter().map(|it| (it.name().to_owned(), Arc::new(it)));
        Self { flows: named.collect(), broken: BTreeMap::new() }
    }

    /// The flows in force, by name.
    pub fn flows(&self) -> impl Iterator<Item = &Arc<Version>> {
        self.flows.values()
    }

    /// A flow by name.
    pub fn flow(&self, name: &str) -> Option<&Arc<Version>> {
        self.flows.get(name)
    }

    /// The flow in force that has a schedule of this name. It is asked for each firing, so it does not go through all flows.
    pub fn flow_of(&self, schedule: &str) -> Option<&Arc<Version>> {
        // The name of its flow stands alone or before a slash, and may have slashes itself.
        let ends = schedule.match_indices('/').map(|(place, _)| place).chain([schedule.len()]);
        let mut flows = ends.filter_map(|end| self.flow(&schedule[..end]));
        flows.find(|flow| names(&flow.flow).iter().any(|known| known == schedule))
    }

    /// Files that cannot be run.
    pub fn broken(&self) -> impl Iterator<Item = (&Path, &Arc<Broken>)> {
        self.broken.iter().map(|(path, broken)| (path.as_path(), broken))
    }

    /// Whether a version of this file is in force.
    pub fn has_file(&self, path: &Path) -> bool {
        self.flows.values().any(|version| version.path == path)
    }

    /// Takes in all files as they are now.
    pub fn update(&mut self, read: &BTreeMap<PathBuf, Read>) -> Changes {
        let before = std::mem::take(&mut self.flows);
        let broken_before = std::mem::take(&mut self.broken);
        let of_path = |path: &Path| before.values().find(|version| version.path == path);
        let mut claims: BTreeMap<&str, Vec<&Arc<Version>>> = BTreeMap::new();
        for (path, read) in read {
            match read {
                Read::Good(version) => claims.entry(version.name()).or_default().push(version),
                Read::Broken(broken) => {
                    if let Some(last) = of_path(path) {
                        self.flows.insert(last.name().to_owned(), Arc::clone(last));
                    }
                    self.broken.insert(path.clone(), Arc::clone(broken));
                }
            }
        }
        for (name, claimants) in claims {
            let kept = self.flows.get(name).or_else(|| before.get(name)).map(|it| it.path.clone());
            let mut paths: BTreeSet<&Path> = claimants.iter().map(|it| it.path.as_path()).collect();
            let reserved = self.flows.get(name).map(|version| version.path.clone());
            paths.extend(reserved.as_deref());
            for version in &claimants {
                if paths.len() == 1 || kept.as_ref() == Some(&version.path) {
                    let same = before.get(name).filter(|old| {
                        old.path == version.path && old.fingerprint == version.fingerprint
                    });
                    let version = same.unwrap_or(version);
                    self.flows.insert(name.to_owned(), Arc::clone(version));
                } else {
                    let others = paths.iter().filter(|path| **path != version.path);
                    let broken = twice(version, others.copied());
                    self.broken.insert(version.path.clone(), Arc::new(broken));
                }
            }
        }
        self.changes(&before, &broken_before)
    }

    fn changes(
        &self,
        before: &BTreeMap<String, Arc<Version>>,
        broken_before: &BTreeMap<PathBuf, Arc<Broken>>,
    ) -> Changes {
        let mut changes = Changes::default();
        for (name, version) in &self.flows {
            match before.get(name) {
                None => changes.added.push(name.clone()),
                Some(old) if old.fingerprint != version.fingerprint || old.path != version.path => {
                    changes.changed.push(name.clone());
                }
                Some(_) => {}
            }
        }
        let is_gone = |name: &&String| !self.flows.contains_key(*name);
        changes.removed = before.keys().filter(is_gone).cloned().collect();
        let is_news = |(path, broken): &(&PathBuf, &Arc<Broken>)| {
            broken_before.get(*path).is_none_or(|old| old != *broken)
        };
        let broken = self.broken.iter().filter(is_news);
        changes.broken = broken.map(|(path, _)| path.clone()).collect();
        changes
    }
}

/// The problem of a flow whose name another file has as well.
fn twice<'a>(version: &Version, others: impl Iterator<Item = &'a Path>) -> Broken {
    let others: Vec<String> =
        others.map(|path| format!("`{}`", harmless(&path.display().to_string()))).collect();
    let name = harmless(version.name());
    let problem = json!({
        "file": version.path.display().to_string(),
        "line": null, "column": null, "end_line": null, "end_column": null,
        "severity": "error",
        "code": "flow-twice",
        "message": format!("the flow `{name}` is in {} as well", others.join(" and ")),
        "label": null,
        "hint": "give one of them another `name`",
        "related": [],
    });
    Broken { flow: Some(version.name().to_owned()), problems: json!([problem]) }
}

#[cfg(test)]
mod tests {
    use tidewheel::Timestamp;
    use tidewheel_testing::{TempDir, temp_folder};

    use super::*;

    /// Files in a folder of one test.
    struct Scene(TempDir);

    impl Scene {
        fn new(name: &str) -> Self {
            Self(temp_folder(&format!("catalogue-{name}")))
        }

        /// What there is to read in files of these names.
        fn read(&self, files: &[(&str, &str)]) -> BTreeMap<PathBuf, Read> {
            let read = files.iter().map(|(name, text)| {
                let path = self.0.path().join(name);
                std::fs::write(&path, text).expect("a file");
                let read = Read::file(&path, Timestamp::UNIX_EPOCH).0;
                (path, read)
            });
            read.collect()
        }
    }

    const A: &str = "name: a\nflow: [{ name: one, run: 'true' }]\n";
    const A_AGAIN: &str = "name: a\nflow: [{ name: two, run: 'true' }]\n";
    const BROKEN: &str = "name: a\nflow: [{ name: one, rum: 'true' }]\n";

    fn in_force(catalogue: &Catalogue) -> Vec<(&str, &str)> {
        catalogue
            .flows()
            .map(|it| (it.name(), it.path.file_name().and_then(|it| it.to_str()).unwrap_or("")))
            .collect()
    }

    #[test]
    fn a_broken_file_leaves_its_last_good_version_in_force() {
        let scene = Scene::new("broken");
        let mut catalogue = Catalogue::default();
        let changes = catalogue.update(&scene.read(&[("x.yaml", A)]));
        assert_eq!(changes.added, ["a"]);
        let good = catalogue.flow("a").expect("it is there").fingerprint.clone();

        let changes = catalogue.update(&scene.read(&[("x.yaml", BROKEN)]));
        assert_eq!(
            changes,
            Changes { broken: vec![scene.0.path().join("x.yaml")], ..Changes::default() }
        );
        assert_eq!(catalogue.flow("a").expect("it is there").fingerprint, good);
        let (_, broken) = catalogue.broken().next().expect("it is told");
        assert_eq!(broken.problems[0]["line"], 2, "{}", broken.problems);
        assert!(catalogue.update(&scene.read(&[("x.yaml", BROKEN)])).is_empty());

        let changes = catalogue.update(&scene.read(&[("x.yaml", A_AGAIN)]));
        assert_eq!(changes.changed, ["a"]);
        assert_ne!(catalogue.flow("a").expect("it is there").fingerprint, good);
        assert_eq!(catalogue.broken().count(), 0);
    }

    #[test]
    fn a_name_that_two_files_have_stays_with_the_one_that_had_it() {
        let scene = Scene::new("twice");
        let mut catalogue = Catalogue::default();
        catalogue.update(&scene.read(&[("x.yaml", A)]));
        catalogue.update(&scene.read(&[("b.yaml", A_AGAIN), ("x.yaml", A)]));
        assert_eq!(in_force(&catalogue), [("a", "x.yaml")]);
        let (path, broken) = catalogue.broken().next().expect("it is told");
        assert_eq!(path, scene.0.path().join("b.yaml"));
        let message = broken.problems[0]["message"].as_str().unwrap_or_default();
        assert!(message.contains("x.yaml"), "{message}");

        // Also while the first cannot be run.
        catalogue.update(&scene.read(&[("b.yaml", A_AGAIN), ("x.yaml", BROKEN)]));
        assert_eq!(in_force(&catalogue), [("a", "x.yaml")]);
        assert_eq!(catalogue.broken().count(), 2);
        let changes = catalogue.update(&scene.read(&[("b.yaml", A_AGAIN)]));
        assert_eq!(changes.changed, ["a"]);
        assert_eq!(in_force(&catalogue), [("a", "b.yaml")]);
    }

    #[test]
    fn of_two_files_that_come_together_neither_has_the_name() {
        let scene = Scene::new("together");
        let mut catalogue = Catalogue::default();
        catalogue.update(&scene.read(&[("b.yaml", A_AGAIN), ("x.yaml", A)]));
        assert!(in_force(&catalogue).is_empty());
        assert_eq!(catalogue.broken().count(), 2);
    }

    #[test]
    fn a_file_that_is_gone_takes_its_flow_along() {
        let scene = Scene::new("gone");
        let mut catalogue = Catalogue::default();
        catalogue.update(&scene.read(&[("x.yaml", A)]));
        assert_eq!(catalogue.update(&BTreeMap::new()).removed, ["a"]);
        assert!(in_force(&catalogue).is_empty());
    }

    #[test]
    fn a_schedule_is_known_by_the_name_of_its_flow() {
        let scene = Scene::new("schedules");
        let mut catalogue = Catalogue::default();
        let schedules = "schedule: [{ cron: '0 5 * * *' }, { name: late, cron: '0 6 * * *' }]\n";
        catalogue.update(&scene.read(&[("x.yaml", &format!("{schedules}{A}"))]));
        for (name, is_known) in [
            ("a", true),
            ("a/late", true),
            ("a/2", false),
            ("a/", false),
            ("late", false),
            ("b", false),
        ] {
            assert_eq!(catalogue.flow_of(name).is_some(), is_known, "{name}");
        }
    }
}
