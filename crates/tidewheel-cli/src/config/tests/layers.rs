//! Which word wins, where values come from, and what they mean.

use std::path::PathBuf;
use std::time::Duration;

use clap::{ColorChoice, ValueEnum};
use serde_json::json;

use super::scene::{PROJECT, Scene, USER};
use crate::cli::WideFormat;
use crate::config::setting::SETTINGS;
use crate::config::{Config, Setting, Value, as_json, as_text};

/// Words as a flag has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Durability {
    Process,
    Power,
}

fn origin(config: &Config, key: &str) -> String {
    let mut settings = config.settings();
    settings.find(|(definition, ..)| definition.key == key).unwrap().2.to_string()
}

#[test]
fn without_a_word_the_defaults_hold() {
    let config = Scene::new().load();
    assert_eq!(config.data(), None);
    assert_eq!(config.format(), None);
    assert_eq!(config.color(), ColorChoice::Auto);
    assert_eq!(config.run_max_workers(), None);
    assert_eq!(config.run_durability(), Some(Durability::Process));
    assert_eq!(config.run_log_level::<Durability>(), None);
    assert!(!config.run_quiet());
    assert!(config.scheduler_enabled());
    assert_eq!(config.scheduler_max_concurrency(), None);
    assert_eq!(config.scheduler_starvation_timeout(), Some(Duration::from_secs(30)));
    assert_eq!(config.process_grace(), Duration::from_secs(10));
    assert_eq!(config.process_output_max(), 64 << 20);
    assert!(config.http_allow_private());
    assert_eq!(config.retention_age(), None);
    assert_eq!(config.retention_runs(), None);
    assert_eq!(config.retention_bytes(), None);
    assert!(config.settings().all(|(_, _, origin)| origin.kind() == "default"));
}

#[test]
fn a_flag_wins_over_a_variable_over_the_project_over_the_user_over_the_default() {
    let scene = Scene::new();
    assert_eq!(scene.load().run_durability(), Some(Durability::Process));
    let scene = scene.user("[run]\nmax_workers = 1\ndurability = \"power\"\nquiet = true\n");
    let config = scene.load();
    assert_eq!(config.run_max_workers(), Some(1));
    let scene = scene.project("# ours\nrun.max_workers = 2\nrun.quiet = false\n");
    let config = scene.load();
    assert_eq!(config.run_max_workers(), Some(2));
    assert!(!config.run_quiet());
    assert_eq!(config.run_durability(), Some(Durability::Power), "the user's, untouched");
    let scene = scene.variable("TIDEWHEEL_RUN_MAX_WORKERS", "3");
    let mut config = scene.load();
    assert_eq!(config.run_max_workers(), Some(3));
    config.set_flag(Setting::RunMaxWorkers, None);
    assert_eq!(config.run_max_workers(), Some(3), "a flag that is not given says nothing");
    config.set_flag(Setting::RunMaxWorkers, Value::Count(4));
    assert_eq!(config.run_max_workers(), Some(4));
}

#[test]
fn every_value_knows_where_it_came_from() {
    let scene = Scene::new()
        .user("\n[process]\ngrace = \"1m\"\n")
        .project("\n\nprocess = { output_max = 5 }\n")
        .variable("TIDEWHEEL_COLOR", "never");
    let mut config = scene.load();
    config.set_flag(Setting::Format, Value::word(&WideFormat::Json));
    let place = |file: &str, line| format!("{}:{line}", scene.root.join(file).display());
    assert_eq!(origin(&config, "process.grace"), place(USER, 3));
    assert_eq!(origin(&config, "process.output_max"), place(PROJECT, 3));
    assert_eq!(origin(&config, "color"), "TIDEWHEEL_COLOR");
    assert_eq!(origin(&config, "format"), "--format");
    assert_eq!(origin(&config, "run.quiet"), "default");
    let shown = &as_json(&config)["settings"];
    for (key, value, kind, place) in [
        ("process.grace", json!(60), "file", json!(place(USER, 3))),
        ("color", json!("never"), "environment", json!("TIDEWHEEL_COLOR")),
        ("format", json!("json"), "flag", json!("--format")),
        ("retention.age", json!(null), "default", json!(null)),
    ] {
        assert_eq!(shown[key]["value"], value, "{key}");
        assert_eq!(shown[key]["origin"], json!({ "kind": kind, "where": place }), "{key}");
    }
    assert_eq!(shown["data"]["description"], "The data folder.");
}

