//! [`Look`]: the files of a house, read when they have changed.
//!
//! What follows from what they say is decided in [`super::catalogue`].

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs::DirEntry;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use tidewheel::Timestamp;

use super::entry::Read;

/// The files of a house, as they were read last.
///
/// They are looked at, again and again, instead of being told about: that works in folders of a network and in
/// containers, where nobody tells, and costs a few microseconds a file.
#[derive(Debug, Default)]
pub(super) struct Look {
    folder: Option<PathBuf>,
    files: Vec<PathBuf>,
    /// By path, as text: to compare thousands of paths part by part takes longer than to look at the files.
    known: BTreeMap<OsString, Known>,
    /// How files look that were being written when it was looked last.
    unsettled: BTreeMap<OsString, Vec<Mark>>,
}

#[derive(Debug)]
struct Known {
    read: Read,
    /// The file and those that it calls.
    parts: Vec<PathBuf>,
    marks: Vec<Mark>,
}

/// What tells whether a file has changed without reading it; none if there is no such file.
type Mark = Option<[i64; 6]>;

/// When a file that looks different is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum When {
    /// At once.
    Now,
    /// When it has looked the same twice: somebody may be writing it.
    Settled,
}

impl Look {
    /// At a folder and at files, of which none was read.
    pub fn new(folder: Option<&Path>, files: &[PathBuf]) -> io::Result<Self> {
        Ok(Self {
            folder: folder.map(std::path::absolute).transpose()?,
            files: files.iter().map(std::path::absolute).collect::<io::Result<_>>()?,
            ..Self::default()
        })
    }

    /// Reads what has changed; false if nothing has. It waits for the disk.
    ///
    /// # Errors
    ///
    /// When the folder cannot be read: then nothing is gone, only out of sight.
    pub fn look(&mut self, when: When, now: Timestamp) -> io::Result<bool> {
        let paths = self.paths()?;
        let gone = self.known.len();
        self.known.retain(|path, _| paths.contains(path));
        let mut has_changed = self.known.len() < gone;
        let mut unsettled = BTreeMap::new();
        for path in paths {
            let known = self.known.get(&path);
            let marks: Vec<Mark> = match known {
                Some(known) => known.parts.iter().map(|part| mark(part)).collect(),
                None => vec![mark(Path::new(&path))],
            };
            let known = known.filter(|known| known.marks == marks);
            // What it lacks may be in a file that was not there to be marked.
            let is_broken = known.is_some_and(|known| matches!(known.read, Read::Broken(_)));
            if known.is_some() && !is_broken {
                continue;
            }
            let is_settled = is_broken || self.unsettled.get(&path) == Some(&marks);
            if when == When::Settled && !is_settled {
                unsettled.insert(path, marks);
                continue;
            }
            // Marks of before it was read: a change that comes between is seen the next time.
            let before = marks;
            let (read, parts) = Read::file(Path::new(&path), now);
            let is_itself = parts.first().is_some_and(|first| first.as_os_str() == path);
            let marks = match is_itself && parts.len() == before.len() {
                true => before,
                false => parts.iter().map(|part| mark(part)).collect(),
            };
            let before = self.known.get(&path).map(|known| &known.read);
            has_changed |= !before.is_some_and(|before| before.is_same(&read));
            self.known.insert(path, Known { read, parts, marks });
        }
        self.unsettled = unsettled;
        Ok(has_changed)
    }

    /// What was read of each file.
    pub fn read(&self) -> BTreeMap<PathBuf, Read> {
        self.known.iter().map(|(path, known)| (path.into(), known.read.clone())).collect()
    }

    fn paths(&self) -> io::Result<BTreeSet<OsString>> {
        let files = self.files.iter().filter(|path| mark(path).is_some());
        let mut paths: BTreeSet<OsString> = files.map(|path| path.clone().into()).collect();
        if let Some(folder) = &self.folder {
            for entry in std::fs::read_dir(folder)? {
                let entry = entry?;
                let path = entry.path();
                if is_flow(&path) && !is_folder(&entry, &path) {
                    paths.insert(path.into());
                }
            }
        }
        Ok(paths)
    }
}

/// Whether it is a folder, or a link to one. Only links have to be looked at.
fn is_folder(entry: &DirEntry, path: &Path) -> bool {
    match entry.file_type() {
        Ok(kind) if !kind.is_symlink() => kind.is_dir(),
        _ => path.is_dir(),
    }
}

