//! The samples of `examples/deploy`: they are read here and held against the product, and a server is started as they start it.
//!
//! No container is built. What a server answers is tried in `tidewheel-server`.

use std::collections::BTreeSet;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::common::{Scratch, stderr};
use serde_json::Value as Json;
use tidewheel_client::files::parse_yaml;
use tidewheel_server::table::{Permission, routes};
use tidewheel_testing::patience;

/// Where flows and data are in all samples.
const FLOWS: &str = "/etc/tidewheel/flows";
const DATA: &str = "/var/lib/tidewheel";

/// The port that all samples speak of.
const PORT: u64 = 8080;

/// How long a server lets steps finish if nobody says otherwise, in seconds.
const GRACE: u64 = 30;

fn sample(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/deploy");
    std::fs::read_to_string(folder.join(name)).unwrap()
}

fn yaml(name: &str) -> Vec<Json> {
    sample(name).split("\n---\n").map(|text| parse_yaml(text).unwrap()).collect()
}

fn words(list: &Json) -> Vec<String> {
    list.as_array().unwrap().iter().map(|word| word.as_str().unwrap().to_owned()).collect()
}

/// Whether the command takes these words: one that it does not know is found before the help is shown.
#[track_caller]
fn check_words(words: &[String]) {
    let mut arguments: Vec<&str> = words.iter().map(String::as_str).collect();
    arguments.push("--help");
    let output = Scratch::new("deploy-words").run(&arguments);
    assert_eq!(output.status.code(), Some(0), "{words:?}: {}", stderr(&output));
    assert_eq!(words.first().map(String::as_str), Some("serve"));
}

/// The port behind `--listen`, which others than this machine reach behind a proxy only.
#[track_caller]
fn check_listens(words: &[String]) {
    let place = words.iter().position(|word| word == "--listen").unwrap();
    assert_eq!(words[place + 1], format!("0.0.0.0:{PORT}"));
    assert!(words.iter().any(|word| word == "--behind-proxy"), "{words:?}");
}

fn public(path: &str) -> bool {
    routes().any(|route| route.path == path && route.permission == Permission::Public)
}

#[test]
fn the_container_file_starts_a_server_as_nobody_in_particular() {
    let text = sample("Containerfile");
    let line = |word: &str| {
        let mut lines = text.lines().filter_map(|line| line.strip_prefix(word));
        lines.next_back().unwrap_or_else(|| panic!("no {word}")).trim().to_owned()
    };
    let listed = |word: &str| words(&serde_json::from_str(&line(word)).unwrap());
    assert_eq!(listed("ENTRYPOINT").last().unwrap(), "tidewheel");
    check_words(&listed("CMD"));
    check_listens(&listed("CMD"));
    assert_eq!(line("EXPOSE"), PORT.to_string());
    assert_eq!(line("VOLUME"), DATA);
    assert!(line("USER").parse::<u32>().unwrap() > 0);
    let variables = line("ENV");
    let variables: Vec<(&str, &str)> =
        variables.split(' ').map(|pair| pair.split_once('=').unwrap()).collect();
    assert_eq!(variables, [("TIDEWHEEL_DATA", DATA), ("TIDEWHEEL_SERVE_FLOWS", FLOWS)]);
    let scratch = Scratch::new("deploy-variables");
    let mut command = scratch.command(&["config", "show", "--format", "json"]);
    let output = command.envs(variables).output().unwrap();
    assert_eq!(stderr(&output), "", "variables that are no settings are told");
    assert!(String::from_utf8_lossy(&output.stdout).contains(FLOWS));
    // The toolchain is the one that the workspace asks for.
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Cargo.toml");
    let manifest = std::fs::read_to_string(manifest).unwrap();
    let version = manifest.lines().find_map(|line| line.strip_prefix("rust-version = ")).unwrap();
    assert!(text.contains(&format!("rust:{}-slim", version.trim_matches('"'))), "{version}");
}

fn seconds(text: &str) -> u64 {
    text.trim_end_matches('s').parse().unwrap()
}

#[test]
fn the_compose_file_keeps_data_and_lets_steps_finish() {
    let compose = &yaml("compose.yaml")[0];
    let server = &compose["services"]["tidewheel"];
    check_words(&words(&server["command"]));
    check_listens(&words(&server["command"]));
    assert_eq!(words(&server["expose"]), [PORT.to_string()]);
    assert!(seconds(server["stop_grace_period"].as_str().unwrap()) > GRACE);
    let mounts = words(&server["volumes"]);
    assert_eq!(mounts, [format!("data:{DATA}"), format!("./flows:{FLOWS}:ro")]);
    assert!(compose["volumes"].as_object().unwrap().contains_key("data"));
    let build = &server["build"];
    let file = Path::new("examples/deploy").join(build["context"].as_str().unwrap());
    assert_eq!(file, PathBuf::from("examples/deploy/../.."));
    assert_eq!(build["dockerfile"], "examples/deploy/Containerfile");
    // The proxy leads to the server, and the server knows its name.
    let proxy = words(&compose["services"]["proxy"]["command"]);
    assert!(proxy.contains(&format!("tidewheel:{PORT}")), "{proxy:?}");
    let name = &proxy[proxy.iter().position(|word| word == "--from").unwrap() + 1];
    assert!(words(&server["command"]).contains(name));
}

