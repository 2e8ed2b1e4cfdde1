//! All routes there are.
//!
//! Each room has its own, in `routes`.

use super::Route;
use crate::page::PAGES;
use crate::routes::ROOMS;

/// The table: every route that is served.
pub fn routes() -> impl Iterator<Item = &'static Route> {
    ROOMS.iter().chain(PAGES.iter()).flat_map(|room| room.iter())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::table::{Permission, Takes, Verb};

    #[test]
    fn every_route_is_one_of_a_kind() {
        let all: Vec<&Route> = routes().collect();
        let names: BTreeSet<&str> = all.iter().map(|route| route.name).collect();
        let places: BTreeSet<(&str, Verb)> =
            all.iter().map(|route| (route.path, route.verb)).collect();
        assert_eq!((names.len(), places.len()), (all.len(), all.len()));
    }

    #[test]
    fn what_looks_changes_nothing_and_what_changes_needs_a_role() {
        for route in routes() {
            let looks = route.verb == Verb::Get;
            assert!(!(looks && route.changes), "{route:?}");
            assert!(!looks || matches!(route.takes, Takes::Nothing), "{route:?}");
            let is_open = matches!(
                route.permission,
                Permission::Public | Permission::Figures | Permission::Flowtoy
            );
            // Whoever logs in has no role yet: a link is what they have.
            assert!(!(route.changes && is_open) || route.name == "log-in", "{route:?}");
        }
    }

    #[test]
    fn what_has_something_run_needs_an_operator_and_the_audit_log_an_admin() {
        let running = [
            "start-run",
            "retry-run",
            "resume-run",
            "answer-step",
            "fire-schedule",
            "backfill-schedule",
            "resume-schedule",
        ];
        let of = |name: &str| routes().find(|route| route.name == name).map(|it| it.permission);
        for name in running {
            assert_eq!(of(name), Some(Permission::Operator), "{name}");
        }
        for name in ["list-audit", "verify-audit"] {
            assert_eq!(of(name), Some(Permission::Admin), "{name}");
        }
    }

    #[test]
    fn the_few_routes_without_a_role_are_known() {
        let open = routes().filter(|route| route.permission == Permission::Public);
        let open: BTreeSet<&str> = open.map(|route| route.name).collect();
        let known = ["health-live", "health-ready", "log-in", "login-page", "page-asset"];
        assert_eq!(open, BTreeSet::from(known));
        let signed = routes().filter(|route| route.permission == Permission::Signature);
        assert_eq!(signed.map(|route| route.name).collect::<Vec<_>>(), ["deliver"]);
    }

    #[test]
    fn what_a_signature_is_for_is_let_in_by_a_signature_alone() {
        for route in routes() {
            let is_signed = matches!(route.takes, Takes::Signed(_));
            assert_eq!(is_signed, route.permission == Permission::Signature, "{route:?}");
        }
    }
}
