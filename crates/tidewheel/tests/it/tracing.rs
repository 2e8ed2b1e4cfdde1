//! Spans of runs, tasks and attempts, as a subscriber sees them.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::common::{seconds, until};
use tidewheel::schedule::Firing;
use tidewheel::store::Memory;
use tidewheel::{Graph, GraphError, Shutdown, Tidewheel};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Subscriber, info_span};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;

/// A span as it was seen.
#[derive(Debug, Default, Clone)]
struct Seen {
    name: String,
    target: String,
    parent: Option<String>,
    follows: Vec<String>,
    fields: BTreeMap<String, String>,
    /// Names of spans that were entered when an event of the task's own came.
    events: Vec<String>,
    is_closed: bool,
}

#[derive(Clone, Default)]
struct Capture(Arc<Mutex<BTreeMap<u64, Seen>>>);

struct Fields<'a>(&'a mut BTreeMap<String, String>);

impl Visit for Fields<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name().to_owned(), format!("{value:?}").trim_matches('"').to_owned());
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Capture {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let span = context.span(id).unwrap();
        let mut seen = Seen {
            name: span.name().to_owned(),
            target: attributes.metadata().target().to_owned(),
            parent: span.parent().map(|parent| parent.name().to_owned()),
            ..Seen::default()
        };
        attributes.record(&mut Fields(&mut seen.fields));
        self.0.lock().unwrap().insert(id.into_u64(), seen);
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, _: Context<'_, S>) {
        let mut seen = self.0.lock().unwrap();
        values.record(&mut Fields(&mut seen.get_mut(&id.into_u64()).unwrap().fields));
    }

    fn on_follows_from(&self, id: &Id, follows: &Id, context: Context<'_, S>) {
        let name = context.span(follows).unwrap().name().to_owned();
        self.0.lock().unwrap().get_mut(&id.into_u64()).unwrap().follows.push(name);
    }

    fn on_event(&self, event: &tracing::Event<'_>, context: Context<'_, S>) {
        if let Some(span) = context.event_span(event) {
            let mut seen = self.0.lock().unwrap();
            seen.get_mut(&span.id().into_u64())
                .unwrap()
                .events
                .push(event.metadata().name().into());
        }
    }

    fn on_close(&self, id: Id, _: Context<'_, S>) {
        self.0.lock().unwrap().get_mut(&id.into_u64()).unwrap().is_closed = true;
    }
}

impl Capture {
    fn named(&self, name: &str) -> Vec<Seen> {
        let seen = self.0.lock().unwrap();
        seen.values()
            .filter(|seen| seen.name == name && seen.target == "tidewheel")
            .cloned()
            .collect()
    }
}

#[tokio::test]
async fn a_task_follows_where_it_was_submitted_and_each_attempt_has_a_span() {
    let capture = Capture::default();
    let subscriber = tracing_subscriber::registry().with(capture.clone());
    let _default = tracing::subscriber::set_default(subscriber);
    let wheel = Tidewheel::builder().start();
    let request = wheel.task_with(|attempt| async move {
        tokio::task::yield_now().await;
        tracing::info!("inside");
        if attempt.number() == 1 { Err("not yet") } else { Ok(()) }
    });
    let request = request.retries(1).base_delay(Duration::ZERO);
    let submission = info_span!("request").in_scope(|| request.submit());
    let id = submission.id().unwrap().to_string();
    submission.await.unwrap();

    let tasks = capture.named("task");
    assert_eq!(tasks.len(), 1, "{tasks:?}");
    assert_eq!((&tasks[0].parent, &tasks[0].follows), (&None, &vec!["request".to_owned()]));
    assert_eq!(tasks[0].fields["run.id"], id);
    let attempts = capture.named("attempt");
    assert_eq!(attempts.len(), 2, "{attempts:?}");
    for (attempt, number) in attempts.iter().zip(["1", "2"]) {
        assert_eq!(attempt.parent.as_deref(), Some("task"));
        assert_eq!(attempt.fields["task.id"], format!("{id}/0"));
        assert_eq!(attempt.fields["attempt"], number);
        assert_eq!(attempt.events.len(), 1, "{attempt:?}");
        assert!(attempt.is_closed);
    }
    assert_eq!(attempts[0].fields["outcome"], "failed");
    assert_eq!(attempts[0].fields["error"], "not yet");
    assert_eq!(attempts[1].fields["outcome"], "succeeded");
}

