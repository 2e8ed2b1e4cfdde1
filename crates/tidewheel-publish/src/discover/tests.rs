//! Workspaces as they are on disks, read.
//!
//! What follows from what was read is tested in `workspace`.

use std::fs;
use std::path::PathBuf;

use super::discover;
use super::folder::Discovered;
use crate::package::{Ecosystem, Need, Package, PackageId, Publicity, Version};
use crate::problem::Code;
use crate::workspace::Workspace;
use tidewheel_testing::{TempDir, temp_folder};

/// A folder of a test, which goes with it.
struct Tree(TempDir);

impl Tree {
    fn new(name: &str, files: &[(&str, &str)]) -> Self {
        let root = temp_folder(&format!("discover-{name}"));
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        Self(root)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn found(&self) -> Discovered {
        discover(self.0.path())
    }

    /// What was found without a problem.
    fn packages(&self) -> Vec<Package> {
        let found = self.found();
        assert_eq!(found.problems, []);
        found.packages
    }
}

fn find<'a>(packages: &'a [Package], name: &str) -> &'a Package {
    packages.iter().find(|package| package.id.name() == name).unwrap()
}

/// Needs as text: what for, of what, which versions.
fn needs(package: &Package) -> Vec<String> {
    let text = |Need { package, kind, range, .. }: &Need| {
        format!("{kind:?} {} {}", package.name(), range.as_deref().unwrap_or("-"))
    };
    package.needs.iter().map(text).collect()
}

fn private(package: &Package) -> Option<&'static str> {
    match package.publicity {
        Publicity::Private { by } => Some(by),
        Publicity::Public { .. } => None,
    }
}

fn crate_of(name: &str, rest: &str) -> String {
    format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n{rest}")
}

#[test]
fn crates_are_what_cargo_says_they_are() {
    let root = "[workspace]\nresolver = \"3\"\nmembers = [\"c/*\"]\nexclude = [\"c/out\"]\n\
        [workspace.package]\nversion = \"2.3.4\"\n\
        [workspace.dependencies]\nbase = { path = \"c/base\", version = \"2.3\" }\n";
    let base = "[package]\nname = \"base\"\nversion.workspace = true\nedition = \"2024\"\n";
    let user = crate_of(
        "user",
        "[dependencies]\nbase.workspace = true\nother = { package = \"tool\", path = \"../tool\", optional = true, version = \"0.1\" }\n\
         [target.'cfg(unix)'.dependencies]\nfixed = { path = \"../fixed\", version = \"=0.1.0\" }\n\
         [build-dependencies]\ntool = { path = \"../tool\", version = \"0.1.0\" }\n\
         [dev-dependencies]\nhidden = { path = \"../hidden\" }\n",
    );
    let vague =
        crate_of("vague", "# publish = false\n[dependencies]\nbase = { path = \"../base\" }\n");
    let tree = Tree::new(
        "crates",
        &[
            ("Cargo.toml", root),
            ("c/base/Cargo.toml", base),
            ("c/base/src/lib.rs", ""),
            ("c/user/Cargo.toml", &user),
            ("c/user/src/lib.rs", ""),
            ("c/tool/Cargo.toml", &crate_of("tool", "publish = []\n")),
            ("c/tool/src/lib.rs", ""),
            ("c/fixed/Cargo.toml", &crate_of("fixed", "publish = [\"mine\"]\n")),
            ("c/fixed/src/lib.rs", ""),
            ("c/hidden/Cargo.toml", &crate_of("hidden", "publish=false\n")),
            ("c/hidden/src/lib.rs", ""),
            ("c/vague/Cargo.toml", &vague),
            ("c/vague/src/lib.rs", ""),
            ("c/out/Cargo.toml", &crate_of("out", "")),
            ("c/out/src/lib.rs", ""),
        ],
    );
    let packages = tree.packages();
    let mut names: Vec<&str> = packages.iter().map(|package| package.id.name()).collect();
    names.sort_unstable();
    assert_eq!(names, ["base", "fixed", "hidden", "tool", "user", "vague"]);
    assert_eq!(find(&packages, "base").version, Version::Written("2.3.4".to_owned()));
    assert_eq!(find(&packages, "base").manifest, tree.path("c/base/Cargo.toml"));
    let mut of_user = needs(find(&packages, "user"));
    of_user.sort();
    assert_eq!(
        of_user,
        [
            "Build tool ^0.1.0",
            "Development hidden -",
            "Normal base ^2.3",
            "Normal fixed =0.1.0",
            "Optional tool ^0.1",
        ]
    );
    assert_eq!(private(find(&packages, "tool")), Some("publish = false"));
    assert_eq!(private(find(&packages, "hidden")), Some("publish = false"));
    assert_eq!(private(find(&packages, "vague")), None);
    assert_eq!(needs(find(&packages, "vague")), ["Normal base -"]);
    let mine = Publicity::Public { registries: vec!["mine".to_owned()] };
    assert_eq!(find(&packages, "fixed").publicity, mine);
    assert!(!tree.path("Cargo.lock").exists(), "looking changes nothing");
}

