//! A run that is steered from outside: signals, and keys in a pseudo terminal.

use std::process::{Child, Command};

use tidewheel_testing::{Pty, wait_until};

use crate::common::{Scratch, stderr, stdout};

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

/// A signal that comes with the first step is about the run already: it does not kill the process and leave the step behind.
#[test]
fn signal_at_the_first_step_cancels_the_run() {
    let scratch = Scratch::new("signals-first");
    let step = "kill -TERM $(cat pid); exec sleep 600";
    let flow = format!("flow: [{{ name: first, run: '{step}' }}]");
    let file = scratch.file("flow.yaml", &flow);
    let mut command = Command::new("sh");
    let program = env!("CARGO_BIN_EXE_tidewheel");
    command.args(["-c", &format!("echo $$ > pid; exec {program} run {file}")]);
    command.env("TIDEWHEEL_DATA", scratch.data()).current_dir(scratch.path(""));
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(143), "{}", stderr(&output));
    assert_eq!(state(&scratch, "first"), "cancelled");
}

/// A shell in a pseudo terminal that notes the settings of the terminal before and after a run.
struct Terminal {
    pty: Pty,
    child: Child,
    /// What was written to the terminal, and how much of it was looked at.
    written: String,
    seen: usize,
}

impl Terminal {
    fn start(scratch: &Scratch) -> Self {
        scratch.file("flow.yaml", FLOW);
        let script =
            "stty -g > before; \"$PROGRAM\" run flow.yaml; echo $? > code; stty -g > after";
        let mut command = Command::new("sh");
        command.args(["-c", script]).current_dir(scratch.path(""));
        for (name, value) in scratch.command(&[]).get_envs() {
            command.env(name, value.unwrap_or_default());
        }
        command.env("TERM", "xterm-256color").env("LANG", "C.UTF-8");
        command.env("PROGRAM", env!("CARGO_BIN_EXE_tidewheel"));
        let pty = Pty::open(100, 40);
        let child = pty.start(&command);
        Self { pty, child, written: String::new(), seen: 0 }
    }

    fn press(&self, keys: &str) {
        self.pty.press(keys);
    }

    /// Waits until a text is drawn, behind all that was waited for before.
    fn see(&mut self, text: &str) {
        let place = loop {
            if let Some(place) = self.written[self.seen..].find(text) {
                break place;
            }
            let bytes = self.pty.read();
            assert!(!bytes.is_empty(), "`{text}` was never drawn: {:?}", self.written);
            self.written.push_str(&String::from_utf8_lossy(&bytes));
        };
        self.seen += place + text.len();
    }

    /// Waits until the run has ended, and returns the rest of what is drawn.
    fn end(mut self) -> String {
        let rest = self.written[self.seen..].to_owned() + &self.pty.rest();
        self.child.wait().unwrap();
        rest
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
    let scratch = Scratch::new("terminal-logs");
    let says = r"printf 'one \033]52;c;Y2xpcA==\007two \033]0;title\007three \033[2Jfour\n'";
    scratch.file("flow.yaml", &format!("flow:\n  - name: a\n    run: {says}\n"));
    assert_eq!(scratch.run(&["run", "flow.yaml"]).status.code(), Some(0));
    let plain = scratch.run(&["logs", "last"]);
    assert!(stdout(&plain).contains("\x1b]52;c;Y2xpcA=="), "to a pipe byte for byte");
    let pty = Pty::open(80, 24);
    let mut command = scratch.command(&["logs", "last"]);
    let mut logs = pty.start(command.env("TERM", "xterm"));
    let shown = pty.rest();
    assert!(logs.wait().unwrap().success());
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
    let mut terminal = Terminal::start(&scratch);
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
    let mut terminal = Terminal::start(&scratch);
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
    let mut terminal = Terminal::start(&scratch);
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
