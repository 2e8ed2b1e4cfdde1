//! Trusted publishing: a pipeline says what it is, and a registry that trusts it gives a token that is good for a while.
//!
//! Which pipelines a registry trusts is said on its pages. Where packages go is in [`crate::settings`].

use std::sync::PoisonError;

use serde_json::{Value as Json, json};
use tidewheel::executor::http::{Data, HttpRequest};

use super::cargo;
use super::client::Client;
use super::fetch::origin;
use super::trouble::Trouble;
use crate::package::{Ecosystem, PackageId};
use crate::registry::document_path;
use crate::settings::{Credentials, Identity, Secret, Target, is_safe};

impl Client {
    /// A target with leave that can be shown: what the settings have, or what its registry gives in exchange for what the
    /// pipeline says of itself. That is asked for once, and again when it was [forgotten](Self::forget_trust).
    ///
    /// # Errors
    ///
    /// When the registry gives none.
    pub async fn with_leave_for(&self, target: &Target, id: &PackageId) -> Result<Target, Trouble> {
        if target.credentials != Some(Credentials::Trusted) {
            return Ok(target.clone());
        }
        let with = |leave: Credentials| Target { credentials: Some(leave), ..target.clone() };
        let key = key(target, id);
        let known = self.trusted.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
        if let Some(leave) = known {
            return Ok(with(leave));
        }
        let leave = self.exchanged(target, id).await?;
        self.trusted.lock().unwrap_or_else(PoisonError::into_inner).insert(key, leave.clone());
        Ok(with(leave))
    }

    /// What was given for a package is not good any more.
    pub fn forget_trust(&self, target: &Target, id: &PackageId) {
        self.trusted.lock().unwrap_or_else(PoisonError::into_inner).remove(&key(target, id));
    }

    async fn exchanged(&self, target: &Target, id: &PackageId) -> Result<Credentials, Trouble> {
        let index = &target.address.index;
        match id.ecosystem() {
            Ecosystem::Cargo => {
                let api = cargo::url(self, target).await?;
                let said = self.identity_for(id.ecosystem(), host(&api)).await?;
                let url = checked(format!("{api}/api/v1/trusted_publishing/tokens"))?;
                let request = HttpRequest::post(url).json(json!({ "jwt": said.reveal() }));
                self.token(request).await.map(Credentials::Token)
            }
            Ecosystem::Npm => {
                let audience = format!("npm:{}", host(index));
                let said = self.identity_for(id.ecosystem(), &audience).await?;
                let path =
                    format!("-/npm/v1/oidc/token/exchange/package/{}", document_path(id.name()));
                let url = checked(format!("{}/{path}", origin(index)))?;
                let request = HttpRequest::post(url)
                    .secret_header("Authorization", format!("Bearer {}", said.reveal()));
                self.token(request).await.map(Credentials::Bearer)
            }
            Ecosystem::Python => {
                let base = origin(target.address.upload.as_deref().unwrap_or(index));
                let asked = self.ask(HttpRequest::get(format!("{base}/_/oidc/audience"))).await?;
                let asked: Json =
                    serde_json::from_str(&asked.unwrap_or_default()).unwrap_or_default();
                let audience = asked.get("audience").and_then(Json::as_str).ok_or_else(none)?;
                let said = self.identity_for(id.ecosystem(), audience).await?;
                let url = checked(format!("{base}/_/oidc/mint-token"))?;
                let request = HttpRequest::post(url).json(json!({ "token": said.reveal() }));
                let (user, password) = ("__token__".to_owned(), self.token(request).await?);
                Ok(Credentials::Basic { user, password })
            }
        }
    }

    /// What the pipeline says of itself, to this audience.
    async fn identity_for(&self, ecosystem: Ecosystem, audience: &str) -> Result<Secret, Trouble> {
        match self.identity.of(ecosystem) {
            Some(Identity::Said(said)) => Ok(said),
            Some(Identity::Asked { url, token }) => {
                let request = HttpRequest::get(checked(url)?)
                    .query("audience", audience)
                    .secret_header("Authorization", format!("Bearer {}", token.reveal()))
                    .redirects_max(0);
                let end = self.send(request).await?;
                text_at(end.data, "value").ok_or_else(|| Trouble::NotAllowed {
                    what: "the pipeline does not say what it is".to_owned(),
                })
            }
            None => Err(none()),
        }
    }

    /// The token that a registry gives.
    async fn token(&self, request: HttpRequest) -> Result<Secret, Trouble> {
        let end = self.send(request.redirects_max(0)).await?;
        text_at(end.data, "token").ok_or_else(none)
    }
}

fn none() -> Trouble {
    Trouble::NotAllowed { what: "the registry gives no token to pipelines".to_owned() }
}

/// Of which package a token is: of npm's it is good for one, of the others for all that trust the pipeline.
fn key(target: &Target, id: &PackageId) -> (String, Option<String>) {
    let name = (id.ecosystem() == Ecosystem::Npm).then(|| id.name().to_owned());
    (target.address.index.clone(), name)
}

fn text_at(data: Data, key: &str) -> Option<Secret> {
    match data {
        Data::Json(json) => Secret::new(json.get(key)?.as_str()?),
        _ => None,
    }
}

/// The name of the host of an address.
fn host(address: &str) -> &str {
    let root = origin(address);
    let authority = root.split_once("://").map_or(root, |(_, rest)| rest);
    authority.rsplit_once(':').map_or(authority, |(host, _)| host)
}

/// What says who one is goes only where nobody else sees it.
fn checked(url: String) -> Result<String, Trouble> {
    match is_safe(&url) {
        true => Ok(url),
        false => Err(Trouble::Refused {
            what: format!("{} would be told who we are in the clear", origin(&url)),
        }),
    }
}
