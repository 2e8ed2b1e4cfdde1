//! What packed packages need, as whoever gets them from a registry will read it.
//!
//! What manifests say before they are packed is in [`crate::discover`].

use std::collections::BTreeSet;

use serde_json::Value as Json;

use super::set::PackedPackage;
use crate::package::{Ecosystem, PackageId};

impl PackedPackage {
    /// What it needs to be used, each with the versions that will do. What it takes to work on it is left out.
    #[must_use]
    pub fn needs(&self, ecosystem: Ecosystem) -> BTreeSet<(PackageId, String)> {
        match ecosystem {
            Ecosystem::Cargo => list(&self.metadata, "deps").filter_map(of_crate).collect(),
            Ecosystem::Npm => of_npm(&self.metadata).collect(),
            Ecosystem::Python => {
                // Each file says it.
                let files = self.metadata.as_object().into_iter().flat_map(|it| it.values());
                let said = files.flat_map(|file| list(file, "requires_dist"));
                said.filter_map(|it| of_python(it.as_str()?)).collect()
            }
        }
    }
}

fn list<'a>(of: &'a Json, key: &str) -> impl Iterator<Item = &'a Json> {
    of.get(key).and_then(Json::as_array).into_iter().flatten()
}

fn of_crate(need: &Json) -> Option<(PackageId, String)> {
    let text = |key: &str| need.get(key).and_then(Json::as_str);
    // One from another registry is somebody else's, whatever its name.
    let is_ours = need.get("registry").is_none_or(Json::is_null) && text("kind") != Some("dev");
    let (name, range) = (text("name")?, text("version_req")?);
    is_ours.then(|| (PackageId::new(Ecosystem::Cargo, name), range.to_owned()))
}

fn of_npm(metadata: &Json) -> impl Iterator<Item = (PackageId, String)> {
    let sections = ["dependencies", "optionalDependencies", "peerDependencies"];
    let sections = sections.into_iter().filter_map(|section| {
        metadata.get("manifest").and_then(|it| it.get(section)).and_then(Json::as_object)
    });
    sections.flatten().filter_map(|(written, range)| {
        let range = range.as_str()?;
        let (name, range) = match range.strip_prefix("npm:") {
            Some(alias) => alias.rsplit_once('@').filter(|(name, _)| !name.is_empty())?,
            None => (written.as_str(), range),
        };
        Some((PackageId::new(Ecosystem::Npm, name), range.to_owned()))
    })
}

/// `name[extra] (>=1) ; marker`
fn of_python(written: &str) -> Option<(PackageId, String)> {
    let need = written.split(';').next().unwrap_or_default().trim();
    let is_name = |sign: char| sign.is_ascii_alphanumeric() || "-_.".contains(sign);
    let end = need.find(|sign| !is_name(sign)).unwrap_or(need.len());
    let (name, rest) = need.split_at(end);
    let rest = rest.trim_start();
    let rest = match rest.strip_prefix('[') {
        Some(extras) => extras.split_once(']')?.1.trim_start(),
        None => rest,
    };
    // By an address, no registry is asked.
    if name.is_empty() || rest.starts_with('@') {
        return None;
    }
    let range = rest.trim().trim_start_matches('(').trim_end_matches(')').trim();
    Some((PackageId::new(Ecosystem::Python, name), range.to_owned()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn needs(ecosystem: Ecosystem, metadata: Json) -> Vec<String> {
        let packed = PackedPackage { version: String::new(), files: Vec::new(), metadata };
        packed.needs(ecosystem).iter().map(|(id, range)| format!("{id} {range}")).collect()
    }

    #[test]
    fn what_is_needed_to_be_used_is_read_from_what_was_packed() {
        let need = |name: &str, kind: &str, registry: Option<&str>| json!({ "name": name, "version_req": "^1", "kind": kind, "registry": registry });
        let deps = [
            need("a", "normal", None),
            need("b", "dev", None),
            need("c", "build", None),
            need("d", "normal", Some("https://elsewhere.example/")),
        ];
        assert_eq!(needs(Ecosystem::Cargo, json!({ "deps": deps })), ["cargo:a ^1", "cargo:c ^1"]);
        let manifest = json!({
            "dependencies": { "a": "^1.0.0", "other": "npm:@us/b@~2.0.0" },
            "peerDependencies": { "c": ">=3" },
            "devDependencies": { "d": "1" }
        });
        assert_eq!(
            needs(Ecosystem::Npm, json!({ "manifest": manifest })),
            ["npm:@us/b ~2.0.0", "npm:a ^1.0.0", "npm:c >=3"]
        );
        let said = [
            "A_b[x, y] (>=1,<2) ; os_name == 'nt'",
            "near @ https://a.example/n.whl",
            "c",
            "d==1; extra == 'e'",
        ];
        let file = json!({ "requires_dist": said });
        assert_eq!(
            needs(Ecosystem::Python, json!({ "1.whl": file, "2.whl": file })),
            ["python:a-b >=1,<2", "python:c ", "python:d ==1"]
        );
    }
}
