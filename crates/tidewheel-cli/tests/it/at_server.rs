//! The command against a server: at its address with `--server`, and at its socket where it has the data folder.
//!
//! What is done there is tried in `tidewheel-client` and `tidewheel-server`.

use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Output, Stdio};

use crate::common::{Heard, Scratch, states, stderr, stdout, wait_until};
use serde_json::Value;

const GREET: &str = "params: { who: { default: me }, code: { type: int, default: 0 } }
flow:
  - name: greet
    run: 'echo hello $WHO | tee greeting.txt'
    env: { WHO: '{{ params.who }}' }
    artifacts: [greeting.txt]
  - { name: end, depends_on: [greet], run: 'exit $CODE', env: { CODE: '{{ params.code }}' } }
";

const ASKS: &str = "flow: [{ name: ask, wait: { approval: 'now?', every: 50ms } }]\n";

/// A server on a port of its own, and what is needed to ask it.
struct Served {
    scratch: Scratch,
    server: Heard,
    url: String,
    token: String,
}

impl Served {
    fn new(name: &str) -> Self {
        let scratch = Scratch::new(name);
        std::fs::create_dir_all(scratch.path("flows")).unwrap();
        scratch.file("flows/greet.yaml", GREET);
        scratch.file("flows/asks.yaml", ASKS);
        let token = ["token", "create", "test", "--role", "admin"];
        let token = scratch.json(&token)["secret"].as_str().unwrap().to_owned();
        let server = scratch.start_heard(&["serve", "--flows", "flows", "--listen", "127.0.0.1:0"]);
        server.wait_for("to log in, within a minute");
        let said = server.said();
        let url = said.lines().find_map(|line| line.strip_prefix("listening on ")).unwrap();
        Self { url: url.to_owned(), scratch, server, token }
    }

    /// Asks the server from elsewhere.
    fn ask(&self, arguments: &[&str]) -> Output {
        let arguments = [arguments, &["--server", &self.url]].concat();
        let mut command = self.scratch.command(&arguments);
        // There is no data folder where this is asked.
        command.env_remove("TIDEWHEEL_DATA").env("TIDEWHEEL_TOKEN", &self.token).output().unwrap()
    }

