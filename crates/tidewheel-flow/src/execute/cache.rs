//! Steps whose work need not be done again: a fingerprint of all they depend on, and what they left
//! the last time.
//!
//! Whether a step has a cache at all is said in its definition.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json, json};
use sha2::{Digest, Sha256};
use tidewheel::file::{make_private_file, make_private_folder};

use super::context::Position;
use super::end::Trouble;
use super::process::words_of;
use super::runner::FlowRunner;
use crate::definition::{Cache, CommandLine, OutputRule, Step, StepOutput, Work};
use crate::language::template::Context;
use crate::language::tree::Tree;

/// More files than this are no inputs of one step but a mistake.
const FILES_MAX: usize = 100_000;

/// What is known of a step's work before it is done.
pub(super) struct Prepared {
    entry: PathBuf,
    /// What it depends on, for whoever asks later why it was done again.
    seen: Seen,
    /// Files that the work makes.
    made: Vec<Files>,
    /// What the work left, if it was done before and all it made is as it was.
    pub found: Option<Map<String, Json>>,
}

/// What the work of a step depended on when it was done, without values.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Seen {
    /// Where it is kept, one for each task of a flow.
    #[serde(skip)]
    pub place: PathBuf,
    /// What was rendered, by part: fingerprints, secrets left out.
    pub parts: BTreeMap<String, String>,
    /// The files it read, each with the fingerprint of what was in it.
    pub files: BTreeMap<String, String>,
}

/// What is kept of a step's work.
#[derive(Serialize, Deserialize)]
struct Entry {
    outputs: Map<String, Json>,
    /// The files that the work made, each with the fingerprint of what is in it.
    made: BTreeMap<String, String>,
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
        let from = self.folder_of(position, context)?;
        let about = self.about_work(position, cache, context)?;
        let inputs = files(&cache.inputs, &from, context)?;
        let made = files(&cache.outputs, &from, context)?;
        let read = match &step.work {
            Work::File(file) => Some(from.join(file.path.render_text(context)?)),
            _ => None,
        };
        let (folder, parts) = (folder.clone(), self.parts_of(&about));
        let prepare = move || {
            let files = hash_inputs(&inputs, read)?;
            let entry = folder.join(format!("{}.json", fingerprint(&about, &files)));
            let found = find(&entry, &made);
            let place = folder.join(format!("seen-{}.json", key_of(&about)));
            let seen = Seen { place, parts, files };
            Ok(Some(Prepared { entry, seen, made, found }))
        };
        let prepared = tokio::task::spawn_blocking(prepare).await;
        prepared.map_err(|error| Trouble::passing(error.to_string()))?
    }

    /// Fingerprints of what was rendered. Secrets are not in them: even that tells something.
    fn parts_of(&self, about: &Json) -> BTreeMap<String, String> {
        let hash =
            |value: &Json| hexadecimal(&Sha256::digest(self.secrets.mask(&value.to_string())));
        let parts = about.as_object().into_iter().flatten();
        parts.map(|(name, value)| (name.clone(), hash(value))).collect()
    }

    /// Everything rendered that the work depends on.
    fn about_work(
        &self,
        position: &Position,
        cache: &Cache,
        context: &Context,
    ) -> Result<Json, Trouble> {
        let step = &*position.step;
        let render = |tree: Option<&Tree>| match tree {
            Some(tree) => tree.render(context).map_err(Trouble::from),
            None => Ok(Json::Null),
        };
        let input = render(step.input.as_deref())?;
        let env: BTreeMap<String, String> =
            self.variables_of(position, context)?.into_iter().collect();
        Ok(json!({
            "flow": self.flow.name,
            "step": position.name.to_string(),
            "folder": self.folder_of(position, context)?,
            "work": self.about_step(step, &input, context)?,
            "env": env,
            "stdin": render(step.surroundings.stdin.as_deref())?,
            "inherited": step.surroundings.inherit.as_deref().map(|names| self.inherited(names)),
            "output_max": step.surroundings.output_max,
            "elsewhere": self.about_place(step, context)?,
            "input": input,
            "key": render(cache.key.as_ref())?,
            "outputs": step.outputs.iter().map(|it| about_output(it, context)).collect::<Json>(),
        }))
    }

    fn about_step(&self, step: &Step, input: &Json, context: &Context) -> Result<Json, Trouble> {
        let input = Some(input).filter(|input| !input.is_null());
        Ok(match &step.work {
            Work::Process(process) => match &process.command {
                CommandLine::Shell { text, shell } => {
                    json!({ "run": text, "shell": shell.words() })
                }
                CommandLine::Argv(trees) => json!({
                    "argv": words_of(process, trees, input, context)?,
                    "pass_to": format!("{:?}", process.pass_to),
                }),
            },
            Work::Http(request) => json!({ "http": super::http::about(request, context)? }),
            Work::File(file) => json!({
                "file": file.path.render(context)?,
                "format": file.format.map(|format| format!("{format:?}")),
                "bytes_max": file.bytes_max,
                "is_optional": file.is_optional,
            }),
            Work::Env(names) => json!({ "env": self.variables(names) }),
            Work::Wait(_) | Work::Flow(_) => Json::Null,
        })
    }

    /// Where its program runs, if not here.
    fn about_place(&self, step: &Step, context: &Context) -> Result<Json, Trouble> {
        let Some(elsewhere) = &step.surroundings.elsewhere else { return Ok(Json::Null) };
        let mut values = Vec::new();
        let mut failed = None;
        elsewhere.visit(&mut |leaf| match leaf.template.render(context) {
            Ok(value) => values.push(value.to_string()),
            Err(error) => failed = Some(error.to_string()),
        });
        match failed {
            Some(error) => Err(Trouble::permanent(error)),
            None => Ok(json!({ "said": format!("{elsewhere:?}"), "values": values })),
        }
    }

    /// The variables of our own environment that a step names, a star at the end for any more letters.
    pub(super) fn inherited(&self, names: &[String]) -> BTreeMap<String, Json> {
        let is_named = |name: &str| {
            names.iter().any(|known| match known.strip_suffix('*') {
                Some(start) => name.starts_with(start),
                None => name == known,
            })
        };
        let variables = self.means.world.variables().into_iter().filter_map(|(name, value)| {
            let name = name.into_string().ok().filter(|name| is_named(name))?;
            Some((name, Json::String(value.to_string_lossy().into_owned())))
        });
        variables.collect()
    }
}

