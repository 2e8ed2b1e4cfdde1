//! How much a process costs here; run by hand with `--ignored`, in release.
//!
//! The floor to compare with is a loop of `posix_spawn` in C.

use std::time::Instant;

use tidewheel::executor::process::ProcessCommand;

use crate::Test;
use crate::scene::Scene;

pub const TESTS: &[Test] = &[("speed::of_many_short_steps", of_many_short_steps)];

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
