//! Registries of crates: a sparse index that is looked at, and an API that is sent files.
//!
//! What lines of an index say is in [`crate::registry`].

use std::sync::PoisonError;

use serde_json::Value as Json;
use sha2::{Digest as _, Sha256};
use tidewheel::executor::http::{Data, HttpRequest};

use super::client::{Client, Parcel, Said, with_leave};
use super::trouble::{Trouble, detail};
use crate::registry::{
    Algorithm, Digest, Listing, download_url, index_path, read_index, read_version,
};
use crate::settings::Target;

/// What an index says of its registry.
#[derive(Debug, Clone)]
pub(super) struct Api {
    /// Where it is.
    url: Option<String>,
    /// Where files are, as the index writes it.
    downloads: Option<String>,
    /// Whether one must be known even to look.
    needs_leave: bool,
}

pub(super) async fn listing(
    client: &Client,
    target: &Target,
    name: &str,
) -> Result<Listing, Trouble> {
    let api = api(client, target).await?;
    let request = HttpRequest::get(format!("{}{}", target.address.index, index_path(name)));
    let request = if api.needs_leave { with_leave(request, target) } else { request };
    client.listed(request, name, read_index).await
}

/// The API knows what was taken at once, whenever the index shows it.
pub(super) async fn said(
    client: &Client,
    target: &Target,
    name: &str,
    version: &str,
) -> Result<Said, Trouble> {
    let url = format!("{}/api/v1/crates/{name}/{version}", url(client, target).await?);
    let request = HttpRequest::get(url).header("Cache-Control", "no-cache");
    let request = match api(client, target).await?.needs_leave {
        true => with_leave(request, target),
        false => request,
    };
    let end = client.send(request.accept_status(200..=299).accept_status(404..=404)).await?;
    match (end.status, end.data) {
        // Only who knows the question says what is not there in the form for it.
        (404, Data::Json(json)) if json.get("errors").is_some() => Ok(Said::HasNot),
        (200, Data::Json(json)) => {
            Ok(read_version(&json, version).map_or(Said::Nothing, Said::Has))
        }
        _ => Ok(Said::Nothing),
    }
}

/// The lengths of both parts are written before them, in four bytes.
pub(super) async fn upload(
    client: &Client,
    target: &Target,
    parcel: &Parcel<'_>,
) -> Result<(), Trouble> {
    let url = format!("{}/api/v1/crates/new", url(client, target).await?);
    let told = parcel.metadata.to_string();
    let mut body = Vec::with_capacity(told.len() + parcel.bytes.len() + 8);
    for part in [told.as_bytes(), &parcel.bytes] {
        let length = u32::try_from(part.len()).map_err(|_| Trouble::Refused {
            what: format!("{} is too large for any registry", parcel.file),
        })?;
        body.extend_from_slice(&length.to_le_bytes());
        body.extend_from_slice(part);
    }
    let request = HttpRequest::put(url).body("application/octet-stream", body).redirects_max(0);
    let end = client.send(with_leave(request, target)).await?;
    match end.data {
        // Older registries refuse with a status that says that all is well.
        Data::Json(json) => detail(&json).map_or(Ok(()), |what| Err(Trouble::Refused { what })),
        _ => Ok(()),
    }
}

/// The file of a version that is out, if it is the one that its index speaks of.
pub(super) async fn file(
    client: &Client,
    target: &Target,
    name: &str,
    version: &str,
    digest: &Digest,
) -> Result<Option<Vec<u8>>, Trouble> {
    let Some(downloads) = api(client, target).await?.downloads else { return Ok(None) };
    let content =
        client.content_at(target, &download_url(&downloads, name, version, digest)).await?;
    let is_it = |content: &Vec<u8>| {
        Digest::new(Algorithm::Sha256, &Sha256::digest(content)).as_ref() == Some(digest)
    };
    Ok(content.filter(is_it))
}

pub(super) async fn yank(
    client: &Client,
    target: &Target,
    name: &str,
    version: &str,
) -> Result<(), Trouble> {
    let url = format!("{}/api/v1/crates/{name}/{version}/yank", url(client, target).await?);
    client.send(with_leave(HttpRequest::delete(url).redirects_max(0), target)).await.map(drop)
}

pub(super) async fn url(client: &Client, target: &Target) -> Result<String, Trouble> {
    let url = api(client, target).await?.url;
    url.ok_or_else(|| Trouble::Refused {
        what: format!(
            "the registry `{}` takes nothing: its index names no api",
            target.address.name
        ),
    })
}

/// What the index says of its registry; it is asked once.
async fn api(client: &Client, target: &Target) -> Result<Api, Trouble> {
    let index = &target.address.index;
    if let Some(api) = client.api(index) {
        return Ok(api);
    }
    let request = HttpRequest::get(format!("{index}config.json"));
    let text = match client.ask(request.clone()).await {
        // Some want to know who asks for anything at all.
        Err(Trouble::NotAllowed { .. }) => client.ask(with_leave(request, target)).await?,
        asked => asked?,
    };
    let what = || format!("{index} is no sparse index: it has no config.json that can be read");
    let text = text.ok_or_else(|| Trouble::Refused { what: what() })?;
    let config: Json =
        serde_json::from_str(&text).map_err(|_| Trouble::Refused { what: what() })?;
    let address = |key: &str| config.get(key).and_then(Json::as_str).map(str::to_owned);
    let url = address("api").map(|url| url.trim_end_matches('/').to_owned());
    let api = Api {
        needs_leave: config.get("auth-required").and_then(Json::as_bool).unwrap_or(false),
        url: checked(url, target)?,
        downloads: address("dl"),
    };
    let mut apis = client.apis.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(apis.entry(index.clone()).or_insert(api).clone())
}

/// An index may send tokens only where nobody else sees them.
fn checked(url: Option<String>, target: &Target) -> Result<Option<String>, Trouble> {
    match url {
        Some(url) if target.credentials.is_some() && !crate::settings::is_safe(&url) => {
            Err(Trouble::Refused {
                what: format!("the api at {url} would be sent a token in the clear"),
            })
        }
        url => Ok(url),
    }
}
