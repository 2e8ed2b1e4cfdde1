//! `tidewheel tui` in a terminal: keys are sent through tmux, and the screen is read back.
//!
//! Only what needs a terminal, a process of its own or a server: what keys do is tested without one in
//! `tidewheel-tui/src/update`, and how it looks in `tidewheel-tui/src/view`.

use std::process::{Command, Stdio};

use tidewheel_testing::{ReservedPort, Tmux, wait_until};

use crate::common;
use crate::common::{Scratch, skipped};

/// A step that runs until the test says `go`, one after it, and one that fails.
const FLOW: &str = "
name: gated
flow:
  - { name: hold, run: 'echo first line; echo needle here; touch started; while [ ! -e go ]; do sleep 0.02; done' }
  - { name: next, depends_on: [hold], run: touch next }
  - { name: broken, run: 'echo oops; exit 3', on_error: continue }
";

/// A shell in a terminal of so many columns and rows, in the folder of a test.
fn terminal(scratch: &Scratch, size: (u16, u16)) -> Option<Tmux> {
    let shell = scratch.command(&[]);
    let variables = shell.get_envs().filter_map(|(name, value)| Some((name, value?)));
    Tmux::start("screens in a terminal", size, &scratch.path(""), variables)
}

fn tidewheel() -> &'static str {
    env!("CARGO_BIN_EXE_tidewheel")
}

fn tui() -> String {
    format!("{} tui", tidewheel())
}

#[test]
fn a_run_of_others_is_watched_searched_and_ended() {
    let scratch = Scratch::new("tui-attach");
    let file = scratch.file("flow.yaml", FLOW);
    let Some(tmux) = terminal(&scratch, (80, 24)) else { return };
    let running = scratch.start(&["run", &file, "--quiet"]);
    scratch.wait_for("started");
    assert_eq!(tmux.run("stty -g > before"), 0);
    let screens = tmux.open(&tui());
    screens.see("screen=overview selected=runs:gated", "RUNS");
    screens.press("Enter");
    screens.see("screen=run/steps selected=hold", "broken");
    screens.see("screen=run/steps", "\n * decided how long it took so far");
    // The step, and what it wrote.
    screens.press("l");
    screens.see("screen=log selected=hold", "first line");
    screens.press("/");
    screens.see("dialog=search", "");
    screens.type_text("needle");
    screens.press("Enter");
    screens.see("screen=log dialog=none", "`needle`: 1 of 1");
    screens.press("Escape");
    screens.see("screen=run/steps", "waits for hold");
    screens.press("Tab");
    screens.see("screen=run/graph", "▶");
    screens.press("Tab");
    screens.see("screen=run/time", "broken");
    screens.press("Tab");
    screens.see("screen=run/about", "started by hand");
    screens.press("Tab");
    screens.see("screen=run/steps", "broken");
    screens.resize(60, 15);
    screens.see("screen=run/steps size=60x15", "broken");
    screens.press("?");
    screens.see("dialog=help", "KEYS");
    screens.press("?");
    screens.see("dialog=none", "broken");
    screens.press("x");
    screens.see("dialog=confirm", "End run");
    screens.press("y");
    screens.see("dialog=none state=cancelled", "cancelled");
    let _ = running.output();
    assert_eq!(screens.leave("q"), 0);
    assert_eq!(tmux.run("stty -g | cmp - before"), 0, "the settings are as before");
}

#[test]
fn files_are_run_and_shown_and_leaving_lets_steps_finish() {
    let scratch = Scratch::new("tui-files");
    let file = scratch.file("flow.yaml", FLOW);
    let Some(tmux) = terminal(&scratch, (100, 30)) else { return };
    let screens = tmux.open(&format!("{} {file}", tui()));
    screens.see("screen=run/steps state=running own=1", "hold");
    scratch.wait_for("started");
    screens.press("q");
    screens.see("dialog=confirm", "let running steps finish");
    screens.press("f");
    screens.see("dialog=none", "stopping");
    scratch.file("go", "");
    assert_eq!(screens.ended(), 130);
    assert!(!scratch.path("next").exists(), "nothing more was started");
}

