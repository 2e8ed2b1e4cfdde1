//! Schedules that fire for what happens outside: deliveries of webhooks, files, news of other flows.
//!
//! Policies, which they have in common with all others, are in [`super::schedule`].

use std::path::Path;
use std::time::Duration;

use super::{Decoder, fields};
use crate::definition::{Arrivals, EventKind, Events, SignatureForm, Webhook};
use crate::language::problem::{Problem, Span};
use crate::language::tree::{Leaf, Tree};
use crate::language::yaml::{Map, Node};

/// How far the time of a delivery may be from ours.
const TOLERANCE_MIN: Duration = Duration::from_secs(1);
const TOLERANCE_MAX: Duration = Duration::from_secs(3600);

/// From when on a firing is late, unless something else is said.
const LATE: Duration = Duration::from_secs(60);

/// A secret, and the one that takes its place.
const SECRETS_MAX: usize = 2;

impl Decoder<'_> {
    /// What a schedule fires for, if that is something outside.
    pub(super) fn arrivals(&mut self, flow: &Map, map: &Map) -> Option<Arrivals> {
        if let Some(node) = map.get("files").filter(|node| !node.is_null()) {
            let pattern = fields::node_text(node)?;
            self.check_as_it_stands(node, "files");
            if let Err(error) = glob::Pattern::new(pattern) {
                self.bad(node.span, format!("`files` cannot be understood: {}", error.msg));
            }
            if pattern.is_empty() {
                self.bad(node.span, "`files` names no files".to_owned());
            }
            // What stands in the name of the folder is meant as it stands.
            let folder = glob::Pattern::escape(&self.folder.to_string_lossy());
            return Some(Arrivals::Files(Path::new(&folder).join(pattern)));
        }
        if let Some(events) = fields::mapping(map, "events") {
            return Some(Arrivals::Events(self.events(events)));
        }
        let webhook = fields::mapping(map, "webhook")?;
        if self.is_insecure(map.get("webhook")?.span, webhook) {
            return Some(Arrivals::Webhook(Webhook::insecure()));
        }
        let mut made = Webhook::new(self.signed_with(flow, webhook));
        made.signature = match fields::word(webhook, "signature").as_deref() {
            Some("github") => SignatureForm::Github,
            _ => SignatureForm::Standard,
        };
        let tolerance = fields::duration(webhook, "tolerance");
        if let (Some(node), Some(time)) = (webhook.get("tolerance"), tolerance) {
            if !(TOLERANCE_MIN..=TOLERANCE_MAX).contains(&time) {
                self.bad(node.span, "`tolerance` must be from 1s to 1h".to_owned());
            }
            if made.signature == SignatureForm::Github {
                let text = "`tolerance` has no effect: signatures of this form know no time";
                self.problems.push(Problem::warning("no-effect", text).at(node.span));
            }
        }
        made.tolerance = tolerance.unwrap_or(made.tolerance);
        Some(Arrivals::Webhook(made))
    }

    fn events(&mut self, map: &Map) -> Events {
        let words = fields::many(map, "on").iter().filter_map(fields::name).collect::<Vec<_>>();
        let on: Vec<EventKind> = EventKind::ALL
            .into_iter()
            .filter(|kind| words.iter().any(|it| it == kind.word()))
            .collect();
        let of = match map.get("of") {
            None => vec!["*".to_owned()],
            Some(_) => fields::many(map, "of").iter().filter_map(fields::name).collect(),
        };
        for node in fields::many(map, "of") {
            let pattern = fields::node_text(node).map(glob::Pattern::new);
            if let Some(Err(error)) = pattern {
                self.bad(node.span, format!("`of` cannot be understood: {}", error.msg));
            }
        }
        let deadline = fields::duration(map, "deadline");
        let wants = on.contains(&EventKind::Deadline);
        match (map.get("on"), map.get("deadline")) {
            (Some(node), None) if wants => {
                let text = "`on: deadline` needs `deadline`";
                let problem = Problem::error("missing-key", text).at(node.span);
                self.problems.push(problem.hint("say how long a run may take: `deadline: 2h`"));
            }
            (_, Some(node)) if !wants => {
                let text = "`deadline` has no effect without `on: deadline`";
                self.problems.push(Problem::warning("no-effect", text).at(node.span));
            }
            _ => {}
        }
        Events { on, of, late: fields::duration(map, "late").unwrap_or(LATE), deadline }
    }

    /// Whether deliveries need no signature, which must be said.
    fn is_insecure(&mut self, at: Span, webhook: &Map) -> bool {
        let is_said = |key: &str| webhook.get(key).is_some_and(|node| !node.is_null());
        let is_insecure = fields::boolean(webhook, "insecure") == Some(true);
        match (is_insecure, is_said("secret")) {
            (false, false) => {
                let problem = Problem::error("missing-key", "a webhook needs `secret`").at(at);
                let hint = "or `insecure: true`: then every program of this machine can fire it";
                self.problems.push(problem.hint(hint));
            }
            (true, true) => {
                let text = "a webhook has a `secret`, or is `insecure`: not both";
                self.problems.push(Problem::error("contradiction", text).at(at));
            }
            (true, false) => {
                let text = "every program of the server's machine can fire this webhook";
                let problem = Problem::warning("insecure", text).at(at);
                self.problems.push(problem.hint("`secret` instead of `insecure` has it signed"));
                for key in ["signature", "tolerance"] {
                    if let Some(node) = webhook.get(key) {
                        let text = format!("`{key}` has no effect where nothing is signed");
                        self.problems.push(Problem::warning("no-effect", text).at(node.span));
                    }
                }
            }
            (false, true) => {}
        }
        is_insecure
    }

    /// The secrets that deliveries are signed with, which the flow must know.
    fn signed_with(&mut self, flow: &Map, webhook: &Map) -> Vec<String> {
        let empty = Map::default();
        let known = fields::mapping(flow, "secrets").unwrap_or(&empty);
        let nodes = fields::many(webhook, "secret");
        if let Some(node) = nodes.get(SECRETS_MAX) {
            let text = "a webhook has one secret, or two while one takes the place of the other";
            self.bad(node.span, text.to_owned());
        }
        let mut names = Vec::new();
        for node in nodes {
            let Some(name) = fields::name(node) else { continue };
            if known.get(&name).is_none() {
                let text = format!("there is no secret `{name}`");
                let names: Vec<&str> = known.iter().map(|entry| entry.key.as_str()).collect();
                let near = self.problems.nearest(&name, names.iter().copied());
                let hint = match near {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => {
                        format!("say where it comes from: `secrets: {{ {name}: {{ env: … }} }}`")
                    }
                };
                self.problems.push(Problem::error("unknown-name", text).at(node.span).hint(hint));
            }
            names.push(name);
        }
        names
    }

    /// The params of runs, as they follow from what arrived.
    pub(super) fn mapping(
        &mut self,
        flow: &Map,
        node: &Node,
        said: &Map,
        arrivals: &Arrivals,
    ) -> Vec<(String, Tree)> {
        let empty = Map::default();
        let known = fields::mapping(flow, "params").unwrap_or(&empty);
        let root = arrivals.root();
        let mut mapping = Vec::new();
        for entry in said.iter() {
            let name = entry.key.as_str();
            if known.get(name).is_none() {
                self.unknown_param(name, known, entry.value.span);
            }
            let place = format!("params.{name}");
            let tree = self.with_names([root], |decoder| decoder.tree(&entry.value, place));
            tree.visit(&mut |leaf| self.check_roots(leaf, root));
            mapping.push((name.to_owned(), tree));
        }
        for entry in known.iter() {
            let has_default =
                fields::as_mapping(&entry.value).is_none_or(|param| param.get("default").is_some());
            if !has_default && said.get(&entry.key).is_none() {
                let text = format!("the param `{}` has no default, and is not said", entry.key);
                let hint = match arrivals {
                    Arrivals::Webhook(_) => "webhook.body.…",
                    Arrivals::Files(_) => "file.path",
                    Arrivals::Events(_) => "event.text",
                };
                let hint = format!("say it: `params: {{ {}: \"{{{{ {hint} }}}}\" }}`", entry.key);
                self.problems.push(Problem::error("missing-param", text).at(node.span).hint(hint));
            }
        }
        mapping
    }

    fn unknown_param(&mut self, name: &str, known: &Map, at: Span) {
        let problem =
            Problem::error("unknown-name", format!("the flow has no param `{name}`")).at(at);
        let names: Vec<&str> = known.iter().map(|entry| entry.key.as_str()).collect();
        let near = self.problems.nearest(name, names.iter().copied());
        self.problems.push(match near {
            Some(near) => problem.hint(format!("did you mean `{near}`?")),
            None => problem.hint("say it under `params` of the flow"),
        });
    }

    /// When something arrives there is no run yet that anything else could be known of.
    fn check_roots(&mut self, leaf: &Leaf, root: &str) {
        for (reference, at) in leaf.references() {
            let is_known = |name: &String| name == root || !self.is_known(name);
            if reference.path.first().is_none_or(is_known) {
                continue;
            }
            let text = format!("only `{root}` is known here");
            self.problems.push(Problem::error("wrong-place", text).at(at));
        }
    }

    fn bad(&mut self, at: Span, text: String) {
        self.problems.push(Problem::error("bad-value", text).at(at));
    }
}
