//! Distributions of Python: members of a uv workspace, and what `[project]` of each pyproject.toml says.
//!
//! A version that only the build tool knows is left to it.

use std::path::{Path, PathBuf};

use toml::{Table, Value};

use super::folder::{Discovered, matching};
use super::manifest::{after, line_of, problem, read};
use crate::package::{Ecosystem, Need, NeedKind, Package, PackageId, Publicity, Version};
use crate::problem::Problem;

/// Registries refuse what says so.
const NOT_TO_BE_UPLOADED: &str = "Private :: Do Not Upload";

pub(super) fn discover(root: &Path) -> Discovered {
    let mut found = Discovered::default();
    let own = root.join("pyproject.toml");
    let table = match table(&own) {
        Ok(table) => table,
        Err(problem) => {
            found.problems.push(*problem);
            return found;
        }
    };
    let workspace = at(&table, &["tool", "uv", "workspace"]);
    let patterns = |key: &str| texts(workspace.and_then(|workspace| workspace.get(key)));
    let folders = match matching(root, &patterns("members"), &patterns("exclude")) {
        Ok(folders) => folders,
        Err(error) => {
            found.problems.push(*problem(&own, None, error));
            return found;
        }
    };
    let manifests = folders.iter().map(|folder| folder.join("pyproject.toml"));
    let manifests = manifests.filter(|manifest| *manifest != own && manifest.is_file());
    for manifest in std::iter::once(own.clone()).chain(manifests) {
        match package(&manifest) {
            Ok(package) => found.packages.extend(package),
            Err(problem) => found.problems.push(*problem),
        }
    }
    found
}

fn table(path: &Path) -> Result<Table, Box<Problem>> {
    let text = read(path)?;
    text.parse().map_err(|error: toml::de::Error| {
        let line = error.span().map(|span| line_of(&text, span.start));
        problem(path, line, error.message().to_owned())
    })
}

fn at<'a>(table: &'a Table, keys: &[&str]) -> Option<&'a Value> {
    let (first, rest) = keys.split_first()?;
    rest.iter().try_fold(table.get(*first)?, |value, key| value.get(key))
}

fn texts(list: Option<&Value>) -> Vec<String> {
    let list = list.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    list.iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// What a manifest publishes; without `[project]` it only configures tools.
fn package(manifest: &Path) -> Result<Option<Package>, Box<Problem>> {
    let table = table(manifest)?;
    let Some(project) = at(&table, &["project"]) else { return Ok(None) };
    let name = project.get("name").and_then(Value::as_str);
    let name = name.ok_or_else(|| problem(manifest, None, "[project] has no name".to_owned()))?;
    let is_private = texts(project.get("classifiers")).iter().any(|it| it == NOT_TO_BE_UPLOADED);
    let publicity = match is_private {
        true => Publicity::Private { by: NOT_TO_BE_UPLOADED },
        // uv has a switch of its own for what is no package.
        false if at(&table, &["tool", "uv", "package"]) == Some(&Value::Boolean(false)) => {
            Publicity::Private { by: "tool.uv.package = false" }
        }
        false => Publicity::Public { registries: Vec::new() },
    };
    let told = texts(at(&table, &["tool", "tidewheel", "publish-after"]));
    let mut needs = needs(project);
    needs.extend(after(told.iter().map(String::as_str)));
    Ok(Some(Package {
        id: PackageId::new(Ecosystem::Python, name),
        version: version(manifest, &table, project)?,
        manifest: manifest.to_owned(),
        publicity,
        needs,
        provenance: at(&table, &["tool", "tidewheel", "provenance"]).and_then(Value::as_bool),
    }))
}

fn version(manifest: &Path, table: &Table, project: &Value) -> Result<Version, Box<Problem>> {
    if let Some(version) = project.get("version").and_then(Value::as_str) {
        return Ok(Version::Written(version.to_owned()));
    }
    if !texts(project.get("dynamic")).iter().any(|key| key == "version") {
        let what = "[project] has no version, and does not say that it is dynamic".to_owned();
        return Err(problem(manifest, None, what));
    }
    // Maturin takes that of the crate.
    let backend = at(table, &["build-system", "build-backend"]).and_then(Value::as_str);
    let is_crate = backend.is_some_and(|backend| backend.starts_with("maturin"));
    let crate_version = is_crate.then(|| version_of_crate(manifest, table)).flatten();
    Ok(crate_version.map_or(Version::Built, Version::Written))
}

/// The version that the crate of a maturin project has, unless it inherits it.
fn version_of_crate(manifest: &Path, table: &Table) -> Option<String> {
    let told = at(table, &["tool", "maturin", "manifest-path"]).and_then(Value::as_str);
    let cargo: PathBuf = manifest.parent()?.join(told.unwrap_or("Cargo.toml"));
    let cargo: Table = read(&cargo).ok()?.parse().ok()?;
    at(&cargo, &["package", "version"])?.as_str().map(as_python_version)
}

/// A version of cargo as Python writes it, as far as both mean the same: `1.0.0-rc.1` is `1.0.0rc1`.
fn as_python_version(version: &str) -> String {
    let (number, rest) = version.split_once('-').unwrap_or((version, ""));
    let before = rest.replace("alpha", "a").replace("beta", "b").replace(['.', '-'], "");
    format!("{number}{before}")
}

/// What a project needs, of whatever is there; groups of dependencies are nobody's business but its own.
fn needs(project: &Value) -> Vec<Need> {
    let mut needs = Vec::new();
    let normal = texts(project.get("dependencies"));
    needs.extend(normal.iter().filter_map(|told| need(told, NeedKind::Normal)));
    let extras = project.get("optional-dependencies").and_then(Value::as_table);
    for (_, extra) in extras.into_iter().flatten() {
        needs.extend(texts(Some(extra)).iter().filter_map(|told| need(told, NeedKind::Optional)));
    }
    needs
}

/// A requirement: a name, extras in brackets, versions, and after `;` when it counts.
fn need(told: &str, kind: NeedKind) -> Option<Need> {
    let told = told.trim();
    let is_name = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    let end = told.find(|letter| !is_name(letter)).unwrap_or(told.len());
    let (name, rest) = told.split_at(end);
    if name.is_empty() {
        return None;
    }
    let rest = rest.split(';').next().unwrap_or_default().trim();
    let rest = match rest.strip_prefix('[') {
        Some(extras) => extras.split_once(']').map_or("", |(_, after)| after).trim(),
        None => rest,
    };
    let range = rest.trim_start_matches('(').trim_end_matches(')').trim();
    // Any version will do, which registries take; a path or an address they do not.
    let range = Some(range.to_owned()).filter(|range| !range.starts_with('@'));
    Some(Need { package: PackageId::new(Ecosystem::Python, name), kind, range, line: None })
}
