//! Reads the kernel's table of processes: who is whose child, and which attempt one belongs to.
//!
//! Nothing is signalled here; see `serve.rs` and `survivors.rs`.

use std::collections::HashMap;
use std::fs;
use std::io;

use rustix::process::Pid;

use tidewheel_core::id::AttemptId;

/// The variable by which processes are found again.
pub(super) const COOKIE: &str = "TIDEWHEEL_COOKIE";

/// The cookie of an attempt: `<mark>/<run>/<index>/<attempt>`.
pub(super) fn cookie(mark: &str, attempt: AttemptId) -> String {
    format!("{mark}/{attempt}")
}

/// The attempt that a cookie with this mark names.
pub(super) fn attempt_of(mark: &str, cookie: &[u8]) -> Option<AttemptId> {
    let rest = cookie.strip_prefix(mark.as_bytes())?.strip_prefix(b"/")?;
    let attempt = std::str::from_utf8(rest).ok()?.parse().ok()?;
    // Only what we would have written ourselves is a cookie of ours.
    (self::cookie(mark, attempt).as_bytes() == cookie).then_some(attempt)
}

/// What the kernel says about one process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Entry {
    pub parent: i32,
    pub group: i32,
    /// Ended, but not yet waited for.
    pub is_zombie: bool,
    /// Ticks since boot; with the pid, an identity.
    pub started: u64,
}

pub(super) fn entry(pid: i32) -> Option<Entry> {
    parse_stat(&fs::read(format!("/proc/{pid}/stat")).ok()?)
}

fn parse_stat(stat: &[u8]) -> Option<Entry> {
    // The name in parentheses may hold anything, parentheses and spaces too.
    let end = stat.iter().rposition(|byte| *byte == b')')?;
    let text = std::str::from_utf8(&stat[end + 1..]).ok()?;
    let mut fields = text.split_ascii_whitespace();
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    let group = fields.next()?.parse().ok()?;
    let started = fields.nth(16)?.parse().ok()?;
    Some(Entry { parent, group, is_zombie: matches!(state, "Z" | "X"), started })
}

/// The cookie in the environment a process was started with. `None` if it cannot be read.
pub(super) fn cookie_of(pid: i32) -> Option<Vec<u8>> {
    let environ = fs::read(format!("/proc/{pid}/environ")).ok()?;
    let mut variables = environ.split(|byte| *byte == 0);
    variables.find_map(|variable| {
        Some(variable.strip_prefix(COOKIE.as_bytes())?.strip_prefix(b"=")?.to_vec())
    })
}

/// Whether a process has any environment. It has none for an instant while it starts a program.
pub(super) fn has_environment(pid: i32) -> bool {
    fs::read(format!("/proc/{pid}/environ")).is_ok_and(|environ| !environ.is_empty())
}

/// All processes there are.
pub(super) fn all() -> io::Result<HashMap<i32, Entry>> {
    let mut entries = HashMap::new();
    for file in fs::read_dir("/proc")? {
        let name = file?.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.parse().ok()) else { continue };
        if let Some(entry) = entry(pid) {
            entries.insert(pid, entry);
        }
    }
    Ok(entries)
}

/// The processes below these, these left out. Those that fork while this looks may be missing, so
/// callers look again until there are none.
pub(super) fn descendants(roots: &[i32]) -> Vec<i32> {
    let mut found: Vec<i32> = Vec::new();
    let mut open: Vec<i32> = roots.to_vec();
    let mut snapshot = None;
    while let Some(pid) = open.pop() {
        for child in children(pid, &mut snapshot) {
            if !found.contains(&child) && !roots.contains(&child) {
                found.push(child);
                open.push(child);
            }
        }
    }
    found
}

fn children(pid: i32, snapshot: &mut Option<HashMap<i32, Entry>>) -> Vec<i32> {
    let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    let mut found = Vec::new();
    for thread in threads.flatten() {
        match fs::read(thread.path().join("children")) {
            Ok(text) => found.extend(parse_pids(&text)),
            // The thread is gone, or this kernel has no such file: then look at everyone's parent.
            Err(_) if thread.path().exists() => {
                let all = snapshot.get_or_insert_with(|| all().unwrap_or_default());
                let below = all.iter().filter(|(_, entry)| entry.parent == pid);
                return below.map(|(pid, _)| *pid).collect();
            }
            Err(_) => {}
        }
    }
    found
}

pub(super) fn parse_pids(text: &[u8]) -> impl Iterator<Item = i32> + '_ {
    text.split(|byte| *byte == b' ')
        .filter_map(|word| std::str::from_utf8(word).ok()?.trim_ascii().parse().ok())
}

/// A process held by a descriptor, so that a signal never hits another that got its number.
#[derive(Debug)]
pub(super) struct Held {
    pub pid: i32,
    descriptor: std::os::fd::OwnedFd,
}

impl Held {
    /// Whoever has the number now. Only what is read after this is known to be about it, and only
    /// while [`Held::is_alive`] says so.
    pub(super) fn open(pid: i32) -> Option<Self> {
        use rustix::process::{PidfdFlags, pidfd_open};

        let descriptor = pidfd_open(Pid::from_raw(pid)?, PidfdFlags::empty()).ok()?;
        Some(Self { pid, descriptor })
    }

    pub(super) fn signal(&self, signal: rustix::process::Signal) {
        // It may have ended in the meantime, which is as good.
        let _ = rustix::process::pidfd_send_signal(&self.descriptor, signal);
    }
}

#[cfg(test)]
mod tests {
    use tidewheel_core::id::{RunId, TaskId};

    use super::*;

    #[test]
    fn names_may_hold_parentheses() {
        let mut stat = b"42 (a) b) (c) S 7 40 40 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 ".to_vec();
        stat.extend(b"9876 100 200");
        let entry = parse_stat(&stat).unwrap();
        assert_eq!(entry, Entry { parent: 7, group: 40, is_zombie: false, started: 9876 });
        assert!(parse_stat(b"42 (cut").is_none());
    }

    #[test]
    fn cookies_are_read_back_exactly() {
        let task = TaskId { run: RunId(0xabc), index: 3 };
        let attempt = AttemptId { task, number: 2 };
        let text = cookie("my/mark", attempt);
        assert_eq!(text, "my/mark/00000000-0000-0000-0000-000000000abc/3/2");
        assert_eq!(attempt_of("my/mark", text.as_bytes()), Some(attempt));
        for other in ["my", "my/mar", "my/mark/", "other"] {
            assert_eq!(attempt_of(other, text.as_bytes()), None, "{other}");
        }
        assert_eq!(attempt_of("my/mark", format!("{text}/1").as_bytes()), None);
        assert_eq!(attempt_of("my/mark", format!("{text} ").as_bytes()), None);
    }

    #[test]
    fn own_entry_is_found() {
        let pid = std::process::id() as i32;
        assert!(entry(pid).is_some_and(|entry| !entry.is_zombie && entry.started > 0));
        assert!(all().unwrap().contains_key(&pid));
    }
}
