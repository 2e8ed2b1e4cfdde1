//! One step.
//!
//! The kinds of work are decoded in the files beside this one.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use super::foreach::element_names;
use super::source::SourceWork;
use super::treatment::capacity_places;
use super::{Decoder, fields};
use crate::definition::keys::{self, WORKS};
use crate::definition::params::fits;
use crate::definition::shape::meant_key;
use crate::definition::{
    ArtifactRule, Cache, ChildFlow, OutputRule, Place, Shell, Step, StepOutput, Surroundings,
    Treatment, Wait, WaitFor, Work, is_inside, of_run,
};
use crate::language::problem::{Problem, Span};
use crate::language::query::Query;
use crate::language::yaml::{Map, Node, Value};

/// What can be said of a group and of a step that calls a flow.
const OF_GROUPS: [&str; 15] = [
    "label",
    "retry",
    "timeout",
    "name",
    "description",
    "tags",
    "parallel",
    "depends_on",
    "when",
    "foreach",
    "matrix",
    "on_error",
    "on_dependency_error",
    "on_skip",
    "always",
];

/// What a group says for its steps.
const FOR_STEPS: [&str; 4] = ["env", "cwd", "inherit", "shell"];

/// What can be said only of a step that starts a program.
const OF_PROGRAMS: [&str; 13] = [
    "shell",
    "allow_options",
    "env",
    "inherit",
    "stdin",
    "grace",
    "output_max",
    "capture_max",
    "rlimits",
    "skip_codes",
    "artifacts",
    "container",
    "ssh",
];
/// What can be said of a program only if it is the work of a step, and not a look.
const OF_WORK: [&str; 4] = ["allow_options", "output_max", "skip_codes", "artifacts"];
/// What templates of outputs may name.
const RESULT_NAMES: [&str; 9] =
    ["stdout", "stderr", "output", "code", "returncode", "json", "data", "status", "headers"];
/// What they may name of an answer.
const ANSWER_NAMES: [&str; 5] = ["data", "json", "status", "code", "headers"];
/// What names of variables that hold secrets have in them.
const SECRET_WORDS: [&str; 6] =
    ["TOKEN", "SECRET", "PASSW", "CREDENTIAL", "API_KEY", "PRIVATE_KEY"];
const NAME_LENGTH_MAX: usize = 100;

