//! [`Tmux`]: a shell in a terminal of tmux, and the screens of programs that are started in it.
//!
//! Keys are sent here and nowhere else: one at a time, when the program has no request pending, and until the program's
//! status line counts it. Tests of the bytes that a program writes use [`Pty`](crate::Pty).

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::skip::skipped;
use crate::temp::{TempDir, temp_folder};
use crate::wait::wait_until;

/// Lets a line of the shell report its exit code: the file is there when all of it is.
const SHELL: &str = "
PS1='$ '
HISTFILE=
ended() { echo \"$2\" > \"$ENDED/half\"; mv \"$ENDED/half\" \"$ENDED/$1\"; }
";

/// A shell in a terminal. When it is dropped by a panic, it saves what the terminal shows.
#[derive(Debug)]
pub struct Tmux {
    folder: TempDir,
    /// Lines that were typed to the shell.
    lines: AtomicU32,
}

/// What a terminal shows, read at one moment.
#[derive(Debug, Clone)]
pub struct Seen {
    /// The title, where `tidewheel tui` writes its status line.
    pub status: String,
    /// The rows.
    pub screen: String,
}

impl Seen {
    /// Returns a field of the status line.
    pub fn field(&self, name: &str) -> Option<&str> {
        self.status.split(' ').find_map(|field| field.strip_prefix(name)?.strip_prefix('='))
    }

    /// Returns a number of the status line.
    pub fn number(&self, name: &str) -> Option<u64> {
        self.field(name)?.parse().ok()
    }

    /// Whether the status line has all of these fields, as in `screen=run/steps selected=hold`, and the screen these words.
    pub fn shows(&self, status: &str, words: &str) -> bool {
        let fields: Vec<&str> = self.status.split(' ').collect();
        let has_fields = status.split_whitespace().all(|field| fields.contains(&field));
        has_fields && self.screen.contains(words)
    }

    /// Whether nothing is requested that would change what is shown.
    fn is_settled(&self) -> bool {
        self.number("pending") == Some(0)
    }
}

impl Tmux {
    /// Starts a shell in a folder, with these variables only, in a terminal of so many columns and rows. `test` names what
    /// is skipped where there is no tmux.
    pub fn start<K: Into<OsString>, V: Into<OsString>>(
        test: &str,
        size: (u16, u16),
        folder: &Path,
        variables: impl IntoIterator<Item = (K, V)>,
    ) -> Option<Self> {
        if Command::new("tmux").arg("-V").output().is_err() {
            skipped(test, "there is no `tmux` here");
            return None;
        }
        let tmux = Self { folder: temp_folder("tmux"), lines: AtomicU32::new(0) };
        let rc = tmux.folder.path().join("rc");
        fs::write(&rc, SHELL).unwrap();
        let mut command = tmux.command();
        command.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin").env("LC_ALL", "C.UTF-8");
        command.env("ENDED", tmux.folder.path()).env("TIDEWHEEL_TEST_STATUS", "1");
        command.envs(variables.into_iter().map(|(name, value)| (name.into(), value.into())));
        let (width, height) = (size.0.to_string(), size.1.to_string());
        command.args(["-f", "/dev/null", "new-session", "-d", "-x", &width, "-y", &height, "-c"]);
        command.arg(folder).args(["bash", "--noprofile", "--rcfile"]).arg(rc).arg("-i");
        assert!(command.status().unwrap().success());
        Some(tmux)
    }

    /// Runs a line in the shell and returns its exit code.
    pub fn run(&self, line: &str) -> i32 {
        let file = self.type_line(line);
        wait_until(&format!("`{line}` has ended"), || file.exists());
        exit_code(&file)
    }

    /// Starts a program with a status line in the shell, and waits for its first frame.
    pub fn open(&self, line: &str) -> Program<'_> {
        // The title may still be that of an earlier program.
        self.tmux(&["select-pane", "-T", "none"]);
        let file = self.type_line(line);
        self.wait(&format!("`{line}` draws a frame"), |seen| seen.number("frame").is_some());
        Program { tmux: self, file }
    }

    /// Returns what is shown now.
    pub fn seen(&self) -> Seen {
        // One request, so that nothing is drawn in between.
        let both = ["display-message", "-p", "#{pane_title}", ";", "capture-pane", "-p"];
        let text = self.tmux(&both);
        let (status, screen) = text.split_once('\n').unwrap_or_default();
        Seen { status: status.to_owned(), screen: screen.to_owned() }
    }

    /// Returns the screen with the sequences that set colours.
    pub fn coloured(&self) -> String {
        self.tmux(&["capture-pane", "-p", "-e"])
    }

    /// Waits until the terminal shows these fields of a status line and these words; see [`Seen::shows`].
    #[track_caller]
    pub fn see(&self, status: &str, words: &str) -> Seen {
        self.wait(&format!("`{status}` and `{words}` are shown"), |seen| seen.shows(status, words))
    }

    /// Waits until what is shown meets a condition.
    #[track_caller]
    pub fn wait(&self, expected: &str, condition: impl Fn(&Seen) -> bool) -> Seen {
        let mut seen = self.seen();
        wait_until(expected, || {
            let is_met = condition(&seen);
            if !is_met {
                seen = self.seen();
            }
            is_met
        });
        seen
    }

    /// Types a line to the shell; returns the file that its exit code is written to.
    fn type_line(&self, line: &str) -> PathBuf {
        let number = self.lines.fetch_add(1, Ordering::Relaxed).to_string();
        self.tmux(&["send-keys", "-l", &format!("{line}; ended {number} $?")]);
        self.tmux(&["send-keys", "Enter"]);
        self.folder.path().join(number)
    }

    fn command(&self) -> Command {
        let mut command = Command::new("tmux");
        command.arg("-u").arg("-S").arg(self.folder.path().join("socket")).stdin(Stdio::null());
        command
    }

    #[track_caller]
    fn tmux(&self, arguments: &[&str]) -> String {
        let output = self.command().args(arguments).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "tmux {arguments:?}: {error}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Saves what is shown, and prints where.
    #[expect(clippy::print_stderr, reason = "the message is for the person who runs the test")]
    fn save(&self) {
        let folder = env::var_os("TIDEWHEEL_ARTIFACTS").map_or_else(env::temp_dir, PathBuf::from);
        let name = self.folder.path().file_name().unwrap_or_default().to_string_lossy();
        let path = folder.join(format!("{name}.screen.txt"));
        let read = |arguments: &[&str]| self.command().args(arguments).output();
        let title = read(&["display-message", "-p", "#{pane_title}"]);
        let screen = read(&["capture-pane", "-p", "-S", "-"]);
        let text: Vec<u8> = title.into_iter().chain(screen).flat_map(|it| it.stdout).collect();
        let saved = fs::create_dir_all(&folder).and_then(|()| fs::write(&path, &text));
        let seen = String::from_utf8_lossy(&text);
        match saved {
            Ok(()) => eprintln!("the terminal is saved in {}:\n{seen}", path.display()),
            Err(error) => eprintln!("the terminal is not saved, {error}:\n{seen}"),
        }
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.save();
        }
        let _ = self.command().arg("kill-server").output();
    }
}