#[test]
fn needs_of_crates_have_their_lines() {
    let a = crate_of(
        "a",
        "[dependencies]\n[dev-dependencies]\nother = { package = \"c\", path = \"../c\", version = \"0.1\" }\n",
    );
    let b = crate_of(
        "b",
        "[dependencies]\n\"c\".path = \"../c\"\n[build-dependencies.c]\npath = \"../c\"\n",
    );
    let tree = Tree::new(
        "lines",
        &[
            ("Cargo.toml", "[workspace]\nresolver = \"3\"\nmembers = [\"*\"]\n"),
            ("a/Cargo.toml", &a),
            ("a/src/lib.rs", ""),
            ("b/Cargo.toml", &b),
            ("b/src/lib.rs", ""),
            ("c/Cargo.toml", &crate_of("c", "")),
            ("c/src/lib.rs", ""),
        ],
    );
    let packages = tree.packages();
    let lines = |name: &str| -> Vec<Option<usize>> {
        find(&packages, name).needs.iter().map(|need| need.line).collect()
    };
    assert_eq!(lines("a"), [Some(7)]);
    assert_eq!(lines("b"), [Some(6), Some(7)]);
}

#[test]
fn what_cargo_refuses_is_told_in_its_words() {
    let tree = Tree::new("broken-crate", &[("Cargo.toml", "[package]\nname = 7\n")]);
    let found = tree.found();
    let [problem] = &found.problems[..] else { panic!("{found:?}") };
    assert_eq!((problem.code, &problem.file), (Code::Tool, &tree.path("Cargo.toml")));
    assert!(problem.what.contains("expected a string"), "{}", problem.what);
    assert_eq!(problem.hint, None);
    let needs = "[dependencies]\nb = { version = \"1\", registry = \"tidewheel-nobody\" }\n";
    let tree = Tree::new("unnamed", &[("Cargo.toml", &crate_of("a", needs)), ("src/lib.rs", "")]);
    let hint = tree.found().problems.remove(0).hint.unwrap();
    assert!(hint.contains("[registries.NAME] in .cargo/config.toml"), "{hint}");
}

#[test]
fn npm_members_come_from_patterns_and_their_ranges_are_those_that_will_be_published() {
    let root =
        r#"{ "name": "root", "private": true, "workspaces": ["packages/*", "!packages/skipped"] }"#;
    let user = r#"{
        "name": "@us/user", "version": "1.0.0-rc.1",
        "publishConfig": { "registry": "http://localhost:4873", "access": "public" },
        "dependencies": { "@us/core": "workspace:*", "left": "^1.0.0", "aliased": "npm:@us/core@~2.0.0" },
        "peerDependencies": { "plugin": "workspace:^" },
        "optionalDependencies": { "extra": "workspace:~" },
        "devDependencies": { "renamed": "workspace:extra@*", "near": "file:../near", "plugin": "workspace:3.0.0" }
    }"#;
    let of =
        |name: &str, version: &str| format!(r#"{{ "name": "{name}", "version": "{version}" }}"#);
    let tree = Tree::new(
        "npm",
        &[
            ("package.json", root),
            ("packages/user/package.json", user),
            ("packages/core/package.json", &of("@us/core", "2.1.0")),
            ("packages/plugin/package.json", &of("plugin", "3.0.0")),
            ("packages/extra/package.json", &of("extra", "0.4.0")),
            ("packages/near/package.json", &of("near", "0.1.0")),
            ("packages/skipped/package.json", &of("skipped", "9.9.9")),
            ("packages/node_modules/package.json", &of("installed", "9.9.9")),
            ("packages/empty/readme.md", ""),
        ],
    );
    let packages = tree.packages();
    let names: Vec<&str> = packages.iter().map(|package| package.id.name()).collect();
    assert_eq!(names, ["root", "@us/core", "extra", "near", "plugin", "@us/user"]);
    let user = find(&packages, "@us/user");
    let mut needed = needs(user);
    needed.sort();
    assert_eq!(
        needed,
        [
            "Development extra 0.4.0",
            "Development near -",
            "Development plugin 3.0.0",
            "Normal @us/core 2.1.0",
            "Normal @us/core ~2.0.0",
            "Optional extra ~0.4.0",
            "Peer plugin ^3.0.0",
        ]
    );
    let here = Publicity::Public { registries: vec!["http://localhost:4873".to_owned()] };
    assert_eq!(user.publicity, here);
    assert_eq!(private(find(&packages, "root")), Some("\"private\": true"));
}

