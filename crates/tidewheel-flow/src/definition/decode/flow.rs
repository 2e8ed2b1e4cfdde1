//! The file as a whole.
//!
//! Its sections are decoded in the files beside this one; what steps say of each other is `connect`'s.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tidewheel::policy::{BreakerSpec, OnStop, Rate};
use tidewheel::run::{Busy, RunOrder};
use tidewheel::{LimitSpec, QueueSpec};

use super::source::view;
use super::{Decoder, FindFlow, fields};
use crate::definition::flow::Concurrency;
use crate::definition::keys::{CAPS, FLOW};
use crate::definition::load::STDIN;
use crate::definition::shape::{Kind, check};
use crate::definition::{Flow, Gaps, Place, Runner, Step, places_of};
use crate::language::literal;
use crate::language::problem::{Problem, Problems};
use crate::language::template::Engine;
use crate::language::tree::starts_with;
use crate::language::yaml::{Map, Node, Value};

/// Time for running steps to stop by themselves when a failure ends the run: the `grace` of each.
const AS_EACH_SAYS: Duration = Duration::MAX;

/// The lists of steps in a file, and when their steps have their turn.
const STEP_LISTS: [(&str, Place); 4] = [
    ("flow", Place::Flow),
    ("on_success", Place::OnSuccess),
    ("on_failure", Place::OnFailure),
    ("finally", Place::Finally),
];

/// Makes a flow of a tree. With problems that are errors, the flow must not be run.
pub(crate) fn decode(
    node: &Node,
    file: &Path,
    folder: &Path,
    engine: &Engine,
    finder: &mut dyn FindFlow,
    problems: &mut Problems,
) -> Option<Flow> {
    check(node, &Kind::Object(&FLOW), format_args!("a flow file"), problems);
    let map = fields::as_mapping(node)?;
    let mut decoder = Decoder::new(engine, problems, finder, folder);
    let sources: BTreeMap<String, Node> = fields::mapping(map, "sources")
        .map(|map| map.iter().map(|entry| (entry.key.clone(), entry.value.clone())).collect())
        .unwrap_or_default();
    decoder.defaults = fields::mapping(map, "defaults").cloned().unwrap_or_default();
    let mut steps = Vec::new();
    for (key, place) in STEP_LISTS {
        let nodes = fields::list(map, key).iter();
        steps.extend(nodes.filter_map(|node| decoder.step(node, place, &sources)).map(Arc::new));
    }
    decoder.check_duplicates(&steps);
    decoder.check_unused(&sources);
    decoder.check_description(map);
    decoder.find_gaps(map);
    Some(Flow {
        name: fields::owned(map, "name").unwrap_or_else(|| name_of_file(file)),
        description: fields::owned(map, "description"),
        tags: fields::texts(map, "tags"),
        params: decoder.params(map),
        secrets: decoder.secrets(map),
        env: decoder.variables(map, "env"),
        env_files: fields::many(map, "env_file")
            .iter()
            .filter_map(|node| Some(folder.join(fields::node_text(node)?)))
            .collect(),
        places: places_of(&steps),
        tasks: steps.iter().map(|step| step.work.tasks()).fold(0, usize::saturating_add),
        names: steps.iter().map(|step| step.name.clone()).collect(),
        steps,
        runner: runner(map),
        limits: decoder.limits(map),
        queues: decoder.queues(map),
        concurrency: decoder.concurrency(map),
        schedules: decoder.schedules(map),
        notify: fields::many(map, "notify").iter().filter_map(fields::name).collect(),
        sources: sources.iter().map(|(name, node)| (name.clone(), view(node))).collect(),
        is_sequence: fields::boolean(map, "sequence").unwrap_or_default(),
        folder: folder.to_owned(),
        file: file.to_owned(),
        gaps: decoder.gaps,
        may_decline: BTreeSet::new(),
    })
}

fn name_of_file(file: &Path) -> String {
    if file.file_name().is_some_and(|name| name == STDIN) {
        return "stdin".to_owned();
    }
    let stem = file.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    stem.unwrap_or_else(|| "flow".to_owned())
}