/// A program with a status line, in the foreground of a [`Tmux`].
#[derive(Debug)]
pub struct Program<'a> {
    tmux: &'a Tmux,
    file: PathBuf,
}

impl Program<'_> {
    /// Presses one key, by its name in tmux, and waits for the frame that follows from it.
    #[track_caller]
    pub fn press(&self, key: &str) {
        self.send(1, &[key]);
    }

    /// Types a text, and waits for the frame with the last letter.
    #[track_caller]
    pub fn type_text(&self, text: &str) {
        self.send(text.chars().count() as u64, &["-l", text]);
    }

    /// Presses the left button of the mouse on these words.
    #[track_caller]
    pub fn click(&self, words: &str) {
        self.send(1, &self.click_on(words));
    }

    /// Presses a key with which the program ends or stops, and waits until the shell has the exit code.
    #[track_caller]
    pub fn leave(self, key: &str) -> i32 {
        self.settle();
        self.tmux.tmux(&["send-keys", key]);
        self.ended()
    }

    /// The same with the mouse.
    #[track_caller]
    pub fn leave_by_click(self, words: &str) -> i32 {
        let keys = self.click_on(words);
        let keys: Vec<&str> =
            ["send-keys"].into_iter().chain(keys.iter().map(|it| &**it)).collect();
        self.tmux.tmux(&keys);
        self.ended()
    }

    /// Waits until the program has ended or stopped, and returns its exit code.
    #[track_caller]
    pub fn ended(self) -> i32 {
        wait_until("the program has ended", || self.file.exists());
        exit_code(&self.file)
    }

    /// Gives the terminal another size, and waits for a frame of that size.
    #[track_caller]
    pub fn resize(&self, width: u16, height: u16) {
        let (columns, rows) = (width.to_string(), height.to_string());
        self.tmux.tmux(&["resize-window", "-x", &columns, "-y", &rows]);
        self.see(&format!("size={width}x{height}"), "");
    }

    /// Waits until the program shows these fields of its status line and these words; see [`Seen::shows`].
    #[track_caller]
    pub fn see(&self, status: &str, words: &str) -> Seen {
        self.tmux.see(status, words)
    }

    /// Waits until the program has no request pending that would change what is shown.
    #[track_caller]
    pub fn settle(&self) -> Seen {
        self.tmux.wait("no request is pending", Seen::is_settled)
    }

    #[track_caller]
    fn send(&self, inputs: u64, keys: &[impl AsRef<str>]) {
        let before = self.settle().number("inputs").unwrap();
        let names: Vec<&str> = keys.iter().map(AsRef::as_ref).collect();
        let command: Vec<&str> = ["send-keys"].into_iter().chain(names.iter().copied()).collect();
        self.tmux.tmux(&command);
        self.tmux.wait(&format!("{names:?} is handled"), |seen| {
            seen.number("inputs").is_some_and(|count| count >= before + inputs)
        });
    }

    /// Returns what a terminal sends when the mouse is pressed on these words.
    #[track_caller]
    fn click_on(&self, words: &str) -> Vec<String> {
        let screen = self.settle().screen;
        let place = screen.lines().zip(1..).find_map(|(line, row)| {
            let column = line[..line.find(words)?].chars().count() + 1;
            Some((column, row))
        });
        let (column, row) = place.unwrap_or_else(|| panic!("{words} is not in {screen}"));
        let pressed = format!("\x1b[<0;{column};{row}M\x1b[<0;{column};{row}m");
        let bytes = pressed.bytes().map(|byte| format!("{byte:02x}"));
        ["-H".to_owned()].into_iter().chain(bytes).collect()
    }
}

