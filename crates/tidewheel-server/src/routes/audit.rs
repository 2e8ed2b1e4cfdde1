//! The audit log, read and verified.
//!
//! What is written into it is decided at the [door](crate::door).

use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;
use tidewheel_client::api::{AuditList, AuditVerified};
use utoipa::ToSchema;

use crate::audit::AuditError;
use crate::door::{Call, document};
use crate::problem::Problem;
use crate::settings::PAGE_MAX;
use crate::table::{Form, Gives, Permission, Route, Takes, Verb};

pub(super) const ROUTES: &[Route] = &[
    Route {
        name: "list-audit",
        about: "Lists what was written down of wishes to change something, newest first.",
        verb: Verb::Get,
        path: "/api/v1/audit",
        permission: Permission::Admin,
        query: Some(Form::of::<Page>()),
        takes: Takes::Nothing,
        gives: Gives::Document(Form::of::<AuditList>()),
        changes: false,
        answer: |call| Box::pin(list(call)),
    },
    Route {
        name: "verify-audit",
        about: "Finds out whether a row of the audit log was changed, removed or moved.",
        verb: Verb::Get,
        path: "/api/v1/audit/verify",
        permission: Permission::Admin,
        query: None,
        takes: Takes::Nothing,
        gives: Gives::Document(Form::of::<AuditVerified>()),
        changes: false,
        answer: |call| Box::pin(verify(call)),
    },
];

/// Which rows.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Page {
    /// Those before the row of this number.
    #[serde(default)]
    before: Option<u64>,
    /// At most so many.
    #[serde(default = "usual")]
    #[schema(minimum = 1, maximum = 500, default = 100)]
    limit: u32,
}

fn usual() -> u32 {
    100
}

impl From<AuditError> for Problem {
    fn from(error: AuditError) -> Self {
        let status = match &error {
            AuditError::Broken { .. } => StatusCode::CONFLICT,
            AuditError::Io { .. } => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Self::new(status, error.to_string())
    }
}

async fn list(call: Call) -> Result<Response, Problem> {
    let Page { before, limit } = call.query()?;
    if !(1..=PAGE_MAX).contains(&limit) {
        return Err(Problem::unfit(format!("a page has 1 to {PAGE_MAX} rows")));
    }
    let rows = reading(call, move |call| call.server.audit.newest(before, limit as usize)).await?;
    document(AuditList { version: None, rows })
}

async fn verify(call: Call) -> Result<Response, Problem> {
    let rows = reading(call, |call| call.server.audit.verify()).await?;
    document(AuditVerified { version: None, rows })
}

/// Reads files where nobody is held up.
async fn reading<T: Send + 'static>(
    call: Call,
    read: impl FnOnce(&Call) -> Result<T, AuditError> + Send + 'static,
) -> Result<T, Problem> {
    let read = tokio::task::spawn_blocking(move || read(&call)).await;
    Ok(read.map_err(|_| Problem::failed("the audit log was not read to its end"))??)
}
