//! `tidewheel tui` and `tidewheel run` on a terminal that takes nothing, or takes it late: keys are obeyed all the same,
//! what nobody could have seen is not drawn, and leaving leaves.
//!
//! Such a terminal shows no status line that could be waited for. Keys are sent when they are read one by one, and are handled in
//! their order; those that are sent again until they have an effect, `p` and `r`, change nothing when they come twice.

use std::process::{Child, Command};

use crate::common::Scratch;
use tidewheel_testing::{Pty, is_same, wait_until};

/// A step that runs until the test says `go`.
const FLOW: &str = "
name: gated
flow:
  - { name: hold, run: 'touch started; while [ ! -e go ]; do sleep 0.02; done' }
";

fn command(scratch: &Scratch, arguments: &[&str]) -> Command {
    let mut command = scratch.command(arguments);
    command.env("TERM", "xterm-256color").env("LC_ALL", "C.UTF-8");
    command
}

fn state(scratch: &Scratch) -> String {
    scratch.json(&["show", "last"])["state"].as_str().unwrap().to_owned()
}

/// How a program ended, which it must have done by itself.
fn ended(child: &mut Child) -> Option<i32> {
    wait_until("it has left", || child.try_wait().unwrap().is_some());
    child.wait().unwrap().code()
}

#[test]
fn leaving_leaves_though_the_terminal_takes_nothing() {
    let scratch = Scratch::new("slow-leave");
    let file = scratch.file("flow.yaml", "flow: [{ name: only, run: 'true' }]");
    assert!(scratch.run(&["run", &file, "--quiet"]).status.success());
    let pty = Pty::open(120, 40);
    let before = pty.settings();
    assert!(pty.fill() > 0);
    let mut screens = pty.start(&command(&scratch, &["tui"]));
    wait_until("keys are read", || pty.has_keys());
    pty.press("q");
    assert_eq!(ended(&mut screens), Some(0));
    assert!(is_same(&before, &pty.settings()), "it is as it was");
    // Whoever looks again finds it given back, and not what was never seen.
    let rest = pty.rest();
    assert!(rest.ends_with("\x1b[?1049l\x1b[?25h"), "{:?}", rest.trim_start_matches('x'));
}

#[test]
fn keys_are_obeyed_and_frames_passed_over_while_the_terminal_takes_nothing() {
    let scratch = Scratch::new("slow-keys");
    let file = scratch.file("flow.yaml", FLOW);
    let running = scratch.start(&["run", &file, "--quiet"]);
    scratch.wait_for("started");
    let pty = Pty::open(120, 40);
    let filled = pty.fill();
    let mut screens = pty.start(&command(&scratch, &["tui"]));
    wait_until("keys are read", || pty.has_keys());
    wait_until("it is paused", || {
        pty.press("p");
        state(&scratch) == "paused"
    });
    // Hundreds of screens, one after the other.
    pty.press(&"1234".repeat(100));
    pty.press("1");
    wait_until("it goes on", || {
        pty.press("r");
        state(&scratch) == "running"
    });
    pty.press("?");
    // A word of the help: spaces are where nothing was before, and not written.
    let seen = pty.read_until("suspend");
    let drawn = seen.len() - filled;
    assert!(drawn < 12_000, "the first frame and the last, in {drawn} bytes");
    pty.press("qq");
    pty.read_until("\x1b[?1049l");
    assert_eq!(ended(&mut screens), Some(0));
    scratch.file("go", "");
    let _ = running.output();
}

/// A terminal that takes a little now and then, as over a slow link, while more is pressed than it could ever show.
#[test]
fn a_terminal_that_takes_little_shows_how_things_are_and_keys_act_at_once() {
    let scratch = Scratch::new("slow-little");
    let file = scratch.file("flow.yaml", FLOW);
    let running = scratch.start(&["run", &file, "--quiet"]);
    scratch.wait_for("started");
    let pty = Pty::open(120, 40);
    // As much as there is room for on the way, so that from now on each byte needs one to be taken.
    let filled = pty.fill();
    let mut screens = pty.start(&command(&scratch, &["tui"]));
    wait_until("keys are read", || pty.has_keys());
    let (mut taken, mut round) = (0, 0);
    for (key, wanted) in [("p", "paused"), ("r", "running"), ("p", "paused")] {
        let goal = taken + (filled + 15_000) / 3;
        wait_until("some of it is taken", || {
            // Each time another screen is the last, or nothing would have to be written.
            pty.press(&"1234".repeat(10));
            pty.press(["1", "2", "3", "4"][round % 4]);
            round += 1;
            taken += pty.read_little(512);
            taken >= goal
        });
        pty.press("1");
        wait_until(&format!("it is {wanted}"), || {
            pty.press(key);
            taken += pty.read_little(512);
            state(&scratch) == wanted
        });
    }
    pty.press("?");
    // What was on its way, the frame that waited for room, and the last: of thousands of screens no more is left.
    let rest = pty.read_until("suspend").len();
    assert!(rest <= filled + 24_000, "{rest} bytes after {taken}, with room for {filled}");
    pty.press("qq");
    pty.read_until("\x1b[?1049l");
    assert_eq!(ended(&mut screens), Some(0));
    scratch.file("go", "");
    let _ = running.output();
}

/// The same of what runs there: its end does not wait for anybody to see it.
#[test]
fn a_run_ends_though_the_terminal_takes_nothing() {
    let scratch = Scratch::new("slow-run");
    let file = scratch.file("flow.yaml", FLOW);
    let pty = Pty::open(120, 40);
    let before = pty.settings();
    assert!(pty.fill() > 0);
    let mut run = pty.start(&command(&scratch, &["run", &file]));
    scratch.wait_for("started");
    scratch.file("go", "");
    assert_eq!(ended(&mut run), Some(0));
    assert!(is_same(&before, &pty.settings()), "it is as it was");
}