#[test]
fn every_setting_can_be_said_in_a_file_and_in_the_environment() {
    let said = [
        ("data", "/srv"),
        ("format", "json"),
        ("color", "always"),
        ("run.max_workers", "7"),
        ("run.durability", "power"),
        ("run.log_level", "debug"),
        ("run.quiet", "true"),
        ("scheduler.enabled", "false"),
        ("scheduler.max_concurrency", "9"),
        ("scheduler.max_queue_size", "100"),
        ("scheduler.starvation_timeout", "1500ms"),
        ("serve.flows", "/etc/flows"),
        ("serve.grace", "45s"),
        ("serve.flowtoy_open", "true"),
        ("serve.metrics_token", "true"),
        ("serve.base_path", "/tide"),
        ("serve.tls_cert", "/tls/crt"),
        ("serve.tls_key", "/tls/key"),
        ("otlp.endpoint", "http://127.0.0.1:4318"),
        ("process.grace", "2m"),
        ("process.output_max", "3KiB"),
        ("container.engine", "podman"),
        ("http.allow_private", "false"),
        ("retention.age", "30d"),
        ("retention.runs", "10"),
        ("retention.bytes", "2GiB"),
    ];
    assert_eq!(said.len(), SETTINGS.len());
    let (mut by_file, mut by_variables) = (Scene::new(), Scene::new());
    let mut text = String::new();
    for ((key, value), definition) in said.into_iter().zip(&SETTINGS) {
        assert_eq!(key, definition.key);
        text.push_str(&format!("{key} = \"{value}\"\n"));
        by_variables = by_variables.variable(definition.variable, value);
    }
    by_file = by_file.project(text);
    for config in [by_file.load(), by_variables.load()] {
        assert!(config.settings().all(|(_, _, origin)| origin.kind() != "default"));
        assert_eq!(config.data(), Some(PathBuf::from("/srv")));
        assert_eq!(config.format(), Some(WideFormat::Json));
        assert_eq!(config.color(), ColorChoice::Always);
        assert_eq!(config.run_max_workers(), Some(7));
        assert_eq!(config.run_durability(), Some(Durability::Power));
        assert!(config.run_quiet() && !config.scheduler_enabled() && !config.http_allow_private());
        assert_eq!(config.scheduler_max_concurrency(), Some(9));
        assert_eq!(config.scheduler_starvation_timeout(), Some(Duration::from_millis(1500)));
        assert_eq!(config.process_grace(), Duration::from_secs(120));
        assert_eq!(config.process_output_max(), 3072);
        assert_eq!(config.container_engine().as_deref(), Some("podman"));
        assert_eq!(config.retention_age(), Some(Duration::from_secs(30 * 86_400)));
        assert_eq!(config.retention_runs(), Some(10));
        assert_eq!(config.retention_bytes(), Some(2 << 30));
    }
}

#[test]
fn what_is_shown_is_a_file_that_says_the_same() {
    let scene = Scene::new()
        .project("data = \"a \\\"b\\\" \\\\ \\u001b[2J \\u202e\"\nretention.age = \"off\"\n")
        .user("scheduler.starvation_timeout = \"90 seconds\"\nprocess.output_max = \"1025\"\n")
        .variable("TIDEWHEEL_RETENTION_RUNS", "12");
    let config = scene.load();
    for with_origins in [false, true] {
        let text = as_text(&config, with_origins);
        assert!(!text.contains(['\u{1b}', '\u{202e}']), "{text}");
        let again = Scene::new().project(&text).load();
        for ((definition, value, _), (_, again, _)) in config.settings().zip(again.settings()) {
            assert_eq!(value, again, "{}", definition.key);
        }
    }
}

