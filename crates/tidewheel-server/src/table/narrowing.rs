//! [`Narrowing`]: what a route is to somebody who knows of some flows only.
//!
//! The flows themselves are told apart at the desk. Whether somebody may use a route at all is said by its [permission](super::Permission).

use super::Route;

/// What a route is to somebody who knows of some flows only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Narrowing {
    /// It is about one run, flow or schedule, which is not there if it is outside.
    Named,
    /// It tells of those within.
    Listed,
    /// It is about no flow.
    Aside,
    /// It is about all flows together, and refused.
    Whole,
}

/// Names in a path behind which a flow stands.
const NAMES: [&str; 3] = ["{run}", "{flow}", "{schedule}"];

/// Routes that are about a flow which is named in their body.
const NAMED: [&str; 2] = ["start-run", "plan-run"];

/// Routes that leave out what is outside.
const LISTED: [&str; 12] = [
    "list-runs",
    "list-flows",
    "list-schedules",
    "list-approvals",
    "glance",
    "line",
    "events",
    "page-overview",
    "page-flows",
    "page-runs",
    "page-schedules",
    "page-approvals",
];

/// Routes that say the same to everybody, or only who asks.
const ASIDE: [&str; 11] = [
    "health-live",
    "health-ready",
    "log-in",
    "login-page",
    "page-asset",
    "page-keys",
    "openapi",
    "me",
    "make-login-link",
    "log-out",
    "deliver",
];

impl Narrowing {
    /// What a route is. One that nobody has thought about is refused.
    #[must_use]
    pub fn of(route: &Route) -> Self {
        let is_named = route.path.split('/').any(|part| NAMES.contains(&part));
        match route.name {
            name if is_named || NAMED.contains(&name) => Self::Named,
            name if LISTED.contains(&name) => Self::Listed,
            name if ASIDE.contains(&name) => Self::Aside,
            _ => Self::Whole,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::routes;

    #[test]
    fn every_name_is_that_of_a_route() {
        for name in NAMED.iter().chain(&LISTED).chain(&ASIDE) {
            assert!(routes().any(|route| route.name == *name), "{name}");
        }
    }

    #[test]
    fn what_is_about_all_flows_is_known() {
        let whole = routes().filter(|route| Narrowing::of(route) == Narrowing::Whole);
        let mut whole: Vec<&str> = whole.map(|route| route.name).collect();
        whole.sort_unstable();
        let known = [
            "health-detail",
            "list-audit",
            "list-limits",
            "list-queues",
            "list-tokens",
            "make-token",
            "metrics",
            "page-queues",
            "page-system",
            "reload-flows",
            "revoke-token",
            "stats",
            "store",
            "verify-audit",
        ];
        assert_eq!(whole, known);
    }
}
