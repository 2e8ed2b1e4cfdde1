//! What is around a process: environment, descriptors, input; and around us: nothing changes.
//!
//! What processes print is in `output.rs`.

use std::fs;
use std::io::Write;
use std::process::{Command, ExitCode};

use tidewheel::executor::process::{Limits, ProcessCommand, ProcessError, Stdin};
use tidewheel_testing::patience;

use crate::Test;
use crate::scene::{Scene, block_on, end_of, run};

pub const TESTS: &[Test] = &[
    ("around::environment_is_clean", environment_is_clean),
    ("around::attempt_is_in_the_environment", attempt_is_in_the_environment),
    ("around::no_descriptor_leaks", no_descriptor_leaks),
    ("around::stdin_is_given", stdin_is_given),
    ("around::named_pipe_as_stdin_is_refused", named_pipe_as_stdin_is_refused),
    ("around::nothing_global_changes", nothing_global_changes),
    ("around::signals_are_at_their_defaults", signals_are_at_their_defaults),
];

/// Runs `env` and prints what it printed: this program, started with an environment of its own.
pub fn as_printer() -> ExitCode {
    let scene = Scene::new();
    let command = ProcessCommand::argv(["env"]).variable("DECLARED", "yes").variable("LANG", "xx");
    let end = end_of(&scene, &command.capture()).unwrap();
    std::io::stdout().write_all(&end.captured.unwrap()).unwrap();
    ExitCode::SUCCESS
}

fn environment_is_clean() {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.arg("--as-printer").env_clear().env("PATH", "/usr/bin:/bin").env("LC_ALL", "C");
    command.env("LANG", "C").env("HOME", "/root");
    for number in 0..50 {
        command.env(format!("AWS_SECRET_{number}"), format!("canary-{number}"));
    }
    let output = command.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let mut names: Vec<&str> = text.lines().map(|line| line.split('=').next().unwrap()).collect();
    names.sort_unstable();
    let ours =
        ["TIDEWHEEL_ATTEMPT", "TIDEWHEEL_COOKIE", "TIDEWHEEL_RUN_ID", "TIDEWHEEL_TASK_INDEX"];
    let rest = ["DECLARED", "HOME", "LANG", "LC_ALL", "PATH"];
    assert_eq!(names, [&rest[..], &ours[..]].concat());
    assert!(!text.contains("canary") && text.contains("DECLARED=yes\n"), "{text}");
    assert!(text.contains("LANG=xx\n"), "declared variables win: {text}");
}

fn attempt_is_in_the_environment() {
    let scene = Scene::new();
    let text = "echo $TIDEWHEEL_COOKIE $TIDEWHEEL_RUN_ID $TIDEWHEEL_TASK_INDEX $TIDEWHEEL_ATTEMPT";
    // A step cannot declare its way out of being found.
    let command = scene.shell(text).variable("TIDEWHEEL_COOKIE", "mine").capture();
    let end = end_of(&scene, &command).unwrap();
    let run = "00000000-0000-0000-0000-00000000f00d";
    let expected = format!("{}/{run}/0/1 {run} 0 1\n", scene.mark);
    assert_eq!(String::from_utf8(end.captured.unwrap()).unwrap(), expected);
}

fn no_descriptor_leaks() {
    let scene = Scene::new();
    fs::write(scene.path("open"), "").unwrap();
    let _open = fs::File::open(scene.path("open")).unwrap();
    for limits in [Limits::default(), Limits::default().niceness(1)] {
        block_on(async {
            let processes = scene.processes().await;
            let input = Stdin::Bytes(b"in"[..].into());
            let command = scene.shell("ls /proc/$$/fd; :").stdin(input).limits(limits).capture();
            // Others run at the same time, with pipes of their own.
            let sleep = scene.shell("touch up; sleep 1000");
            let mut other = std::pin::pin!(run(&scene, &processes, &sleep));
            let up = crate::scene::until("other runs", || scene.path("up").exists());
            let mut up = std::pin::pin!(up);
            std::future::poll_fn(|context| {
                assert!(other.as_mut().poll(context).is_pending());
                up.as_mut().poll(context)
            })
            .await;
            let end = run(&scene, &processes, &command).await.unwrap();
            assert_eq!(String::from_utf8(end.captured.unwrap()).unwrap(), "0\n1\n2\n");
        });
    }
}

