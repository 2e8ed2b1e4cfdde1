//! What steps of Dagu do: commands, scripts, requests, flows that are called.
//!
//! What surrounds it, such as retries, is in `policy`.

use std::collections::BTreeSet;

use serde_json::{Map, Value as Json, json};

use super::references::with_our_files;
use super::step::Kin;
use super::values::{text_of, words};
use super::whole::{Converter, take};
use crate::import::document::{Element, Mapping};
use crate::import::shell::{SHELLS, base_name};
use crate::import::text::{as_shell_text, as_template};
use crate::import::variables::{Part, asked, guarded, parts};

/// Flows of the same file are followed so far.
const DEPTH_MAX: usize = 4;
/// What stands behind the lines of a step before it is asked whether its rounds are over.
const AFTER: &str = ")\nended=$?; test $ended = 0 || exit $ended";

/// What stands around the text of a step.
#[derive(Debug, Default)]
struct Around {
    /// Lines that send what it writes to files.
    redirects: String,
    /// The line that tells whether its rounds are over.
    test: Option<String>,
}

impl Around {
    /// The text with what is around it; the test looks from outside, as whoever asks there.
    fn text(&self, text: &str) -> String {
        match &self.test {
            None => format!("{}{text}", self.redirects),
            Some(test) => format!("{}(\n{text}\n{AFTER}\n{test}\n", self.redirects),
        }
    }
}

impl Converter {
    /// What a step does. `is_captured` if something is made of what it writes. Gives back whether it tells
    /// by itself that its rounds are over.
    pub(super) fn work(
        &mut self,
        step: &mut Mapping,
        map: &mut Map<String, Json>,
        place: &str,
        is_captured: bool,
    ) -> bool {
        let (known, unset) = (self.values.env.len(), self.values.unset.clone());
        let is_tested = self.own_work(step, map, place, is_captured);
        // Its variables are its own.
        self.values.env.truncate(known);
        self.values.unset = unset;
        is_tested
    }

    fn own_work(
        &mut self,
        step: &mut Mapping,
        map: &mut Map<String, Json>,
        place: &str,
        is_captured: bool,
    ) -> bool {
        let mut env = Mapping::new();
        if let Some(variables) = take(map, "env") {
            for (name, value) in self.variables(variables, place) {
                env.add(&name, value.as_str());
            }
        }
        if let Some(folder) = take(map, "dir").or_else(|| take(map, "working_dir")) {
            let folder = self.values.rendered(&text_of(&folder));
            step.add("cwd", folder.as_str());
        }
        let container = take(map, "container");
        let called =
            take(map, "call").or_else(|| self.is_call(map).then(|| take(map, "run")).flatten());
        if let Some(called) = called {
            self.call(step, &text_of(&called), map, env, place);
            return false;
        }
        let (kind, config) = kind_of(map);
        match kind.as_deref() {
            None | Some("" | "shell" | "command") => {
                self.settings_of_shell(map, config, place);
                let is_here = container.is_none();
                if let Some(container) = container
                    && !self.own_container(step, container, place)
                {
                    let said = "echo 'the container of this step has no equal' >&2; exit 1";
                    step.add("run", said);
                    return false;
                }
                let redirects = self.redirects(map, is_captured, place);
                // A condition is asked on this machine.
                let test = is_here.then(|| self.round_test(step, map)).flatten();
                return self.program(step, map, env, &Around { redirects, test }, place);
            }
            Some("http") => self.request(step, map, config, place),
            Some(kind)
                if self.elsewhere(step, kind, config.as_ref().unwrap_or(&Json::Null), place) =>
            {
                let redirects = self.redirects(map, is_captured, place);
                self.program(step, map, env, &Around { redirects, test: None }, place);
            }
            Some(kind) => {
                let command = take(map, "command").or_else(|| take(map, "script"));
                let command = command.map(|it| text_of(&it)).unwrap_or_default();
                let config = config.unwrap_or_default();
                self.remarks.lose(place, format!("a step of type `{kind}` ({config}): {command}"));
                let said = format!("echo 'a step of type {kind} has no equal' >&2; exit 1");
                step.add("run", as_shell_text(&said).as_str());
            }
        }
        false
    }

