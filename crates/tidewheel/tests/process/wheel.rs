//! Processes as attempts of a wheel: timeouts and cancellations wait for the whole tree.
//!
//! What a process does by itself is in the other files.

use std::sync::Arc;
use std::time::Duration;

use tidewheel::clock::Clock;
use tidewheel::executor::process::{ProcessCommand, Processes};
use tidewheel::{Attempt, Cancel, Shutdown, TaskError, Tidewheel};
use tidewheel_testing::bounded;

use crate::Test;
use crate::scene::{Scene, block_on, until};

pub const TESTS: &[Test] = &[
    ("wheel::retry_after_a_timeout_meets_no_old_process", retry_meets_no_old_process),
    ("wheel::cancelled_task_ends_when_its_tree_is_gone", cancelled_task_ends_with_its_tree),
    ("wheel::second_stop_with_less_grace_counts", second_stop_with_less_grace_counts),
    ("wheel::end_becomes_a_record", end_becomes_a_record),
    #[cfg(feature = "sqlite")]
    ("wheel::page_on_processes_runs", page_on_processes_runs),
];

type Error = Box<dyn std::error::Error + Send + Sync>;

async fn step(
    processes: Processes,
    command: Arc<ProcessCommand>,
    attempt: Attempt,
) -> Result<(), Error> {
    let end = processes.run_attempt(&attempt, &command).await?;
    if end.status.is_success() { Ok(()) } else { Err(end.status.to_string().into()) }
}

fn retry_meets_no_old_process() {
    let scene = Scene::new();
    // The first attempt hangs and ignores TERM; the second fails if anything of it is left.
    let text = "if [ $TIDEWHEEL_ATTEMPT = 2 ]; then kill -0 $(cat pid) && exit 9; exit 0; fi
        trap '' TERM; sleep 1000 & echo $! > new; mv new pid; while :; do sleep 0.05; done";
    let command = Arc::new(scene.shell(text));
    block_on(async {
        let processes = scene.builder().grace(Duration::from_millis(20)).start().await.unwrap();
        let clock = Clock::virtual_at("2026-03-01T00:00:00Z".parse().unwrap());
        let wheel = Tidewheel::builder().clock(clock).start();
        let task =
            wheel.task_with(move |attempt| step(processes.clone(), Arc::clone(&command), attempt));
        let request = task.retries(1).base_delay(Duration::ZERO);
        let hour = Duration::from_secs(3_600);
        let submission = request.attempt_timeout(hour).submit();
        until("the first attempt hangs", || scene.path("pid").exists()).await;
        // Its time is over now; the second has an hour.
        tokio::time::pause();
        tokio::time::advance(hour).await;
        tokio::time::resume();
        submission.await.unwrap();
    });
    assert!(scene.living().is_empty());
}

fn cancelled_task_ends_with_its_tree() {
    let scene = Scene::new();
    let text = "trap '' TERM; sleep 1000 & touch up; while :; do sleep 0.05; done";
    let command = Arc::new(scene.shell(text));
    block_on(async {
        let processes = scene.processes().await;
        let wheel = Tidewheel::builder().start();
        let task =
            wheel.task_with(move |attempt| step(processes.clone(), Arc::clone(&command), attempt));
        let submission = task.submit();
        until("step is up", || scene.path("up").exists()).await;
        submission.cancel(Cancel::after(Duration::from_millis(20)));
        let error = submission.await.unwrap_err();
        assert!(matches!(error, TaskError::Cancelled(_)), "{error:?}");
        assert!(scene.living().is_empty(), "the tree is gone when the task has ended");
    });
}

fn second_stop_with_less_grace_counts() {
    let scene = Scene::new();
    let text = "trap 'touch asked' TERM; touch up; while :; do sleep 0.01; done";
    let command = Arc::new(scene.shell(text));
    block_on(async {
        let processes = scene.processes().await;
        let wheel = Tidewheel::builder().start();
        let task =
            wheel.task_with(move |attempt| step(processes.clone(), Arc::clone(&command), attempt));
        let submission = task.submit();
        until("step is up", || scene.path("up").exists()).await;
        submission.cancel(Cancel::after(Duration::from_secs(3600)));
        until("step was asked", || scene.path("asked").exists()).await;
        let shutdown = wheel.shutdown(Shutdown::reject().after(Duration::from_millis(20)));
        bounded("the shutdown does not wait for the grace of the cancel", shutdown).await;
        assert!(scene.living().is_empty());
    });
}

fn end_becomes_a_record() {
    let scene = Scene::new();
    let command = Arc::new(scene.shell("echo out; echo err >&2; exit 7"));
    block_on(async {
        let processes = scene.processes().await;
        let wheel = Tidewheel::builder().start();
        let task = wheel.task_with(move |attempt| {
            let (processes, command) = (processes.clone(), Arc::clone(&command));
            async move {
                let end = processes.run_attempt(&attempt, &command).await?;
                Ok::<_, Error>(end.record(&attempt))
            }
        });
        let record = task.submit().await.unwrap();
        assert_eq!((record.attempt, record.code, record.signal), (1, Some(7), None));
        assert_eq!(record.tail.as_deref(), Some("out\nerr"));
        assert_eq!(record.stdout.unwrap().bytes, 4);
        assert!(record.started_at <= record.ended_at);
    });
}

#[cfg(feature = "sqlite")]
fn page_on_processes_runs() {
    crate::example::run().unwrap();
}
