//! [`Workspace`]: packages that are published together, the order in which that can be done, and what is in the way.
//!
//! It knows no registry and no file: whether a version is out already is the plan's business.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use tidewheel::{Graph, GraphError};

use crate::package::{Need, NeedKind, Package, PackageId};
use crate::problem::{Code, Problem};

/// Packages that are published together.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Workspace {
    packages: BTreeMap<PackageId, Package>,
    twice: Vec<Package>,
}

impl Workspace {
    /// The workspace of these packages. Needs of others are forgotten: they are not published here.
    #[must_use]
    pub fn new(packages: impl IntoIterator<Item = Package>) -> Self {
        let mut workspace = Self::default();
        for package in packages {
            match workspace.packages.contains_key(&package.id) {
                true => workspace.twice.push(package),
                false => drop(workspace.packages.insert(package.id.clone(), package)),
            }
        }
        let known: BTreeSet<PackageId> = workspace.packages.keys().cloned().collect();
        for package in workspace.packages.values_mut() {
            // What somebody has named is told if it is not there.
            let is_named = |need: &Need| need.kind == NeedKind::After;
            package.needs.retain(|need| known.contains(&need.package) || is_named(need));
        }
        workspace
    }

    /// All packages, by name.
    pub fn packages(&self) -> impl Iterator<Item = &Package> {
        self.packages.values()
    }

    /// The package of this name.
    #[must_use]
    pub fn package(&self, id: &PackageId) -> Option<&Package> {
        self.packages.get(id)
    }

    /// What must be resolvable before this one is published: what it needs and is published too, once each.
    #[must_use]
    pub fn before(&self, id: &PackageId) -> BTreeSet<&PackageId> {
        self.needed(id, Need::is_order)
    }

    /// The published packages that one needs so.
    fn needed(&self, id: &PackageId, is_so: impl Fn(&Need) -> bool) -> BTreeSet<&PackageId> {
        let needs =
            self.packages.get(id).map(|package| package.needs.as_slice()).unwrap_or_default();
        let is_public = |id: &PackageId| self.packages.get(id).is_some_and(Package::is_public);
        let needs = needs.iter().filter(|need| is_so(need) && is_public(&need.package));
        needs.map(|need| &need.package).filter(|needed| *needed != id).collect()
    }

    /// The published packages and their order, as a graph whose tasks are named by [`PackageId`].
    ///
    /// # Errors
    ///
    /// One circle, if there is any.
    pub fn graph(&self) -> Result<Graph, GraphError> {
        self.graph_of(Need::is_order)
    }

    fn graph_of(&self, is_edge: fn(&Need) -> bool) -> Result<Graph, GraphError> {
        let mut graph = Graph::builder();
        for package in self.packages.values().filter(|package| package.is_public()) {
            let before = self.needed(&package.id, is_edge);
            graph
                .task(package.id.to_string())
                .after(before.iter().map(ToString::to_string).collect::<Vec<_>>());
        }
        graph.build()
    }

    /// The packages that are published, each after what it needs.
    ///
    /// # Errors
    ///
    /// As [`Workspace::graph`].
    pub fn order(&self) -> Result<Vec<&Package>, GraphError> {
        let graph = self.graph()?;
        let by_name: BTreeMap<String, &Package> =
            self.packages.values().map(|package| (package.id.to_string(), package)).collect();
        let order = graph.topological_order();
        Ok(order
            .into_iter()
            .filter_map(|index| by_name.get(&*graph.name(index)).copied())
            .collect())
    }

    /// Everything that keeps it from being published, as far as its manifests say.
    #[must_use]
    pub fn problems(&self) -> Vec<Problem> {
        let mut problems: Vec<Problem> =
            self.twice.iter().map(|twice| self.duplicate(twice)).collect();
        problems.extend(self.cycles());
        for package in self.packages.values().filter(|package| package.is_public()) {
            for need in &package.needs {
                problems.extend(self.problem_of(package, need));
            }
        }
        problems
    }

    fn duplicate(&self, twice: &Package) -> Problem {
        let first = &self.packages[&twice.id];
        Problem {
            what: format!("{} is also the package of {}", twice.id, first.manifest.display()),
            hint: Some(
                "give one of them another name, or publish it from another workspace".to_owned(),
            ),
            ..problem(Code::Duplicate, twice)
        }
    }

