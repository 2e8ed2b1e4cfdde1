//! How processes end, and how they do not even start.
//!
//! Ends by request are in `stop.rs`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use tidewheel::executor::process::{
    ProcessCommand, ProcessError, ProcessStatus, Processes, Spawner,
};

use crate::Test;
use crate::scene::{Scene, block_on, children, end_of, number_in, run, until};

pub const TESTS: &[Test] = &[
    ("exits::code_is_given", code_is_given),
    ("exits::signal_is_shown_as_signal", signal_is_shown_as_signal),
    ("exits::missing_things_are_told_apart", missing_things_are_told_apart),
    ("exits::command_too_large_harms_no_other", command_too_large_harms_no_other),
    ("exits::program_that_is_no_spawner_is_an_error", program_that_is_no_spawner_is_an_error),
    ("exits::no_zombies_or_descriptors_stay", no_zombies_or_descriptors_stay),
    ("exits::many_at_once", many_at_once),
];

fn code_is_given() {
    let scene = Scene::new();
    let end = end_of(&scene, &scene.shell("exit 7")).unwrap();
    assert_eq!(end.status, ProcessStatus::Exited(7));
    assert!(!end.status.is_success() && !end.was_stopped && end.pid > 1);
    assert!(end.started <= end.ended);
    let end = end_of(&scene, &ProcessCommand::argv(["true"])).unwrap();
    assert!(end.status.is_success());
}

fn signal_is_shown_as_signal() {
    let scene = Scene::new();
    let end = end_of(&scene, &scene.shell("kill -SEGV $$")).unwrap();
    assert_eq!(end.status, ProcessStatus::Signalled { number: 11, name: "SIGSEGV" });
    assert_eq!(end.status.to_string(), "signal 11 (SIGSEGV)");
    let end = end_of(&scene, &scene.shell("exit 139")).unwrap();
    assert_eq!(end.status, ProcessStatus::Exited(139));
}

fn missing_things_are_told_apart() {
    let scene = Scene::new();
    let of = |command: &ProcessCommand| end_of(&scene, command).unwrap_err();
    for program in ["/nowhere/program", "no-such-program-anywhere", "./relative"] {
        let error = of(&ProcessCommand::argv([program]).cwd(&scene.folder));
        assert!(matches!(error, ProcessError::NotFound { .. }), "{error:?}");
        assert_eq!(error.to_string(), format!("program not found: {program}"));
    }
    let error = of(&ProcessCommand::argv(["true"]).cwd("/nowhere"));
    assert!(matches!(error, ProcessError::WorkingFolder { .. }), "{error:?}");
    assert!(error.to_string().starts_with("cannot enter the working folder /nowhere: "), "{error}");
    let file = scene.path("file");
    fs::write(&file, "#!/no/interpreter\n").unwrap();
    let error = of(&ProcessCommand::argv(["true"]).cwd(&file));
    assert!(matches!(error, ProcessError::WorkingFolder { .. }), "{error:?}");
    let error = of(&ProcessCommand::argv([&file]));
    assert!(matches!(error, ProcessError::NotPermitted { .. }), "{error:?}");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    let error = of(&ProcessCommand::argv([&file]));
    assert!(matches!(error, ProcessError::InterpreterNotFound { .. }), "{error:?}");
    fs::write(&file, [0, 1, 2, 3]).unwrap();
    let error = of(&ProcessCommand::argv([&file]));
    assert!(matches!(error, ProcessError::NotStarted { .. }), "{error:?}");
    // And what is left over from a refusal does not disturb the next.
    assert!(end_of(&scene, &scene.shell("exit 0")).unwrap().status.is_success());
}

