//! [`Served`]: a server of this very program, as a process of its own, and what it takes of the machine.
//!
//! How it is asked is in [`super::asking`].

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::anyhow;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value as Json;

use super::asking::Asking;
use crate::command::bench::command::Durable;
use crate::command::bench::dag::failed;
use crate::error::CommandError;

/// How long a server may take to begin.
const PATIENCE: Duration = Duration::from_secs(300);

/// How often it is looked whether it has begun.
const LOOK: Duration = Duration::from_millis(1);

/// A folder for one server, which goes with it.
pub(super) struct Place {
    pub path: PathBuf,
    program: PathBuf,
    /// A data folder of somebody else, which stays.
    data: Option<PathBuf>,
}

impl Place {
    pub fn new(name: &str, data: Option<&Path>) -> Result<Self, CommandError> {
        let program = std::env::current_exe().map_err(|error| failed(error.into()))?;
        let name = format!("tidewheel-bench-serve-{}-{name}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(path.join("flows")).map_err(|error| failed(error.into()))?;
        let data = data.map(Path::to_owned);
        Ok(Self { path, program, data })
    }

    pub fn data(&self) -> PathBuf {
        self.data.clone().unwrap_or_else(|| self.path.join("data"))
    }

    /// Writes a file of a flow.
    pub fn flow(&self, name: &str, text: &str) -> Result<PathBuf, CommandError> {
        let path = self.path.join("flows").join(format!("{name}.yaml"));
        std::fs::write(&path, text).map_err(|error| failed(error.into()))?;
        Ok(path)
    }

    /// This program, which knows nothing of whose machine it is on.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("TIDEWHEEL_") {
                command.env_remove(name);
            }
        }
        command.env("HOME", &self.path).env("XDG_CONFIG_HOME", &self.path);
        command.env("TIDEWHEEL_DATA", self.data()).current_dir(&self.path).stdin(Stdio::null());
        command
    }

    /// Starts a server and waits until it answers.
    pub fn serve(&self, durability: Durable) -> Result<Served, CommandError> {
        let token = self.token()?;
        let path = self.path.join("said");
        let said = std::fs::File::create(&path).map_err(|error| failed(error.into()))?;
        let mut command = self.command();
        command.args(["serve", "--flows", "flows", "--listen", "127.0.0.1:0", "--grace", "0s"]);
        command.args(["--durability", durability.word()]);
        command.stdout(Stdio::null()).stderr(said);
        let begun = Instant::now();
        let child = command.spawn().map_err(|error| failed(error.into()))?;
        let mut served = Served { child, address: SocketAddr::from(([127, 0, 0, 1], 0)), token };
        loop {
            let said = std::fs::read_to_string(&path).unwrap_or_default();
            if let Some(address) = address_in(&said) {
                served.address = address;
                return Ok(served);
            }
            let ended = served.child.try_wait().map_err(|error| failed(error.into()))?;
            if ended.is_some() || begun.elapsed() > PATIENCE {
                return Err(failed(anyhow!("the server did not begin: {said}")));
            }
            sleep(LOOK);
        }
    }

    fn token(&self) -> Result<String, CommandError> {
        let name = format!("bench-{}", std::process::id());
        let mut command = self.command();
        command.args(["token", "create", &name, "--role", "operator", "--days", "1"]);
        let output = command.args(["--format", "json"]).output();
        let output = output.map_err(|error| failed(error.into()))?;
        let made: Json = serde_json::from_slice(&output.stdout).unwrap_or_default();
        let token = made["secret"].as_str().map(str::to_owned);
        token.ok_or_else(|| {
            let why = String::from_utf8_lossy(&output.stderr).into_owned();
            failed(anyhow!("no token could be made: {why}"))
        })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // Left behind, it is only a folder among temporary ones.
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

/// The address in what a server says when it has begun; its line may still be growing.
fn address_in(said: &str) -> Option<SocketAddr> {
    let (_, rest) = said.split_once("listening on http://")?;
    rest.split_once('\n')?.0.parse().ok()
}

/// A server that runs, until this goes.
pub(super) struct Served {
    child: Child,
    pub address: SocketAddr,
    pub token: String,
}

/// What processes have taken of the machine.
#[derive(Debug, Clone, Copy)]
pub(super) struct Usage {
    /// Memory held now, in bytes; what they share counts once.
    pub memory: u64,
    /// Time on processors.
    pub busy: Duration,
}

impl Served {
    /// A connection to it.
    pub fn asking(&self) -> Result<Asking, CommandError> {
        Asking::new(self.address, &self.token)
    }

    /// What it and its own processes have taken.
    pub fn usage(&self) -> Result<Usage, CommandError> {
        let mut usage = Usage { memory: 0, busy: Duration::ZERO };
        for process in family_of(self.child.id()) {
            let read = |name: &str| std::fs::read_to_string(format!("/proc/{process}/{name}"));
            // A server keeps its memory to itself: only root is told how much of it is shared.
            let memory = read("smaps_rollup").map(|memory| kibibytes(&memory, "Pss:"));
            let memory = memory.or_else(|_| Ok(kibibytes(&read("status")?, "VmRSS:")));
            let memory: Result<u64, std::io::Error> = memory;
            // One that has just ended takes nothing any more.
            let (Ok(memory), Ok(stat)) = (memory, read("stat")) else { continue };
            usage.memory += memory * 1024;
            usage.busy += busy(&stat);
        }
        match usage.memory {
            0 => Err(failed(anyhow!("the system does not say what processes take"))),
            _ => Ok(usage),
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        if let Ok(Some(process)) = i32::try_from(self.child.id()).map(Pid::from_raw) {
            // It may have ended by itself.
            let _ = kill_process(process, Signal::TERM);
        }
        let _ = self.child.wait();
    }
}

/// A process and its descendants.
fn family_of(process: u32) -> Vec<u32> {
    let mut family = vec![process];
    let mut next = 0;
    while let Some(parent) = family.get(next) {
        let path = format!("/proc/{parent}/task/{parent}/children");
        let children = std::fs::read_to_string(path).unwrap_or_default();
        family.extend(children.split_whitespace().filter_map(|child| child.parse::<u32>().ok()));
        next += 1;
    }
    family
}

fn kibibytes(text: &str, field: &str) -> u64 {
    let line = text.lines().find_map(|line| line.strip_prefix(field));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

/// Time in programs and in the kernel, from what the system says of a process. Its name may have blanks and brackets.
fn busy(stat: &str) -> Duration {
    let fields = stat.rsplit_once(')').map(|(_, fields)| fields).unwrap_or_default();
    let ticks = fields.split_whitespace().skip(11).take(2);
    let ticks: u64 = ticks.filter_map(|ticks| ticks.parse::<u64>().ok()).sum();
    let a_second = rustix::param::clock_ticks_per_second().max(1);
    Duration::from_secs_f64(ticks as f64 / a_second as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_is_read_when_its_line_is_whole() {
        assert_eq!(address_in("serving 1 flow\nlistening on http://127.0.0.1:80"), None);
        let whole = "serving 1 flow\nlistening on http://127.0.0.1:8089\nto log in";
        assert_eq!(address_in(whole), Some(SocketAddr::from(([127, 0, 0, 1], 8089))));
    }

    #[test]
    fn what_the_system_says_of_a_process_is_read() {
        let stat = "7 (a) b) S 1 7 7 0 -1 4194560 100 0 0 0 150 50 0 0 20 0 3 0 100";
        let a_second = rustix::param::clock_ticks_per_second();
        assert_eq!(busy(stat), Duration::from_secs_f64(200.0 / a_second as f64));
        assert_eq!(kibibytes("Rss:  10 kB\nPss:   7 kB\n", "Pss:"), 7);
        assert!(family_of(std::process::id()).contains(&std::process::id()));
    }
}
