//! `tidewheel tui` in a terminal: keys are sent through tmux, and the screen is read back.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test")]

use std::process::{Command, Stdio};

use crate::common;
use crate::common::{Scratch, skipped, wait_until};

/// A step that runs until the test says `go`, one after it, and one that fails.
const FLOW: &str = "
name: gated
flow:
  - { name: hold, run: 'echo first line; echo needle here; touch started; while [ ! -e go ]; do sleep 0.02; done' }
  - { name: next, depends_on: [hold], run: touch next }
  - { name: broken, run: 'echo oops; exit 3', on_error: continue }
";

/// A shell in a terminal of so many columns and rows.
struct Tmux {
    socket: String,
}

impl Tmux {
    fn start(scratch: &Scratch, size: (u16, u16)) -> Option<Self> {
        if Command::new("tmux").arg("-V").output().is_err() {
            skipped("screens in a terminal", "there is no `tmux` here");
            return None;
        }
        let socket = scratch.path("tmux").display().to_string();
        let tmux = Self { socket };
        let (width, height) = (size.0.to_string(), size.1.to_string());
        let shell = scratch.command(&[]);
        let mut command = tmux.command();
        command.args(["-f", "/dev/null", "new-session", "-d", "-x", &width, "-y", &height]);
        for (name, value) in shell.get_envs() {
            if let Some(value) = value {
                command.arg("-e").arg(format!("{}={}", name.display(), value.display()));
            }
        }
        command.args(["-e", "LC_ALL=C.UTF-8", "-e", "PS1=$ ", "-e", "HISTFILE="]);
        command.arg("-c").arg(scratch.path(""));
        command.args(["bash", "--norc", "--noprofile", "-i"]);
        assert!(command.status().unwrap().success());
        Some(tmux)
    }

    fn command(&self) -> Command {
        let mut command = Command::new("tmux");
        command.args(["-S", &self.socket]).stdin(Stdio::null());
        command
    }

    /// Types a line.
    fn line(&self, text: &str) {
        assert!(self.command().args(["send-keys", "-l", text]).status().unwrap().success());
        self.keys(&["Enter"]);
    }

    /// Presses keys by their names.
    fn keys(&self, keys: &[&str]) {
        assert!(self.command().arg("send-keys").args(keys).status().unwrap().success());
    }

    fn screen(&self) -> String {
        let output = self.command().args(["capture-pane", "-p"]).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn wait_for(&self, words: &str) {
        let seen = || self.screen().contains(words);
        wait_until(&format!("`{words}` is seen"), seen);
    }

    /// Presses the mouse on these words.
    fn press_at(&self, words: &str) {
        let screen = self.screen();
        let place = screen.lines().zip(1..).find_map(|(line, row)| {
            let column = line[..line.find(words)?].chars().count() + 1;
            Some((column, row))
        });
        let (column, row) = place.unwrap_or_else(|| panic!("{words} is not in {screen}"));
        let pressed = format!("\x1b[<0;{column};{row}M\x1b[<0;{column};{row}m");
        let bytes: Vec<String> = pressed.bytes().map(|byte| format!("{byte:02x}")).collect();
        assert!(self.command().args(["send-keys", "-H"]).args(bytes).status().unwrap().success());
    }

    fn wait_until_gone(&self, words: &str) {
        wait_until(&format!("`{words}` is gone"), || !self.screen().contains(words));
    }

    fn resize(&self, width: u16, height: u16) {
        let (width, height) = (width.to_string(), height.to_string());
        let sized = self.command().args(["resize-window", "-x", &width, "-y", &height]).status();
        assert!(sized.unwrap().success());
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        let _ = self.command().arg("kill-server").status();
    }
}

fn tidewheel() -> &'static str {
    env!("CARGO_BIN_EXE_tidewheel")
}

