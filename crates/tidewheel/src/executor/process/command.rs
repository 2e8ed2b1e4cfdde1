//! [`ProcessCommand`]: what to run, where, and with what around it.
//!
//! Running it is in `run.rs`.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustix::fs::{Access, access};

use super::error::ProcessError;
use super::limits::Limits;
use super::masker::Masker;

/// The variables that a child gets from our own environment unless told otherwise. A star at the
/// end stands for anything.
const INHERITED: [&str; 9] =
    ["PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_*", "TZ", "TMPDIR"];

/// Where programs are looked for when the child has no `PATH`.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

const CAPTURE_MAX: u64 = 1 << 20;

/// What to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Program {
    /// A program and its arguments. A name without a slash is looked for in the child's `PATH`; a
    /// relative path starts at the child's working folder.
    Argv(Vec<OsString>),
    /// A text for the shell.
    Shell(String),
}

/// What a process reads from its standard input.
#[derive(Clone, Default)]
#[non_exhaustive]
pub enum Stdin {
    /// Nothing.
    #[default]
    Null,
    /// These bytes.
    Bytes(Arc<[u8]>),
    /// A file, or a device such as `/dev/zero`. A named pipe is refused: it would have to be
    /// waited for.
    File(PathBuf),
}

/// A command: what to run, and with what around it.
///
/// ```
/// use tidewheel::executor::process::ProcessCommand;
///
/// let command = ProcessCommand::shell("make -j2 && make check")
///     .cwd("/srv/build")
///     .variable("CFLAGS", "-O2");
/// ```
#[derive(Clone)]
#[must_use]
pub struct ProcessCommand {
    pub(super) program: Program,
    pub(super) shell: Vec<OsString>,
    pub(super) cwd: Option<PathBuf>,
    pub(super) inherited: Option<Vec<String>>,
    pub(super) variables: BTreeMap<OsString, OsString>,
    pub(super) stdin: Stdin,
    pub(super) limits: Limits,
    pub(super) output_max: Option<u64>,
    pub(super) capture_max: Option<u64>,
    pub(super) is_logged: bool,
    pub(super) secrets: Option<Arc<Masker>>,
    pub(super) grace: Option<Duration>,
}

impl ProcessCommand {
    /// Runs a program with arguments.
    pub fn argv(words: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        Self::new(Program::Argv(words.into_iter().map(Into::into).collect()))
    }

    /// Runs a text by the shell, as `/bin/sh -c TEXT`.
    pub fn shell(text: impl Into<String>) -> Self {
        Self::new(Program::Shell(text.into()))
    }

    /// Runs a program or a shell text.
    pub fn new(program: Program) -> Self {
        Self {
            program,
            shell: vec!["/bin/sh".into(), "-c".into()],
            cwd: None,
            inherited: None,
            variables: BTreeMap::new(),
            stdin: Stdin::Null,
            limits: Limits::default(),
            output_max: None,
            capture_max: None,
            is_logged: true,
            secrets: None,
            grace: None,
        }
    }

    /// The shell and its arguments before the text. `/bin/sh -c` unless set.
    pub fn shell_argv(mut self, words: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        self.shell = words.into_iter().map(Into::into).collect();
        self
    }

    /// The working folder. That in which our process started the spawner unless set.
    pub fn cwd(mut self, folder: impl Into<PathBuf>) -> Self {
        self.cwd = Some(folder.into());
        self
    }

    /// Declares a variable of the environment; it wins over one inherited.
    pub fn variable(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.variables.insert(name.into(), value.into());
        self
    }

    /// Which variables are inherited from our own environment; a star at the end stands for
    /// anything. `PATH`, `HOME`, `USER`, `LOGNAME`, `SHELL`, `LANG`, `LC_*`, `TZ` and `TMPDIR`
    /// unless set.
    pub fn inherit(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.inherited = Some(names.into_iter().map(Into::into).collect());
        self
    }

    /// Inherits these as well, beside those that are inherited anyway.
    pub fn inherit_also(self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let usual = INHERITED.iter().map(|name| (*name).to_owned());
        let names: Vec<String> = usual.chain(names.into_iter().map(Into::into)).collect();
        self.inherit(names)
    }

