//! Steps that start processes: `run:`, `argv:` and process sources.

use super::super::definition::{
    CommandLine, PassTo, ProcessWork, ResourceLimits, Shown, Surroundings, Work,
};
use super::super::problem::Problem;
use super::super::tree::Tree;
use super::super::words::split_words;
use super::super::yaml::{Map, Node, Value};
use super::{Decoder, fields};

/// Programs that run a text, and the letter of the option before it.
const INTERPRETERS: [(&str, char); 14] = [
    ("sh", 'c'),
    ("bash", 'c'),
    ("dash", 'c'),
    ("zsh", 'c'),
    ("ksh", 'c'),
    ("ash", 'c'),
    ("fish", 'c'),
    ("busybox", 'c'),
    ("python", 'c'),
    ("python3", 'c'),
    ("perl", 'e'),
    ("ruby", 'e'),
    ("node", 'e'),
    ("php", 'r'),
];

impl Decoder<'_> {
    /// `run:`: a text for the shell, in which templates have no place.
    pub(super) fn shell(&mut self, node: &Node, shell: Option<Vec<String>>) -> Option<Work> {
        let Value::Text(text) = &node.value else { return None };
        let script = text.as_str();
        for (opening, closing) in [("{{", "}}"), ("{%", "%}")] {
            let Some(start) = script.find(opening) else { continue };
            let rest = &script[start..];
            let end = rest.find(closing).map(|end| end + closing.len()).or_else(|| rest.find('\n'));
            let range = start..end.map_or(script.len(), |end| start + end);
            let inner = script[range.clone()].trim_matches(['{', '}', '%', ' ']);
            let text = "a value cannot be put into shell text: it would be read as program text";
            let problem = Problem::error("template-in-shell", text).at(text_span(node, range));
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
        if let Some(Script::Word(place)) = script_of(&words)
            && is_template(&words[place])
        {
            let text = "a value cannot be put into shell text: it would be read as program text";
            self.problems.push(
                Problem::error("template-in-shell", text).at(nodes[place].span).hint(
                    "pass it after the text and write \"$1\" there: [sh, -c, 'echo \"$1\"', sh, \"{{ … }}\"]",
                ),
            );
        }
        Some(process(CommandLine::Argv(words)))
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
        let is_strict = fields::boolean(map, "template_strict").unwrap_or(true);
        self.is_lenient = pass_to == PassTo::Template && !is_strict;
        let words = self.with_names(names, |decoder| decoder.command_words(node));
        self.is_lenient = false;
        if fields::boolean(map, "shell") == Some(true) {
            let text = "`shell` has no effect: no shell runs the command";
            let at = map.get("shell").map_or(node.span, |node| node.span);
            let problem = Problem::warning("no-effect", text).at(at);
            self.problems.push(problem.hint("use `run:` for a text that a shell should run"));
        }
        if words.is_empty() {
            let text = "`command` must name a program";
            self.problems.push(Problem::error("missing-key", text).at(node.span));
            return None;
        }
        if let Some(Script::Word(place)) = script_of(&words)
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
            } else if loads_code(&entry.key)
                && matches!(&entry.value.value, Value::Text(text) if text.as_str().contains("{{") || text.as_str().contains("{%"))
            {
                let text = format!("`{}` decides what code runs; a value cannot set it", entry.key);
                self.problems.push(Problem::error("bad-name", text).at(entry.key_span));
            }
            let tree = self.tree(&entry.value, &format!("{key}.{}", entry.key));
            variables.push((entry.key.clone(), tree));
        }
        variables
    }
}

/// Whether whoever sets this variable can have other code run, or read what is sent.
fn loads_code(name: &str) -> bool {
    let starts = ["LD_", "DYLD_", "GIT_"];
    let whole = [
        "BASH_ENV",
        "ENV",
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
    let upper = name.to_ascii_uppercase();
    starts.iter().any(|start| name.starts_with(start))
        || whole.contains(&name)
        || upper.ends_with("_PROXY")
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

fn process(command: CommandLine) -> Work {
    Work::Process(ProcessWork { command, pass_to: PassTo::Argument, shown: Shown::default() })
}

/// How a command runs a program text, if it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Script {
    /// The text is the word at this place.
    Word(usize),
    /// The text is the word after the last.
    Next,
    /// The text is what it reads.
    Stdin,
}

/// Finds the program text of a shell or the like. It need not come first: programs start programs.
pub(super) fn script_of(words: &[Tree]) -> Option<Script> {
    let word = |tree: &Tree| match tree {
        Tree::Value(value) => value.as_str().map(str::to_owned),
        // The start of a template may be an option.
        Tree::Text(leaf) => Some(leaf.template.literal_start().to_owned()),
        _ => None,
    };
    let letter_of = |tree: &Tree| {
        let program = word(tree).filter(|_| tree.as_value().is_some())?;
        let name = program.rsplit('/').next()?.to_owned();
        INTERPRETERS.iter().find(|(known, _)| *known == name).map(|(_, letter)| *letter)
    };
    let (place, letter) =
        words.iter().enumerate().find_map(|(place, tree)| Some((place, letter_of(tree)?)))?;
    let is_option = |tree: &Tree| word(tree).is_some_and(|word| word.starts_with('-'));
    let takes_text = |tree: &Tree| {
        let option = word(tree).unwrap_or_default();
        option.starts_with('-') && !option.starts_with("--") && option[1..].contains(letter)
    };
    let rest = || words.iter().enumerate().skip(place + 1);
    if let Some((option, tree)) = rest().find(|(_, tree)| takes_text(tree)) {
        // `-c{{ … }}`: the option and the text are one word.
        if tree.as_value().is_none() {
            return Some(Script::Word(option));
        }
        let text = words.iter().enumerate().skip(option + 1).find(|(_, tree)| !is_option(tree));
        return Some(text.map_or(Script::Next, |(place, _)| Script::Word(place)));
    }
    let has_file = rest().any(|(_, tree)| !is_option(tree));
    (!has_file).then_some(Script::Stdin)
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