#[test]
fn a_run_of_others_is_watched_searched_and_ended() {
    let scratch = Scratch::new("tui-attach");
    let file = scratch.file("flow.yaml", FLOW);
    let Some(tmux) = Tmux::start(&scratch, (80, 24)) else { return };
    let running = scratch.start(&["run", &file, "--quiet"]);
    scratch.wait_for("started");
    tmux.line(&format!("stty -g > before; {} tui; echo left with $?", tidewheel()));
    tmux.wait_for("RUNS");
    tmux.wait_for("gated");
    tmux.keys(&["Enter"]);
    tmux.wait_for("broken");
    tmux.wait_for("hold");
    tmux.wait_for("\n * decided how long it took so far");
    // The step, and what it wrote.
    tmux.keys(&["l"]);
    tmux.wait_for("first line");
    tmux.keys(&["/"]);
    tmux.keys(&["needle", "Enter"]);
    tmux.wait_for("`needle`: 1 of 1");
    tmux.keys(&["Escape"]);
    tmux.wait_for("waits for hold");
    tmux.keys(&["Tab"]);
    tmux.wait_for("▶");
    tmux.keys(&["Tab", "Tab"]);
    tmux.wait_for("started by hand");
    tmux.keys(&["Tab"]);
    tmux.resize(60, 15);
    tmux.wait_for("broken");
    tmux.keys(&["?"]);
    tmux.wait_for("KEYS");
    tmux.keys(&["?", "x"]);
    tmux.wait_for("End run");
    tmux.keys(&["y"]);
    tmux.wait_for("cancelled");
    let _ = running.output();
    tmux.keys(&["q"]);
    tmux.wait_for("left with 0");
    tmux.line("stty -g | cmp - before && echo the same settings");
    tmux.wait_for("\nthe same settings");
}

#[test]
fn one_step_of_a_run_is_left_out() {
    let scratch = Scratch::new("tui-skip");
    let file = scratch.file("flow.yaml", FLOW);
    let Some(tmux) = Tmux::start(&scratch, (80, 24)) else { return };
    let running = scratch.start(&["run", &file, "--quiet"]);
    scratch.wait_for("started");
    tmux.line(&format!("{} tui; echo left with $?", tidewheel()));
    tmux.wait_for("gated");
    tmux.keys(&["Enter"]);
    tmux.wait_for("broken");
    tmux.wait_for("hold");
    tmux.keys(&["X"]);
    tmux.wait_for("End hold of run");
    tmux.keys(&["y"]);
    // Nobody lets the step end: it is ended, and what needs it is never begun.
    let _ = running.output();
    tmux.wait_for("– next");
    assert!(!scratch.path("next").exists());
    tmux.keys(&["q"]);
    tmux.wait_for("left with 0");
}

#[test]
fn files_are_run_and_shown_and_leaving_lets_steps_finish() {
    let scratch = Scratch::new("tui-files");
    let file = scratch.file("flow.yaml", FLOW);
    let Some(tmux) = Tmux::start(&scratch, (100, 30)) else { return };
    tmux.line(&format!("{} tui {file}; echo left with $?", tidewheel()));
    tmux.wait_for("hold");
    scratch.wait_for("started");
    tmux.keys(&["q"]);
    tmux.wait_for("let running steps finish");
    tmux.keys(&["f"]);
    tmux.wait_for("stopping");
    scratch.file("go", "");
    tmux.wait_for("left with 130");
    assert!(!scratch.path("next").exists(), "nothing more was started");
}

#[test]
fn ctrl_z_gives_the_terminal_back_and_fg_returns() {
    let scratch = Scratch::new("tui-stop");
    let file = scratch.file("flow.yaml", "flow: [{ name: only, run: 'true' }]");
    assert!(scratch.run(&["run", &file, "--quiet"]).status.success());
    let Some(tmux) = Tmux::start(&scratch, (80, 24)) else { return };
    tmux.line(&format!("{} tui", tidewheel()));
    tmux.wait_for("FLOWS");
    tmux.keys(&["C-z"]);
    tmux.wait_for("Stopped");
    tmux.line("echo the shell $((40 + 2)) answers");
    tmux.wait_for("the shell 42 answers");
    tmux.line("fg");
    tmux.wait_for("FLOWS");
    tmux.keys(&["q"]);
    tmux.wait_until_gone("FLOWS");
}

