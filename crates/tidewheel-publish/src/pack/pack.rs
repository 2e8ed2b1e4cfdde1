//! [`pack`]: everything that is published of a workspace, packed before anything is sent.
//!
//! How each ecosystem packs is in the files beside.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value as Json;
use tidewheel::file::{make_private_folder, write_atomically};

use super::archive::{self, Contents};
use super::git::{self, Checkout};
use super::handed::Handed;
use super::named::{Missing, missing};
use super::pin::{PinError, Pins};
use super::set::{Inside, PackedFile, PackedPackage, PackedSet, folder_of};
use super::{cargo, npm, python, requirement, tree};
use crate::package::{Ecosystem, Package, PackageId, Version};
use crate::problem::{Code, Problem};
use crate::settings::{Surroundings, Target};

/// The largest file that is sent. Registries have limits of their own, which are lower.
const BYTES_MAX: u64 = 1 << 30;
/// The largest that the usual registry of crates takes of whoever has not asked for more, as its documentation says.
const CRATE_MAX: u64 = 10 << 20;

/// How it is packed.
#[derive(Debug, Clone, Default)]
pub struct PackOptions {
    /// Crates are built from what was packed.
    pub verify: bool,
    /// No network is used.
    pub offline: bool,
    /// The workspace is packed where it is, with its manifests pinned meanwhile.
    pub in_place: bool,
    /// Packages of which files that were packed are not there any more, or not what they were, are packed again.
    pub rebuild: bool,
    /// Files of Python's that are published as they are, instead of being built.
    pub handed: Handed,
    /// Crates that are packed again, whatever is there of them.
    pub again: BTreeSet<PackageId>,
    /// Crates that are not packed with others, which find them in their registry.
    pub without: BTreeSet<PackageId>,
}

/// Where packing is done.
pub(super) struct Bench<'a> {
    pub around: &'a Surroundings,
    pub options: &'a PackOptions,
    /// The copy of the workspace.
    pub root: &'a Path,
    /// Where tools put things.
    pub scratch: &'a Path,
    /// Git takes the copy for what was committed.
    pub is_committed: bool,
    targets: &'a BTreeMap<PackageId, Target>,
}

impl Bench<'_> {
    /// The folder of a package in the copy.
    pub fn folder_of(&self, package: &Package) -> PathBuf {
        let folder = package.manifest.parent().unwrap_or(&self.around.root);
        let inside = canonical(folder);
        let inside = inside.strip_prefix(canonical(&self.around.root)).unwrap_or(Path::new(""));
        self.root.join(inside)
    }

    /// The names of all crates that are packed.
    pub fn crates(&self) -> impl Iterator<Item = &str> {
        let crates = self.targets.keys().filter(|id| id.ecosystem() == Ecosystem::Cargo);
        crates.map(PackageId::name)
    }

    pub fn index_of(&self, registry: &str) -> &str {
        let target = self.targets.values().find(|target| target.address.name == registry);
        target.map(|target| target.address.index.as_str()).unwrap_or_default()
    }
}

/// What a tool has made of a package.
pub(super) struct Made {
    pub id: PackageId,
    pub version: String,
    pub files: Vec<PathBuf>,
    pub metadata: Json,
    pub contents: Contents,
}

