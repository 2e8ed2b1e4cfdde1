//! Packing as packages go out: what an attempt does before it looks for the first time.
//!
//! How it is packed is in [`crate::pack`].

use std::sync::{Arc, PoisonError};

use super::attempt::Ended;
use super::journal::End;
use super::order::{OrderedPackage, ours};
use super::publisher::{Publisher, Work};
use crate::pack::{PackedSet, Stop, Workbench, checkout, is_packed};
use crate::problem::Problem;

/// Says the word when it is dropped before its time: whoever packs for an attempt that is over ends with it.
pub(super) struct UntilDone(pub Stop);

impl Drop for UntilDone {
    fn drop(&mut self) {
        self.0.say();
    }
}

impl Publisher {
    /// What was packed of a run, with this package: it is packed now, if it is time only now.
    pub(super) async fn packed(
        &self,
        work: &Arc<Work>,
        package: &OrderedPackage,
    ) -> Result<Arc<PackedSet>, Ended> {
        if !work.order.options.streams {
            return Ok(Arc::clone(&work.set));
        }
        let stopped = |what: String| Ended::Stopped(End::NotPacked, what, None);
        let (bench, work, id) = (Arc::clone(&self.bench), Arc::clone(work), package.id());
        let mut around = self.around().clone();
        around.stop = Stop::default();
        let ends = UntilDone(around.stop.clone());
        let packing = tokio::task::spawn_blocking(move || {
            // One at a time: tools would only wait for each other in the same copy.
            let mut bench = bench.lock().unwrap_or_else(PoisonError::into_inner);
            let folder = &work.order.packed;
            if let Some(set) = PackedSet::load(folder).filter(|set| is_packed(set, &id)) {
                return Ok(set);
            }
            let of_workspace = work.packages.iter().find(|package| package.id == id);
            let (Some(package), Some(target)) = (of_workspace, work.target(&id)) else {
                return Err("nobody says any more what it is or where it goes".to_owned());
            };
            if bench.is_none() {
                let (ours, checkout) = (ours(folder), checkout(&around));
                *bench = Some(Workbench::open(&around, checkout.as_ref(), ours, &work.set.tree)?);
            }
            let bench = bench.as_ref().ok_or("there is no copy to pack it in")?;
            let packed =
                bench.pack(&around, (package, &target), work.order.options.verifies, folder);
            packed.map_err(|problems| {
                let all: Vec<String> = problems.iter().map(Problem::to_string).collect();
                all.join("; ")
            })
        });
        let packed = packing.await;
        drop(ends);
        match packed {
            Ok(Ok(set)) => Ok(Arc::new(set)),
            Ok(Err(what)) => Err(stopped(what)),
            Err(error) => Err(stopped(format!("packing it broke off: {error}"))),
        }
    }
}