#[test]
fn without_a_terminal_it_says_what_else_there_is() {
    let scratch = Scratch::new("tui-none");
    let output = scratch.run(&["tui"]);
    assert_eq!(output.status.code(), Some(2));
    let said = common::stderr(&output);
    assert!(said.contains("there is no terminal") && said.contains("tidewheel runs"), "{said}");
}

#[test]
fn the_status_page_of_a_run_is_shown() {
    let scratch = Scratch::new("tui-page");
    let file = scratch.file("flow.yaml", FLOW);
    let Some(tmux) = Tmux::start(&scratch, (80, 24)) else { return };
    let running = scratch.start_heard(&["run", &file, "--status-port", "0"]);
    running.wait_for("status at ");
    let said = running.said();
    let url = said.split("status at ").nth(1).unwrap().split_whitespace().next().unwrap();
    scratch.wait_for("started");
    tmux.line(&format!("{} tui --status-url {url}", tidewheel()));
    tmux.wait_for("broken");
    tmux.keys(&["x"]);
    tmux.wait_for("can only be looked at");
    scratch.file("go", "");
    tmux.wait_for("✓ next");
    tmux.keys(&["q"]);
    running.ended();
}

/// A flow that runs by itself once a year, and asks.
const SERVED: &str = "
name: served
schedule: '0 0 1 1 *'
flow:
  - { name: ask, wait: { approval: go on? } }
  - { name: act, depends_on: [ask], run: touch acted }
";

#[test]
fn the_flows_of_a_server_are_started_answered_and_paused() {
    let scratch = Scratch::new("tui-server");
    std::fs::create_dir_all(scratch.path("flows")).unwrap();
    scratch.file("flows/served.yaml", SERVED);
    let Some(tmux) = Tmux::start(&scratch, (110, 30)) else { return };
    let server = scratch.start_heard(&["serve", "--flows", "flows", "--listen", "off"]);
    wait_until("the server is there", || scratch.path("data/server/socket").exists());
    tmux.line(&format!("{} tui; echo left with $?", tidewheel()));
    tmux.wait_for("served");
    tmux.wait_for("FLOWS");
    tmux.keys(&["s"]);
    tmux.wait_for("Start served?");
    tmux.keys(&["y"]);
    // What was started is looked at.
    tmux.wait_for("› served");
    tmux.keys(&["Escape"]);
    tmux.wait_for("ASKS");
    tmux.keys(&["y"]);
    tmux.wait_for("Say yes to ask");
    tmux.keys(&["fine", "Enter"]);
    scratch.wait_for("flows/acted");
    tmux.keys(&["4"]);
    tmux.wait_for("active");
    // Which instants a backfill fires is shown first.
    tmux.keys(&["b", "Right", "Tab"]);
    tmux.wait_for("as 2026-11-17 14:00");
    tmux.line("2023-12-31 12:00");
    tmux.wait_for("Fire 3 instants of served");
    tmux.wait_for("2025-01-01 00:00:00");
    let firings = |fate: &str| {
        let ledger = scratch.json(&["schedule", "ledger", "served"]);
        let firings = ledger["firings"].as_array().unwrap().clone();
        firings.iter().filter(|it| it["origin"] == fate).count()
    };
    assert_eq!(firings("backfill"), 0);
    tmux.keys(&["y"]);
    tmux.wait_for("backfilled, 3 instants");
    wait_until("they are fired", || firings("backfill") > 0);
    tmux.keys(&["p"]);
    tmux.wait_for("paused");
    tmux.keys(&["3"]);
    tmux.wait_for("QUEUES");
    // A file that cannot be run any more is looked at, as it is now and as it was.
    scratch.file("flows/served.yaml", &SERVED.replace("run: touch", "runn: touch"));
    tmux.keys(&["1"]);
    tmux.wait_for("its file cannot be run");
    tmux.keys(&["End", "d"]);
    tmux.wait_for("as it is now: it cannot be run");
    tmux.wait_for("runn: touch");
    tmux.wait_for("✗ ");
    tmux.keys(&["Escape"]);
    tmux.wait_for("FLOWS");
    tmux.keys(&["q"]);
    tmux.wait_for("left with 0");
    server.signal("TERM");
    server.ended();
}

