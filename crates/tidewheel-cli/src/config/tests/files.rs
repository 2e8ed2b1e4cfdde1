//! What is wrong with files and variables, and how it is said.

use std::fs;

use clap::ColorChoice;

use super::scene::{PROJECT, Scene};
use crate::error::ErrorKind;

#[test]
fn an_unknown_setting_is_an_error_with_its_line_and_the_nearest() {
    for (text, message, hint) in [
        ("[run]\nmax_worker = 1", "2: there is no setting `run.max_worker`", "run.max_workers"),
        ("run.Quiet = true", "1: there is no setting `run.Quiet`", "run.quiet"),
        ("\nmax_workers = 1", "2: there is no setting `max_workers`", "run.max_workers"),
        ("[runs]\nquiet = true", "1: there is no section `runs`", "run"),
        ("\"run.quiet\" = true", "1: there is no setting `run.quiet`", "run.quiet"),
        ("[run.quit]\nx = 1", "1: there is no setting `run.quit`", "run.quiet"),
    ] {
        let scene = Scene::new().project(text);
        assert_eq!(scene.message(), format!("{PROJECT}:{message}"), "{text}");
        let error = scene.error();
        assert_eq!(error.kind, ErrorKind::Input);
        assert_eq!(error.hints, [format!("did you mean `{hint}`?")], "{text}");
    }
    let error = Scene::new().project("[run]\n  max_worker = 1 # no\n").error();
    assert_eq!(error.excerpt.as_deref(), Some("  max_worker = 1 # no\n  ^^^^^^^^^^"));
    assert_eq!(error.position, Some(8));
}

#[test]
fn a_wrong_value_is_an_error_with_its_line_and_what_it_should_be() {
    for (text, message) in [
        ("run.max_workers = 0", "`run.max_workers` should be a whole number from 1 to 100000"),
        ("run.max_workers = -1", "`run.max_workers` should be a whole number from 1 to 100000"),
        ("run.max_workers = 1.5", "`run.max_workers` should be a whole number from 1 to 100000"),
        ("run.max_workers = 1e3", "`run.max_workers` should be a whole number from 1 to 100000"),
        ("run.quiet = 1", "`run.quiet` should be true or false"),
        ("run.quiet = 1979-05-27", "`run.quiet` should be true or false"),
        ("color = true", "`color` should be auto, always or never"),
        ("color = 1", "`color` should be auto, always or never"),
        ("data = \"\"", "`data` should be a path"),
        ("data = \"a\\u0000b\"", "`data` should be a path"),
        ("data = [\"a\"]", "`data` should be a path"),
        ("[data]\npath = 1", "`data` should be a path"),
        ("run = 4", "`run` is a section"),
        ("[[run]]\nquiet = true", "`run` is a section"),
        (
            "retention.age = 0",
            "`retention.age` should be a duration from 1s to 36500d, such as 30s, 5m or 12h, \
             or off",
        ),
        (
            "process.grace = \"off\"",
            "`process.grace` should be a duration from 0s to 1d, such as 30s, 5m or 12h",
        ),
        (
            "process.output_max = \"9999T\"",
            "`process.output_max` should be a size from 0 to 1TiB, such as 500K or 64MiB",
        ),
        (
            "scheduler.starvation_timeout = \"1.5h\"",
            "`scheduler.starvation_timeout` should be a duration from 1ms to 36500d, such as 30s, \
             5m or 12h, or 0 or off",
        ),
    ] {
        let scene = Scene::new().project(text);
        assert_eq!(scene.message(), format!("{PROJECT}:1: {message}"), "{text}");
    }
    let error = Scene::new().user("\nrun.durability = 'powr'\n").error();
    assert_eq!(error.excerpt.as_deref(), Some("run.durability = 'powr'\n                 ^^^^^^"));
    assert_eq!(error.hints, ["did you mean `power`?"]);
}

#[test]
fn the_first_of_several_problems_is_shown_and_the_others_are_named() {
    let text = "color = 1\n[run]\nx = 1\nquiet = 4\n[http]\ny = 1\n";
    let scene = Scene::new().project(text);
    assert!(scene.message().starts_with("project/tidewheel.toml:1: "));
    assert_eq!(scene.error().hints, ["see also lines 3, 4, 6"]);
}

#[test]
fn a_file_further_down_is_checked_even_if_it_does_not_count() {
    let scene = Scene::new().project("run.max_workers = 1\n").user("run.max_workers = \"x\"\n");
    assert!(scene.message().starts_with("home/.config/tidewheel/config.toml:1: "));
}

#[test]
fn a_wrong_value_in_the_environment_is_an_error() {
    let scene = Scene::new().variable("TIDEWHEEL_RUN_MAX_WORKERS", "four\u{1b}[2J");
    assert_eq!(
        scene.message(),
        "the variable TIDEWHEEL_RUN_MAX_WORKERS is `four\\u{1b}[2J`; it should be a whole number \
         from 1 to 100000"
    );
    let scene = Scene::new().variable("TIDEWHEEL_COLOR", "nevr");
    assert_eq!(scene.error().hints, ["did you mean `never`?"]);
    assert_eq!(scene.error().kind, ErrorKind::Input);
}

