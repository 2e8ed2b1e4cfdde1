//! What npm, pnpm and yarn speak with registries: documents of packages, tarballs, tags.
//!
//! Log-in by a browser, teams and audits are not known here.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value as Json, json};
use sha2::{Digest as _, Sha512};

use super::http::{Answer, Head};
use super::protocol::{Asked, What};
use super::shelf::{Delivery, Package, Shelf, StoredFile};

/// The parts of a path; a scope and its name are one, however they were written.
fn parts(head: &Head) -> Vec<String> {
    let mut parts = head.parts();
    if let Some(at) = parts.iter().position(|it| it.starts_with('@') && !it.contains('/'))
        && at + 1 < parts.len()
    {
        let name = parts.remove(at + 1);
        parts[at] = format!("{}/{name}", parts[at]);
    }
    parts
}

pub fn asked(head: &Head) -> Asked {
    let parts = parts(head);
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    let name = |name: &str| Some(name.to_owned());
    match (head.method.as_str(), &parts[..]) {
        ("PUT" | "DELETE", ["-", "package", package, "dist-tags", _]) => {
            Asked::new(What::Tag, name(package))
        }
        (_, ["-", ..]) => Asked::new(What::Other, None),
        ("PUT", [package]) => Asked::new(What::Upload, name(package)),
        ("PUT", [package, "-rev", _]) => Asked::new(What::TakeBack, name(package)),
        ("GET", [package, "-", _]) => Asked::new(What::Download, name(package)),
        ("GET", [package] | [package, _]) => Asked::new(What::Look, name(package)),
        _ => Asked::new(What::Other, None),
    }
}

/// Whether a document brings nothing: it changes what is known of versions that are there.
pub fn is_change(body: &[u8]) -> bool {
    !body.windows(14).any(|it| it == b"\"_attachments\"")
}

pub fn delivery(body: &[u8]) -> Result<Delivery, Answer> {
    let wrong = |why: &str| error(400, why);
    let told: Json = serde_json::from_slice(body).map_err(|it| wrong(&format!("no JSON: {it}")))?;
    let package = told["name"].as_str().ok_or_else(|| wrong("no name"))?;
    let (version, about) = told["versions"]
        .as_object()
        .and_then(|versions| versions.iter().next())
        .ok_or_else(|| wrong("no version"))?;
    let (file, attachment) = told["_attachments"]
        .as_object()
        .and_then(|attachments| attachments.iter().find(|(name, _)| name.ends_with(".tgz")))
        .ok_or_else(|| wrong("no tarball"))?;
    let data = attachment["data"].as_str().unwrap_or_default();
    let bytes = STANDARD.decode(data).map_err(|_| wrong("the tarball is no base64"))?;
    if attachment["length"].as_u64() != Some(bytes.len() as u64) {
        return Err(wrong("the tarball has another length"));
    }
    let integrity = about["dist"]["integrity"].as_str().unwrap_or_default();
    if !integrity.is_empty() && integrity != integrity_of(&bytes) {
        return Err(wrong("the tarball is not what its integrity says"));
    }
    let mut about = about.clone();
    let mut attachments = told["_attachments"].as_object().into_iter().flatten();
    if let Some((_, statement)) = attachments.find(|(name, _)| name.ends_with(".sigstore")) {
        let bundle = serde_json::from_str(statement["data"].as_str().unwrap_or_default());
        let bundle: Json = bundle.map_err(|_| wrong("the statement is no JSON"))?;
        about["dist"]["attestations"] = json!({ "provenance": bundle });
    }
    let tags = told["dist-tags"].as_object().into_iter().flatten();
    let tags = tags.filter_map(|(tag, version)| Some((tag.clone(), version.as_str()?.to_owned())));
    Ok(Delivery {
        package: package.to_owned(),
        version: version.clone(),
        told: about,
        // A scope is in the name of the package, not in that of its file.
        file: StoredFile::new(file.rsplit('/').next().unwrap_or(file), bytes, Json::Null),
        tags: tags.collect(),
    })
}

fn integrity_of(bytes: &[u8]) -> String {
    format!("sha512-{}", STANDARD.encode(Sha512::digest(bytes)))
}

pub fn accepted(delivery: &Delivery) -> Answer {
    Answer::json(201, &json!({ "ok": true, "id": delivery.package, "rev": "1-0" }))
}

pub fn is_there(delivery: &Delivery) -> Answer {
    let why = "You cannot publish over the previously published versions";
    error(403, &format!("{why}: {}.", delivery.version))
}

