//! Faults at exact places: `strace` kills a victim at its n-th call of a kind, or makes calls fail.
//!
//! It counts calls by thread and kind, and so do we. If it watches all threads at once, the one that
//! makes most calls always comes first; so it can also watch one alone, from when the wheel turns.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::fs;
use std::process::{Command, Stdio};
use std::str::FromStr;
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow};
use rustix::process::Signal;

use super::round::{LIFE_MAX, Life, Round, send};
use super::table;

/// The calls by which SQLite writes.
pub(super) const STORE_CALLS: [&str; 4] = ["pwrite64", "fdatasync", "fsync", "ftruncate"];
/// How long a victim may take to come to its gate, and strace to watch it.
const PATIENCE: Duration = Duration::from_secs(20);
/// Steps that have begun when a victim is killed halfway.
const BEGUN: usize = 5;

/// Who is watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Target {
    /// The victim with all its threads and children, from its first breath.
    All,
    /// The same for a victim that comes after one that was killed halfway.
    Recovery,
    /// Its first thread, once the wheel turns.
    Main,
    /// The thread that writes to a store that is slow, once the wheel turns.
    Books,
    /// The process that starts others, once the wheel turns.
    Spawner,
}

impl Target {
    pub const EACH: [Self; 5] = [Self::All, Self::Recovery, Self::Main, Self::Books, Self::Spawner];

    pub fn word(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Recovery => "recovery",
            Self::Main => "main",
            Self::Books => "books",
            Self::Spawner => "spawner",
        }
    }

    /// The calls at which it is hurt.
    pub fn calls(self) -> &'static [&'static str] {
        match self {
            Self::All | Self::Recovery => {
                &["pwrite64", "fdatasync", "fsync", "ftruncate", "unlink", "sendmsg", "write"]
            }
            Self::Main => &[
                "pwrite64",
                "fdatasync",
                "fsync",
                "ftruncate",
                "write",
                "sendmsg",
                "recvfrom",
                "pipe2",
            ],
            Self::Books => &["pwrite64", "fdatasync", "fsync", "ftruncate", "write", "fcntl"],
            Self::Spawner => &["clone3", "clone", "vfork", "sendto", "recvmsg", "wait4", "ppoll"],
        }
    }

    /// The first call of a kind that counts: the shells of steps write two lines each, and a shell
    /// that dies at its own first call would die in every attempt.
    pub fn first(self, call: &str) -> u32 {
        if self.is_whole() && call == "write" { 3 } else { 1 }
    }

    /// Whether all threads and children are watched.
    fn is_whole(self) -> bool {
        matches!(self, Self::All | Self::Recovery)
    }

    /// The thread to watch, once it is there.
    fn thread(self, victim: u32) -> Option<i32> {
        match self {
            Self::All | Self::Recovery => None,
            Self::Main => Some(victim as i32),
            Self::Books => table::thread_named(victim, "tidewheel-books"),
            Self::Spawner => table::spawner_of(victim).map(|seen| seen.pid),
        }
    }
}

/// A fault at a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Point {
    pub target: Target,
    pub call: &'static str,
    pub fault: Fault,
    /// The number of the call, from 1.
    pub number: u32,
    /// And of all later ones.
    pub goes_on: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    Kill,
    InputOutput,
    NoSpace,
}

impl Fault {
    fn word(self) -> &'static str {
        match self {
            Self::Kill => "kill",
            Self::InputOutput => "EIO",
            Self::NoSpace => "ENOSPC",
        }
    }

    fn injection(self) -> &'static str {
        match self {
            Self::Kill => "signal=SIGKILL",
            Self::InputOutput => "error=EIO",
            Self::NoSpace => "error=ENOSPC",
        }
    }
}

/// As it is written on the command line: `all:pwrite64:kill:17`, `books:fsync:EIO:3+`.
impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { target, call, fault, number, goes_on } = self;
        let plus = if *goes_on { "+" } else { "" };
        write!(f, "{}:{call}:{}:{number}{plus}", target.word(), fault.word())
    }
}

impl FromStr for Point {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || anyhow!("`{text}` is no point such as all:pwrite64:kill:17");
        let words: Vec<&str> = text.split(':').collect();
        let [target, call, fault, place] = words[..] else { return Err(wrong()) };
        let target = Target::EACH.into_iter().find(|known| known.word() == target);
        let target = target.ok_or_else(wrong)?;
        let call = target.calls().iter().find(|known| **known == call).ok_or_else(wrong)?;
        let faults = [Fault::Kill, Fault::InputOutput, Fault::NoSpace];
        let fault = faults.into_iter().find(|known| known.word() == fault).ok_or_else(wrong)?;
        let number = place.trim_end_matches('+').parse().map_err(|_| wrong())?;
        Ok(Self { target, call, fault, number, goes_on: place.ends_with('+') })
    }
}

