//! A run that is steered from outside: signals, and keys in a pseudo terminal.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test")]

use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};

use crate::common::{Scratch, read_until, skipped, stderr, stdout, wait_until};

/// A step that runs until the test says `go`, and one after it.
const FLOW: &str = "
name: gated
flow:
  - { name: hold, run: 'touch started; while [ ! -e go ]; do sleep 0.02; done' }
  - { name: next, depends_on: [hold], run: touch next }
";

fn state(scratch: &Scratch, step: &str) -> String {
    scratch.json(&["show", "last"])["steps"][step]["state"].as_str().unwrap().to_owned()
}

fn run_state(scratch: &Scratch) -> String {
    scratch.json(&["show", "last"])["state"].as_str().unwrap().to_owned()
}

#[test]
fn signals_pause_and_resume() {
    let scratch = Scratch::new("signals-pause");
    let file = scratch.file("flow.yaml", FLOW);
    let running = scratch.start(&["run", &file]);
    scratch.wait_for("started");
    running.signal("USR1");
    wait_until("it is paused", || run_state(&scratch) == "paused");
    scratch.file("go", "");
    // What runs may end, and nothing starts.
    wait_until("the step has ended", || state(&scratch, "hold") == "succeeded");
    assert_eq!((run_state(&scratch), state(&scratch, "next")), ("paused".into(), "pending".into()));
    assert!(!scratch.path("next").exists());
    running.signal("USR2");
    let output = running.output();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(scratch.path("next").exists());
    let error = stderr(&output);
    let paused = error.find("paused").unwrap_or_else(|| panic!("{error}"));
    assert!(error[paused..].contains("resumed"), "{error}");
}

#[test]
fn a_signal_to_end_kills_what_runs_and_is_the_exit_code() {
    let scratch = Scratch::new("signals-term");
    let file = scratch.file("flow.yaml", FLOW);
    let running = scratch.start(&["run", &file]);
    scratch.wait_for("started");
    running.signal("TERM");
    let output = running.output();
    assert_eq!(output.status.code(), Some(143), "{}", stderr(&output));
    assert_eq!(
        (state(&scratch, "hold"), state(&scratch, "next")),
        ("cancelled".into(), "cancelled".into())
    );
    assert!(!scratch.path("next").exists());
}

/// A shell in a pseudo terminal that notes the settings of the terminal before and after a run.
struct Terminal {
    child: Child,
}

impl Terminal {
    fn start(scratch: &Scratch) -> Option<Self> {
        if Command::new("script").arg("--version").output().is_err() {
            skipped("a run in a terminal", "there is no `script` here");
            return None;
        }
        scratch.file("flow.yaml", FLOW);
        let script = "stty rows 40 cols 100; stty -g > before; \"$PROGRAM\" run flow.yaml; echo $? > code; stty -g > after";
        let mut command = Command::new("script");
        command
            .args(["-qec", script, "/dev/null"])
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("SHELL", "/bin/sh")
            .env("TERM", "xterm-256color")
            .env("LANG", "C.UTF-8")
            .env("PROGRAM", env!("CARGO_BIN_EXE_tidewheel"))
            .env("TIDEWHEEL_DATA", scratch.data())
            .current_dir(scratch.path(""))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        Some(Self { child: command.spawn().unwrap() })
    }

    fn press(&mut self, keys: &str) {
        let stdin = self.child.stdin.as_mut().unwrap();
        stdin.write_all(keys.as_bytes()).unwrap();
        stdin.flush().unwrap();
    }

    /// Reads until something is drawn.
    fn see(&mut self, text: &str) -> String {
        read_until(self.child.stdout.as_mut().unwrap(), text)
    }

