//! Packing for npm: `npm pack` in the copy, where ranges of the workspace have become those of versions.
//!
//! No script of a package is run: what lies in the tree is what is packed.

use std::fs;
use std::path::Path;

use serde_json::{Map, Value as Json, json};

use super::archive;
use super::pack::{Bench, Made};
use super::tool::run;
use crate::package::{Ecosystem, Package, PackageId};

/// Where a package.json says what it needs.
const SECTIONS: [&str; 4] =
    ["dependencies", "optionalDependencies", "peerDependencies", "devDependencies"];

/// How ranges begin that mean something in a workspace only.
const BY_PATH: [&str; 9] =
    ["workspace:", "catalog:", "file:", "link:", "portal:", "./", "../", "/", "~/"];

/// What pnpm and yarn take from `publishConfig` instead of what stands outside of it. Npm does not.
const OVERRIDES: [&str; 17] = [
    "bin",
    "type",
    "imports",
    "main",
    "module",
    "typings",
    "types",
    "exports",
    "browser",
    "esnext",
    "es2015",
    "unpkg",
    "umd:main",
    "os",
    "cpu",
    "libc",
    "typesVersions",
];

pub(super) fn pack(bench: &Bench<'_>, package: &Package) -> Result<Made, String> {
    let folder = bench.folder_of(package);
    if !bench.options.in_place {
        write_ranges(package, &folder, bench.root)?;
    }
    let out = bench.scratch.join("npm").join(super::set::folder_of(&package.id));
    fs::create_dir_all(&out).map_err(|error| format!("{}: {error}", out.display()))?;
    let arguments =
        ["pack", "--ignore-scripts", "--offline", "--loglevel=error", "--pack-destination"];
    let mut arguments: Vec<String> = arguments.map(str::to_owned).into();
    arguments.push(out.display().to_string());
    run(bench.around, &folder, "npm", &arguments)?;
    let packed = fs::read_dir(&out).map_err(|error| error.to_string())?;
    let mut packed = packed.filter_map(Result::ok).map(|entry| entry.path());
    let path = packed.find(|path| path.extension().is_some_and(|it| it == "tgz"));
    let path = path.ok_or_else(|| "`npm pack` left nothing".to_owned())?;
    let contents = archive::read(&path, |name| name == "package.json")?;
    let text =
        contents.text("package.json").ok_or("there is no package.json in what npm packed")?;
    let manifest: Json = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let version = manifest.get("version").and_then(Json::as_str).unwrap_or_default().to_owned();
    let metadata = metadata(package, manifest, &version)?;
    Ok(Made { id: package.id.clone(), version, files: vec![path], metadata, contents })
}

/// What the names of versions stand for that a workspace of pnpm has in common.
struct Catalogs(Json);

impl Catalogs {
    fn of(root: &Path) -> Self {
        let told = fs::read_to_string(root.join("pnpm-workspace.yaml")).ok();
        Self(told.and_then(|text| tidewheel_client::parse_yaml(&text).ok()).unwrap_or_default())
    }

    /// The versions of a package in a catalog; the usual one has no name, or `default`.
    fn range(&self, catalog: &str, package: &str) -> Option<&str> {
        let named = |name: &str| self.0.get("catalogs")?.get(name);
        let catalog = match catalog {
            "" | "default" => self.0.get("catalog").or_else(|| named("default")),
            name => named(name),
        };
        catalog?.get(package)?.as_str()
    }
}

/// Writes what ranges of the workspace stand for into the copy of a manifest.
fn write_ranges(package: &Package, folder: &Path, root: &Path) -> Result<(), String> {
    let path = folder.join("package.json");
    let failed = |error: String| format!("{}: {error}", path.display());
    let text = fs::read_to_string(&path).map_err(|error| failed(error.to_string()))?;
    match with_ranges(package, &text, root).map_err(failed)? {
        Some(text) => fs::write(&path, text).map_err(|error| failed(error.to_string())),
        None => Ok(()),
    }
}

