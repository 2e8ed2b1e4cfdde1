//! Looks at processes from outside: who carries a tag, whose child is whose, how much time they took.
//!
//! The library has such a table of its own; this one is meant to find what that one misses.

use std::fs;

/// A process as seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Seen {
    pub pid: i32,
    pub command: String,
}

/// The living processes whose environment holds `variable=value`.
pub(super) fn tagged(variable: &str, value: &str) -> Vec<Seen> {
    let wanted = format!("{variable}={value}");
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(|pid: &i32| {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        let is_tagged = environment.split(|byte| *byte == 0).any(|word| word == wanted.as_bytes());
        is_tagged && state_of(*pid).is_some_and(|state| !matches!(state, 'Z' | 'X'))
    })
    .map(|pid| Seen { pid, command: command_of(pid) })
    .collect()
}

/// The children of a process.
pub(super) fn children(pid: u32) -> Vec<Seen> {
    let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    let mut found = Vec::new();
    for thread in threads.flatten() {
        let text = fs::read_to_string(thread.path().join("children")).unwrap_or_default();
        let pids = text.split_ascii_whitespace().filter_map(|word| word.parse().ok());
        found.extend(pids.map(|pid| Seen { pid, command: command_of(pid) }));
    }
    found
}

/// The child that starts the processes of steps.
pub(super) fn spawner_of(pid: u32) -> Option<Seen> {
    children(pid).into_iter().find(|child| child.command.contains("--tidewheel-spawner"))
}

/// The thread of a process that has this name.
pub(super) fn thread_named(pid: u32, name: &str) -> Option<i32> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).ok()?;
    threads.flatten().find_map(|thread| {
        let known = fs::read_to_string(thread.path().join("comm")).ok()?;
        (known.trim_end() == name).then(|| thread.file_name().to_str()?.parse().ok())?
    })
}

/// Whether somebody traces the thread.
pub(super) fn is_traced(thread: i32) -> bool {
    let status = fs::read_to_string(format!("/proc/{thread}/status")).unwrap_or_default();
    let tracer = status.lines().find_map(|line| line.strip_prefix("TracerPid:"));
    tracer.is_some_and(|tracer| tracer.trim() != "0")
}

/// The letter of its state, such as `T` for one that was stopped.
pub(super) fn state_of(pid: i32) -> Option<char> {
    fields_of(pid)?.first()?.chars().next()
}

/// The processor time it took, in ticks of 10 ms.
pub(super) fn ticks_of(pid: i32) -> Option<u64> {
    let fields = fields_of(pid)?;
    // The eleventh and twelfth after the name: in its own code, and in the kernel.
    let user: u64 = fields.get(11)?.parse().ok()?;
    let system: u64 = fields.get(12)?.parse().ok()?;
    Some(user + system)
}

/// What stands behind the name, which may hold anything.
fn fields_of(pid: i32) -> Option<Vec<String>> {
    let text = String::from_utf8_lossy(&fs::read(format!("/proc/{pid}/stat")).ok()?).into_owned();
    let (_, fields) = text.rsplit_once(')')?;
    Some(fields.split_ascii_whitespace().map(str::to_owned).collect())
}

fn command_of(pid: i32) -> String {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words: Vec<_> = line.split(|byte| *byte == 0).map(String::from_utf8_lossy).collect();
    words.join(" ").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_process_is_seen() {
        let pid = std::process::id() as i32;
        assert!(state_of(pid).is_some());
        assert!(ticks_of(pid).is_some());
        let path = std::env::var("PATH").unwrap();
        assert!(tagged("PATH", &path).iter().any(|seen| seen.pid == pid));
        assert_eq!(tagged("PATH", "nowhere at all"), []);
    }
}
