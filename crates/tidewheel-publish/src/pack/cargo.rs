//! Packing crates: `cargo package`, and what a registry is told of each, from the manifest that was packed.
//!
//! Which crates there are is known from `cargo metadata` already.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use cargo_metadata::semver::VersionReq;
use serde_json::{Map, Value as Json, json};
use toml::{Table, Value};

use super::archive::{self, Contents};
use super::pack::{Bench, Made};
use super::tool::run;
use crate::package::{Package, PackageId};

/// The registry that is meant where none is named.
pub(super) const USUAL: &str = "crates-io";

/// Packs crates that go to one registry, all at once: cargo takes them for published while it packs those that need them.
pub(super) fn pack(
    bench: &Bench<'_>,
    registry: &str,
    packages: &[&Package],
) -> Result<Vec<Made>, String> {
    let target = bench.scratch.join("cargo");
    let mut arguments: Vec<String> =
        ["package", "--color", "never", "--target-dir"].map(str::to_owned).into();
    arguments.push(target.display().to_string());
    arguments.extend(bench.root.join("Cargo.lock").is_file().then(|| "--locked".to_owned()));
    if !bench.options.verify {
        arguments.push("--no-verify".to_owned());
    }
    if bench.options.offline {
        arguments.push("--offline".to_owned());
    }
    if !bench.is_committed {
        arguments.push("--allow-dirty".to_owned());
    }
    if registry != USUAL {
        arguments.extend(["--registry".to_owned(), registry.to_owned()]);
    }
    // Settings above the workspace are not above its copy.
    for above in bench.around.nearest(".cargo/config.toml") {
        if !above.starts_with(&bench.around.root) {
            arguments.extend(["--config".to_owned(), above.display().to_string()]);
        }
    }
    for package in packages {
        arguments.extend(["-p".to_owned(), format!("{}@{}", package.id.name(), package.version)]);
    }
    let cargo = bench.around.variable("CARGO").unwrap_or("cargo");
    run(bench.around, bench.root, cargo, &arguments)?;
    // In a rehearsal all crates go to one registry, which is no usual one, wherever they would go else; what others have
    // published stays where it is.
    let is_rehearsal = bench.around.stage.is_some();
    let beside = bench.crates().filter(|_| is_rehearsal).collect();
    let is_usual = registry == USUAL && !is_rehearsal;
    let home = Home { index: bench.index_of(registry), is_usual, beside };
    packages.iter().map(|package| made(&target, package, &home)).collect()
}

/// The registry that crates go to.
struct Home<'a> {
    index: &'a str,
    /// It is the one that is meant where none is named.
    is_usual: bool,
    /// Crates that are there whatever registry is named for them.
    beside: BTreeSet<&'a str>,
}

impl Home<'_> {
    /// Whether a crate that is needed from a registry is in this one.
    fn has(&self, name: &str, url: &str) -> bool {
        let bare = |url: &str| url.trim_start_matches("sparse+").trim_end_matches('/').to_owned();
        self.beside.contains(name) || bare(url) == bare(self.index)
    }
}

fn made(target: &Path, package: &Package, home: &Home<'_>) -> Result<Made, String> {
    let version = package.version.to_string();
    let file = format!("{}-{version}.crate", package.id.name());
    let path = target.join("package").join(&file);
    let wanted = |name: &str| matches!(name, "Cargo.toml" | "Cargo.lock");
    let first = archive::read(&path, wanted)?;
    let text = first.text("Cargo.toml").ok_or("there is no Cargo.toml in what cargo packed")?;
    let manifest: Table =
        text.parse().map_err(|error| format!("the packed Cargo.toml: {error}"))?;
    let readme = manifest_text(&manifest, "readme");
    let contents = match &readme {
        Some(readme) => archive::read(&path, |name| name == readme)?,
        None => Contents::default(),
    };
    let readme = readme.and_then(|name| Some((contents.text(&name)?.to_owned(), name)));
    let needed =
        dependencies(&manifest, home, &sources(first.text("Cargo.lock").unwrap_or_default()))?;
    let metadata = metadata(&package.id, &manifest, readme, &needed)?;
    Ok(Made { id: package.id.clone(), version, files: vec![path], metadata, contents: first })
}

fn manifest_text(manifest: &Table, key: &str) -> Option<String> {
    manifest.get("package")?.get(key)?.as_str().map(str::to_owned)
}

/// From which registry each crate of a lock file comes, by its name.
fn sources(lock: &str) -> BTreeMap<String, String> {
    let lock: Table = lock.parse().unwrap_or_default();
    let packages = lock.get("package").and_then(Value::as_array);
    let source = |package: &Value| {
        let source = package.get("source")?.as_str()?;
        let url = source.strip_prefix("registry+").unwrap_or(source);
        Some((package.get("name")?.as_str()?.to_owned(), url.to_owned()))
    };
    packages.into_iter().flatten().filter_map(source).collect()
}