impl Decoder<'_> {
    pub(super) fn check_duplicates(&mut self, steps: &[Arc<Step>]) {
        let mut seen: BTreeMap<&str, &Step> = BTreeMap::new();
        for step in steps.iter().filter(|step| !step.name.is_empty()) {
            if let Some(first) = seen.insert(&step.name, step) {
                self.gaps.outputs.insert(step.name.clone());
                let text = format!("there are two steps called `{}`", step.name);
                self.problems.push(
                    Problem::error("duplicate-step", text)
                        .at(step.span)
                        .see(first.span, "the first"),
                );
            }
        }
    }

    /// Parts of the file that define things are not known if they are no lists or mappings.
    fn find_gaps(&mut self, map: &Map) {
        let is_right = |key: &str| {
            let is_list = STEP_LISTS.iter().any(|(list, _)| *list == key);
            map.get(key).is_none_or(|node| match &node.value {
                Value::Null => true,
                Value::List(_) => is_list,
                Value::Map(_) => !is_list,
                _ => false,
            })
        };
        let sections = Gaps::SECTIONS.into_iter().filter(|key| !is_right(key));
        self.gaps.sections.extend(sections);
        if STEP_LISTS.iter().any(|(key, _)| !is_right(key)) {
            self.gaps.sections.insert("flow");
        }
        if !is_right("resources") {
            self.gaps.sections.insert("limits");
        }
    }

    /// Limits, and resources, which are limits under another name.
    fn limits(&mut self, map: &Map) -> BTreeMap<String, LimitSpec> {
        let mut limits = BTreeMap::new();
        for key in ["limits", "resources"] {
            let entries = fields::mapping(map, key).into_iter().flat_map(Map::iter);
            for entry in entries {
                let limit = match &entry.value.value {
                    Value::Int(units) => {
                        u32::try_from(*units).ok().filter(|it| *it > 0).map(LimitSpec::Units)
                    }
                    Value::Text(_) => literal::rate(&entry.value).ok().map(LimitSpec::Rate),
                    Value::Map(map) => self.limit(&entry.value, map),
                    _ => None,
                };
                let anything = LimitSpec::Units(u32::MAX);
                limits.insert(entry.key.clone(), limit.unwrap_or(anything));
            }
        }
        limits
    }

    fn limit(&mut self, node: &Node, map: &Map) -> Option<LimitSpec> {
        let said = fields::said(map, &CAPS);
        if let (Some(shared), false) = (map.get("shared"), said.contains(&"units")) {
            let text = "only a limit in units can be shared";
            self.problems.push(Problem::error("contradiction", text).at(shared.span));
        }
        match said[..] {
            ["units"] if fields::boolean(map, "shared") == Some(true) => {
                fields::count(map, "units").map(LimitSpec::SharedUnits)
            }
            ["units"] => fields::count(map, "units").map(LimitSpec::Units),
            ["rate"] => {
                let rate = literal::rate(map.get("rate")?).ok()?;
                self.with_burst(rate, map).map(LimitSpec::Rate)
            }
            ["breaker"] => {
                let map = fields::mapping(map, "breaker")?;
                let failures_max = fields::count(map, "failures")?;
                let reset_after = fields::duration(map, "reset_after")?;
                Some(LimitSpec::Breaker(BreakerSpec::new(failures_max, reset_after)))
            }
            _ => {
                let text = "a limit needs exactly one of units, rate, breaker";
                self.problems.push(Problem::error("contradiction", text).at(node.span));
                None
            }
        }
    }

    /// What names no queue is in `default`, of whatever flow it is: none of them says what it is like.
    fn queues(&mut self, map: &Map) -> BTreeMap<String, QueueSpec> {
        let entries = fields::mapping(map, "queues").into_iter().flat_map(Map::iter);
        let mut queues = BTreeMap::new();
        for entry in entries {
            if entry.key == "default" {
                let text = "the queue `default` is that of all flows: none of them defines it";
                self.problems.push(
                    Problem::error("bad-name", text)
                        .at(entry.key_span)
                        .hint("give it a name of its own, and say that as the `queue` of steps"),
                );
                continue;
            }
            let spec = fields::as_mapping(&entry.value).map_or_else(QueueSpec::default, queue);
            queues.insert(entry.key.clone(), spec);
        }
        queues
    }

    /// The group of the flow's runs. It is asked for before anything runs, so only params are known.
    fn concurrency(&mut self, map: &Map) -> Option<Concurrency> {
        let node = map.get("concurrency")?;
        let said = fields::as_mapping(node);
        let name = match said {
            Some(map) => map.get("group")?,
            None => node,
        };
        let group = self.leaf(name, "concurrency.group", false)?;
        for (reference, at) in group.references() {
            if !starts_with(reference, "params") {
                let text = "the group of a run is known before it starts: it can only use params";
                self.problems.push(Problem::error("wrong-place", text).at(at));
            }
        }
        let word = said.and_then(|map| fields::word(map, "busy"));
        let busy = Busy::ALL.into_iter().find(|busy| word.as_deref() == Some(busy.word()));
        let max = said.and_then(|map| fields::count(map, "max")).unwrap_or(1);
        Some(Concurrency { group, max, busy: busy.unwrap_or_default() })
    }

    fn with_burst(&mut self, rate: Rate, map: &Map) -> Option<Rate> {
        let Some(burst) = fields::count(map, "burst") else { return Some(rate) };
        match rate.with_burst(burst) {
            Ok(rate) => Some(rate),
            Err(error) => {
                let at = map.get("burst")?.span;
                self.problems.push(Problem::error("out-of-range", error.to_string()).at(at));
                None
            }
        }
    }
}

fn runner(map: &Map) -> Runner {
    let Some(map) = fields::mapping(map, "runner") else { return Runner::default() };
    let default = Runner::default();
    Runner {
        max_workers: fields::count(map, "max_workers"),
        on_error: fields::parsed(map, "on_error").unwrap_or(default.on_error),
        on_skip: fields::parsed(map, "on_skip").unwrap_or(default.on_skip),
        on_stop: match fields::word(map, "on_stop").as_deref() {
            Some("cancel") => OnStop::Cancel { grace: AS_EACH_SAYS },
            _ => OnStop::Finish,
        },
        timeout: fields::duration(map, "timeout"),
        order: match fields::word(map, "order").as_deref() {
            Some("deadline") => RunOrder::Deadline,
            Some("fifo") => RunOrder::Fifo,
            _ => RunOrder::CriticalPath,
        },
    }
}

fn queue(map: &Map) -> QueueSpec {
    QueueSpec {
        weight: fields::count(map, "weight").unwrap_or(1),
        slots: fields::count(map, "slots"),
        rate: map.get("rate").and_then(|node| literal::rate(node).ok()),
        waiting_max: fields::count(map, "waiting_max"),
        ..QueueSpec::default()
    }
}
