//! Reads flow files, puts several together, and checks them, reporting everything at once.
//!
//! Nothing is run here, and nothing is fetched over a network.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use serde_json::Value as Json;

use crate::definition::connect::connect;
use crate::definition::decode::{FindFlow, decode};
use crate::definition::{Flow, Gaps, check_labels};
use crate::language::problem::{Problem, Problems, Severity, SourceFiles, Span};
use crate::language::query::Query;
use crate::language::template::{self, Engine};
use crate::language::yaml::{self, Map, Node, Value, merge};

/// How many flows may be inside each other.
const DEPTH_MAX: usize = 8;

/// The path that stands for a text which comes from no file, but from whoever starts the run.
pub const STDIN: &str = "-";

/// What came of reading files: a flow if there is one, and every problem.
#[derive(Debug)]
#[non_exhaustive]
pub struct Loaded {
    /// The flow. It may be run only if the problems have no error among them.
    pub flow: Option<Arc<Flow>>,
    /// Everything that was found.
    pub problems: Problems,
    /// The texts that were read, called flows included.
    pub files: SourceFiles,
    /// The same by path.
    pub texts: BTreeMap<PathBuf, Arc<str>>,
}

impl Loaded {
    /// The flow, if it can be run.
    #[must_use]
    pub fn runnable(&self) -> Option<&Arc<Flow>> {
        self.flow.as_ref().filter(|_| !self.problems.has_errors())
    }
}

/// Where the texts of files come from.
pub trait ReadText {
    /// The bytes of a file, of which no more than `bytes_max + 1` are wanted.
    ///
    /// # Errors
    ///
    /// When it cannot be read.
    fn read(&self, path: &Path, bytes_max: u64) -> io::Result<Vec<u8>>;
}

/// Reads files from disk.
#[derive(Debug, Clone, Copy, Default)]
pub struct Disk;

impl ReadText for Disk {
    fn read(&self, path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
        let file = File::open(path)?;
        if file.metadata()?.is_dir() {
            return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a folder"));
        }
        let mut bytes = Vec::new();
        file.take(bytes_max + 1).read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

/// Texts that were kept.
impl ReadText for BTreeMap<PathBuf, Arc<str>> {
    fn read(&self, path: &Path, _: u64) -> io::Result<Vec<u8>> {
        let text = self.get(path).ok_or(io::ErrorKind::NotFound)?;
        Ok(text.as_bytes().to_vec())
    }
}

/// Reads one flow from files that are merged from left to right.
#[must_use]
pub fn load(paths: &[PathBuf], reader: &dyn ReadText) -> Loaded {
    let mut loader = Loader {
        reader,
        engine: Engine::new(template::Limits::default()).with_function("jmespath", jmespath),
        files: SourceFiles::default(),
        texts: BTreeMap::new(),
        found: BTreeMap::new(),
        path: Vec::new(),
    };
    let mut problems = Problems::default();
    let flow = loader.load(paths, None, &mut problems).map(Arc::new);
    Loaded { flow, problems, files: loader.files, texts: loader.texts }
}

/// Whether two YAML documents say the same, whatever their comments and layout.
#[must_use]
pub fn says_the_same(one: &str, other: &str) -> bool {
    one == other || parse_yaml(one).is_ok_and(|one| parse_yaml(other) == Ok(one))
}

/// Reads a YAML document within the limits of flow files, keys in their order.
///
/// ```
/// let value = tidewheel_flow::parse_yaml("a: [1, x]")?;
/// assert_eq!(value["a"][0], 1);
/// # Ok::<(), String>(())
/// ```
///
/// # Errors
///
/// The first thing that is wrong with it, with its line.
pub fn parse_yaml(text: &str) -> Result<Json, String> {
    let mut files = SourceFiles::default();
    let mut problems = Problems::default();
    let file = files.push("", text.into());
    let node = yaml::parse(file, text, &yaml::Limits::default(), &mut problems);
    match (node, problems.iter().find(|problem| problem.severity == Severity::Error)) {
        (_, Some(problem)) => Err(match problem.span {
            Some(span) => format!("line {}: {}", files.line_column(span).0, problem.message),
            None => problem.message.clone(),
        }),
        (Some(node), None) => Ok(node.to_json()),
        (None, None) => Ok(Json::Null),
    }
}

/// `jmespath(expression, value)` in templates.
fn jmespath(arguments: &[Json]) -> Result<Json, String> {
    let [Json::String(expression), value] = arguments else {
        return Err("`jmespath` takes an expression and a value".to_owned());
    };
    let query = Query::parse(expression).map_err(|error| error.message)?;
    query.search(value).map_err(|error| error.message)
}

struct Loader<'a> {
    reader: &'a dyn ReadText,
    engine: Engine,
    files: SourceFiles,
    texts: BTreeMap<PathBuf, Arc<str>>,
    /// Called flows by path.
    found: BTreeMap<PathBuf, Option<Arc<Flow>>>,
    /// The files that are being read, outermost first.
    path: Vec<PathBuf>,
}

impl Loader<'_> {
    /// Loads a flow that is called at some place, or by nobody.
    fn load(
        &mut self,
        paths: &[PathBuf],
        called_at: Option<Span>,
        problems: &mut Problems,
    ) -> Option<Flow> {
        self.path.push(paths.first()?.clone());
        let flow = self.load_one(paths, called_at, problems);
        self.path.pop();
        flow
    }

