//! The simple index of a Python registry: in its JSON form, or in HTML where that is all there is.
//!
//! How links are found in a page is in `page`.

use serde_json::Value as Json;

use super::hash::{Algorithm, Digest};
use super::listing::{ListedFile, Listing, Unreadable};
use super::page::{Link, links};
use crate::package::Ecosystem;

/// Where a project is below the address of an index.
#[must_use]
pub fn project_path(name: &str) -> String {
    format!("{}/", Ecosystem::Python.normalised(name))
}

/// Reads what an index says of a project, in whichever form it says it. A file counts for the version in its name; of those whose names say none,
/// nothing is known.
///
/// # Errors
///
/// When it is none, or of another project.
pub fn read_project(name: &str, text: &str) -> Result<Listing, Unreadable> {
    match text.trim_start().starts_with('<') {
        true => read_page(name, text),
        false => read_document(name, text),
    }
}

fn read_document(name: &str, text: &str) -> Result<Listing, Unreadable> {
    let document: Json =
        serde_json::from_str(text).map_err(|error| Unreadable::new(name, error))?;
    let told = document.get("name").and_then(Json::as_str).unwrap_or_default();
    let normalised = |name: &str| Ecosystem::Python.normalised(name);
    if normalised(told) != normalised(name) {
        return Err(Unreadable::new(name, format!("it is about `{told}`")));
    }
    let files = document.get("files").and_then(Json::as_array);
    let files = files.ok_or_else(|| Unreadable::new(name, "it has no files"))?;
    let mut listing = Listing::default();
    for file in files {
        let Some(file_name) = file.get("filename").and_then(Json::as_str) else { continue };
        let digest = file.get("hashes").and_then(|it| it.get("sha256")).and_then(Json::as_str);
        // A reason is a yank too, and so is an empty one.
        let is_yanked = !matches!(file.get("yanked"), None | Some(Json::Bool(false)));
        let url = file.get("url").and_then(Json::as_str).map(str::to_owned);
        let told = Told { file: file_name, sha256: digest, url, is_yanked };
        add(&mut listing, &normalised(name), told);
    }
    Ok(listing)
}

/// A page does not say which project it is about, and anybody's says that all is well: one without a file of the project
/// is none.
fn read_page(name: &str, text: &str) -> Result<Listing, Unreadable> {
    let mut listing = Listing::default();
    for Link { file, sha256, url, is_yanked } in links(text) {
        let project = Ecosystem::Python.normalised(name);
        let told = Told { file: &file, sha256: sha256.as_deref(), url: Some(url), is_yanked };
        add(&mut listing, &project, told);
    }
    match listing.is_new() {
        true => Err(Unreadable::new(name, "it is a page without a file of that project")),
        false => Ok(listing),
    }
}

/// What an index says of a file.
struct Told<'a> {
    file: &'a str,
    sha256: Option<&'a str>,
    url: Option<String>,
    is_yanked: bool,
}

/// Adds a file to a listing, if its name says to which version of the project it belongs.
fn add(listing: &mut Listing, project: &str, told: Told<'_>) {
    let Told { file, sha256, url, is_yanked } = told;
    let Some(version) = version_in(project, file) else { return };
    let digest = sha256.and_then(|text| Digest::from_hex(Algorithm::Sha256, text));
    let listed = listing.versions.entry(version).or_default();
    // A version is only taken back if all of it is.
    listed.is_yanked = is_yanked && (listed.files.is_empty() || listed.is_yanked);
    let digests = digest.into_iter().collect();
    listed.files.push(ListedFile { name: Some(file.to_owned()), digests, url });
}

/// The version in the name of a file: `name-1.0-py3-none-any.whl`, `name-1.0.tar.gz`.
fn version_in(project: &str, file: &str) -> Option<String> {
    let normalised = |name: &str| Ecosystem::Python.normalised(name);
    if let Some(wheel) = file.strip_suffix(".whl") {
        let mut parts = wheel.split('-');
        let is_ours = normalised(parts.next()?) == project;
        return parts.next().filter(|_| is_ours).map(str::to_owned);
    }
    let base = file.strip_suffix(".tar.gz").or_else(|| file.strip_suffix(".zip"))?;
    // Older tools left hyphens in the name.
    let (name, version) = base
        .match_indices('-')
        .map(|(at, _)| (&base[..at], &base[at + 1..]))
        .find(|(name, version)| {
            normalised(name) == project && version.starts_with(|it: char| it.is_ascii_digit())
        })?;
    (!name.is_empty()).then(|| version.to_owned())
}
