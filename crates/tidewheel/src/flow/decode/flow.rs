//! The file as a whole.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tidewheel_core::policy::{BreakerSpec, Rate};
use tidewheel_core::spec::{LimitSpec, OnStop, QueueSpec, RunOrder};

use super::super::definition::{Flow, Place, Runner, Step, places_of};
use super::super::keys::FLOW;
use super::super::literal;
use super::super::problem::{Problem, Problems};
use super::super::shape::{Kind, check};
use super::super::template::Engine;
use super::super::yaml::{Map, Node, Value};
use super::source::view;
use super::{Decoder, FindFlow, fields};

/// Time for running steps to stop by themselves when a failure ends the run.
const GRACE: Duration = Duration::from_secs(10);

/// Makes a flow of a tree, and names the steps that could not be understood. With problems that are
/// errors, the flow must not be run.
pub(in super::super) fn decode(
    node: &Node,
    file: &Path,
    folder: &Path,
    engine: &Engine,
    finder: &mut dyn FindFlow,
    problems: &mut Problems,
) -> Option<(Flow, BTreeSet<String>)> {
    check(node, &Kind::Object(&FLOW), "a flow file", problems);
    let map = fields::as_mapping(node)?;
    let mut decoder = Decoder::new(engine, problems, finder, folder);
    let sources: BTreeMap<String, Node> = fields::mapping(map, "sources")
        .map(|map| map.iter().map(|entry| (entry.key.clone(), entry.value.clone())).collect())
        .unwrap_or_default();
    let (mut steps, mut broken) = (Vec::new(), BTreeSet::new());
    for (key, place) in [
        ("flow", Place::Flow),
        ("on_success", Place::OnSuccess),
        ("on_failure", Place::OnFailure),
        ("finally", Place::Finally),
    ] {
        for node in fields::list(map, key) {
            match decoder.step(node, place, &sources) {
                Some(step) => steps.push(Arc::new(step)),
                None => broken.extend(name_of(node)),
            }
        }
    }
    decoder.check_duplicates(&steps);
    decoder.check_unused(&sources);
    let mut limits = decoder.limits(map);
    if let Some(resources) = fields::mapping(map, "resources") {
        let units = fields::counts(resources).into_iter();
        limits.extend(units.map(|(name, units)| (name, LimitSpec::Units(units))));
    }
    let flow = Flow {
        name: fields::owned(map, "name").unwrap_or_else(|| name_of_file(file)),
        description: fields::owned(map, "description"),
        tags: fields::texts(map, "tags"),
        params: decoder.params(map),
        secrets: decoder.secrets(map),
        env: decoder.variables(map, "env"),
        places: places_of(&steps),
        tasks: steps.iter().map(|step| step.work.tasks()).fold(0, usize::saturating_add),
        names: steps.iter().map(|step| step.name.clone()).collect(),
        steps,
        runner: runner(map),
        limits,
        queues: queues(map),
        schedules: decoder.schedules(map),
        sources: sources.iter().map(|(name, node)| (name.clone(), view(node))).collect(),
        folder: folder.to_owned(),
        file: file.to_owned(),
    };
    Some((flow, broken))
}

fn name_of_file(file: &Path) -> String {
    let stem = file.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    stem.unwrap_or_else(|| "flow".to_owned())
}

fn name_of(step: &Node) -> Option<String> {
    fields::name(fields::as_mapping(step)?.get("name")?)
}

impl Decoder<'_> {
    fn check_duplicates(&mut self, steps: &[Arc<Step>]) {
        let mut seen: BTreeMap<&str, &Step> = BTreeMap::new();
        for step in steps {
            if let Some(first) = seen.insert(&step.name, step) {
                let text = format!("there are two steps called `{}`", step.name);
                self.problems.push(
                    Problem::error("duplicate-step", text)
                        .at(step.span)
                        .see(first.span, "the first"),
                );
            }
        }
    }

    fn limits(&mut self, map: &Map) -> BTreeMap<String, LimitSpec> {
        let Some(map) = fields::mapping(map, "limits") else { return BTreeMap::new() };
        let mut limits = BTreeMap::new();
        for entry in map.iter() {
            let limit = match &entry.value.value {
                Value::Int(units) => u32::try_from(*units).ok().map(LimitSpec::Units),
                Value::Text(_) => literal::rate(&entry.value).ok().map(LimitSpec::Rate),
                Value::Map(map) => self.limit(&entry.value, map),
                _ => None,
            };
            limits.extend(limit.map(|limit| (entry.key.clone(), limit)));
        }
        limits
    }

    fn limit(&mut self, node: &Node, map: &Map) -> Option<LimitSpec> {
        let said: Vec<&str> =
            ["units", "rate", "breaker"].into_iter().filter(|key| map.get(key).is_some()).collect();
        match said[..] {
            ["units"] => fields::count(map, "units").map(LimitSpec::Units),
            ["rate"] => {
                let rate = literal::rate(map.get("rate")?).ok()?;
                self.with_burst(rate, map).map(LimitSpec::Rate)
            }
            ["breaker"] => {
                let map = fields::mapping(map, "breaker")?;
                Some(LimitSpec::Breaker(BreakerSpec {
                    failures_max: fields::count(map, "failures")?,
                    reset_after: fields::duration(map, "reset_after")?,
                }))
            }
            _ => {
                let text = "a limit needs exactly one of units, rate, breaker";
                self.problems.push(Problem::error("contradiction", text).at(node.span));
                None
            }
        }
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
        on_stop: match fields::word(map, "on_stop").as_deref() {
            Some("cancel") => OnStop::Cancel { grace: GRACE },
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

fn queues(map: &Map) -> BTreeMap<String, QueueSpec> {
    let Some(map) = fields::mapping(map, "queues") else { return BTreeMap::new() };
    let queue = |map: &Map| QueueSpec {
        weight: fields::count(map, "weight").unwrap_or(1),
        slots: fields::count(map, "slots"),
        rate: map.get("rate").and_then(|node| literal::rate(node).ok()),
        ..QueueSpec::default()
    };
    let entries = map.iter();
    entries
        .filter_map(|entry| Some((entry.key.clone(), queue(fields::as_mapping(&entry.value)?))))
        .collect()
}