#[test]
fn ctrl_z_gives_the_terminal_back_and_fg_returns() {
    let scratch = Scratch::new("tui-stop");
    let file = scratch.file("flow.yaml", "flow: [{ name: only, run: 'true' }]");
    assert!(scratch.run(&["run", &file, "--quiet"]).status.success());
    let Some(tmux) = terminal(&scratch, (80, 24)) else { return };
    assert_eq!(tmux.run("stty -g > before"), 0);
    let screens = tmux.open(&tui());
    screens.see("screen=overview", "FLOWS");
    // As the shell tells that SIGSTOP has stopped it.
    assert_eq!(screens.leave("C-z"), 128 + 19);
    assert_eq!(tmux.run("stty -g | cmp - before"), 0, "the shell has its settings");
    let screens = tmux.open("fg");
    screens.see("screen=overview", "FLOWS");
    screens.press("2");
    screens.see("screen=runs", "state");
    assert_eq!(screens.leave("q"), 0);
    assert_eq!(tmux.run("stty -g | cmp - before"), 0, "the settings are as before");
}

#[test]
fn without_a_terminal_it_says_what_else_there_is() {
    let scratch = Scratch::new("tui-none");
    let output = scratch.run(&["tui"]);
    assert_eq!(output.status.code(), Some(2));
    let said = common::stderr(&output);
    assert!(said.contains("there is no terminal") && said.contains("tidewheel runs"), "{said}");
}

/// Two steps, each of which runs until the test lets it end: a page is gone with its run.
const PAGED: &str = "
name: paged
flow:
  - { name: hold, run: 'touch started; while [ ! -e go ]; do sleep 0.02; done' }
  - { name: next, depends_on: [hold], run: 'while [ ! -e end ]; do sleep 0.02; done' }
";

#[test]
fn the_status_page_of_a_run_is_shown() {
    let scratch = Scratch::new("tui-page");
    let file = scratch.file("flow.yaml", PAGED);
    let Some(tmux) = terminal(&scratch, (80, 24)) else { return };
    let running = scratch.start_heard(&["run", &file, "--status-port", "0"]);
    running.wait_for("status at ");
    let said = running.said();
    let url = said.split("status at ").nth(1).unwrap().split_whitespace().next().unwrap();
    scratch.wait_for("started");
    let screens = tmux.open(&format!("{} --status-url {url}", tui()));
    screens.see("screen=run/steps selected=hold state=running", "next");
    screens.press("x");
    screens.see("dialog=none", "can only be looked at");
    scratch.file("go", "");
    screens.see("screen=run/steps state=running", "✓ hold");
    assert_eq!(screens.leave("q"), 0);
    scratch.file("end", "");
    assert_eq!(running.ended().0, Some(0));
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
    let Some(tmux) = terminal(&scratch, (110, 30)) else { return };
    let server = scratch.start_heard(&["serve", "--flows", "flows", "--listen", "off"]);
    wait_until("the server is there", || scratch.path("data/server/socket").exists());
    let screens = tmux.open(&tui());
    screens.see("screen=overview selected=flow:served", "FLOWS");
    screens.press("s");
    screens.see("dialog=confirm", "Start served?");
    screens.press("y");
    // What was started is looked at.
    screens.see("screen=run/steps dialog=none", "› served");
    screens.press("Escape");
    screens.see("screen=overview", "ASKS");
    // The flow is still selected, and has a newer run now: a key about that would only say so.
    screens.press("Home");
    screens.see("selected=asks:ask doubt=no", "ASKS");
    screens.press("y");
    screens.see("dialog=form", "Say yes to ask");
    screens.type_text("fine");
    screens.press("Enter");
    scratch.wait_for("flows/acted");
    screens.press("4");
    screens.see("screen=schedules selected=served state=active", "");
    // Which instants a backfill fires is shown first.
    screens.press("b");
    screens.see("dialog=form", "Fire instants of the past of served");
    screens.press("Right");
    screens.press("Tab");
    screens.see("dialog=form", "as 2026-11-17 14:00");
    screens.type_text("2023-12-31 12:00");
    screens.press("Tab");
    screens.type_text("2026-06-01 12:00");
    screens.press("Enter");
    screens.see("dialog=confirm", "Fire 3 instants of served");
    screens.see("dialog=confirm", "2025-01-01 00:00:00");
    let firings = |fate: &str| {
        let ledger = scratch.json(&["schedule", "ledger", "served"]);
        let firings = ledger["firings"].as_array().unwrap().clone();
        firings.iter().filter(|it| it["origin"] == fate).count()
    };
    assert_eq!(firings("backfill"), 0);
    screens.press("y");
    screens.see("dialog=none", "backfilled, 3 instants");
    wait_until("they are fired", || firings("backfill") > 0);
    screens.see("screen=schedules selected=served state=active doubt=no", "");
    screens.press("p");
    screens.see("screen=schedules selected=served state=paused", "");
    assert_eq!(screens.leave("q"), 0);
    server.signal("TERM");
    server.ended();
}

