//! Ends processes that outlived us: found by cookie after a crash.
//!
//! While the spawner lives it does this itself; see `trees.rs`.

use std::collections::HashMap;
use std::io;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use tidewheel_core::id::AttemptId;

use super::table::{self, Entry, Held};

/// Processes that had outlived us, and were ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Survivors {
    /// Each with the attempt it belonged to, in the order of attempts and pids.
    pub found: Vec<Survivor>,
}

/// One process that had outlived us.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Survivor {
    /// The attempt it was started for.
    pub attempt: AttemptId,
    /// The number it had.
    pub pid: u32,
}

impl Survivors {
    /// Whether there were none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.found.is_empty()
    }
}

/// Ends the live processes whose cookie has this mark, or only those of some attempts, with all
/// processes below them: TERM, the grace, KILL until they are gone. Blocks until then.
///
/// To be called when nothing of this mark may be running: after a crash, before the first start.
///
/// # Errors
///
/// If the table of processes cannot be read, or if some process is still there ten seconds after
/// KILL (it belongs to another user, or the kernel cannot end it).
pub fn end_survivors(
    mark: &str,
    which: Option<&[AttemptId]>,
    grace: Duration,
) -> io::Result<Survivors> {
    let mut found: Vec<Survivor> = Vec::new();
    let mut living: Vec<Living> = Vec::new();
    let begin = Instant::now();
    let mut pause = Duration::from_millis(1);
    loop {
        // Those seen before stay in sight even if what made them known, a marked parent, is gone.
        living.retain(Living::is_alive);
        for new in look(mark, which)? {
            if living.iter().any(|known| known.is_same(&new)) {
                continue;
            }
            found.push(Survivor { attempt: new.attempt, pid: new.held.pid as u32 });
            if begin.elapsed() < grace {
                new.held.signal(Signal::TERM);
                new.held.signal(Signal::CONT);
            }
            living.push(new);
        }
        if living.is_empty() {
            found.sort_unstable();
            return Ok(Survivors { found });
        }
        if begin.elapsed() >= grace {
            living.iter().for_each(|living| living.held.signal(Signal::KILL));
        }
        if begin.elapsed() > grace + Duration::from_secs(10) {
            let pids: Vec<i32> = living.iter().map(|living| living.held.pid).collect();
            return Err(io::Error::other(format!("cannot end processes {pids:?}")));
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(50));
    }
}

struct Living {
    held: Held,
    attempt: AttemptId,
    started: u64,
}

impl Living {
    fn is_alive(&self) -> bool {
        let entry = table::entry(self.held.pid);
        entry.is_some_and(|now| now.started == self.started && !now.is_zombie)
    }

    fn is_same(&self, other: &Self) -> bool {
        (self.held.pid, self.started) == (other.held.pid, other.started)
    }
}

/// Processes with a cookie of ours, and all below them, held fast.
fn look(mark: &str, which: Option<&[AttemptId]>) -> io::Result<Vec<Living>> {
    let all = table::all()?;
    let spared = lineage(std::process::id() as i32, &all);
    let mut owners: HashMap<i32, AttemptId> = HashMap::new();
    for pid in all.keys() {
        if let Some(cookie) = table::cookie_of(*pid)
            && let Some(attempt) = table::attempt_of(mark, &cookie)
            && which.is_none_or(|which| which.contains(&attempt))
        {
            owners.insert(*pid, attempt);
        }
    }
    let mut living = Vec::new();
    for (pid, entry) in &all {
        // Those below a marked process are its attempt's too, whatever their environment says.
        let line = lineage(*pid, &all);
        let Some(attempt) = line.iter().find_map(|pid| owners.get(pid)) else { continue };
        if spared.contains(pid) || entry.is_zombie || is_below_us(&line, &owners) {
            continue;
        }
        let Some(held) = Held::open(*pid) else { continue };
        let candidate = Living { held, attempt: *attempt, started: entry.started };
        // The same process as above: then what was read is about the one now held.
        if candidate.is_alive() {
            living.push(candidate);
        }
    }
    Ok(living)
}

/// Whether we stand between a process and the marked one it hangs below: if we were started by
/// such an attempt ourselves, what we have started is not a survivor of it.
fn is_below_us(line: &[i32], owners: &HashMap<i32, AttemptId>) -> bool {
    let own = std::process::id() as i32;
    let marked = line.iter().position(|pid| owners.contains_key(pid));
    let us = line.iter().position(|pid| *pid == own);
    matches!((us, marked), (Some(us), Some(marked)) if us < marked)
}

/// A process, its parent, and so on up.
fn lineage(pid: i32, all: &HashMap<i32, Entry>) -> Vec<i32> {
    let mut line = vec![pid];
    let mut current = pid;
    while let Some(entry) = all.get(&current) {
        // The table is no snapshot: numbers used again could make it a circle.
        if entry.parent <= 1 || line.contains(&entry.parent) {
            break;
        }
        current = entry.parent;
        line.push(current);
    }
    line
}