    #[track_caller]
    fn json(&self, arguments: &[&str]) -> Value {
        let output = self.ask(&[arguments, &["--format", "json"]].concat());
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    fn audit(&self) -> Vec<(String, String)> {
        let rows = self.scratch.json(&["audit", "list"])["rows"].as_array().unwrap().clone();
        let text = |row: &Value, key: &str| row[key].as_str().unwrap().to_owned();
        rows.iter().rev().map(|row| (text(row, "action"), text(row, "object"))).collect()
    }

    fn stop(self) {
        self.server.signal("TERM");
        assert_eq!(self.server.ended().0, Some(0));
    }
}

#[test]
fn a_flow_of_the_server_that_has_the_folder_is_run_by_its_name() {
    let served = Served::new("at-server-name");
    let here = |arguments: &[&str]| served.scratch.command(arguments).output().unwrap();
    let ran = served.scratch.json(&["run", "greet", "--param", "who=you"]);
    assert!(states(&ran).iter().all(|(_, state)| state == "succeeded"), "{ran}");
    let started = ["run", "greet", "--detach", "--priority", "70", "--tag", "mine"];
    let started = served.scratch.json(&started)["run_id"].as_str().unwrap().to_owned();
    wait_until("it has ended", || served.json(&["show", &started])["state"] == "succeeded");
    assert_eq!(served.audit().iter().filter(|(action, _)| action == "start-run").count(), 2);
    // What is a file, or would be one, is none of its flows.
    let missing = here(&["run", "greet.yaml"]);
    assert!(stderr(&missing).contains("greet.yaml"), "{}", stderr(&missing));
    served.scratch.file("mine.yaml", GREET);
    let detached = here(&["run", "mine.yaml", "--detach"]);
    assert_eq!(detached.status.code(), Some(2));
    assert!(stderr(&detached).contains("--detach: this is for a run of a server"));
    served.stop();
}

#[test]
fn a_flow_of_a_server_is_run_and_watched_from_elsewhere() {
    let served = Served::new("at-server-run");
    let flows = served.json(&["flows"]);
    assert_eq!(flows["flows"][1]["name"], "greet", "{flows}");
    assert_eq!(served.json(&["flows", "greet"])["params"][0]["name"], "who");
    let run =
        served.ask(&["run", "greet", "-p", "who=you", "--tag", "mine", "--log-level", "debug"]);
    let said = stderr(&run);
    assert_eq!(run.status.code(), Some(0), "{said}");
    assert!(said.contains("hello you"), "what steps write is seen: {said}");
    let shown = served.json(&["show", "last"]);
    let expected = [("end", "succeeded"), ("greet", "succeeded")];
    let expected: Vec<_> = expected.map(|(a, b)| (a.to_owned(), b.to_owned())).into();
    assert_eq!((states(&shown), shown["tags"][0].as_str()), (expected, Some("mine")));

    let failed = served.ask(&["run", "greet", "--param", "code=3", "--format", "json"]);
    assert_eq!(failed.status.code(), Some(1), "{}", stderr(&failed));
    let result: Value = serde_json::from_slice(&failed.stdout).unwrap();
    assert_eq!(result["steps"]["end"]["code"], 3);

    let files = served.ask(&["artifacts", "last", "--get", "greeting.txt"]);
    assert_eq!(stdout(&files), "hello me\n", "{}", stderr(&files));
    let copied = served.json(&["artifacts", "last", "--to", "copies"]);
    assert_eq!(copied["artifacts"][0]["step"], "greet");
    assert_eq!(served.scratch.read("copies/greet/greeting.txt"), "hello me\n");

    let detached = served.json(&["run", "asks", "--detach", "--key", "seven"]);
    let again = served.json(&["run", "asks", "--detach", "--key", "seven"]);
    assert_eq!((&again["run_id"], again["created"].as_bool()), (&detached["run_id"], Some(false)));
    let run = detached["run_id"].as_str().unwrap();
    assert_eq!(served.ask(&["cancel", run, "--drain"]).status.code(), Some(0));
    wait_until("it has ended", || served.json(&["show", run])["state"] == "cancelled");

    for (arguments, code, words) in [
        (&["run", "great"][..], 4, "did you mean `greet`?"),
        (&["run", "greet", "-p", "whom=x"], 2, "did you mean `who`?"),
        (&["run", "greet", "--from", "end"], 2, "this is not for a run of a server"),
        (&["retry", "nothing"], 4, "`tidewheel runs` lists them"),
    ] {
        let output = served.ask(arguments);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}");
        assert!(said.contains(words), "{arguments:?}: {said}");
    }
    assert_eq!(served.json(&["audit", "verify"])["rows"], served.audit().len());
    served.stop();
}

