//! Registries of Python: a simple index that is looked at, and a form that is sent with each file.
//!
//! What an index says is in [`crate::registry`].

use serde_json::{Value as Json, json};
use sha2::{Digest as _, Sha256};
use tidewheel::executor::http::HttpRequest;

use super::client::{Client, Parcel, with_leave};
use super::trouble::Trouble;
use crate::registry::{Listing, project_path, read_project};
use crate::settings::Target;

pub(super) async fn listing(
    client: &Client,
    target: &Target,
    name: &str,
) -> Result<Listing, Trouble> {
    let request = HttpRequest::get(format!("{}{}", target.address.index, project_path(name)));
    // Not every registry has the first; both say the same.
    let forms = "application/vnd.pypi.simple.v1+json, text/html;q=0.1";
    let request = request.header("Accept", forms);
    client.listed(request, name, read_project).await
}

pub(super) async fn upload(
    client: &Client,
    target: &Target,
    parcel: &Parcel<'_>,
) -> Result<(), Trouble> {
    let url = target.address.upload.as_ref().ok_or_else(|| Trouble::Refused {
        what: format!("nobody says where `{}` takes files", target.address.name),
    })?;
    let (content_type, body) = form(parcel);
    let request = HttpRequest::post(url).body(content_type, body).redirects_max(0);
    client.send(with_leave(request, target)).await.map(drop)
}

/// The form: what is known of the file, field by field, and the file.
fn form(parcel: &Parcel<'_>) -> (String, Vec<u8>) {
    let digest: String =
        Sha256::digest(&parcel.bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    // No file has its own digest in it.
    let boundary = format!("tidewheel{digest}");
    let mut body = Vec::with_capacity(parcel.bytes.len() + 4096);
    let mut field = |name: &str, value: &str| {
        let head =
            format!("--{boundary}\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n");
        body.extend_from_slice(head.as_bytes());
        body.extend_from_slice(value.as_bytes());
        body.extend_from_slice(b"\r\n");
    };
    field(":action", "file_upload");
    field("protocol_version", "1");
    field("sha256_digest", &digest);
    for (name, value) in
        parcel.metadata.get(parcel.file).and_then(Json::as_object).into_iter().flatten()
    {
        match value {
            Json::Array(values) => {
                values.iter().filter_map(Json::as_str).for_each(|value| field(name, value));
            }
            value => field(name, value.as_str().unwrap_or_default()),
        }
    }
    if let Some(statement) = &parcel.statement {
        // One is a list of one.
        let all = if statement.is_array() { statement.clone() } else { json!([statement]) };
        field("attestations", &all.to_string());
    }
    let head = format!(
        "--{boundary}\r\nContent-Disposition: form-data; name=\"content\"; filename=\"{}\"\r\n\
         Content-Type: application/octet-stream\r\n\r\n",
        parcel.file
    );
    body.extend_from_slice(head.as_bytes());
    body.extend_from_slice(&parcel.bytes);
    body.extend_from_slice(format!("\r\n--{boundary}--\r\n").as_bytes());
    (format!("multipart/form-data; boundary={boundary}"), body)
}
