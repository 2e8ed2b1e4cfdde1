//! Registries of npm: one document for all that is known of a package, which is also how it is published.
//!
//! What a document says is in [`crate::registry`].

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value as Json, json};
use sha1::Sha1;
use sha2::{Digest as _, Sha512};
use tidewheel::executor::http::{Data, HttpEnd, HttpRequest};

use super::client::{Client, Parcel, Said, Who, text, with_leave};
use super::trouble::{Trouble, detail, told};
use crate::registry::{Listing, document_path, read_document, read_manifest};
use crate::settings::Target;

/// The tag of versions that are out and not yet meant for anybody.
const HOLDING: &str = "tidewheel-hold";

pub(super) async fn listing(
    client: &Client,
    target: &Target,
    name: &str,
) -> Result<Listing, Trouble> {
    client.listed(get(target, &document_path(name)), name, read_document).await
}

pub(super) async fn document_of(
    client: &Client,
    target: &Target,
    name: &str,
) -> Result<Option<String>, Trouble> {
    client.ask(get(target, &document_path(name))).await
}

/// The document of a version alone is kept elsewhere than that of the package, and may be newer. That it is not there says
/// nothing.
pub(super) async fn said(
    client: &Client,
    target: &Target,
    name: &str,
    version: &str,
) -> Result<Said, Trouble> {
    let text = client.ask(get(target, &format!("{}/{version}", document_path(name)))).await?;
    let listed = text.and_then(|text| read_manifest(&text, version));
    Ok(listed.map_or(Said::Nothing, Said::Has))
}

/// Whose leave it is.
pub(super) async fn who(client: &Client, target: &Target) -> Who {
    let request = get(target, "-/whoami").accept_status(200..=299).accept_status(401..=401);
    match client.send(request).await {
        Ok(HttpEnd { status: 401, data, .. }) => Who::Nobody(told(&text(data))),
        Ok(HttpEnd { data: Data::Json(json), .. }) => {
            let name = json.get("username").and_then(Json::as_str);
            name.map_or(Who::Unsaid, |name| Who::Known(name.to_owned()))
        }
        // Not every registry can be asked this.
        _ => Who::Unsaid,
    }
}

/// Whether somebody may write a package that is out; nothing if its registry does not say.
pub(super) async fn may_write(
    client: &Client,
    target: &Target,
    name: &str,
    user: &str,
) -> Option<bool> {
    let path = format!("-/package/{}/collaborators?format=cli", document_path(name));
    let text = client.ask(get(target, &path)).await.ok()??;
    let all: Map<String, Json> = serde_json::from_str(&text).ok()?;
    let rights = all.get(user).map(|it| it.as_str().unwrap_or_default().contains("write"));
    rights.or((!all.is_empty()).then_some(false))
}

fn get(target: &Target, path: &str) -> HttpRequest {
    let request = HttpRequest::get(format!("{}{path}", target.address.index));
    // Packages may be for some eyes only.
    with_leave(request.header("Accept", "application/json"), target)
}

pub(super) async fn upload(
    client: &Client,
    target: &Target,
    parcel: &Parcel<'_>,
) -> Result<(), Trouble> {
    let name = parcel.id.name();
    let document = document(parcel, &target.address.index);
    let url = format!("{}{}", target.address.index, document_path(name));
    let request = HttpRequest::put(url).json(document).redirects_max(0);
    let end = client.send_with_code(with_leave(request, target)).await?;
    match end.data {
        Data::Json(json) => detail(&json).map_or(Ok(()), |what| Err(Trouble::Refused { what })),
        _ => Ok(()),
    }
}

/// What a registry is told of a version, with the file in it.
fn document(parcel: &Parcel<'_>, index: &str) -> Json {
    let (name, version) = (parcel.id.name(), parcel.version);
    let base = name.rsplit('/').next().unwrap_or(name);
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let mut manifest = parcel.metadata.get("manifest").cloned().unwrap_or_default();
    manifest["_id"] = json!(format!("{name}@{version}"));
    manifest["dist"] = json!({
        "integrity": format!("sha512-{}", STANDARD.encode(Sha512::digest(&parcel.bytes))),
        "shasum": hex(&Sha1::digest(&parcel.bytes)),
        "tarball": format!("{index}{name}/-/{base}-{version}.tgz"),
    });
    let own = parcel.metadata.get("tag").and_then(Json::as_str).unwrap_or("latest");
    let tag = if parcel.is_held { HOLDING } else { own };
    let access = parcel.metadata.get("access").cloned().unwrap_or(Json::Null);
    let mut attachments = Map::new();
    attachments.insert(
        format!("{name}-{version}.tgz"),
        json!({
            "content_type": "application/octet-stream",
            "data": STANDARD.encode(&parcel.bytes),
            "length": parcel.bytes.len(),
        }),
    );
    if let Some(statement) = &parcel.statement {
        let text = statement.to_string();
        let kind = statement.get("mediaType").cloned().unwrap_or_else(|| json!("application/json"));
        let attachment = json!({ "content_type": kind, "length": text.len(), "data": text });
        attachments.insert(format!("{name}-{version}.sigstore"), attachment);
    }
    json!({
        "_id": name,
        "name": name,
        "description": manifest.get("description").cloned().unwrap_or(Json::Null),
        "dist-tags": { tag: version },
        "versions": { version: manifest },
        "access": access,
        "_attachments": attachments,
    })
}

/// A word of warning on a version: the document is written back with it.
pub(super) async fn deprecate(
    client: &Client,
    target: &Target,
    name: &str,
    version: &str,
    reason: &str,
) -> Result<(), Trouble> {
    let nothing = || Trouble::Refused { what: format!("{name} {version} is not there") };
    let text = client.ask(get(target, &document_path(name))).await?.ok_or_else(nothing)?;
    let mut document: Json = serde_json::from_str(&text).map_err(|_| nothing())?;
    let known = document.get_mut("versions").and_then(|it| it.get_mut(version));
    known.ok_or_else(nothing)?["deprecated"] = json!(reason);
    let revision = document.get("_rev").and_then(Json::as_str).map(|it| format!("/-rev/{it}"));
    let path = format!("{}{}", document_path(name), revision.unwrap_or_default());
    let request = HttpRequest::put(format!("{}{path}", target.address.index)).json(document);
    client.send_with_code(with_leave(request.redirects_max(0), target)).await.map(drop)
}

/// The tag is moved first: whoever dies between leaves both, and the next one removes the other.
pub(super) async fn move_tag(
    client: &Client,
    target: &Target,
    name: &str,
    version: &str,
    tag: &str,
) -> Result<(), Trouble> {
    let Some(text) = client.ask(get(target, &document_path(name))).await? else { return Ok(()) };
    let document: Json = serde_json::from_str(&text).unwrap_or_default();
    let is_held = document.get("dist-tags").and_then(|it| it.get(HOLDING)) == Some(&json!(version));
    if !is_held {
        return Ok(());
    }
    let path = |tag: &str| {
        format!("{}-/package/{}/dist-tags/{tag}", target.address.index, document_path(name))
    };
    let put = HttpRequest::put(path(tag)).json(json!(version)).redirects_max(0);
    client.send_with_code(with_leave(put, target)).await?;
    let remove = HttpRequest::delete(path(HOLDING)).redirects_max(0);
    client.send_with_code(with_leave(remove, target)).await.map(drop)
}
