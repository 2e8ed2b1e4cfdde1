//! What steps do, what surrounds it, for what it is done, and what it leaves.
//!
//! Plain data; how a step is treated by the scheduler is with the step itself.

use std::fmt;
use std::path::{Component, Path};
use std::sync::Arc;
use std::time::Duration;

use tidewheel::executor::http::HttpRequest;

use super::flow::Flow;
use crate::language::query::Query;
use crate::language::tree::{Leaf, Tree, text_of};

/// What a step does.
#[derive(Debug, Clone)]
pub(crate) enum Work {
    /// Starts a process.
    Process(ProcessWork),
    /// Sends a request.
    Http(Box<HttpWork>),
    /// Reads variables of our own environment.
    Env(Vec<String>),
    /// Reads a file.
    File(FileWork),
    /// Waits.
    Wait(Wait),
    /// Runs the steps of another flow.
    Flow(ChildFlow),
}

impl Work {
    /// How many tasks it comes to.
    pub fn tasks(&self) -> usize {
        match self {
            Self::Flow(child) => child.flow.tasks.saturating_add(1),
            _ => 1,
        }
    }

    /// The word for it in plans and pictures.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Process(_) => "process",
            Self::Http(_) => "http",
            Self::Env(_) => "env",
            Self::File(_) => "file",
            Self::Wait(_) => "wait",
            Self::Flow(child) if child.is_group => "group",
            Self::Flow(_) => "flow",
        }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct ProcessWork {
    pub command: CommandLine,
    pub pass_to: PassTo,
    pub shown: Shown,
    /// The places of arguments that must not begin with a dash: they are values all the way, and the
    /// program would take them for options. That of the input is behind the last.
    pub guarded: Vec<usize>,
}

#[derive(Debug, Clone)]
pub(crate) enum CommandLine {
    /// A text for a shell.
    Shell { text: String, shell: Shell },
    /// A program with arguments.
    Argv(Vec<Tree>),
}

/// The shell that reads a text.
#[derive(Debug, Clone)]
pub(crate) enum Shell {
    /// One that stops at the first command that fails.
    Sh,
    /// The same, also where it fails inside a pipe.
    Bash,
    /// A program and its arguments, as written.
    Words(Vec<String>),
}

impl Shell {
    /// The program and its arguments before the text.
    pub fn words(&self) -> Vec<&str> {
        match self {
            Self::Sh => vec!["/bin/sh", "-ec"],
            Self::Bash => vec!["bash", "-eo", "pipefail", "-c"],
            Self::Words(words) => words.iter().map(String::as_str).collect(),
        }
    }
}

/// How a process gets the input of its step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PassTo {
    Argument,
    Stdin,
    Template,
}

/// What may be shown of a command.
#[derive(Debug, Clone, Default)]
pub(crate) struct Shown {
    pub is_full: bool,
    pub hidden_places: Option<Vec<usize>>,
    pub hidden_words: Option<Vec<String>>,
}

/// What surrounds a process.
#[derive(Debug, Clone, Default)]
pub(crate) struct Surroundings {
    pub env: Vec<(String, Tree)>,
    pub inherit: Option<Vec<String>>,
    pub cwd: Option<Box<Tree>>,
    pub stdin: Option<Box<Tree>>,
    pub grace: Option<Duration>,
    pub output_max: Option<u64>,
    /// How much of what it writes can become outputs.
    pub capture_max: Option<u64>,
    pub limits: Option<Box<ResourceLimits>>,
    /// Where it runs, if not on this machine.
    pub elsewhere: Option<Elsewhere>,
}

/// Where the program of a step runs, if not as a process of this machine.
#[derive(Debug, Clone)]
pub(crate) enum Elsewhere {
    Container(Box<Container>),
    Remote(Box<Remote>),
}

/// A container that is made for each attempt.
#[derive(Debug, Clone)]
pub(crate) struct Container {
    pub image: Tree,
    /// `here:there[:options]`.
    pub mounts: Vec<Tree>,
    pub env: Vec<(String, Tree)>,
    pub pull: Option<Pull>,
    pub workdir: Option<Tree>,
    pub user: Option<Tree>,
    pub network: Option<Tree>,
    /// The program that makes it.
    pub engine: Option<String>,
    pub options: Vec<String>,
}

