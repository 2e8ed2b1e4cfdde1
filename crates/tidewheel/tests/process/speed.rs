//! How much a process costs here; run by hand with `--ignored`, in release.
//!
//! The floor to compare with is a loop of `posix_spawn` in C.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tidewheel::executor::process::{Masker, ProcessCommand};

use crate::Test;
use crate::scene::{Scene, block_on, run};

pub const TESTS: &[Test] = &[
    ("speed::of_many_short_steps", of_many_short_steps),
    ("speed::of_output_with_50_secrets", of_output_with_50_secrets),
];

const STEPS: u32 = 2000;

fn of_many_short_steps() {
    for threads in [1, 2] {
        let mut builder = match threads {
            1 => tokio::runtime::Builder::new_current_thread(),
            _ => tokio::runtime::Builder::new_multi_thread(),
        };
        let runtime = builder.enable_all().build().unwrap();
        let scene = std::sync::Arc::new(Scene::new());
        runtime.block_on(async {
            let processes = scene.processes().await;
            let begin = Instant::now();
            let mut tasks = Vec::new();
            for _ in 0..2 {
                let (processes, scene) = (processes.clone(), scene.clone());
                tasks.push(tokio::spawn(async move {
                    let command = ProcessCommand::argv(["/bin/true"]);
                    for _ in 0..STEPS / 2 {
                        let stop = std::future::pending();
                        processes.run(scene.attempt(), &command, stop).await.unwrap();
                    }
                }));
            }
            for task in tasks {
                task.await.unwrap();
            }
            let each = begin.elapsed() / STEPS;
            println!("{STEPS} x /bin/true, 2 at once, {threads} thread(s): {each:?} each");
        });
    }
}

/// 100 MB of log lines of a process, with 50 secrets to look for and with none, in turn; the fastest
/// of each, because whatever else the machine does only makes it slower.
fn of_output_with_50_secrets() {
    const ROUNDS: usize = 9;
    let scene = Scene::new();
    let mut text = String::new();
    for line in 0..10_000 {
        let (id, time) = (line * 7_919 % 65_537, line * 13);
        text += &format!(
            "2026-11-15T12:{:02}:{:02}.{:03}Z INFO  request {id:08x} took {time} ms, status 200\n",
            line / 60 % 60,
            line % 60,
            line % 1000
        );
    }
    let text = text.repeat(100_000_000 / text.len() + 1);
    std::fs::write(scene.path("text"), &text.as_bytes()[..100_000_000]).unwrap();
    let secret = |number: u64| {
        let mixed = (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        format!("key-{mixed:016x}-{:016x}", mixed.rotate_left(23))
    };
    let long: Vec<String> = (0..50).map(secret).collect();
    // The shorter the shortest, the more there is to look at.
    let one_short: Vec<String> = (0..49).map(secret).chain(["xy#7w-Qz".to_owned()]).collect();
    let plain = ProcessCommand::argv(["cat", "text"]).cwd(&scene.folder).output_max(u64::MAX);
    let with =
        |secrets: Vec<String>| plain.clone().secrets(Arc::new(Masker::new(secrets).unwrap()));
    let commands = [plain.clone(), with(long), with(one_short)];
    let mut times = [const { Vec::new() }; 3];
    block_on(async {
        let processes = scene.processes().await;
        for _ in 0..ROUNDS {
            for (command, times) in commands.iter().zip(&mut times) {
                let begin = Instant::now();
                let end = run(&scene, &processes, command).await.unwrap();
                times.push(begin.elapsed());
                assert_eq!(end.stdout.bytes_kept, 100_000_000);
                std::fs::remove_file(end.stdout.path.unwrap()).unwrap();
            }
        }
    });
    let [plain, long, one_short] = times.map(|mut times: Vec<Duration>| {
        times.sort();
        times[0].as_secs_f64()
    });
    println!("100 MB of output with no secrets: {plain:.3} s");
    println!("with 50 secrets of 37 bytes: {long:.3} s, ratio {:.2}", long / plain);
    println!("with one of 8 bytes among them: {one_short:.3} s, ratio {:.2}", one_short / plain);
}