/// Whether there is a `strace` that may trace; else why not.
pub(super) fn is_there() -> Result<(), String> {
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-o", "/dev/null", "-e", "trace=write", "true"]);
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(_) => Err("strace may not trace here".to_owned()),
        Err(error) => Err(format!("strace cannot be started: {error}")),
    }
}

/// How often a victim that is let be makes each call, in the thread that makes it most.
pub(super) fn measure(
    round: &mut Round,
    target: Target,
) -> anyhow::Result<BTreeMap<&'static str, u32>> {
    let mut traced = Traced::start(round, target, &target.calls().join(","), None)?;
    let status = traced.victim.wait(LIFE_MAX)?;
    if !status.is_some_and(|status| status.success()) {
        return Err(anyhow!("a victim under strace did not end well: {status:?}"));
    }
    traced.end()?;
    let trace = trace_of(round)?;
    let mut most: BTreeMap<&'static str, u32> = BTreeMap::new();
    for ((_, call), count) in by_thread(&trace) {
        if let Some(call) = target.calls().iter().find(|known| **known == call) {
            let known = most.entry(call).or_default();
            *known = count.max(*known);
        }
    }
    most.retain(|call, count| *count >= target.first(call));
    Ok(most)
}

/// What became of a victim with a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Injected {
    /// Whether the place was reached.
    pub is_hit: bool,
    /// Whether the victim ended by itself, or by the fault.
    pub has_ended: bool,
}

/// Lets a victim live with a fault, at most so long; then it is killed.
pub(super) fn inject(round: &mut Round, point: &Point, most: Duration) -> anyhow::Result<Injected> {
    let plus = if point.goes_on { "+" } else { "" };
    let Point { target, call, fault, number, .. } = point;
    let injection = format!("inject={call}:{}:when={number}{plus}", fault.injection());
    let mut traced = Traced::start(round, *target, call, Some(injection))?;
    let has_ended = traced.victim.wait(most)?.is_some();
    traced.end()?;
    let is_hit = has_hit(&trace_of(round)?, point);
    round.faults += u64::from(is_hit);
    Ok(Injected { is_hit, has_ended })
}

/// A victim that is watched.
struct Traced {
    /// The victim, or else whoever watches all of it.
    victim: Life,
    /// Whoever watches one thread.
    tracer: Option<Life>,
    target: Target,
}

impl Traced {
    fn start(
        round: &Round,
        target: Target,
        calls: &str,
        injection: Option<String>,
    ) -> anyhow::Result<Self> {
        // Without `--seccomp-bpf`, which would be faster: with it strace 6.1 injects nothing.
        let output = trace_file(round);
        let trace = format!("trace={calls}");
        let mut words = vec!["strace", "-qq", "-o", &output, "-e", &trace];
        words.extend(injection.iter().flat_map(|injection| ["-e", injection]));
        if target == Target::Recovery {
            kill_halfway(round)?;
        }
        if target.is_whole() {
            words.insert(1, "-f");
            let words: Vec<String> = words.into_iter().map(str::to_owned).collect();
            let victim = round.start_under(&words, &[])?;
            return Ok(Self { victim, tracer: None, target });
        }
        let gate = round.folder.join("gate");
        let gate_word = format!("--gate={}", gate.display());
        let mut victim = round.start_under(&[], &[&gate_word])?;
        let (victim_pid, ledger) = (victim.pid(), round.ledger());
        let is_at_gate =
            || Ok(fs::read_to_string(&ledger).is_ok_and(|text| text.contains("\ngate\n")));
        if victim.wait_or(PATIENCE, is_at_gate)?.is_some() {
            return Err(anyhow!("a victim ended before its gate: {}", round.last_words()));
        }
        // A thread gives itself its name a little after it was started.
        let mut thread = None;
        victim.wait_or(PATIENCE, || {
            thread = target.thread(victim_pid);
            Ok(thread.is_some())
        })?;
        let thread = thread.context("there is no such thread")?;
        let number = thread.to_string();
        words.extend(["-p", &number]);
        let mut tracer = Life::start(&words)?;
        let begin = Instant::now();
        while !table::is_traced(thread) {
            if tracer.wait(Duration::from_millis(1))?.is_some() {
                // The call in which the thread waits was the one to be hit.
                break;
            }
            if begin.elapsed() > PATIENCE {
                return Err(anyhow!("strace does not watch"));
            }
        }
        fs::write(gate, "").context("the gate cannot be opened")?;
        Ok(Self { victim, tracer: Some(tracer), target })
    }

