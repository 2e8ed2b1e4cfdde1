//! Steps that send a request.
//!
//! Whether a failed one is sent again is decided by the scheduler.

use serde_json::{Map, Value as Json, json};
use tidewheel::executor::http::{Data, HttpEnd, HttpFailure, HttpRequest, IdempotencyScope};
use tidewheel::store::AttemptRecord;
use tidewheel::task::Reason;
use tidewheel::{Attempt, Outcome};

use super::end::{Success, Trouble};
use super::runner::FlowRunner;
use crate::definition::{HttpBody, HttpWork, Idempotency, InputMode, Step};
use crate::language::template::Context;
use crate::language::tree::{Tree, text_of};

impl FlowRunner {
    pub(super) async fn send(
        &self,
        step: &Step,
        work: &HttpWork,
        input: Option<Json>,
        context: &Context,
        attempt: &Attempt,
    ) -> Result<Success, Trouble> {
        let mut request = request(work, input, context)?;
        // Each round is work of its own.
        if step.repeat.is_some() && work.idempotency.is_none() {
            request = request.idempotency(IdempotencyScope::Attempt);
        }
        self.send_request(work, request, attempt).await
    }

    /// Asks once, for a step that waits for an answer: each look is a question of its own, and asks for
    /// nothing that must not be done twice.
    pub(super) async fn ask(
        &self,
        work: &HttpWork,
        context: &Context,
        attempt: &Attempt,
    ) -> Result<Success, Trouble> {
        let mut request = request(work, None, context)?;
        if work.idempotency.is_none() {
            request = request.idempotency(IdempotencyScope::Attempt);
        }
        self.send_request(work, request.repeatable(true), attempt).await
    }

    async fn send_request(
        &self,
        work: &HttpWork,
        request: HttpRequest,
        attempt: &Attempt,
    ) -> Result<Success, Trouble> {
        let sent = tokio::select! {
            sent = self.means.world.send(attempt, &request) => sent,
            // Nothing would be gained by waiting for the answer.
            () = attempt.cancelled() => return Err(stopped(&request, attempt)),
        };
        match sent {
            Ok(end) => Ok(success(work, end, attempt)),
            Err(failure) => Err(self.trouble(failure, &request)),
        }
    }

    /// What the other side said may be what it was told, and it is cut at some place.
    fn trouble(&self, mut failure: HttpFailure, request: &HttpRequest) -> Trouble {
        let not_again = failure.why_not_again(request).map(|why| {
            let is_told = failure.message.ends_with(&why);
            if is_told { String::new() } else { why }
        });
        failure.message = self.secrets.mask_cut(&failure.message);
        let code = failure.status.map(i32::from);
        let tail = failure.excerpt.as_deref().map(|excerpt| self.secrets.mask_cut(excerpt));
        let warnings = failure.warnings.iter().map(|it| it.in_words()).collect();
        let record = AttemptRecord { code, tail, warnings, ..AttemptRecord::default() };
        let was_answered = failure.status.is_some();
        Trouble { was_answered, not_again, ..Trouble::of(failure.outcome()).with_record(record) }
    }
}

/// What is left of a request that was told to stop.
fn stopped(request: &HttpRequest, attempt: &Attempt) -> Trouble {
    let trouble = Trouble::of(Outcome::Cancelled);
    if request.is_repeatable() || attempt.stop_reason() != Some(Reason::AttemptTimeout) {
        return trouble;
    }
    let error = "its time was up while it was under way; not tried again: it may have been done \
                 already, and it is not safe to repeat (`repeatable` says that it is)";
    trouble.with_record(AttemptRecord { error: Some(error.to_owned()), ..AttemptRecord::default() })
}

/// Everything of a request that its answer may depend on, the input of the step excepted.
pub(super) fn about(work: &HttpWork, context: &Context) -> Result<Json, Trouble> {
    let render = |tree: &Option<Tree>| match tree {
        Some(tree) => tree.render(context).map_err(Trouble::from),
        None => Ok(Json::Null),
    };
    let pairs = |pairs: &[(String, Tree)]| -> Result<Json, Trouble> {
        let pair = |(name, tree): &(String, Tree)| Ok(json!([name, tree.render(context)?]));
        pairs.iter().map(pair).collect()
    };
    let body = match &work.body {
        HttpBody::None => Json::Null,
        HttpBody::Json(tree) => json!({ "json": tree.render(context)? }),
        HttpBody::Text { text, content_type } => {
            json!({ "text": text.render(context)?, "type": render(content_type)? })
        }
    };
    Ok(json!({
        "url": work.url.render(context)?,
        "method": render(&work.method)?,
        "headers": pairs(&work.headers)?,
        "query": pairs(&work.query)?,
        "body": body,
        "input_mode": format!("{:?}", work.input_mode),
        "accept_status": work.accept_status,
        "redirects": work.redirects,
        "bytes_max": work.bytes_max,
        "accepts_any_certificate": work.accepts_any_certificate,
    }))
}

