//! Files that a package.json names, held against those that were packed: what has to be built first is easily forgotten.
//!
//! What those files are is not looked at.

use serde_json::Value as Json;

use super::archive::InnerFile;

/// Where a package.json names a file as a program would look for it, with or without its end.
const LOOSE: [&str; 4] = ["main", "module", "types", "typings"];
/// What such a name may stand for.
const ENDS: [&str; 9] =
    ["", ".js", ".cjs", ".mjs", ".json", ".node", ".d.ts", "/index.js", "/index.d.ts"];
/// Conditions of `exports` that users of a package have. Others are somebody's own, as those that lead to what is not built
/// are in some workspaces.
const CONDITIONS: [&str; 11] = [
    "import",
    "require",
    "default",
    "node",
    "types",
    "module",
    "browser",
    "worker",
    "deno",
    "bun",
    "production",
];

/// A file that is named and was not packed.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Missing {
    /// Where it is named.
    pub key: &'static str,
    /// What is named, as it is written.
    pub path: String,
}

/// The first file that a package.json names and that was not packed with it.
pub(super) fn missing(manifest: &Json, files: &[InnerFile]) -> Option<Missing> {
    let names: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
    let named = |key: &'static str, path: &str| Some(Missing { key, path: path.to_owned() });
    for key in LOOSE {
        let path = manifest.get(key).and_then(Json::as_str);
        if let Some(path) = path.filter(|path| !is_loose_there(&names, path)) {
            return named(key, path);
        }
    }
    if let Some(path) = manifest.get("exports").and_then(|told| unexported(told, &names)) {
        return named("exports", path);
    }
    let programs: Vec<&Json> = match manifest.get("bin") {
        Some(Json::Object(programs)) => programs.values().collect(),
        program => program.into_iter().collect(),
    };
    let mut programs = programs.into_iter().filter_map(Json::as_str);
    programs.find(|path| !names.contains(&bare(path))).and_then(|path| named("bin", path))
}

fn bare(path: &str) -> &str {
    path.trim_start_matches("./").trim_end_matches('/')
}

fn is_loose_there(names: &[&str], path: &str) -> bool {
    let path = if bare(path) == "." { "" } else { bare(path) };
    ENDS.iter().any(|end| names.contains(&format!("{path}{end}").trim_start_matches('/')))
}

/// A file that `exports` leads to and that is not there.
fn unexported<'a>(told: &'a Json, names: &[&str]) -> Option<&'a str> {
    match told {
        Json::String(path) => (!is_exported(path, names)).then_some(path),
        // The first of a list that can be had is taken.
        Json::Array(all) => {
            let mut wrong = all.iter().map(|told| unexported(told, names));
            let first = wrong.next()??;
            wrong.all(|it| it.is_some()).then_some(first)
        }
        Json::Object(all) => {
            let is_known = |key: &str| {
                let condition = key.split('@').next().unwrap_or_default();
                key.starts_with('.') || CONDITIONS.contains(&condition)
            };
            let mut known = all.iter().filter(|(key, _)| is_known(key));
            known.find_map(|(_, told)| unexported(told, names))
        }
        _ => None,
    }
}

/// Whether there is what a path leads to, which may stand for many with a star, or for a folder.
fn is_exported(path: &str, names: &[&str]) -> bool {
    let inside = path.trim_start_matches("./");
    match inside.split_once('*') {
        Some((before, after)) => names.iter().any(|name| {
            let is_between = name.len() > before.len() + after.len();
            is_between
                && name.starts_with(before)
                && name.ends_with(after.rsplit('*').next().unwrap_or(after))
        }),
        None if inside.ends_with('/') => names.iter().any(|name| name.starts_with(inside)),
        // What is of another package is that one's business.
        None => !path.starts_with("./") || names.contains(&inside),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn told(manifest: &Json) -> Option<(&'static str, String)> {
        let names = ["package.json", "index.js", "dist/a.js", "dist/a.d.ts", "lib/index.js", "cli"];
        let file = |name: &str| InnerFile { name: name.to_owned(), bytes: 1 };
        missing(manifest, &names.map(file)).map(|it| (it.key, it.path))
    }

    #[test]
    fn what_is_named_in_any_of_its_ways_is_found() {
        for manifest in [
            json!({}),
            json!({ "main": "dist/a.js", "types": "./dist/a.d.ts", "bin": "./cli" }),
            json!({ "main": "lib", "module": "./dist/a", "typings": "dist/a", "bin": { "c": "cli" } }),
            json!({ "main": "." }),
            json!({ "exports": "./dist/a.js" }),
            json!({ "exports": { ".": { "types": "./dist/a.d.ts", "default": "./index.js" }, "./x": null } }),
            json!({ "exports": { "./*": "./dist/*.js", "./all/": "./lib/", "./y": ["./none.js", "./index.js"] } }),
            // Only whoever has the workspace has this condition.
            json!({ "exports": { ".": { "@us/source": "./src/a.ts", "import": "./dist/a.js" } } }),
        ] {
            assert_eq!(told(&manifest), None, "{manifest}");
        }
    }

    #[test]
    fn what_is_named_and_not_there_is_told_with_its_key() {
        for (manifest, key, path) in [
            (json!({ "main": "dist/b.js" }), "main", "dist/b.js"),
            (json!({ "types": "dist/b.d.ts" }), "types", "dist/b.d.ts"),
            (json!({ "module": "src" }), "module", "src"),
            (json!({ "bin": { "c": "bin/c.js" } }), "bin", "bin/c.js"),
            (json!({ "exports": "./dist/b.js" }), "exports", "./dist/b.js"),
            (json!({ "exports": { ".": { "import": "./b.mjs" } } }), "exports", "./b.mjs"),
            (json!({ "exports": { "./*": "./esm/*.js" } }), "exports", "./esm/*.js"),
            (json!({ "exports": { ".": ["./b.js", "./c.js"] } }), "exports", "./b.js"),
        ] {
            assert_eq!(told(&manifest), Some((key, path.to_owned())), "{manifest}");
        }
    }
}