#[test]
fn whoever_watches_a_run_of_a_server_ends_it_as_one_of_their_own() {
    let served = Served::new("at-server-signal");
    let arguments = ["run", "asks", "--server", &served.url];
    let mut command = served.scratch.command(&arguments);
    command.env("TIDEWHEEL_TOKEN", &served.token).stdout(Stdio::null()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    wait_until("it waits", || {
        let runs = served.scratch.json(&["runs"]);
        let run = &runs["runs"][0]["run_id"];
        run.as_str().is_some_and(|run| {
            let shown = served.scratch.json(&["show", run]);
            shown["steps"]["ask"]["attempts"] == 1
        })
    });
    let pid = child.id().to_string();
    // It listens to signals from the moment it has begun to watch.
    wait_until("it listens", || {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
        u64::from_str_radix(caught.trim(), 16).unwrap() & 2 != 0
    });
    assert!(std::process::Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    assert_eq!(served.scratch.json(&["show", "last"])["state"], "cancelled");
    served.stop();
}

#[test]
fn a_command_on_the_folder_of_a_server_is_carried_out_by_it_and_written_down() {
    let served = Served::new("at-server-socket");
    let scratch = &served.scratch;
    let failed = served.ask(&["run", "greet", "--param", "code=3"]);
    assert_eq!(failed.status.code(), Some(1));
    let first = scratch.json(&["show", "last"])["run_id"].as_str().unwrap().to_owned();
    // The file is mended, and somebody forgets to say so.
    scratch.file("flows/greet.yaml", &GREET.replace("exit $CODE", "true"));
    let again = scratch.run(&["retry", &first]);
    let said = stderr(&again);
    assert_eq!(again.status.code(), Some(1), "{said}");
    assert!(said.contains("changed since") && said.contains("--new-files"), "{said}");
    let mended = scratch.run(&["retry", &first, "--new-files"]);
    assert_eq!(mended.status.code(), Some(0), "{}", stderr(&mended));
    let nothing = scratch.run(&["retry", "last"]);
    assert_eq!(nothing.status.code(), Some(5), "{}", stderr(&nothing));
    assert!(stderr(&nothing).contains("--from STEP"), "{}", stderr(&nothing));

    let run = served.json(&["run", "asks", "--detach"])["run_id"].as_str().unwrap().to_owned();
    let commands: [&[&str]; 4] = [
        &["pause", &run],
        &["resume", &run],
        &["priority", &run, "ask", "high"],
        &["cancel", &run],
    ];
    for command in commands {
        let output = scratch.run(command);
        assert_eq!(output.status.code(), Some(0), "{command:?}: {}", stderr(&output));
    }
    let audit = served.audit();
    let actions: Vec<&str> = audit.iter().map(|(action, _)| action.as_str()).collect();
    // What was not to be done at all was only asked for.
    let expected = [
        "make-token",
        "start-run",
        "retry-run",
        "retry-run",
        "start-run",
        "pause-run",
        "resume-run",
        "set-priority",
        "cancel-run",
    ];
    assert_eq!(actions, expected);
    assert!(audit[1].1.starts_with("flow greet, run "), "{:?}", audit[1]);
    assert!(audit[2].1.starts_with(&format!("run {first}, as run ")), "{:?}", audit[2]);
    assert_eq!(audit[5].1, format!("run {run}"));
    assert_eq!(audit[7].1, format!("run {run}, priority 80, step ask"));
    served.stop();
}

#[test]
fn a_run_whose_process_died_is_resumed_by_the_server_that_has_the_folder() {
    let served = Served::new("at-server-resume");
    let scratch = &served.scratch;
    let run = scratch.start(&["run", "flows/asks.yaml"]);
    let asks = || scratch.json(&["runs"])["runs"].as_array().is_some_and(|runs| !runs.is_empty());
    wait_until("it is there", asks);
    wait_until("it waits", || scratch.json(&["show", "last"])["steps"]["ask"]["attempts"] == 1);
    run.signal("KILL");
    run.output();
    wait_until("it is left", || scratch.json(&["show", "last"])["state"] == "interrupted");
    let resumed = scratch.start(&["resume", "last"]);
    wait_until("it goes on", || scratch.json(&["show", "last"])["state"] == "running");
    assert_eq!(scratch.run(&["approve", "last", "ask"]).status.code(), Some(0));
    let output = resumed.output();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    served.stop();
}

#[test]
fn a_token_is_kept_for_its_server_and_a_link_logs_in() {
    let served = Served::new("at-server-login");
    let scratch = &served.scratch;
    let home = scratch.path("home");
    let with_home = |arguments: &[&str]| {
        let mut command = scratch.command(arguments);
        command.env("HOME", &home).env("XDG_CONFIG_HOME", home.join("config"));
        command
    };
    let keep = |token: &str| {
        let mut command = with_home(&["login", &served.url, "--token"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(token.as_bytes()).unwrap();
        child.wait_with_output().unwrap()
    };
    let list = || with_home(&["runs", "--server", &served.url]).output().unwrap();
    assert_eq!(list().status.code(), Some(6), "{}", stderr(&list()));
    let wrong = keep("tidewheel_0000");
    assert_eq!(wrong.status.code(), Some(6), "{}", stderr(&wrong));
    assert!(!home.join("config/tidewheel/credentials.json").exists());
    let kept = keep(&format!("{}\n", served.token));
    assert_eq!(kept.status.code(), Some(0), "{}", stderr(&kept));
    assert!(stdout(&kept).contains("logged in as test, admin"), "{}", stdout(&kept));
    let file = home.join("config/tidewheel/credentials.json");
    assert_eq!(std::fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(list().status.code(), Some(0), "{}", stderr(&list()));

    for arguments in [&["login"][..], &["login", &served.url]] {
        let link = with_home(arguments).output().unwrap();
        assert_eq!(link.status.code(), Some(0), "{}", stderr(&link));
        let url = stdout(&link);
        assert!(url.starts_with(&format!("{}/login?code=", served.url)), "{url}");
    }
    let forgotten = with_home(&["login", &served.url, "--forget"]).output().unwrap();
    assert_eq!(forgotten.status.code(), Some(0), "{}", stderr(&forgotten));
    assert_eq!(list().status.code(), Some(6));
    let data = scratch.path("empty");
    let nobody = scratch.run(&["login", "--data", data.to_str().unwrap()]);
    assert_eq!(nobody.status.code(), Some(4), "{}", stderr(&nobody));
    served.stop();
}