#[test]
fn an_unknown_variable_of_ours_is_a_warning_with_the_nearest() {
    let scene = Scene::new()
        .variable("TIDEWHEEL_RUN_MAX_WORKER", "4")
        .variable("TIDEWHEEL_MAX_CONCURRENCY", "4")
        .variable("TIDEWHEEL_CONFG", "x")
        .variable("TIDEWHEEL_SURPRISE", "x")
        .variable("TIDEWHEELS", "x")
        .variable("PATH", "/bin");
    let expected = [
        "there is no setting TIDEWHEEL_CONFG; did you mean TIDEWHEEL_CONFIG?",
        "there is no setting TIDEWHEEL_MAX_CONCURRENCY; did you mean \
         TIDEWHEEL_SCHEDULER_MAX_CONCURRENCY?",
        "there is no setting TIDEWHEEL_RUN_MAX_WORKER; did you mean TIDEWHEEL_RUN_MAX_WORKERS?",
        "there is no setting TIDEWHEEL_SURPRISE; `tidewheel config show` lists them",
    ];
    assert_eq!(scene.warnings(), expected);
}

#[test]
fn what_a_step_is_told_is_no_unknown_setting() {
    let names = ["RUN_ID", "TASK_INDEX", "STEP", "ATTEMPT", "COOKIE", "SPAWNER"];
    let scene = names
        .iter()
        .fold(Scene::new(), |scene, name| scene.variable(&format!("TIDEWHEEL_{name}"), "1"));
    assert_eq!(scene.warnings(), [""; 0]);
}

#[test]
fn hostile_files_are_errors() {
    let deep_keys = format!("{} = 1", vec!["a"; 10_000].join("."));
    let many: String = (0..60_000).map(|number| format!("unknown_{number} = 1\n")).collect();
    let nested = |open: &str, close: &str| {
        format!("run.quiet = {}{}", open.repeat(100_000), close.repeat(100_000))
    };
    for (name, content) in [
        ("huge", vec![b'#'; (1 << 20) + 1]),
        ("binary", (0..=255).collect()),
        ("zeros", vec![0; 5_000]),
        ("arrays", nested("[", "]").into_bytes()),
        ("tables", nested("{a=", "}").into_bytes()),
        ("open arrays", nested("[", "").into_bytes()),
        ("deep keys", deep_keys.clone().into_bytes()),
        ("deep section", format!("[{}]", deep_keys.trim_end_matches(" = 1")).into_bytes()),
        ("long key", format!("{} = 1", "k".repeat(1_000_000)).into_bytes()),
        ("long value", format!("color = \"{}\"", "v".repeat(1_000_000)).into_bytes()),
        ("many unknown", many.into_bytes()),
        ("escapes", b"color = \"\x1b[31m\"".to_vec()),
        ("twice", b"color = \"auto\"\ncolor = \"auto\"".to_vec()),
        ("wide letters", "färbe = \"ü\u{202e}\u{1f980}".into()),
        ("line ends", b"color = \"x\"\r\n\rrun.quiet = 1".to_vec()),
        ("no end", b"color = \"\"\"".to_vec()),
    ] {
        let scene = Scene::new().project(content);
        let error = scene.error();
        assert_eq!(error.kind, ErrorKind::Input, "{name}");
        let said = format!("{:#}\n{:?}\n{:?}", error.error, error.excerpt, error.hints);
        assert!(said.len() < 1_500, "{name}: {said}");
        let excerpt = error.excerpt.unwrap_or_default().replace('\n', "");
        assert!(!excerpt.contains(char::is_control), "{name}: {said}");
        assert!(!format!("{:#}", error.error).contains(char::is_control), "{name}: {said}");
    }
}

#[test]
fn a_file_may_begin_with_a_byte_order_mark_and_end_without_a_line() {
    let scene = Scene::new().project("\u{feff}color = \"never\"\r\nrun.max_workers = 2");
    let config = scene.load();
    assert_eq!((config.color(), config.run_max_workers()), (ColorChoice::Never, Some(2)));
    assert_eq!(Scene::new().project("").load().run_max_workers(), None);
}

#[test]
fn bytes_that_are_no_text_are_told_with_their_line() {
    let scene = Scene::new().project(b"color = \"auto\"\n# \xff\n");
    assert_eq!(scene.message(), "project/tidewheel.toml:2: it is not UTF-8 text");
}

#[cfg(unix)]
#[test]
fn what_is_found_and_is_no_file_is_not_read() {
    let scene = Scene::new();
    fs::create_dir(scene.root.join(PROJECT)).unwrap();
    assert_eq!(scene.message(), "failed to read project/tidewheel.toml: it is not a file");
    let scene = Scene::new();
    std::os::unix::fs::symlink("/dev/zero", scene.root.join(PROJECT)).unwrap();
    assert_eq!(scene.message(), "failed to read project/tidewheel.toml: it is not a file");
    let scene = Scene::new();
    std::os::unix::fs::symlink("nowhere", scene.root.join(PROJECT)).unwrap();
    assert_eq!(scene.error().kind, ErrorKind::NotFound);
    let scene = Scene::new().variable("TIDEWHEEL_CONFIG", "/dev/zero");
    assert_eq!(scene.message(), "/dev/zero has more than 1048576 bytes");
}