pub fn error(status: u16, why: &str) -> Answer {
    Answer::json(status, &json!({ "error": why, "reason": why }))
}

pub fn code_wanted() -> Answer {
    let why = "You must provide a one-time pass. Upgrade your client to npm@latest.";
    error(401, why).with("www-authenticate", "OTP")
}

pub fn answer(shelf: &mut Shelf, base: &str, head: &Head, body: &[u8]) -> Answer {
    let parts = parts(head);
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    match (head.method.as_str(), &parts[..]) {
        ("GET", ["-", "ping"]) => Answer::json(200, &json!({})),
        ("GET", ["-", "whoami"]) => Answer::json(200, &json!({ "username": "tester" })),
        ("GET", ["-", "package", name, "dist-tags"]) => {
            let package = shelf.packages.get(*name);
            package.map_or_else(not_found, |it| Answer::json(200, &json!(it.tags)))
        }
        ("PUT", ["-", "package", name, "dist-tags", tag]) => set_tag(shelf, name, tag, body),
        ("DELETE", ["-", "package", name, "dist-tags", tag]) => remove_tag(shelf, name, tag),
        ("PUT", [name] | [name, "-rev", _]) => change(shelf, name, body),
        ("GET", [name, "-", file]) => download(shelf, name, file),
        ("GET", [name]) => shelf.look(name).map_or_else(not_found, |package| {
            Answer::json(200, &document(base, name, &package)).marked(head)
        }),
        ("GET", [name, version]) => {
            let package = shelf.look(name).unwrap_or_default();
            let version = package.tags.get(*version).map_or(*version, String::as_str);
            let about = &document(base, name, &package)["versions"][version];
            if about.is_null() { not_found() } else { Answer::json(200, about) }
        }
        _ => not_found(),
    }
}

fn not_found() -> Answer {
    error(404, "Not found")
}

fn download(shelf: &Shelf, name: &str, file: &str) -> Answer {
    let versions = shelf.packages.get(name).map(|it| it.versions.as_slice()).unwrap_or_default();
    let mut files = versions.iter().flat_map(|it| &it.files);
    files.find(|it| it.name == file).map_or_else(not_found, |file| {
        Answer::new(200, "application/octet-stream", file.bytes.clone())
    })
}

fn set_tag(shelf: &mut Shelf, name: &str, tag: &str, body: &[u8]) -> Answer {
    let version: Result<String, _> = serde_json::from_slice(body);
    let Some(version) = version.ok().filter(|it| shelf.version(name, it).is_some()) else {
        return error(404, "there is no such version");
    };
    shelf.packages.entry(name.to_owned()).or_default().tags.insert(tag.to_owned(), version);
    Answer::json(201, &json!({ "ok": true }))
}

fn remove_tag(shelf: &mut Shelf, name: &str, tag: &str) -> Answer {
    if tag == "latest" {
        return error(403, "the tag `latest` cannot be removed");
    }
    let removed = shelf.packages.get_mut(name).and_then(|it| it.tags.remove(tag));
    if removed.is_none() { not_found() } else { Answer::json(200, &json!({ "ok": true })) }
}

/// Takes what a document says of versions that are there: `npm deprecate` sends it whole, with a word on some.
fn change(shelf: &mut Shelf, name: &str, body: &[u8]) -> Answer {
    let told: Json = serde_json::from_slice(body).unwrap_or_default();
    if !shelf.packages.contains_key(name) {
        return not_found();
    }
    for (version, about) in told["versions"].as_object().into_iter().flatten() {
        let Some(stored) = shelf.version_mut(name, version) else { continue };
        let said = about.get("deprecated").filter(|it| it.as_str() != Some(""));
        if let Some(known) = stored.told.as_object_mut() {
            known.remove("deprecated");
            known.extend(said.map(|said| ("deprecated".to_owned(), said.clone())));
        }
    }
    Answer::json(200, &json!({ "ok": true }))
}

/// What is known of a package.
fn document(base: &str, name: &str, package: &Package) -> Json {
    let mut versions = Map::new();
    for stored in &package.versions {
        let file = &stored.files[0];
        let mut about = stored.told.clone();
        about["dist"]["tarball"] = json!(format!("{base}/{name}/-/{}", file.name));
        about["dist"]["integrity"] = json!(integrity_of(&file.bytes));
        versions.insert(stored.version.clone(), about);
    }
    let revision = format!("{}-0", package.versions.len());
    json!({
        "_id": name, "_rev": revision, "name": name, "dist-tags": package.tags,
        "versions": versions,
    })
}
