//! Packing for Python: a source distribution and a wheel, by uv, by `build`, or by the project's own backend.
//!
//! What a registry is told of a file is what is in it.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value as Json, json};

use super::archive::{self, Contents};
use super::pack::{Bench, Made};
use super::tool::run;
use crate::package::{Ecosystem, Package, PackageId};

/// Asks a backend itself, which must be there with all it needs: nothing is installed.
const BACKEND: &str = "\
import importlib, os, sys
try:
    import tomllib
except ImportError:
    from setuptools._vendor import tomli as tomllib
with open('pyproject.toml', 'rb') as file:
    system = tomllib.load(file).get('build-system', {})
for path in system.get('backend-path', []):
    sys.path.insert(0, os.path.abspath(path))
name = system.get('build-backend', 'setuptools.build_meta:__legacy__')
module, _, inside = name.partition(':')
backend = importlib.import_module(module)
for part in filter(None, inside.split('.')):
    backend = getattr(backend, part)
backend.build_sdist(sys.argv[1])
backend.build_wheel(sys.argv[1])
";

pub(super) fn pack(bench: &Bench<'_>, package: &Package) -> Result<Made, String> {
    let folder = bench.folder_of(package);
    let out = bench.scratch.join("python").join(super::set::folder_of(&package.id));
    fs::create_dir_all(&out).map_err(|error| format!("{}: {error}", out.display()))?;
    match &bench.options.handed.of(&package.id)[..] {
        [] => build(bench, &folder, &out)?,
        handed => take(handed, &out)?,
    }
    let mut files: Vec<PathBuf> = fs::read_dir(&out)
        .map_err(|error| error.to_string())?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| kind_of(path).is_some())
        .collect();
    files.sort();
    if files.is_empty() {
        return Err("its backend left neither a wheel nor a source distribution".to_owned());
    }
    let mut metadata = Map::new();
    let mut all = Contents::default();
    let mut version = None;
    for path in &files {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let (text, contents) = core_metadata(path)?;
        let fields = fields(&text, path);
        let said = fields.get("version").and_then(Json::as_str).map(str::to_owned);
        let named = fields.get("name").and_then(Json::as_str).unwrap_or_default();
        if PackageId::new(Ecosystem::Python, named) != package.id {
            return Err(format!("{name} says that it is of `{named}`"));
        }
        if let Some(need) = by_path(&fields) {
            return Err(format!("{name} needs `{need}`, which is a path of this machine"));
        }
        if version.get_or_insert_with(|| said.clone()) != &said {
            return Err(format!("{name} has another version than the other files"));
        }
        all.files.extend(contents.files);
        metadata.insert(name, Json::Object(fields));
    }
    let version = version.flatten().ok_or("its files do not say their version")?;
    Ok(Made {
        id: package.id.clone(),
        version,
        files,
        metadata: Json::Object(metadata),
        contents: all,
    })
}

/// Takes files that were built elsewhere as they are.
fn take(files: &[&Path], out: &Path) -> Result<(), String> {
    files.iter().try_for_each(|path| {
        let copied = fs::copy(path, out.join(path.file_name().unwrap_or_default()));
        copied.map(drop).map_err(|error| format!("{}: {error}", path.display()))
    })
}

fn build(bench: &Bench<'_>, folder: &Path, out: &Path) -> Result<(), String> {
    let out = out.display().to_string();
    let texts = |texts: &[&str]| texts.iter().map(|it| (*it).to_owned()).collect::<Vec<String>>();
    let is_there = |program: &str, arguments: &[&str]| {
        run(bench.around, folder, program, &texts(arguments)).is_ok()
    };
    if is_there("uv", &["--version"]) {
        return run(bench.around, folder, "uv", &texts(&["build", "--out-dir", &out, "."]))
            .map(drop);
    }
    if is_there("python3", &["-m", "build", "--version"]) {
        let arguments = texts(&["-m", "build", "--outdir", &out, "."]);
        return run(bench.around, folder, "python3", &arguments).map(drop);
    }
    run(bench.around, folder, "python3", &texts(&["-c", BACKEND, &out])).map(drop)
}

/// Whether it is a wheel or a source distribution.
fn kind_of(path: &Path) -> Option<&'static str> {
    let name = path.file_name()?.to_str()?;
    match name {
        _ if name.ends_with(".whl") => Some("bdist_wheel"),
        _ if name.ends_with(".tar.gz") => Some("sdist"),
        _ => None,
    }
}

