//! Schedules: when a flow is run by itself.
//!
//! Which instants follow is the scheduler's to say.

use std::time::Duration;

use tidewheel::calendar::{Cron, Zone};
use tidewheel::policy::{Factor, Jitter, Shape};
use tidewheel::schedule::{Misfire, Overlap, ScheduleSpec, Span, Trigger};
use tidewheel::{Backoff, Retry, Timestamp};

use super::{Decoder, fields};
use crate::definition::FlowSchedule;
use crate::definition::keys::TRIGGERS;
use crate::language::instant;
use crate::language::literal;
use crate::language::problem::Problem;
use crate::language::yaml::{Map, Node, Value};

/// How many firings may wait, or be caught up with, unless something else is said.
const BACKLOG: u32 = 100;

/// The longest wait after failures, unless something else is said.
const BACKOFF_MAX: Duration = Duration::from_secs(3600);

impl Decoder<'_> {
    pub(super) fn schedules(&mut self, flow: &Map) -> Vec<FlowSchedule> {
        fields::many(flow, "schedule").iter().filter_map(|node| self.schedule(flow, node)).collect()
    }

    fn schedule(&mut self, flow: &Map, node: &Node) -> Option<FlowSchedule> {
        let empty = Map::default();
        let map = fields::as_mapping(node).unwrap_or(&empty);
        let arrivals = self.arrivals(flow, map);
        let (trigger, text) = match &node.value {
            Value::Text(text) => {
                (self.cron(node, text.as_str(), Zone::utc())?, text.as_str().to_owned())
            }
            _ => self.trigger(node, map)?,
        };
        let mut spec = ScheduleSpec::new(trigger);
        spec.overlap = match fields::word(map, "overlap").as_deref() {
            Some("queue-one") => Overlap::QueueOne,
            Some("queue-newest") => Overlap::QueueNewest,
            Some("queue-all") => Overlap::QueueAll { max: BACKLOG },
            Some("cancel") => Overlap::Cancel,
            Some("allow") => Overlap::Allow,
            Some("skip") => Overlap::Skip,
            // What arrives does not come again by itself, as an instant of a calendar does.
            _ if arrivals.is_some() => Overlap::Allow,
            _ => Overlap::Skip,
        };
        spec.misfire = match fields::word(map, "misfire").as_deref() {
            Some("skip") => Misfire::Skip,
            Some("all") => Misfire::All { max: BACKLOG },
            _ => Misfire::Latest,
        };
        spec.jitter = fields::duration(map, "jitter").unwrap_or_default();
        spec.misfire_grace = fields::duration(map, "misfire_grace").unwrap_or(spec.misfire_grace);
        spec.max_firings = fields::count(map, "times").map(u64::from);
        spec.backoff = fields::duration(map, "backoff").map(|base| backoff(base, map));
        if map.get("from").is_some() || map.get("until").is_some() {
            spec.window = self.span(node, map);
        }
        for exclusion in fields::many(map, "exclude") {
            let span = fields::as_mapping(exclusion).and_then(|map| self.span(exclusion, map));
            spec.exclusions.extend(span);
        }
        let name = fields::owned(map, "name");
        let said = fields::mapping(map, "params").unwrap_or(&empty);
        Some(match arrivals {
            Some(arrivals) => {
                let mapping = self.mapping(flow, node, said, &arrivals);
                let params = FlowSchedule::plain_params(&mapping);
                FlowSchedule { name, spec, text, params, arrivals: Some(arrivals), mapping }
            }
            None => {
                let params =
                    said.iter().map(|entry| (entry.key.clone(), entry.value.to_json())).collect();
                FlowSchedule { name, spec, text, params, arrivals: None, mapping: Vec::new() }
            }
        })
    }

    /// From `from` to `until`, of which one may be missing.
    fn span(&mut self, node: &Node, map: &Map) -> Option<Span> {
        let whole = Span::since(Timestamp::from_micros(i64::MIN));
        let from = self.border(map, "from", whole.from)?;
        let until = self.border(map, "until", whole.until)?;
        let span = Span::new(from, until);
        if span.is_empty() {
            let text = "`from` is not before `until`";
            self.problems.push(Problem::error("contradiction", text).at(node.span));
            return None;
        }
        Some(span)
    }

    fn border(&mut self, map: &Map, key: &str, otherwise: Timestamp) -> Option<Timestamp> {
        let Some(node) = map.get(key) else { return Some(otherwise) };
        let found = instant::parse(fields::node_text(node)?);
        if found.is_none() {
            let text = format!("`{key}` must be an instant such as 2030-01-31T08:00:00Z");
            self.problems.push(Problem::error("bad-value", text).at(node.span));
        }
        found
    }

    fn trigger(&mut self, node: &Node, map: &Map) -> Option<(Trigger, String)> {
        let said = fields::said(map, &TRIGGERS).into_iter();
        let said = said.filter_map(|kind| Some((kind, map.get(kind)?)));
        let mut triggers: Vec<_> =
            said.map(|(kind, value)| self.trigger_of(kind, value, map)).collect();
        if triggers.len() != 1 {
            let text =
                "a schedule needs exactly one of cron, every, after, at, webhook, files, events";
            self.problems.push(Problem::error("contradiction", text).at(node.span));
        }
        triggers.pop()?
    }

    fn trigger_of(&mut self, kind: &str, value: &Node, map: &Map) -> Option<(Trigger, String)> {
        let span = || literal::duration(value).ok();
        Some(match kind {
            "cron" => {
                let zone = self.zone(map);
                let text = fields::node_text(value)?;
                let shown = match fields::text(map, "zone") {
                    Some(zone) => format!("{text} ({zone})"),
                    None => text.to_owned(),
                };
                let trigger = self.cron(value, text, zone.clone().unwrap_or(Zone::utc()));
                zone.and(trigger).map(|trigger| (trigger, shown))?
            }
            "every" => (Trigger::every(span()?), format!("every {}", fields::name(value)?)),
            "after" => {
                let start = tidewheel::schedule::Anchor::NOW;
                let trigger = Trigger::FixedDelay { delay: span()?, start };
                (trigger, format!("{} after each run", fields::name(value)?))
            }
            "webhook" => {
                let webhook = fields::as_mapping(value);
                let is_insecure = webhook.and_then(|it| fields::boolean(it, "insecure"));
                let insecure = if is_insecure == Some(true) { ", insecure" } else { "" };
                (Trigger::Custom, format!("webhook{insecure}"))
            }
            "events" => {
                let on = fields::many(fields::as_mapping(value)?, "on").iter();
                let on: Vec<String> = on.filter_map(fields::name).collect();
                (Trigger::Custom, format!("events {}", on.join(", ")))
            }
            "files" => (Trigger::Custom, format!("files {}", fields::node_text(value)?)),
            _ => {
                let text = fields::node_text(value)?;
                let Some(at) = instant::parse(text) else {
                    let text = "`at` must be an instant such as 2030-01-31T08:00:00Z";
                    self.problems.push(Problem::error("bad-value", text).at(value.span));
                    return None;
                };
                (Trigger::at(at), format!("at {text}"))
            }
        })
    }

    fn zone(&mut self, map: &Map) -> Option<Zone> {
        let Some(node) = map.get("zone") else { return Some(Zone::utc()) };
        match Zone::named(fields::node_text(node)?) {
            Ok(zone) => Some(zone),
            Err(error) => {
                self.problems.push(Problem::error("bad-zone", error.to_string()).at(node.span));
                None
            }
        }
    }

    fn cron(&mut self, node: &Node, text: &str, zone: Zone) -> Option<Trigger> {
        match text.parse::<Cron>() {
            Ok(cron) if !cron.has_instants() => {
                self.never_fires(node, &cron);
                None
            }
            Ok(cron) => Some(Trigger::Calendar { cron, zone }),
            Err(error) => {
                let from = error.position();
                let at = match &node.value {
                    Value::Text(text) => text.span_of(from..from + error.length()),
                    _ => node.span,
                };
                let problem = Problem::error("bad-cron", error.message()).at(at);
                self.problems.push(match error.hint() {
                    Some(hint) => problem.hint(hint),
                    None => problem,
                });
                None
            }
        }
    }

    /// Reports an expression that can be read, and on which a schedule would be refused when it is set.
    fn never_fires(&mut self, node: &Node, cron: &Cron) {
        let (text, hint) = match cron.is_reboot() {
            true => (
                "`@reboot` names no instant, so the schedule would never fire".to_owned(),
                "leave it out: `tidewheel serve FILE` runs flows once at its start, and the system's start can \
                 run `tidewheel run FILE`",
            ),
            false => (
                format!("no date matches `{cron}`, so the schedule would never fire"),
                "see what an expression names with  tidewheel schedule next --cron '0 0 29 2 *'",
            ),
        };
        self.problems.push(Problem::error("bad-cron", text).at(node.span).hint(hint));
    }
}

/// The wait after failures in a row, by its first length.
fn backoff(base: Duration, map: &Map) -> Retry {
    let cap = fields::duration(map, "backoff_max").unwrap_or(BACKOFF_MAX).max(base);
    let shape = Shape::Exponential { factor: Factor::DOUBLE };
    Retry { backoff: Backoff { shape, base, cap }, jitter: Jitter::None, ..Retry::none() }
}
