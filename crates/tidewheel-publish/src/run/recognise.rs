//! Crates that are out with another digest and the same contents: packed of another commit, as those are that have versions
//! of their own in a workspace and were not changed since.
//!
//! What two crates have in common is said in [`crate::pack`]; what follows, by plans and reports.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, PoisonError};

use tokio::task::JoinSet;

use super::publisher::Publisher;
use crate::exchange::{Client, Trouble};
use crate::pack::{PackedSet, is_alike};
use crate::package::{Ecosystem, PackageId};
use crate::plan::Class;
use crate::registry::{Digest, Listing};
use crate::settings::Target;

impl Publisher {
    /// A set in which it is noted which crates are out with the same contents; `None` if none is that was not known. Files
    /// that are out are fetched for it.
    pub(crate) async fn recognised(
        &self,
        set: &PackedSet,
        targets: &BTreeMap<PackageId, Target>,
        listings: &BTreeMap<PackageId, Listing>,
    ) -> Result<Option<PackedSet>, (PackageId, Trouble)> {
        let mut comparing = JoinSet::new();
        for (id, listing) in listings.iter().filter(|(id, _)| id.ecosystem() == Ecosystem::Cargo) {
            let (Some(packed), Some(target)) = (set.package(id), targets.get(id)) else { continue };
            let class =
                Class::of(id, listing, &packed.version, &set.digests(id).unwrap_or_default());
            let Class::Conflict { theirs, .. } = class else { continue };
            let (client, set) = (Arc::clone(&self.client), set.clone());
            let (id, target) = (id.clone(), target.clone());
            comparing.spawn(async move {
                let is_same = is_same(&client, &target, &id, &set, &theirs).await;
                is_same
                    .map(|is_same| is_same.then(|| (id.clone(), hex(&theirs))))
                    .map_err(|it| (id, it))
            });
        }
        let mut out = Vec::new();
        for compared in comparing.join_all().await {
            out.extend(compared?);
        }
        if out.is_empty() {
            return Ok(None);
        }
        let noted = self.note_out(set, out.clone()).await;
        noted.map(Some).map_err(|error| {
            let what = format!("that it is out cannot be noted: {error}");
            (out.swap_remove(0).0, Trouble::Refused { what })
        })
    }

    /// The list of a set is written by nobody else meanwhile.
    async fn note_out(
        &self,
        set: &PackedSet,
        out: Vec<(PackageId, String)>,
    ) -> io::Result<PackedSet> {
        let (bench, folder) = (Arc::clone(&self.bench), set.folder.clone());
        let noting = tokio::task::spawn_blocking(move || {
            let _alone = bench.lock().unwrap_or_else(PoisonError::into_inner);
            PackedSet::note_out(&folder, &out)
        });
        noting.await.map_err(io::Error::other)?
    }
}

async fn is_same(
    client: &Client,
    target: &Target,
    id: &PackageId,
    set: &PackedSet,
    theirs: &Digest,
) -> Result<bool, Trouble> {
    let packed = set.package(id).map(|packed| (packed.version.as_str(), packed.files.as_slice()));
    let Some((version, [file])) = packed else { return Ok(false) };
    let ours = set.content(id, file);
    let ours = ours.map_err(|changed| Trouble::Refused { what: changed.to_string() })?;
    let published = client.crate_file(target, id, version, theirs).await?;
    Ok(published.is_some_and(|published| is_alike(&ours, &published)))
}

fn hex(digest: &Digest) -> String {
    let written = digest.to_string();
    written.split_once(':').map_or(written.clone(), |(_, digits)| digits.to_owned())
}
