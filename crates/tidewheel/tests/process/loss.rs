//! What is left when somebody is killed: the owner, the spawner, or both.
//!
//! Ends by request are in `stop.rs`.

use std::process::{Command, ExitCode};
use std::time::Duration;

use tidewheel::executor::process::{ProcessError, Processes, Spawner, end_survivors};

use crate::Test;
use crate::scene::{Scene, block_on, children, is_alive, kill, living, number_in, run, until};

pub const TESTS: &[Test] = &[
    ("loss::trees_die_with_the_owner", trees_die_with_the_owner),
    #[cfg(feature = "sqlite")]
    ("loss::shard_is_held_while_a_process_lives", shard_is_held_while_a_process_lives),
    ("loss::trees_die_with_the_runtime", trees_die_with_the_runtime),
    ("loss::lost_spawner_is_replaced", lost_spawner_is_replaced),
    ("loss::spawner_is_started_ahead", spawner_is_started_ahead),
    ("loss::spawner_ahead_that_dies_is_replaced", spawner_ahead_that_dies_is_replaced),
    ("loss::silent_spawner_ahead_is_replaced", silent_spawner_ahead_is_replaced),
    ("loss::spawner_started_for_nothing_goes", spawner_started_for_nothing_goes),
    ("loss::spawner_ignores_stray_signals", spawner_ignores_stray_signals),
    ("loss::survivors_are_found_and_strangers_spared", survivors_are_found_and_strangers_spared),
    ("loss::survivors_of_some_attempts", survivors_of_some_attempts),
];

/// Runs 20 trees until it is killed: this program, started as another.
pub fn as_owner(mark: &str, folder: &str) -> ExitCode {
    let scene = Scene::of_another(mark, folder);
    block_on(async {
        let processes = scene.processes().await;
        let mut tasks = Vec::new();
        for _ in 0..20 {
            let (processes, attempt) = (processes.clone(), scene.attempt());
            let command = scene.shell("trap '' TERM; setsid sleep 1000 & sleep 1001; sleep 1002");
            tasks.push(tokio::spawn(async move {
                processes.run(attempt, &command, std::future::pending()).await
            }));
        }
        for task in tasks {
            task.await.unwrap().unwrap();
        }
    });
    ExitCode::SUCCESS
}

fn trees_die_with_the_owner() {
    let scene = Scene::new();
    let exe = std::env::current_exe().unwrap();
    let arguments = ["--as-owner", &scene.mark, scene.folder.to_str().unwrap()];
    let mut owner = Command::new(exe).args(arguments).spawn().unwrap();
    block_on(async {
        until("20 trees are up", || scene.living().len() == 60).await;
        let spawners = children(owner.id() as i32);
        assert_eq!(spawners.len(), 1);
        owner.kill().unwrap();
        owner.wait().unwrap();
        until("all trees are gone", || scene.living().is_empty()).await;
        until("the spawner is gone", || !is_alive(spawners[0])).await;
    });
}

/// Has a shard, and processes that hold its lock, until it is killed: this program, started as
/// another.
#[cfg(feature = "sqlite")]
pub fn as_holder(mark: &str, folder: &str) -> ExitCode {
    let scene = Scene::of_another(mark, folder);
    let options = tidewheel::store::sqlite::Options::default();
    let data = tidewheel::store::sqlite::DataFolder::open(scene.path("data"), options).unwrap();
    let store = data.shard("default").unwrap();
    block_on(async {
        let builder = scene.builder().hold(store.share_lock().unwrap());
        let processes = builder.start().await.unwrap();
        run(&scene, &processes, &scene.shell("setsid sleep 1000 & sleep 1001")).await.unwrap();
    });
    ExitCode::SUCCESS
}

#[cfg(feature = "sqlite")]
fn shard_is_held_while_a_process_lives() {
    use rustix::process::Signal;
    use tidewheel::store::StoreError;
    use tidewheel::store::sqlite::{DataFolder, Options};

    use crate::scene::{is_stopped, signal};

    struct Frozen(i32);
    impl Drop for Frozen {
        fn drop(&mut self) {
            signal(self.0, Signal::CONT);
        }
    }

    let scene = Scene::new();
    let data = DataFolder::open(scene.path("data"), Options::default()).unwrap();
    let exe = std::env::current_exe().unwrap();
    let arguments = ["--as-holder", &scene.mark, scene.folder.to_str().unwrap()];
    let mut owner = Command::new(exe).args(arguments).spawn().unwrap();
    block_on(async {
        until("its tree is up", || scene.living().len() == 3).await;
        // Frozen, the spawner ends nothing, however long that takes to look at.
        let spawner = Frozen(children(owner.id() as i32)[0]);
        signal(spawner.0, Signal::STOP);
        until("the spawner is frozen", || is_stopped(spawner.0)).await;
        owner.kill().unwrap();
        owner.wait().unwrap();
        assert_eq!(scene.living().len(), 3);
        let refused = data.shard("default").unwrap_err();
        assert!(matches!(refused, StoreError::Held { .. }), "{refused}");
        assert!(data.is_left("default").unwrap(), "its owner is known to be gone");

        drop(spawner);
        until("the shard is free", || match data.shard("default") {
            Ok(_) => {
                assert_eq!(scene.living(), [0; 0], "somebody lives while another has the shard");
                true
            }
            Err(StoreError::Held { .. }) => false,
            Err(error) => panic!("{error}"),
        })
        .await;
    });
}

