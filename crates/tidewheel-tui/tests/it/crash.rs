//! A crash with the terminal taken, in a terminal of tmux: it is given back, and what is said of the crash can be read.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test")]

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use tidewheel_testing::skipped;
use tidewheel_tui::terminal::Held;

/// Long enough for anything on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

#[test]
#[ignore = "it is started by the other test, in a terminal"]
fn crash() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let _entered = runtime.enter();
    let mut held = Held::take().unwrap();
    held.draw(|_| ()).unwrap();
    std::thread::spawn(|| panic!("the reason of the crash")).join().unwrap_err();
    std::process::exit(3);
}

#[test]
fn a_crash_gives_the_terminal_back() {
    if Command::new("tmux").arg("-V").output().is_err() {
        return skipped("a crash in a terminal", "there is no `tmux` here");
    }
    let folder = std::env::temp_dir().join(format!("tidewheel-tui-crash-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let socket = folder.join("tmux").display().to_string();
    let tmux = |arguments: &[&str]| {
        let mut command = Command::new("tmux");
        let output = command.args(["-S", &socket]).args(arguments).stdin(Stdio::null()).output();
        String::from_utf8_lossy(&output.unwrap().stdout).into_owned()
    };
    let home = folder.display().to_string();
    let size = ["-x", "80", "-y", "24", "-c", &home];
    let shell = ["bash", "--norc", "--noprofile", "-i"];
    tmux(&[&["-f", "/dev/null", "new-session", "-d"][..], &size, &shell].concat());
    let program = std::env::current_exe().unwrap().display().to_string();
    let line = format!(
        "stty -g > before; '{program}' --exact crash::crash --ignored --nocapture; echo ended with $?; \
         stty -g | cmp - before && echo $((40 + 2)) settings"
    );
    tmux(&["send-keys", "-l", &line]);
    tmux(&["send-keys", "Enter"]);
    let start = Instant::now();
    let seen = loop {
        let screen = tmux(&["capture-pane", "-p"]);
        let is_over = screen.contains("42 settings") || start.elapsed() > PATIENCE;
        if is_over {
            break screen;
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    tmux(&["kill-server"]);
    let _ = std::fs::remove_dir_all(folder);
    assert!(seen.contains("the reason of the crash"), "{seen}");
    assert!(seen.contains("ended with 3"), "{seen}");
    assert!(seen.contains("42 settings"), "they are the same: {seen}");
}
