//! A crash with the terminal taken, in a terminal of tmux: it is given back, and what is said of the crash can be read.

use tidewheel_testing::{Tmux, temp_folder};
use tidewheel_tui::terminal::Held;

#[test]
#[ignore = "it is started by the other test, in a terminal"]
fn crash() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let _entered = runtime.enter();
    let mut held = Held::take().unwrap();
    held.draw(None, |_| ()).unwrap();
    std::thread::spawn(|| panic!("the reason of the crash")).join().unwrap_err();
    std::process::exit(3);
}

#[test]
fn a_crash_gives_the_terminal_back() {
    let folder = temp_folder("tui-crash");
    let variables: [(&str, &str); 0] = [];
    let test = "a crash in a terminal";
    let Some(tmux) = Tmux::start(test, (80, 24), folder.path(), variables) else { return };
    assert_eq!(tmux.run("stty -g > before"), 0);
    let program = std::env::current_exe().unwrap().display().to_string();
    let line = format!("'{program}' --exact crash::crash --ignored --nocapture");
    assert_eq!(tmux.run(&line), 3);
    tmux.see("", "the reason of the crash");
    assert_eq!(tmux.run("stty -g | cmp - before"), 0, "the settings are as before");
}