    /// The rest of what is drawn.
    fn end(mut self) -> String {
        let mut rest = Vec::new();
        self.child.stdout.as_mut().unwrap().read_to_end(&mut rest).unwrap();
        self.child.wait().unwrap();
        String::from_utf8_lossy(&rest).into_owned()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What a step wrote is shown, but what would act on the terminal is not.
#[test]
fn logs_in_a_terminal_set_neither_title_nor_clipboard() {
    if Command::new("script").arg("--version").output().is_err() {
        return skipped("logs in a terminal", "there is no `script` here");
    }
    let scratch = Scratch::new("terminal-logs");
    let says = r"printf 'one \033]52;c;Y2xpcA==\007two \033]0;title\007three \033[2Jfour\n'";
    scratch.file("flow.yaml", &format!("flow:\n  - name: a\n    run: {says}\n"));
    assert_eq!(scratch.run(&["run", "flow.yaml"]).status.code(), Some(0));
    let plain = scratch.run(&["logs", "last"]);
    assert!(stdout(&plain).contains("\x1b]52;c;Y2xpcA=="), "to a pipe byte for byte");
    let program = env!("CARGO_BIN_EXE_tidewheel");
    let mut shown = Command::new("script");
    shown.args(["-qec", &format!("{program} logs last"), "/dev/null"]);
    shown.env("TIDEWHEEL_DATA", scratch.data()).env("SHELL", "/bin/sh").env("TERM", "xterm");
    let shown = stdout(&shown.stdin(Stdio::null()).output().unwrap());
    assert!(shown.contains("one ") && shown.contains("four"), "{shown:?}");
    for sequence in ["]52;", "]0;", "\x1b[2J", "Y2xp"] {
        assert!(!shown.contains(sequence), "{sequence}: {shown:?}");
    }
}

/// The terminal is as it was, its cursor shown.
#[track_caller]
fn assert_given_back(scratch: &Scratch, rest: &str) {
    assert_eq!(scratch.read("before"), scratch.read("after"));
    let hidden = rest.rfind("\x1b[?25l").unwrap_or(0);
    assert!(rest[hidden..].contains("\x1b[?25h"), "{rest:?}");
    let unwrapped = rest.rfind("\x1b[?7l").unwrap_or(0);
    assert!(rest[unwrapped..].contains("\x1b[?7h"), "{rest:?}");
}

#[test]
fn a_run_in_a_terminal_is_drawn_and_steered_by_keys() {
    let scratch = Scratch::new("terminal-keys");
    let Some(mut terminal) = Terminal::start(&scratch) else { return };
    // The cursor is hidden, and there is a line for each step.
    terminal.see("\x1b[?25l");
    terminal.see("hold");
    terminal.see("next");
    scratch.wait_for("started");
    assert_ne!(scratch.read("before"), "");
    terminal.press("p");
    wait_until("it is paused", || run_state(&scratch) == "paused");
    scratch.file("go", "");
    wait_until("the step has ended", || state(&scratch, "hold") == "succeeded");
    assert_eq!(state(&scratch, "next"), "pending");
    terminal.press("r");
    let rest = terminal.end();
    assert_eq!(scratch.read("code"), "0\n", "{rest:?}");
    assert!(scratch.path("next").exists());
    assert!(rest.contains("2 succeeded"), "{rest:?}");
    assert_given_back(&scratch, &rest);
}

#[test]
fn q_lets_what_runs_finish_and_gives_the_terminal_back() {
    let scratch = Scratch::new("terminal-quit");
    let Some(mut terminal) = Terminal::start(&scratch) else { return };
    terminal.see("\x1b[?25l");
    scratch.wait_for("started");
    terminal.press("q");
    wait_until("nothing more is started", || state(&scratch, "next") == "cancelled");
    assert_eq!(state(&scratch, "hold"), "running");
    scratch.file("go", "");
    let rest = terminal.end();
    assert_eq!(scratch.read("code"), "130\n", "{rest:?}");
    assert_eq!(state(&scratch, "hold"), "succeeded");
    assert!(!scratch.path("next").exists());
    assert_given_back(&scratch, &rest);
}

#[test]
fn q_twice_ends_what_runs() {
    let scratch = Scratch::new("terminal-kill");
    let Some(mut terminal) = Terminal::start(&scratch) else { return };
    terminal.see("\x1b[?25l");
    scratch.wait_for("started");
    terminal.press("q");
    wait_until("nothing more is started", || state(&scratch, "next") == "cancelled");
    terminal.press("q");
    let rest = terminal.end();
    assert_eq!(scratch.read("code"), "130\n", "{rest:?}");
    assert_eq!(state(&scratch, "hold"), "cancelled");
    assert_given_back(&scratch, &rest);
}
