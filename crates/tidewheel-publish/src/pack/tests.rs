//! Packing with the real tools, in folders of their own. Nothing is asked of any registry.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::*;
use crate::discover::discover;
use crate::package::{Package, PackageId};
use crate::problem::{Code, Problem};
use crate::settings::{Address, Surroundings, Target};
use tidewheel_testing::{TempDir, temp_folder};

struct Scene(TempDir);

impl Scene {
    fn new(name: &str) -> Self {
        let root = temp_folder(&format!("pack-{name}"));
        fs::create_dir_all(root.path().join("ws")).unwrap();
        fs::create_dir_all(root.path().join("home")).unwrap();
        Self(root)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn file(&self, path: &str, text: &str) -> &Self {
        let path = self.path("ws").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    /// Two crates, the second of which needs the first.
    fn crates(&self) -> &Self {
        self.file("Cargo.toml", "[workspace]\nresolver = \"3\"\nmembers = [\"a\", \"b\"]\n");
        self.file(
            ".cargo/config.toml",
            "[registries.ours]\nindex = \"sparse+http://127.0.0.1:9/\"\n",
        );
        for (name, needs) in [
            ("a", ""),
            (
                "b",
                "[dependencies]\nother = { package = \"a\", path = \"../a\", version = \"1.0\", registry = \"ours\", optional = true }\n[features]\nmore = [\"dep:other\"]\n",
            ),
        ] {
            let manifest = format!(
                "[package]\nname = \"{name}\"\nversion = \"1.0.0\"\nedition = \"2024\"\nlicense = \"MIT\"\ndescription = \"d\"\nreadme = \"R.md\"\npublish = [\"ours\"]\n{needs}"
            );
            self.file(&format!("{name}/Cargo.toml"), &manifest);
            self.file(&format!("{name}/src/lib.rs"), "");
            self.file(&format!("{name}/R.md"), "read me\n");
        }
        self
    }

    fn git(&self) -> &Self {
        let commands: [&[&str]; 3] = [
            &["init", "-q"],
            &["add", "."],
            &["-c", "user.name=n", "-c", "user.email=e@e", "commit", "-qm", "m"],
        ];
        for arguments in commands {
            let done = std::process::Command::new("git")
                .args(arguments)
                .current_dir(self.path("ws"))
                .status();
            assert!(done.unwrap().success());
        }
        self
    }

    fn around(&self) -> Surroundings {
        let mut variables: BTreeMap<String, String> = BTreeMap::new();
        for name in ["PATH", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN"] {
            variables.extend(std::env::var(name).ok().map(|value| (name.to_owned(), value)));
        }
        let home = self.path("home").display().to_string();
        variables.insert("CARGO_HOME".to_owned(), home.clone());
        variables.insert("CARGO_NET_OFFLINE".to_owned(), "true".to_owned());
        // Where the compiler is looked for in the folder of whoever runs it, it is not found in another.
        let is_kept = std::env::var("RUSTUP_HOME").is_ok();
        let real = std::env::var("HOME").unwrap_or_default();
        variables.insert("HOME".to_owned(), if is_kept { home } else { real });
        variables.insert("CARGO_REGISTRIES_OURS_TOKEN".to_owned(), "canary".to_owned());
        Surroundings::of(&self.path("ws"), variables)
    }

    fn pack(&self) -> Result<PackedSet, Vec<Problem>> {
        let around = self.around();
        let found = discover(&around.root);
        assert_eq!(found.problems, []);
        let address = Address {
            name: "ours".to_owned(),
            index: "http://127.0.0.1:9/".to_owned(),
            upload: None,
        };
        let target = Target { address, credentials: None, credentials_hint: String::new() };
        let packages: Vec<(&Package, &Target)> =
            found.packages.iter().map(|it| (it, &target)).collect();
        let options = PackOptions { offline: true, ..PackOptions::default() };
        pack(
            &around,
            checkout(&around).as_ref(),
            &packages,
            &options,
            &self.path("ours"),
            &|_, _| false,
        )
    }
}

fn id(ecosystem: crate::Ecosystem, name: &str) -> PackageId {
    PackageId::new(ecosystem, name)
}

/// Everything below a folder, with its contents.
fn everything(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut open = vec![folder.to_owned()];
    while let Some(at) = open.pop() {
        for entry in fs::read_dir(at).unwrap().map(Result::unwrap) {
            match entry.file_type().unwrap().is_dir() {
                true => open.push(entry.path()),
                false => drop(found.insert(entry.path(), fs::read(entry.path()).unwrap())),
            }
        }
    }
    found
}

#[test]
fn crates_are_packed_in_a_copy_and_the_tree_stays_as_it_is() {
    let scene = Scene::new("crates");
    scene.crates().git();
    let before = everything(&scene.path("ws"));
    let set = scene.pack().unwrap();
    assert_eq!(everything(&scene.path("ws")), before);
    assert!(!scene.path("ours/staging").exists());
    let commit = set.commit.clone().unwrap();
    assert_eq!(commit.len(), 40);
    let b = set.package(&id(crate::Ecosystem::Cargo, "b")).unwrap();
    assert_eq!((b.version.as_str(), b.files[0].name.as_str()), ("1.0.0", "b-1.0.0.crate"));
    let told = &b.metadata;
    assert_eq!(told["name"], "b");
    assert_eq!(told["readme"], "read me\n");
    assert_eq!(told["features"]["more"][0], "dep:other");
    let needed = &told["deps"][0];
    assert_eq!((&needed["name"], &needed["explicit_name_in_toml"]), (&"a".into(), &"other".into()));
    assert_eq!((&needed["version_req"], &needed["kind"]), (&"^1.0".into(), &"normal".into()));
    assert_eq!(
        (&needed["registry"], &needed["optional"]),
        (&serde_json::Value::Null, &true.into())
    );
    assert!(!serde_json::to_string(&set).unwrap().contains("canary"));

    // The same tree is not packed again; what was packed must be what it was.
    let path = set.path(&id(crate::Ecosystem::Cargo, "b"), "b-1.0.0.crate");
    let packed = fs::metadata(&path).unwrap().modified().unwrap();
    assert_eq!(scene.pack().unwrap(), set);
    assert_eq!(fs::metadata(&path).unwrap().modified().unwrap(), packed);
    fs::write(&path, "something else").unwrap();
    let problems = scene.pack().unwrap_err();
    assert!(problems[0].what.contains("is not what was packed"), "{problems:?}");
}

#[test]
fn what_is_packed_twice_is_the_same() {
    let scene = Scene::new("twice");
    scene.crates().git();
    let first = scene.pack().unwrap();
    fs::remove_dir_all(scene.path("ours")).unwrap();
    assert_eq!(scene.pack().unwrap(), first);
    // A tree that has changed is packed for itself.
    scene.file("a/src/lib.rs", "// changed\n");
    let second = scene.pack().unwrap();
    assert_ne!(second.tree, first.tree);
    assert_eq!(second.commit, None, "what is not committed is no commit");
}

#[test]
fn what_cannot_be_packed_or_should_not_be_is_told() {
    let scene = Scene::new("bad");
    scene.crates().file("a/id_rsa", "secret\n");
    let problems = scene.pack().unwrap_err();
    assert!(problems.iter().all(|it| it.code == Code::Packing));
    assert!(problems[0].what.contains("cargo:a has id_rsa in it"), "{problems:?}");
    let scene = Scene::new("worse");
    scene.crates().file("b/Cargo.toml", "[package]\nname = \"b\"\nversion = \"1.0.0\"\nlicense-file = \"none\"\nreadme = \"none\"\npublish = [\"ours\"]\n");
    let problems = scene.pack().unwrap_err();
    assert!(problems[0].what.contains("none"), "{problems:?}");
}

#[test]
fn what_the_dead_have_left_of_their_copy_is_removed_and_nothing_else() {
    let scene = Scene::new("left");
    scene.crates().git();
    let ours = scene.path("ours");
    for name in ["staging/copy/a/Cargo.toml", "kept"] {
        fs::create_dir_all(ours.join(name).parent().unwrap()).unwrap();
        fs::write(ours.join(name), "of one who died").unwrap();
    }
    scene.pack().unwrap();
    assert!(!ours.join("staging").exists());
    assert!(ours.join("kept").exists() && scene.path("ws/a/Cargo.toml").exists());
}

#[test]
fn what_is_in_packages_is_counted_and_what_looks_left_there_is_named() {
    let scene = Scene::new("inside");
    scene.crates().file("a/src/lib.rs.orig", "old\n").git();
    let set = scene.pack().unwrap();
    let a = id(crate::Ecosystem::Cargo, "a");
    let file = &set.package(&a).unwrap().files[0];
    let inside = set.inside(&a, file).unwrap();
    let lib = inside.iter().find(|it| it.name == "src/lib.rs.orig").unwrap();
    assert_eq!((lib.bytes, &file.inside.odd), (4, &vec![lib.clone()]));
    assert_eq!(file.inside.files, inside.len());
    assert_eq!(file.inside.bytes, inside.iter().map(|it| it.bytes).sum::<u64>());
    let b = id(crate::Ecosystem::Cargo, "b");
    assert_eq!(set.package(&b).unwrap().files[0].inside.odd, []);
}

#[test]
fn no_tool_sees_a_token() {
    let around = Scene::new("token").around();
    let seen: Vec<&str> = around.without_secrets().map(|(name, _)| name).collect();
    assert!(seen.contains(&"PATH") && !seen.iter().any(|name| name.contains("TOKEN")), "{seen:?}");
}