/// The same at an address, with commands by their names and with the mouse.
#[test]
fn a_server_elsewhere_is_shown_and_steered_by_commands_and_the_mouse() {
    let scratch = Scratch::new("tui-elsewhere");
    std::fs::create_dir_all(scratch.path("flows")).unwrap();
    scratch.file("flows/served.yaml", SERVED);
    let Some(tmux) = Tmux::start(&scratch, (110, 30)) else { return };
    let token = scratch.json(&["token", "create", "test", "--role", "operator"]);
    let server = scratch.start_heard(&["serve", "--flows", "flows", "--listen", "127.0.0.1:0"]);
    server.wait_for("to log in, within a minute");
    let said = server.said();
    let url = said.lines().find_map(|line| line.strip_prefix("listening on ")).unwrap();
    let token = token["secret"].as_str().unwrap();
    // There is no data folder where this is asked.
    tmux.line(&format!(
        "env -u TIDEWHEEL_DATA TIDEWHEEL_TOKEN={token} {} tui --server {url}; echo left with $?",
        tidewheel()
    ));
    tmux.wait_for("FLOWS");
    tmux.wait_for("served");
    tmux.keys(&[":"]);
    tmux.wait_for("open  back");
    tmux.line("sched");
    tmux.wait_for("active");
    tmux.keys(&[":"]);
    tmux.line("pause");
    wait_until("it is paused", || {
        scratch.json(&["schedule", "list"])["schedules"][0]["state"] == "paused"
    });
    // A press on the third of the screens in the second line, as terminals tell it.
    tmux.press_at("3 queues");
    tmux.wait_for("QUEUES");
    tmux.press_at("1 overview");
    tmux.wait_for("FLOWS");
    tmux.press_at("q quit");
    tmux.wait_for("left with 0");
    server.signal("TERM");
    server.ended();
}

#[test]
fn without_colours_no_colour_is_written() {
    let scratch = Scratch::new("tui-plain");
    let file = scratch.file("flow.yaml", FLOW);
    scratch.file("go", "");
    scratch.run(&["run", &file, "--quiet"]);
    let Some(tmux) = Tmux::start(&scratch, (80, 24)) else { return };
    let is_coloured = || {
        let output = tmux.command().args(["capture-pane", "-p", "-e"]).output().unwrap();
        let screen = String::from_utf8_lossy(&output.stdout).into_owned();
        let codes = screen.split("\x1b[").skip(1).filter_map(|rest| rest.split('m').next());
        let mut codes = codes.flat_map(|codes| codes.split(';')).map(str::parse::<u8>);
        codes.any(|code| matches!(code, Ok(30..=38 | 40..=48 | 90..=107)))
    };
    for (variables, expected) in [("", true), ("NO_COLOR=1 ", false)] {
        tmux.line(&format!("{variables}{} tui; echo left with $?", tidewheel()));
        tmux.wait_for("FLOWS");
        tmux.wait_for("gated");
        assert_eq!(is_coloured(), expected, "{variables}");
        tmux.keys(&["q"]);
        // Before it has left, what is typed is still read by it.
        tmux.wait_for("left with 0");
        tmux.line("clear");
        tmux.wait_until_gone("left with 0");
    }
}

/// A flow that wants to know something, and fails if that is `no`.
const ASKING: &str = r#"
name: asking
params:
  word: { type: text, description: what is written }
  times: { type: int, default: 2, max: 9 }
flow:
  - { name: write, env: { WORD: '{{ params.word }}', TIMES: '{{ params.times }}' }, run: 'echo "$WORD $TIMES" >> written' }
  - { name: check, depends_on: [write], run: '[ -e fixed ]' }
"#;

