//! What cargo speaks with registries: the sparse index, and the API for uploads, downloads and yanks.
//!
//! Owners and searches are not known here.

use serde_json::{Value as Json, json};

use super::http::{Answer, Head};
use super::protocol::{Asked, What};
use super::shelf::{Delivery, Package, Shelf, StoredFile};

pub fn asked(head: &Head) -> Asked {
    let parts = head.parts();
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    let is_put = head.method == "PUT";
    match parts[..] {
        ["index", "config.json"] => Asked::new(What::Other, None),
        ["index", .., name] => Asked::new(What::Look, Some(shelf_name(name))),
        ["api", "v1", "crates", "new"] if is_put => Asked::new(What::Upload, None),
        ["api", "v1", "crates", name, _, "download"] => {
            Asked::new(What::Download, Some(shelf_name(name)))
        }
        ["api", "v1", "crates", name, _, "yank" | "unyank"] => {
            Asked::new(What::TakeBack, Some(shelf_name(name)))
        }
        ["api", "v1", "crates", name] | ["api", "v1", "crates", name, _] => {
            Asked::new(What::Other, Some(shelf_name(name)))
        }
        _ => Asked::new(What::Other, None),
    }
}

/// Names that differ in capitals alone are one.
pub fn shelf_name(name: &str) -> String {
    name.to_ascii_lowercase()
}

/// The crate of an upload, once so much has arrived.
pub fn named(body: &[u8]) -> Option<String> {
    let (told, _) = framed(body)?;
    let told: Json = serde_json::from_slice(told).ok()?;
    told.get("name").and_then(Json::as_str).map(shelf_name)
}

/// Four bytes that say how many follow, and those.
fn framed(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    rest.split_at_checked(usize::try_from(u32::from_le_bytes(*length)).ok()?)
}

pub fn delivery(body: &[u8]) -> Result<Delivery, Answer> {
    let wrong = |why: &str| error(400, why);
    let (told, rest) = framed(body).ok_or_else(|| wrong("invalid metadata length"))?;
    let (file, rest) = framed(rest).ok_or_else(|| wrong("invalid tarball length"))?;
    if !rest.is_empty() {
        return Err(wrong("remaining bytes after the tarball"));
    }
    if !file.starts_with(&[0x1f, 0x8b]) {
        return Err(wrong("the tarball is no gzip"));
    }
    let told: Json = serde_json::from_slice(told)
        .map_err(|error| wrong(&format!("invalid upload request: {error}")))?;
    let text = |key: &str| told.get(key).and_then(Json::as_str).map(str::to_owned);
    let (Some(name), Some(version)) = (text("name"), text("vers")) else {
        return Err(wrong("invalid upload request: missing field `name` or `vers`"));
    };
    let file = StoredFile::new(&format!("{name}-{version}.crate"), file.to_vec(), Json::Null);
    Ok(Delivery { package: shelf_name(&name), version, told, file, tags: Vec::new() })
}

pub fn accepted() -> Answer {
    let warnings = json!({ "invalid_categories": [], "invalid_badges": [], "other": [] });
    Answer::json(200, &json!({ "warnings": warnings }))
}

pub fn is_there(delivery: &Delivery) -> Answer {
    error(400, &format!("crate version `{}` is already uploaded", delivery.version))
}

pub fn error(status: u16, why: &str) -> Answer {
    Answer::json(status, &json!({ "errors": [{ "detail": why }] }))
}