/// Whether a workspace is one of pnpm or yarn.
fn overrides(root: &Path) -> bool {
    let files = ["pnpm-workspace.yaml", "pnpm-lock.yaml", "yarn.lock"];
    let told = fs::read_to_string(root.join("package.json")).unwrap_or_default();
    let told: Json = serde_json::from_str(&told).unwrap_or_default();
    let by = told.get("packageManager").and_then(Json::as_str).unwrap_or_default();
    files.iter().any(|file| root.join(file).is_file())
        || ["pnpm@", "yarn@"].iter().any(|name| by.starts_with(name))
}

/// What stands in `publishConfig` to be published instead is put where it belongs; whether there was anything.
fn override_by_config(manifest: &mut Map<String, Json>) -> bool {
    let Some(Json::Object(config)) = manifest.get_mut("publishConfig") else { return false };
    let mut instead = Map::new();
    config.retain(|key, told| {
        let is_instead = OVERRIDES.contains(&key.as_str());
        if is_instead {
            instead.insert(key.clone(), told.take());
        }
        !is_instead
    });
    let (is_empty, is_changed) = (config.is_empty(), !instead.is_empty());
    if is_empty {
        manifest.retain(|key, _| key != "publishConfig");
    }
    manifest.extend(instead);
    is_changed
}

/// A manifest in which `workspace:` and `catalog:` ranges are what they stand for, and which says what `publishConfig` wants
/// to be said instead; `None` if that is what it says already.
pub(super) fn with_ranges(
    package: &Package,
    text: &str,
    root: &Path,
) -> Result<Option<String>, String> {
    let mut manifest: Map<String, Json> =
        serde_json::from_str(text).map_err(|error| error.to_string())?;
    let config = manifest.get("publishConfig");
    if let Some(folder) = config.and_then(|config| config.get("directory")) {
        return Err(format!(
            "`publishConfig.directory` is {folder}, and nothing is packed from another folder than the package's: make that \
             one a member of the workspace instead"
        ));
    }
    let catalogs = text.contains("\"catalog:").then(|| Catalogs::of(root));
    let mut is_changed = overrides(root) && override_by_config(&mut manifest);
    for section in SECTIONS {
        let Some(Json::Object(section)) = manifest.get_mut(section) else { continue };
        for (written, told) in section {
            let catalog = told.as_str().and_then(|it| it.strip_prefix("catalog:"));
            if let (Some(catalog), Some(catalogs)) = (catalog, &catalogs) {
                let range = catalogs.range(catalog, written);
                let range = range.ok_or_else(|| format!("`{written}` is not in that catalog"))?;
                *told = json!(range);
                is_changed = true;
                continue;
            }
            let Some(inside) = told.as_str().and_then(|it| it.strip_prefix("workspace:")) else {
                continue;
            };
            let alias = inside.rfind('@').filter(|at| *at > 0).map(|at| inside[..at].to_owned());
            let name = alias.clone().unwrap_or_else(|| written.clone());
            let id = PackageId::new(Ecosystem::Npm, &name);
            let need = package.needs.iter().find(|need| need.package == id);
            let range = need.and_then(|need| need.range.clone());
            let range = range.ok_or_else(|| format!("`{name}` is not in the workspace"))?;
            *told = match alias {
                Some(alias) => json!(format!("npm:{alias}@{range}")),
                None => json!(range),
            };
            is_changed = true;
        }
    }
    if !is_changed {
        return Ok(None);
    }
    let text = serde_json::to_string_pretty(&manifest).map_err(|error| error.to_string())?;
    Ok(Some(text + "\n"))
}

fn metadata(package: &Package, manifest: Json, version: &str) -> Result<Json, String> {
    for section in SECTIONS {
        let section = manifest.get(section).and_then(Json::as_object);
        for (name, told) in section.into_iter().flatten() {
            let told = told.as_str().unwrap_or_default();
            if BY_PATH.iter().any(|way| told.starts_with(way)) {
                return Err(format!("the packed package.json needs `{name}` by `{told}`"));
            }
        }
    }
    let config = |key: &str| manifest.get("publishConfig").and_then(|it| it.get(key)).cloned();
    let tag = config("tag").and_then(|it| it.as_str().map(str::to_owned));
    let tag = match (tag, usual_tag(version)) {
        (Some(tag), usual) if tag == "latest" && usual != "latest" => {
            return Err(format!("{} {version} is no version to be the latest", package.id));
        }
        (tag, usual) => tag.unwrap_or(usual),
    };
    let access = config("access");
    Ok(json!({ "manifest": manifest, "tag": tag, "access": access }))
}

