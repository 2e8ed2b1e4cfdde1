//! Lock files that know packages of the workspace by another version than their manifests have.
//!
//! Cargo's own is enforced where crates are packed.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::Value as Json;

use crate::package::{Ecosystem, Package, PackageId, Version};
use crate::problem::{Code, Problem};
use crate::workspace::Workspace;

/// Bytes of a lock file.
const BYTES_MAX: u64 = 64 << 20;

/// Packages that go out, of which a lock file of the workspace says something else.
pub(crate) fn stale_locks(root: &Path, workspace: &Workspace) -> Vec<Problem> {
    let of = |ecosystem: Ecosystem| {
        let ours = workspace.packages().filter(move |it| it.id.ecosystem() == ecosystem);
        ours.filter(|package| package.is_public()).collect::<Vec<_>>()
    };
    let (npm, python) = (root.join("package-lock.json"), root.join("uv.lock"));
    let mut problems = Vec::new();
    if let Some(known) = text(&npm).and_then(|text| by_npm(&text)) {
        let packages = of(Ecosystem::Npm);
        let key = |package: &Package| folder_of(root, package);
        problems.extend(differing(
            &npm,
            &packages,
            &known,
            key,
            "`npm install --package-lock-only`",
        ));
    }
    if let Some(known) = text(&python).and_then(|text| by_uv(&text)) {
        let packages = of(Ecosystem::Python);
        let key = |package: &Package| Some(package.id.name().to_owned());
        problems.extend(differing(&python, &packages, &known, key, "`uv lock`"));
    }
    problems
}

fn text(path: &Path) -> Option<String> {
    let is_small = fs::metadata(path).is_ok_and(|file| file.len() <= BYTES_MAX);
    is_small.then(|| fs::read_to_string(path).ok()).flatten()
}

/// Versions by the folder of a package.
fn by_npm(text: &str) -> Option<BTreeMap<String, String>> {
    let lock: Json = serde_json::from_str(text).ok()?;
    let version = |(folder, told): (&String, &Json)| {
        Some((folder.clone(), told.get("version")?.as_str()?.to_owned()))
    };
    Some(lock.get("packages")?.as_object()?.iter().filter_map(version).collect())
}

/// Versions of packages that come from no registry, by their names.
fn by_uv(text: &str) -> Option<BTreeMap<String, String>> {
    let lock: toml::Table = text.parse().ok()?;
    let version = |told: &toml::Value| {
        let of_registry = told.get("source").and_then(|it| it.get("registry"));
        let name = told.get("name")?.as_str().filter(|_| of_registry.is_none())?;
        let name = PackageId::new(Ecosystem::Python, name).name().to_owned();
        Some((name, told.get("version")?.as_str()?.to_owned()))
    };
    Some(lock.get("package")?.as_array()?.iter().filter_map(version).collect())
}

fn folder_of(root: &Path, package: &Package) -> Option<String> {
    let folder = package.manifest.parent()?.strip_prefix(root).ok()?;
    let parts: Vec<_> = folder.iter().map(|part| part.to_string_lossy()).collect();
    Some(parts.join("/"))
}

fn differing(
    lock: &Path,
    packages: &[&Package],
    known: &BTreeMap<String, String>,
    key: impl Fn(&Package) -> Option<String>,
    hint: &str,
) -> Vec<Problem> {
    let differs = |package: &&Package| {
        let Version::Written(version) = &package.version else { return None };
        // A version that nobody wrote into the lock file is none that could be wrong.
        let locked = known.get(&key(package)?).filter(|locked| *locked != version)?;
        Some(Problem {
            code: Code::Lock,
            package: Some(package.id.clone()),
            file: lock.to_owned(),
            line: None,
            what: format!("{} is {version}, and the lock file says {locked}", package.id),
            hint: Some(format!("{hint} brings it up to date")),
        })
    };
    packages.iter().filter_map(differs).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lock_files_say_which_version_a_package_of_the_workspace_has() {
        let npm = r#"{ "lockfileVersion": 3, "packages": { "": { "name": "w" },
            "libs/a": { "version": "1.0.0" }, "node_modules/a": { "link": true } } }"#;
        assert_eq!(by_npm(npm).unwrap(), [("libs/a".to_owned(), "1.0.0".to_owned())].into());
        let uv = "version = 1\n[[package]]\nname = \"Our.A\"\nversion = \"1.0\"\nsource = { editable = \"a\" }\n\
                  [[package]]\nname = \"six\"\nversion = \"1.16\"\nsource = { registry = \"https://a.example\" }\n";
        assert_eq!(by_uv(uv).unwrap(), [("our-a".to_owned(), "1.0".to_owned())].into());
        assert_eq!(by_npm("no JSON"), None);
    }
}