impl Decoder<'_> {
    /// A step. Whatever of it cannot be understood, the rest of it is checked.
    pub(super) fn step(
        &mut self,
        node: &Node,
        place: Place,
        sources: &BTreeMap<String, Node>,
    ) -> Option<Step> {
        let said = fields::as_mapping(node)?;
        let map = &self.with_defaults(said);
        let name_node = map.get("name").or_else(|| self.meant(map, "name"));
        // That there is none, or an empty one, was reported.
        let name = name_node.and_then(fields::name);
        if let (Some(name), Some(node)) = (&name, name_node) {
            self.check_name(name, node);
        }
        let name = name.unwrap_or_default();
        let foreach = self.foreach(map);
        self.with_names(element_names(map), |decoder| {
            let SourceWork { work, surroundings: from_source, timeout } =
                decoder.work(node, map, &name, sources);
            decoder.check_effects(said);
            // What a group says is said for its steps, which have it already.
            let own = match map.get("steps") {
                Some(_) => Surroundings::default(),
                None => decoder.surroundings(map),
            };
            let surroundings = laid_over(own, from_source);
            let input = map.get("input").map(|node| {
                Box::new(match map.get("source") {
                    Some(_) => decoder.without_line_end(|decoder| decoder.tree(node, "input")),
                    None => decoder.tree(node, "input"),
                })
            });
            decoder.check_program_text(map, &work, surroundings.stdin.as_deref(), input.as_deref());
            let (after, clauses) = decoder.depends_on(map, place);
            decoder.check_description(map);
            decoder.check_tries(map, &work);
            decoder.check_stored(map, &work);
            decoder.check_written(map, &work);
            decoder.check_repeated(said, &work);
            let (outputs, repeat) = (decoder.outputs(map, &name), decoder.repeat(map));
            decoder.check_left_there(map, &outputs, repeat.as_ref());
            Some(Step {
                description: fields::owned(map, "description"),
                tags: fields::texts(map, "tags"),
                place,
                after,
                clauses,
                skip_codes: fields::codes(map, "skip_codes"),
                retry_if: decoder.retry_if(map).map(Box::new),
                repeat: repeat.map(Box::new),
                treatment: decoder.step_treatment(map, timeout),
                span: name_node.unwrap_or(node).span,
                capacity: capacity_places(map),
                surroundings,
                input,
                outputs,
                when: map
                    .get("when")
                    .and_then(|node| decoder.expression(node, "when"))
                    .map(Box::new),
                foreach: foreach.map(Box::new),
                cache: map.get("cache").and_then(|node| decoder.cache(node)).map(Box::new),
                artifacts: decoder.artifacts(map),
                name,
                work,
            })
        })
    }

    /// Refuses what would have no effect.
    fn check_effects(&mut self, map: &Map) {
        let is_said = |key: &str| map.get(key).is_some_and(|node| !node.is_null());
        let mut works = WORKS.iter().copied().filter(|work| is_said(work));
        let (work, None) = (works.next(), works.next()) else { return };
        let (what, hint) = match work {
            Some("flow") => ("calls a flow", "say it in the steps of the called flow"),
            Some("steps") => ("is a group", "say it in the steps of the group"),
            Some("http") => ("sends a request", "only programs take it"),
            Some("wait") => ("waits", "only programs take it"),
            _ if is_said("sequence") => ("is no group", "only a group, with `steps`, has an order"),
            _ => return,
        };
        let looks_by_command =
            fields::mapping(map, "wait").is_some_and(|it| it.get("run").is_some());
        let has_effect = |key: &&str| match work {
            Some("flow") => OF_GROUPS.contains(key) || *key == "with",
            _ if *key == "sequence" => work == Some("steps"),
            Some("steps") => OF_GROUPS.contains(key) || FOR_STEPS.contains(key),
            Some("wait") if *key == "repeat" => false,
            Some("wait") if looks_by_command => !OF_WORK.contains(key),
            Some("http" | "wait") => !OF_PROGRAMS.contains(key),
            _ => true,
        };
        let keys = keys::STEP.keys.iter().map(|key| key.name);
        for key in keys.filter(|key| !WORKS.contains(key) && is_said(key) && !has_effect(key)) {
            let text = format!("`{key}` has no effect on a step that {what}");
            let problem = Problem::error("contradiction", text).hint(hint);
            self.problems.push(match map.get(key) {
                Some(node) => problem.at(node.span),
                None => problem,
            });
        }
    }

    fn check_name(&mut self, name: &str, node: &Node) {
        let forbidden = ['/', '[', ']', '{', '}', '"', '\'', '\\', '`', '*'];
        let is_bad = |letter: char| letter.is_control() || forbidden.contains(&letter);
        let text = if name.trim().is_empty() {
            return;
        } else if name.chars().count() > NAME_LENGTH_MAX {
            format!("the name of a step has at most {NAME_LENGTH_MAX} letters")
        } else if name.chars().any(is_bad) || name != name.trim() {
            "the name of a step has no / [ ] { } * \\ ` or quotes, no control characters, and no \
             blanks around it"
                .to_owned()
        } else {
            return;
        };
        self.problems.push(Problem::error("bad-name", text).at(node.span));
    }

    /// Outputs are stored; what is taken from variables may be a secret.
    fn check_stored(&mut self, map: &Map, work: &Work) {
        let Work::Env(names) = work else { return };
        let is_secret = |name: &&String| {
            let name = name.to_ascii_uppercase();
            SECRET_WORDS.iter().any(|word| name.contains(word))
        };
        let output = map.get("output").or_else(|| map.get("outputs"));
        if let (Some(name), Some(node)) = (names.iter().find(is_secret), output) {
            let text = format!("what is left of `{name}` is stored with the run, and not masked");
            let problem = Problem::warning("stored-secret", text).at(node.span);
            let hint = "declare it:  secrets: { token: { env: NAME } }  and use `secrets.token`";
            self.problems.push(problem.hint(hint.replace("NAME", name)));
        }
    }

    /// Only processes write a file for outputs.
    fn check_written(&mut self, map: &Map, work: &Work) {
        let Some(node) = map.get("outputs").filter(|node| node.as_list().is_some()) else { return };
        let looks = |wait: &Wait| matches!(wait.what, WaitFor::Run(_));
        let is_program = match work {
            Work::Process(_) | Work::Flow(_) => true,
            Work::Wait(wait) => looks(wait),
            _ => false,
        };
        if !is_program {
            let text = "only a program can write outputs to `$TIDEWHEEL_OUTPUT`";
            let hint = "say where each comes from:  outputs: { name: \"{{ data.name }}\" }";
            self.problems.push(Problem::error("contradiction", text).at(node.span).hint(hint));
        }
    }

    /// The value of a key that is misspelt.
    fn meant<'m>(&self, map: &'m Map, key: &str) -> Option<&'m Node> {
        let is_meant = |word: &str| meant_key(word, &keys::STEP, self.problems) == Some(key);
        let mut unknown = map.iter().filter(|entry| keys::STEP.key(&entry.key).is_none());
        unknown.find(|entry| is_meant(&entry.key)).map(|entry| &entry.value)
    }

    /// What the step does; nothing, if that cannot be understood.
    fn work(
        &mut self,
        node: &Node,
        map: &Map,
        name: &str,
        sources: &BTreeMap<String, Node>,
    ) -> SourceWork {
        let said = fields::said(map, &WORKS);
        let mut works: Vec<Option<SourceWork>> =
            said.iter().map(|kind| self.work_of(kind, map, sources)).collect();
        match said[..] {
            [] if WORKS.iter().any(|work| self.meant(map, work).is_some()) => {}
            [] => {
                let text = format!("step `{name}` does nothing");
                let hint = format!("say what it does with one of {}", WORKS.join(", "));
                let at = map.get("name").unwrap_or(node).span;
                self.problems.push(Problem::error("no-work", text).at(at).hint(hint));
            }
            [_] => {}
            [_, second, ..] => {
                let text = format!("step `{name}` does several things: {}", said.join(", "));
                let at = map.get(second).unwrap_or(node).span;
                let problem = Problem::error("contradiction", text).at(at);
                self.problems.push(problem.hint("make a step of each"));
            }
        }
        works.pop().flatten().unwrap_or_else(|| {
            if said.contains(&"flow") {
                self.gaps.outputs.insert(name.to_owned());
                // What the called flow would bring along is not known either.
                self.gaps.sections.extend(["limits", "queues"]);
            }
            SourceWork::of(Work::Env(Vec::new()))
        })
    }

    fn work_of(
        &mut self,
        kind: &str,
        map: &Map,
        sources: &BTreeMap<String, Node>,
    ) -> Option<SourceWork> {
        let value = map.get(kind)?;
        Some(SourceWork::of(match kind {
            "run" => self.shell(value, shell_of(map))?,
            "argv" => {
                let allows_options = fields::boolean(map, "allow_options").unwrap_or_default();
                self.argv(value, allows_options)?
            }
            "http" => Work::Http(Box::new(self.http(value)?)),
            "source" => return self.source_work(value, sources),
            "wait" => Work::Wait(self.wait(value, map)?),
            "steps" => Work::Flow(self.group(value, map, sources)?),
            _ => Work::Flow(self.child(value, map)?),
        }))
    }

    fn child(&mut self, node: &Node, map: &Map) -> Option<ChildFlow> {
        let with = fields::mapping(map, "with").into_iter().flat_map(Map::iter);
        let mut params = Vec::new();
        for entry in with.clone() {
            let tree = self.tree(&entry.value, format_args!("with.{}", entry.key));
            params.push((entry.key.clone(), tree));
        }
        let flow = self.finder.find(fields::node_text(node)?, node, self.problems)?;
        if flow.gaps.has_section("params") {
            return Some(ChildFlow { flow, params, is_group: false });
        }
        for (entry, (_, tree)) in with.zip(&params) {
            let Some(param) = flow.params.iter().find(|param| param.name == entry.key) else {
                let text = format!("flow `{}` has no param `{}`", flow.name, entry.key);
                self.problems.push(Problem::error("unknown-param", text).at(entry.key_span));
                continue;
            };
            if let Some(Err(why)) = tree.as_value().map(|value| fits(param, value)) {
                let text = format!("param `{}` of flow `{}`: {why}", param.name, flow.name);
                self.problems.push(Problem::error("bad-value", text).at(entry.value.span));
            }
        }
        for param in &flow.params {
            if param.default.is_none() && !params.iter().any(|(name, _)| *name == param.name) {
                let text = format!("flow `{}` needs the param `{}`", flow.name, param.name);
                let hint = format!("add  with: {{ {}: … }}", param.name);
                self.problems.push(Problem::error("missing-param", text).at(node.span).hint(hint));
            }
        }
        Some(ChildFlow { flow, params, is_group: false })
    }

    /// How the step is treated; a source's own timeout counts where the step has none.
    fn step_treatment(&mut self, map: &Map, timeout: Option<Duration>) -> Treatment {
        let mut treatment = self.treatment(map);
        treatment.attempt_timeout = treatment.attempt_timeout.or(timeout);
        treatment
    }

    fn outputs(&mut self, map: &Map, step: &str) -> Vec<StepOutput> {
        let mut outputs: Vec<(StepOutput, Span)> = Vec::new();
        let mut is_clear = is_absent_or(map, "output", |node| node.as_list().is_some());
        for node in fields::list(map, "output") {
            let output = self.output(node);
            is_clear &= output.is_some();
            outputs.extend(output);
        }
        is_clear &= is_absent_or(map, "outputs", |node| {
            node.as_map().is_some() || node.as_list().is_some()
        });
        for node in fields::list(map, "outputs") {
            let Some(name) = fields::name(node) else { continue };
            outputs.push((StepOutput { name, value: OutputRule::Written }, node.span));
        }
        for entry in fields::mapping(map, "outputs").into_iter().flat_map(Map::iter) {
            let tree = self.with_names(result_names(map), |decoder| {
                decoder.tree(&entry.value, format_args!("outputs.{}", entry.key))
            });
            let (name, value) = (entry.key.clone(), OutputRule::Template(tree));
            outputs.push((StepOutput { name, value }, entry.key_span));
        }
        if !is_clear {
            self.gaps.outputs.insert(step.to_owned());
        }
        let mut seen = BTreeSet::new();
        for (output, at) in &outputs {
            if !seen.insert(&output.name) {
                let text = format!("there are two outputs called `{}`", output.name);
                self.problems.push(Problem::error("duplicate-output", text).at(*at));
            }
        }
        outputs.into_iter().map(|(output, _)| output).collect()
    }

    fn output(&mut self, node: &Node) -> Option<(StepOutput, Span)> {
        let map = fields::as_mapping(node)?;
        let name_node = map.get("name")?;
        let name = fields::name(name_node)?;
        let value = match fields::word(map, "type").as_deref() {
            Some("jmespath") => self.query(node, map).map_or(OutputRule::Raw, OutputRule::Query),
            Some("json") => {
                let text = "`type: json` is the old word for `type: raw`";
                self.problems.push(
                    Problem::warning("deprecated", text).at(map.get("type").unwrap_or(node).span),
                );
                OutputRule::Raw
            }
            _ => OutputRule::Raw,
        };
        Some((StepOutput { name, value }, name_node.span))
    }

    fn query(&mut self, node: &Node, map: &Map) -> Option<Query> {
        let Some(value) = map.get("value") else {
            let text = "an output of `type: jmespath` needs a `value`";
            self.problems.push(Problem::error("missing-key", text).at(node.span));
            return None;
        };
        let Value::Text(text) = &value.value else { return None };
        match Query::parse(text.as_str()) {
            Ok(query) => Some(query),
            Err(error) => {
                let span = match error.offset {
                    Some(offset) => text.span_of(offset..offset + 1),
                    None => value.span,
                };
                self.problems.push(Problem::error("bad-jmespath", error.message).at(span));
                None
            }
        }
    }

    fn artifacts(&mut self, map: &Map) -> Vec<ArtifactRule> {
        let mut rules = Vec::new();
        for node in fields::many(map, "artifacts") {
            let said = fields::as_mapping(node);
            let Some(path) = said.map_or(Some(node), |map| map.get("path")) else { continue };
            let tree = self.tree(path, "artifacts");
            let is_outside = |text: &str| !is_inside(Path::new(of_run(text).0));
            if tree.as_value().and_then(|value| value.as_str()).is_some_and(is_outside) {
                let text = "an artifact is in the folder of the step, or in that of the run";
                let hint = "name it from there, or copy it:  cp … \"$TIDEWHEEL_RUN_DIR\"  and  \
                            $TIDEWHEEL_RUN_DIR/…";
                self.problems.push(Problem::error("bad-value", text).at(path.span).hint(hint));
            }
            let is_optional = said.and_then(|map| fields::boolean(map, "optional"));
            let is_optional = is_optional.unwrap_or_default();
            rules.push(ArtifactRule { path: tree, is_optional });
        }
        rules
    }

    fn cache(&mut self, node: &Node) -> Option<Cache> {
        let map = match &node.value {
            Value::Bool(false) | Value::Null => return None,
            Value::Map(map) => map.clone(),
            _ => Map::default(),
        };
        let mut trees = |key: &str| -> Vec<_> {
            let nodes = fields::list(&map, key);
            nodes.iter().map(|node| self.tree(node, format_args!("cache.{key}"))).collect()
        };
        let (inputs, outputs) = (trees("inputs"), trees("outputs"));
        let key = map.get("key").map(|node| self.tree(node, "cache.key"));
        Some(Cache { inputs, outputs, key })
    }
}

