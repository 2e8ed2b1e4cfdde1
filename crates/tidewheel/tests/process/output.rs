//! What processes print, and what is kept of it.
//!
//! How masking works in detail is tested beside it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

use tidewheel::executor::process::{Masker, ProcessError, ProcessStatus, Stdin};

use crate::Test;
use crate::scene::{Scene, block_on, end_of, run, until};

pub const TESTS: &[Test] = &[
    ("output::is_kept_byte_by_byte", is_kept_byte_by_byte),
    ("output::of_any_size_needs_little_memory", of_any_size_needs_little_memory),
    ("output::closed_early_is_fine", closed_early_is_fine),
    ("output::held_open_by_a_child_is_fine", held_open_by_a_child_is_fine),
    ("output::of_quiet_steps_makes_no_file", of_quiet_steps_makes_no_file),
    ("output::tail_shows_the_last_lines", tail_shows_the_last_lines),
    ("output::captured_is_whole_or_an_error", captured_is_whole_or_an_error),
    ("output::secrets_are_masked", secrets_are_masked),
    ("output::unwritable_log_is_told", unwritable_log_is_told),
    ("output::reaches_the_log_while_it_runs", reaches_the_log_while_it_runs),
];

fn is_kept_byte_by_byte() {
    let scene = Scene::new();
    let bytes: Vec<u8> = (0..2560u32).flat_map(|_| 0..=255u8).collect();
    let command = scene.shell("tee /dev/stderr").stdin(Stdin::Bytes(bytes.clone().into()));
    let end = end_of(&scene, &command).unwrap();
    for (output, name) in [(&end.stdout, "0-1.out"), (&end.stderr, "0-1.err")] {
        let path = output.path.as_ref().unwrap();
        let folder = scene.path("logs/00000000-0000-0000-0000-00000000f00d");
        assert_eq!(path, &folder.join(name));
        assert!(fs::read(path).unwrap() == bytes);
        assert_eq!((output.bytes_seen, output.bytes_kept), (655_360, 655_360));
        assert!(!output.is_cut && output.problem.is_none());
        let mode = |path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(path), mode(&folder)), (0o600, 0o700));
    }
}

fn of_any_size_needs_little_memory() {
    need_little_memory(100_000_000);
}

pub fn need_little_memory(most: u64) {
    let peak = || {
        let status = fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap()
    };
    let scene = Scene::new();
    let masker = Arc::new(Masker::new(["not in there"]).unwrap());
    let before = peak();
    for (bytes, masker) in [(most, None), (most / 5, Some(masker))] {
        let text = format!("head -c {bytes} /dev/zero; exit 3");
        let mut command = scene.shell(&text).output_max(1_000_000);
        if let Some(masker) = masker {
            command = command.secrets(masker);
        }
        let end = end_of(&scene, &command).unwrap();
        assert_eq!(end.status, ProcessStatus::Exited(3));
        let output = &end.stdout;
        assert_eq!((output.bytes_seen, output.bytes_kept), (bytes, 1_000_000));
        assert!(output.is_cut);
        let log = fs::read(output.path.as_ref().unwrap()).unwrap();
        let marker = &log[1_000_000..];
        assert_eq!(marker, b"\n[tidewheel: output cut after 1000000 bytes]\n");
        assert!(log[..1_000_000].iter().all(|byte| *byte == 0));
        assert!(end.tail.len() <= 8192);
    }
    let grown = peak() - before;
    assert!(grown <= 32 << 10, "{grown} KiB more");
}

fn closed_early_is_fine() {
    let scene = Scene::new();
    let text =
        "echo out; exec >&- 2>&-; touch closed; while [ ! -e go ]; do sleep 0.01; done; exit 5";
    let command = scene.shell(text).capture();
    block_on(async {
        let processes = scene.processes().await;
        let mut step = std::pin::pin!(run(&scene, &processes, &command));
        let mut closed = std::pin::pin!(until("it closed", || scene.path("closed").exists()));
        std::future::poll_fn(|context| {
            assert!(step.as_mut().poll(context).is_pending());
            closed.as_mut().poll(context)
        })
        .await;
        // It must still be waited for: another one starts and ends meanwhile.
        let other = scene.shell("true");
        let mut other = std::pin::pin!(run(&scene, &processes, &other));
        std::future::poll_fn(|context| {
            assert!(step.as_mut().poll(context).is_pending());
            other.as_mut().poll(context)
        })
        .await
        .unwrap();
        fs::write(scene.path("go"), "").unwrap();
        let end = step.await.unwrap();
        assert_eq!(end.status, ProcessStatus::Exited(5));
        assert_eq!(end.captured.unwrap(), b"out\n");
    });
}

