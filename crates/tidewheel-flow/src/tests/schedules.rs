//! What files say of schedules, and what is made of it.

use std::time::Duration;

use serde_json::json;
use tidewheel::schedule::{Overlap, Span, Trigger};

use super::load_texts;
use crate::{Arrivals, EventKind, SignatureForm};

#[test]
fn everything_a_schedule_can_say_is_read() {
    let text = "
flow: [{ name: a, run: x, queue: slow }]
queues: { slow: { waiting_max: 7 } }
schedule:
  name: office
  cron: '*/10 8-18 * * mon-fri'
  zone: Europe/Zurich
  misfire_grace: 30s
  times: 5
  from: 2026-02-01T00:00:00Z
  exclude: { from: '2026-12-24T00:00:00Z', until: '2027-01-03T00:00:00Z' }
  backoff: 10s
  backoff_max: 5m
";
    let loaded = load_texts(&[("f.yaml", text)]);
    let flow = loaded.runnable().unwrap_or_else(|| panic!("{:?}", loaded.problems));
    assert_eq!(flow.queues["slow"].waiting_max, Some(7));
    let [schedule] = &flow.schedules[..] else { panic!("one") };
    assert_eq!(schedule.name.as_deref(), Some("office"));
    let at = |text: &str| text.parse().expect("an instant");
    let spec = &schedule.spec;
    assert_eq!((spec.misfire_grace, spec.max_firings), (Duration::from_secs(30), Some(5)));
    assert_eq!(spec.window, Some(Span::since(at("2026-02-01T00:00:00Z"))));
    let holidays = Span::new(at("2026-12-24T00:00:00Z"), at("2027-01-03T00:00:00Z"));
    assert_eq!(spec.exclusions, [holidays]);
    let backoff = spec.backoff.as_ref().map(|retry| (retry.backoff.base, retry.backoff.cap));
    assert_eq!(backoff, Some((Duration::from_secs(10), Duration::from_secs(300))));
}

#[test]
fn bounds_that_make_no_sense_are_refused_at_their_place() {
    for (said, code) in [
        ("from: yesterday", "bad-value"),
        ("from: '2027-01-01T00:00:00Z', until: '2026-01-01T00:00:00Z'", "contradiction"),
        ("exclude: { from: '2026-01-01T00:00:00Z', until: never }", "bad-value"),
        ("exclude: [{ from: '2026-01-01T00:00:00Z' }]", "missing-key"),
    ] {
        let text =
            format!("flow: [{{ name: a, run: x }}]\nschedule: {{ cron: '@daily', {said} }}\n");
        let loaded = load_texts(&[("f.yaml", &text)]);
        let codes: Vec<&str> = loaded.problems.iter().map(|problem| problem.code).collect();
        assert_eq!(codes, [code], "{said}");
        assert!(loaded.problems.iter().all(|problem| problem.span.is_some()), "{said}");
    }
}

/// A server would refuse it when it sets it, which may be long after the file was checked.
#[test]
fn a_schedule_that_never_fires_is_refused() {
    for (cron, message, hint) in [
        ("@reboot", "`@reboot` names no instant", "`tidewheel serve FILE` runs flows once"),
        ("0 0 30 2 *", "no date matches `0 0 30 2 *`", "tidewheel schedule next"),
        ("0 0 31 4,6,9,11 *", "no date matches", "tidewheel schedule next"),
    ] {
        for said in [format!("'{cron}'"), format!("{{ cron: '{cron}', zone: Europe/Zurich }}")] {
            let text = format!("flow: [{{ name: a, run: x }}]\nschedule: {said}\n");
            let loaded = load_texts(&[("f.yaml", &text)]);
            let found: Vec<_> = loaded.problems.iter().collect();
            let [problem] = &found[..] else { panic!("{said}: {found:?}") };
            assert_eq!(problem.code, "bad-cron", "{said}");
            assert!(problem.message.contains(message), "{problem:?}");
            assert!(problem.hint.as_deref().is_some_and(|it| it.contains(hint)), "{problem:?}");
            let span = problem.span.expect("a place");
            assert_eq!(text[span.start as usize..span.end as usize].trim_matches('\''), cron);
        }
    }
    let rare = load_texts(&[("f.yaml", "flow: [{ name: a, run: x }]\nschedule: 0 0 29 2 *\n")]);
    assert!(rare.runnable().is_some(), "{:?}", rare.problems);
}

