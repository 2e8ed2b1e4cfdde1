//! Steps that start processes: `run:`, `argv:` and process sources.

use super::super::definition::{
    CommandLine, PassTo, ProcessWork, ResourceLimits, Shown, Surroundings, Work,
};
use super::super::problem::Problem;
use super::super::tree::Tree;
use super::super::words::split_words;
use super::super::yaml::{Map, Node, Value};
use super::{Decoder, fields};

/// Programs that take their next argument but one as program text.
const SHELLS: [&str; 8] = ["sh", "bash", "dash", "zsh", "ksh", "ash", "fish", "busybox"];

impl Decoder<'_> {
    /// `run:`: a text for the shell, in which templates have no place.
    pub(super) fn shell(&mut self, node: &Node, shell: Option<Vec<String>>) -> Option<Work> {
        let Value::Text(text) = &node.value else { return None };
        let script = text.as_str();
        for opening in ["{{", "{%", "{#"] {
            let Some(start) = script.find(opening) else { continue };
            // `${#array[@]}` and the like are the shell's own.
            if script[..start].ends_with('$') || opening == "{#" {
                continue;
            }
            let end = script[start..].find(['}', '\n']).map_or(script.len(), |end| start + end + 2);
            let inner = script[start + 2..end.min(script.len())].trim_matches(['}', ' ', '%']);
            let text = "a value cannot be put into shell text: it would be read as program text";
            let problem = Problem::error("template-in-shell", text)
                .at(text_span(node, start..end.min(script.len())));
            self.problems.push(problem.hint(format!(
                "pass it as a variable:  env: {{ VALUE: \"{{{{ {inner} }}}}\" }}  and write \"$VALUE\" here"
            )));
            return None;
        }
        Some(process(CommandLine::Shell { text: script.to_owned(), shell }))
    }

    /// `argv:`: a program with its arguments.
    pub(super) fn argv(&mut self, nodes: &[Node], at: &Node) -> Option<Work> {
        if nodes.is_empty() {
            let text = "`argv` must name a program";
            self.problems.push(Problem::error("missing-key", text).at(at.span));
            return None;
        }
        let words = self.words(nodes, "argv");
        if let Some(place) = script_place(&words).filter(|place| is_template(&words[*place])) {
            let text = "a value cannot be put into shell text: it would be read as program text";
            self.problems.push(
                Problem::error("template-in-shell", text).at(nodes[place].span).hint(
                    "pass it after the text and write \"$1\" there: [sh, -c, 'echo \"$1\"', sh, \"{{ … }}\"]",
                ),
            );
        }
        Some(process(CommandLine::Argv(words)))
    }

    fn words(&mut self, nodes: &[Node], place: &str) -> Vec<Tree> {
        let place = |index| format!("{place}[{index}]");
        nodes.iter().zip(0..).map(|(node, index)| self.tree(node, &place(index))).collect()
    }

    /// A process source, as flowtoy has it.
    pub(super) fn process_source(&mut self, map: &Map) -> Option<(Work, Surroundings)> {
        let pass_to = match fields::word(map, "pass_to").as_deref() {
            Some("stdin") => PassTo::Stdin,
            Some("template") => PassTo::Template,
            _ => PassTo::Argument,
        };
        let node = map.get("command")?;
        let names: &[&str] = if pass_to == PassTo::Template { &["input", "json"] } else { &[] };
        let words = self.with_names(names, |decoder| decoder.command_words(node));
        if words.is_empty() {
            let text = "`command` must name a program";
            self.problems.push(Problem::error("missing-key", text).at(node.span));
            return None;
        }
        if script_place(&words).is_some_and(|place| is_template(&words[place])) {
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
            is_strict: fields::boolean(map, "template_strict").unwrap_or(true),
            shown: Shown {
                is_full: fields::boolean(map, "log_full_command").unwrap_or_default(),
                hidden_places: map.get("redact_args").map(|_| places(map)),
                hidden_words: map
                    .get("redact_patterns")
                    .map(|_| fields::texts(map, "redact_patterns")),
            },
        };
        let surroundings = Surroundings {
            env: self.variables(map, "env"),
            inherit: map.get("inherit").map(|_| fields::texts(map, "inherit")),
            cwd: map.get("cwd").map(|node| self.tree(node, "cwd")),
            ..Surroundings::default()
        };
        Some((Work::Process(work), surroundings))
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
                    vec![Tree::Value(serde_json::Value::Null)]
                }
            },
            _ => Vec::new(),
        }
    }

    pub(super) fn surroundings(&mut self, map: &Map) -> Surroundings {
        let limits = fields::mapping(map, "rlimits").map_or_else(ResourceLimits::default, |map| {
            let count = |key| fields::integer(map, key).and_then(|value| u64::try_from(value).ok());
            ResourceLimits {
                cpu_time: fields::duration(map, "cpu_time"),
                memory: fields::size(map, "memory"),
                processes: count("processes"),
                open_files: count("open_files"),
                file_size: fields::size(map, "file_size"),
            }
        });
        Surroundings {
            env: self.variables(map, "env"),
            inherit: map.get("inherit").map(|_| fields::texts(map, "inherit")),
            cwd: map.get("cwd").map(|node| self.tree(node, "cwd")),
            stdin: map.get("stdin").map(|node| self.tree(node, "stdin")),
            grace: fields::duration(map, "grace"),
            output_max: fields::size(map, "output_max"),
            limits,
        }
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
            } else if FORBIDDEN.iter().any(|name| entry.key.starts_with(name))
                && matches!(&entry.value.value, Value::Text(text) if text.as_str().contains("{{"))
            {
                let text = format!("`{}` decides what code is loaded; a value cannot", entry.key);
                self.problems.push(Problem::error("bad-name", text).at(entry.key_span));
            }
            let tree = self.tree(&entry.value, &format!("{key}.{}", entry.key));
            variables.push((entry.key.clone(), tree));
        }
        variables
    }
}

/// Variables by which whoever sets them runs code of his own.
const FORBIDDEN: [&str; 8] =
    ["LD_", "DYLD_", "BASH_ENV", "ENV", "PYTHONSTARTUP", "NODE_OPTIONS", "PERL5OPT", "RUBYOPT"];

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

fn process(command: CommandLine) -> Work {
    Work::Process(ProcessWork {
        command,
        pass_to: PassTo::Argument,
        is_strict: true,
        shown: Shown::default(),
    })
}

/// Where the program text of a shell is among the words of a command.
fn script_place(words: &[Tree]) -> Option<usize> {
    let word = |tree: &Tree| tree.as_value().and_then(|value| value.as_str().map(str::to_owned));
    let program = word(words.first()?)?;
    let program = program.rsplit('/').next().unwrap_or_default();
    if !SHELLS.contains(&program) {
        return None;
    }
    let option = words.iter().position(|tree| {
        word(tree).is_some_and(|word| {
            word.starts_with('-') && !word.starts_with("--") && word.ends_with('c')
        })
    })?;
    (option + 1 < words.len()).then_some(option + 1)
}

fn is_template(tree: &Tree) -> bool {
    tree.as_value().is_none()
}

fn text_span(node: &Node, range: std::ops::Range<usize>) -> super::super::problem::Span {
    match &node.value {
        Value::Text(text) => text.span_of(range),
        _ => node.span,
    }
}