#[test]
fn pnpm_and_yarn_say_their_members_in_their_own_ways() {
    let member = r#"{ "name": "a", "version": "1.0.0" }"#;
    let pnpm = "packages:\n  - 'tools/**'\n  - '!**/test/**'\n";
    let tree = Tree::new(
        "pnpm",
        &[
            ("package.json", r#"{ "private": true }"#),
            ("pnpm-workspace.yaml", pnpm),
            ("tools/deep/a/package.json", member),
            ("tools/test/b/package.json", r#"{ "name": "b", "version": "1.0.0" }"#),
        ],
    );
    assert_eq!(tree.packages().iter().map(|it| it.id.name()).collect::<Vec<_>>(), ["a"]);
    let yarn = r#"{ "private": true, "workspaces": { "packages": ["a"], "nohoist": ["**"] } }"#;
    let tree = Tree::new("yarn", &[("package.json", yarn), ("a/package.json", member)]);
    assert_eq!(tree.packages().len(), 1);
}

#[test]
fn a_broken_manifest_is_told_with_its_line_and_the_others_are_found() {
    let tree = Tree::new(
        "broken-npm",
        &[
            ("package.json", r#"{ "private": true, "workspaces": ["*"] }"#),
            ("a/package.json", "{\n  \"name\": \"a\",\n}"),
            ("b/package.json", r#"{ "name": "b" }"#),
            ("c/package.json", r#"{ "name": "c", "version": "1.0.0" }"#),
        ],
    );
    let found = tree.found();
    assert_eq!(found.packages.len(), 1);
    let told: Vec<(PathBuf, Option<usize>)> =
        found.problems.iter().map(|it| (it.file.clone(), it.line)).collect();
    let file = |path: &str| tree.path(path);
    assert_eq!(told, [(file("a/package.json"), Some(3)), (file("b/package.json"), None)]);
    assert!(found.problems[1].what.contains("`b` has no version"), "{:?}", found.problems[1]);
}

#[test]
fn python_members_are_those_of_uv_with_what_their_projects_say() {
    let root = "[project]\nname = \"root\"\nversion = \"1.0\"\ndependencies = [\"A_core[fast] >=1.0,<2 ; python_version > '3.8'\", \"requests\"]\n\
        [project.optional-dependencies]\nall = [\"plugin\", \"near @ file:///near\"]\n\
        [dependency-groups]\ndev = [\"hidden\"]\n\
        [tool.uv.workspace]\nmembers = [\"libs/*\"]\nexclude = [\"libs/out\"]\n";
    let project = |name: &str, rest: &str| format!("[project]\nname = \"{name}\"\n{rest}");
    let maturin =
        "dynamic = [\"version\"]\n[build-system]\nrequires = []\nbuild-backend = \"maturin\"\n";
    let hatch = "dynamic = [\"version\"]\n[build-system]\nrequires = []\nbuild-backend = \"hatchling.build\"\n";
    let private_ = "version = \"1\"\nclassifiers = [\"Private :: Do Not Upload\"]\n";
    let tree = Tree::new(
        "python",
        &[
            ("pyproject.toml", root),
            ("libs/core/pyproject.toml", &project("a-core", "version = \"1.5\"\n")),
            ("libs/plugin/pyproject.toml", &project("plugin", maturin)),
            (
                "libs/plugin/Cargo.toml",
                "[package]\nname = \"plugin\"\nversion = \"0.3.0-beta.2\"\n",
            ),
            ("libs/near/pyproject.toml", &project("near", hatch)),
            ("libs/hidden/pyproject.toml", &project("hidden", private_)),
            ("libs/tools/pyproject.toml", "[tool.ruff]\n"),
            ("libs/out/pyproject.toml", &project("out", "version = \"1\"\n")),
        ],
    );
    let packages = tree.packages();
    let names: Vec<&str> = packages.iter().map(|package| package.id.name()).collect();
    assert_eq!(names, ["root", "a-core", "hidden", "near", "plugin"]);
    assert_eq!(
        needs(find(&packages, "root")),
        ["Normal a-core >=1.0,<2", "Normal requests ", "Optional plugin ", "Optional near -"]
    );
    assert_eq!(find(&packages, "plugin").version, Version::Written("0.3.0b2".to_owned()));
    assert_eq!(find(&packages, "near").version, Version::Built);
    assert_eq!(private(find(&packages, "hidden")), Some("Private :: Do Not Upload"));
}

#[test]
fn a_version_that_nobody_says_is_told() {
    let tree = Tree::new("no-version", &[("pyproject.toml", "[project]\nname = \"a\"\n")]);
    let found = tree.found();
    assert!(found.problems[0].what.contains("no version"), "{found:?}");
    let tree = Tree::new("no-toml", &[("pyproject.toml", "[project]\nname = \n")]);
    let found = tree.found();
    assert_eq!((found.problems[0].code, found.problems[0].line), (Code::Manifest, Some(2)));
}

#[test]
fn a_folder_with_several_ecosystems_has_the_packages_of_all() {
    let tree = Tree::new(
        "mixed",
        &[
            ("Cargo.toml", &crate_of("core", "")),
            ("src/lib.rs", ""),
            ("package.json", r#"{ "name": "core", "version": "0.1.0" }"#),
            ("pyproject.toml", "[project]\nname = \"core\"\nversion = \"0.1.0\"\n"),
        ],
    );
    let ids: Vec<PackageId> = tree.packages().into_iter().map(|package| package.id).collect();
    let all = [Ecosystem::Cargo, Ecosystem::Npm, Ecosystem::Python];
    assert_eq!(ids, all.map(|ecosystem| PackageId::new(ecosystem, "core")));
}

#[test]
fn a_package_goes_after_those_of_other_languages_that_it_names() {
    let cargo =
        crate_of("core", "[package.metadata.tidewheel]\npublish-after = [\"npm:schema\"]\n");
    let python = "[project]\nname = \"core\"\nversion = \"0.1.0\"\n[tool.tidewheel]\npublish-after = [\"cargo:core\"]\n";
    let npm = r#"{ "name": "schema", "version": "0.1.0" }"#;
    let files = [
        ("Cargo.toml", &*cargo),
        ("src/lib.rs", ""),
        ("package.json", npm),
        ("pyproject.toml", python),
    ];
    let tree = Tree::new("after", &files);
    let workspace = Workspace::new(tree.packages());
    assert_eq!(workspace.problems(), []);
    let order: Vec<String> =
        workspace.order().unwrap().iter().map(|it| it.id.to_string()).collect();
    assert_eq!(order, ["npm:schema", "cargo:core", "python:core"]);
    // One that is not here is told.
    let npm = r#"{ "name": "schema", "version": "0.1.0", "tidewheel": { "publishAfter": ["cargo:cor"] } }"#;
    let files = [
        ("Cargo.toml", &*cargo),
        ("src/lib.rs", ""),
        ("package.json", npm),
        ("pyproject.toml", python),
    ];
    let tree = Tree::new("after-nobody", &files);
    let problems = Workspace::new(tree.packages()).problems();
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(problems[0].what.contains("npm:schema goes after cargo:cor, which is not here"));
}

#[test]
fn a_folder_without_packages_says_what_was_looked_for() {
    let tree = Tree::new("none", &[("readme.md", "")]);
    let found = tree.found();
    assert!(
        found.problems[0].what.contains("Cargo.toml, package.json or pyproject.toml"),
        "{found:?}"
    );
    assert_eq!(found.problems[0].file, tree.0.path());
}