#[test]
fn the_kubernetes_manifest_asks_for_what_is_there() {
    let documents = yaml("kubernetes.yaml");
    let of = |kind: &str| documents.iter().find(|document| document["kind"] == kind).unwrap();
    let deployment = &of("Deployment")["spec"];
    assert_eq!(
        (&deployment["replicas"], &deployment["strategy"]["type"]),
        (&1.into(), &"Recreate".into())
    );
    let pod = &deployment["template"]["spec"];
    assert!(pod["terminationGracePeriodSeconds"].as_u64().unwrap() > GRACE);
    assert_eq!(pod["securityContext"]["runAsNonRoot"], true);
    let server = &pod["containers"][0];
    check_words(&words(&server["args"]));
    check_listens(&words(&server["args"]));
    assert_eq!(server["ports"][0]["containerPort"], PORT);
    for probe in ["livenessProbe", "readinessProbe"] {
        let probe = &server[probe]["httpGet"];
        // Whoever probes has no token, and calls the server by its address unless told otherwise.
        assert!(public(probe["path"].as_str().unwrap()), "{probe}");
        assert_eq!(probe["port"], server["ports"][0]["name"]);
        assert_eq!(probe["httpHeaders"][0]["name"], "Host");
        assert_eq!(probe["httpHeaders"][0]["value"], "localhost");
    }
    let named = |list: &Json, key: &str| -> BTreeSet<String> {
        let list = list.as_array().unwrap().iter();
        list.map(|entry| entry[key].as_str().unwrap().to_owned()).collect()
    };
    let paths = named(&server["volumeMounts"], "mountPath");
    assert!(paths.contains(DATA) && paths.contains(FLOWS), "{paths:?}");
    assert_eq!(named(&server["volumeMounts"], "name"), named(&pod["volumes"], "name"));
    let claim = &of("PersistentVolumeClaim")["metadata"]["name"];
    let volumes = pod["volumes"].as_array().unwrap();
    assert!(volumes.iter().any(|volume| volume["persistentVolumeClaim"]["claimName"] == *claim));
    assert_eq!(of("Service")["spec"]["ports"][0]["targetPort"], server["ports"][0]["name"]);
    assert_eq!(of("Service")["spec"]["selector"], deployment["selector"]["matchLabels"]);
    // The flows in it are flows.
    let scratch = Scratch::new("deploy-flows");
    for (name, text) in of("ConfigMap")["data"].as_object().unwrap() {
        let file = scratch.file(name, text.as_str().unwrap());
        let output = scratch.run(&["validate", &file, "--strict"]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    }
}

/// The value of a key in a unit of systemd.
#[track_caller]
fn unit(name: &str, key: &str) -> String {
    let text = sample(name);
    let mut lines = text.lines().filter_map(|line| line.strip_prefix(key)?.strip_prefix('='));
    lines.next().unwrap_or_else(|| panic!("{name} has no {key}")).to_owned()
}

#[test]
fn the_units_of_systemd_fit_the_server() {
    assert_eq!(unit("tidewheel.socket", "ListenStream"), format!("127.0.0.1:{PORT}"));
    assert_eq!(unit("tidewheel.service", "Type"), "notify-reload");
    assert_eq!(unit("tidewheel.service", "KillMode"), "mixed");
    assert!(seconds(&unit("tidewheel.service", "TimeoutStopSec")) > GRACE);
    assert!(seconds(&unit("tidewheel.service", "WatchdogSec")) >= 10);
    assert_eq!(unit("tidewheel.service", "Requires"), "tidewheel.socket");
    let folder = unit("tidewheel.service", "StateDirectory");
    assert_eq!(Path::new("/var/lib").join(folder), Path::new(DATA));
    let words: Vec<String> =
        unit("tidewheel.service", "ExecStart").split(' ').skip(1).map(str::to_owned).collect();
    check_words(&words);
    assert!(words.contains(&DATA.to_owned()) && words.contains(&FLOWS.to_owned()));
    // The guide shows the same.
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/deploy.md");
    let guide = std::fs::read_to_string(guide).unwrap();
    for name in ["tidewheel.service", "tidewheel.socket"] {
        assert!(guide.contains(&sample(name)), "the guide shows another {name}");
    }
}

/// A server as the unit starts it, at a socket that was handed over and with somebody to tell.
#[test]
fn a_server_takes_the_socket_of_systemd_and_tells_how_it_stands() {
    let scratch = Scratch::new("deploy-socket");
    std::fs::create_dir(scratch.path("flows")).unwrap();
    scratch.file("flows/hello.yaml", "flow: [{ name: say, run: echo hello }]\n");
    let (flows, data) = (scratch.path("flows"), scratch.data());
    let start = unit("tidewheel.service", "ExecStart");
    let arguments =
        start.replace(FLOWS, flows.to_str().unwrap()).replace(DATA, data.to_str().unwrap());
    let socket = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = socket.local_addr().unwrap();
    let overseer = UnixDatagram::bind(scratch.path("notify")).unwrap();
    overseer.set_read_timeout(Some(patience())).unwrap();
    let hear = || {
        let mut text = [0; 500];
        let length = overseer.recv(&mut text).unwrap();
        String::from_utf8(text[..length].to_vec()).unwrap()
    };
    // The third descriptor is the socket, and the process that the shell becomes is the one it is for.
    let script = "exec 3<&0 </dev/null; LISTEN_FDS=1 LISTEN_PID=$$ exec \"$0\" \"$@\"";
    let mut command = Command::new("sh");
    command
        .args(["-c", script, env!("CARGO_BIN_EXE_tidewheel")])
        .args(arguments.split(' ').skip(1));
    command.env_clear().env("NOTIFY_SOCKET", scratch.path("notify"));
    command.env("WATCHDOG_USEC", "200000").stdin(Stdio::from(OwnedFd::from(socket)));
    let mut server = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    assert_eq!(hear(), "READY=1\nSTATUS=serving 1 flow with 0 schedules, 16 slots\n");
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET /health/ready HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let until = |wanted: &str| loop {
        let heard = hear();
        if heard.starts_with(wanted) {
            return heard;
        }
        assert_eq!(heard, "WATCHDOG=1\n");
    };
    until("WATCHDOG=1");
    let signal = |name: &str| {
        let id = server.id().to_string();
        assert!(Command::new("kill").args(["-s", name, &id]).status().unwrap().success());
    };
    signal("HUP");
    until("RELOADING=1\nMONOTONIC_USEC=");
    until("READY=1");
    signal("TERM");
    until("STOPPING=1");
    assert_eq!(server.wait().unwrap().code(), Some(0));
}

#[test]
fn a_socket_that_others_can_reach_is_refused_too() {
    let scratch = Scratch::new("deploy-open");
    let socket = TcpListener::bind("0.0.0.0:0").unwrap();
    let script = "exec 3<&0 </dev/null; LISTEN_FDS=1 LISTEN_PID=$$ exec \"$0\" \"$@\"";
    let start = |more: &[&str]| {
        let mut command = Command::new("sh");
        command.args(["-c", script, env!("CARGO_BIN_EXE_tidewheel"), "serve"]).args(more);
        command.env_clear().env("TIDEWHEEL_DATA", scratch.data());
        command.stdin(Stdio::from(OwnedFd::from(socket.try_clone().unwrap()))).output().unwrap()
    };
    let output = start(&[]);
    assert_eq!(output.status.code(), Some(6), "{}", stderr(&output));
    let output = start(&["--listen", "127.0.0.1:0"]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("leave --listen out"), "{}", stderr(&output));
}

#[test]
fn every_figure_of_the_dashboard_is_there() {
    let dashboard: Json = serde_json::from_str(&sample("grafana.json")).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let mut wanted = BTreeSet::new();
    for panel in panels {
        for target in panel["targets"].as_array().unwrap() {
            let expression = target["expr"].as_str().unwrap();
            let names =
                expression.split(|letter: char| letter != '_' && !letter.is_ascii_alphanumeric());
            let names: Vec<&str> = names.filter(|name| name.starts_with("tidewheel_")).collect();
            assert!(!names.is_empty(), "{expression}");
            wanted.extend(names.into_iter().map(str::to_owned));
        }
    }
    assert!(wanted.len() > 15, "{wanted:?}");
    let scratch = Scratch::new("deploy-figures");
    let server = scratch.start_heard(&["serve", "--listen", "127.0.0.1:0"]);
    server.wait_for("to log in");
    let said = server.said();
    let address = said.lines().find_map(|line| line.split("listening on http://").nth(1)).unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    let scraped = &yaml("prometheus.yaml")[0]["scrape_configs"][0];
    let path = scraped["metrics_path"].as_str().unwrap();
    let accept = "Accept: text/plain; version=0.0.4\r\nConnection: close\r\n";
    write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\n{accept}\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    for name in wanted {
        let is_there = text
            .lines()
            .any(|line| line.strip_prefix(&name).is_some_and(|rest| rest.starts_with(['{', ' '])));
        assert!(is_there, "there is no {name}");
    }
    server.signal("TERM");
    assert_eq!(server.ended().0, Some(0));
}
