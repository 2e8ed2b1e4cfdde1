//! The sparse index of a cargo registry: where a crate's file is, and what stands in it.
//!
//! It is the view that cargo resolves by, so what is not in it is not out, whatever an API says.

use serde::Deserialize;
use serde_json::Value as Json;

use super::hash::{Algorithm, Digest};
use super::listing::{Listed, ListedFile, Listing, Unreadable, listed_as};
use crate::package::Ecosystem;

/// Where the file of a crate is below the address of an index.
#[must_use]
pub fn index_path(name: &str) -> String {
    let name = name.to_ascii_lowercase();
    format!("{}/{name}", folder(&name))
}

/// The folder of a crate of this name, so that none has too many in it.
fn folder(name: &str) -> String {
    // Crates have names of ASCII letters; what has others is in no index, wherever it is looked for.
    let part = |from: usize, to: usize| name.get(from..to).unwrap_or("__");
    match name.len() {
        0 | 1 => "1".to_owned(),
        2 => "2".to_owned(),
        3 => format!("3/{}", part(0, 1)),
        _ => format!("{}/{}", part(0, 2), part(2, 4)),
    }
}

/// Where the file of a version is, by what an index says of all of them: an address with marks to be filled in, or one that
/// names and versions are put behind.
#[must_use]
pub fn download_url(told: &str, name: &str, version: &str, digest: &Digest) -> String {
    let digest = digest.to_string();
    let digest = digest.split_once(':').map_or(digest.as_str(), |(_, digits)| digits);
    let marks = [
        ("{crate}", name),
        ("{version}", version),
        ("{prefix}", &folder(name)),
        ("{lowerprefix}", &folder(&name.to_ascii_lowercase())),
        ("{sha256-checksum}", digest),
    ];
    match marks.iter().any(|(mark, _)| told.contains(mark)) {
        true => marks.iter().fold(told.to_owned(), |url, (mark, text)| url.replace(mark, text)),
        false => format!("{}/{name}/{version}/download", told.trim_end_matches('/')),
    }
}

/// A line of the file of a crate, as far as it is needed.
#[derive(Deserialize)]
struct Line {
    name: String,
    vers: String,
    cksum: String,
    #[serde(default)]
    yanked: bool,
}

/// Reads the file of a crate: a line of JSON for each version.
///
/// # Errors
///
/// When a line is none, or of another crate.
pub fn read_index(name: &str, text: &str) -> Result<Listing, Unreadable> {
    let mut listing = Listing::default();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let line: Line =
            serde_json::from_str(line).map_err(|error| Unreadable::new(name, error))?;
        if !line.name.eq_ignore_ascii_case(name) {
            return Err(Unreadable::new(name, format!("it is about `{}`", line.name)));
        }
        let digest = Digest::from_hex(Algorithm::Sha256, &line.cksum)
            .ok_or_else(|| Unreadable::new(name, format!("`{}` is no checksum", line.cksum)))?;
        let version = listed_as(Ecosystem::Cargo, &line.vers).to_owned();
        let file = ListedFile { name: None, digests: vec![digest], url: None };
        listing.versions.insert(version, Listed { files: vec![file], is_yanked: line.yanked });
    }
    Ok(listing)
}

/// Reads what the API of a registry says of one version; nothing if it says no content.
#[must_use]
pub fn read_version(answer: &Json, version: &str) -> Option<Listed> {
    let told = answer.get("version")?;
    let is_it =
        |text: &str| listed_as(Ecosystem::Cargo, text) == listed_as(Ecosystem::Cargo, version);
    if !told.get("num")?.as_str().is_some_and(is_it) {
        return None;
    }
    let digest = Digest::from_hex(Algorithm::Sha256, told.get("checksum")?.as_str()?)?;
    let is_yanked = told.get("yanked").and_then(Json::as_bool).unwrap_or(false);
    let file = ListedFile { name: None, digests: vec![digest], url: None };
    Some(Listed { files: vec![file], is_yanked })
}