fn request(
    work: &HttpWork,
    input: Option<Json>,
    context: &Context,
) -> Result<HttpRequest, Trouble> {
    let method = match &work.method {
        Some(tree) => tree.render_text(context)?.to_ascii_uppercase(),
        None => "GET".to_owned(),
    };
    let mut request = HttpRequest::new(method, work.url.render_text(context)?);
    for (name, tree) in &work.headers {
        let value = tree.render_text(context)?;
        request = match tree.uses("secrets") {
            true => request.secret_header(name, value),
            false => request.header(name, value),
        };
    }
    for (name, tree) in &work.query {
        request = with_query(request, name, &tree.render(context)?);
    }
    request = match &work.body {
        HttpBody::None => request,
        HttpBody::Json(tree) => request.json(tree.render(context)?),
        HttpBody::Text { text, content_type } => {
            let content_type = match content_type {
                Some(tree) => tree.render_text(context)?,
                None => "text/plain; charset=utf-8".to_owned(),
            };
            request.body(content_type, text.render_text(context)?.into_bytes())
        }
    };
    if let Some(input) = input {
        request = match &work.input_mode {
            InputMode::None => request,
            InputMode::Body => request.json(input),
            InputMode::Parameter(name) => match &input {
                // A mapping brings its own names.
                Json::Object(map) => {
                    map.iter().fold(request, |it, (name, value)| with_query(it, name, value))
                }
                input => with_query(request, name, input),
            },
        };
    }
    Ok(with_bounds(request, work))
}

fn with_bounds(mut request: HttpRequest, work: &HttpWork) -> HttpRequest {
    for (from, to) in &work.accept_status {
        request = request.accept_status(*from..=*to);
    }
    if let Some(timeout) = work.total_timeout {
        request = request.total_timeout(timeout);
    }
    if let Some(timeout) = work.read_timeout {
        request = request.read_timeout(timeout);
    }
    if let Some(redirects) = work.redirects {
        request = request.redirects_max(redirects);
    }
    if let Some(bytes) = work.bytes_max {
        request = request.body_max(bytes);
    }
    let scope = match work.idempotency {
        Some(Idempotency::Attempt) => IdempotencyScope::Attempt,
        Some(Idempotency::Step) | None => IdempotencyScope::Task,
        Some(Idempotency::None) => IdempotencyScope::None,
    };
    if let Some(repeatable) = work.repeatable {
        request = request.repeatable(repeatable);
    }
    request.idempotency(scope).accept_invalid_tls(work.accepts_any_certificate)
}

/// A list repeats the name; nothing is left out.
fn with_query(request: HttpRequest, name: &str, value: &Json) -> HttpRequest {
    match value {
        Json::Null => request,
        Json::Array(values) => {
            values.iter().fold(request, |it, value| it.query(name, text_of(value)))
        }
        value => request.query(name, text_of(value)),
    }
}

fn success(work: &HttpWork, end: HttpEnd, attempt: &Attempt) -> Success {
    let record = end.record(attempt);
    let takes_any = work.takes_any_json || end.header("content-type").is_none();
    let data = match end.data {
        Data::Empty => Json::String(String::new()),
        Data::Json(value) => value,
        Data::Text(text) => json_in(&text, takes_any).unwrap_or(Json::String(text)),
        Data::Bytes(bytes) => Json::String(String::from_utf8_lossy(&bytes).into_owned()),
    };
    let headers: Map<String, Json> =
        end.headers.into_iter().map(|(name, value)| (name, Json::String(value))).collect();
    Success { code: record.code, data, headers, record, ..Success::default() }
}

/// JSON that is not said to be any. A version number is no number where somebody says that it is text.
fn json_in(text: &str, takes_any: bool) -> Option<Json> {
    let is_more = text.trim_start().starts_with(['{', '[']);
    (takes_any || is_more).then(|| serde_json::from_str(text).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_found_where_nobody_speaks_of_it() {
        assert_eq!(json_in(" {\"a\": 1}\n", false), Some(json!({ "a": 1 })));
        assert_eq!(json_in("[1]", false), Some(json!([1])));
        for text in ["1.10", "true", "\"x\"", "null"] {
            assert_eq!(json_in(text, false), None, "{text}");
            assert_eq!(json_in(text, true), serde_json::from_str(text).ok(), "{text}");
        }
        for text in ["{a}", "[info] x", "<html>", "", "{} {}"] {
            assert_eq!(json_in(text, true), None, "{text}");
        }
    }
}