fn trees_die_with_the_runtime() {
    let scene = Scene::new();
    let spawner = block_on(async {
        let processes = scene.processes().await;
        let command = scene.shell("echo $PPID > spawner; sleep 1000");
        let attempt = scene.attempt();
        tokio::spawn(async move { processes.run(attempt, &command, std::future::pending()).await });
        until("it is up", || number_in(&scene.path("spawner")).is_some()).await;
        number_in(&scene.path("spawner")).unwrap()
    });
    block_on(async {
        until("tree is gone", || scene.living().is_empty()).await;
        // Waited for, not only ended.
        let path = format!("/proc/{spawner}");
        until("spawner was reaped", || !std::path::Path::new(&path).exists()).await;
    });
}

/// The one that was started ahead of any command.
fn started_ahead() -> (Spawner, i32) {
    let own = std::process::id() as i32;
    let before = children(own);
    let spawner = Spawner::this_program();
    // Once is enough.
    spawner.start_ahead();
    spawner.start_ahead();
    let new: Vec<i32> = children(own).into_iter().filter(|it| !before.contains(it)).collect();
    assert_eq!(new.len(), 1, "{new:?}");
    (spawner, new[0])
}

/// Who starts the processes.
async fn parent(scene: &Scene, processes: &Processes) -> i32 {
    run(scene, processes, &scene.shell("echo $PPID > spawner")).await.unwrap();
    number_in(&scene.path("spawner")).unwrap()
}

fn spawner_is_started_ahead() {
    let scene = Scene::new();
    let (spawner, ahead) = started_ahead();
    block_on(async {
        // Whoever needs it first has it.
        let first = scene.builder().spawner(spawner.clone()).start().await.unwrap();
        let second = scene.builder().spawner(spawner).start().await.unwrap();
        assert_eq!(parent(&scene, &first).await, ahead);
        assert_ne!(parent(&scene, &second).await, ahead);
    });
}

fn spawner_ahead_that_dies_is_replaced() {
    let scene = Scene::new();
    let (spawner, ahead) = started_ahead();
    kill(ahead);
    block_on(async {
        until("it is dead", || !is_alive(ahead)).await;
        let processes = scene.builder().spawner(spawner).start().await.unwrap();
        assert_ne!(parent(&scene, &processes).await, ahead);
    });
}

/// It lives when it is needed, and ends before it has said anything.
fn silent_spawner_ahead_is_replaced() {
    let scene = Scene::new();
    let (program, ourselves) = (scene.path("spawner.sh"), std::env::current_exe().unwrap());
    let text = format!(
        "#!/bin/sh
        if mkdir {marker} 2>/dev/null; then while [ ! -e {needed} ]; do sleep 0.01; done; exit 1; fi
        exec {ourselves} \"$@\"\n",
        marker = scene.path("was-here").display(),
        needed = scene.path("needed").display(),
        ourselves = ourselves.display(),
    );
    std::fs::write(&program, text).unwrap();
    std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .unwrap();
    let spawner = Spawner::program(program);
    spawner.start_ahead();
    block_on(async {
        let start = scene.builder().spawner(spawner).start();
        let needed = async { std::fs::write(scene.path("needed"), "").unwrap() };
        let (processes, ()) = tokio::join!(start, needed);
        run(&scene, &processes.unwrap(), &scene.shell("true")).await.unwrap();
    });
}

fn spawner_started_for_nothing_goes() {
    let (spawner, ahead) = started_ahead();
    drop(spawner);
    let path = format!("/proc/{ahead}");
    block_on(until("it was reaped", || !std::path::Path::new(&path).exists()));
}

