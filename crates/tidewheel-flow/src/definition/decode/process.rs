//! Steps that start processes: `run:`, `argv:` and process sources.
//!
//! Nothing is started, and no program is looked for.

use serde_json::Value as Json;

use super::program::{Script, goes_far, guarded, is_template, script_of};
use super::{Decoder, fields};
use crate::definition::{
    CommandLine, PassTo, ProcessWork, ResourceLimits, Shell, Shown, Surroundings, Work,
};
use crate::language::problem::Problem;
use crate::language::template::{ShellText, has_syntax};
use crate::language::tree::{Tree, text_of};
use crate::language::words::split_words;
use crate::language::yaml::{Map, Node, Value};

const VALUE_IN_SHELL: &str =
    "a value cannot be put into shell text: it would be read as program text";

/// The most that can become outputs.
const CAPTURE_MOST: u64 = 256 << 20;

impl Decoder<'_> {
    /// `run:`: a text for the shell, in which templates have no place.
    pub(super) fn shell(&mut self, node: &Node, shell: Shell) -> Option<Work> {
        let Value::Text(text) = &node.value else { return None };
        let parsed = match ShellText::parse(text.as_str()) {
            Ok(parsed) => parsed,
            Err(error) => {
                self.bad_template(&error, node);
                return None;
            }
        };
        if text.as_str().trim().is_empty() {
            self.no_program("run", node);
        }
        // Of statements the first will do: the others belong to it.
        let mut statements = 0;
        for range in parsed.templates {
            let template = &text[range.clone()];
            statements += u32::from(template.starts_with("{%"));
            if template.starts_with("{{") || statements == 1 {
                let problem = self.template_in_shell(template);
                self.problems.push(problem.at(text.span_of(range)));
            }
        }
        Some(Work::Process(process(CommandLine::Shell { text: parsed.text, shell })))
    }

    /// What is wrong with a template in a text for the shell. It may not be meant as one of ours.
    fn template_in_shell(&self, template: &str) -> Problem {
        let literal = format!("{{% raw %}}{template}{{% endraw %}}");
        if !self.is_known_template(template) {
            let text = "this reads as a template, and templates have no place in shell text";
            let problem = Problem::error("template-in-shell", text);
            return problem.hint(format!(
                "to have it as it stands, write  {literal}  (a value comes in as a variable: \
                 env: {{ VALUE: \"{{{{ … }}}}\" }})"
            ));
        }
        let value = match template.starts_with("{%") {
            true => format!("{template}…"),
            false => format!("{{{{ {} }}}}", template.trim_matches(['{', '}', '-', '+', ' '])),
        };
        let problem = Problem::error("template-in-shell", VALUE_IN_SHELL);
        problem.hint(format!(
            "pass it as a variable:  env: {{ VALUE: \"{value}\" }}  and write \"$VALUE\" here; if the \
             braces are meant as they stand, write  {literal}"
        ))
    }

    /// Whether a piece of text is a template whose names are known here, and not one of another
    /// program's.
    fn is_known_template(&self, template: &str) -> bool {
        if template.starts_with("{%") {
            return true;
        }
        let Ok(template) = self.engine.template(template) else { return false };
        let mut roots = template.references().iter().filter_map(|it| it.path.first());
        roots.all(|root| self.is_known(root))
    }

    /// `argv:`: a program with its arguments.
    pub(super) fn argv(&mut self, node: &Node, allows_options: bool) -> Option<Work> {
        let nodes = node.as_list()?;
        let words = self.words(nodes, "argv");
        if has_no_program(&words) {
            self.no_program("argv", node);
        }
        if let Some(Script::Word(place)) = script_of(&words)
            && is_template(&words[place])
        {
            let hint = match goes_far(&words) {
                true => {
                    "ssh puts its words together to a text for the shell on the other side: say `ssh: HOST` \
                     beside `run:`, where values come in through `env:`, or hand it over by `stdin:`"
                }
                false => {
                    "pass it after the text and write \"$1\" there: [sh, -c, 'echo \"$1\"', sh, \"{{ … }}\"]"
                }
            };
            let problem = Problem::error("template-in-shell", VALUE_IN_SHELL);
            self.problems.push(problem.at(nodes[place].span).hint(hint));
        }
        let guarded = if allows_options { Vec::new() } else { guarded(&words) };
        Some(Work::Process(ProcessWork { guarded, ..process(CommandLine::Argv(words)) }))
    }

    /// A shell that gets its program text as input must not get values in it either.
    pub(super) fn check_program_text(
        &mut self,
        map: &Map,
        work: &Work,
        stdin: Option<&Tree>,
        input: Option<&Tree>,
    ) {
        let Work::Process(work) = work else { return };
        let CommandLine::Argv(words) = &work.command else { return };
        let input = |wanted| input.filter(|_| work.pass_to == wanted);
        let (text, key) = match script_of(words) {
            Some(Script::Stdin) => match (input(PassTo::Stdin), stdin) {
                (Some(input), _) => (Some(input), "input"),
                (None, stdin) => (stdin, "stdin"),
            },
            Some(Script::Next) => (input(PassTo::Argument), "input"),
            _ => return,
        };
        let (Some(_), Some(node)) = (text.filter(|text| is_template(text)), map.get(key)) else {
            return;
        };
        let text = "values are put into program text here: whoever controls them can run anything";
        let problem = match map.get("source") {
            Some(_) => Problem::warning("template-in-shell", text),
            None => Problem::error("template-in-shell", text),
        };
        self.problems.push(problem.at(node.span).hint("pass values by `env:` or as arguments"));
    }

    fn no_program(&mut self, key: &str, node: &Node) {
        let text = match key {
            "run" => "`run` has no command".to_owned(),
            _ => format!("`{key}` must name a program"),
        };
        let problem = Problem::error("missing-key", text).at(node.span);
        self.problems.push(problem.hint("the program `true` does nothing"));
    }

    fn words(&mut self, nodes: &[Node], place: &str) -> Vec<Tree> {
        let nodes = nodes.iter().enumerate();
        nodes.map(|(index, node)| self.tree(node, format_args!("{place}[{index}]"))).collect()
    }

    /// A process source, as flowtoy has it.
    pub(super) fn process_source(&mut self, map: &Map) -> (Work, Surroundings) {
        let pass_to = match fields::word(map, "pass_to").as_deref() {
            Some("stdin") => PassTo::Stdin,
            Some("template") => PassTo::Template,
            _ => PassTo::Argument,
        };
        let node = map.get("command");
        let names: &[&'static str] =
            if pass_to == PassTo::Template { &["input", "json"] } else { &[] };
        let is_strict = fields::boolean(map, "template_strict").unwrap_or(true);
        self.is_lenient = pass_to == PassTo::Template && !is_strict;
        let words = self.with_names(names.iter().copied(), |decoder| {
            let words = |decoder: &mut Self, node: &Node| decoder.command_words(node);
            node.map_or_else(Vec::new, |node| decoder.without_line_end(|it| words(it, node)))
        });
        self.is_lenient = false;
        if let (Some(true), Some(node)) = (fields::boolean(map, "shell"), map.get("shell")) {
            let text = "`shell` has no effect: no shell runs the command";
            let problem = Problem::warning("no-effect", text).at(node.span);
            self.problems.push(problem.hint("use `run:` for a text that a shell should run"));
        }
        if let Some(node) =
            node.filter(|node| matches!(node.value, Value::List(_) | Value::Text(_)))
            && has_no_program(&words)
        {
            self.no_program("command", node);
        }
        if let (Some(Script::Word(place)), Some(node)) = (script_of(&words), node)
            && is_template(&words[place])
        {
            let text =
                "values are put into shell text here: whoever controls them can run anything";
            self.problems.push(
                Problem::warning("template-in-shell", text)
                    .at(node.span)
                    .hint("use `run:` with `env:`, or pass values as arguments after the text"),
            );
        }
        let work = ProcessWork {
            command: CommandLine::Argv(words),
            pass_to,
            shown: Shown {
                is_full: fields::boolean(map, "log_full_command").unwrap_or_default(),
                hidden_places: map.get("redact_args").map(|_| places(map)),
                hidden_words: map
                    .get("redact_patterns")
                    .map(|_| fields::texts(map, "redact_patterns")),
            },
            // flowtoy hands over everything.
            guarded: Vec::new(),
        };
        let surroundings = Surroundings {
            env: self.variables(map, "env"),
            inherit: map.get("inherit").map(|_| fields::texts(map, "inherit")),
            cwd: map.get("cwd").map(|node| Box::new(self.tree(node, "cwd"))),
            ..Surroundings::default()
        };
        (Work::Process(work), surroundings)
    }

    /// A command as a list, or as a text that is split as a shell would.
    fn command_words(&mut self, node: &Node) -> Vec<Tree> {
        match &node.value {
            Value::List(nodes) => self.words(nodes, "command"),
            Value::Text(text) => match split_words(text.as_str()) {
                Ok(words) => {
                    let word = |word: String| Node::text(word, node.span);
                    words.into_iter().map(|text| self.tree(&word(text), "command")).collect()
                }
                Err(error) => {
                    self.problems.push(Problem::error("bad-value", error).at(node.span));
                    vec![Tree::Value(text.as_str().into())]
                }
            },
            _ => Vec::new(),
        }
    }

    pub(super) fn surroundings(&mut self, map: &Map) -> Surroundings {
        let limits = fields::mapping(map, "rlimits").map(|map| {
            let count = |key| fields::integer(map, key).and_then(|value| u64::try_from(value).ok());
            Box::new(ResourceLimits {
                cpu_time: fields::duration(map, "cpu_time"),
                memory: fields::size(map, "memory"),
                processes: count("processes"),
                open_files: count("open_files"),
                file_size: fields::size(map, "file_size"),
            })
        });
        Surroundings {
            env: self.variables(map, "env"),
            inherit: map.get("inherit").map(|_| fields::texts(map, "inherit")),
            cwd: map.get("cwd").map(|node| Box::new(self.tree(node, "cwd"))),
            stdin: map.get("stdin").map(|node| Box::new(self.tree(node, "stdin"))),
            grace: fields::duration(map, "grace"),
            output_max: fields::size(map, "output_max"),
            capture_max: self.capture_max(map),
            limits,
            elsewhere: self.elsewhere(map),
        }
    }

    /// How much can become outputs: it is held in memory.
    fn capture_max(&mut self, map: &Map) -> Option<u64> {
        let bytes = fields::size(map, "capture_max")?;
        if bytes > CAPTURE_MOST {
            let text = "`capture_max` is at most 256MiB: outputs are held in memory and stored";
            let at = map.get("capture_max")?.span;
            let problem = Problem::error("out-of-range", text).at(at);
            self.problems.push(problem.hint("leave large things in a file of $TIDEWHEEL_RUN_DIR"));
        }
        Some(bytes)
    }

    pub(super) fn variables(&mut self, map: &Map, key: &str) -> Vec<(String, Tree)> {
        let Some(map) = fields::mapping(map, key) else { return Vec::new() };
        let mut variables = Vec::new();
        for entry in map.iter() {
            if !is_variable(&entry.key) {
                let text = format!("`{}` is no name of a variable", entry.key);
                let hint = "letters, digits and _, not starting with a digit";
                let problem = Problem::error("bad-name", text).at(entry.key_span);
                self.problems.push(problem.hint(hint));
            } else if matches!(&entry.value.value, Value::Text(text) if has_syntax(text))
                && loads_code(&entry.key)
            {
                let name = &entry.key;
                let text = format!("`{name}` decides what code runs; a value cannot set it");
                let hint = match name.as_str() {
                    "PATH" => "name folders as they stand: `PATH: ./bin:$PATH`".to_owned(),
                    _ => format!(
                        "write the value as it stands, take ours with `inherit: [{name}]`, or give it \
                         another name and say what becomes of it:  run: {name}=\"$VALUE\" program"
                    ),
                };
                self.problems.push(Problem::error("bad-name", text).at(entry.key_span).hint(hint));
            }
            let tree = self.tree(&entry.value, format_args!("{key}.{}", entry.key));
            variables.push((entry.key.clone(), tree));
        }
        variables
    }
}