    /// What is said of the shell beside a command.
    fn settings_of_shell(
        &mut self,
        map: &mut Map<String, Json>,
        config: Option<Json>,
        place: &str,
    ) {
        let Some(Json::Object(mut config)) = config else { return };
        if let Some(shell) = take(&mut config, "shell") {
            map.insert("shell".to_owned(), shell);
        }
        self.lost_keys(config, &format!("{place}, with"));
    }

    /// Whether `run` of old files names a flow.
    pub(super) fn is_call(&self, map: &Map<String, Json>) -> bool {
        let Some(Json::String(word)) = map.get("run") else { return false };
        let is_word = !word.trim().contains(char::is_whitespace);
        let has_more = map.contains_key("params") || map.contains_key("parallel");
        is_word && (has_more || self.locals.contains_key(word))
    }

    fn program(
        &mut self,
        step: &mut Mapping,
        map: &mut Map<String, Json>,
        mut env: Mapping,
        around: &Around,
        place: &str,
    ) -> bool {
        if let Some(exec) = take(map, "exec") {
            take(map, "shell");
            if !around.redirects.is_empty() {
                self.remarks.lose(place, "`stdout` and `stderr` of a program in files");
            }
            self.exec(step, exec, env, place);
            return false;
        }
        let command = take(map, "command").or_else(|| take(map, "run")).unwrap_or_default();
        let script = take(map, "script").map(|it| text_of(&it));
        let shell = take(map, "shell").map(|it| match it {
            Json::Array(words) => words.iter().map(text_of).collect(),
            other => words(&text_of(&other)),
        });
        let command = match command {
            Json::Array(list) => {
                let list: Vec<String> = list.iter().map(text_of).collect();
                let has_blank = |word: &String| word.trim().contains(char::is_whitespace);
                match list.len() > 1 && list.iter().all(has_blank) {
                    true => list.join("\n"),
                    false => joined(&list),
                }
            }
            other => text_of(&other),
        };
        let interpreter = words(&command);
        let program = interpreter.first().map_or("", |it| base_name(it));
        let (text, shell) = match script {
            None => (command, shell),
            Some(script) if command.is_empty() => match shebang(&script) {
                None => (script, shell),
                Some(words) => return self.script(step, (script, words), env, around, place),
            },
            Some(script) if SHELLS.contains(&program) => (script, Some(interpreter)),
            Some(script) => {
                return self.script(step, (script, interpreter), env, around, place);
            }
        };
        if text.trim().is_empty() {
            self.remarks.lose(place, "what it does");
            step.add("run", "echo 'what this step does has no equal' >&2; exit 1");
            return false;
        }
        let is_known = |words: &Vec<String>| {
            words.first().is_none_or(|program| SHELLS.contains(&base_name(program)))
        };
        let is_tested = around.test.is_some() && shell.as_ref().is_none_or(is_known);
        let text = match is_tested {
            true => around.text(&text),
            false => format!("{}{text}", around.redirects),
        };
        let text = self.with_paths(&mut env, &text, place);
        self.ask_for(&mut env, &text);
        if !env.is_empty() {
            step.add("env", env);
        }
        self.shell_text(step, &text, shell.map(strict));
        is_tested
    }

    /// A script for a program that it names.
    fn script(
        &mut self,
        step: &mut Mapping,
        (script, mut interpreter): (String, Vec<String>),
        mut env: Mapping,
        around: &Around,
        place: &str,
    ) -> bool {
        let is_shell = interpreter.first().is_some_and(|it| SHELLS.contains(&base_name(it)));
        let script = match is_shell {
            true => self.with_paths(&mut env, &around.text(&script), place),
            false => script,
        };
        self.ask_for(&mut env, &script);
        if !env.is_empty() {
            step.add("env", env);
        }
        if is_shell {
            self.shell_text(step, &script, Some(interpreter));
            return around.test.is_some();
        }
        if self.has_values(&script, place) {
            step.add("run", "echo 'values in a program have no equal' >&2; exit 1");
            return false;
        }
        if !around.redirects.is_empty() {
            self.remarks.lose(place, "`stdout` and `stderr` of a script in files");
        }
        interpreter.push("-".to_owned());
        step.add("argv", json!(interpreter));
        step.add("stdin", as_template(&script).as_str());
        false
    }

