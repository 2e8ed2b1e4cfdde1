//! What other tests show with small numbers, shown with those of the requirements; it takes minutes.
//! Run by hand, in release:
//! `cargo test --release -p tidewheel --features process,sqlite-bundled --test process -- --ignored full::`

use std::time::{Duration, Instant};

use tidewheel::executor::process::{ProcessCommand, ProcessStatus};

use crate::Test;
use crate::scene::{Scene, block_on, run};
use crate::{exits, output, stop};

pub const TESTS: &[Test] = &[
    ("full::ten_thousand_ends_and_kills_at_once", ten_thousand_ends_and_kills_at_once),
    ("full::ten_thousand_processes_leave_nothing", ten_thousand_processes_leave_nothing),
    ("full::a_gigabyte_without_a_line_end", a_gigabyte_without_a_line_end),
    ("full::two_hundred_noisy_processes", two_hundred_noisy_processes),
    ("full::fifty_processes_for_two_minutes", fifty_processes_for_two_minutes),
];

fn ten_thousand_ends_and_kills_at_once() {
    stop::end_and_kill_at_once(10_000);
}

fn ten_thousand_processes_leave_nothing() {
    exits::leave_nothing_behind(10_000);
}

fn a_gigabyte_without_a_line_end() {
    output::need_little_memory(1_000_000_000);
}

/// 200 that print a megabyte a second for a minute; others are started and ended meanwhile. How long each takes is
/// printed: little more than the minute, and milliseconds for the others.
fn two_hundred_noisy_processes() {
    const NOISY: usize = 200;
    let scene = Scene::new();
    let text =
        "i=0; while [ $i -lt 60 ]; do head -c 1000000 /dev/zero; sleep 1; i=$((i + 1)); done";
    // What is beyond the bound is read all the same; so much is enough for a disk.
    let noisy = scene.shell(text).output_max(4_000_000);
    block_on(async {
        let processes = scene.processes().await;
        let mut tasks = Vec::new();
        for _ in 0..NOISY {
            let (processes, attempt, noisy) = (processes.clone(), scene.attempt(), noisy.clone());
            tasks.push(tokio::spawn(async move {
                let begin = Instant::now();
                let end = processes.run(attempt, &noisy, std::future::pending()).await.unwrap();
                assert_eq!(
                    (end.status, end.stdout.bytes_seen),
                    (ProcessStatus::Exited(0), 60_000_000)
                );
                begin.elapsed()
            }));
        }
        let (mut count, mut slowest) = (0, Duration::ZERO);
        while !tasks.iter().all(tokio::task::JoinHandle::is_finished) {
            let begin = Instant::now();
            run(&scene, &processes, &ProcessCommand::argv(["true"])).await.unwrap();
            slowest = slowest.max(begin.elapsed());
            count += 1;
            // sleeps: between two measurements
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        let mut times = Vec::new();
        for task in tasks {
            times.push(task.await.unwrap());
        }
        times.sort();
        let (first, last) = (times[0], times[NOISY - 1]);
        println!("{NOISY} noisy processes took {first:.1?} to {last:.1?}");
        println!("{count} short ones beside them took at most {slowest:.1?}");
        // How long they took is for the reader; a number that fails on a slow machine shows nothing.
        assert!(count > 0, "others were started and ended meanwhile");
    });
}

/// Threads of a runtime that have nothing to do end after some seconds, and with them, by the rules of
/// the system, what they alone had started.
fn fifty_processes_for_two_minutes() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let scene = Scene::new();
    runtime.block_on(async {
        let processes = scene.processes().await;
        let mut tasks = Vec::new();
        for _ in 0..50 {
            let (processes, attempt) = (processes.clone(), scene.attempt());
            tasks.push(tokio::spawn(async move {
                let command = ProcessCommand::argv(["sleep", "120"]);
                processes.run(attempt, &command, std::future::pending()).await.unwrap()
            }));
        }
        for task in tasks {
            assert_eq!(task.await.unwrap().status, ProcessStatus::Exited(0));
        }
    });
}