pub fn answer(shelf: &mut Shelf, base: &str, is_private: bool, head: &Head) -> Answer {
    let parts = head.parts();
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    match (head.method.as_str(), &parts[..]) {
        ("GET", ["index", "config.json"]) => {
            let mut config = json!({ "dl": format!("{base}/api/v1/crates"), "api": base });
            if is_private {
                config["auth-required"] = json!(true);
            }
            Answer::json(200, &config).marked(head)
        }
        ("GET", ["index", folders @ .., name]) if folders.join("/") == folder(name) => {
            let Some(package) = shelf.look(&shelf_name(name)) else { return Answer::not_found() };
            Answer::new(200, "text/plain", index(&package)).marked(head)
        }
        ("GET", ["api", "v1", "crates", name, version, "download"]) => {
            let stored = shelf.version(&shelf_name(name), version);
            let file = stored.and_then(|stored| stored.files.first());
            file.map_or_else(Answer::not_found, |file| {
                Answer::new(200, "application/octet-stream", file.bytes.clone())
            })
        }
        ("DELETE", ["api", "v1", "crates", name, version, "yank"]) => {
            set_yanked(shelf, name, version, true)
        }
        ("PUT", ["api", "v1", "crates", name, version, "unyank"]) => {
            set_yanked(shelf, name, version, false)
        }
        // It knows what is out at once, whatever the index says.
        ("GET", ["api", "v1", "crates", name]) => {
            let Some(package) = shelf.packages.get(&shelf_name(name)) else {
                return error(404, &format!("crate `{name}` does not exist"));
            };
            let versions: Vec<Json> = package.versions.iter().map(api_version).collect();
            Answer::json(
                200,
                &json!({ "crate": { "id": name, "name": name }, "versions": versions }),
            )
        }
        ("GET", ["api", "v1", "crates", name, version]) => {
            let stored = shelf.version(&shelf_name(name), version);
            stored.map_or_else(
                || error(404, &format!("crate `{name}` does not have a version `{version}`")),
                |stored| Answer::json(200, &json!({ "version": api_version(stored) })),
            )
        }
        _ => error(404, "Not Found"),
    }
}

fn api_version(stored: &super::shelf::Stored) -> Json {
    let checksum = &stored.files[0].sha256;
    json!({ "num": stored.version, "yanked": stored.is_yanked, "checksum": checksum })
}

fn set_yanked(shelf: &mut Shelf, name: &str, version: &str, is_yanked: bool) -> Answer {
    let Some(stored) = shelf.version_mut(&shelf_name(name), version) else {
        return error(404, &format!("crate `{name}` does not have a version `{version}`"));
    };
    stored.is_yanked = is_yanked;
    Answer::json(200, &json!({ "ok": true }))
}

/// The folders of a crate's file below the index.
fn folder(name: &str) -> String {
    match name.len() {
        1 => "1".to_owned(),
        2 => "2".to_owned(),
        3 => format!("3/{}", name.get(..1).unwrap_or("?")),
        _ => format!("{}/{}", name.get(..2).unwrap_or("?"), name.get(2..4).unwrap_or("?")),
    }
}

/// The file of a crate in the index: a line for each version.
fn index(package: &Package) -> String {
    package.versions.iter().map(|stored| format!("{}\n", line(stored))).collect()
}

fn line(stored: &super::shelf::Stored) -> Json {
    let told = &stored.told;
    // It came from another index as it is.
    if told.get("cksum").is_some() {
        return told.clone();
    }
    let deps: Vec<Json> = told["deps"].as_array().into_iter().flatten().map(dependency).collect();
    let (mut plain, mut new) = (json!({}), json!({}));
    for (name, values) in told["features"].as_object().into_iter().flatten() {
        let mut values_of = values.as_array().into_iter().flatten().filter_map(Json::as_str);
        let is_new = values_of.any(|it| it.starts_with("dep:") || it.contains("?/"));
        let features = if is_new { &mut new } else { &mut plain };
        features[name] = values.clone();
    }
    json!({
        "name": told["name"],
        "vers": told["vers"],
        "deps": deps,
        "cksum": stored.files[0].sha256,
        "features": plain,
        "features2": new,
        "yanked": stored.is_yanked,
        "links": told.get("links"),
        "rust_version": told.get("rust_version"),
        "v": 2,
    })
}

/// Uploads and the index name a dependency that was given another name differently.
fn dependency(told: &Json) -> Json {
    let own_name = told.get("explicit_name_in_toml").filter(|it| !it.is_null());
    json!({
        "name": own_name.unwrap_or(&told["name"]),
        "package": own_name.map(|_| &told["name"]),
        "req": told["version_req"],
        "features": told["features"],
        "optional": told["optional"],
        "default_features": told["default_features"],
        "target": told["target"],
        "kind": told["kind"],
        "registry": told.get("registry"),
    })
}
