//! Needs of Python packages pinned to one version, with everything around it as it was written.
//!
//! When and how long that is in a file is in [`super::pin`].

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::Spanned;

use crate::package::{Ecosystem, PackageId};

/// A manifest, as far as it names needs that are published.
#[derive(Deserialize)]
struct Manifest {
    project: Option<Project>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Project {
    #[serde(default)]
    dependencies: Vec<Spanned<String>>,
    #[serde(default)]
    optional_dependencies: BTreeMap<String, Vec<Spanned<String>>>,
}

/// A `pyproject.toml` in which needs of these packages are for exactly these versions; `None` if it has none of them.
///
/// Extras, markers, comments and the spelling of names stay. Needs by an address stay as they are.
pub(super) fn pinned(
    text: &str,
    version_of: impl Fn(&PackageId) -> Option<String>,
) -> Result<Option<String>, String> {
    let manifest: Manifest = toml::from_str(text).map_err(|error| error.to_string())?;
    let Some(project) = manifest.project else { return Ok(None) };
    let all = project.dependencies.iter().chain(project.optional_dependencies.values().flatten());
    let mut edits: Vec<(std::ops::Range<usize>, String)> = Vec::new();
    for written in all {
        if let Some(new) = pinned_requirement(written.get_ref(), &version_of) {
            edits.push((written.span(), quoted(&text[written.span()], &new)));
        }
    }
    // From the end, so that places before stay right.
    edits.sort_by_key(|(span, _)| std::cmp::Reverse(span.start));
    let mut edited = text.to_owned();
    for (span, new) in &edits {
        edited.replace_range(span.clone(), new);
    }
    Ok((!edits.is_empty()).then_some(edited))
}

/// `name[extra] >=1,<2 ; marker` with another version; `None` if it is no need of ours, or is not one of a version.
fn pinned_requirement(
    written: &str,
    version_of: impl Fn(&PackageId) -> Option<String>,
) -> Option<String> {
    let (need, marker) = match written.find(';') {
        Some(at) => written.split_at(at),
        None => (written, ""),
    };
    let is_name = |sign: char| sign.is_ascii_alphanumeric() || "-_.".contains(sign);
    let start = need.find(is_name)?;
    let name_end = need[start..].find(|it| !is_name(it)).map_or(need.len(), |it| start + it);
    let version = version_of(&PackageId::new(Ecosystem::Python, &need[start..name_end]))?;
    let rest = &need[name_end..];
    let extras_end = match rest.trim_start().starts_with('[') {
        true => name_end + rest.find(']')? + 1,
        false => name_end,
    };
    if need[extras_end..].trim_start().starts_with('@') {
        return None;
    }
    let before_marker = if marker.is_empty() { "" } else { " " };
    Some(format!("{}=={version}{before_marker}{marker}", &need[..extras_end]))
}

/// A text of TOML, between the quotes that it had where that is possible.
fn quoted(was: &str, new: &str) -> String {
    let (fits_plain, fits_quoted) = (!new.contains('\''), !new.contains(['"', '\\']));
    match was.starts_with('\'') {
        true if fits_plain => format!("'{new}'"),
        false if !fits_quoted && fits_plain => format!("'{new}'"),
        _ => format!("\"{}\"", new.replace('\\', "\\\\").replace('"', "\\\"")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version_of(id: &PackageId) -> Option<String> {
        ["core", "our-tools"].contains(&id.name()).then(|| "1.2".to_owned())
    }

    #[test]
    fn only_the_version_is_another_one() {
        for (written, pinned) in [
            ("core", Some("core==1.2")),
            ("core>=1,<2", Some("core==1.2")),
            ("core [all, x] ~= 1.0", Some("core [all, x]==1.2")),
            ("Core[all]>=1; python_version<'3.12'", Some("Core[all]==1.2 ; python_version<'3.12'")),
            ("Our.Tools (>=1)", Some("Our.Tools==1.2")),
            ("core @ https://elsewhere.example/core.whl", None),
            ("corely>=1", None),
            ("", None),
        ] {
            assert_eq!(pinned_requirement(written, version_of).as_deref(), pinned, "{written}");
        }
    }

    #[test]
    fn a_manifest_keeps_its_comments_its_layout_and_everything_else() {
        let text = "# top\n[project]\nname = \"x\"\ndependencies = [\n  'core>=1', # why\n  \"other\",\n  \"our_tools[a]; os_name == \\\"nt\\\"\",\n]\n\
                    [project.optional-dependencies]\nall = [\"core\"]\n[dependency-groups]\ndev = [\"core>=1\"]\n";
        let edited = "# top\n[project]\nname = \"x\"\ndependencies = [\n  'core==1.2', # why\n  \"other\",\n  'our_tools[a]==1.2 ; os_name == \"nt\"',\n]\n\
                    [project.optional-dependencies]\nall = [\"core==1.2\"]\n[dependency-groups]\ndev = [\"core>=1\"]\n";
        assert_eq!(pinned(text, version_of).unwrap().as_deref(), Some(edited));
        assert_eq!(pinned("[project]\nname = \"x\"\n", version_of), Ok(None));
        assert_eq!(pinned("[tool.x]\n", version_of), Ok(None));
        assert!(pinned("[project\n", version_of).is_err());
        assert!(pinned("[project]\ndependencies = 1\n", version_of).is_err());
    }
}
