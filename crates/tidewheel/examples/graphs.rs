//! The code of `docs/guide/graphs.md`, on virtual time.
//!
//! `cargo run -p tidewheel --example graphs`
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a program for people")]

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use tidewheel::clock::Clock;
use tidewheel::policy::{Jitter, OnStop};
use tidewheel::{
    Cancel, Graph, NewTask, OnError, Outcome, Permanent, Plan, Retry, RetryAfter, Task,
    TaskOptions, TaskState, Tidewheel,
};

type AnyError = Box<dyn Error + Send + Sync>;

#[tokio::main(flavor = "current_thread", start_paused = true)]
async fn main() -> Result<(), Box<dyn Error>> {
    let clock = Clock::virtual_at("2026-01-01T00:00:00Z".parse()?);
    let wheel = Tidewheel::builder().slots(8).clock(clock).limit("registry", 2).start();
    building()?;
    running(&wheel).await?;
    per_task_code(&wheel).await?;
    values(&wheel).await?;
    again(&wheel).await?;
    subset(&wheel).await?;
    options(&wheel).await?;
    failure(&wheel).await?;
    retries(&wheel).await?;
    live(&wheel).await?;
    from_inside(&wheel).await?;
    expansion(&wheel).await?;
    steering(&wheel).await?;
    Ok(())
}

fn building() -> Result<(), Box<dyn Error>> {
    // [snippet: edges]
    // Each pair is (before, after).
    let graph = Graph::from_edges([("core", "client"), ("core", "server"), ("client", "cli")])?;
    assert_eq!(graph.len(), 4);
    // [end]

    // [snippet: builder]
    let mut builder = Graph::builder();
    builder.task("publish").after(["test", "build"]); // both are declared below
    builder.task("build").estimate(Duration::from_secs(40));
    builder.task("test").after(["build"]).estimate(Duration::from_secs(90));
    let graph = builder.build()?;
    // [end]
    assert_eq!(graph.len(), 3);

    // [snippet: cycle]
    let refused = Graph::from_edges([("a", "b"), ("b", "c"), ("c", "a")]).expect_err("a cycle");
    assert_eq!(refused.to_string(), "dependency cycle: a -> b -> c -> a");
    // [end]
    Ok(())
}

async fn publish(_package: &str) -> Result<(), AnyError> {
    Ok(())
}

async fn running(wheel: &Tidewheel) -> Result<(), Box<dyn Error>> {
    // [snippet: run]
    let graph = Graph::from_edges([("core", "client"), ("core", "server"), ("client", "cli")])?;
    let report = wheel.run(graph, |task| async move { publish(task.name()).await }).await?;

    assert!(report.is_success());
    assert_eq!(report.to_string(), "succeeded: 4 succeeded");
    for line in report.tasks() {
        println!("{line}, {} attempt(s), {:?}", line.attempts(), line.elapsed());
    }
    // [end]
    Ok(())
}

async fn per_task_code(wheel: &Tidewheel) -> Result<(), Box<dyn Error>> {
    // [snippet: plan]
    let mut plan = Plan::new();
    plan.task("fetch", |_| async { Ok::<_, AnyError>(String::from("3 4 5")) });
    plan.task("sum", |task| async move {
        let text = task.input::<String>("fetch")?;
        let numbers: Result<Vec<u32>, _> = text.split(' ').map(str::parse).collect();
        Ok::<u32, AnyError>(numbers?.iter().sum())
    })
    .after(["fetch"])
    .options(TaskOptions::new().retries(2));

    let report = wheel.run_plan(plan)?.await?;
    assert_eq!(report.value::<u32>("sum").as_deref(), Some(&12));
    // [end]
    Ok(())
}

async fn values(wheel: &Tidewheel) -> Result<(), Box<dyn Error>> {
    // [snippet: values]
    let graph = Graph::from_edges([("width", "area"), ("height", "area")])?;
    let report = wheel
        .run(graph, |task| async move {
            let side = |name| task.input::<u32>(name);
            Ok::<u32, AnyError>(match task.name() {
                "width" => 6,
                "height" => 7,
                _ => *side("width")? * *side("height")?,
            })
        })
        .await?;
    assert_eq!(report.value::<u32>("area").as_deref(), Some(&42));
    // [end]
    Ok(())
}

async fn again(wheel: &Tidewheel) -> Result<(), Box<dyn Error>> {
    let graph = Arc::new(Graph::from_edges([("fetch", "parse"), ("parse", "print")])?);
    let code = |is_well: bool| {
        move |task: Task| async move {
            if task.name() == "parse" && !is_well { Err("no such field") } else { Ok(()) }
        }
    };
    // [snippet: again]
    let first = wheel.run(Arc::clone(&graph), code(false)).await?;
    let second = wheel.run(graph, code(true)).retry_of(&first).await?.into_result()?;
    // [end]
    assert_eq!(second.task("fetch").map(|line| line.attempts()), Some(0));
    Ok(())
}

async fn subset(wheel: &Tidewheel) -> Result<(), Box<dyn Error>> {
    // [snippet: subset]
    let graph = Graph::from_edges([("core", "client"), ("client", "cli"), ("core", "server")])?;
    let report = wheel
        .run(graph, |task| async move { publish(task.name()).await })
        .only(["client", "cli"]) // what they need outside of this counts as done
        .already_done(["client"]) // not run again, as after an interrupted run
        .await?;
    assert_eq!(report.len(), 2);
    assert_eq!(report.task("client").map(|line| line.attempts()), Some(0));
    // [end]
    Ok(())
}

