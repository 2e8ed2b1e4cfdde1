//! Faults at exact places: `strace` kills a victim at its n-th call of a kind, or makes calls fail.
//!
//! It counts calls by thread and kind, and so do we.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::fs;
use std::process::{Command, Stdio};
use std::str::FromStr;
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use rustix::process::Signal;

use super::round::{LIFE_MAX, Life, Round, send};
use super::table;

/// The calls by which SQLite writes.
pub(super) const STORE_CALLS: [&str; 4] = ["pwrite64", "fdatasync", "fsync", "ftruncate"];
/// Those, and the ones by which a victim and its spawner talk and files are removed.
pub(super) const ALL_CALLS: [&str; 7] =
    ["pwrite64", "fdatasync", "fsync", "ftruncate", "unlink", "sendmsg", "write"];

/// The first call of a kind that counts: the shells of steps write two lines each, and a shell that
/// dies at its own first call would die in every attempt.
pub(super) fn first_of(call: &str) -> u32 {
    if call == "write" { 3 } else { 1 }
}

/// A fault at a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Point {
    pub call: String,
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

/// As it is written on the command line: `pwrite64:kill:17`, `fdatasync:EIO:3+`.
impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { call, fault, number, goes_on } = self;
        let plus = if *goes_on { "+" } else { "" };
        write!(f, "{call}:{}:{number}{plus}", fault.word())
    }
}

impl FromStr for Point {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut words = text.split(':');
        let wrong = || anyhow!("`{text}` is no point such as pwrite64:kill:17 or fsync:EIO:3+");
        let call = words.next().filter(|call| ALL_CALLS.contains(call)).ok_or_else(wrong)?;
        let word = words.next().ok_or_else(wrong)?;
        let faults = [Fault::Kill, Fault::InputOutput, Fault::NoSpace];
        let fault = faults.into_iter().find(|fault| fault.word() == word).ok_or_else(wrong)?;
        let place = words.next().ok_or_else(wrong)?;
        let number = place.trim_end_matches('+').parse().map_err(|_| wrong())?;
        Ok(Self { call: call.to_owned(), fault, number, goes_on: place.ends_with('+') })
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
pub(super) fn measure(round: &mut Round) -> anyhow::Result<BTreeMap<&'static str, u32>> {
    let mut life = round.start_under(&words(round, &ALL_CALLS.join(","), None), &[])?;
    let status = life.wait(LIFE_MAX)?;
    if !status.is_some_and(|status| status.success()) {
        return Err(anyhow!("a victim under strace did not end well: {status:?}"));
    }
    let trace = trace_of(round)?;
    let mut most: BTreeMap<&'static str, u32> = BTreeMap::new();
    for ((_, call), count) in by_thread(&trace) {
        if let Some(call) = ALL_CALLS.into_iter().find(|known| *known == call) {
            let known = most.entry(call).or_default();
            *known = count.max(*known);
        }
    }
    most.retain(|call, count| *count >= first_of(call));
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
    let Point { call, fault, number, .. } = point;
    let injection = format!("inject={call}:{}:when={number}{plus}", fault.injection());
    let mut life = round.start_under(&words(round, call, Some(injection)), &[])?;
    let has_ended = life.wait(most)?.is_some();
    if !has_ended {
        kill_traced(&mut life)?;
    }
    let is_hit = has_hit(&trace_of(round)?, point);
    round.faults += u64::from(is_hit);
    Ok(Injected { is_hit, has_ended })
}

/// Kills the victim: without it, whoever traces it ends too once all its processes are gone.
fn kill_traced(life: &mut Life) -> anyhow::Result<()> {
    for child in table::children(life.pid()) {
        // It may have ended just now, which is as good.
        let _ = send(child.pid, Signal::KILL);
    }
    if life.wait(Duration::from_secs(15))?.is_none() {
        life.kill()?;
    }
    Ok(())
}

fn words(round: &Round, calls: &str, injection: Option<String>) -> Vec<String> {
    let output = trace_file(round);
    // Without `--seccomp-bpf`, which would be faster: with it strace 6.1 does not inject what it should.
    let mut words = vec!["strace", "-f", "-qq", "-o", &output, "-e"];
    let trace = format!("trace={calls}");
    words.push(&trace);
    words.extend(injection.iter().flat_map(|injection| ["-e", injection]));
    words.into_iter().map(str::to_owned).collect()
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
        trace.lines().any(|line| {
            let mut words = line.split_ascii_whitespace();
            words.next() == Some(thread) && words.eq(["+++", "killed", "by", "SIGKILL", "+++"])
        })
    };
    by_thread(trace).iter().any(|((thread, call), count)| {
        *call == point.call && *count == point.number && is_killed(thread)
    })
}

/// How often each thread made each call. Lines are `THREAD call(…) = …`.
fn by_thread(trace: &str) -> HashMap<(&str, &str), u32> {
    let mut counts = HashMap::new();
    for line in trace.lines() {
        let mut words = line.split_ascii_whitespace();
        let (Some(thread), Some(rest)) = (words.next(), words.next()) else { continue };
        if let Some((call, _)) = rest.split_once('(') {
            *counts.entry((thread, call)).or_default() += 1;
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_happened_is_a_hit() {
        let trace =
            "7  fsync(3) = 0\n8  fsync(3) = 0\n7  fsync(4) = ?\n7  +++ killed by SIGKILL +++\n";
        let hits = |point: &str| has_hit(trace, &point.parse().unwrap());
        assert!(hits("fsync:kill:2"));
        // The other thread made one call, but was not killed at it.
        assert!(!hits("fsync:kill:1"));
        assert!(!hits("fsync:kill:3"));
        assert!(!hits("fsync:EIO:1"));
        let trace = "7 fsync(3) = -1 EIO (Input/output error) (INJECTED)\n";
        assert!(has_hit(trace, &"fsync:EIO:1".parse().unwrap()));
    }

    #[test]
    fn points_are_read_as_they_are_written() {
        for text in ["pwrite64:kill:17", "fdatasync:EIO:3+", "ftruncate:ENOSPC:1"] {
            assert_eq!(text.parse::<Point>().unwrap().to_string(), text);
        }
        for text in ["", "pwrite64", "pwrite64:kill", "pwrite64:kill:x", "reboot:kill:1"] {
            assert!(text.parse::<Point>().is_err(), "{text}");
        }
    }
}
