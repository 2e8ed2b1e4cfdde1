//! [`take_back`]: what a publish has brought out is taken back, as far as registries let anybody.
//!
//! Nothing is deleted, and what somebody else has brought out is left alone.

use super::journal::Journal;
use super::order::PublishOrder;
use super::publisher::Publisher;
use crate::pack::PackedSet;
use crate::package::Ecosystem;
use crate::plan::Class;

/// What became of a package that was to be taken back.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct TakenBack {
    /// The package.
    pub package: String,
    /// Its version.
    pub version: String,
    /// How its registry does it: `yank`, `deprecate`, `by hand`.
    pub way: &'static str,
    /// `out`, `not out`, `taken back`; `out before` if an earlier publish, or somebody else, has brought it out.
    pub state: &'static str,
    /// Why it could not be.
    pub error: Option<String>,
}

/// Takes back what is out of an order with our contents, last things first, for a reason; without one it only says what
/// would be done.
pub async fn take_back(
    publisher: &Publisher,
    order: &PublishOrder,
    reason: Option<&str>,
) -> Vec<TakenBack> {
    let set = PackedSet::load(&order.packed);
    let targets = publisher.targets(order);
    let mut taken = Vec::new();
    for package in order.packages.iter().rev() {
        let id = package.id();
        let mut it = TakenBack {
            package: id.to_string(),
            version: package.version.clone(),
            way: way(id.ecosystem()),
            state: "not out",
            error: None,
        };
        let ours = set.as_ref().and_then(|set| set.digests(&id)).unwrap_or_default();
        let Some(target) = targets.get(&id) else {
            it.error = Some("nobody says where it went".to_owned());
            taken.push(it);
            continue;
        };
        let was_sent = Journal::load(&Journal::path(&order.packed, &id)).sent;
        match publisher.client.listing_of(target, &id, &package.version).await {
            Ok(listing) => match Class::of(&id, &listing, &package.version, &ours) {
                _ if package.is_out && !was_sent => it.state = "out before",
                Class::Done | Class::Partial { .. } if !was_sent => it.state = "out before",
                Class::Done | Class::Partial { .. } => it.state = "out",
                Class::Yanked => it.state = "taken back",
                _ => {}
            },
            Err(trouble) => it.error = Some(trouble.to_string()),
        }
        if let Some(reason) = reason.filter(|_| it.state == "out") {
            match publisher.client.take_back(target, &id, &package.version, reason).await {
                Ok(()) => it.state = "taken back",
                Err(trouble) => it.error = Some(trouble.to_string()),
            }
        }
        taken.push(it);
    }
    taken
}

fn way(ecosystem: Ecosystem) -> &'static str {
    match ecosystem {
        Ecosystem::Cargo => "yank",
        Ecosystem::Npm => "deprecate",
        Ecosystem::Python => "by hand",
    }
}