/// Without a server, what is started and made again is carried out by the screens themselves.
#[test]
fn a_flow_is_started_and_made_again_without_a_server() {
    let scratch = Scratch::new("tui-own");
    let file = scratch.file("asking.yaml", ASKING);
    assert_eq!(scratch.run(&["run", &file, "-p", "word=first", "-q"]).status.code(), Some(1));
    let Some(tmux) = Tmux::start(&scratch, (100, 30)) else { return };
    tmux.line(&format!("cd /; {} tui; echo left with $?", tidewheel()));
    tmux.wait_for("FLOWS");
    tmux.keys(&["End", "s"]);
    tmux.wait_for("Start asking");
    tmux.wait_for("what is written");
    tmux.keys(&["Enter"]);
    tmux.wait_for("the flow needs the param `word`");
    tmux.keys(&["second", "Tab", "0", "Enter"]);
    tmux.wait_for("must be at most 9");
    tmux.keys(&["BSpace", "BSpace", "7", "Enter"]);
    tmux.wait_for("› asking");
    tmux.wait_for("failed");
    assert_eq!(scratch.read("written"), "first 2\nsecond 7\n");
    // The step has failed; the run ends behind it.
    let state = || scratch.json(&["show", "last"])["state"].as_str().map(str::to_owned);
    wait_until("it is over", || state().as_deref() == Some("failed"));
    scratch.file("fixed", "");
    tmux.keys(&["t"]);
    tmux.wait_for("1 step again, 1 reused");
    tmux.keys(&["y"]);
    tmux.wait_for("✓ check");
    assert_eq!(scratch.read("written"), "first 2\nsecond 7\n", "what had succeeded was reused");
    tmux.keys(&["Home", "T"]);
    tmux.wait_for("Run write and what comes after it again");
    tmux.keys(&["y"]);
    wait_until("it is written again", || scratch.read("written").lines().count() == 3);
    wait_until("it is over", || {
        scratch.json(&["show", "last"])["state"].as_str() == Some("succeeded")
    });
    tmux.keys(&["q"]);
    tmux.wait_for("left with 0");
}

/// What a retry would do is shown, and if that is something else by then, shown again.
#[test]
fn a_retry_does_nothing_that_was_not_shown() {
    let scratch = Scratch::new("tui-shown");
    let text = "name: checking\nflow: [{ name: check, run: '[ -e fixed ]' }]\n";
    let file = scratch.file("checking.yaml", text);
    assert_eq!(scratch.run(&["run", &file, "-q"]).status.code(), Some(1));
    let Some(tmux) = Tmux::start(&scratch, (100, 30)) else { return };
    tmux.line(&format!("{} tui; echo left with $?", tidewheel()));
    tmux.wait_for("checking");
    tmux.keys(&["2"]);
    tmux.wait_for("state");
    tmux.keys(&["Enter"]);
    tmux.wait_for("✗ check");
    tmux.keys(&["t"]);
    tmux.wait_for("1 step again, 0 reused");
    scratch.file("checking.yaml", &text.replace("fixed ]", "fixed ] || exit 2"));
    tmux.keys(&["y"]);
    tmux.wait_for("it was not done");
    tmux.wait_for("its files have changed");
    let runs = || scratch.json(&["runs"])["runs"].as_array().unwrap().len();
    assert_eq!(runs(), 1, "nothing was run");
    scratch.file("fixed", "");
    tmux.keys(&["y"]);
    tmux.wait_for("✓ check");
    assert_eq!(runs(), 2);
    tmux.keys(&["q"]);
    tmux.wait_for("left with 0");
}

/// A run whose process was killed is gone on with here.
#[test]
fn a_run_that_nobody_runs_is_gone_on_with() {
    let scratch = Scratch::new("tui-taken");
    let file = scratch.file("flow.yaml", FLOW);
    let running = scratch.start(&["run", &file, "--quiet"]);
    scratch.wait_for("started");
    running.signal("KILL");
    let _ = running.output();
    let Some(tmux) = Tmux::start(&scratch, (100, 30)) else { return };
    tmux.line(&format!("{} tui; echo left with $?", tidewheel()));
    tmux.wait_for("RUNS");
    tmux.keys(&["Enter"]);
    tmux.wait_for("interrupted");
    scratch.file("go", "");
    tmux.keys(&["r"]);
    scratch.wait_for("next");
    tmux.wait_for("✓ next");
    tmux.keys(&["q"]);
    tmux.wait_for("left with 0");
}