#[test]
fn webhooks_and_files_are_read_with_their_params() {
    let text = "
flow: [{ name: a, run: x }]
secrets: { old: { env: OLD }, new: { env: NEW } }
params: { ref: { type: text }, path: { default: none }, fixed: 1 }
schedule:
  - webhook: { secret: [new, old], signature: github }
    params: { ref: '{{ webhook.body.ref }}', fixed: 2 }
  - { name: in, files: 'in/*.csv', overlap: skip, params: { ref: x, path: '{{ file.path }}' } }
";
    let loaded = load_texts(&[("f.yaml", text)]);
    let flow = loaded.runnable().unwrap_or_else(|| panic!("{:?}", loaded.problems));
    let [hook, files] = &flow.schedules[..] else { panic!("two") };
    let Some(Arrivals::Webhook(webhook)) = &hook.arrivals else { panic!("a webhook") };
    assert_eq!(
        (&webhook.secrets[..], webhook.tolerance.as_secs()),
        (&["new".to_owned(), "old".to_owned()][..], 300)
    );
    assert_eq!(webhook.signature, SignatureForm::Github);
    assert_eq!((hook.spec.trigger.clone(), hook.spec.overlap), (Trigger::Custom, Overlap::Allow));
    let params = hook.params_of(&json!({ "body": { "ref": "main" } }));
    assert_eq!(json!(params), json!({ "Ok": { "ref": "main", "fixed": 2 } }));
    let missing = hook.params_of(&json!({ "body": {} })).expect_err("there is no ref");
    assert!(missing.contains("params.ref"), "{missing}");
    assert_eq!(json!(hook.params), json!({ "fixed": 2 }), "what needs nothing of it");
    let Some(Arrivals::Files(pattern)) = &files.arrivals else { panic!("files") };
    assert!(pattern.ends_with("in/*.csv"), "{pattern:?}");
    assert_eq!((files.spec.overlap, files.text.as_str()), (Overlap::Skip, "files in/*.csv"));
}

#[test]
fn what_cannot_arrive_is_refused_at_its_place() {
    for (said, codes) in [
        ("webhook: { secret: hoook }", vec!["unknown-name"]),
        ("webhook: { signature: github }", vec!["missing-key"]),
        ("webhook: { insecure: false }", vec!["missing-key"]),
        ("webhook: { insecure: true }", vec!["insecure"]),
        ("webhook: { insecure: true, tolerance: 1m }", vec!["insecure", "no-effect"]),
        ("webhook: { insecure: true, secret: hook }", vec!["contradiction"]),
        ("webhook: { secret: [hook, hook, hook] }", vec!["bad-value"]),
        ("webhook: { secret: hook, tolerance: 2h }", vec!["bad-value"]),
        ("webhook: { secret: hook, signature: github, tolerance: 1m }", vec!["no-effect"]),
        ("webhook: { secret: hook }, params: { reff: x }", vec!["unknown-name"]),
        ("webhook: { secret: hook }, params: { ref: '{{ file.path }}' }", vec!["unknown-name"]),
        ("webhook: { secret: hook }, params: { ref: '{{ params.ref }}' }", vec!["wrong-place"]),
        ("files: 'in/***'", vec!["bad-value"]),
        ("files: ''", vec!["bad-value"]),
        ("events: { of: '*' }", vec!["missing-key"]),
        ("events: { on: deadline }", vec!["missing-key"]),
        ("events: { on: failure, deadline: 1h }", vec!["no-effect"]),
        ("events: { on: failure, of: 'a[' }", vec!["bad-value"]),
        ("files: '{{ params.ref }}/*'", vec!["wrong-place"]),
        ("files: '*.csv', webhook: { secret: hook }", vec!["contradiction"]),
    ] {
        let text = format!(
            "flow: [{{ name: a, run: x }}]\nsecrets: {{ hook: {{ env: HOOK }} }}\n\
             params: {{ ref: {{ default: x }} }}\nschedule: {{ {said} }}\n"
        );
        let loaded = load_texts(&[("f.yaml", &text)]);
        let found: Vec<&str> = loaded.problems.iter().map(|problem| problem.code).collect();
        assert_eq!(found, codes, "{said}");
        assert!(loaded.problems.iter().all(|problem| problem.span.is_some()), "{said}");
    }
    let text =
        "flow: [{ name: a, run: x }]\nparams: { path: { type: text } }\nschedule: { files: '*' }\n";
    let loaded = load_texts(&[("f.yaml", text)]);
    let codes: Vec<&str> = loaded.problems.iter().map(|problem| problem.code).collect();
    assert_eq!(codes, ["missing-param"]);
}

#[test]
fn events_say_which_news_of_which_flows() {
    let text = "
flow: [{ name: a, run: x }]
notify: alert
params: { text: { type: text } }
schedule:
  events: { on: [late, failure], of: ['db-*', nightly] }
  params: { text: '{{ event.text }}' }
";
    let loaded = load_texts(&[("f.yaml", text)]);
    let flow = loaded.runnable().unwrap_or_else(|| panic!("{:?}", loaded.problems));
    assert_eq!(flow.notify, ["alert"]);
    let [schedule] = &flow.schedules[..] else { panic!("one") };
    let Some(Arrivals::Events(events)) = &schedule.arrivals else { panic!("events") };
    assert_eq!(
        (&events.on[..], events.deadline),
        (&[EventKind::Failure, EventKind::Late][..], None)
    );
    let of = ["db-backup", "nightly", "nightly2", "x"].map(|flow| events.is_of(flow));
    assert_eq!((of, schedule.text.as_str()), ([true, true, false, false], "events late, failure"));
    let heard = schedule.params_of(&json!({ "text": "x failed" }));
    assert_eq!(json!(heard), json!({ "Ok": { "text": "x failed" } }));
}