    /// A text for a shell. What is known by its place is handed over as arguments.
    pub(super) fn shell_text(
        &mut self,
        step: &mut Mapping,
        text: &str,
        shell: Option<Vec<String>>,
    ) {
        let text = with_our_files(&guarded(text, &self.values.unset));
        let text = text.as_str();
        let mut shell = shell.unwrap_or_default();
        if !shell.is_empty() {
            shell.push("-c".to_owned());
        }
        let is_place = |part: &Part<'_>| matches!(part, Part::Variable { name, .. } if name.parse::<usize>().is_ok());
        if !self.values.places.is_empty() && parts(text, true).iter().any(is_place) {
            let mut argv = match shell.is_empty() {
                true => vec!["/bin/sh".to_owned(), "-ec".to_owned()],
                false => shell,
            };
            argv.push(as_template(text));
            argv.push("sh".to_owned());
            let places = 1..=self.values.places.len();
            argv.extend(places.map(|place| format!("{{{{ params.p{place} }}}}")));
            step.add("argv", json!(argv));
            step.add("allow_options", Json::Bool(true));
            return;
        }
        step.add("run", as_shell_text(text).as_str());
        if !shell.is_empty() {
            step.add("shell", json!(shell));
        }
    }

    /// Hands over the outputs that a text asks for.
    pub(super) fn ask_for(&mut self, env: &mut Mapping, text: &str) {
        let mut given = BTreeSet::new();
        for (name, _) in asked(text) {
            let is_value = self.values.outputs.contains_key(name)
                || name == "ITEM"
                || self.values.of_run(name).is_some();
            if is_value
                && env.text(name).is_none()
                && given.insert(name.to_owned())
                && let Some(template) = self.values.template(name, "")
            {
                env.add(name, template.as_str());
            }
        }
    }

    /// The text with a variable of its own for each part of an output that it asks for.
    pub(super) fn with_paths(&mut self, env: &mut Mapping, text: &str, place: &str) -> String {
        let text = self.with_places(env, text, place);
        self.take_for_granted(env, &text, place);
        let mut written = String::new();
        let mut asked = BTreeSet::new();
        for part in parts(&text, true) {
            match part {
                Part::Variable { name, path, whole } if !path.is_empty() => {
                    let variable = format!("{name}_{}", path.replace(['.', '[', ']', '-'], "_"));
                    match self.values.template(name, path) {
                        Some(template) => {
                            if asked.insert(variable.clone()) {
                                env.add(&variable, template.as_str());
                            }
                            written.push_str(&format!("${{{variable}}}"));
                        }
                        None => {
                            if path.starts_with(|letter: char| letter.is_ascii_alphabetic()) {
                                self.remarks.lose(place, format!("`{whole}`"));
                            }
                            written.push_str(whole);
                        }
                    }
                }
                Part::Variable { whole, .. } => written.push_str(whole),
                Part::Text(text) => written.push_str(text),
            }
        }
        written
    }