    /// What it reads from its standard input. Nothing unless set.
    pub fn stdin(mut self, stdin: Stdin) -> Self {
        self.stdin = stdin;
        self
    }

    /// What it may use at most.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// How many bytes of each stream are kept in its log file.
    pub fn output_max(mut self, bytes: u64) -> Self {
        self.output_max = Some(bytes);
        self
    }

    /// Captures standard output in memory, at most 1 MiB. More is an error.
    pub fn capture(self) -> Self {
        self.capture_max(CAPTURE_MAX)
    }

    /// Captures standard output in memory, at most this much. More is an error.
    pub fn capture_max(mut self, bytes: u64) -> Self {
        self.capture_max = Some(bytes);
        self
    }

    /// Keeps nothing of what it writes in log files: for programs that print secrets.
    pub fn unlogged(mut self) -> Self {
        self.is_logged = false;
        self
    }

    /// How long it may take to end after TERM where nobody who tells it to stop says otherwise.
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = Some(grace);
        self
    }

    /// What is masked in log files and in the tail.
    pub fn secrets(mut self, masker: Arc<Masker>) -> Self {
        self.secrets = Some(masker);
        self
    }

    /// What it consists of, for whoever runs it in another way than [`Processes`](super::Processes).
    #[must_use]
    pub fn parts(&self) -> CommandParts<'_> {
        let Self { program, shell, cwd, variables, stdin, .. } = self;
        CommandParts { program, shell, cwd: cwd.as_deref(), variables, stdin }
    }

    /// Another program with other variables, and all else as it is: limits, streams, secrets. For a
    /// program that has this command run elsewhere.
    pub fn carried_by(
        mut self,
        words: impl IntoIterator<Item = impl Into<OsString>>,
        variables: BTreeMap<OsString, OsString>,
    ) -> Self {
        self.program = Program::Argv(words.into_iter().map(Into::into).collect());
        self.variables = variables;
        self
    }

    pub(super) fn words(&self) -> Result<Vec<&OsStr>, ProcessError> {
        let words: Vec<&OsStr> = match &self.program {
            Program::Argv(words) => words.iter().map(OsString::as_os_str).collect(),
            Program::Shell(text) => {
                self.shell.iter().map(OsString::as_os_str).chain([OsStr::new(text)]).collect()
            }
        };
        if words.first().is_none_or(|first| first.is_empty()) {
            return Err(ProcessError::InvalidCommand { why: "the program has no name" });
        }
        if words.iter().any(|word| word.as_bytes().contains(&0)) {
            return Err(ProcessError::InvalidCommand { why: "an argument holds a zero byte" });
        }
        for (name, value) in &self.variables {
            let (name, value) = (name.as_bytes(), value.as_bytes());
            if name.is_empty() || name.contains(&b'=') || name.contains(&0) || value.contains(&0) {
                let why = "a variable has no name, or its name or value holds a forbidden byte";
                return Err(ProcessError::InvalidCommand { why });
            }
        }
        Ok(words)
    }
}

/// What a command consists of. Values may be secrets.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct CommandParts<'a> {
    /// What to run.
    pub program: &'a Program,
    /// The shell and its arguments, for a text.
    pub shell: &'a [OsString],
    /// The working folder.
    pub cwd: Option<&'a Path>,
    /// The variables it declares, without those it inherits.
    pub variables: &'a BTreeMap<OsString, OsString>,
    /// What it reads from its standard input.
    pub stdin: &'a Stdin,
}

/// Shows no values: variables, arguments and input may hold secrets.
impl std::fmt::Debug for ProcessCommand {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ProcessCommand").field("cwd", &self.cwd).finish_non_exhaustive()
    }
}

/// Our own environment as it was when we started.
#[derive(Debug)]
pub(super) struct Inheritance {
    all: Vec<(OsString, OsString)>,
    usual: Vec<(OsString, OsString)>,
}