fn stdin_is_given() {
    let scene = Scene::new();
    let bytes: Vec<u8> = (0..600_000u32).map(|number| (number * 7 % 256) as u8).collect();
    let cat = || ProcessCommand::argv(["cat"]).capture();
    let end = end_of(&scene, &cat()).unwrap();
    assert_eq!(end.captured.unwrap(), b"");
    let end = end_of(&scene, &cat().stdin(Stdin::Bytes(bytes.clone().into()))).unwrap();
    assert!(end.captured.unwrap() == bytes);
    fs::write(scene.path("input"), &bytes).unwrap();
    let end = end_of(&scene, &cat().stdin(Stdin::File(scene.path("input")))).unwrap();
    assert!(end.captured.unwrap() == bytes);
    let end = end_of(&scene, &cat().stdin(Stdin::File(scene.path("missing"))));
    assert!(end.unwrap_err().to_string().contains("standard input"));
}

fn named_pipe_as_stdin_is_refused() {
    use rustix::fs::{CWD, FileType, Mode, mknodat};

    let (sender, receiver) = std::sync::mpsc::channel();
    // On a thread of its own, lest the test wait for ever for whoever writes into the pipe.
    std::thread::spawn(move || {
        let scene = Scene::new();
        mknodat(CWD, scene.path("pipe"), FileType::Fifo, Mode::RWXU, 0).unwrap();
        let cat = || ProcessCommand::argv(["cat"]).capture();
        let pipe = end_of(&scene, &cat().stdin(Stdin::File(scene.path("pipe"))));
        let folder = end_of(&scene, &cat().stdin(Stdin::File(scene.folder.clone())));
        let device = end_of(&scene, &cat().stdin(Stdin::File("/dev/null".into())));
        sender.send((pipe, folder, device)).unwrap();
    });
    let (pipe, folder, device) = receiver.recv_timeout(patience()).expect("opening waits");
    for refused in [pipe, folder] {
        let error = refused.unwrap_err();
        assert!(matches!(error, ProcessError::Stdin { .. }), "{error:?}");
        assert!(!error.is_transient());
    }
    assert_eq!(device.unwrap().captured.unwrap(), b"");
}

fn signals_are_at_their_defaults() {
    let scene = Scene::new();
    let command = ProcessCommand::argv(["cat", "/proc/self/status"]).capture();
    let status = end_of(&scene, &command).unwrap().captured.unwrap();
    let status = String::from_utf8(status).unwrap();
    for name in ["SigIgn:", "SigBlk:"] {
        let mask = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        // Beyond 31 are signals that the C library keeps for itself.
        let mask = u64::from_str_radix(mask.trim(), 16).unwrap() & 0x7fff_ffff;
        assert_eq!(mask, 0, "{name} {status}");
    }
}

fn nothing_global_changes() {
    let look = || {
        let status = fs::read_to_string("/proc/self/status").unwrap();
        let global = ["Umask", "SigBlk", "SigIgn", "SigCgt"];
        let is_global = |line: &&str| global.iter().any(|name| line.starts_with(name));
        let lines = status.lines().filter(is_global).map(|line| {
            let (name, value) = line.split_once('\t').unwrap();
            // Beyond 31 are signals that the C library uses among its threads.
            (name.to_owned(), u64::from_str_radix(value, 16).unwrap() & 0x7fff_ffff)
        });
        let lines: Vec<(String, u64)> = lines.collect();
        let subreaper = rustix::process::child_subreaper().unwrap();
        let environment: Vec<_> = std::env::vars_os().collect();
        let group = rustix::process::getpgrp();
        (lines, std::env::current_dir().unwrap(), subreaper, environment, group)
    };
    let before = look();
    assert_eq!(before.0.len(), 4);
    let scene = Scene::new();
    block_on(async {
        let processes = scene.processes().await;
        let limited = scene.shell("exit 0").limits(Limits::default().niceness(1));
        run(&scene, &processes, &limited).await.unwrap();
        let stop =
            async { tidewheel::executor::process::Stop { grace: std::time::Duration::ZERO } };
        processes.run(scene.attempt(), &scene.shell("sleep 1000"), stop).await.unwrap();
        assert_eq!(before, look());
    });
    assert_eq!(before, look());
}
