//! Spans as OTLP says, in JSON: the form that collectors take over HTTP.
//!
//! What a span is, is in [`super::spans`].

use serde_json::{Value as Json, json};
use tidewheel::Timestamp;

use super::spans::{Fact, Span};

/// It is neither sent nor received, but done here.
const INTERNAL: u32 = 1;

/// Whether it went well, as OTLP counts: nothing said, or not.
const WRONG: u32 = 2;

/// A request with these spans.
pub(super) fn request(spans: &[Span]) -> Json {
    let version = env!("CARGO_PKG_VERSION");
    let resource = [
        ("service.name", Fact::Text("tidewheel".to_owned())),
        ("service.version", Fact::Text(version.to_owned())),
    ];
    json!({
        "resourceSpans": [{
            "resource": { "attributes": attributes(&resource) },
            "scopeSpans": [{
                "scope": { "name": "tidewheel", "version": version },
                "spans": spans.iter().map(span).collect::<Vec<Json>>(),
            }],
        }],
    })
}

fn span(span: &Span) -> Json {
    let mut form = json!({
        "traceId": format!("{:032x}", span.trace),
        "spanId": format!("{:016x}", span.id),
        "name": span.name,
        "kind": INTERNAL,
        "startTimeUnixNano": nanos(span.from),
        "endTimeUnixNano": nanos(span.to),
        "attributes": attributes(&span.facts),
        "status": {},
    });
    if let Some(parent) = span.parent {
        form["parentSpanId"] = json!(format!("{parent:016x}"));
    }
    if let Some(error) = &span.error {
        form["status"] = json!({ "code": WRONG, "message": error });
    }
    form
}

/// Numbers that may be larger than those of JavaScript are texts.
fn nanos(at: Timestamp) -> String {
    (i128::from(at.as_micros().max(0)) * 1_000).to_string()
}

fn attributes(facts: &[(&'static str, Fact)]) -> Vec<Json> {
    let value = |fact: &Fact| match fact {
        Fact::Text(text) => json!({ "stringValue": text }),
        Fact::Number(number) => json!({ "intValue": number.to_string() }),
    };
    facts.iter().map(|(name, fact)| json!({ "key": name, "value": value(fact) })).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_has_the_form_that_collectors_take() {
        let made = Span {
            trace: 0xab,
            id: 0xcd,
            parent: Some(1),
            name: "copy".to_owned(),
            from: Timestamp::from_micros(1_700_000_000_000_001),
            to: Timestamp::from_micros(1_700_000_000_500_000),
            error: Some("exit code 1".to_owned()),
            facts: vec![("tidewheel.attempt", Fact::Number(2))],
        };
        let whole = request(&[made]);
        let of_server = &whole["resourceSpans"][0];
        assert_eq!(of_server["resource"]["attributes"][0]["value"]["stringValue"], "tidewheel");
        assert_eq!(
            of_server["scopeSpans"][0]["spans"][0],
            json!({
                "traceId": "000000000000000000000000000000ab",
                "spanId": "00000000000000cd",
                "parentSpanId": "0000000000000001",
                "name": "copy",
                "kind": 1,
                "startTimeUnixNano": "1700000000000001000",
                "endTimeUnixNano": "1700000000500000000",
                "attributes": [{ "key": "tidewheel.attempt", "value": { "intValue": "2" } }],
                "status": { "code": 2, "message": "exit code 1" },
            })
        );
    }
}