/// How an output is made of the result, with all that is known before there is one.
fn about_output(output: &StepOutput, context: &Context) -> Json {
    let rule = match &output.value {
        OutputRule::Raw => Json::Null,
        OutputRule::Written => json!("written"),
        OutputRule::Query(query) => json!({ "query": query.text() }),
        OutputRule::Template(tree) => {
            let mut values = BTreeMap::new();
            tree.visit(&mut |leaf| {
                for reference in leaf.template.references() {
                    values.insert(reference.path.clone(), context.value_at(&reference.path));
                }
            });
            let values: Vec<_> = values.into_iter().collect();
            json!({ "template": source(tree), "values": values })
        }
    };
    json!([output.name, rule])
}

/// A tree as it was written, wherever in the file that was.
fn source(tree: &Tree) -> Json {
    match tree {
        Tree::Value(value) => json!({ "value": value }),
        Tree::Text(leaf) => json!({ "text": leaf.template.text() }),
        Tree::List(trees) => trees.iter().map(source).collect(),
        Tree::Map(entries) => {
            Json::Object(entries.iter().map(|(key, tree)| (key.clone(), source(tree))).collect())
        }
    }
}

/// Files by a pattern, as they were named and where they are.
#[derive(Debug, Clone)]
pub(super) struct Files {
    pub named: String,
    pattern: String,
}

impl Files {
    /// What a pattern stands for that is written in a folder.
    pub fn within(folder: &Path, named: String) -> Self {
        let pattern = match Path::new(&named).is_absolute() {
            true => named.clone(),
            // The folder stands for itself, whatever its name has in it.
            false => {
                let folder = glob::Pattern::escape(&folder.to_string_lossy());
                format!("{folder}/{named}")
            }
        };
        Self { named, pattern }
    }

    fn is_single(&self) -> bool {
        !self.named.contains(['*', '?', '['])
    }

    pub fn found(&self) -> Result<Vec<PathBuf>, String> {
        let found = glob::glob(&self.pattern).map_err(|error| error.to_string())?;
        found.collect::<Result<_, _>>().map_err(|error| error.to_string())
    }
}

fn files(trees: &[Tree], from: &Path, context: &Context) -> Result<Vec<Files>, Trouble> {
    let named = trees.iter().map(|tree| Ok(Files::within(from, tree.render_text(context)?)));
    named.collect()
}

/// Which task of which flow it is, where.
fn key_of(about: &Json) -> String {
    let who = json!([about["flow"], about["step"], about["folder"]]);
    hexadecimal(&Sha256::digest(who.to_string())[..16])
}

/// The files that the work reads, each with the fingerprint of what is in it.
fn hash_inputs(
    inputs: &[Files],
    read: Option<PathBuf>,
) -> Result<BTreeMap<String, String>, Trouble> {
    // That a file to be read is not there is for the step to tell.
    let mut found: Vec<PathBuf> = read.into_iter().filter(|path| path.is_file()).collect();
    for files in inputs {
        let paths = files
            .found()
            .map_err(|error| Trouble::permanent(format!("cache: `{}`: {error}", files.named)))?;
        if paths.is_empty() && files.is_single() {
            return Err(Trouble::permanent(format!("cache: there is no {}", files.named)));
        }
        found.extend(paths);
    }
    hash_all(found).map_err(|error| Trouble::passing(format!("cache: {error}")))
}