/// What a file says of itself, and what is in it.
fn core_metadata(path: &Path) -> Result<(String, Contents), String> {
    let nothing = || format!("{} does not say what it is", path.display());
    if kind_of(path) == Some("sdist") {
        let contents = archive::read(path, |name| name == "PKG-INFO")?;
        return Ok((contents.text("PKG-INFO").ok_or_else(nothing)?.to_owned(), contents));
    }
    let is_metadata = |name: &str| {
        name.split_once('/')
            .is_some_and(|(folder, file)| folder.ends_with(".dist-info") && file == "METADATA")
    };
    let contents = archive::read_zip(path, is_metadata)?;
    let text = contents.texts.first().map(|(_, text)| text.clone());
    Ok((text.ok_or_else(nothing)?, contents))
}

/// The fields of a form, from headers like those of mail.
fn fields(text: &str, path: &Path) -> Map<String, Json> {
    let (head, description) = text.split_once("\n\n").unwrap_or((text, ""));
    let mut fields: Map<String, Json> = Map::new();
    let mut add = |name: &str, value: &str| {
        let list = fields.entry(name).or_insert_with(|| json!([]));
        if let Json::Array(list) = list {
            list.push(json!(value));
        }
    };
    let mut open: Option<(String, String)> = None;
    for line in head.lines() {
        if line.starts_with([' ', '\t']) {
            open.iter_mut().for_each(|(_, value)| {
                value.push('\n');
                value.push_str(line.trim());
            });
            continue;
        }
        if let Some((name, value)) = open.take() {
            add(&name, &value);
        }
        open =
            line.split_once(':').map(|(name, value)| (field_name(name), value.trim().to_owned()));
    }
    if let Some((name, value)) = open {
        add(&name, &value);
    }
    if !description.trim().is_empty() {
        add("description", description);
    }
    let kind = kind_of(path).unwrap_or("sdist");
    add("filetype", kind);
    add("pyversion", &python_tag(path));
    // What there can be one of is one.
    for (name, value) in &mut fields {
        if let Json::Array(list) = value
            && list.len() == 1
            && !["classifiers", "requires_dist", "project_urls"].contains(&name.as_str())
        {
            *value = list.remove(0);
        }
    }
    fields
}

/// What is needed by where it lies on the machine that built it.
fn by_path(fields: &Map<String, Json>) -> Option<&str> {
    let needs = fields.get("requires_dist").and_then(Json::as_array);
    let mut needs = needs.into_iter().flatten().filter_map(Json::as_str);
    needs.find(|need| {
        let from = need.split(';').next().and_then(|need| need.split_once('@'));
        from.is_some_and(|(_, from)| {
            let from = from.trim_start();
            from.starts_with("file:") || from.starts_with(['.', '/'])
        })
    })
}

fn field_name(header: &str) -> String {
    match header {
        "Classifier" => "classifiers".to_owned(),
        "Project-URL" => "project_urls".to_owned(),
        other => other.to_lowercase().replace('-', "_"),
    }
}

/// For which Python a file is: `py3` of `name-1.0-py3-none-any.whl`.
fn python_tag(path: &Path) -> String {
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    let parts: Vec<&str> = name.split('-').collect();
    match kind_of(path) {
        Some("bdist_wheel") if parts.len() >= 5 => parts[parts.len() - 3].to_owned(),
        _ => "source".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_on_the_machine_that_built_it_is_no_need_that_others_can_meet() {
        let needs = |needs: &[&str]| {
            let list = needs.iter().map(|it| json!(it)).collect();
            Map::from_iter([("requires_dist".to_owned(), Json::Array(list))])
        };
        let by = "our-a @ file:///home/me/ws/a ; os_name == 'nt'";
        assert_eq!(by_path(&needs(&["b>=1", by])), Some(by));
        assert_eq!(by_path(&needs(&["b[x]>=1", "c @ https://c.example/c.whl"])), None);
    }

    #[test]
    fn headers_become_the_fields_of_a_form() {
        let text = "Metadata-Version: 2.1\nName: A\nVersion: 1.0\nClassifier: B\nLicense: first\n  second\n\nlong\n\ntext\n";
        let fields = fields(text, Path::new("a-1.0-cp39-abi3-any.whl"));
        assert_eq!(
            Json::Object(fields),
            json!({ "metadata_version": "2.1", "name": "A", "version": "1.0", "classifiers": ["B"],
                    "license": "first\nsecond", "description": "long\n\ntext\n", "filetype": "bdist_wheel",
                    "pyversion": "cp39" })
        );
        assert_eq!(python_tag(Path::new("a-1.0.tar.gz")), "source");
    }
}