/// The tag of a version: one before its release has that of its kind, so that nobody gets it who did not ask for it.
fn usual_tag(version: &str) -> String {
    let version = version.split('+').next().unwrap_or_default();
    let Some((_, before)) = version.split_once('-') else { return "latest".to_owned() };
    let word = before.split('.').next().unwrap_or_default();
    match word.starts_with(|letter: char| letter.is_ascii_alphabetic()) {
        true => word.to_owned(),
        false => "next".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::package::{Publicity, Version};

    #[test]
    fn catalogs_say_which_versions_will_do() {
        let text = "catalog:\n  b: ^1.0.0\ncatalogs:\n  old:\n    b: ^0.9.0\n";
        let catalogs = Catalogs(tidewheel_client::parse_yaml(text).unwrap());
        for (catalog, range) in [
            ("", Some("^1.0.0")),
            ("default", Some("^1.0.0")),
            ("old", Some("^0.9.0")),
            ("new", None),
        ] {
            assert_eq!(catalogs.range(catalog, "b"), range, "{catalog}");
        }
        assert_eq!(catalogs.range("", "c"), None);
    }

    #[test]
    fn what_is_to_be_published_instead_is_written_as_pnpm_does() {
        let text = r#"{ "name": "a", "main": "src/a.ts", "publishConfig":
            { "main": "dist/a.js", "exports": "./dist/a.js", "access": "public" }, "license": "MIT" }"#;
        let mut manifest: Map<String, Json> = serde_json::from_str(text).unwrap();
        assert!(override_by_config(&mut manifest));
        let expected = json!({ "name": "a", "main": "dist/a.js", "exports": "./dist/a.js",
            "publishConfig": { "access": "public" }, "license": "MIT" });
        assert_eq!(Json::Object(manifest.clone()), expected);
        assert!(!override_by_config(&mut manifest), "there is nothing more");
        let mut bare =
            serde_json::from_str(r#"{ "publishConfig": { "type": "module" } }"#).unwrap();
        assert!(override_by_config(&mut bare));
        assert_eq!(Json::Object(bare), json!({ "type": "module" }));
    }

    fn package() -> Package {
        Package {
            id: PackageId::new(Ecosystem::Npm, "a"),
            version: Version::Written("1.0.0".to_owned()),
            manifest: PathBuf::from("package.json"),
            publicity: Publicity::Public { registries: Vec::new() },
            needs: Vec::new(),
            provenance: None,
        }
    }

    #[test]
    fn versions_that_are_not_for_everybody_are_not_the_latest() {
        let manifest = json!({ "publishConfig": { "tag": "latest" } });
        let error = metadata(&package(), manifest.clone(), "1.0.0-beta.1").unwrap_err();
        assert_eq!(error, "npm:a 1.0.0-beta.1 is no version to be the latest");
        assert_eq!(metadata(&package(), manifest, "1.0.0").unwrap()["tag"], "latest");
    }

    #[test]
    fn a_range_that_means_something_in_a_workspace_only_is_not_published() {
        let package = package();
        let told = |range: &str| {
            metadata(&package, json!({ "dependencies": { "b": range } }), "1.0.0").err()
        };
        for range in ["workspace:^", "catalog:", "catalog:old", "file:../b", "link:../b", "../b"] {
            let error = told(range).unwrap();
            assert_eq!(error, format!("the packed package.json needs `b` by `{range}`"));
        }
        for range in ["^1.0.0", "*", "npm:@us/b@1", ">=1 <2", "https://b.example/b.tgz"] {
            assert_eq!(told(range), None, "{range}");
        }
    }

    #[test]
    fn only_a_release_is_the_latest() {
        for (version, tag) in [
            ("1.0.0", "latest"),
            ("1.0.0+a-b", "latest"),
            ("1.0.0-beta.2", "beta"),
            ("1.0.0-0", "next"),
        ] {
            assert_eq!(usual_tag(version), tag, "{version}");
        }
    }
}
