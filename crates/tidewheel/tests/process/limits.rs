//! Limits: enforced, or refused by name.
//!
//! That descriptors do not leak through them is tested in `around.rs`.

use std::fs;
use std::time::Duration;

use tidewheel::executor::process::{
    Limit, Limits, ProcessCommand, ProcessEnd, ProcessError, ProcessStatus, Stdin,
};

use crate::Test;
use crate::scene::{Scene, end_of};

pub const TESTS: &[Test] = &[
    ("limits::cpu_time", cpu_time),
    ("limits::memory", memory),
    ("limits::open_files", open_files),
    ("limits::file_size", file_size),
    ("limits::processes", processes),
    ("limits::niceness_and_privileges", niceness_and_privileges),
    ("limits::impossible_ones_are_refused", impossible_ones_are_refused),
    ("limits::other_errors_stay_what_they_are", other_errors_stay_what_they_are),
];

fn limited(scene: &Scene, text: &str, limits: Limits) -> Result<ProcessEnd, ProcessError> {
    end_of(scene, &scene.shell(text).limits(limits).capture())
}

fn cpu_time() {
    let scene = Scene::new();
    let limits = Limits::default().cpu_time(Duration::from_millis(200));
    let end = limited(&scene, "while :; do :; done", limits).unwrap();
    assert_eq!(end.status, ProcessStatus::Signalled { number: 24, name: "SIGXCPU" });
    assert_eq!(end.limit, Some(Limit::CpuTime));
}

fn memory() {
    let scene = Scene::new();
    let limits = Limits::default().memory(64 << 20);
    let hog = "ulimit -v; x=$(head -c 200000000 /dev/zero | tr '\\0' a) && echo got it";
    let end = limited(&scene, hog, limits).unwrap();
    assert_eq!(end.captured.unwrap(), b"65536\n");
    assert!(!end.status.is_success(), "{}", end.status);
    let end = limited(&scene, "echo small", limits).unwrap();
    assert!(end.status.is_success());
}

fn open_files() {
    let scene = Scene::new();
    // All eight are taken when `cat` starts, so it cannot even open its libraries.
    let text = "ulimit -n; exec 3</dev/null 4</dev/null 5</dev/null 6</dev/null 7</dev/null; \
        cat /dev/null";
    let end = limited(&scene, text, Limits::default().open_files(8)).unwrap();
    assert_eq!(end.captured.unwrap(), b"8\n");
    assert!(!end.status.is_success());
    let end = limited(&scene, text, Limits::default().open_files(20)).unwrap();
    assert!(end.status.is_success());
}

fn file_size() {
    let scene = Scene::new();
    let text = "exec head -c 300000 /dev/zero > big";
    let end = limited(&scene, text, Limits::default().file_size(100_000)).unwrap();
    assert_eq!(end.status, ProcessStatus::Signalled { number: 25, name: "SIGXFSZ" });
    assert_eq!(end.limit, Some(Limit::FileSize));
    assert_eq!(fs::metadata(scene.path("big")).unwrap().len(), 100_000);
    // Our own log files are not its files.
    let end = limited(&scene, "head -c 300000 /dev/zero", Limits::default().file_size(1000));
    assert_eq!(end.unwrap().stdout.bytes_kept, 300_000);
}

fn processes() {
    let scene = Scene::new();
    let end = limited(&scene, "ulimit -u 2>/dev/null; :", Limits::default().processes(5000));
    if rustix::process::geteuid().is_root() {
        let error = end.unwrap_err();
        assert!(matches!(error, ProcessError::LimitRefused { limit: Limit::Processes, .. }));
        assert!(error.to_string().contains("root"), "{error}");
    } else {
        assert!(end.unwrap().status.is_success());
    }
}

fn niceness_and_privileges() {
    let scene = Scene::new();
    let text = "nice; grep NoNewPrivs /proc/self/status; cat";
    let command = scene.shell(text).stdin(Stdin::Bytes(b"input"[..].into())).capture();
    let end = end_of(&scene, &command.limits(Limits::default().niceness(7))).unwrap();
    assert_eq!(String::from_utf8(end.captured.unwrap()).unwrap(), "7\nNoNewPrivs:\t1\ninput");
}

fn impossible_ones_are_refused() {
    let scene = Scene::new();
    for (limits, expected) in [
        (Limits::default().open_files(u64::MAX - 1), Limit::OpenFiles),
        (Limits::default().niceness(42), Limit::Niceness),
    ] {
        let error = limited(&scene, "touch ran", limits).unwrap_err();
        let ProcessError::LimitRefused { limit, why } = error else { panic!("{error:?}") };
        assert_eq!(limit, expected);
        assert!(!why.is_empty());
        assert!(!scene.path("ran").exists());
    }
}

fn other_errors_stay_what_they_are() {
    let scene = Scene::new();
    let limits = Limits::default().open_files(64);
    let of = |command: ProcessCommand| end_of(&scene, &command.limits(limits)).unwrap_err();
    let error = of(ProcessCommand::argv(["/nowhere/program"]));
    assert!(matches!(error, ProcessError::NotFound { .. }), "{error:?}");
    let error = of(scene.shell("true").cwd("/nowhere"));
    assert!(matches!(error, ProcessError::WorkingFolder { .. }), "{error:?}");
    // A code that looks like a failed start is a code.
    let end = limited(&scene, "exit 127", limits).unwrap();
    assert_eq!(end.status, ProcessStatus::Exited(127));
}