fn held_open_by_a_child_is_fine() {
    let scene = Scene::new();
    let end = end_of(&scene, &scene.shell("echo one; sleep 1000 & exit 4").capture()).unwrap();
    assert_eq!(end.status, ProcessStatus::Exited(4));
    assert_eq!(end.captured.unwrap(), b"one\n");
    // Held by somebody who cannot be told to be of the tree: reading ends all the same.
    let text = "setsid env -i sh -c 'echo $$ > pid; exec sleep 1000' & \
        while [ ! -s pid ]; do sleep 0.01; done; echo two; exit 4";
    let end = end_of(&scene, &scene.shell(text).capture()).unwrap();
    assert_eq!(end.captured.unwrap(), b"two\n");
    // It is ended with the spawner.
    let pid = crate::scene::number_in(&scene.path("pid")).unwrap();
    block_on(until("it is gone", || !crate::scene::is_alive(pid)));
}

fn of_quiet_steps_makes_no_file() {
    let scene = Scene::new();
    let end = end_of(&scene, &scene.shell("true")).unwrap();
    assert!(end.stdout.path.is_none() && end.stderr.path.is_none() && end.tail.is_empty());
    assert!(!scene.path("logs").exists());
    let end = end_of(&scene, &scene.shell("echo x >&2")).unwrap();
    assert!(end.stdout.path.is_none() && end.stderr.path.is_some());
}

fn tail_shows_the_last_lines() {
    let scene = Scene::new();
    let text = "for i in $(seq 100); do echo line $i; done; printf 'bad \\377\\n' >&2";
    let end = end_of(&scene, &scene.shell(text)).unwrap();
    assert_eq!(end.tail.lines().count(), 20);
    assert!(end.tail.starts_with("line 82\n") && end.tail.ends_with("line 100\nbad \u{fffd}"));
    // In the order of the writing: each line waits until the one before it is in its log.
    let text = "grown() { until [ -n \"$(find logs -name \"*.$1\" -size +0 2>/dev/null)\" ]; do sleep 0.01; done; }; \
        echo first; grown out; echo second >&2; grown err; echo third; exit 1";
    let scene = Scene::new();
    let end = end_of(&scene, &scene.shell(text)).unwrap();
    assert_eq!(end.tail, "first\nsecond\nthird");
    assert_eq!(end.complaint, "second");
}

fn captured_is_whole_or_an_error() {
    let scene = Scene::new();
    let end = end_of(&scene, &scene.shell("printf 12345").capture_max(5)).unwrap();
    assert_eq!(end.captured.unwrap(), b"12345");
    let error = end_of(&scene, &scene.shell("printf 123456").capture_max(5)).unwrap_err();
    assert!(matches!(error, ProcessError::CaptureTooLarge { most: 5, seen: 6 }), "{error:?}");
    let end = end_of(&scene, &scene.shell("printf 123456")).unwrap();
    assert!(end.captured.is_none());
}

fn secrets_are_masked() {
    let scene = Scene::new();
    let masker = Arc::new(Masker::new(["correct-horse"]).unwrap());
    // Its beginning comes in one write, its end in another, which waits until the first was read: what cannot be
    // part of a secret is in the log by then.
    let text = "set -x; : \"$SECRET\"; printf 'a correct-'; { set +x; } 2>/dev/null; \
        until [ -n \"$(find logs -name '*.out' -size +0 2>/dev/null)\" ]; do sleep 0.01; done; \
        printf 'horse b '; printf %s \"$SECRET\" | base64; exit 2";
    let command = scene.shell(text).variable("SECRET", "correct-horse").secrets(masker).capture();
    let end = end_of(&scene, &command).unwrap();
    let log = fs::read_to_string(end.stdout.path.unwrap()).unwrap();
    assert_eq!(log, "a *** b ***\n");
    let errors = fs::read_to_string(end.stderr.path.unwrap()).unwrap();
    assert!(errors.contains("+ : ***\n") && !errors.contains("horse'"), "{errors}");
    assert!(!end.tail.contains("correct-horse") && end.tail.contains("a *** b ***"));
    // A captured value is the value.
    assert!(end.captured.unwrap().starts_with(b"a correct-horse b "));
}

fn unwritable_log_is_told() {
    let scene = Scene::new();
    fs::write(scene.path("logs"), "a file where the folder should be").unwrap();
    let end = end_of(&scene, &scene.shell("echo hello; exit 6")).unwrap();
    assert_eq!(end.status, ProcessStatus::Exited(6));
    assert!(end.stdout.problem.is_some() && end.stdout.path.is_none());
    assert_eq!((end.stdout.bytes_seen, end.stdout.bytes_kept), (6, 0));
    assert_eq!(end.tail, "hello");
}

fn reaches_the_log_while_it_runs() {
    let scene = Scene::new();
    let log = scene.path("logs/00000000-0000-0000-0000-00000000f00d/0-1.out");
    let command = scene.shell("echo now; while [ ! -e go ]; do sleep 0.01; done");
    block_on(async {
        let processes = scene.processes().await;
        let mut step = std::pin::pin!(run(&scene, &processes, &command));
        let shown = until("it is shown", || fs::read(&log).is_ok_and(|text| text == b"now\n"));
        let mut shown = std::pin::pin!(shown);
        std::future::poll_fn(|context| {
            assert!(step.as_mut().poll(context).is_pending());
            shown.as_mut().poll(context)
        })
        .await;
        fs::write(scene.path("go"), "").unwrap();
        assert!(step.await.unwrap().status.is_success());
    });
}