/// Whether a file of a folder is a flow, by its name. Editors have hidden ones beside it.
fn is_flow(path: &Path) -> bool {
    let is_yaml = path.extension().is_some_and(|ending| ending == "yaml" || ending == "yml");
    let is_hidden = path.file_name().is_none_or(|name| name.as_encoded_bytes().starts_with(b"."));
    is_yaml && !is_hidden
}

fn mark(path: &Path) -> Mark {
    let it = std::fs::metadata(path).ok()?;
    let (inode, size) = (it.ino().cast_signed(), it.size().cast_signed());
    Some([inode, size, it.mtime(), it.mtime_nsec(), it.ctime(), it.ctime_nsec()])
}

#[cfg(test)]
mod tests {
    use tidewheel_testing::{TempDir, temp_folder};

    use super::*;

    const NOW: Timestamp = Timestamp::UNIX_EPOCH;

    /// Files in a folder of one test.
    struct Scene(TempDir);

    impl Scene {
        fn new(name: &str) -> Self {
            Self(temp_folder(&format!("look-{name}")))
        }

        fn write(&self, name: &str, text: &str) {
            std::fs::write(self.0.path().join(name), text).expect("a file");
        }
    }

    fn flow(step: &str) -> String {
        format!("flow: [{{ name: {step}, run: 'true' }}]\n")
    }

    fn fingerprints(look: &Look) -> Vec<Option<String>> {
        let fingerprint = |read: Read| match read {
            Read::Good(version) => Some(version.fingerprint.clone()),
            Read::Broken(_) => None,
        };
        look.read().into_values().map(fingerprint).collect()
    }

    #[test]
    fn only_flows_are_read_and_only_what_has_changed() {
        let scene = Scene::new("changed");
        scene.write("a.yaml", &flow("one"));
        scene.write(".a.yaml.swp", "x");
        scene.write(".hidden.yaml", "x");
        scene.write("notes.txt", "x");
        let mut look = Look::new(Some(scene.0.path()), &[]).expect("paths");
        assert!(look.look(When::Now, NOW).expect("a look"));
        assert_eq!(look.read().len(), 1);
        assert!(!look.look(When::Now, NOW).expect("a look"));
        scene.write("a.yaml", &flow("two"));
        assert!(look.look(When::Now, NOW).expect("a look"));
    }

    #[test]
    fn a_file_that_is_being_written_is_read_when_it_looks_the_same_twice() {
        let scene = Scene::new("settled");
        scene.write("a.yaml", &flow("one"));
        let mut look = Look::new(Some(scene.0.path()), &[]).expect("paths");
        look.look(When::Now, NOW).expect("a look");
        let before = fingerprints(&look);
        scene.write("a.yaml", "flow: [{ name: tw");
        assert!(!look.look(When::Settled, NOW).expect("a look"));
        scene.write("a.yaml", &flow("two"));
        assert!(!look.look(When::Settled, NOW).expect("a look"));
        assert_eq!(fingerprints(&look), before);
        assert!(look.look(When::Settled, NOW).expect("a look"));
        assert!(fingerprints(&look)[0].is_some() && fingerprints(&look) != before);
    }

    #[test]
    fn a_flow_changes_with_the_flows_that_it_calls() {
        let scene = Scene::new("called");
        std::fs::create_dir_all(scene.0.path().join("parts")).expect("a folder");
        scene.write("parts/inner.yaml", &flow("one"));
        scene.write("a.yaml", "flow: [{ name: call, flow: parts/inner.yaml }]\n");
        let mut look = Look::new(Some(scene.0.path()), &[]).expect("paths");
        look.look(When::Now, NOW).expect("a look");
        let before = fingerprints(&look);
        scene.write("parts/inner.yaml", &flow("two"));
        assert!(look.look(When::Now, NOW).expect("a look"));
        assert_ne!(fingerprints(&look), before);
        std::fs::remove_file(scene.0.path().join("parts/inner.yaml")).expect("it was there");
        assert!(look.look(When::Now, NOW).expect("a look"));
        assert_eq!(fingerprints(&look), [None]);
        scene.write("parts/inner.yaml", &flow("one"));
        assert!(look.look(When::Now, NOW).expect("a look"));
        assert_eq!(fingerprints(&look), before);
    }

    #[test]
    fn a_folder_that_is_out_of_sight_is_not_empty() {
        let scene = Scene::new("sight");
        scene.write("a.yaml", &flow("one"));
        let mut look = Look::new(Some(scene.0.path()), &[]).expect("paths");
        look.look(When::Now, NOW).expect("a look");
        std::fs::remove_dir_all(scene.0.path()).expect("it was there");
        assert!(look.look(When::Now, NOW).is_err());
        assert_eq!(look.read().len(), 1);
    }
}