    /// A flow that is called: one of the same file becomes a group.
    fn call(
        &mut self,
        step: &mut Mapping,
        name: &str,
        map: &mut Map<String, Json>,
        env: Mapping,
        place: &str,
    ) {
        let mut env = env;
        self.elements(step, map, place);
        let params = take(map, "params");
        let local = self.locals.get(name).cloned().filter(|_| self.depth < DEPTH_MAX);
        let said = self.said(params, place);
        match local {
            Some(mut local) => {
                for (key, value) in said {
                    env.add(&key, value.as_str());
                }
                let mut inner = Self {
                    locals: self.locals.clone(),
                    depth: self.depth + 1,
                    names: std::mem::take(&mut self.names),
                    ..Self::default()
                };
                inner.values.outputs = self.values.outputs.clone();
                inner.values.has_gaps = self.values.has_gaps;
                inner.values.env = self.values.env.clone();
                inner.values.unset = self.values.unset.clone();
                if let Some(defaults) = take(&mut local, "params") {
                    inner.params(defaults);
                    for (key, value) in std::mem::take(&mut inner.values.params) {
                        if env.text(&key).is_none() {
                            env.add(&key, as_template(&text_of(&value)).as_str());
                        }
                    }
                }
                let is_graph = take(&mut local, "type").is_some_and(|word| word == "graph");
                let steps = take(&mut local, "steps").unwrap_or_default();
                let shared = inner.shared_keys(&mut local);
                let kin = Kin { is_chain: !is_graph, shared };
                let steps: Vec<Element> = inner.steps(steps, &kin, Vec::new());
                take(&mut local, "name");
                take(&mut local, "description");
                inner.lost_keys(local, &format!("flow `{name}`"));
                self.names = inner.names;
                self.remarks.join(inner.remarks);
                self.values.ours.extend(inner.values.ours);
                if !env.is_empty() {
                    step.add("env", env);
                }
                step.add("steps", steps);
            }
            None => {
                let file = match name.ends_with(".yaml") || name.ends_with(".yml") {
                    true => name.to_owned(),
                    false => format!("{name}.yaml"),
                };
                step.add("flow", file.as_str());
                let mut with = Mapping::new();
                for (key, value) in said {
                    with.add(&key, value.as_str());
                }
                if !with.is_empty() {
                    step.add("with", with);
                }
            }
        }
    }

    /// Params for a flow that is called, as templates.
    fn said(&mut self, params: Option<Json>, place: &str) -> Vec<(String, String)> {
        let pairs: Vec<(String, String)> = match params {
            Some(Json::Object(map)) => {
                map.iter().map(|(key, value)| (key.clone(), text_of(value))).collect()
            }
            Some(Json::Array(list)) => list
                .iter()
                .flat_map(|it| match it {
                    Json::Object(map) => {
                        map.iter().map(|(key, value)| (key.clone(), text_of(value))).collect()
                    }
                    other => self.pairs_of(&text_of(other), place),
                })
                .collect(),
            Some(other) => self.pairs_of(&text_of(&other), place),
            None => Vec::new(),
        };
        pairs.into_iter().map(|(key, value)| (key, self.values.rendered(&value))).collect()
    }

    /// `A=1 B=2`.
    fn pairs_of(&mut self, text: &str, place: &str) -> Vec<(String, String)> {
        let mut pairs = Vec::new();
        for word in words(text) {
            match word.split_once('=') {
                Some((name, value)) => pairs.push((name.to_owned(), value.to_owned())),
                None => self.remarks.lose(place, format!("the param `{word}` without a name")),
            }
        }
        pairs
    }

    /// `parallel`: once for each of a list.
    fn elements(&mut self, step: &mut Mapping, map: &mut Map<String, Json>, place: &str) {
        let (items, most) = match take(map, "parallel") {
            Some(Json::Object(mut parallel)) => {
                (take(&mut parallel, "items"), take(&mut parallel, "max_concurrent"))
            }
            other => (other, None),
        };
        match items {
            None => return,
            Some(Json::Array(items)) => step.add("foreach", Json::Array(items)),
            Some(other) => {
                let text = text_of(&other);
                let list = match self.values.rendered(&text) {
                    template if template.starts_with("{{") => {
                        template.replacen(" }}", " | fromjson }}", 1)
                    }
                    _ => {
                        self.remarks.lose(place, format!("`parallel: {text}`"));
                        return;
                    }
                };
                step.add("foreach", list.as_str());
            }
        }
        if let Some(most) = most {
            step.add("parallel", most);
        }
    }

    /// Lines that send what is written to files.
    fn redirects(&mut self, map: &mut Map<String, Json>, is_captured: bool, place: &str) -> String {
        let mut lines = String::new();
        for (key, number) in [("stdout", 1), ("stderr", 2)] {
            let file = match take(map, key) {
                Some(Json::String(file)) => file,
                Some(other) => {
                    self.remarks.lose(place, format!("`{key}: {other}`"));
                    continue;
                }
                None => continue,
            };
            match is_captured && number == 1 {
                true => self.remarks.lose(place, format!("`stdout: {file}` beside `output`")),
                false => lines.push_str(&format!("exec {number}>> \"{file}\"\n")),
            }
        }
        lines
    }

