//! [`Pty`]: a pseudoterminal whose master side belongs to the test.
//!
//! It reads bytes, not screens; tests of screens use tmux.

use std::fs::File;
use std::io::{ErrorKind, Read as _, Write as _};
use std::os::unix::ffi::OsStringExt as _;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags, open};
use rustix::io::ioctl_fionread;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{
    LocalModes, OptionalActions, OutputModes, Termios, Winsize, tcgetattr, tcsetattr, tcsetwinsize,
};

use crate::wait::patience;

/// Capacity of the kernel's read buffer for a terminal, in bytes.
const READ_BUFFER: u64 = 4095;

/// A terminal.
pub struct Pty {
    other_side: File,
    device: PathBuf,
}

impl Pty {
    /// Opens a pseudoterminal of this size.
    pub fn open(columns: u16, rows: u16) -> Self {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let other_side = openpt(flags).unwrap();
        grantpt(&other_side).unwrap();
        unlockpt(&other_side).unwrap();
        let name = ptsname(&other_side, Vec::new()).unwrap().into_bytes();
        let device = PathBuf::from(std::ffi::OsString::from_vec(name));
        let pty = Self { other_side: other_side.into(), device };
        pty.resize(columns, rows);
        pty
    }

    /// Sets the size of the terminal.
    pub fn resize(&self, columns: u16, rows: u16) {
        let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&self.other_side, size).unwrap();
    }

    /// Opens the device that programs use.
    pub fn device(&self, flags: OFlags) -> File {
        let flags = flags | OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        open(&self.device, flags, Mode::empty()).unwrap().into()
    }

    /// Starts a program in a session of its own that has this terminal.
    pub fn start(&self, command: &Command) -> Child {
        let mut started = Command::new("setsid");
        // Tests that run in the background have signals ignored, which programs inherit: keys would send none.
        started.args(["--ctty", "env", "--default-signal=HUP,INT,QUIT"]);
        started.arg(command.get_program()).args(command.get_args()).env_clear();
        for (name, value) in command.get_envs() {
            started.env(name, value.unwrap_or_default());
        }
        if let Some(folder) = command.get_current_dir() {
            started.current_dir(folder);
        }
        let side = || self.device(OFlags::empty());
        started.stdin(side()).stdout(side()).stderr(side()).spawn().unwrap()
    }

    /// Writes until the terminal accepts no more bytes; returns their number.
    pub fn fill(&self) -> usize {
        let mut device = self.device(OFlags::NONBLOCK);
        let before = tcgetattr(&device).unwrap();
        let mut plain = before.clone();
        plain.output_modes.remove(OutputModes::OPOST);
        tcsetattr(&device, OptionalActions::Now, &plain).unwrap();
        let mut filled = 0;
        loop {
            // Moving bytes to the read buffer frees space: write once more after that buffer is full.
            let is_read_buffer_full = ioctl_fionread(&self.other_side).unwrap() >= READ_BUFFER;
            loop {
                match device.write(&[b'x'; 512]) {
                    Ok(count) => filled += count,
                    Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                    Err(error) => panic!("{error}"),
                }
            }
            if is_read_buffer_full {
                break;
            }
        }
        tcsetattr(&device, OptionalActions::Now, &before).unwrap();
        filled
    }

    /// Whether the read buffer is full.
    pub fn is_full(&self) -> bool {
        ioctl_fionread(&self.other_side).unwrap() >= READ_BUFFER
    }

    /// Writes keys to the terminal.
    pub fn press(&self, keys: &str) {
        (&self.other_side).write_all(keys.as_bytes()).unwrap();
    }

    /// Returns the settings of the terminal.
    pub fn settings(&self) -> Termios {
        tcgetattr(self.device(OFlags::empty())).unwrap()
    }

    /// Whether the terminal is in raw mode.
    pub fn has_keys(&self) -> bool {
        !self.settings().local_modes.contains(LocalModes::ICANON)
    }

    /// Waits for output and returns it; an empty result means that no program has the terminal.
    pub fn read(&self) -> Vec<u8> {
        assert!(self.waits_for_output(), "nothing is written");
        let mut bytes = vec![0; 1 << 16];
        // Reading fails with `EIO` after the last program has closed the terminal.
        let count = (&self.other_side).read(&mut bytes).unwrap_or_default();
        bytes.truncate(count);
        bytes
    }

    /// Waits until something is written, or no program has the terminal any more; returns `false` if that takes too long.
    fn waits_for_output(&self) -> bool {
        let seconds = i64::try_from(patience().as_secs()).unwrap();
        let mut watched = [PollFd::new(&self.other_side, PollFlags::IN)];
        poll(&mut watched, Some(&Timespec { tv_sec: seconds, tv_nsec: 0 })).unwrap() == 1
    }

    /// Reads at most `most` bytes without waiting; returns their number.
    pub fn read_little(&self, most: usize) -> usize {
        let mut watched = [PollFd::new(&self.other_side, PollFlags::IN)];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        match poll(&mut watched, Some(&now)).unwrap() {
            0 => 0,
            _ => (&self.other_side).read(&mut vec![0; most]).unwrap(),
        }
    }

    /// Reads until the output contains `words`; returns all output.
    pub fn read_until(&self, words: &str) -> String {
        let start = Instant::now();
        let mut all = Vec::new();
        loop {
            let text = String::from_utf8_lossy(&all).into_owned();
            if text.contains(words) {
                return text;
            }
            // elapsed: the limit of a wait, which only a hang reaches.
            let is_late = start.elapsed() >= patience();
            assert!(!is_late && self.waits_for_output(), "`{words}` is not in {text:?}");
            let bytes = self.read();
            assert!(!bytes.is_empty(), "the program has ended, and `{words}` is not in {text:?}");
            all.extend(bytes);
        }
    }

    /// Reads all that is left, of a terminal that no program has any more.
    pub fn rest(&self) -> String {
        let mut all = Vec::new();
        loop {
            match self.read() {
                bytes if bytes.is_empty() => return String::from_utf8_lossy(&all).into_owned(),
                bytes => all.extend(bytes),
            }
        }
    }
}

/// Whether two settings are the same.
pub fn is_same(one: &Termios, other: &Termios) -> bool {
    (one.input_modes, one.output_modes, one.local_modes, one.control_modes)
        == (other.input_modes, other.output_modes, other.local_modes, other.control_modes)
}