    fn problem_of(&self, package: &Package, need: &Need) -> Option<Problem> {
        let Some(needed) = self.packages.get(&need.package) else {
            return (need.kind == NeedKind::After).then(|| Problem {
                what: format!("{} goes after {}, which is not here", package.id, need.package),
                hint: Some(
                    "name it as `tidewheel publish graph` does, as in cargo:core".to_owned(),
                ),
                ..problem(Code::Manifest, package)
            });
        };
        let with_line = |problem: Problem| Problem { line: need.line, ..problem };
        if need.is_for_work() {
            let circle = need.is_order().then(|| self.development_cycle(package, needed));
            return circle.flatten().map(with_line);
        }
        if !needed.is_public() {
            return Some(Problem {
                line: need.line,
                what: format!("{} needs {}, which is not published", package.id, needed.id),
                hint: Some(format!("publish it too: see {}", needed.manifest.display())),
                ..problem(Code::NeedsPrivate, package)
            });
        }
        if need.range.is_none() && need.kind != NeedKind::After {
            return Some(Problem {
                line: need.line,
                what: format!("{} needs {} and names no version", package.id, needed.id),
                hint: Some(format!("add the version beside the path: \"{}\"", needed.version)),
                ..problem(Code::NoVersion, package)
            });
        }
        None
    }

    /// A development dependency by version on something that needs the package itself, be it to be worked on.
    fn development_cycle(&self, package: &Package, needed: &Package) -> Option<Problem> {
        let mut circle: Vec<String> =
            self.path(&needed.id, &package.id)?.iter().map(ToString::to_string).collect();
        circle.insert(0, package.id.to_string());
        Some(Problem {
            what: format!(
                "{} is needed to work on {}, by a version, and needs it: {}",
                needed.id,
                package.id,
                circle.join(" → ")
            ),
            hint: Some(format!(
                "leave its version out, as in {} = {{ path = \"{}\" }}",
                needed.id.name(),
                relative(package, needed)
            )),
            ..problem(Code::DevelopmentCycle, package)
        })
    }

    /// The shortest way from one package to another along what must be there first.
    fn path(&self, from: &PackageId, to: &PackageId) -> Option<Vec<&PackageId>> {
        let (from, _) = self.packages.get_key_value(from)?;
        let mut came_from: BTreeMap<&PackageId, Option<&PackageId>> =
            BTreeMap::from([(from, None)]);
        let mut open = VecDeque::from([from]);
        while let Some(at) = open.pop_front() {
            if at == to {
                let mut path = vec![at];
                while let Some(Some(before)) = path.last().and_then(|id| came_from.get(id)) {
                    path.push(before);
                }
                path.reverse();
                return Some(path);
            }
            for next in self.before(at) {
                if !came_from.contains_key(next) {
                    came_from.insert(next, Some(at));
                    open.push_back(next);
                }
            }
        }
        None
    }

    /// Circles, each told once: those that share no package with one told before.
    fn cycles(&self) -> Vec<Problem> {
        let mut left = self.clone();
        let mut problems = Vec::new();
        // A package that needs itself is in no graph.
        for package in self.packages.values() {
            let needs_itself = |need: &&Need| need.package == package.id && !need.is_for_work();
            if package.needs.iter().find(needs_itself).is_some() {
                problems.push(Problem {
                    what: format!("{} needs itself", package.id),
                    ..problem(Code::Cycle, package)
                });
            }
        }
        // Those by what is only needed to work on packages are told with the edit that opens them.
        while let Err(GraphError::Cycle { path }) = left.graph_of(|need| !need.is_for_work()) {
            let named = |id: &PackageId| path.contains(&id.to_string());
            let Some(first) = left.packages.keys().find(|id| named(id)).cloned() else { break };
            let mut circle = path.clone();
            // Each comes before the next; read the other way round, each needs the next.
            circle.reverse();
            circle.push(circle[0].clone());
            problems.push(Problem {
                what: format!("packages need each other: {}", circle.join(" → ")),
                hint: Some(
                    "take one of these needs out, or move what both need elsewhere".to_owned(),
                ),
                ..problem(Code::Cycle, &left.packages[&first])
            });
            left.packages.retain(|id, _| !named(id));
        }
        problems
    }
}

/// The way from the folder of a package to that of another.
fn relative(from: &Package, to: &Package) -> String {
    let folder = |of: &Package| -> Vec<String> {
        let parts = of.manifest.parent().into_iter().flat_map(|it| it.components());
        parts.map(|it| it.as_os_str().to_string_lossy().into_owned()).collect()
    };
    let (from, to) = (folder(from), folder(to));
    let shared = from.iter().zip(&to).take_while(|(one, other)| one == other).count();
    let up = from[shared..].iter().map(|_| "..");
    up.chain(to[shared..].iter().map(String::as_str)).collect::<Vec<_>>().join("/")
}

/// A problem of a package, without its words.
fn problem(code: Code, package: &Package) -> Problem {
    Problem {
        code,
        package: Some(package.id.clone()),
        file: package.manifest.clone(),
        line: None,
        what: String::new(),
        hint: None,
    }
}

#[cfg(test)]
mod tests;