/// What a registry is told of a crate.
fn metadata(
    id: &PackageId,
    manifest: &Table,
    readme: Option<(String, String)>,
    needed: &[Json],
) -> Result<Json, String> {
    let package = manifest.get("package").ok_or("the packed Cargo.toml has no [package]")?;
    let own = |key: &str| package.get(key).and_then(|it| serde_json::to_value(it).ok());
    let list = |key: &str| own(key).unwrap_or_else(|| json!([]));
    let (readme, readme_file) = readme.unzip();
    let features = manifest.get("features").and_then(|it| serde_json::to_value(it).ok());
    Ok(json!({
        "name": id.name(),
        "vers": own("version"),
        "deps": needed,
        "features": features.unwrap_or_else(|| json!({})),
        "authors": list("authors"),
        "description": own("description"),
        "documentation": own("documentation"),
        "homepage": own("homepage"),
        "readme": readme,
        "readme_file": readme_file,
        "keywords": list("keywords"),
        "categories": list("categories"),
        "license": own("license"),
        "license_file": own("license-file"),
        "repository": own("repository"),
        "badges": manifest.get("badges").and_then(|it| serde_json::to_value(it).ok()).unwrap_or_else(|| json!({})),
        "links": own("links"),
        "rust_version": own("rust-version"),
    }))
}

/// What a crate needs, for every target.
fn dependencies(
    manifest: &Table,
    home: &Home<'_>,
    sources: &BTreeMap<String, String>,
) -> Result<Vec<Json>, String> {
    let mut found = Vec::new();
    let mut read = |table: &Table, target: Option<&str>| -> Result<(), String> {
        for (section, kind) in [
            ("dependencies", "normal"),
            ("dev-dependencies", "dev"),
            ("build-dependencies", "build"),
        ] {
            let section = table.get(section).and_then(Value::as_table);
            for (written, told) in section.into_iter().flatten() {
                let mut needed = dependency(written, told, home, sources)?;
                needed.insert("kind".to_owned(), json!(kind));
                needed.insert("target".to_owned(), json!(target));
                found.push(Json::Object(needed));
            }
        }
        Ok(())
    };
    read(manifest, None)?;
    for (target, table) in manifest.get("target").and_then(Value::as_table).into_iter().flatten() {
        read(table.as_table().unwrap_or(&Table::new()), Some(target))?;
    }
    Ok(found)
}

/// One need. Where it comes from is said unless it is the registry that its crate goes to. A manifest that names none
/// means the usual one, which the lock file knows by its address.
fn dependency(
    written: &str,
    told: &Value,
    home: &Home<'_>,
    sources: &BTreeMap<String, String>,
) -> Result<Map<String, Json>, String> {
    let own = |key: &str| told.get(key).and_then(Value::as_str);
    let is = |key: &str, usual: bool| told.get(key).and_then(Value::as_bool).unwrap_or(usual);
    for way in ["path", "git", "workspace"] {
        if told.get(way).is_some() {
            return Err(format!("the packed Cargo.toml needs `{written}` by its {way}"));
        }
    }
    let version = told.as_str().or_else(|| own("version")).unwrap_or("*");
    let version = VersionReq::parse(version).map_err(|error| format!("`{written}`: {error}"))?;
    let name = own("package").unwrap_or(written);
    let features = told.get("features").and_then(|it| serde_json::to_value(it).ok());
    let mut dependency = Map::new();
    dependency.insert("name".to_owned(), json!(name));
    dependency.insert("version_req".to_owned(), json!(version.to_string()));
    dependency.insert("features".to_owned(), features.unwrap_or_else(|| json!([])));
    dependency.insert("optional".to_owned(), json!(is("optional", false)));
    dependency.insert("default_features".to_owned(), json!(is("default-features", true)));
    let source = own("registry-index").map(str::to_owned);
    let source = source.or_else(|| sources.get(name).filter(|_| !home.is_usual).cloned());
    dependency.insert("registry".to_owned(), json!(source.filter(|it| !home.has(name, it))));
    dependency
        .insert("explicit_name_in_toml".to_owned(), json!((name != written).then_some(written)));
    Ok(dependency)
}

/// The names of registries that crates go to, with the crates.
pub(super) fn by_registry<'a>(
    packages: impl IntoIterator<Item = (&'a Package, &'a str)>,
) -> BTreeMap<&'a str, Vec<&'a Package>> {
    let mut groups: BTreeMap<&str, Vec<&Package>> = BTreeMap::new();
    let mut seen = BTreeSet::new();
    for (package, registry) in packages {
        if seen.insert(&package.id) {
            groups.entry(registry).or_default().push(package);
        }
    }
    groups
}
