//! Stopping processes: the whole tree, and never another.
//!
//! What happens when the spawner or its owner die is in `loss.rs`.

use std::time::{Duration, Instant};

use tidewheel::executor::process::{ProcessCommand, ProcessStatus, Stop};

use crate::Test;
use crate::scene::{Scene, block_on, run, until};

pub const TESTS: &[Test] = &[
    ("stop::term_comes_first", term_comes_first),
    ("stop::tree_that_ignores_term_is_killed", tree_that_ignores_term_is_killed),
    ("stop::setsid_grandchild_is_ended", setsid_grandchild_is_ended),
    ("stop::what_a_step_leaves_is_ended", what_a_step_leaves_is_ended),
    ("stop::retry_never_meets_the_old_process", retry_never_meets_the_old_process),
    ("stop::stopped_process_is_ended", stopped_process_is_ended),
    ("stop::dropped_future_ends_the_tree", dropped_future_ends_the_tree),
    ("stop::ends_and_kills_at_once", ends_and_kills_at_once),
    ("stop::other_attempts_are_not_touched", other_attempts_are_not_touched),
];

/// Two processes below it that ignore TERM too, one of them in a session of its own.
const STUBBORN: &str = "trap '' TERM; (sleep 1000 & sleep 1001) & \
    setsid sh -c 'sleep 1002 & sleep 1003' & touch up; while :; do sleep 0.05; done";

async fn stop_when(scene: &Scene, living: usize, grace: Duration) -> Stop {
    until("step is up", || scene.path("up").exists() && scene.living().len() >= living).await;
    Stop { grace }
}

fn term_comes_first() {
    let scene = Scene::new();
    let command =
        scene.shell("trap 'echo bye; exit 3' TERM; touch up; while :; do sleep 0.01; done");
    block_on(async {
        let processes = scene.processes().await;
        let stop = stop_when(&scene, 1, Duration::from_secs(3_600));
        let end = processes.run(scene.attempt(), &command.capture(), stop).await.unwrap();
        assert_eq!(end.status, ProcessStatus::Exited(3));
        assert_eq!(end.captured.unwrap(), b"bye\n");
        assert!(end.was_stopped);
    });
}

fn tree_that_ignores_term_is_killed() {
    let scene = Scene::new();
    block_on(async {
        let processes = scene.processes().await;
        let grace = Duration::from_millis(300);
        let mut begin = None;
        let stop = async {
            let stop = stop_when(&scene, 6, grace).await;
            begin = Some(Instant::now());
            stop
        };
        let end = processes.run(scene.attempt(), &scene.shell(STUBBORN), stop).await.unwrap();
        assert_eq!(end.status, ProcessStatus::Signalled { number: 9, name: "SIGKILL" });
        // elapsed: a lower bound
        assert!(begin.unwrap().elapsed() >= grace, "the grace was not given");
        assert_eq!(scene.living(), [0; 0]);
    });
}

fn setsid_grandchild_is_ended() {
    let scene = Scene::new();
    // Twice forked, so its parent is gone: only the spawner can know it.
    let command = scene.shell("sh -c 'setsid sleep 1000 & sleep 0' & wait; touch up; sleep 1001");
    block_on(async {
        let processes = scene.processes().await;
        let stop = stop_when(&scene, 3, Duration::from_secs(3_600));
        let end = processes.run(scene.attempt(), &command, stop).await.unwrap();
        assert_eq!(end.status, ProcessStatus::Signalled { number: 15, name: "SIGTERM" });
        assert_eq!(scene.living(), [0; 0]);
    });
}

fn what_a_step_leaves_is_ended() {
    let scene = Scene::new();
    block_on(async {
        let processes = scene.processes().await;
        for text in [
            "sleep 1000 & exit 4",
            "setsid sleep 1000 & exit 4",
            "setsid sh -c 'setsid sleep 1000 & sleep 1001' & exit 4",
            // It cannot be asked, so it is killed a second later.
            "trap '' TERM; setsid sleep 1000 & exit 4",
            // Known by its group only.
            "env -i sleep 1000 & exit 4",
        ] {
            let end = run(&scene, &processes, &scene.shell(text)).await.unwrap();
            assert_eq!(end.status, ProcessStatus::Exited(4), "{text}");
            assert_eq!(scene.living(), [0; 0], "{text}");
        }
        run(&scene, &processes, &scene.shell("env -i sleep 1000 & echo $! > pid")).await.unwrap();
        assert!(!crate::scene::is_alive(crate::scene::number_in(&scene.path("pid")).unwrap()));
    });
}

