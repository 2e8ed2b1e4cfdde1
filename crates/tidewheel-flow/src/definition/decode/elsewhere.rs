//! `container:` and `ssh:`: where else the program of a step runs.
//!
//! Nothing is started, and no engine is looked for.

use super::{Decoder, fields};
use crate::definition::{
    Container, Elsewhere, OutputRule, Pull, Remote, Repeat, StepOutput, adds_to_our_path,
};
use crate::language::problem::{Problem, Span};
use crate::language::tree::{Leaf, Tree, starts_with};
use crate::language::yaml::{Map, Node, Value};

/// What is said of a process of this machine, and would say nothing of one elsewhere.
const OF_THIS_MACHINE: [&str; 1] = ["rlimits"];

impl Decoder<'_> {
    pub(super) fn elsewhere(&mut self, map: &Map) -> Option<Elsewhere> {
        let said = |key: &str| map.get(key).filter(|node| !node.is_null());
        let (container, ssh) = (said("container"), said("ssh"));
        if let (Some(_), Some(node)) = (container, ssh) {
            let text = "a step runs in a container or on another host";
            let problem = Problem::error("contradiction", text).at(node.span);
            self.problems.push(problem.hint("have the other host start the container in `run:`"));
        }
        for key in OF_THIS_MACHINE {
            let (Some(node), Some(_)) = (said(key), container.or(ssh)) else { continue };
            let text =
                format!("`{key}` would bound only the program that speaks to the other side");
            let problem = Problem::error("contradiction", text).at(node.span);
            self.problems.push(match container {
                Some(_) => problem.hint("say  container: { options: [--memory=1g] }"),
                None => problem.hint("say it there, such as `ulimit -v 1000000` in `run:`"),
            });
        }
        if let Some(node) = container.or(ssh) {
            let there = node.as_map().and_then(|inner| fields::mapping(inner, "env"));
            for variables in fields::mapping(map, "env").into_iter().chain(there) {
                self.check_path(variables);
            }
        }
        match (container, ssh) {
            (Some(node), _) => Some(Elsewhere::Container(Box::new(self.container(node)?))),
            (None, Some(node)) => Some(Elsewhere::Remote(Box::new(self.remote(node)?))),
            (None, None) => None,
        }
    }

    /// `$PATH` stands for our own folders, and where it is rendered nobody knows those of the other side.
    fn check_path(&mut self, variables: &Map) {
        let said = variables.get("PATH").filter(|node| node.as_str().is_some_and(adds_to_our_path));
        let Some(node) = said else { return };
        let text = "`$PATH` is that of this machine, and the program runs elsewhere";
        let problem = Problem::error("contradiction", text).at(node.span);
        self.problems.push(problem.hint(
            "name all folders, or extend it where the program runs, in `run:`: PATH=/opt/x:$PATH program",
        ));
    }

    /// Another host has neither the file for outputs nor the folders in which artifacts are looked for.
    pub(super) fn check_left_there(
        &mut self,
        map: &Map,
        outputs: &[StepOutput],
        repeat: Option<&Repeat>,
    ) {
        if map.get("ssh").is_none_or(Node::is_null) {
            return;
        }
        let listed = map.get("outputs").filter(|_| !fields::list(map, "outputs").is_empty());
        let mut places: Vec<Span> = listed.map(|node| node.span).into_iter().collect();
        let mut look = |leaf: &Leaf| {
            let written = leaf.references().filter(|(it, _)| starts_with(it, "output"));
            places.extend(written.map(|(_, at)| at));
        };
        for output in outputs {
            if let OutputRule::Template(tree) = &output.value {
                tree.visit(&mut look);
            }
        }
        if let Some(repeat) = repeat {
            look(&repeat.until);
        }
        for at in places {
            let text = "`$TIDEWHEEL_OUTPUT` is a file of this machine, and the program runs on another host";
            let problem = Problem::error("contradiction", text).at(at);
            self.problems.push(
                problem.hint(
                    "print it, and use `stdout`:  outputs: { name: \"{{ stdout | trim }}\" }",
                ),
            );
        }
        // Of a look nothing is kept, wherever it is.
        let is_kept = map.get("wait").is_none() && !fields::many(map, "artifacts").is_empty();
        if let Some(node) = map.get("artifacts").filter(|_| is_kept) {
            let text = "artifacts are files of this machine, and the program runs on another host";
            let problem = Problem::error("contradiction", text).at(node.span);
            self.problems.push(problem.hint(
                "copy them with a step of this machine, which says `artifacts`:  run: scp host:file .",
            ));
        }
    }

    fn container(&mut self, node: &Node) -> Option<Container> {
        let map = &mapping(node, "image")?;
        let mut tree =
            |key: &str| map.get(key).map(|it| self.tree(it, format_args!("container.{key}")));
        let image = tree("image")?;
        let (workdir, user, network) = (tree("workdir"), tree("user"), tree("network"));
        let mounts = fields::many(map, "mounts");
        let mounts: Vec<Tree> =
            mounts.iter().map(|node| self.tree(node, "container.mounts")).collect();
        let options = fields::texts(map, "options");
        for node in fields::list(map, "options") {
            if node.as_str().is_some_and(|option| !option.starts_with("--")) {
                let text = "an option for the container engine begins with two dashes";
                let problem = Problem::error("bad-value", text).at(node.span);
                self.problems.push(problem.hint("write it as one word: --memory=1g"));
            }
        }
        let pull = match fields::word(map, "pull").as_deref() {
            Some("always") => Some(Pull::Always),
            Some("never") => Some(Pull::Never),
            Some("missing") => Some(Pull::Missing),
            _ => None,
        };
        Some(Container {
            image,
            mounts,
            env: self.variables(map, "env"),
            pull,
            workdir,
            user,
            network,
            engine: fields::owned(map, "engine"),
            options,
        })
    }

    fn remote(&mut self, node: &Node) -> Option<Remote> {
        let map = &mapping(node, "host")?;
        let mut tree = |key: &str| map.get(key).map(|it| self.tree(it, format_args!("ssh.{key}")));
        let host = tree("host")?;
        let (user, identity, workdir) = (tree("user"), tree("identity"), tree("workdir"));
        let options = fields::mapping(map, "options").into_iter().flat_map(Map::iter);
        let mut said = Vec::new();
        for entry in options {
            if !entry.key.chars().all(|letter| letter.is_ascii_alphanumeric()) {
                let text = format!("`{}` is no option of ssh", entry.key);
                let problem = Problem::error("bad-name", text).at(entry.key_span);
                self.problems.push(problem.hint("write it as in ssh_config: ConnectTimeout: 5"));
            }
            said.extend(fields::name(&entry.value).map(|value| (entry.key.clone(), value)));
        }
        let port = fields::integer(map, "port").and_then(|port| u16::try_from(port).ok());
        Some(Remote { host, user, port, identity, workdir, options: said })
    }
}

/// A mapping, or a text that stands for its first key.
fn mapping(node: &Node, key: &str) -> Option<Map> {
    match &node.value {
        Value::Map(map) => Some(map.clone()),
        Value::Text(_) => {
            let mut map = Map::default();
            map.insert(key.to_owned(), node.span, node.clone());
            Some(map)
        }
        _ => None,
    }
}