async fn options(wheel: &Tidewheel) -> Result<(), Box<dyn Error>> {
    let graph = Graph::from_edges([("core", "client"), ("core", "docs")])?;
    // [snippet: options]
    let report = wheel
        .run(graph, |task| async move { publish(task.name()).await })
        .name("release 1.4")
        .concurrency(2)
        .retries(3)
        .attempt_timeout(Duration::from_secs(120))
        .run_timeout(Duration::from_secs(1800))
        .limit("registry") // every task takes one unit of it
        .configure(|name| match name {
            "docs" => TaskOptions::new().priority(20).on_error(OnError::Continue),
            _ => TaskOptions::new(),
        })
        .await?;
    // [end]
    assert!(report.is_success());
    Ok(())
}

async fn check(name: &str) -> Result<(), &'static str> {
    if name == "test" { Err("2 of 80 failed") } else { Ok(()) }
}

async fn failure(wheel: &Tidewheel) -> Result<(), Box<dyn Error>> {
    // [snippet: failure]
    let graph = Graph::from_edges([("lint", "package"), ("test", "package"), ("test", "notify")])?;
    let report = wheel
        .run(graph, |task| async move { check(task.name()).await }) // `test` fails
        .configure(|name| match name {
            "notify" => TaskOptions::new().on_dependency_error(OnError::Continue),
            _ => TaskOptions::new(),
        })
        .await?;
    assert_eq!(report.to_string(), "failed: 2 succeeded, 1 failed, 1 skipped");
    let package = report.task("package").ok_or("it is in the report")?;
    assert_eq!(package.to_string(), "`package` skipped: dependency-failed `test`");
    assert_eq!(package.cause().as_deref(), Some("test"));
    // [end]

    let graph = Graph::from_edges([("test", "package"), ("slow", "package")])?;
    // [snippet: fail-fast]
    let report = wheel
        .run(graph, |task| async move {
            match task.name() {
                "test" => Err("2 of 80 failed"),
                _ => {
                    task.cancelled().await; // until the run is stopped
                    Ok(())
                }
            }
        })
        .on_error(OnError::Fail) // the first failure stops the run
        .on_stop(OnStop::Cancel { grace: Duration::from_secs(5) })
        .await?;
    // [end]
    assert!(!report.is_success());
    Ok(())
}

async fn upload(attempt: u32) -> Result<(), AnyError> {
    // [snippet: marks]
    match attempt {
        1 => Err(RetryAfter::new(Duration::from_secs(20), "too many requests").into()),
        2 => Err("connection reset".into()),
        3 => Ok(()),
        _ => Err(Permanent::new("this version exists already").into()), // no further attempt
    }
    // [end]
}

async fn retries(wheel: &Tidewheel) -> Result<(), Box<dyn Error>> {
    let graph = Graph::from_edges([("core", "client")])?;
    // [snippet: retries]
    let retry = Retry { jitter: Jitter::Equal, ..Retry::times(4) };
    let report = wheel.run(graph, |task| upload(task.attempt())).retry(retry).await?;
    assert_eq!(report.task("core").map(|line| line.attempts()), Some(3));
    // [end]
    Ok(())
}

async fn live(wheel: &Tidewheel) -> Result<(), Box<dyn Error>> {
    let graph = Graph::from_edges([("build", "test")])?;
    // [snippet: live]
    let run = wheel
        .run(graph, |task| async move { publish(task.name()).await })
        .keep_open() // does not end with its last task
        .start()?;
    run.add("publish", ["test"])?;
    run.add_task(NewTask::new("announce").after(["publish"]).retries(2))?;
    run.add_with(NewTask::new("clean up").always(), |_| async { /* code of its own */ })?;
    run.remove("announce"); // what needs it is skipped; remove_and_release lets it go on
    run.close();
    let report = run.await?;
    // [end]
    assert_eq!(report.succeeded().count(), 4);
    Ok(())
}

async fn from_inside(wheel: &Tidewheel) -> Result<(), Box<dyn Error>> {
    let graph = Graph::from_edges([("list", "index")])?;
    // [snippet: from-inside]
    let report = wheel
        .run(graph, |task| async move {
            if task.name() == "list" {
                for page in ["page 1", "page 2"] {
                    task.run().add(page, ["list"])?;
                }
            }
            Ok::<(), AnyError>(())
        })
        .await?;
    assert_eq!(report.len(), 4);
    // [end]
    Ok(())
}

async fn expansion(wheel: &Tidewheel) -> Result<(), Box<dyn Error>> {
    let graph = Graph::from_edges([("list", "sum")])?;
    // [snippet: expansion]
    let report = wheel
        .run(graph, |task| async move {
            let page = |n| NewTask::new(format!("page {n}")).after(["list"]).before(["sum"]);
            match task.name() {
                "list" => task.run().expansion((1..=100).map(page)).unwrap(),
                _ => Outcome::Succeeded,
            }
        })
        .await?;
    assert_eq!(report.succeeded().count(), 102);
    // [end]
    Ok(())
}

async fn steering(wheel: &Tidewheel) -> Result<(), Box<dyn Error>> {
    let graph = Graph::from_edges([("a", "b"), ("b", "c")])?;
    // [snippet: steering]
    let run = wheel
        .run(graph, |task| async move {
            tokio::select! {
                () = tokio::time::sleep(Duration::from_secs(10)) => Ok(()),
                () = task.cancelled() => Err("told to stop"),
            }
        })
        .start()?;
    tokio::time::sleep(Duration::from_secs(15)).await; // `a` is done, `b` runs
    run.pause(); // `b` goes on, `c` would not start
    run.resume();
    run.cancel(Cancel::after(Duration::from_secs(5)));
    let report = run.await?;
    assert_eq!(report.counts().of(TaskState::Cancelled), 2);
    // [end]
    Ok(())
}

/// Runs it as a test does.
#[cfg(test)]
pub fn run() -> Result<(), Box<dyn Error>> {
    main()
}