/// Packs packages into `into`, a folder of the workspace's own that nobody else uses now. What was packed of the same
/// tree before is taken as it is. `was_sent` says of a folder of packed files and a package whether something of it may be
/// out: packed again, it must be the same.
///
/// # Errors
///
/// Whatever keeps a package from being packed.
pub fn pack(
    around: &Surroundings,
    checkout: Option<&Checkout>,
    packages: &[(&Package, &Target)],
    options: &PackOptions,
    into: &Path,
    was_sent: &dyn Fn(&Path, &PackageId) -> bool,
) -> Result<PackedSet, Vec<Problem>> {
    let uncopied =
        |error: String| vec![whole(around, format!("the workspace cannot be copied: {error}"))];
    let staging = Staging::new(into);
    let tree = tree_of(around, checkout, options.in_place).map_err(uncopied)?;
    let known = PackedSet::load(&into.join("packed").join(&tree));
    let broken = match &known {
        Some(known) => broken(around, known, packages, options)?,
        None => BTreeSet::new(),
    };
    if let (Some(known), true) = (&known, broken.is_empty()) {
        return Ok(known.clone());
    }
    let copied = match options.in_place {
        true => stay(around, checkout, &staging, tree),
        false => copy(around, checkout, &staging),
    };
    let copied = copied.map_err(uncopied)?;
    // Crates are packed together; of the others only those that are needed.
    let is_cargo = |id: &PackageId| id.ecosystem() == Ecosystem::Cargo;
    let has_crates = broken.iter().any(is_cargo);
    let is_wanted = |id: &PackageId| {
        let is_beside = has_crates && is_cargo(id) && !options.without.contains(id);
        broken.is_empty() || broken.contains(id) || is_beside
    };
    let wanted: Vec<(&Package, &Target)> =
        packages.iter().filter(|(it, _)| is_wanted(&it.id)).copied().collect();
    let is_same = known.as_ref().is_none_or(|known| known.tree == copied.tree);
    let wanted = if is_same { &wanted[..] } else { packages };
    let made = make_copied(around, wanted, options, into, &copied)?;
    let fresh = || PackedSet {
        tree: copied.tree.clone(),
        commit: copied.commit.clone(),
        packages: BTreeMap::new(),
        folder: into.join("packed").join(&copied.tree),
    };
    // Whatever was changed meanwhile is of another tree.
    let known = known.filter(|known| known.tree == copied.tree);
    let (set, made) = match known {
        Some(known) => {
            let made: Vec<Made> = made.into_iter().filter(|it| broken.contains(&it.id)).collect();
            check_again(&known, &made, packages, was_sent)?;
            (known, made)
        }
        None => (fresh(), made),
    };
    let failed = |error| vec![whole(around, format!("what was packed cannot be kept: {error}"))];
    keep(set, made).map_err(failed)
}

/// The packages that are to be packed although others of the same tree were.
fn broken(
    around: &Surroundings,
    known: &PackedSet,
    packages: &[(&Package, &Target)],
    options: &PackOptions,
) -> Result<BTreeSet<PackageId>, Vec<Problem>> {
    let mut broken = BTreeSet::new();
    for id in packages.iter().map(|(package, _)| &package.id) {
        let is_other = known.package(id).is_some_and(|packed| options.handed.is_other(id, packed));
        match known.check(id) {
            // Nobody has wanted it yet; what was packed with others stays as it is.
            _ if known.package(id).is_none() => drop(broken.insert(id.clone())),
            _ if options.again.contains(id) => drop(broken.insert(id.clone())),
            // What was handed over counts, and is not built.
            _ if is_other => drop(broken.insert(id.clone())),
            Ok(()) => {}
            Err(_) if options.rebuild => drop(broken.insert(id.clone())),
            Err(changed) => {
                let hint = Some("--rebuild packs it again, if nothing else comes of it".to_owned());
                return Err(vec![Problem { hint, ..whole(around, changed.to_string()) }]);
            }
        }
    }
    Ok(broken)
}

/// What is packed again must be what it was, if that may be out.
fn check_again(
    known: &PackedSet,
    made: &[Made],
    packages: &[(&Package, &Target)],
    was_sent: &dyn Fn(&Path, &PackageId) -> bool,
) -> Result<(), Vec<Problem>> {
    let mut problems = Vec::new();
    for it in made.iter().filter(|it| was_sent(&known.folder, &it.id)) {
        let package = packages.iter().find(|(package, _)| package.id == it.id);
        let before = known.package(&it.id).map(|it| it.files.as_slice()).unwrap_or_default();
        for path in &it.files {
            let now = fs::read(path).map(|content| PackedFile::new(&file_name(path), &content));
            let then = before.iter().find(|then| then.name == file_name(path));
            let (Ok(now), Some(then), Some((package, _))) = (now, then, package) else { continue };
            if now.sha256 != then.sha256 {
                let what = format!(
                    "{} was sent with the digest {}, and packed again it has {}",
                    it.id, then.sha256, now.sha256
                );
                let hint =
                    Some("put the file back that was packed, or raise the version".to_owned());
                problems.push(Problem { hint, ..problem(package, what) });
            }
        }
    }
    if problems.is_empty() { Ok(()) } else { Err(problems) }
}