/// The same at an address, with commands by their names and with the mouse.
#[test]
fn a_server_elsewhere_is_shown_and_steered_by_commands_and_the_mouse() {
    let scratch = Scratch::new("tui-elsewhere");
    std::fs::create_dir_all(scratch.path("flows")).unwrap();
    scratch.file("flows/served.yaml", SERVED);
    let Some(tmux) = terminal(&scratch, (110, 30)) else { return };
    let token = scratch.json(&["token", "create", "test", "--role", "operator"]);
    let server = scratch.start_heard(&["serve", "--flows", "flows", "--listen", "127.0.0.1:0"]);
    server.wait_for("to log in, within a minute");
    let said = server.said();
    let url = said.lines().find_map(|line| line.strip_prefix("listening on ")).unwrap();
    let token = token["secret"].as_str().unwrap();
    // There is no data folder where this is asked.
    let line = format!("env -u TIDEWHEEL_DATA TIDEWHEEL_TOKEN={token} {} --server {url}", tui());
    let screens = tmux.open(&line);
    screens.see("screen=overview selected=flow:served", "FLOWS");
    screens.press(":");
    screens.see("dialog=command", "open  back");
    screens.type_text("sched");
    screens.press("Enter");
    screens.see("screen=schedules dialog=none selected=served state=active", "");
    screens.press(":");
    screens.see("dialog=command", "");
    screens.type_text("pause");
    screens.press("Enter");
    screens.see("screen=schedules dialog=none selected=served state=paused", "");
    assert_eq!(scratch.json(&["schedule", "list"])["schedules"][0]["state"], "paused");
    // A press on the third of the screens in the second line, as terminals tell it.
    screens.click("3 queues");
    screens.see("screen=queues", "QUEUES");
    screens.click("1 overview");
    screens.see("screen=overview", "FLOWS");
    assert_eq!(screens.leave_by_click("q quit"), 0);
    server.signal("TERM");
    server.ended();
}