fn is_absent_or(map: &Map, key: &str, is_right: impl Fn(&Node) -> bool) -> bool {
    map.get(key).is_none_or(|node| node.is_null() || is_right(node))
}

/// The shell for `run:`. Its words stop at the first command that fails.
pub(super) fn shell_of(map: &Map) -> Shell {
    match fields::word(map, "shell").as_deref() {
        Some("bash") => Shell::Bash,
        _ if !fields::list(map, "shell").is_empty() => Shell::Words(fields::texts(map, "shell")),
        _ => Shell::Sh,
    }
}

/// What the step says of its process wins over what its source says.
fn laid_over(own: Surroundings, source: Surroundings) -> Surroundings {
    let mut env = source.env;
    if !env.is_empty() {
        let names: BTreeSet<&str> = own.env.iter().map(|(name, _)| name.as_str()).collect();
        env.retain(|(name, _)| !names.contains(name.as_str()));
    }
    env.extend(own.env);
    Surroundings {
        env,
        inherit: own.inherit.or(source.inherit),
        cwd: own.cwd.or(source.cwd),
        ..own
    }
}

/// What is known of the result of a step.
pub(super) fn result_names(step: &Map) -> impl Iterator<Item = &'static str> + use<> {
    let is_request = !fields::said(step, &["http"]).is_empty();
    let names = if is_request { &ANSWER_NAMES[..] } else { &RESULT_NAMES };
    names.iter().copied()
}