    fn load_one(
        &mut self,
        paths: &[PathBuf],
        called_at: Option<Span>,
        problems: &mut Problems,
    ) -> Option<Flow> {
        let mut whole: Option<Node> = None;
        let mut is_complete = true;
        for path in paths {
            let Some(node) = self.parse(path, called_at, problems) else {
                is_complete = false;
                continue;
            };
            whole = Some(match whole {
                Some(before) => merge(before, node),
                None => node,
            });
        }
        let node = whole?;
        let first = paths.first()?;
        let folder = match first.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
            _ => PathBuf::from("."),
        };
        let engine = self.engine.clone();
        let mut flow = decode(&node, first, &folder, &engine, self, problems)?;
        if !is_complete {
            flow.gaps.sections.extend(Gaps::SECTIONS);
        }
        connect(&mut flow, problems);
        check_labels(&flow, problems);
        if flow.steps.is_empty() && problems.is_empty() {
            let problem = Problem::warning("no-steps", "the flow has no steps").at(node.span);
            problems.push(problem.hint("a step needs a name and something to do"));
        }
        Some(flow)
    }

    fn parse(
        &mut self,
        path: &Path,
        called_at: Option<Span>,
        problems: &mut Problems,
    ) -> Option<Node> {
        let limits = yaml::Limits::default();
        let shown = path.display().to_string();
        let at = |problem: Problem| match called_at {
            Some(span) => problem.at(span),
            None => problem,
        };
        let bytes = match self.reader.read(path, limits.bytes_max as u64) {
            Ok(bytes) => bytes,
            Err(error) => {
                let text = format!("{shown}: cannot be read: {error}");
                problems.push(at(Problem::error("unreadable", text)));
                return None;
            }
        };
        if bytes.len() > limits.bytes_max {
            let text = format!("{shown}: larger than {} MiB", limits.bytes_max >> 20);
            let problem = Problem::error("too-large", text);
            let hint = "split it into flows that call each other with `flow:`";
            problems.push(at(problem.hint(hint)));
            return None;
        }
        let text: Arc<str> = match yaml::decode(&bytes) {
            Ok(text) => Arc::from(text),
            Err(problem) => {
                problems.push(at(problem.about(&shown)));
                return None;
            }
        };
        let file = self.files.push(&shown, Arc::clone(&text));
        self.texts.insert(path.to_owned(), Arc::clone(&text));
        let node = yaml::parse(file, &text, &limits, problems)?;
        match node.value {
            Value::Null => Some(Node { value: Value::Map(Map::default()), span: node.span }),
            _ => Some(node),
        }
    }
}

/// A path without steps back and forth, to tell whether two are the same. Links are not looked at: what is
/// called by another name through one is found out by its depth.
fn shortened(path: &Path) -> PathBuf {
    let mut short = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if short.file_name().is_some_and(|it| it != "..") => {
                short.pop();
            }
            part => short.push(part),
        }
    }
    short
}

impl FindFlow for Loader<'_> {
    fn find(&mut self, path: &str, node: &Node, problems: &mut Problems) -> Option<Arc<Flow>> {
        let folder = self.path.last().and_then(|file| file.parent()).map(Path::to_owned);
        let path = folder.unwrap_or_default().join(path);
        let calls_itself = self.path.iter().any(|it| shortened(it) == shortened(&path));
        if calls_itself || self.path.len() >= DEPTH_MAX {
            let text = if calls_itself {
                format!("flow `{}` calls itself", shortened(&path).display())
            } else {
                format!("flows are more than {DEPTH_MAX} deep inside each other")
            };
            problems.push(Problem::error("cycle", text).at(node.span));
            return None;
        }
        if let Some(found) = self.found.get(&path) {
            return found.clone();
        }
        let called_at = Some(node.span);
        let flow = self.load(std::slice::from_ref(&path), called_at, problems).map(Arc::new);
        self.found.insert(path, flow.clone());
        flow
    }
}
