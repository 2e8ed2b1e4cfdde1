//! The loop of the screens in a terminal: keys and changes of size that come at the same time are all handled.

use std::future::pending;
use std::process::Command;
use std::sync::Arc;

use jiff::tz::TimeZone;
use tidewheel::clock::wall_clock;
use tidewheel_testing::{Pty, wait_until};
use tidewheel_tui::app::show;
use tidewheel_tui::message::{Answer, Question, Refused, Said, Wish};
use tidewheel_tui::model::{Attached, Model};
use tidewheel_tui::run::Look;
use tidewheel_tui::source::{News, Source, Waiting};
use tidewheel_tui::theme::Theme;

/// Rounds of a key and a resize, in both orders, with the program running and stopped.
const ROUNDS: usize = 60;

/// A source that never answers.
struct Silent;

impl Source for Silent {
    fn ask(&self, _: Question) -> Waiting<Result<Answer, String>> {
        Box::pin(pending())
    }

    fn wish(&self, _: Wish) -> Waiting<Result<Said, Refused>> {
        Box::pin(pending())
    }

    fn news(&self) -> Result<News, String> {
        Err("there is none".to_owned())
    }
}

#[test]
#[ignore = "it is started by the other test, in a terminal"]
fn shown() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let model = Model::new("nothing".to_owned(), Attached::Desk, wall_clock(), TimeZone::UTC);
    let look = Look { is_live: true, is_colourful: false, is_unicode: false };
    runtime.block_on(show(model, Arc::new(Silent), Theme::new(look), None)).unwrap();
    std::process::exit(0);
}

/// No event may wait in the terminal until the next key: it would stay invisible while a window manager resizes.
///
/// In every other pair of rounds the program is stopped meanwhile, so that both events are ready when it reads.
#[test]
fn keys_and_sizes_that_come_at_once_are_all_handled() {
    let pty = Pty::open(80, 24);
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "input::shown", "--ignored", "--nocapture"])
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("TERM", "xterm-256color")
        .env("TIDEWHEEL_TEST_STATUS", "1");
    let mut child = pty.start(&command);
    let pid = child.id().to_string();
    let signal = |name: &str| {
        let sent = Command::new("kill").args([format!("-{name}"), pid.clone()]).status();
        assert!(sent.unwrap().success());
    };
    pty.read_until("frame=1 ");
    for round in 0..ROUNDS {
        let (key, (width, height)) =
            (["2", "3", "4", "1"][round % 4], [(70, 20), (80, 24)][round % 2]);
        let is_key_first = round % 4 < 2;
        let is_stopped = round % 8 < 4;
        if is_stopped {
            signal("STOP");
        }
        if is_key_first {
            pty.press(key);
        }
        pty.resize(width, height);
        if !is_key_first {
            pty.press(key);
        }
        if is_stopped {
            signal("CONT");
        }
        pty.read_until(&format!("inputs={} pending=1 size={width}x{height} ", round + 1));
    }
    pty.press("q");
    pty.rest();
    wait_until("it has left", || child.try_wait().unwrap().is_some());
    assert!(child.wait().unwrap().success());
}
