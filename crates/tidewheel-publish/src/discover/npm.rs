//! Packages of npm, pnpm and yarn: `workspaces` of package.json, or pnpm-workspace.yaml, and each member's package.json.
//!
//! Nothing is asked of the tools: they install before they answer.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value as Json};

use super::folder::{Discovered, matching};
use super::manifest::{after, listed, problem, read};
use crate::package::{Ecosystem, Need, NeedKind, Package, PackageId, Publicity, Version};
use crate::problem::Problem;

/// Where a package.json says what it needs.
const SECTIONS: [(&str, NeedKind); 4] = [
    ("dependencies", NeedKind::Normal),
    ("optionalDependencies", NeedKind::Optional),
    ("peerDependencies", NeedKind::Peer),
    ("devDependencies", NeedKind::Development),
];

pub(super) fn discover(root: &Path) -> Discovered {
    let mut found = Discovered::default();
    let folders = match folders(root) {
        Ok(folders) => folders,
        Err(problem) => {
            found.problems.push(*problem);
            return found;
        }
    };
    let manifests = folders.into_iter().map(|folder| folder.join("package.json"));
    let mut members = Vec::new();
    for manifest in manifests.filter(|manifest| manifest.is_file()) {
        match member(&manifest) {
            Ok(Some(member)) => members.push((manifest, member)),
            Ok(None) => {}
            Err(problem) => found.problems.push(*problem),
        }
    }
    let versions: Vec<(String, String)> = members
        .iter()
        .filter_map(|(_, member)| Some((text(member, "name")?, text(member, "version")?)))
        .collect();
    for (manifest, member) in members {
        match package(manifest, &member, &versions) {
            Ok(package) => found.packages.push(package),
            Err(problem) => found.problems.push(*problem),
        }
    }
    found
}

/// The folders of a workspace, its own among them.
fn folders(root: &Path) -> Result<Vec<PathBuf>, Box<Problem>> {
    let (own, pnpm) = (root.join("package.json"), root.join("pnpm-workspace.yaml"));
    let (file, patterns) = if pnpm.is_file() {
        let told = tidewheel_client::parse_yaml(&read(&pnpm)?);
        let told = told.map_err(|error| problem(&pnpm, None, error))?;
        (pnpm, told.get("packages").cloned().unwrap_or_default())
    } else {
        let told = object(&own)?.remove("workspaces").unwrap_or_default();
        // Yarn has them one level below, beside `nohoist`.
        let told = told.get("packages").cloned().unwrap_or(told);
        (own, told)
    };
    let patterns = match patterns {
        Json::Null => Vec::new(),
        Json::Array(patterns) => patterns,
        _ => return Err(problem(&file, None, "the packages of a workspace are a list".to_owned())),
    };
    let patterns: Vec<&str> = patterns.iter().filter_map(Json::as_str).collect();
    let (excluded, included): (Vec<&str>, Vec<&str>) =
        patterns.into_iter().partition(|pattern| pattern.starts_with('!'));
    let included: Vec<String> = included.into_iter().map(str::to_owned).collect();
    let excluded: Vec<String> = excluded.iter().map(|pattern| pattern[1..].to_owned()).collect();
    let folders = matching(root, &included, &excluded);
    let folders = folders.map_err(|error| problem(&file, None, error))?;
    let mut all = vec![root.to_owned()];
    all.extend(folders.into_iter().filter(|folder| folder != root));
    Ok(all)
}

fn object(path: &Path) -> Result<Map<String, Json>, Box<Problem>> {
    match serde_json::from_str(&read(path)?) {
        Ok(Json::Object(object)) => Ok(object),
        Ok(_) => Err(problem(path, None, "it is no object".to_owned())),
        Err(error) => Err(problem(path, Some(error.line()), format!("it is no JSON: {error}"))),
    }
}

/// A package.json with a name; without one it only holds a workspace together.
fn member(path: &Path) -> Result<Option<Map<String, Json>>, Box<Problem>> {
    let member = object(path)?;
    Ok(Some(member).filter(|member| member.contains_key("name")))
}

fn text(member: &Map<String, Json>, key: &str) -> Option<String> {
    member.get(key).and_then(Json::as_str).map(str::to_owned)
}

fn package(
    manifest: PathBuf,
    member: &Map<String, Json>,
    versions: &[(String, String)],
) -> Result<Package, Box<Problem>> {
    let is_private = member.get("private") == Some(&Json::Bool(true));
    let name = text(member, "name");
    let name = name.ok_or_else(|| problem(&manifest, None, "`name` is no text".to_owned()))?;
    let version = match text(member, "version") {
        Some(version) => version,
        // Nobody asks for it.
        None if is_private => "0.0.0".to_owned(),
        None => return Err(problem(&manifest, None, format!("`{name}` has no version"))),
    };
    let registry = member.get("publishConfig").and_then(|config| config.get("registry"));
    let registries = registry.and_then(Json::as_str).map(str::to_owned).into_iter().collect();
    let publicity = match is_private {
        true => Publicity::Private { by: "\"private\": true" },
        false => Publicity::Public { registries },
    };
    let mut needs = Vec::new();
    for (section, kind) in SECTIONS {
        let Some(Json::Object(section)) = member.get(section) else { continue };
        for (written, range) in section {
            needs.extend(need(written, range.as_str().unwrap_or_default(), kind, versions));
        }
    }
    let told = member.get("tidewheel").and_then(|it| it.get("publishAfter"));
    needs.extend(after(listed(told)));
    let id = PackageId::new(Ecosystem::Npm, &name);
    let provenance = member.get("publishConfig").and_then(|config| config.get("provenance"));
    let (version, provenance) = (Version::Written(version), provenance.and_then(Json::as_bool));
    Ok(Package { id, version, manifest, publicity, needs, provenance })
}

/// What is needed of the workspace, with the range that will be published.
fn need(written: &str, told: &str, kind: NeedKind, versions: &[(String, String)]) -> Option<Need> {
    let version_of = |name: &str| {
        versions.iter().find(|(known, _)| known == name).map(|(_, version)| version.as_str())
    };
    let (name, range) = if let Some(inside) = told.strip_prefix("workspace:") {
        let (name, range) = aliased(inside).unwrap_or((written, inside));
        (name, Some(in_workspace(range, version_of(name)?)))
    } else if ["file:", "link:", "portal:"].iter().any(|way| told.starts_with(way)) {
        // A path means nothing to those who install it.
        (written, None)
    } else {
        let (name, range) = told.strip_prefix("npm:").and_then(aliased).unwrap_or((written, told));
        (name, Some(range.to_owned()))
    };
    version_of(name)?;
    Some(Need { package: PackageId::new(Ecosystem::Npm, name), kind, range, line: None })
}

/// What becomes of a range of the workspace when it is packed.
fn in_workspace(range: &str, version: &str) -> String {
    match range {
        "*" | "" => version.to_owned(),
        "^" | "~" => format!("{range}{version}"),
        range => range.to_owned(),
    }
}

/// `name@range`, where the name may have a scope.
fn aliased(text: &str) -> Option<(&str, &str)> {
    let at = text.rfind('@').filter(|at| *at > 0)?;
    Some((&text[..at], &text[at + 1..]))
}
