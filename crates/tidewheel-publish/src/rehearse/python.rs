//! What Python's tools speak with registries: the simple index, in HTML and in JSON, and the form for uploads.
//!
//! Signatures, attestations and the API beside the index are not known here.

use serde_json::{Map, Value as Json, json};

use super::http::{Answer, Head};
use super::protocol::{Asked, What};
use super::shelf::{Delivery, Package, Shelf, StoredFile, sha256};

const JSON: &str = "application/vnd.pypi.simple.v1+json";

pub fn asked(head: &Head) -> Asked {
    let parts = head.parts();
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    match (head.method.as_str(), &parts[..]) {
        ("POST", ["legacy"]) => Asked::new(What::Upload, None),
        ("GET" | "HEAD", ["simple", name]) => Asked::new(What::Look, Some(normalised(name))),
        ("GET" | "HEAD", ["files", name, _]) => Asked::new(What::Download, Some(normalised(name))),
        _ => Asked::new(What::Other, None),
    }
}

/// Capital letters count as small ones, and runs of `-`, `_` and `.` as one `-`.
pub fn normalised(name: &str) -> String {
    let parts = name.split(['-', '_', '.']).filter(|part| !part.is_empty());
    parts.map(str::to_ascii_lowercase).collect::<Vec<_>>().join("-")
}

/// The project of an upload, once so much has arrived.
pub fn named(head: &Head, body: &[u8]) -> Option<String> {
    let field = fields(head, body).into_iter().find(|field| field.name == "name")?;
    Some(normalised(std::str::from_utf8(field.value).ok()?))
}

/// A field of a form.
struct Field<'a> {
    name: String,
    file: Option<String>,
    value: &'a [u8],
}

/// The fields of a form that have arrived whole.
fn fields<'a>(head: &Head, body: &'a [u8]) -> Vec<Field<'a>> {
    let kind = head.header("content-type").unwrap_or_default();
    let Some((_, boundary)) = kind.split_once("boundary=") else { return Vec::new() };
    let boundary =
        format!("--{}", boundary.split(';').next().unwrap_or_default().trim_matches('"'));
    let mut fields = Vec::new();
    // Each ends where the next boundary begins.
    let ends = positions(body, boundary.as_bytes());
    for pair in ends.windows(2) {
        let part = &body[pair[0] + boundary.len()..pair[1]];
        let Some(middle) = part.windows(4).position(|it| it == b"\r\n\r\n") else { continue };
        let about = String::from_utf8_lossy(&part[..middle]).into_owned();
        let value = &part[middle + 4..];
        let value = value.strip_suffix(b"\r\n").unwrap_or(value);
        let Some(name) = parameter(&about, "name") else { continue };
        fields.push(Field { name, file: parameter(&about, "filename"), value });
    }
    fields
}

fn positions(body: &[u8], wanted: &[u8]) -> Vec<usize> {
    let at = |(at, it): (usize, &[u8])| (it == wanted).then_some(at);
    body.windows(wanted.len()).enumerate().filter_map(at).collect()
}

/// `name="…"` in the lines about a field.
fn parameter(about: &str, name: &str) -> Option<String> {
    let line =
        about.lines().find(|it| it.to_ascii_lowercase().starts_with("content-disposition"))?;
    let mut parameters = line.split(';').skip(1).filter_map(|it| it.trim().split_once('='));
    parameters.find(|(own, _)| *own == name).map(|(_, value)| value.trim_matches('"').to_owned())
}

pub fn delivery(head: &Head, body: &[u8]) -> Result<Delivery, Answer> {
    let wrong = |why: &str| error(400, why);
    let fields = fields(head, body);
    let text = |name: &str| {
        let field = fields.iter().find(|field| field.name == name)?;
        std::str::from_utf8(field.value).ok().map(str::to_owned)
    };
    if text(":action").as_deref() != Some("file_upload") {
        return Err(wrong("Invalid value for :action."));
    }
    let name = text("name").ok_or_else(|| wrong("Invalid value for name."))?;
    let version = text("version").ok_or_else(|| wrong("Invalid value for version."))?;
    let content = fields.iter().find(|field| field.name == "content");
    let content = content.ok_or_else(|| wrong("Upload payload does not have a file."))?;
    let file = content.file.clone().ok_or_else(|| wrong("No filename."))?;
    let digest =
        text("sha256_digest").ok_or_else(|| wrong("Include at least one message digest."))?;
    if !digest.eq_ignore_ascii_case(&sha256(content.value)) {
        return Err(wrong(
            "The digest supplied does not match a digest calculated from the uploaded file.",
        ));
    }
    let about = json!({
        "requires-python": text("requires_python"),
        "filetype": text("filetype"),
        "attestations": text("attestations"),
    });
    Ok(Delivery {
        package: normalised(&name),
        version,
        told: Json::Null,
        file: StoredFile::new(&file, content.value.to_vec(), about),
        tags: Vec::new(),
    })
}