#[test]
fn durations_and_truths_are_read_as_in_the_environment_of_others() {
    let timeout = |text: &str| {
        let scene = Scene::new().variable("TIDEWHEEL_SCHEDULER_STARVATION_TIMEOUT", text);
        scene.load().scheduler_starvation_timeout().map(|time| time.as_millis())
    };
    for (text, millis) in [
        ("30s", 30_000),
        ("30 seconds", 30_000),
        ("1 second", 1_000),
        ("45", 45_000),
        ("250ms", 250),
        ("2m", 120_000),
        ("2min", 120_000),
        (" 1 H ", 3_600_000),
        ("2 days", 172_800_000),
    ] {
        assert_eq!(timeout(text), Some(millis), "{text}");
    }
    for text in ["0", "0s", "off", "OFF"] {
        assert_eq!(timeout(text), None, "{text}");
    }
    for (text, is_enabled) in [
        ("true", true),
        ("TRUE", true),
        ("1", true),
        ("Yes", true),
        ("on", true),
        ("false", false),
        ("0", false),
        ("no", false),
        ("off", false),
    ] {
        let scene = Scene::new().variable("TIDEWHEEL_SCHEDULER_ENABLED", text);
        assert_eq!(scene.load().scheduler_enabled(), is_enabled, "{text}");
    }
}

#[test]
fn numbers_of_a_file_are_seconds_bytes_and_counts() {
    let text = "retention.age = 1_000\nretention.bytes = 0x10\nrun.max_workers = +3\n\
                scheduler.starvation_timeout = 0\n";
    let config = Scene::new().project(text).load();
    assert_eq!(config.retention_age(), Some(Duration::from_secs(1_000)));
    assert_eq!(config.retention_bytes(), Some(16));
    assert_eq!(config.run_max_workers(), Some(3));
    assert_eq!(config.scheduler_starvation_timeout(), None);
}

#[test]
fn off_switches_off_what_a_file_further_down_says() {
    let scene = Scene::new().user("[retention]\nage = \"1d\"\nruns = 5\n");
    assert_eq!(scene.load().retention_runs(), Some(5));
    let scene =
        scene.project("retention.age = \"off\"\n").variable("TIDEWHEEL_RETENTION_RUNS", "off");
    let config = scene.load();
    assert_eq!((config.retention_age(), config.retention_runs()), (None, None));
    assert_eq!(origin(&config, "retention.runs"), "TIDEWHEEL_RETENTION_RUNS");
}

#[test]
fn an_empty_variable_says_nothing() {
    let scene = Scene::new().user("data = \"/srv\"\n");
    let scene = scene.variable("TIDEWHEEL_DATA", "").variable("TIDEWHEEL_CONFIG", "");
    assert_eq!(scene.load().data(), Some(PathBuf::from("/srv")));
}

#[test]
fn paths_begin_at_the_folder_of_their_file_at_home_or_here() {
    let data = |scene: Scene| (scene.load().data().unwrap(), scene.root.clone());
    let (path, root) = data(Scene::new().project("data = \"state\"\n").inside("project/below"));
    assert_eq!(path, root.join("project/state"));
    let (path, root) = data(Scene::new().user("data = \"~/state\"\n"));
    assert_eq!(path, root.join("home/state"));
    let (path, root) = data(Scene::new().user("data = \"~\"\n"));
    assert_eq!(path, root.join("home"));
    let (path, root) = data(Scene::new().variable("TIDEWHEEL_DATA", " State "));
    assert_eq!(path, root.join("project/ State "));
}

#[cfg(unix)]
#[test]
fn a_path_of_the_environment_need_not_be_text() {
    use std::os::unix::ffi::OsStringExt as _;
    let name = std::ffi::OsString::from_vec(b"/srv/\xff".to_vec());
    let scene = Scene::new().variable("TIDEWHEEL_DATA", name.clone());
    assert_eq!(scene.load().data(), Some(PathBuf::from(&name)));
    as_text(&scene.load(), true);
    let scene = Scene::new().variable("TIDEWHEEL_FORMAT", name);
    assert_eq!(scene.message(), "the variable TIDEWHEEL_FORMAT is not UTF-8 text");
}

#[test]
#[should_panic(expected = "run.quiet")]
fn a_flag_of_another_kind_is_a_bug() {
    Scene::new().load().set_flag(Setting::RunQuiet, Value::Count(1));
}