/// The folder in which things are made; it is gone when this is dropped.
#[derive(Debug)]
pub(super) struct Staging(PathBuf);

impl Staging {
    pub fn new(into: &Path) -> Self {
        let staging = Self(into.join("staging"));
        // Of a process that died: whoever is here is alone.
        staging.remove();
        staging
    }

    fn remove(&self) {
        // What cannot be removed takes room, and nothing else.
        let _ = fs::remove_dir_all(&self.0);
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        self.remove();
    }
}

/// Where originals of pinned manifests are kept: in git's own folder, where everybody finds them who comes later and nobody
/// packs them, or in ours.
#[must_use]
pub fn pins_folder(around: &Surroundings, ours: &Path) -> PathBuf {
    git::own_folder(around).map_or_else(|| ours.join("pinned"), |it| it.join("tidewheel-pinned"))
}

/// A copy of a workspace.
#[derive(Debug)]
pub(super) struct Copied {
    root: PathBuf,
    /// Where tools put things.
    scratch: PathBuf,
    /// Git takes it for what was committed.
    is_committed: bool,
    commit: Option<String>,
    pub tree: String,
}

/// The folder that is copied, and the commit that it is, if nothing is changed.
fn origin<'a>(
    around: &'a Surroundings,
    checkout: Option<&'a Checkout>,
) -> (&'a Path, Option<&'a Checkout>) {
    let clean = checkout.filter(|it| it.changes.is_empty() && it.commit.is_some());
    (checkout.map_or(around.root.as_path(), |checkout| checkout.top.as_path()), clean)
}

/// A word for the state of a tree and the way in which it is packed.
fn word(digest: &str, clean: Option<&Checkout>, in_place: bool) -> String {
    let commit = clean.and_then(|it| it.commit.as_deref()).unwrap_or_default();
    short(&format!("{digest}{commit}{}", if in_place { " pinned" } else { "" }))
}

/// The word for the tree as it is now.
pub(super) fn tree_of(
    around: &Surroundings,
    checkout: Option<&Checkout>,
    in_place: bool,
) -> Result<String, String> {
    let (top, clean) = origin(around, checkout);
    let digest = tree::digest(if in_place { &around.root } else { top });
    Ok(word(&digest.map_err(|error| error.to_string())?, clean, in_place))
}

pub(super) fn copy(
    around: &Surroundings,
    checkout: Option<&Checkout>,
    Staging(staging): &Staging,
) -> Result<Copied, String> {
    make_private_folder(staging).map_err(|error| error.to_string())?;
    let (top, clean) = origin(around, checkout);
    let copy = staging.join("copy");
    // Without its history a package is packed all the same.
    let is_committed = clean.is_some_and(|clean| git::borrow(around, clean, &copy).is_ok());
    let digest = tree::copy(top, &copy).map_err(|error| error.to_string())?;
    if is_committed {
        git::settle(around, &copy)?;
    }
    let inside = canonical(&around.root);
    let inside = inside.strip_prefix(canonical(top)).unwrap_or(Path::new(""));
    Ok(Copied {
        root: copy.join(inside),
        scratch: staging.join("made"),
        is_committed,
        tree: word(&digest, clean, false),
        commit: clean.and_then(|clean| clean.commit.clone()),
    })
}

/// The workspace itself instead of a copy.
fn stay(
    around: &Surroundings,
    checkout: Option<&Checkout>,
    Staging(staging): &Staging,
    tree: String,
) -> Result<Copied, String> {
    make_private_folder(staging).map_err(|error| error.to_string())?;
    let (_, clean) = origin(around, checkout);
    Ok(Copied {
        root: around.root.clone(),
        scratch: staging.join("made"),
        // Manifests are not what was committed while they are pinned.
        is_committed: false,
        tree,
        commit: clean.and_then(|clean| clean.commit.clone()),
    })
}

/// Pins what packages need of each other, where they are.
fn pin_all(
    around: &Surroundings,
    packages: &[(&Package, &Target)],
    into: &Path,
) -> Result<Pins, PinError> {
    let pins = Pins::new(&pins_folder(around, into))?;
    let version_of = |id: &PackageId| {
        let package = packages.iter().find(|(package, _)| package.id == *id)?.0;
        match &package.version {
            Version::Written(version) => Some(version.clone()),
            Version::Built => None,
        }
    };
    for (package, _) in packages {
        let edit = |text: &str| match package.id.ecosystem() {
            // Cargo itself leaves paths out of what it packs.
            Ecosystem::Cargo => Ok(None),
            Ecosystem::Npm => npm::with_ranges(package, text, &around.root),
            Ecosystem::Python => requirement::pinned(text, version_of),
        };
        pins.pin(&package.manifest, edit)?;
    }
    Ok(pins)
}