/// When an image is fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pull {
    Missing,
    Always,
    Never,
}

/// Another host, by OpenSSH.
#[derive(Debug, Clone)]
pub(crate) struct Remote {
    pub host: Tree,
    pub user: Option<Tree>,
    pub port: Option<u16>,
    /// The file of the key.
    pub identity: Option<Tree>,
    pub workdir: Option<Tree>,
    /// As in `ssh_config`.
    pub options: Vec<(String, String)>,
}

impl Elsewhere {
    pub fn visit<'a>(&'a self, visit: &mut dyn FnMut(&'a Leaf)) {
        match self {
            Self::Container(it) => {
                let trees = [&it.image].into_iter().chain(&it.mounts);
                let env = it.env.iter().map(|(_, tree)| tree);
                let rest = it.workdir.iter().chain(&it.user).chain(&it.network);
                trees.chain(env).chain(rest).for_each(|tree| tree.visit(visit));
            }
            Self::Remote(it) => {
                let rest = it.user.iter().chain(&it.identity).chain(&it.workdir);
                [&it.host].into_iter().chain(rest).for_each(|tree| tree.visit(visit));
            }
        }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ResourceLimits {
    pub cpu_time: Option<Duration>,
    pub memory: Option<u64>,
    pub processes: Option<u64>,
    pub open_files: Option<u64>,
    pub file_size: Option<u64>,
}

#[derive(Debug, Clone)]
pub(crate) struct HttpWork {
    pub url: Tree,
    pub method: Option<Tree>,
    pub headers: Vec<(String, Tree)>,
    pub query: Vec<(String, Tree)>,
    pub body: HttpBody,
    pub input_mode: InputMode,
    pub total_timeout: Option<Duration>,
    pub read_timeout: Option<Duration>,
    pub accept_status: Vec<(u16, u16)>,
    pub redirects: Option<u32>,
    pub bytes_max: Option<u64>,
    /// What is said of the key; unless it is, all attempts of a step have the same.
    pub idempotency: Option<Idempotency>,
    /// What is said of sending it again although it may have been done.
    pub repeatable: Option<bool>,
    pub accepts_any_certificate: bool,
    /// Whether every answer that can be read as JSON is JSON, as in flowtoy, a lone number included.
    pub takes_any_json: bool,
}

impl HttpWork {
    /// Whether it is known now that it may be sent again although it may have been done.
    pub fn is_repeatable(&self) -> bool {
        let method = match &self.method {
            Some(tree) => tree.as_value().map(text_of),
            None => Some("GET".to_owned()),
        };
        let mut names = self.headers.iter().map(|(name, _)| name.as_str());
        let has_key = names.any(|name| name.eq_ignore_ascii_case("idempotency-key"));
        let is_safe = |method: String| {
            HttpRequest::new(method.to_ascii_uppercase(), String::new()).is_repeatable()
        };
        self.repeatable.unwrap_or_else(|| has_key || method.is_some_and(is_safe))
    }
}

#[derive(Debug, Clone)]
pub(crate) enum HttpBody {
    None,
    Json(Tree),
    Text { text: Tree, content_type: Option<Tree> },
}

/// How a request gets the input of its step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum InputMode {
    None,
    Parameter(String),
    Body,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Idempotency {
    Attempt,
    Step,
    None,
}

#[derive(Debug, Clone)]
pub(crate) struct FileWork {
    pub path: Tree,
    pub format: Option<FileFormat>,
    pub bytes_max: u64,
    pub is_optional: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileFormat {
    Text,
    Json,
    Yaml,
    Lines,
}

#[derive(Debug, Clone)]
pub(crate) struct Wait {
    pub what: WaitFor,
    pub every: Duration,
}

#[derive(Debug, Clone)]
pub(crate) enum WaitFor {
    Time(Duration),
    Instant(Tree),
    File(Tree),
    /// A command that succeeds.
    Run(ProcessWork),
    Http(Box<HttpWork>),
    Approval(Option<String>),
}

#[derive(Debug, Clone)]
pub(crate) struct ChildFlow {
    pub flow: Arc<Flow>,
    pub params: Vec<(String, Tree)>,
    /// Whether it is a group of the same file: its templates know what those around it do.
    pub is_group: bool,
}

/// A value that a step leaves for others.
#[derive(Debug, Clone)]
pub(crate) struct StepOutput {
    pub name: String,
    pub value: OutputRule,
}

#[derive(Debug, Clone)]
pub(crate) enum OutputRule {
    /// All of the data.
    Raw,
    /// What the step leaves under this name in the file for outputs.
    Written,
    /// A part of the data.
    Query(Query),
    /// Whatever the template makes of the result.
    Template(Tree),
}

/// A step that is done for many elements.
#[derive(Debug, Clone)]
pub(crate) struct Foreach {
    pub list: ForeachList,
    /// What the element is called in templates.
    pub variable: String,
    pub parallel: Option<u32>,
    pub count_max: usize,
    /// What each element is called.
    pub label: Option<Leaf>,
}

#[derive(Debug, Clone)]
pub(crate) enum ForeachList {
    /// The elements of one list.
    Elements(Tree),
    /// All combinations of several.
    Product(Matrix),
}

/// Which combinations there are.
#[derive(Debug, Clone)]
pub(crate) struct Matrix {
    pub axes: Vec<(String, Tree)>,
    /// What is added: to combinations that it does not contradict, or as one of its own.
    pub include: Option<Tree>,
    /// What is left out: combinations that have all of one of these values.
    pub exclude: Option<Tree>,
}

impl ForeachList {
    pub fn visit<'a>(&'a self, visit: &mut dyn FnMut(&'a Leaf)) {
        match self {
            Self::Elements(tree) => tree.visit(visit),
            Self::Product(matrix) => {
                let axes = matrix.axes.iter().map(|(_, tree)| tree);
                let changes = matrix.include.iter().chain(&matrix.exclude);
                axes.chain(changes).for_each(|tree| tree.visit(visit));
            }
        }
    }
}

/// The templates in it, as they are written.
impl fmt::Display for ForeachList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut texts = Vec::new();
        self.visit(&mut |leaf| texts.push(leaf.template.text().trim()));
        f.write_str(&texts.join(", "))
    }
}

/// Until when a step that succeeds is done again.
#[derive(Debug, Clone)]
pub(crate) struct Repeat {
    pub until: Leaf,
    pub every: Duration,
    pub rounds_max: Option<u32>,
}

/// Files that stay with the run.
#[derive(Debug, Clone)]
pub(crate) struct ArtifactRule {
    /// A pattern, from the folder of the step, or of the run.
    pub path: Tree,
    /// Whether there may be none.
    pub is_optional: bool,
}

/// When the work of a step need not be done again.
#[derive(Debug, Clone)]
pub(crate) struct Cache {
    pub inputs: Vec<Tree>,
    pub outputs: Vec<Tree>,
    pub key: Option<Tree>,
}

/// What stands for the folder of the run at the beginning of a path.
const OF_RUN: [&str; 2] = ["$TIDEWHEEL_RUN_DIR/", "${TIDEWHEEL_RUN_DIR}/"];

/// A path that leads nowhere but down.
pub(crate) fn is_inside(path: &Path) -> bool {
    let is_plain = |part| matches!(part, Component::Normal(_) | Component::CurDir);
    path.components().all(is_plain) && path.components().next().is_some()
}

/// Whether a list of folders adds to our own.
pub(crate) fn adds_to_our_path(value: &str) -> bool {
    value.contains("$PATH") || value.contains("${PATH}")
}

/// The path of an artifact, and whether it starts at the folder of the run.
pub(crate) fn of_run(path: &str) -> (&str, bool) {
    let rest = OF_RUN.iter().find_map(|start| path.strip_prefix(start));
    (rest.unwrap_or(path), rest.is_some())
}
