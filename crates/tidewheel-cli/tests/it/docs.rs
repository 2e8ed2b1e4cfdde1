//! The commands shown in the documentation print what stands there, and the flows in it run.
//!
//! In a `console` block a line that begins with `$ ` is a command, and what follows is all it prints, on
//! both streams. Blocks whose output is never twice the same are marked `text`.
//!
//! A `yaml` block with `flow:` is a flow. A comment before it may say `file: NAME` and `exits CODE`, such
//! as `<!-- file: hello.yaml, exits 1 -->`. On a page with named files, commands run in a folder that has
//! them, and those of `text` blocks are run as well.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use crate::common::{Scratch, stderr, stdout};
use serde_json::{Value as Json, json};
use tidewheel_client::files::{FlowFiles, parse_yaml};

/// The pages whose flows are run.
const GUIDES: [&str; 2] = ["docs/guide/flows.md", "docs/guide/from-flowtoy.md"];
/// The secret of the guide.
const SECRET: (&str, &str) = ("API_TOKEN", "correct-horse-battery");
/// A value that does something wherever it is taken for program text.
const HOSTILE: &str = "$(touch pwned)`touch pwned`; touch pwned & touch pwned | touch pwned #'\"\n\
                       touch pwned\n' ; touch pwned ; \" ; touch pwned ; \"{{ 1 }}";

/// The folder of the whole workspace.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The pages at the top and below `docs/`.
fn pages() -> Vec<PathBuf> {
    let root = root();
    let mut pages = Vec::new();
    for folder in ["", "docs/guide", "docs/reference", "docs/design"] {
        pages.extend(files_in(&root.join(folder), "md"));
    }
    pages.sort();
    pages
}

fn files_in(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    paths.filter(|path| path.extension().is_some_and(|it| it == extension)).collect()
}

/// A fenced block of a page.
struct Block {
    language: String,
    text: String,
    /// The comment on the line before it.
    comment: String,
}

impl Block {
    /// What the comment says under a name.
    fn said(&self, name: &str) -> Option<&str> {
        self.comment.split(',').find_map(|part| part.trim().strip_prefix(name)).map(str::trim)
    }

    fn is_flow(&self) -> bool {
        self.language == "yaml" && self.text.lines().any(|line| line.starts_with("flow:"))
    }

    fn exit_code(&self) -> i32 {
        self.said("exits ").map_or(0, |code| code.parse().unwrap())
    }

    /// The commands in it, each with what should follow it.
    fn commands(&self) -> Vec<(String, String)> {
        let mut commands: Vec<(String, String)> = Vec::new();
        for line in self.text.lines() {
            if let Some(command) = line.strip_prefix("$ ") {
                commands.push((command.to_owned(), String::new()));
            } else if let Some((_, output)) = commands.last_mut() {
                output.push_str(line);
                output.push('\n');
            }
        }
        commands
    }
}

fn blocks(text: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut open: Option<Block> = None;
    let mut before = "";
    for line in text.lines() {
        match (line.strip_prefix("```"), &mut open) {
            (Some(language), None) => {
                let comment = before.strip_prefix("<!-- ").and_then(|it| it.strip_suffix(" -->"));
                let comment = comment.unwrap_or_default().to_owned();
                open = Some(Block { language: language.to_owned(), text: String::new(), comment });
            }
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (None, Some(block)) => {
                block.text.push_str(line);
                block.text.push('\n');
            }
            (None, None) => {}
        }
        before = line;
    }
    blocks
}