#[tokio::test]
async fn attempts_of_a_graph_are_inside_the_span_of_their_run() {
    let capture = Capture::default();
    let subscriber = tracing_subscriber::registry().with(capture.clone());
    let _default = tracing::subscriber::set_default(subscriber);
    let wheel = Tidewheel::builder().start();
    let graph = Graph::from_edges([("a", "b")]).unwrap();
    let run = wheel.run(graph, |task| async move {
        assert!(task.name() != "b", "broken");
    });
    let run = info_span!("request").in_scope(|| run.name("nightly").start()).unwrap();
    let id = run.id().to_string();
    run.report().await.unwrap();
    let runs = capture.named("run");
    assert_eq!(runs.len(), 1);
    assert_eq!((&runs[0].parent, &runs[0].follows), (&None, &vec!["request".to_owned()]));
    assert_eq!((&*runs[0].fields["run.id"], &*runs[0].fields["run.name"]), (&*id, "nightly"));
    let attempts = capture.named("attempt");
    let told: Vec<_> =
        attempts.iter().map(|it| (&*it.fields["task.name"], &*it.fields["outcome"])).collect();
    assert_eq!(told, [("a", "succeeded"), ("b", "panicked")]);
    assert!(attempts.iter().all(|attempt| attempt.parent.as_deref() == Some("run")));
}

#[tokio::test]
async fn a_firing_has_a_span_of_its_own_that_follows_nothing() {
    let capture = Capture::default();
    let subscriber = tracing_subscriber::registry().with(capture.clone());
    let _default = tracing::subscriber::set_default(subscriber);
    let wheel = Tidewheel::builder().start();
    let later = || wheel.every(seconds(3600)).starting_after(seconds(3600));
    let task = later().retries(1).base_delay(Duration::ZERO);
    let task = task.run_with(|attempt| async move {
        if attempt.number() == 1 { Err("not yet") } else { Ok(()) }
    });
    let run = later().make_run(|firing: Firing| async move {
        let graph = Graph::from_edges([("a", "b")])?;
        Ok::<_, GraphError>(firing.run(graph, |_| async {}).name("nightly"))
    });
    let (task, run) = (task.unwrap(), run.unwrap());
    // Whoever asks for it is not whoever it is done for.
    info_span!("elsewhere").in_scope(|| {
        task.fire_now().unwrap();
        run.fire_now().unwrap();
    });
    let closed = |attempts: &[Seen]| attempts.iter().filter(|it| it.is_closed).count();
    until(|| closed(&capture.named("attempt")) == 4).await;
    for (name, attempts) in [("task", 2), ("run", 2)] {
        let works = capture.named(name);
        assert_eq!(works.len(), 1, "{works:?}");
        assert_eq!((&works[0].parent, works[0].follows.len()), (&None, 0));
        let inside = capture.named("attempt");
        let inside = inside.iter().filter(|it| it.parent.as_deref() == Some(name));
        let of_it = inside.filter(|it| it.fields["run.id"] == works[0].fields["run.id"]);
        assert_eq!(of_it.count(), attempts, "{name}");
    }
    until(|| capture.named("task")[0].is_closed && capture.named("run")[0].is_closed).await;
}

#[tokio::test]
async fn restored_work_has_spans_of_its_own() {
    let store = Memory::new();
    let wheel = Tidewheel::builder().store(store.clone()).start();
    wheel.pause();
    let submission = wheel.task(|| async { Ok::<_, String>(()) }).submit();
    let task = submission.accepted().await.unwrap().to_string();
    submission.detach();
    let graph = Graph::from_edges([("a", "b")]).unwrap();
    let run = wheel.run(graph, |_| async {}).name("nightly").start().unwrap().id().to_string();
    wheel.shutdown(Shutdown::persist()).await;
    drop(wheel);

    let capture = Capture::default();
    let subscriber = tracing_subscriber::registry().with(capture.clone());
    let _default = tracing::subscriber::set_default(subscriber);
    let wheel = info_span!("elsewhere").in_scope(|| {
        let wheel = Tidewheel::builder().store(store.clone()).adopt(|_| async {}).start();
        wheel.resume();
        wheel
    });
    until(|| store.unfinished() == 0).await;
    for (name, id, attempts) in [("task", &task, 1), ("run", &run, 2)] {
        let works = capture.named(name);
        assert_eq!(works.len(), 1, "{works:?}");
        assert_eq!((&works[0].parent, works[0].follows.len()), (&None, 0));
        assert_eq!(&works[0].fields["run.id"], id);
        let inside = capture.named("attempt");
        let inside = inside.iter().filter(|it| it.parent.as_deref() == Some(name));
        assert_eq!(inside.filter(|it| &it.fields["run.id"] == id).count(), attempts, "{name}");
    }
    assert_eq!(capture.named("run")[0].fields["run.name"], "nightly");
    drop(wheel);
}