/// Whether the first word is surely empty.
fn has_no_program(words: &[Tree]) -> bool {
    let first = words.first().map_or(Some(&Json::Null), Tree::as_value);
    first.is_some_and(|value| text_of(value).trim().is_empty())
}

/// Whether whoever sets this variable can have other code run, or read what is sent.
fn loads_code(name: &str) -> bool {
    let starts = ["LD_", "DYLD_", "GIT_"];
    let whole = [
        "BASH_ENV",
        "HOME",
        "IFS",
        "NODE_OPTIONS",
        "NODE_PATH",
        "PATH",
        "PERL5LIB",
        "PERL5OPT",
        "PYTHONHOME",
        "PYTHONPATH",
        "PYTHONSTARTUP",
        "RUBYLIB",
        "RUBYOPT",
        "SHELLOPTS",
    ];
    starts.iter().any(|start| name.starts_with(start))
        || whole.contains(&name)
        || name.to_ascii_uppercase().ends_with("_PROXY")
}

fn is_variable(name: &str) -> bool {
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    name.chars().all(is_letter) && name.starts_with(|letter: char| !letter.is_ascii_digit())
}

fn places(map: &Map) -> Vec<usize> {
    let nodes = fields::list(map, "redact_args");
    let place = |node: &Node| match node.value {
        Value::Int(place) => usize::try_from(place).ok(),
        _ => None,
    };
    nodes.iter().filter_map(place).collect()
}

fn process(command: CommandLine) -> ProcessWork {
    let (pass_to, shown) = (PassTo::Argument, Shown::default());
    ProcessWork { command, pass_to, shown, guarded: Vec::new() }
}
