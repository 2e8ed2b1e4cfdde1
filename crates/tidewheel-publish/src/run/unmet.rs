//! The last look at a publish: whatever packages that are out need of each other is out, too, in a version that will do.
//!
//! Which packages are out is in [`super::report`].

use std::collections::BTreeMap;

use super::mishap::Mishap;
use super::order::PublishOrder;
use super::publisher::Publisher;
use super::report::{Report, Verdict};
use crate::exchange::census;
use crate::pack::PackedSet;
use crate::package::PackageId;
use crate::plan::unmet;
use crate::registry::Listing;

/// A need of a package that is out, for which nothing is out that will do.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct UnmetNeed {
    /// The package.
    pub package: String,
    /// What it needs.
    pub needs: String,
    /// The versions that would do, as they were published.
    pub range: String,
}

impl Report {
    /// Holds every need of packages that are out against what is out. `listings` is what registries said of the packages of
    /// the order; others of the workspace are asked for here.
    pub(super) async fn check_needs(
        &mut self,
        publisher: &Publisher,
        order: &PublishOrder,
        set: &PackedSet,
        mut listings: BTreeMap<PackageId, Listing>,
    ) {
        let others = publisher.other_targets(order, |id| needs(order, set, id));
        for (id, listing) in census(&publisher.client, &others, |_| None).await {
            // One that cannot be asked was asked for before anything was sent.
            listings.extend(listing.ok().map(|listing| (id, listing)));
        }
        let out: Vec<PackageId> =
            order.packages.iter().map(|it| it.id()).filter(|id| self.is_out(id)).collect();
        for gap in out.iter().flat_map(|id| unmet(set, id, |id| listings.get(id))) {
            let is_to_come =
                order.package(&gap.needed.to_string()).is_some() && !self.is_out(&gap.needed);
            // What is not out yet is brought by the next run.
            let worth = if is_to_come { Verdict::Incomplete } else { Verdict::Blocked };
            let what = format!("it is out, and cannot be used: {gap}");
            self.object(&gap.by, worth, Mishap::Unmet, what);
            self.unmet.push(UnmetNeed {
                package: gap.by.to_string(),
                needs: gap.needed.to_string(),
                range: gap.range,
            });
        }
    }
}

/// Whether a package of an order needs this one, as it was packed.
fn needs(order: &PublishOrder, set: &PackedSet, needed: &PackageId) -> bool {
    order.packages.iter().any(|package| {
        let id = package.id();
        let needs = set.package(&id).map(|packed| packed.needs(id.ecosystem()));
        needs.is_some_and(|needs| needs.iter().any(|(id, _)| id == needed))
    })
}
