//! The trees below the spawner: one for each attempt, its direct child and all that came of it.
//!
//! Starting children and talking to our process are in `serve.rs`.
//!
//! The spawner adopts orphans, so whatever is left of a tree when its direct child has ended is,
//! or hangs below, a child of the spawner. A process that is a child of ours keeps its number
//! until we reap it, so what we know about it by number stays true.

use std::collections::{BTreeSet, HashMap};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, kill_process_group, wait};

use super::limited::Control;
use super::table::{self, Held};
use super::wire::Refusal;

/// What is left when a direct child ends by itself gets TERM, and this much time.
const LEFTOVER_GRACE: Duration = Duration::from_secs(1);

/// KILL is repeated after this, then after twice as much, up to the second.
const KILL_AGAIN: (Duration, Duration) = (Duration::from_millis(2), Duration::from_millis(100));

/// A tree of which nothing is left.
#[derive(Debug)]
pub(super) struct Gone {
    pub key: u64,
    pub pid: i32,
    pub code: i32,
    pub signal: i32,
    pub refusal: Option<Refusal>,
}

#[derive(Debug)]
pub(super) struct Trees {
    own: i32,
    trees: HashMap<u64, Tree>,
    /// Direct children that were not reaped yet.
    leaders: HashMap<i32, u64>,
    /// Orphans that came to us, and whose they are, where that could be told.
    adopted: HashMap<i32, Option<u64>>,
    /// Trees whose direct child has ended.
    headless: BTreeSet<u64>,
    /// Trees with something to do at an instant.
    timed: BTreeSet<u64>,
    gone: Vec<Gone>,
    /// Lists our children; `None` where the kernel has no such file.
    list: Option<File>,
    buffer: Vec<u8>,
}

#[derive(Debug)]
struct Tree {
    leader: i32,
    cookie: Vec<u8>,
    control: Option<Control>,
    ended: Option<(i32, i32)>,
    kill_at: Option<Instant>,
    /// The pause after the KILL that is due, if KILL was sent before.
    pause: Option<Duration>,
}

impl Trees {
    pub(super) fn new() -> Self {
        let own = std::process::id() as i32;
        Self {
            own,
            trees: HashMap::new(),
            leaders: HashMap::new(),
            adopted: HashMap::new(),
            headless: BTreeSet::new(),
            timed: BTreeSet::new(),
            gone: Vec::new(),
            list: File::open(format!("/proc/{own}/task/{own}/children")).ok(),
            buffer: vec![0; 4096],
        }
    }

    pub(super) fn insert(&mut self, key: u64, pid: i32, cookie: &[u8], control: Option<Control>) {
        let cookie = cookie.to_vec();
        let tree = Tree { leader: pid, cookie, control, ended: None, kill_at: None, pause: None };
        self.trees.insert(key, tree);
        self.leaders.insert(pid, key);
    }

    /// TERM to the whole tree now, KILL after the grace, or when an earlier one is over.
    pub(super) fn stop(&mut self, key: u64, grace: Duration) {
        let now = Instant::now();
        let Some(tree) = self.trees.get_mut(&key) else { return };
        let kill_at = now.checked_add(grace).unwrap_or(now + Duration::from_secs(1 << 30));
        let kill_at = tree.kill_at.map_or(kill_at, |earlier| earlier.min(kill_at));
        if tree.pause.is_some() {
            return;
        }
        tree.kill_at = Some(kill_at);
        self.timed.insert(key);
        if grace.is_zero() {
            return self.kill(key);
        }
        self.signal(key, Signal::TERM);
        // A stopped process acts on TERM only when it goes on.
        self.signal(key, Signal::CONT);
    }

    pub(super) fn kill(&mut self, key: u64) {
        let Some(tree) = self.trees.get_mut(&key) else { return };
        let pause = tree.pause.map_or(KILL_AGAIN.0, |pause| (pause * 2).min(KILL_AGAIN.1));
        tree.pause = Some(pause);
        tree.kill_at = Some(Instant::now() + pause);
        self.timed.insert(key);
        self.signal(key, Signal::KILL);
    }

    /// When [`Trees::on_time`] has something to do.
    pub(super) fn due(&self) -> Option<Instant> {
        self.timed.iter().filter_map(|key| self.trees.get(key)?.kill_at).min()
    }

    pub(super) fn on_time(&mut self, now: Instant) {
        if self.timed.is_empty() {
            return;
        }
        let is_due = |key: &u64| self.trees.get(key).is_some_and(|tree| tree.kill_at <= Some(now));
        let due: Vec<u64> = self.timed.iter().copied().filter(is_due).collect();
        for key in due {
            self.kill(key);
        }
    }

    /// Takes note that a child of ours was reaped.
    pub(super) fn reaped(&mut self, pid: i32, code: i32, signal: i32) {
        self.adopted.remove(&pid);
        let Some(key) = self.leaders.remove(&pid) else { return };
        if let Some(tree) = self.trees.get_mut(&key) {
            tree.ended = Some((code, signal));
            self.headless.insert(key);
        }
    }

    /// Finds out which trees are gone, and sends TERM to what is left of others that have lost
    /// their direct child. To be called after everything that had ended was reaped.
    pub(super) fn settle(&mut self, has_children: bool) {
        if self.headless.is_empty() {
            return;
        }
        if !has_children {
            self.adopted.clear();
        } else if !self.adopt() {
            // Somebody ended while we looked, and what it left may have come to us after that. We
            // shall be told of its end, and look again.
            return;
        }
        for key in std::mem::take(&mut self.headless) {
            if self.adopted.values().any(|owner| *owner == Some(key)) {
                self.headless.insert(key);
                self.end_leftovers(key);
            } else {
                self.finish(key);
            }
        }
    }

