//! Steps whose work need not be done again: a fingerprint of all they depend on, and what they left
//! the last time.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value as Json, json};
use sha2::{Digest, Sha256};

use super::context::Position;
use super::end::Trouble;
use super::runner::FlowRunner;
use crate::flow::definition::{Cache, CommandLine, Step, Work};
use crate::flow::template::Context;
use crate::flow::tree::Tree;

/// More files than this are no inputs of one step but a mistake.
const FILES_MAX: usize = 100_000;

/// What is known of a step's work before it is done.
pub(super) struct Prepared {
    entry: PathBuf,
    /// Patterns of files that the work makes.
    made: Vec<String>,
}

impl FlowRunner {
    /// The fingerprint of a step with `cache:`, before anything is done.
    pub(super) async fn prepare_cache(
        &self,
        position: &Position,
        context: &Context,
    ) -> Result<Option<Prepared>, Trouble> {
        let step = &position.step;
        let (Some(cache), Some(folder)) = (&step.cache, &self.means.cache) else {
            return Ok(None);
        };
        let from = self.folder_of(step, context)?;
        let about = self.about_work(position, cache, context)?;
        let inputs = patterns(&cache.inputs, &from, context)?;
        let made = patterns(&cache.outputs, &from, context)?;
        let fingerprint = move || fingerprint(&about, &inputs);
        let fingerprint = tokio::task::spawn_blocking(fingerprint).await;
        let fingerprint = fingerprint.map_err(|error| Trouble::passing(error.to_string()))??;
        Ok(Some(Prepared { entry: folder.join(format!("{fingerprint}.json")), made }))
    }

    /// Everything rendered that the work depends on.
    fn about_work(
        &self,
        position: &Position,
        cache: &Cache,
        context: &Context,
    ) -> Result<Json, Trouble> {
        let step = &*position.step;
        let render = |tree: &Option<Tree>| match tree {
            Some(tree) => tree.render(context).map_err(Trouble::from),
            None => Ok(Json::Null),
        };
        let mut env = Map::new();
        for (name, tree) in position.scope.flow.env.iter().chain(&step.surroundings.env) {
            env.insert(name.clone(), tree.render(context)?);
        }
        Ok(json!({
            "flow": self.flow.name,
            "step": position.name.to_string(),
            "folder": self.folder_of(step, context)?,
            "work": work(step, context)?,
            "env": env,
            "stdin": render(&step.surroundings.stdin)?,
            "input": render(&step.input)?,
            "key": render(&cache.key)?,
            "outputs": step.outputs.iter().map(|output| format!("{output:?}")).collect::<Vec<_>>(),
        }))
    }
}

fn work(step: &Step, context: &Context) -> Result<Json, Trouble> {
    let render_all = |trees: &[Tree]| -> Result<Json, Trouble> {
        let values: Result<Vec<Json>, _> = trees.iter().map(|tree| tree.render(context)).collect();
        Ok(Json::Array(values?))
    };
    Ok(match &step.work {
        Work::Process(process) => match &process.command {
            CommandLine::Shell { text, shell } => json!({ "run": text, "shell": shell }),
            CommandLine::Argv(words) => json!({ "argv": render_all(words)? }),
        },
        Work::Http(request) => {
            json!({ "http": request.url.render(context)?, "rest": format!("{:?}", request.method) })
        }
        Work::File(file) => json!({ "file": file.path.render(context)? }),
        Work::Env(names) => json!({ "env": super::context::variables(names) }),
        Work::Wait(_) | Work::Flow(_) => Json::Null,
    })
}

fn patterns(trees: &[Tree], from: &Path, context: &Context) -> Result<Vec<String>, Trouble> {
    let mut patterns = Vec::new();
    for tree in trees {
        let pattern = tree.render_text(context)?;
        patterns.push(from.join(pattern).to_string_lossy().into_owned());
    }
    Ok(patterns)
}

fn fingerprint(about: &Json, inputs: &[String]) -> Result<String, Trouble> {
    let mut hash = Sha256::new();
    hash.update(about.to_string());
    let mut files = Vec::new();
    for pattern in inputs {
        let found = glob::glob(pattern)
            .map_err(|error| Trouble::permanent(format!("cache: `{pattern}`: {error}")))?;
        let before = files.len();
        files.extend(found.filter_map(Result::ok).filter(|path| path.is_file()));
        if files.len() == before && !pattern.contains(['*', '?', '[']) {
            return Err(Trouble::permanent(format!("cache: there is no {pattern}")));
        }
        if files.len() > FILES_MAX {
            return Err(Trouble::permanent(format!("cache: more than {FILES_MAX} inputs")));
        }
    }
    files.sort();
    files.dedup();
    for path in files {
        hash.update(path.to_string_lossy().as_bytes());
        hash.update([0]);
        let wrong = |error| Trouble::passing(format!("{}: {error}", path.display()));
        let mut file = fs::File::open(&path).map_err(wrong)?;
        let mut of_file = Sha256::new();
        std::io::copy(&mut file, &mut HashWriter(&mut of_file)).map_err(wrong)?;
        hash.update(of_file.finalize());
    }
    Ok(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

struct HashWriter<'a>(&'a mut Sha256);

impl Write for HashWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Prepared {
    /// What the work left, if it was done before and what it made is still there.
    pub fn found(&self) -> Option<Map<String, Json>> {
        let is_there = |pattern: &String| {
            glob::glob(pattern).is_ok_and(|mut found| found.any(|path| path.is_ok()))
        };
        if !self.made.iter().all(is_there) {
            return None;
        }
        let bytes = fs::read(&self.entry).ok()?;
        serde_json::from_slice(&bytes).ok()
    }

    /// Keeps what the work left. That it cannot be kept only means that it is done again.
    pub fn keep(&self, outputs: &Map<String, Json>) {
        let _ = self.write(outputs);
    }

    fn write(&self, outputs: &Map<String, Json>) -> std::io::Result<()> {
        let folder = self.entry.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(folder)?;
        let part = self.entry.with_extension(format!("{}.part", std::process::id()));
        fs::write(&part, Json::Object(outputs.clone()).to_string())?;
        fs::rename(part, &self.entry)
    }
}