/// Lets tools make packages in a copy.
pub(super) fn make_copied(
    around: &Surroundings,
    packages: &[(&Package, &Target)],
    options: &PackOptions,
    into: &Path,
    copied: &Copied,
) -> Result<Vec<Made>, Vec<Problem>> {
    let targets: BTreeMap<PackageId, Target> =
        packages.iter().map(|(package, target)| (package.id.clone(), (*target).clone())).collect();
    let bench = Bench {
        around,
        options,
        root: &copied.root,
        scratch: &copied.scratch,
        is_committed: copied.is_committed,
        targets: &targets,
    };
    let pins = match options.in_place {
        true => Some(pin_all(around, packages, into)),
        false => None,
    };
    let unpinned = |error: PinError| vec![whole(around, error.to_string())];
    let pins = pins.transpose().map_err(unpinned)?;
    let made = make_all(&bench, packages);
    pins.map_or(Ok(()), Pins::put_back).map_err(unpinned)?;
    made
}

/// Lets every tool do its part, and looks at what came of it.
fn make_all(
    bench: &Bench<'_>,
    packages: &[(&Package, &Target)],
) -> Result<Vec<Made>, Vec<Problem>> {
    let mut made = Vec::new();
    let mut problems = Vec::new();
    let of = |ecosystem: Ecosystem| {
        packages.iter().filter(move |(package, _)| package.id.ecosystem() == ecosystem)
    };
    let crates =
        of(Ecosystem::Cargo).map(|(package, target)| (*package, target.address.name.as_str()));
    for (registry, crates) in cargo::by_registry(crates) {
        match cargo::pack(bench, registry, &crates) {
            Ok(packed) => made.extend(packed),
            Err(error) => problems.push(whole(bench.around, error)),
        }
    }
    for (package, _) in of(Ecosystem::Npm).chain(of(Ecosystem::Python)) {
        let packed = match package.id.ecosystem() {
            Ecosystem::Npm => npm::pack(bench, package),
            _ => python::pack(bench, package),
        };
        match packed {
            Ok(packed) => made.push(packed),
            Err(error) => problems.push(problem(package, error)),
        }
    }
    for packed in &made {
        let package = packages.iter().find(|(package, _)| package.id == packed.id);
        problems.extend(package.and_then(|(package, target)| {
            objection(package, target, packed)
                .or_else(|| unwelcome(package, target, &packed.metadata))
                .or_else(|| unbuilt(package, packed))
        }));
    }
    if problems.is_empty() { Ok(made) } else { Err(problems) }
}

/// What speaks against sending what was packed.
fn objection(package: &Package, target: &Target, made: &Made) -> Option<Problem> {
    if let Version::Written(version) = &package.version
        && *version != made.version
    {
        let what =
            format!("{} was packed with the version {}, not {version}", made.id, made.version);
        return Some(problem(package, what));
    }
    if let Some(name) = made.contents.secrets().first() {
        let hint = Some("leave it out of the package: it looks like a secret".to_owned());
        let what = format!("{} has {name} in it", made.id);
        return Some(Problem { hint, ..problem(package, what) });
    }
    let most = if is_usual_crate(package, target) { CRATE_MAX } else { BYTES_MAX };
    let is_too_large = |path: &&PathBuf| fs::metadata(path).is_ok_and(|file| file.len() > most);
    let large = made.files.iter().find(is_too_large)?;
    let what = format!("{} is too large to be sent: at most {} MiB", file_name(large), most >> 20);
    let hint = Some("leave out of the package what nobody needs who uses it".to_owned());
    Some(Problem { hint, ..problem(package, what) })
}

fn is_usual_crate(package: &Package, target: &Target) -> bool {
    package.id.ecosystem() == Ecosystem::Cargo && target.address.name == cargo::USUAL
}

