//! What a process may use at most, and how that is put in force.
//!
//! How long an attempt may take is not here: wall time is the scheduler's business.

use std::fmt;
use std::time::Duration;

use rustix::process::{
    Resource, Rlimit, geteuid, getrlimit, getuid, setpriority_process, setrlimit,
};

/// Limits of one process and of those it starts.
///
/// The kernel enforces them per process, except for `processes`, which counts all processes of
/// the user. A limit that cannot be enforced is refused before the program starts, never ignored.
/// A limited process cannot gain privileges by setuid programs, since with them it would leave its
/// limits behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Limits {
    /// CPU time, in whole seconds (rounded up). The process gets SIGXCPU, one second later KILL.
    pub cpu_time: Option<Duration>,
    /// Address space in bytes. Allocations beyond it fail.
    pub memory: Option<u64>,
    /// Processes of the user, threads included. Beyond it, starting another fails.
    pub processes: Option<u64>,
    /// Open files. Beyond it, opening fails.
    pub open_files: Option<u64>,
    /// Size of any file written, in bytes. Beyond it, the process gets SIGXFSZ.
    pub file_size: Option<u64>,
    /// Niceness, from -20 (first served) to 19 (last).
    pub niceness: Option<i32>,
}

/// One of the [`Limits`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Limit {
    /// [`Limits::cpu_time`].
    CpuTime,
    /// [`Limits::memory`].
    Memory,
    /// [`Limits::processes`].
    Processes,
    /// [`Limits::open_files`].
    OpenFiles,
    /// [`Limits::file_size`].
    FileSize,
    /// [`Limits::niceness`].
    Niceness,
    /// That no privileges are gained, which comes with every limit.
    Privileges,
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::CpuTime => "cpu time",
            Self::Memory => "memory",
            Self::Processes => "processes",
            Self::OpenFiles => "open files",
            Self::FileSize => "file size",
            Self::Niceness => "niceness",
            Self::Privileges => "privileges",
        })
    }
}

const ALL: [Limit; 7] = [
    Limit::CpuTime,
    Limit::Memory,
    Limit::Processes,
    Limit::OpenFiles,
    Limit::FileSize,
    Limit::Niceness,
    Limit::Privileges,
];

impl Limit {
    pub(super) fn number(self) -> i32 {
        ALL.iter().position(|limit| *limit == self).map_or(-1, |place| place as i32)
    }

    pub(super) fn from_number(number: i32) -> Option<Self> {
        ALL.get(usize::try_from(number).ok()?).copied()
    }
}

impl Limits {
    /// Whether nothing is limited.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Limits the CPU time.
    #[must_use]
    pub fn cpu_time(mut self, most: Duration) -> Self {
        self.cpu_time = Some(most);
        self
    }

    /// Limits the address space, in bytes.
    #[must_use]
    pub fn memory(mut self, most: u64) -> Self {
        self.memory = Some(most);
        self
    }

    /// Limits the processes of the user.
    #[must_use]
    pub fn processes(mut self, most: u64) -> Self {
        self.processes = Some(most);
        self
    }

    /// Limits the open files.
    #[must_use]
    pub fn open_files(mut self, most: u64) -> Self {
        self.open_files = Some(most);
        self
    }

    /// Limits the size of files written, in bytes.
    #[must_use]
    pub fn file_size(mut self, most: u64) -> Self {
        self.file_size = Some(most);
        self
    }

    /// Sets the niceness.
    #[must_use]
    pub fn niceness(mut self, niceness: i32) -> Self {
        self.niceness = Some(niceness);
        self
    }

    /// Puts the limits in force for the calling process. The first that cannot be is the error.
    pub(super) fn apply(&self) -> Result<(), (Limit, String)> {
        if self.processes.is_some() && (getuid().is_root() || geteuid().is_root()) {
            let why = "the kernel does not count the processes of root".to_owned();
            return Err((Limit::Processes, why));
        }
        if let Some(niceness) = self.niceness {
            if !(-20..=19).contains(&niceness) {
                return Err((Limit::Niceness, format!("{niceness} is not from -20 to 19")));
            }
            setpriority_process(None, niceness)
                .map_err(|error| (Limit::Niceness, std::io::Error::from(error).to_string()))?;
        }
        rustix::thread::set_no_new_privs(true)
            .map_err(|error| (Limit::Privileges, std::io::Error::from(error).to_string()))?;
        let seconds = self.cpu_time.map(|time| time.as_nanos().div_ceil(1_000_000_000) as u64);
        restrict(Limit::Processes, Resource::Nproc, self.processes, 0)?;
        restrict(Limit::FileSize, Resource::Fsize, self.file_size, 0)?;
        // A second between warning and end, or the kernel ends it without the telling signal.
        restrict(Limit::CpuTime, Resource::Cpu, seconds, 1)?;
        restrict(Limit::OpenFiles, Resource::Nofile, self.open_files, 0)?;
        // The last, since from here on our own allocations may fail.
        restrict(Limit::Memory, Resource::As, self.memory, 0)
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let cpu = self.cpu_time.map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
        let niceness = self.niceness.map(|value| i64::from(value) as u64);
        let values = [cpu, self.memory, self.processes, self.open_files, self.file_size, niceness];
        let mut bytes = Vec::with_capacity(values.len() * 9);
        for value in values {
            bytes.push(u8::from(value.is_some()));
            bytes.extend_from_slice(&value.unwrap_or(0).to_le_bytes());
        }
        bytes
    }

    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let mut values = [None; 6];
        let mut rest = bytes;
        for value in &mut values {
            let (is_set, after) = rest.split_first()?;
            let (number, after) = after.split_first_chunk()?;
            *value = (*is_set == 1).then(|| u64::from_le_bytes(*number));
            rest = after;
        }
        let [cpu, memory, processes, open_files, file_size, niceness] = values;
        Some(Self {
            cpu_time: cpu.map(Duration::from_millis),
            memory,
            processes,
            open_files,
            file_size,
            niceness: niceness.map(|value| value as i64 as i32),
        })
    }
}

fn restrict(
    limit: Limit,
    resource: Resource,
    most: Option<u64>,
    more: u64,
) -> Result<(), (Limit, String)> {
    let Some(most) = most else { return Ok(()) };
    if let Some(hard) = getrlimit(resource).maximum
        && most > hard
    {
        return Err((limit, format!("{most} is above the hard limit of {hard}")));
    }
    let maximum = getrlimit(resource).maximum.unwrap_or(u64::MAX).min(most.saturating_add(more));
    setrlimit(resource, Rlimit { current: Some(most), maximum: Some(maximum) })
        .map_err(|error| (limit, std::io::Error::from(error).to_string()))
}