/// What the command prints, on both streams, in a terminal of 80 columns without colours.
fn printed(command: &str, folder: &Path, data: &Path) -> String {
    let binary = Path::new(env!("CARGO_BIN_EXE_tidewheel"));
    let command = command.replace("cargo run -- ", "tidewheel ");
    let mut words = command.split(' ').skip_while(|word| word.contains('='));
    assert_eq!(words.next(), Some("tidewheel"), "only our own commands are checked: {command}");
    let path = std::env::var("PATH").unwrap_or_default();
    let output = Command::new("sh")
        .args(["-c", &format!("exec 2>&1; {command}")])
        .current_dir(folder)
        .env_clear()
        .env("PATH", format!("{}:{path}", binary.parent().unwrap().display()))
        .env("COLUMNS", "80")
        .env("NO_COLOR", "1")
        .env("TIDEWHEEL_CONFIG", "/dev/null")
        .env("TIDEWHEEL_DATA", data)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn commands_print_what_the_pages_show() {
    let mut count = 0;
    let mut wrong = Vec::new();
    for page in pages() {
        let scratch = Scratch::new("docs-commands");
        let blocks = blocks(&fs::read_to_string(&page).unwrap());
        let mut folder = root();
        for block in &blocks {
            if let Some(name) = block.said("file:") {
                scratch.file(name, &block.text);
                folder = scratch.path("");
            }
        }
        let has_files = folder != root();
        for block in &blocks {
            let is_compared = block.language == "console";
            let is_tried = has_files && block.language == "text";
            if !is_compared && !is_tried {
                continue;
            }
            for (command, shown) in block.commands() {
                let printed = printed(&command, &folder, &scratch.data());
                if !is_compared {
                    continue;
                }
                count += 1;
                if printed.trim_end() != shown.trim_end() {
                    let page = page.display();
                    wrong
                        .push(format!("{page}: $ {command}\nshown:\n{shown}\nprinted:\n{printed}"));
                }
            }
        }
    }
    assert!(count >= 20, "only {count} commands were found");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A flow of the documentation, with the files that are there beside it.
struct Snippet {
    /// Where it is written, for messages.
    place: String,
    name: PathBuf,
    files: BTreeMap<PathBuf, Arc<str>>,
    exit_code: i32,
    /// Whether its page is a guide, whose flows are run.
    is_run: bool,
}

impl Snippet {
    fn text(&self) -> &str {
        &self.files[&self.name]
    }

    fn load(&self) -> FlowFiles {
        FlowFiles::of_texts(std::slice::from_ref(&self.name), &self.files)
    }

    /// The same flow with another text.
    fn load_as(&self, text: &str) -> FlowFiles {
        let mut files = self.files.clone();
        files.insert(self.name.clone(), Arc::from(text));
        FlowFiles::of_texts(std::slice::from_ref(&self.name), &files)
    }

    /// Writes it and its neighbours into a folder, and gives its path.
    fn put(&self, scratch: &Scratch) -> String {
        for (name, text) in &self.files {
            scratch.file(name.to_str().unwrap(), text);
        }
        scratch.path(self.name.to_str().unwrap()).to_str().unwrap().to_owned()
    }
}

/// Every flow in the pages and below `examples/`.
fn snippets() -> Vec<Snippet> {
    let root = root();
    let mut snippets = Vec::new();
    for page in pages() {
        let place = page.strip_prefix(&root).unwrap().display().to_string();
        let flows: Vec<(PathBuf, Block)> = blocks(&fs::read_to_string(&page).unwrap())
            .into_iter()
            .filter(Block::is_flow)
            .zip(1..)
            .map(|(block, number)| {
                let name = block.said("file:").map(str::to_owned);
                (name.unwrap_or_else(|| format!("flow-{number}.yaml")).into(), block)
            })
            .collect();
        let files: BTreeMap<PathBuf, Arc<str>> =
            flows.iter().map(|(name, block)| (name.clone(), Arc::from(&*block.text))).collect();
        assert_eq!(files.len(), flows.len(), "{place}: two files of one name");
        snippets.extend(flows.into_iter().map(|(name, block)| Snippet {
            place: format!("{place}, {}", name.display()),
            exit_code: block.exit_code(),
            is_run: GUIDES.contains(&place.as_str()),
            files: files.clone(),
            name,
        }));
    }
    for path in files_in(&root.join("examples/flows"), "yaml") {
        let name = PathBuf::from(path.file_name().unwrap());
        let text: Arc<str> = Arc::from(fs::read_to_string(&path).unwrap());
        snippets.push(Snippet {
            place: format!("examples/flows/{}", name.display()),
            files: BTreeMap::from([(name.clone(), text)]),
            // Containers cannot run everywhere: `elsewhere` runs what needs one.
            is_run: name != Path::new("container.yaml"),
            name,
            exit_code: 0,
        });
    }
    assert!(snippets.len() >= 20, "only {} flows were found", snippets.len());
    snippets
}

#[test]
fn every_example_has_its_line() {
    let folder = root().join("examples/flows");
    let page = fs::read_to_string(folder.join("README.md")).unwrap();
    let files = files_in(&folder, "yaml");
    assert!(files.len() >= 12, "only {} examples", files.len());
    for path in files {
        let name = path.file_stem().unwrap().to_str().unwrap();
        assert!(page.contains(&format!("| [{name}]({name}.yaml) | ")), "{name}");
    }
}

#[test]
fn flows_in_the_pages_are_valid() {
    for snippet in snippets() {
        let loaded = snippet.load();
        // A page may show what a wrong file looks like.
        let is_wrong = snippet.exit_code == 3;
        let place = &snippet.place;
        let problems = loaded.problems(false, 100);
        assert_eq!(loaded.runnable().is_err(), is_wrong, "{place}: {problems}");
        assert!(is_wrong || !loaded.has_problems(), "{place}: {problems}");
    }
}

#[test]
fn editors_take_every_flow_in_the_pages() {
    let scratch = Scratch::new("docs-schema");
    let schema = serde_json::from_slice(&scratch.run(&["schema"]).stdout).unwrap();
    let schema = jsonschema::validator_for(&schema).unwrap();
    for snippet in snippets().iter().filter(|snippet| snippet.exit_code != 3) {
        let flow = parse_yaml(snippet.text()).unwrap();
        let wrong: Vec<String> = schema.iter_errors(&flow).map(|it| it.to_string()).collect();
        assert!(wrong.is_empty(), "{}: {}", snippet.place, wrong.join("\n"));
    }
}

#[test]
fn flows_in_the_guide_end_as_it_says() {
    for snippet in snippets().into_iter().filter(|snippet| snippet.is_run) {
        let scratch = Scratch::new("docs-run");
        let path = snippet.put(&scratch);
        let mut command = scratch.command(&["run", &path]);
        let output = command.env(SECRET.0, SECRET.1).env("HOME", "/tmp").output().unwrap();
        let error = stderr(&output);
        assert_eq!(output.status.code(), Some(snippet.exit_code), "{}: {error}", snippet.place);
    }
}

#[test]
fn the_gate_of_the_examples_opens_when_somebody_approves() {
    let scratch = Scratch::new("docs-gate");
    let text = fs::read_to_string(root().join("examples/flows/approval-gate.yaml")).unwrap();
    let file = scratch.file("approval-gate.yaml", &text);
    let run = scratch.start_heard(&["run", &file, "--param", "ask=true"]);
    run.wait_for("waits for approval: Ship it?");
    assert_eq!(scratch.json(&["show", "latest"])["steps"]["publish"]["state"], "pending");
    let approve = ["approve", "latest", "ship", "--by", "Ada", "--note", "looks good"];
    let output = scratch.run(&approve);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let (code, said) = run.ended();
    assert_eq!(code, Some(0), "{said}");
    let said = stdout(&scratch.run(&["logs", "latest", "publish"]));
    assert_eq!(said, "1.4.0 is out, approved by Ada\n");
}

/// Where steps with a shell text are in a flow.
fn shell_steps(flow: &Json) -> Vec<(&'static str, usize)> {
    let mut found = Vec::new();
    for key in ["flow", "on_success", "on_failure", "finally"] {
        let steps = flow[key].as_array().into_iter().flatten().enumerate();
        found.extend(steps.filter(|(_, step)| step["run"].is_string()).map(|(at, _)| (key, at)));
    }
    found
}

fn has_code(loaded: &FlowFiles, code: &str) -> bool {
    let problems = loaded.validated(false).problems;
    problems.as_array().unwrap().iter().any(|problem| problem["code"] == code)
}

#[test]
fn a_value_put_into_shell_text_is_refused_in_every_flow() {
    let mut attacks = 0;
    for snippet in snippets().iter().filter(|snippet| snippet.exit_code != 3) {
        let mut flow = parse_yaml(snippet.text()).unwrap();
        let place = &snippet.place;
        flow["params"]["x"] = json!("");
        // JSON is YAML.
        let unchanged = snippet.load_as(&flow.to_string());
        assert!(unchanged.runnable().is_ok(), "{place}: {}", unchanged.problems(false, 100));
        for (key, at) in shell_steps(&flow) {
            let text = flow[key][at]["run"].as_str().unwrap().to_owned();
            for changed in [
                format!("{text} {{{{ params.x }}}}"),
                format!("{{{{ params.x }}}}{text}"),
                format!("{{% if true %}}{text}{{% endif %}}"),
            ] {
                let mut attacked = flow.clone();
                attacked[key][at]["run"] = json!(changed);
                let loaded = snippet.load_as(&attacked.to_string());
                let is_refused = loaded.runnable().is_err();
                assert!(is_refused && has_code(&loaded, "template-in-shell"), "{place}: {changed}");
                attacks += 1;
            }
            let mut attacked = flow.clone();
            let step = attacked[key][at].as_object_mut().unwrap();
            step.remove("run");
            step.remove("shell");
            step.insert(
                "argv".to_owned(),
                json!(["sh", "-c", format!("{text} {{{{ params.x }}}}")]),
            );
            let loaded = snippet.load_as(&attacked.to_string());
            assert!(has_code(&loaded, "template-in-shell"), "{place}: argv of a shell");
            attacks += 1;
        }
    }
    assert!(attacks > 50, "only {attacks} attacks were made");
}

#[test]
fn hostile_params_do_nothing_in_any_flow() {
    let mut attacks = 0;
    for snippet in snippets().iter().filter(|snippet| snippet.exit_code != 3) {
        let loaded = snippet.load();
        let flow = loaded.runnable().unwrap();
        let texts = flow.params.iter().filter(|param| {
            matches!(param.kind.word(), "text" | "any") && param.choices.is_empty()
        });
        for param in texts {
            let scratch = Scratch::new("docs-attack");
            let path = snippet.put(&scratch);
            // A pattern is kept to, so that the value gets in.
            let value = match param.pattern.as_deref() {
                Some(pattern) => pattern.replace('*', HOSTILE),
                None => HOSTILE.to_owned(),
            };
            let said = format!("{}={value}", param.name);
            let place = &snippet.place;
            let planned = scratch.run(&["plan", &path, "--param", &said]);
            assert_eq!(planned.status.code(), Some(0), "{place}: {}", stderr(&planned));
            if snippet.is_run {
                let mut command = scratch.command(&["run", &path, "--param", &said]);
                let output = command.env(SECRET.0, SECRET.1).output().unwrap();
                let error = stderr(&output);
                assert_eq!(output.status.code(), Some(snippet.exit_code), "{place}: {error}");
            }
            assert!(!scratch.path("pwned").exists(), "{place}: `{}` was run", param.name);
            attacks += 1;
        }
    }
    assert!(attacks >= 5, "only {attacks} attacks were made");
}

#[test]
fn the_picture_of_the_tour_is_what_graph_draws() {
    let scratch = Scratch::new("docs-picture");
    let flow = root().join("examples/flows/tour.yaml");
    let output = scratch.run(&["graph", flow.to_str().unwrap(), "--format", "svg"]);
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), String::new()));
    let path = root().join("docs/pictures/tour.svg");
    if std::env::var_os("TIDEWHEEL_BLESS").is_some_and(|value| value == "1") {
        return fs::write(path, output.stdout).unwrap();
    }
    let is_same = fs::read(&path).unwrap() == output.stdout;
    assert!(is_same, "run the test with TIDEWHEEL_BLESS=1 to rewrite {}", path.display());
}