/// Ten thousand steps are looked at, without a server, in as little memory as it is promised: what the run was started with
/// is not read at each look.
#[test]
fn ten_thousand_steps_take_little_memory() {
    let scratch = Scratch::new("tui-memory");
    let mut flow = "name: large\nflow:\n  - { name: hold, run: 'touch started; while [ ! -e go ]; do sleep 0.05; done; false' }\n".to_owned();
    for step in 1..10_000 {
        flow.push_str(&format!("  - {{ name: step-{step}, depends_on: [hold], run: 'true' }}\n"));
    }
    let file = scratch.file("large.yaml", &flow);
    let Some(tmux) = Tmux::start(&scratch, (120, 40)) else { return };
    let running = scratch.start(&["run", &file, "--quiet"]);
    scratch.wait_for("started");
    tmux.line(&format!("sh -c 'echo $$ > pid; exec {} tui'; echo left with $?", tidewheel()));
    tmux.wait_for("RUNS");
    tmux.keys(&["Enter"]);
    tmux.wait_for("of 10000 steps");
    // Several looks, at each of which something has changed.
    for note in ["pause", "resume", "pause", "resume"] {
        assert!(scratch.run(&[note, "last"]).status.success());
        tmux.wait_for(if note == "pause" { "paused" } else { "running" });
    }
    tmux.keys(&["End"]);
    tmux.wait_for("step-9999");
    // As graph and by time, with what it was started with, and back.
    tmux.keys(&["Home", "Tab"]);
    tmux.wait_for("▶");
    tmux.keys(&["Tab", "Tab"]);
    tmux.wait_for("started by hand");
    tmux.keys(&["Tab"]);
    tmux.wait_for("of 10000 steps");
    let status = std::fs::read_to_string(format!("/proc/{}/status", scratch.read("pid").trim()));
    let status = status.unwrap();
    let figure = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.trim_matches([':', ' ', '\t', 'k', 'B']).parse::<u64>().unwrap()
    };
    println!("anonymous {} kB, most of all {} kB", figure("RssAnon"), figure("VmHWM"));
    // Of an optimised program all counts. One that is not has several times the text, and is longer at each look: only what is
    // its own is looked at, for what would be too much in any program.
    let (figure, most) = match cfg!(debug_assertions) {
        true => (figure("RssAnon"), 20_000),
        false => (figure("VmRSS"), 30_000),
    };
    assert!(figure <= most, "{figure} kB: {status}");
    tmux.keys(&["q"]);
    tmux.wait_for("left with 0");
    scratch.file("go", "");
    let _ = running.output();
}

/// A flow as flowtoy runs it: a step that waits for the test, and one after it.
const FLOWTOY: &str = "
sources:
  sh: { type: process, configuration: { command: [sh, -c] } }
flow:
  - { name: hold, source: sh, input: sh hold.sh }
  - { name: after, source: sh, input: echo done, depends_on: [hold] }
";

#[test]
#[ignore = "it needs flowtoy; ./test installs it"]
fn flowtoys_own_page_is_shown() {
    let scratch = Scratch::new("tui-flowtoy");
    let folder = std::env::var_os("TIDEWHEEL_FLOWTOY").expect("the folder that flowtoy is in");
    let program = std::path::Path::new(&folder).join("bin/flowtoy");
    if !program.exists() {
        return skipped("flowtoy's own page", "flowtoy is not installed");
    }
    let Some(tmux) = Tmux::start(&scratch, (80, 24)) else { return };
    let file = scratch.file("toy.yaml", FLOWTOY);
    scratch.file("hold.sh", "touch started; while [ ! -e go ]; do sleep 0.05; done");
    // A port that was free a moment ago.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut toy = Command::new(program)
        .args(["run", &file, "--quiet", "--status-port", &port.to_string()])
        .current_dir(scratch.path(""))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    scratch.wait_for("started");
    let url = format!("http://127.0.0.1:{port}");
    wait_until("flowtoy serves", || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok());
    tmux.line(&format!("{} tui --status-url {url}", tidewheel()));
    tmux.wait_for("running");
    tmux.wait_for("hold");
    tmux.wait_for("after");
    scratch.file("go", "");
    tmux.wait_for("✓ after");
    tmux.wait_for("succeeded");
    tmux.keys(&["q"]);
    // It serves on when all is done.
    let _ = toy.kill();
    let _ = toy.wait();
    println!("flowtoy 0.4.0 is shown");
}
