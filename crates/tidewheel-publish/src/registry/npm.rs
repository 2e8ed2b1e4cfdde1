//! The document that an npm registry has of a package.
//!
//! Tags are moved by whoever publishes, and are not read here.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value as Json;

use super::hash::{Algorithm, Digest};
use super::listing::{Listed, ListedFile, Listing, Unreadable};

/// Where the document of a package is below the address of a registry. The slash of a scope is written so that it is
/// part of the name.
#[must_use]
pub fn document_path(name: &str) -> String {
    name.replace('/', "%2f")
}

/// Reads the document of a package.
///
/// # Errors
///
/// When it is none, or of another package.
pub fn read_document(name: &str, text: &str) -> Result<Listing, Unreadable> {
    let document: Json =
        serde_json::from_str(text).map_err(|error| Unreadable::new(name, error))?;
    let told = document.get("name").and_then(Json::as_str).unwrap_or_default();
    if told != name {
        return Err(Unreadable::new(name, format!("it is about `{told}`")));
    }
    let mut listing = Listing::default();
    let Some(versions) = document.get("versions").and_then(Json::as_object) else {
        // All of its versions were taken away.
        return Ok(listing);
    };
    for (version, told) in versions {
        listing.versions.insert(version.clone(), listed(told));
    }
    Ok(listing)
}

/// Reads the document of one version; nothing if it is none, or says no content.
#[must_use]
pub fn read_manifest(text: &str, version: &str) -> Option<Listed> {
    let told: Json = serde_json::from_str(text).ok()?;
    let is_it = told.get("version").and_then(Json::as_str) == Some(version);
    Some(listed(&told)).filter(|it| is_it && it.files.iter().all(|file| !file.digests.is_empty()))
}

fn listed(told: &Json) -> Listed {
    let digests = told.get("dist").map(digests).unwrap_or_default();
    let url = told.get("dist").and_then(|it| it.get("tarball")?.as_str()).map(str::to_owned);
    Listed { files: vec![ListedFile { name: None, digests, url }], is_yanked: false }
}

/// What a document says of a content: several digests in one text, and an old one beside it.
fn digests(dist: &Json) -> Vec<Digest> {
    let text = |key: &str| dist.get(key).and_then(Json::as_str).unwrap_or_default();
    let mut digests: Vec<Digest> =
        text("integrity").split_ascii_whitespace().filter_map(subresource).collect();
    digests.extend(Digest::from_hex(Algorithm::Sha1, text("shasum")));
    digests
}

/// `sha512-` and the digest in base64.
fn subresource(text: &str) -> Option<Digest> {
    let (word, encoded) = text.split_once('-')?;
    let algorithms = [Algorithm::Sha512, Algorithm::Sha256, Algorithm::Sha1];
    let algorithm = algorithms.into_iter().find(|it| it.word() == word)?;
    let bytes = STANDARD.decode(encoded.split('?').next()?).ok()?;
    Digest::new(algorithm, &bytes)
}
