//! Queues, limits and figures: what work waits for, and how that goes.
//!
//! Why one step waits is said by its run, in [`super::runs`].

use axum::body::Body;
use axum::http::HeaderMap;
use axum::http::header::{ACCEPT, CONTENT_TYPE};
use axum::response::{IntoResponse as _, Response};
use tidewheel_client::api::{Figures, Health, LimitList, QueueList};

use crate::door::{Call, document, json};
use crate::exposition::{Dialect, exposition};
use crate::problem::Problem;
use crate::table::{Form, Gives, Permission, Route, Takes, Verb};

pub(super) const ROUTES: &[Route] = &[
    Route {
        name: "list-queues",
        about: "Lists queues, with what waits in them.",
        verb: Verb::Get,
        path: "/api/v1/queues",
        permission: Permission::Viewer,
        query: None,
        takes: Takes::Nothing,
        gives: Gives::Document(Form::of::<QueueList>()),
        changes: false,
        answer: |call| Box::pin(queues(call)),
    },
    Route {
        name: "list-limits",
        about: "Lists limits.",
        verb: Verb::Get,
        path: "/api/v1/limits",
        permission: Permission::Viewer,
        query: None,
        takes: Takes::Nothing,
        gives: Gives::Document(Form::of::<LimitList>()),
        changes: false,
        answer: |call| Box::pin(limits(call)),
    },
    Route {
        name: "stats",
        about: "Says how the scheduler does, in figures.",
        verb: Verb::Get,
        path: "/api/v1/stats",
        permission: Permission::Viewer,
        query: None,
        takes: Takes::Nothing,
        gives: Gives::Document(Form::of::<Figures>()),
        changes: false,
        answer: |call| Box::pin(stats(call)),
    },
    Route {
        name: "metrics",
        about: "Says the same for monitoring: as JSON, or as text for Prometheus where text or OpenMetrics is asked \
                for.",
        verb: Verb::Get,
        path: "/metrics",
        permission: Permission::Figures,
        query: None,
        takes: Takes::Nothing,
        gives: Gives::Document(Form::of::<Figures>()),
        changes: false,
        answer: |call| Box::pin(metrics(call)),
    },
    Route {
        name: "health-detail",
        about: "Says whether the scheduler is healthy, and why it is not.",
        verb: Verb::Get,
        path: "/health/detail",
        permission: Permission::Viewer,
        query: None,
        takes: Takes::Nothing,
        gives: Gives::Document(Form::of::<Health>()),
        changes: false,
        answer: |call| Box::pin(health(call)),
    },
];

async fn queues(call: Call) -> Result<Response, Problem> {
    document(call.server.house()?.queues().await?)
}

async fn limits(call: Call) -> Result<Response, Problem> {
    document(call.server.house()?.limits().await?)
}

async fn stats(call: Call) -> Result<Response, Problem> {
    document(call.server.house()?.figures())
}

async fn metrics(call: Call) -> Result<Response, Problem> {
    let figures = call.server.house()?.figures();
    let Some(dialect) = dialect_in(&call.headers) else { return json(&figures) };
    let text = exposition(&figures, dialect);
    Ok(([(CONTENT_TYPE, dialect.content_type())], Body::from(text)).into_response())
}

async fn health(call: Call) -> Result<Response, Problem> {
    document(call.server.health()?)
}

/// Which text is asked for, if it is text: what others send who would take anything is JSON.
fn dialect_in(headers: &HeaderMap) -> Option<Dialect> {
    let accept = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let mut kinds = accept.flat_map(|value| value.split(',')).filter_map(|part| {
        match part.split(';').next().unwrap_or_default().trim() {
            "application/openmetrics-text" => Some(Some(Dialect::OpenMetrics)),
            "text/plain" => Some(Some(Dialect::Prometheus)),
            "application/json" => Some(None),
            _ => None,
        }
    });
    kinds.next().flatten()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test")]

    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn text_is_given_only_to_those_who_ask_for_it() {
        let asked = |accept: &str| {
            let headers = [(ACCEPT, HeaderValue::from_str(accept).unwrap())];
            dialect_in(&headers.into_iter().collect())
        };
        assert_eq!(dialect_in(&HeaderMap::new()), None);
        for json in ["*/*", "application/json", "application/json, text/plain", "text/html,*/*"] {
            assert_eq!(asked(json), None, "{json}");
        }
        assert_eq!(asked("text/plain"), Some(Dialect::Prometheus));
        assert_eq!(asked("text/plain; version=0.0.4"), Some(Dialect::Prometheus));
        let prometheus =
            "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;q=0.3,*/*;q=0.1";
        assert_eq!(asked(prometheus), Some(Dialect::OpenMetrics));
    }
}