impl Inheritance {
    pub(super) fn new() -> Self {
        let all: Vec<_> = std::env::vars_os().collect();
        let usual = all.iter().filter(|(name, _)| is_listed(name, &INHERITED)).cloned().collect();
        Self { all, usual }
    }

    /// What a command inherits, without what it declares itself.
    pub(super) fn of<'a>(
        &'a self,
        command: &'a ProcessCommand,
    ) -> impl Iterator<Item = &'a (OsString, OsString)> {
        let (from, names) = match &command.inherited {
            None => (&self.usual, None),
            Some(names) => (&self.all, Some(names)),
        };
        from.iter().filter(move |(name, _)| {
            names.is_none_or(|names| is_listed(name, names))
                && !command.variables.contains_key(name)
        })
    }
}

fn is_listed(name: &OsStr, names: &[impl AsRef<str>]) -> bool {
    let name = name.as_bytes();
    names.iter().any(|listed| match listed.as_ref().strip_suffix('*') {
        Some(start) => name.starts_with(start.as_bytes()),
        None => name == listed.as_ref().as_bytes(),
    })
}

/// The path of a program: as it is, or found in the child's `PATH`.
pub(super) fn locate(name: &OsStr, path: Option<&OsStr>) -> Result<PathBuf, ProcessError> {
    if name.as_bytes().contains(&b'/') {
        return Ok(PathBuf::from(name));
    }
    let mut seen = None;
    let path = path.unwrap_or(OsStr::new(DEFAULT_PATH));
    for folder in path.as_bytes().split(|byte| *byte == b':') {
        // An empty entry is the working folder, which is no place to find programs by accident.
        if folder.is_empty() {
            continue;
        }
        let candidate = Path::new(OsStr::from_bytes(folder)).join(name);
        if access(&candidate, Access::EXEC_OK).is_ok() && candidate.is_file() {
            return Ok(candidate);
        }
        if candidate.is_file() {
            seen.get_or_insert(candidate);
        }
    }
    Err(match seen {
        Some(program) => ProcessError::NotPermitted { program },
        None => ProcessError::NotFound { program: PathBuf::from(name) },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stand_for_anything_at_the_end() {
        assert!(is_listed(OsStr::new("LC_ALL"), &INHERITED));
        assert!(!is_listed(OsStr::new("LC"), &INHERITED));
        assert!(!is_listed(OsStr::new("PATHS"), &INHERITED));
        assert!(!is_listed(OsStr::new("AWS_SECRET"), &INHERITED));
    }

    #[test]
    fn programs_are_found_in_the_childs_path() {
        assert_eq!(
            locate(OsStr::new("sh"), Some(OsStr::new("/nowhere:/bin"))).unwrap(),
            Path::new("/bin/sh")
        );
        assert!(locate(OsStr::new("sh"), Some(OsStr::new("/nowhere"))).is_err());
        assert_eq!(locate(OsStr::new("./x"), None).unwrap(), Path::new("./x"));
    }

    #[test]
    fn a_command_can_be_carried_by_another() {
        let inner = ProcessCommand::shell("x")
            .variable("A", "1")
            .cwd("/srv")
            .stdin(Stdin::Bytes(Arc::from(*b"in")));
        assert_eq!(inner.parts().shell, ["/bin/sh", "-c"]);
        let carried =
            inner.carried_by(["engine", "run"], BTreeMap::from([("B".into(), "2".into())]));
        assert_eq!(carried.words().unwrap(), ["engine", "run"]);
        let parts = carried.parts();
        assert_eq!((parts.variables.len(), parts.cwd), (1, Some(Path::new("/srv"))));
        assert!(matches!(parts.stdin, Stdin::Bytes(bytes) if **bytes == *b"in"));
    }

    #[test]
    fn impossible_commands_are_refused() {
        let none: [&str; 0] = [];
        assert!(ProcessCommand::argv(none).words().is_err());
        assert!(ProcessCommand::argv(["a\0b"]).words().is_err());
        assert!(ProcessCommand::argv(["a"]).variable("A=B", "c").words().is_err());
        assert!(ProcessCommand::argv(["a"]).variable("A", "b").words().is_ok());
    }
}