#[test]
fn without_colours_no_colour_is_written() {
    let scratch = Scratch::new("tui-plain");
    let file = scratch.file("flow.yaml", FLOW);
    scratch.file("go", "");
    scratch.run(&["run", &file, "--quiet"]);
    let Some(tmux) = terminal(&scratch, (80, 24)) else { return };
    let is_coloured = || {
        let screen = tmux.coloured();
        let codes = screen.split("\x1b[").skip(1).filter_map(|rest| rest.split('m').next());
        let mut codes = codes.flat_map(|codes| codes.split(';')).map(str::parse::<u8>);
        codes.any(|code| matches!(code, Ok(30..=38 | 40..=48 | 90..=107)))
    };
    for (variables, expected) in [("", true), ("NO_COLOR=1 ", false)] {
        let screens = tmux.open(&format!("{variables}{}", tui()));
        screens.see("screen=overview selected=flow:gated", "FLOWS");
        assert_eq!(is_coloured(), expected, "{variables}");
        assert_eq!(screens.leave("q"), 0);
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
    let Some(tmux) = terminal(&scratch, (100, 30)) else { return };
    let screens = tmux.open(&format!("cd /; {}", tui()));
    screens.see("screen=overview", "FLOWS");
    screens.press("End");
    screens.see("selected=flow:asking", "");
    screens.press("s");
    screens.see("dialog=form", "Start asking");
    screens.see("dialog=form", "what is written");
    screens.press("Enter");
    screens.see("dialog=form", "the flow needs the param `word`");
    screens.type_text("second");
    screens.press("Tab");
    screens.type_text("0");
    screens.press("Enter");
    screens.see("dialog=form", "must be at most 9");
    screens.press("BSpace");
    screens.press("BSpace");
    screens.type_text("7");
    screens.press("Enter");
    // The step has failed; the run ends behind it.
    screens.see("screen=run/steps dialog=none state=failed own=0 over=1", "› asking");
    assert_eq!(scratch.read("written"), "first 2\nsecond 7\n");
    scratch.file("fixed", "");
    screens.press("t");
    screens.see("dialog=confirm", "1 step again, 1 reused");
    screens.press("y");
    screens.see("screen=run/steps dialog=none state=succeeded own=0 over=2", "✓ check");
    assert_eq!(scratch.read("written"), "first 2\nsecond 7\n", "what had succeeded was reused");
    screens.press("Home");
    screens.see("selected=write doubt=no", "");
    screens.press("T");
    screens.see("dialog=confirm", "Run write and what comes after it again");
    screens.press("y");
    screens.see("screen=run/steps dialog=none state=succeeded own=0 over=3", "✓ check");
    assert_eq!(scratch.read("written"), "first 2\nsecond 7\nsecond 7\n");
    assert_eq!(scratch.json(&["show", "last"])["state"], "succeeded");
    assert_eq!(screens.leave("q"), 0);
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
    let Some(tmux) = terminal(&scratch, (120, 40)) else { return };
    let running = scratch.start(&["run", &file, "--quiet"]);
    scratch.wait_for("started");
    let screens = tmux.open(&format!("sh -c 'echo $$ > pid; exec {}'", tui()));
    screens.see("screen=overview selected=runs:large", "RUNS");
    screens.press("Enter");
    screens.see("screen=run/steps state=running", "of 10000 steps");
    // Several looks, at each of which something has changed.
    for note in ["pause", "resume", "pause", "resume"] {
        assert!(scratch.run(&[note, "last"]).status.success());
        let state = if note == "pause" { "paused" } else { "running" };
        screens.see(&format!("screen=run/steps state={state}"), "of 10000 steps");
    }
    screens.press("End");
    screens.see("selected=step-9999", "step-9999");
    // As graph and by time, with what it was started with, and back.
    screens.press("Home");
    screens.see("selected=hold", "");
    screens.press("Tab");
    screens.see("screen=run/graph", "▶");
    screens.press("Tab");
    screens.see("screen=run/time", "hold");
    screens.press("Tab");
    screens.see("screen=run/about", "started by hand");
    screens.press("Tab");
    screens.see("screen=run/steps", "of 10000 steps");
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
    assert_eq!(screens.leave("q"), 0);
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
fn flowtoys_own_page_is_shown() {
    const TEST: &str = "flowtoy's own page";
    let Some(folder) = std::env::var_os("TIDEWHEEL_FLOWTOY") else {
        return skipped(TEST, "`TIDEWHEEL_FLOWTOY` names no folder with flowtoy");
    };
    let program = std::path::Path::new(&folder).join("bin/flowtoy");
    if !program.exists() {
        return skipped(TEST, "flowtoy is not installed");
    }
    let scratch = Scratch::new("tui-flowtoy");
    let Some(tmux) = terminal(&scratch, (80, 24)) else { return };
    let file = scratch.file("toy.yaml", FLOWTOY);
    scratch.file("hold.sh", "touch started; while [ ! -e go ]; do sleep 0.05; done");
    let port = ReservedPort::new();
    let mut toy = Command::new(program)
        .args(["run", &file, "--quiet", "--status-port", &port.address().port().to_string()])
        .current_dir(scratch.path(""))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    scratch.wait_for("started");
    wait_until("flowtoy serves", || std::net::TcpStream::connect(port.address()).is_ok());
    let screens = tmux.open(&format!("{} --status-url http://{}", tui(), port.address()));
    screens.see("screen=run/steps selected=hold state=running", "after");
    scratch.file("go", "");
    screens.see("screen=run/steps state=succeeded", "✓ after");
    assert_eq!(screens.leave("q"), 0);
    // It serves on when all is done.
    let _ = toy.kill();
    let _ = toy.wait();
}