/// What the usual registry of crates refuses, known before anything is sent to it.
fn unwelcome(package: &Package, target: &Target, metadata: &Json) -> Option<Problem> {
    if !is_usual_crate(package, target) {
        return None;
    }
    let is_missing = |key: &str| metadata.get(key).is_none_or(Json::is_null);
    let missing =
        match (is_missing("description"), is_missing("license") && is_missing("license_file")) {
            (false, false) => return None,
            (true, false) => "description",
            (false, true) => "license",
            (true, true) => "description and no license",
        };
    let what = format!("{} has no {missing}, and its registry wants one", package.id);
    let hint = Some("write it into [package] of its Cargo.toml".to_owned());
    Some(Problem { hint, ..problem(package, what) })
}

/// What a package of npm says that it has and has not: whoever uses it gets an error.
fn unbuilt(package: &Package, made: &Made) -> Option<Problem> {
    let manifest =
        made.metadata.get("manifest").filter(|_| made.id.ecosystem() == Ecosystem::Npm)?;
    let Missing { key, path } = missing(manifest, &made.contents.files)?;
    let what = format!("{} names `{path}` as its `{key}`, and that is not in the package", made.id);
    let scripts = manifest.get("scripts");
    let scripts = |name: &&str| scripts.is_some_and(|it| it.get(name).is_some());
    let script = ["build", "prepack", "prepare", "prepublishOnly"].into_iter().find(scripts);
    let build = script.map_or("build it".to_owned(), |script| format!("`npm run {script}`"));
    let hint = format!(
        "{build} before it is published, and let `files` have what comes of it: no script is run when it is packed"
    );
    Some(Problem { hint: Some(hint), ..problem(package, what) })
}

/// Moves what was made to where it is kept.
pub(super) fn keep(mut set: PackedSet, made: Vec<Made>) -> std::io::Result<PackedSet> {
    for packed in made {
        let folder = set.folder.join(folder_of(&packed.id));
        fs::create_dir_all(&folder)?;
        let mut files = Vec::new();
        for path in &packed.files {
            let name = file_name(path);
            let content = fs::read(path)?;
            write_atomically(&folder.join(&name), &content)?;
            let inside = Inside::of(&archive::list(path).map_err(std::io::Error::other)?);
            files.push(PackedFile { inside, ..PackedFile::new(&name, &content) });
        }
        let Made { id, version, metadata, .. } = packed;
        set.packages.insert(id.to_string(), PackedPackage { version, files, metadata });
    }
    set.store()?;
    Ok(set)
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn short(text: &str) -> String {
    use sha2::Digest as _;
    sha2::Sha256::digest(text).iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

fn canonical(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

fn problem(package: &Package, what: String) -> Problem {
    Problem {
        code: Code::Packing,
        package: Some(package.id.clone()),
        file: package.manifest.clone(),
        line: None,
        what,
        hint: None,
    }
}

pub(super) fn whole(around: &Surroundings, what: String) -> Problem {
    Problem {
        code: Code::Packing,
        package: None,
        file: around.root.clone(),
        line: None,
        what,
        hint: None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::package::Publicity;
    use crate::settings::Address;

    #[test]
    fn what_the_usual_registry_of_crates_refuses_is_known_before_anything_is_sent() {
        let package = Package {
            id: PackageId::new(Ecosystem::Cargo, "a"),
            version: Version::Written("1.0.0".to_owned()),
            manifest: PathBuf::from("Cargo.toml"),
            publicity: Publicity::Public { registries: Vec::new() },
            needs: Vec::new(),
            provenance: None,
        };
        let target = |name: &str| {
            let (name, index) = (name.to_owned(), "https://a.example/".to_owned());
            let address = Address { name, index, upload: None };
            Target { address, credentials: None, credentials_hint: String::new() }
        };
        let said = |metadata: Json| {
            unwelcome(&package, &target(cargo::USUAL), &metadata).map(|problem| problem.what)
        };
        assert_eq!(said(json!({ "description": "d", "license_file": "LICENSE" })), None);
        assert!(
            said(json!({ "description": null, "license": "MIT" }))
                .unwrap()
                .contains("no description,")
        );
        assert!(said(json!({ "description": "d" })).unwrap().contains("no license,"));
        assert_eq!(unwelcome(&package, &target("ours"), &json!({})), None);
    }
}