fn command_too_large_harms_no_other() {
    let scene = Scene::new();
    let text = |bytes: usize| "x".repeat(bytes);
    let too_large = [
        // Larger than what goes over the spawner's socket.
        ProcessCommand::argv(["true".to_owned(), text(20 << 20)]),
        ProcessCommand::argv(["true"]).variable("LARGE", text(20 << 20)),
        ProcessCommand::argv(std::iter::repeat_n("true", 5 << 20)),
        ProcessCommand::argv(["true"]).cwd(text(20 << 20)),
        // More than the system takes: one text, and all together.
        ProcessCommand::argv(["true".to_owned(), text(4 << 20)]),
        ProcessCommand::argv(["true"]).variable("LARGE", text(4 << 20)),
        ProcessCommand::argv(std::iter::repeat_n("true", 1 << 20)),
    ];
    block_on(async {
        let processes = scene.processes().await;
        let text = "touch up; while [ ! -e go ]; do sleep 0.01; done; exit 3";
        let bystander = scene.shell(text);
        let mut bystander = std::pin::pin!(run(&scene, &processes, &bystander));
        let refused = async {
            until("bystander is up", || scene.path("up").exists()).await;
            for (index, command) in too_large.iter().enumerate() {
                let error = run(&scene, &processes, command).await.unwrap_err();
                let is_told = matches!(error, ProcessError::ArgumentListTooLong { .. });
                assert!(is_told, "{index}: {error:?}");
                assert!(!error.is_transient());
            }
        };
        let mut refused = std::pin::pin!(refused);
        std::future::poll_fn(|context| {
            assert!(bystander.as_mut().poll(context).is_pending());
            refused.as_mut().poll(context)
        })
        .await;
        fs::write(scene.path("go"), "").unwrap();
        assert_eq!(bystander.await.unwrap().status, ProcessStatus::Exited(3));
    });
}

fn program_that_is_no_spawner_is_an_error() {
    let scene = Scene::new();
    block_on(async {
        let start = async |program: PathBuf| {
            let spawner = Spawner::program(program);
            let error = Processes::builder().spawner(spawner).start().await.unwrap_err();
            assert!(matches!(error, ProcessError::SpawnerNotStarted { .. }), "{error:?}");
            error.to_string()
        };
        for program in ["/bin/true", "/bin/cat", "/nowhere"] {
            start(PathBuf::from(program)).await;
        }
        // It never says a word: its time is over as soon as time is paused.
        let silent = scene.path("silent.sh");
        fs::write(&silent, "#!/bin/sh\nexec sleep 600\n").unwrap();
        fs::set_permissions(&silent, fs::Permissions::from_mode(0o755)).unwrap();
        tokio::time::pause();
        let error = start(silent).await;
        assert!(error.contains("in time"), "{error}");
    });
}

fn no_zombies_or_descriptors_stay() {
    leave_nothing_behind(2_000);
}

pub fn leave_nothing_behind(processes_run: u32) {
    let scene = Scene::new();
    let count = |pid: i32| fs::read_dir(format!("/proc/{pid}/fd")).unwrap().count();
    block_on(async {
        let processes = scene.processes().await;
        run(&scene, &processes, &scene.shell("echo $PPID > spawner")).await.unwrap();
        let spawner = number_in(&scene.path("spawner")).unwrap();
        let own = std::process::id() as i32;
        let before = (count(own), count(spawner));
        for _ in 0..processes_run {
            run(&scene, &processes, &ProcessCommand::argv(["/bin/true"])).await.unwrap();
        }
        assert_eq!(children(spawner), [0; 0]);
        assert_eq!((count(own), count(spawner)), before);
    });
}

fn many_at_once() {
    let scene = Scene::new();
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.unwrap().block_on(async {
        let processes = scene.processes().await;
        let big = "x".repeat(100_000);
        let mut tasks = Vec::new();
        for number in 0..100 {
            let (processes, attempt) = (processes.clone(), scene.attempt());
            // Large requests, so that the socket fills up.
            let command = scene.shell(&format!("echo {number}")).variable("BIG", &big).capture();
            tasks.push(tokio::spawn(async move {
                processes.run(attempt, &command, std::future::pending()).await.unwrap()
            }));
        }
        for (number, task) in tasks.into_iter().enumerate() {
            let end = task.await.unwrap();
            assert_eq!(end.captured.unwrap(), format!("{number}\n").as_bytes());
        }
    });
}