    pub(super) fn gone(&self) -> &[Gone] {
        &self.gone
    }

    pub(super) fn take_gone(&mut self) -> Vec<Gone> {
        std::mem::take(&mut self.gone)
    }

    /// KILL to every process below us, again and again until there is none.
    pub(super) fn end_all(&mut self) {
        let mut pause = KILL_AGAIN.0;
        loop {
            for leader in self.leaders.keys() {
                signal_group(*leader, Signal::KILL);
            }
            let below = table::descendants(&[self.own]);
            let parents: Vec<i32> = below.iter().copied().chain([self.own]).collect();
            signal_each(&below, &parents, Signal::KILL);
            loop {
                match wait(WaitOptions::NOHANG) {
                    Ok(Some((pid, _))) => drop(self.leaders.remove(&Pid::as_raw(Some(pid)))),
                    Ok(None) => break,
                    Err(Errno::INTR) => {}
                    Err(_) => return,
                }
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(KILL_AGAIN.1);
        }
    }

    fn end_leftovers(&mut self, key: u64) {
        let is_ending = self.trees.get(&key).is_some_and(|tree| tree.kill_at.is_some());
        if !is_ending {
            self.stop(key, LEFTOVER_GRACE);
        }
    }

    fn finish(&mut self, key: u64) {
        self.timed.remove(&key);
        let Some(tree) = self.trees.remove(&key) else { return };
        let (code, signal) = tree.ended.unwrap_or((-1, 0));
        let refusal = tree.control.and_then(Control::refusal);
        self.gone.push(Gone { key, pid: tree.leader, code, signal, refusal });
    }

    /// Sends a signal to every process of the tree.
    fn signal(&mut self, key: u64, signal: Signal) {
        self.adopt();
        let Some(tree) = self.trees.get(&key) else { return };
        let mut roots: Vec<i32> = self
            .adopted
            .iter()
            .filter_map(|(pid, owner)| (*owner == Some(key)).then_some(*pid))
            .collect();
        let mut group = None;
        if tree.ended.is_none() {
            // Until we reap the leader, the group cannot be another's. One call reaches all of
            // it, even what is being forked.
            signal_group(tree.leader, signal);
            group = Some(tree.leader);
            roots.push(tree.leader);
        }
        let mut members = table::descendants(&roots);
        let parents: Vec<i32> = members.iter().chain(&roots).copied().chain([self.own]).collect();
        members.extend(roots.iter().filter(|pid| Some(**pid) != group));
        members.retain(|pid| {
            group.is_none() || table::entry(*pid).is_some_and(|entry| Some(entry.group) != group)
        });
        signal_each(&members, &parents, signal);
    }

    /// Takes note of the orphans that came to us since the last time. False if one has ended
    /// before it could be told whose it is.
    fn adopt(&mut self) -> bool {
        let mut is_complete = true;
        for pid in self.listed() {
            if self.leaders.contains_key(&pid) || self.adopted.contains_key(&pid) {
                continue;
            }
            match self.owner(pid) {
                Some(owner) => drop(self.adopted.insert(pid, owner)),
                None => is_complete = false,
            }
        }
        is_complete
    }

    /// Our children.
    fn listed(&mut self) -> Vec<i32> {
        let Some(list) = &self.list else {
            let own = self.own;
            let all = table::all().unwrap_or_default();
            return all
                .iter()
                .filter(|(_, entry)| entry.parent == own)
                .map(|(pid, _)| *pid)
                .collect();
        };
        let mut length = 0;
        loop {
            match list.read_at(&mut self.buffer[length..], length as u64) {
                Ok(0) | Err(_) => break,
                Ok(read) => length += read,
            }
            if length < self.buffer.len() {
                break;
            }
            // Start over: what was read so far and what follows might not fit together.
            length = 0;
            self.buffer.resize(self.buffer.len() * 4, 0);
        }
        table::parse_pids(&self.buffer[..length]).collect()
    }

    /// Whose an orphan is: by its cookie, else by its group. `None` if it has ended; it will be
    /// reaped as soon as we are told.
    fn owner(&self, pid: i32) -> Option<Option<u64>> {
        for _ in 0..5 {
            let entry = table::entry(pid)?;
            if entry.is_zombie {
                return None;
            }
            if let Some(cookie) = table::cookie_of(pid)
                && let Some((key, _)) = self.trees.iter().find(|(_, tree)| tree.cookie == cookie)
            {
                return Some(Some(*key));
            }
            if let Some((key, _)) = self.trees.iter().find(|(_, tree)| tree.leader == entry.group) {
                return Some(Some(*key));
            }
            if table::has_environment(pid) {
                break;
            }
            // It is starting a program at this instant, or wants to have no environment.
            std::thread::sleep(Duration::from_millis(1));
        }
        Some(None)
    }
}

fn signal_group(leader: i32, signal: Signal) {
    if let Some(leader) = Pid::from_raw(leader) {
        let _ = kill_process_group(leader, signal);
    }
}

/// Signals those that are still children of these parents once they are held fast.
fn signal_each(members: &[i32], parents: &[i32], signal: Signal) {
    for pid in members {
        if let Some(held) = Held::open(*pid)
            && table::entry(*pid).is_some_and(|entry| parents.contains(&entry.parent))
        {
            held.signal(signal);
        }
    }
}
