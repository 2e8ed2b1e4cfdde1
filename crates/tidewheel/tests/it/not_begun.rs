//! What has not begun, or cannot begin again: requests to stop before the first poll, preemption of plain
//! futures, and questions about another wheel's tasks.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::common::{Log, builder, seconds, settle};
use tidewheel::{Cancel, Graph, QueueSpec, Shutdown, TaskError, TaskState};

/// Counts how often it was run.
fn counted(count: &Arc<AtomicUsize>) -> impl Future<Output = ()> + Send + 'static {
    let count = Arc::clone(count);
    async move {
        count.fetch_add(1, Ordering::SeqCst);
    }
}

/// On one thread, what is told to stop in the same breath it was submitted has not been polled.
#[tokio::test]
async fn what_is_ended_before_its_first_poll_never_runs() {
    let wheel = builder().slots(100).start();
    let count = Arc::new(AtomicUsize::new(0));

    drop(wheel.submit_normal(counted(&count)));
    let cancelled = wheel.submit_normal(counted(&count));
    cancelled.cancel(Cancel::now());
    let inner = Arc::clone(&count);
    let again = wheel.task(move || {
        // Also what comes before its future.
        inner.fetch_add(1, Ordering::SeqCst);
        async { Ok::<(), std::io::Error>(()) }
    });
    let again = again.submit();
    again.cancel(Cancel::now());
    settle().await;
    assert!(cancelled.await.is_err() && again.await.is_err());

    let inner = Arc::clone(&count);
    let code = move |_| {
        inner.fetch_add(1, Ordering::SeqCst);
        async {}
    };
    let run = wheel.run(Graph::numbered(50, []).unwrap(), code).start().unwrap();
    run.cancel(Cancel::now());
    let report = run.report().await.unwrap();
    assert_eq!(report.counts().of(TaskState::Succeeded), 0, "{}", report.counts());

    let submission = wheel.submit_normal(counted(&count));
    wheel.shutdown(Shutdown::reject().after(Duration::ZERO)).await;
    assert!(submission.await.is_err());
    assert_eq!(count.load(Ordering::SeqCst), 0);
    wheel.check();
}

/// A future that was begun cannot be run again: it keeps its slot.
#[tokio::test(start_paused = true)]
async fn a_plain_future_never_gives_way() {
    let log = Log::default();
    let queue = QueueSpec { preempt: true, ..QueueSpec::default() };
    let wheel = builder().slots(1).queue("default", queue).start();
    let inner = log.clone();
    let plain = wheel.submit(10, async move {
        inner.add("begun");
        tokio::time::sleep(seconds(5)).await;
        inner.add("done");
        7
    });
    settle().await;
    let inner = log.clone();
    let important = wheel.submit(100, async move { inner.add("important") });
    assert_eq!(plain.await.unwrap(), 7);
    important.await.unwrap();
    assert_eq!(log.take(), ["begun", "done", "important"]);
    wheel.check();
}

/// Options that nobody uses any more are forgotten; those of plain submissions must not be among them.
#[tokio::test(start_paused = true)]
async fn plain_submissions_are_treated_as_such_whatever_options_came_between() {
    async fn nothing() -> Result<(), TaskError> {
        Ok(())
    }
    let wheel = builder().slots(1).start();
    for number in 1..3_000 {
        let task = wheel.task(nothing).attempt_timeout(seconds(number)).submit();
        task.await.unwrap();
    }
    let plain = wheel.submit_normal(tokio::time::sleep(seconds(100_000)));
    let other = wheel.task(nothing).attempt_timeout(Duration::from_millis(1)).submit();
    plain.await.unwrap();
    other.await.unwrap();
    wheel.check();
}

#[tokio::test]
async fn a_wheel_does_not_explain_the_tasks_of_another_one() {
    let (one, other) = (builder().paused().start(), builder().paused().start());
    let mine = one.submit_normal(async {});
    let _theirs = other.submit_normal(async {});
    assert!(one.explain(&mine).is_ok());
    assert!(other.explain(&mine).is_err());
    let run = one.run(Graph::numbered(1, []).unwrap(), |_| async {}).start().unwrap();
    assert!(one.explain(run.task("0")).is_ok());
    assert!(other.explain(run.task("0")).is_err());
}
