//! [`Header`]: what a route listens to beside its path, its query and its body.
//!
//! Few do. What every route listens to (who asks, from where) is the business of the [door](crate::door).

use super::Route;

/// A header that changes what a route does.
#[derive(Debug, Clone, Copy)]
pub struct Header {
    /// The route, by its name.
    pub route: &'static str,
    /// What it is called.
    pub name: &'static str,
    /// What it does, in one sentence.
    pub about: &'static str,
    /// What it looks like.
    pub pattern: &'static str,
}

const HEADERS: &[Header] = &[
    Header {
        route: "start-run",
        name: "Idempotency-Key",
        about: "A name under which the run is accepted once, however often it is asked for.",
        pattern: "^[ -~]+$",
    },
    Header {
        route: "events",
        name: "Last-Event-ID",
        about: "The id of the last event that was seen: the stream goes on behind it.",
        pattern: "^[0-9a-f]+:[0-9]{1,18}$",
    },
];

/// The headers that a route listens to.
pub fn headers_of(route: &Route) -> impl Iterator<Item = &'static Header> + use<> {
    let name = route.name;
    HEADERS.iter().filter(move |header| header.route == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::routes;

    #[test]
    fn every_header_is_that_of_a_route() {
        let of_routes: usize = routes().map(|route| headers_of(route).count()).sum();
        assert_eq!(of_routes, HEADERS.len());
    }
}