    fn request(
        &mut self,
        step: &mut Mapping,
        map: &mut Map<String, Json>,
        config: Option<Json>,
        place: &str,
    ) {
        let command = take(map, "command").map(|it| text_of(&it)).unwrap_or_default();
        let (method, url) = command.trim().split_once(' ').unwrap_or(("GET", command.trim()));
        let script = take(map, "script").map(|it| text_of(&it));
        let script = script.and_then(|text| match serde_json::from_str(&text) {
            Ok(config) => Some(config),
            Err(_) => {
                self.remarks.lose(place, format!("`script: {text}` of a request"));
                None
            }
        });
        if let (Some(_), Some(config)) = (&script, &config) {
            self.remarks.lose(place, format!("`with: {config}` beside the script of a request"));
        }
        let mut config = match script.or(config) {
            Some(Json::Object(config)) => config,
            _ => Map::new(),
        };
        let mut request = Mapping::new();
        request.add("url", self.values.rendered(url.trim()).as_str());
        request.add("method", method);
        for key in ["headers", "query"] {
            if let Some(Json::Object(pairs)) = take(&mut config, key).filter(|it| *it != json!({}))
            {
                let mut written = Mapping::new();
                for (name, value) in pairs {
                    written.add(&name, self.values.rendered(&text_of(&value)).as_str());
                }
                request.add(key, written);
            }
        }
        if let Some(body) =
            take(&mut config, "body").map(|it| text_of(&it)).filter(|it| !it.is_empty())
        {
            request.add("body", self.values.rendered(&body).as_str());
        }
        if let Some(time) = take(&mut config, "timeout") {
            request.add("timeout", time);
        }
        take(&mut config, "silent");
        self.lost_keys(config, &format!("{place}, request"));
        step.add("http", request);
        // There a request is sent once unless something else is said.
        if !map.contains_key("retry_policy") && !map.contains_key("retryPolicy") {
            step.add("retry", Json::from(0));
        }
    }
}

/// What kind of step one is, and what is said of that.
fn kind_of(map: &mut Map<String, Json>) -> (Option<String>, Option<Json>) {
    let executor = take(map, "executor").or_else(|| take(map, "type"));
    let (kind, config) = match executor {
        Some(Json::Object(mut executor)) => {
            (take(&mut executor, "type").map(|it| text_of(&it)), take(&mut executor, "config"))
        }
        other => (other.map(|it| text_of(&it)), None),
    };
    // The one is called like the other in old files.
    let config = take(map, "with").or_else(|| take(map, "config")).or(config);
    (kind, config)
}

/// A shell that stops at the first command that fails.
fn strict(mut shell: Vec<String>) -> Vec<String> {
    if !shell.is_empty() && !shell.iter().skip(1).any(|it| it.starts_with('-') && it.contains('e'))
    {
        shell.push("-e".to_owned());
    }
    shell
}

/// The program that the first line of a script names, with its arguments.
fn shebang(script: &str) -> Option<Vec<String>> {
    let line = script.strip_prefix("#!")?.lines().next()?;
    let mut words = words(line);
    if words.first().is_some_and(|program| program.ends_with("/env")) {
        words.remove(0);
        words.retain(|word| word != "-S");
    }
    (!words.is_empty()).then_some(words)
}

/// Words as one line of a shell, in which variables are filled in.
fn joined(words: &[String]) -> String {
    let is_plain = |word: &str| {
        let is_fine =
            |letter: char| letter.is_ascii_alphanumeric() || "_-./=:,@%+".contains(letter);
        !word.is_empty() && word.chars().all(is_fine)
    };
    let word = |word: &String| match is_plain(word) {
        true => word.clone(),
        false => format!("\"{}\"", word.replace('\\', "\\\\").replace('"', "\\\"")),
    };
    words.iter().map(word).collect::<Vec<_>>().join(" ")
}
