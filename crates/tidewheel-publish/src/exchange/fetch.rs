//! Files of registries that are fetched and looked at: where a digest says nothing, or not all.
//!
//! Whether what is in them is ours is said by plans.

use sha2::{Digest as _, Sha256};
use tidewheel::executor::http::{Data, HttpRequest};

use super::cargo;
use super::client::{Client, with_leave};
use super::trouble::Trouble;
use crate::package::PackageId;
use crate::registry::{Algorithm, Digest, Listing};
use crate::settings::Target;

impl Client {
    /// What a registry lists of a package, with the digests of all files of this version.
    ///
    /// # Errors
    ///
    /// When it cannot be asked, or does not answer sensibly.
    pub async fn listing_of(
        &self,
        target: &Target,
        id: &PackageId,
        version: &str,
    ) -> Result<Listing, Trouble> {
        let mut listing = self.listing(target, id).await?;
        let files = listing.version_mut(id.ecosystem(), version).map(|it| it.files.as_mut_slice());
        let page = format!("{}{}/", target.address.index, id.name());
        for file in files.unwrap_or_default() {
            let is_told = file.digests.iter().any(|it| it.algorithm().is_strong());
            if let Some(url) = file.url.as_deref().filter(|_| !is_told) {
                let content = self.content_at(target, &absolute(&page, url)).await?;
                file.digests.extend(
                    content.and_then(|content| {
                        Digest::new(Algorithm::Sha256, &Sha256::digest(content))
                    }),
                );
            }
        }
        Ok(listing)
    }

    /// The file of a crate that is out with this digest; nothing if it is not there, or is another one.
    ///
    /// # Errors
    ///
    /// When it cannot be asked for.
    pub async fn crate_file(
        &self,
        target: &Target,
        id: &PackageId,
        version: &str,
        digest: &Digest,
    ) -> Result<Option<Vec<u8>>, Trouble> {
        cargo::file(self, target, id.name(), version, digest).await
    }

    pub(super) async fn content_at(
        &self,
        target: &Target,
        url: &str,
    ) -> Result<Option<Vec<u8>>, Trouble> {
        let request = HttpRequest::get(url);
        // Nobody else is shown a token.
        let is_its_own = origin(url) == origin(&target.address.index);
        let request = if is_its_own { with_leave(request, target) } else { request };
        Ok(match self.send(request).await?.data {
            Data::Bytes(bytes) => Some(bytes),
            Data::Text(text) => Some(text.into_bytes()),
            Data::Json(_) | Data::Empty => None,
        })
    }
}

/// The scheme and the host of an address.
pub(super) fn origin(address: &str) -> &str {
    let start = address.find("://").map_or(0, |at| at + 3);
    let end = address[start..].find('/').map_or(address.len(), |at| start + at);
    &address[..end]
}

/// An address that a page names, whole.
fn absolute(page: &str, url: &str) -> String {
    if url.contains("://") {
        return url.to_owned();
    }
    if let Some(rest) = url.strip_prefix('/') {
        return format!("{}/{rest}", origin(page));
    }
    let root = origin(page);
    let folder = page[root.len()..].rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut parts: Vec<&str> = folder.split('/').filter(|it| !it.is_empty()).collect();
    for part in url.split('/') {
        match part {
            ".." => drop(parts.pop()),
            "." => {}
            part => parts.push(part),
        }
    }
    format!("{root}/{}", parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::absolute;

    #[test]
    fn an_address_on_a_page_is_read_as_browsers_do() {
        let page = "https://a.example/simple/x/";
        for (url, whole) in [
            ("https://b.example/x.whl", "https://b.example/x.whl"),
            ("/files/x.whl", "https://a.example/files/x.whl"),
            ("x.whl", "https://a.example/simple/x/x.whl"),
            ("../../files/x.whl", "https://a.example/files/x.whl"),
            ("../../../../x.whl", "https://a.example/x.whl"),
        ] {
            assert_eq!(absolute(page, url), whole, "{url}");
        }
    }
}