fn retry_never_meets_the_old_process() {
    let scene = Scene::new();
    block_on(async {
        let processes = scene.processes().await;
        for _ in 0..20 {
            let _ = std::fs::remove_file(scene.path("up"));
            let stop = stop_when(&scene, 4, Duration::from_millis(20));
            processes.run(scene.attempt(), &scene.shell(STUBBORN), stop).await.unwrap();
            assert_eq!(scene.living(), [0; 0]);
        }
    });
}

fn stopped_process_is_ended() {
    let scene = Scene::new();
    let command = scene.shell("trap 'exit 6' TERM; touch up; kill -STOP $$; sleep 1000");
    block_on(async {
        let processes = scene.processes().await;
        let stop = stop_when(&scene, 1, Duration::from_secs(3_600));
        let end = processes.run(scene.attempt(), &command, stop).await.unwrap();
        assert_eq!(end.status, ProcessStatus::Exited(6));
    });
}

fn dropped_future_ends_the_tree() {
    let scene = Scene::new();
    block_on(async {
        let processes = scene.processes().await;
        {
            let stubborn = scene.shell(STUBBORN);
            let mut step = std::pin::pin!(run(&scene, &processes, &stubborn));
            let mut up = std::pin::pin!(stop_when(&scene, 6, Duration::ZERO));
            std::future::poll_fn(|context| {
                assert!(step.as_mut().poll(context).is_pending());
                up.as_mut().poll(context)
            })
            .await;
        }
        until("tree is gone", || scene.living().is_empty()).await;
        assert!(run(&scene, &processes, &scene.shell("true")).await.is_ok());
    });
}

fn ends_and_kills_at_once() {
    end_and_kill_at_once(500);
}

pub fn end_and_kill_at_once(rounds: u64) {
    let scene = Scene::new();
    block_on(async {
        let processes = scene.processes().await;
        let mut seen = [0; 2];
        // From "before it starts" to "after it ended": longer after each kill and shorter after each end, so most
        // stops come at about the end of the process, however fast the machine is.
        let mut delay = Duration::ZERO;
        for round in 0..rounds {
            let stop = async {
                let begin = Instant::now();
                while begin.elapsed() < delay {
                    tokio::task::yield_now().await;
                }
                Stop { grace: Duration::from_secs(if round % 2 == 0 { 0 } else { 3_600 }) }
            };
            let command = ProcessCommand::argv(["/bin/true"]);
            let end = processes.run(scene.attempt(), &command, stop).await.unwrap();
            match end.status {
                ProcessStatus::Exited(0) => {
                    seen[0] += 1;
                    delay = delay * 3 / 4;
                }
                ProcessStatus::Signalled { number: 9 | 15, .. } => {
                    seen[1] += 1;
                    delay = delay * 5 / 4 + Duration::from_micros(50);
                }
                other => panic!("{other}"),
            }
        }
        assert!(seen[0] > 0 && seen[1] > 0, "both must happen: {seen:?}");
        assert_eq!(scene.living(), [0; 0]);
    });
}

fn other_attempts_are_not_touched() {
    let scene = Scene::new();
    block_on(async {
        let processes = scene.processes().await;
        // Both have orphans in sessions of their own below the spawner.
        let text =
            "setsid sleep 1000 & sleep 0; touch $NAME; while [ ! -e go ]; do sleep 0.01; done";
        let bystander =
            scene.shell(&format!("{text}; kill -0 $! && exit 9")).variable("NAME", "by");
        let victim = scene.shell(text).variable("NAME", "up");
        let stop = async {
            until("both are up", || scene.path("up").exists() && scene.path("by").exists()).await;
            Stop { grace: Duration::ZERO }
        };
        let mut one = std::pin::pin!(run(&scene, &processes, &bystander));
        let mut other = std::pin::pin!(processes.run(scene.attempt(), &victim, stop));
        let end = std::future::poll_fn(|context| {
            assert!(one.as_mut().poll(context).is_pending());
            other.as_mut().poll(context)
        })
        .await
        .unwrap();
        assert!(end.was_stopped);
        std::fs::write(scene.path("go"), "").unwrap();
        assert_eq!(one.await.unwrap().status, ProcessStatus::Exited(9));
        assert_eq!(scene.living(), [0; 0]);
    });
}