    /// Ends what has not ended. Whoever watches ends with what it watches.
    fn end(&mut self) -> anyhow::Result<()> {
        if self.target.is_whole() && self.victim.wait(Duration::ZERO)?.is_none() {
            for child in table::children(self.victim.pid()) {
                // It may have ended just now, which is as good.
                let _ = send(child.pid, Signal::KILL);
            }
            self.victim.wait(PATIENCE)?;
        }
        self.victim.kill()?;
        if let Some(tracer) = &mut self.tracer {
            tracer.wait(PATIENCE)?;
            tracer.kill()?;
        }
        Ok(())
    }
}

/// Kills a victim when some of its steps have begun.
fn kill_halfway(round: &Round) -> anyhow::Result<()> {
    let mut life = round.start()?;
    let has_begun = || {
        let text = round.ledger_text()?;
        Ok(text.lines().filter(|line| line.starts_with("start")).count() >= BEGUN)
    };
    life.wait_or(LIFE_MAX, has_begun)?;
    life.kill()?;
    Ok(())
}

fn trace_file(round: &Round) -> String {
    round.folder.join("calls").to_string_lossy().into_owned()
}

fn trace_of(round: &Round) -> anyhow::Result<String> {
    let text = fs::read(trace_file(round)).context("what strace wrote cannot be read")?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// Whether the fault has happened, by what strace wrote, not by what it was told.
fn has_hit(trace: &str, point: &Point) -> bool {
    if point.fault != Fault::Kill {
        return trace.contains("(INJECTED)");
    }
    let is_killed = |thread: &str| {
        trace.lines().any(|line| split(line) == (thread, "+++ killed by SIGKILL +++"))
    };
    by_thread(trace).iter().any(|((thread, call), count)| {
        *call == point.call && *count == point.number && is_killed(thread)
    })
}

/// How often each thread made each call. Lines are `THREAD call(…) = …`, or `call(…) = …` if only
/// one thread is watched.
fn by_thread(trace: &str) -> HashMap<(&str, &str), u32> {
    let mut counts = HashMap::new();
    for (thread, rest) in trace.lines().map(split) {
        let Some((call, _)) = rest.split_once('(') else { continue };
        // Not the second half of a call that another interrupted.
        if !call.contains(' ') {
            *counts.entry((thread, call)).or_default() += 1;
        }
    }
    counts
}

fn split(line: &str) -> (&str, &str) {
    let digits = line.len() - line.trim_start_matches(|letter: char| letter.is_ascii_digit()).len();
    let (thread, rest) = line.split_at(digits);
    (thread, rest.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_happened_is_a_hit() {
        let trace =
            "7  fsync(3) = 0\n8  fsync(3) = 0\n7  fsync(4) = ?\n7  +++ killed by SIGKILL +++\n";
        let hits = |point: &str| has_hit(trace, &point.parse().unwrap());
        assert!(hits("all:fsync:kill:2"));
        // The other thread made one call, but was not killed at it.
        assert!(!hits("all:fsync:kill:1"));
        assert!(!hits("all:fsync:kill:3"));
        assert!(!hits("all:fsync:EIO:1"));
        let trace = "fsync(3) = -1 EIO (Input/output error) (INJECTED)\n";
        assert!(has_hit(trace, &"books:fsync:EIO:1".parse().unwrap()));
        let trace = "fsync(3) = 0\nfsync(3) = ?\n+++ killed by SIGKILL +++\n";
        assert!(has_hit(trace, &"books:fsync:kill:2".parse().unwrap()));
    }

    #[test]
    fn points_are_read_as_they_are_written() {
        for text in ["all:pwrite64:kill:17", "books:fsync:EIO:3+", "recovery:write:kill:3"] {
            assert_eq!(text.parse::<Point>().unwrap().to_string(), text);
        }
        for text in
            ["", "all:pwrite64:kill", "all:pwrite64:kill:x", "all:reboot:kill:1", "x:write:kill:1"]
        {
            assert!(text.parse::<Point>().is_err(), "{text}");
        }
    }
}
