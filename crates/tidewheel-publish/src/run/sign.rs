//! Statements about where packages were built: signed by a program that somebody names, before a file is sent, and kept with it.
//!
//! What is in a statement, and who vouches for it, is that program's business; each registry takes its own form.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use super::attempt::{Ended, One};
use super::stream::UntilDone;
use crate::pack::{PackedFile, Stop, run_trusted};
use crate::registry::Listing;

/// How soon it is looked whether it is one's turn.
const TURN_EVERY: Duration = Duration::from_millis(200);

/// How many are signed now. Services that sign take fewer at once than registries do.
#[derive(Debug, Clone, Default)]
pub(super) struct Signing(Arc<AtomicU32>);

impl Signing {
    /// One's turn, until it is dropped; `None` if as many are signed as may be.
    fn begin(&self, at_once: u32) -> Option<Turn> {
        let next = |now: u32| (now < at_once.max(1)).then_some(now + 1);
        let begun = self.0.fetch_update(Ordering::SeqCst, Ordering::SeqCst, next);
        begun.ok().map(|_| Turn(self.clone()))
    }
}

struct Turn(Signing);

impl Drop for Turn {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl One<'_> {
    /// Has statements made about files that are not out and have none; `None` if there is nothing to do any more.
    pub(super) async fn sign(&self, listing: &Listing) -> Option<Ended> {
        let options = &self.work.order.options;
        let signer = options.signer.as_ref().filter(|_| self.package.is_signed)?;
        let unsigned: Vec<PackedFile> = self
            .missing(listing)
            .filter(|file| self.set.statement(&self.id, file).is_none())
            .cloned()
            .collect();
        if unsigned.is_empty() {
            return None;
        }
        let Some(_turn) = self.publisher.signing.begin(options.signers) else {
            return Some(Ended::Later(TURN_EVERY, "others are being signed".to_owned()));
        };
        for file in unsigned {
            if let Err(what) = self.sign_one(signer, &file).await {
                return Some(Ended::Again(format!("{} cannot be signed: {what}", file.name), None));
            }
        }
        None
    }

    async fn sign_one(&self, signer: &str, file: &PackedFile) -> Result<(), String> {
        let order = &self.work.order;
        let (set, id) = (Arc::clone(&self.set), self.id.clone());
        set.content(&id, file).map_err(|changed| changed.to_string())?;
        let path = set.path(&id, &file.name);
        let mut around = self
            .publisher
            .around()
            .with("TIDEWHEEL_FILE", &path.display().to_string())
            .with("TIDEWHEEL_SHA256", &file.sha256)
            .with("TIDEWHEEL_PACKAGE", id.name())
            .with("TIDEWHEEL_ECOSYSTEM", id.ecosystem().word())
            .with("TIDEWHEEL_VERSION", &self.package.version)
            .with("TIDEWHEEL_COMMIT", order.commit.as_deref().unwrap_or_default());
        around.stop = Stop::default();
        let ends = UntilDone(around.stop.clone());
        let (root, arguments) = (order.root.clone(), ["-c".to_owned(), signer.to_owned()]);
        let signing = tokio::task::spawn_blocking(move || {
            run_trusted(&around, Path::new(&root), "sh", &arguments)
        });
        let signed = signing.await;
        drop(ends);
        let said = signed.map_err(|error| error.to_string())??;
        let statement: serde_json::Value = serde_json::from_str(said.trim())
            .map_err(|error| format!("what the signer says is no JSON: {error}"))?;
        set.keep_statement(&id, file, &statement).map_err(|error| error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_so_many_are_signed_at_once() {
        let signing = Signing::default();
        let first = signing.begin(2).unwrap();
        let second = signing.begin(2).unwrap();
        assert!(signing.begin(2).is_none());
        drop(first);
        assert!(signing.begin(2).is_some());
        drop(second);
        // Nobody could ever be signed otherwise.
        assert!(signing.begin(0).is_some());
    }
}