fn exit_code(file: &Path) -> i32 {
    fs::read_to_string(file).unwrap().trim().parse().unwrap()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATH: [(&str, &str); 1] = [("WORD", "word")];

    #[test]
    fn shell_returns_exit_codes_and_screens() {
        let folder = temp_folder("tmux-test");
        let Some(tmux) = Tmux::start("a shell", (40, 10), folder.path(), PATH) else { return };
        assert_eq!(tmux.run("echo a $WORD; exit_with() { return 3; }; exit_with"), 3);
        assert!(tmux.seen().screen.contains("\na word\n"));
        assert_eq!(tmux.run("pwd > here"), 0);
        let here = fs::read_to_string(folder.path().join("here")).unwrap();
        assert_eq!(here.trim(), folder.path().display().to_string());
    }

    #[test]
    fn status_line_is_split_into_fields() {
        let status = "frame=1 inputs=12 pending=0 screen=run/steps selected=".to_owned();
        let seen = Seen { status, screen: " hold\n".to_owned() };
        assert_eq!((seen.number("inputs"), seen.field("selected")), (Some(12), Some("")));
        assert!(seen.is_settled() && seen.shows("inputs=12 screen=run/steps", "hold"));
        assert!(!seen.shows("inputs=1", "hold") && !seen.shows("screen=run", ""));
        assert!(!seen.shows("", "held") && seen.field("screen=run/steps").is_none());
    }
}