fn lost_spawner_is_replaced() {
    let scene = Scene::new();
    block_on(async {
        let processes = scene.builder().grace(Duration::from_millis(100)).start().await.unwrap();
        let command = scene.shell(
            "trap '' TERM; setsid sleep 1000 & echo $PPID > spawner; while :; do sleep 0.05; done",
        );
        let mut step = std::pin::pin!(run(&scene, &processes, &command));
        let killed = async {
            until("it is up", || number_in(&scene.path("spawner")).is_some()).await;
            until("its child is up", || scene.living().len() >= 2).await;
            kill(number_in(&scene.path("spawner")).unwrap());
        };
        let mut killed = std::pin::pin!(killed);
        std::future::poll_fn(|context| {
            assert!(step.as_mut().poll(context).is_pending());
            killed.as_mut().poll(context)
        })
        .await;
        let error = step.await.unwrap_err();
        assert!(matches!(error, ProcessError::SpawnerLost), "{error:?}");
        assert!(error.is_transient());
        assert_eq!(scene.living(), [0; 0]);
        let end = run(&scene, &processes, &scene.shell("echo $PPID > new; exit 5")).await.unwrap();
        assert_eq!(end.status.to_string(), "exit code 5");
        assert_ne!(number_in(&scene.path("new")), number_in(&scene.path("spawner")));
    });
}

fn spawner_ignores_stray_signals() {
    let scene = Scene::new();
    block_on(async {
        let processes = scene.processes().await;
        let text = "for s in INT HUP TERM PIPE USR1 USR2 ALRM; do kill -$s $PPID; done; exit 8";
        let end = run(&scene, &processes, &scene.shell(text)).await.unwrap();
        assert_eq!(end.status.to_string(), "exit code 8");
        // And the signals do what they always do in children.
        for signal in ["INT", "HUP", "TERM", "PIPE", "USR1", "USR2", "ALRM"] {
            let text = format!("kill -{signal} $$; exit 1");
            let end = run(&scene, &processes, &scene.shell(&text)).await.unwrap();
            assert!(end.status.to_string().contains(&format!("SIG{signal}")), "{}", end.status);
        }
    });
}

fn survivors_are_found_and_strangers_spared() {
    let scene = Scene::new();
    let attempt = scene.attempt();
    let cookie = format!("{}/00000000-0000-0000-0000-00000000f00d/0/1", scene.mark);
    let sleep = |name: &str, value: &str| {
        let mut command = Command::new("sleep");
        command.arg("1000").arg0_like(&cookie).env(name, value).spawn().unwrap()
    };
    let mut strangers = vec![
        sleep(
            "TIDEWHEEL_COOKIE",
            &format!("{}x/00000000-0000-0000-0000-00000000f00d/0/1", scene.mark),
        ),
        sleep("TIDEWHEEL_COOKIE", &format!("{cookie}/7")),
        sleep("TIDEWHEEL_COOKIE_OF", &cookie),
        sleep("NOTE", &format!("see TIDEWHEEL_COOKIE={cookie}")),
    ];
    // It ignores TERM, and what is below it has no environment.
    let mut survivor = Command::new("sh")
        .args(["-c", "trap '' TERM; env -i sleep 1000 & echo $! > pid; wait; sleep 1001"])
        .current_dir(&scene.folder)
        .env("TIDEWHEEL_COOKIE", &cookie)
        .spawn()
        .unwrap();
    block_on(until("it is up", || number_in(&scene.path("pid")).is_some()));
    let below = number_in(&scene.path("pid")).unwrap();
    let grace = Duration::from_millis(100);
    let found = end_survivors(&scene.mark, None, grace).unwrap().found;
    let pids: Vec<i32> = found.iter().map(|survivor| survivor.pid as i32).collect();
    assert!(pids.contains(&(survivor.id() as i32)) && pids.contains(&below), "{pids:?}");
    assert!(found.iter().all(|survivor| survivor.attempt == attempt));
    survivor.wait().unwrap();
    assert!(!is_alive(below));
    for stranger in &mut strangers {
        assert!(stranger.try_wait().unwrap().is_none(), "a stranger was ended");
        stranger.kill().unwrap();
        stranger.wait().unwrap();
    }
    assert!(end_survivors(&scene.mark, None, grace).unwrap().is_empty());
}

fn survivors_of_some_attempts() {
    let scene = Scene::new();
    let start = |number: u32| {
        let run = "00000000-0000-0000-0000-00000000f00d";
        let cookie = format!("{}/{run}/0/{number}", scene.mark);
        Command::new("sleep").arg("1000").env("TIDEWHEEL_COOKIE", cookie).spawn().unwrap()
    };
    let (mut one, mut other) = (start(1), start(2));
    let first = scene.attempt();
    let found =
        end_survivors(&scene.mark, Some(&[first]), Duration::from_secs(3_600)).unwrap().found;
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].pid, found[0].attempt), (one.id(), first));
    one.wait().unwrap();
    assert_eq!(living(&scene.mark), [other.id() as i32]);
    other.kill().unwrap();
    other.wait().unwrap();
}

/// Names a process like a cookie: what stands in a command line is no cookie.
trait Arg0Like {
    fn arg0_like(&mut self, name: &str) -> &mut Self;
}

impl Arg0Like for Command {
    fn arg0_like(&mut self, name: &str) -> &mut Self {
        use std::os::unix::process::CommandExt;
        self.arg0(format!("TIDEWHEEL_COOKIE={name}"))
    }
}