pub fn accepted() -> Answer {
    Answer::text(200, "")
}

pub fn is_there(delivery: &Delivery) -> Answer {
    error(400, &format!("File already exists ('{}').", delivery.file.name))
}

pub fn error(status: u16, why: &str) -> Answer {
    Answer::text(status, why)
}

pub fn answer(shelf: &mut Shelf, base: &str, has_json: bool, head: &Head) -> Answer {
    let parts = head.parts();
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    if !matches!(head.method.as_str(), "GET" | "HEAD") {
        return Answer::not_found();
    }
    match &parts[..] {
        ["simple"] => all(shelf),
        ["simple", name] if *name != normalised(name) || !head.path.ends_with('/') => {
            let there = format!("{base}/simple/{}/", normalised(name));
            Answer::text(301, "").with("location", there)
        }
        ["simple", name] => {
            let Some(package) = shelf.look(name) else { return Answer::not_found() };
            let wants_json = head.header("accept").is_some_and(|it| it.contains(JSON));
            if wants_json && has_json {
                let document = document(base, name, &package).to_string();
                Answer::new(200, JSON, document).marked(head)
            } else {
                Answer::new(200, "text/html", page(base, name, &package)).marked(head)
            }
        }
        ["files", name, file] => {
            let package = shelf.packages.get(*name).cloned().unwrap_or_default();
            let mut files = package.versions.iter().flat_map(|it| &it.files);
            files.find(|it| it.name == *file).map_or_else(Answer::not_found, |file| {
                Answer::new(200, "application/octet-stream", file.bytes.clone())
            })
        }
        _ => Answer::not_found(),
    }
}

fn all(shelf: &Shelf) -> Answer {
    let names = shelf.packages.keys();
    let links: String = names.map(|name| format!("<a href=\"{name}/\">{name}</a>\n")).collect();
    Answer::new(200, "text/html", format!("<!DOCTYPE html><html><body>\n{links}</body></html>"))
}

fn document(base: &str, name: &str, package: &Package) -> Json {
    let mut files = Vec::new();
    for stored in &package.versions {
        for file in &stored.files {
            let mut about = Map::new();
            about.insert("filename".to_owned(), json!(file.name));
            about.insert("url".to_owned(), json!(format!("{base}/files/{name}/{}", file.name)));
            about.insert("hashes".to_owned(), json!({ "sha256": file.sha256 }));
            about.insert("size".to_owned(), json!(file.bytes.len()));
            about.insert("yanked".to_owned(), json!(stored.is_yanked));
            if let Some(wanted) = file.told["requires-python"].as_str() {
                about.insert("requires-python".to_owned(), json!(wanted));
            }
            files.push(Json::Object(about));
        }
    }
    let versions: Vec<&str> = package.versions.iter().map(|it| it.version.as_str()).collect();
    json!({ "meta": { "api-version": "1.1" }, "name": name, "versions": versions, "files": files })
}

fn page(base: &str, name: &str, package: &Package) -> String {
    let mut links = String::new();
    for stored in &package.versions {
        for file in &stored.files {
            let wanted = file.told["requires-python"].as_str().map_or_else(String::new, |wanted| {
                let wanted = wanted.replace('<', "&lt;").replace('>', "&gt;");
                format!(" data-requires-python=\"{wanted}\"")
            });
            let yanked = if stored.is_yanked { " data-yanked=\"\"" } else { "" };
            links.push_str(&format!(
                "<a href=\"{base}/files/{name}/{}#sha256={}\"{wanted}{yanked}>{}</a><br/>\n",
                file.name, file.sha256, file.name
            ));
        }
    }
    format!(
        "<!DOCTYPE html>\n<html><head><meta name=\"pypi:repository-version\" content=\"1.0\">\
         <title>Links for {name}</title></head><body>\n<h1>Links for {name}</h1>\n{links}</body></html>\n"
    )
}
