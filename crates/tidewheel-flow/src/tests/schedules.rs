//! What files say of schedules, and what is made of it.

use std::time::Duration;

use tidewheel::schedule::Span;

use super::load_texts;

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
