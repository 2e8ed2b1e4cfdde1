//! What ratatui and crossterm do with a terminal, tried out: each is a reason why the live view of `tidewheel run` has
//! terminal code of its own, as [the design page](../../../docs/design/2026-11-18-terminal.md) says. Where one of these
//! fails, a newer version of them does more, and some of that code can go.
//!
//! Each is tried in a process of its own, which is one of the ignored tests here, in a terminal whose other side the test has.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::event;
use ratatui::crossterm::execute;
use ratatui::crossterm::style::Print;
use ratatui::crossterm::terminal::enable_raw_mode;
use ratatui::{Terminal, TerminalOptions, Viewport};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::termios::{LocalModes, OutputModes};
use tidewheel_testing::{Pty, TempDir, temp_folder, wait_until};

/// A trial: a terminal, and what is tried in it.
struct Trial {
    pty: Pty,
    folder: TempDir,
    child: Child,
}

impl Trial {
    /// Tries something, started by a shell in this way.
    fn start(name: &str, shell: &str) -> Self {
        let folder = temp_folder(name);
        let program = std::env::current_exe().unwrap();
        let tried = format!("\"$PROGRAM\" --exact crossterm::{name} --ignored --nocapture");
        let mut command = Command::new("bash");
        command
            .args(["--norc", "--noprofile", "-c", &shell.replace("TRIED", &tried)])
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("TERM", "xterm-256color")
            .env("PROGRAM", program)
            .env("FOLDER", folder.path());
        let pty = Pty::open(80, 24);
        let child = pty.start(&command);
        Self { pty, folder, child }
    }

    fn wait_for(&self, file: &str) -> String {
        let path = self.folder.path().join(file);
        wait_until(&format!("{file} is written"), || path.exists());
        fs::read_to_string(path).unwrap()
    }

    /// A field of what the kernel says of the process that tries it, counted behind its name.
    fn field(&self, field: usize) -> String {
        let pid = self.wait_for("pid");
        let line = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        let fields = line.rsplit(')').next().unwrap();
        fields.split_whitespace().nth(field).unwrap().to_owned()
    }

    fn is_stopped(&self) -> bool {
        self.field(0) == "T"
    }
}