fn fingerprint(about: &Json, files: &BTreeMap<String, String>) -> String {
    let mut hash = Sha256::new();
    hash.update(about.to_string());
    for (name, of_file) in files {
        hash.update(name.as_bytes());
        hash.update([0]);
        hash.update(of_file);
    }
    hexadecimal(&hash.finalize())
}

fn hash_file(path: &Path) -> std::io::Result<[u8; 32]> {
    let mut hash = Sha256::new();
    std::io::copy(&mut fs::File::open(path)?, &mut HashWriter(&mut hash))?;
    Ok(hash.finalize().into())
}

pub(super) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What the work left, if it was done before and all it made is as it was.
fn find(entry: &Path, made: &[Files]) -> Option<Map<String, Json>> {
    let entry: Entry = serde_json::from_slice(&fs::read(entry).ok()?).ok()?;
    (hash_made(made)? == entry.made).then_some(entry.outputs)
}

/// What there is of files that the work makes; none if one is missing.
fn hash_made(made: &[Files]) -> Option<BTreeMap<String, String>> {
    let mut found = Vec::new();
    for files in made {
        let paths = files.found().ok()?;
        if paths.is_empty() {
            return None;
        }
        found.extend(paths);
    }
    hash_all(found).ok()
}

/// The fingerprints of files, and of all in folders, by path.
fn hash_all(mut left: Vec<PathBuf>) -> std::io::Result<BTreeMap<String, String>> {
    let mut hashes = BTreeMap::new();
    while let Some(path) = left.pop() {
        let name = path.to_string_lossy().into_owned();
        if hashes.contains_key(&name) {
            continue;
        }
        if hashes.len() >= FILES_MAX {
            return Err(std::io::Error::other(format!("more than {FILES_MAX} files")));
        }
        let at = |error: std::io::Error| {
            std::io::Error::new(error.kind(), format!("{}: {error}", path.display()))
        };
        let hash = match fs::metadata(&path).map_err(at)?.is_dir() {
            false => hexadecimal(&hash_file(&path).map_err(at)?),
            true => {
                for inside in fs::read_dir(&path).map_err(at)? {
                    let inside = inside.map_err(at)?;
                    // A link to a folder may lead around in circles.
                    if !inside.file_type().map_err(at)?.is_symlink() {
                        left.push(inside.path());
                    }
                }
                String::new()
            }
        };
        hashes.insert(name, hash);
    }
    Ok(hashes)
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
    /// Keeps what the work left. That it cannot be kept only means that it is done again; but what
    /// the work should have made must be there.
    pub async fn keep(self, outputs: &Map<String, Json>) -> Result<(), Trouble> {
        let outputs = outputs.clone();
        let keep = move || {
            let is_missing = |files: &&Files| files.found().is_ok_and(|found| found.is_empty());
            if let Some(missing) = self.made.iter().find(is_missing) {
                let missing = &missing.named;
                return Err(Trouble::passing(format!(
                    "cache: the step did not make {missing}, which `outputs` of its `cache` names; \
                     correct the name, or leave it out"
                )));
            }
            if let Some(made) = hash_made(&self.made) {
                let _ = write(&self.entry, &Entry { outputs, made });
                let _ = write(&self.seen.place, &self.seen);
            }
            Ok(())
        };
        let kept = tokio::task::spawn_blocking(keep).await;
        kept.unwrap_or_else(|error| Err(Trouble::passing(error.to_string())))
    }

    /// Why the work would be done; `None` if it would not.
    pub fn why_done(&self, from: &Path) -> Option<String> {
        if self.found.is_some() {
            return None;
        }
        let entry = fs::read(&self.entry).ok();
        let entry = entry.and_then(|bytes| serde_json::from_slice::<Entry>(&bytes).ok());
        let reasons = match (entry, Seen::read(&self.seen.place)) {
            (Some(entry), _) => self.made_differently(&entry, from),
            (None, Some(before)) => self.seen.since(&before, from),
            (None, None) => vec!["it was not done before".to_owned()],
        };
        Some(match reasons.len() {
            0 => "what it left is not kept any more".to_owned(),
            1..=REASONS_MAX => reasons.join(", "),
            more => {
                let more = more - REASONS_MAX;
                format!("{} and {more} more", reasons[..REASONS_MAX].join(", "))
            }
        })
    }

    /// What is not as the work left it.
    fn made_differently(&self, entry: &Entry, from: &Path) -> Vec<String> {
        let is_missing = |files: &&Files| files.found().is_ok_and(|found| found.is_empty());
        let missing = self.made.iter().filter(is_missing);
        let missing: Vec<String> =
            missing.map(|files| format!("{}, which it makes, is not there", files.named)).collect();
        if !missing.is_empty() {
            return missing;
        }
        let now = hash_made(&self.made).unwrap_or_default();
        let changed = changes(&entry.made, &now, from);
        changed.into_iter().map(|change| format!("{change} since it made it")).collect()
    }
}

/// So many reasons are told.
const REASONS_MAX: usize = 3;

impl Seen {
    fn read(place: &Path) -> Option<Self> {
        serde_json::from_slice(&fs::read(place).ok()?).ok()
    }

    /// What is different from what was seen before.
    fn since(&self, before: &Self, from: &Path) -> Vec<String> {
        let word = |part: &str| match part {
            "work" => "its command".to_owned(),
            "env" => "a variable".to_owned(),
            "inherited" => "a variable that it inherits".to_owned(),
            "outputs" => "what its outputs are made of".to_owned(),
            part => format!("its `{part}`"),
        };
        let is_same = |(name, hash): &(&String, &String)| before.parts.get(*name) == Some(*hash);
        let parts = self.parts.iter().filter(|part| !is_same(part));
        let parts = parts.map(|(name, _)| format!("{} has changed", word(name)));
        parts.chain(changes(&before.files, &self.files, from)).collect()
    }
}

/// What became of files, in words.
fn changes(
    before: &BTreeMap<String, String>,
    now: &BTreeMap<String, String>,
    from: &Path,
) -> Vec<String> {
    let shown = |name: &str| {
        let path = Path::new(name);
        path.strip_prefix(from).unwrap_or(path).display().to_string()
    };
    let gone = before.keys().filter(|name| !now.contains_key(*name));
    let gone = gone.map(|name| format!("{} is gone", shown(name)));
    let other = now.iter().filter_map(|(name, hash)| match before.get(name) {
        Some(known) if known == hash => None,
        Some(_) => Some(format!("{} has changed", shown(name))),
        None => Some(format!("{} is new", shown(name))),
    });
    other.chain(gone).collect()
}

/// Writes a file, whole or not at all.
fn write(path: &Path, value: &impl Serialize) -> std::io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    make_private_folder(folder)?;
    let part = path.with_extension(format!("{}.part", std::process::id()));
    make_private_file(&part)?.write_all(&serde_json::to_vec(value)?)?;
    fs::rename(part, path)
}

#[cfg(test)]
mod tests {
    use tidewheel::Outcome;
    use tidewheel_testing::temp_folder;

    use super::*;

    #[tokio::test]
    async fn work_that_did_not_make_its_files_is_no_success() {
        let scratch = temp_folder("made");
        let folder = scratch.path();
        fs::write(folder.join("made.bin"), "x").unwrap();
        let (entry, outputs) = (folder.join("entry.json"), Map::new());
        let keep = |patterns: &[&str]| {
            let made = patterns.iter().map(|it| Files::within(folder, (*it).to_owned())).collect();
            let (entry, seen) = (entry.clone(), Seen::default());
            Prepared { entry, seen, made, found: None }.keep(&outputs)
        };
        for wrong in ["never.bin", "*.never"] {
            let trouble = keep(&["made.bin", wrong]).await.expect_err("it is not there");
            let Outcome::Failed(failure) = trouble.outcome else { panic!("not failed") };
            assert!(failure.message.contains(wrong), "{}", failure.message);
            assert!(!failure.permanent && !entry.exists());
        }
        keep(&["made.*"]).await.expect("it is there");
        assert!(entry.exists());
    }

    #[test]
    fn inputs_are_found_in_folders_of_any_name_and_folders_are_all_that_is_in_them() {
        let scratch = temp_folder("inputs [1]");
        let folder = scratch.path();
        fs::create_dir_all(folder.join("src/deep")).unwrap();
        fs::write(folder.join("in.txt"), "1").unwrap();
        fs::write(folder.join("src/deep/code"), "1").unwrap();
        let of = |named: &str| {
            let files = Files::within(folder, named.to_owned());
            hash_inputs(&[files], None).ok().map(|files| fingerprint(&Json::Null, &files))
        };
        for (named, file) in [("in.txt", "in.txt"), ("*.txt", "in.txt"), ("src", "src/deep/code")] {
            let before = of(named);
            assert!(before.is_some() && before == of(named), "{named}");
            fs::write(folder.join(file), "2").unwrap();
            assert_ne!(before, of(named), "{named}");
            fs::write(folder.join(file), "1").unwrap();
        }
        assert_eq!(of("none.txt"), None, "it is not there");
    }
}