impl Drop for Trial {
    fn drop(&mut self) {
        if let Ok(pid) = fs::read_to_string(self.folder.path().join("pid")) {
            let _ = Command::new("kill").args(["-KILL", &pid]).output();
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn folder() -> PathBuf {
    PathBuf::from(std::env::var_os("FOLDER").expect("it is started by a test"))
}

/// Says something to the test: the file is there when all of it is.
fn say(folder: &Path, file: &str, text: &str) {
    fs::write(folder.join("half"), text).unwrap();
    fs::rename(folder.join("half"), folder.join(file)).unwrap();
}

fn say_pid() {
    say(&folder(), "pid", &std::process::id().to_string());
}

/// What `inline` is for: a frame where the cursor is, without asking where that is.
#[test]
fn an_inline_viewport_asks_the_terminal_where_its_cursor_is() {
    let trial = Trial::start("tried_inline", "TRIED");
    trial.pty.read_until("\x1b[6n");
    let told = trial.wait_for("told");
    assert_eq!(told, "none", "a terminal that does not answer");
}

#[test]
#[ignore = "it is started by the test above, in a terminal"]
fn tried_inline() {
    say_pid();
    let (began, options) = (Instant::now(), TerminalOptions { viewport: Viewport::Inline(3) });
    let terminal = Terminal::with_options(CrosstermBackend::new(std::io::stdout()), options);
    // elapsed: it waits at least so long for the answer.
    assert!(began.elapsed() >= Duration::from_secs(2));
    say(&folder(), "told", if terminal.is_ok() { "a terminal" } else { "none" });
}

/// What `terminal` is for: single keys, with Ctrl-C still a signal for all, and lines of others as they were.
#[test]
fn raw_mode_makes_a_key_of_ctrl_c_and_stairs_of_lines() {
    let trial = Trial::start("tried_raw", "TRIED");
    trial.wait_for("raw");
    let settings = trial.pty.settings();
    assert!(!settings.local_modes.contains(LocalModes::ISIG));
    assert!(!settings.output_modes.contains(OutputModes::OPOST));
    trial.pty.press("\x03");
    let key = trial.wait_for("key");
    assert!(key.contains("'c'") && key.contains("CONTROL"), "{key}");
}

#[test]
#[ignore = "it is started by the test above, in a terminal"]
fn tried_raw() {
    say_pid();
    enable_raw_mode().unwrap();
    say(&folder(), "raw", "");
    say(&folder(), "key", &format!("{:?}", event::read().unwrap()));
}

/// What `terminal` is for: nothing waits for a terminal that takes nothing.
#[test]
fn a_write_waits_for_a_terminal_that_takes_nothing() {
    let trial = Trial::start("tried_write", "TRIED");
    trial.wait_for("begun");
    wait_until("no more is taken", || trial.pty.is_full() && trial.field(0) == "S");
    assert!(!trial.folder.path().join("written").exists());
    let mut read = 0;
    while read < MUCH {
        read += trial.pty.read().len();
    }
    trial.wait_for("written");
}

/// More than any terminal holds.
const MUCH: usize = 1 << 20;

#[test]
#[ignore = "it is started by the test above, in a terminal"]
fn tried_write() {
    say_pid();
    say(&folder(), "begun", "");
    execute!(std::io::stdout(), Print("x".repeat(MUCH))).unwrap();
    say(&folder(), "written", "");
}

/// What `run/keys` is for: keys are read in the foreground and not elsewhere.
#[test]
fn a_reader_in_the_background_is_stopped_by_what_is_typed_for_others() {
    let trial = Trial::start("tried_read", "set -m; TRIED & sleep 600");
    trial.wait_for("reads");
    trial.pty.press("for somebody else\n");
    wait_until("it is stopped", || trial.is_stopped());
}

/// And where that signal is ignored, it reads again and again.
#[test]
fn a_reader_that_cannot_be_stopped_is_never_quiet_again() {
    let trial = Trial::start("tried_read", "set -m; env --ignore-signal=TTIN TRIED & sleep 600");
    trial.wait_for("reads");
    trial.pty.press("for somebody else\n");
    // In hundredths of a second: half a second of nothing but failing.
    let used = || (11..13).map(|field| trial.field(field).parse::<u64>().unwrap()).sum::<u64>();
    wait_until("it uses up the processor", || used() >= 50);
    assert!(!trial.folder.path().join("read").exists());
}

#[test]
#[ignore = "it is started by the tests above, in a terminal"]
fn tried_read() {
    say_pid();
    // From when on it watches the keyboard.
    let _ = event::poll(Duration::ZERO);
    say(&folder(), "reads", "");
    let _ = event::read();
    say(&folder(), "read", "");
}

/// What `input` is for: events that come at the same time. Of those that are ready at once, the reader handles the first and
/// drops the others: a key then waits in the terminal for the next key.
#[test]
fn of_a_key_and_a_size_at_once_the_second_is_dropped() {
    for (first, expected) in [("key", "Key"), ("size", "Resize")] {
        let trial = Trial::start("tried_both", &format!("FIRST={first} TRIED"));
        trial.wait_for("reads");
        let press = || trial.pty.press("k");
        let resize = || trial.pty.resize(60, 15);
        if first == "key" {
            press()
        } else {
            resize()
        }
        trial.wait_for("first");
        if first == "key" {
            resize()
        } else {
            press()
        }
        let told = trial.wait_for("told");
        assert!(told.starts_with(expected) && told.ends_with(", then false"), "{told}");
    }
}

#[test]
#[ignore = "it is started by the test above, in a terminal"]
fn tried_both() {
    say_pid();
    enable_raw_mode().unwrap();
    // From when on it watches the keyboard and the signal.
    let _ = event::poll(Duration::ZERO);
    let is_resized = Arc::new(AtomicBool::new(false));
    // Set by the handler that the reader has as well, and after it.
    let signal = signal_hook::consts::SIGWINCH;
    signal_hook::flag::register(signal, Arc::clone(&is_resized)).unwrap();
    say(&folder(), "reads", "");
    let wait_for_key = || {
        let stdin = std::io::stdin();
        let mut watched = [PollFd::new(&stdin, PollFlags::IN)];
        while poll(&mut watched, None) != Ok(1) {}
    };
    let wait_for_size = || wait_until("it is resized", || is_resized.load(Ordering::SeqCst));
    let is_key_first = std::env::var("FIRST").unwrap() == "key";
    if is_key_first {
        wait_for_key()
    } else {
        wait_for_size()
    }
    say(&folder(), "first", "");
    wait_for_key();
    wait_for_size();
    let first = event::read().unwrap();
    let is_more = event::poll(Duration::ZERO).unwrap();
    say(&folder(), "told", &format!("{first:?}, then {is_more}"));
}

/// What `signals` is for: a terminal that is given back before this process is stopped.
#[test]
fn stopped_it_keeps_the_terminal() {
    let trial = Trial::start("tried_stop", "set -m; TRIED; sleep 600");
    trial.wait_for("raw");
    let pid = trial.wait_for("pid");
    assert!(Command::new("kill").args(["-TSTP", &pid]).status().unwrap().success());
    wait_until("it is stopped", || trial.is_stopped());
    assert!(trial.pty.has_keys(), "whoever is in the foreground now has no lines");
}

#[test]
#[ignore = "it is started by the test above, in a terminal"]
fn tried_stop() {
    say_pid();
    enable_raw_mode().unwrap();
    say(&folder(), "raw", "");
    let _ = event::read();
}
