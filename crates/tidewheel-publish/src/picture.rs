//! A workspace as a picture: packages, and which must be there before which.
//!
//! How pictures are laid out and written is the business of `tidewheel-picture`.

use std::collections::BTreeMap;

use tidewheel_client::picture::{Edge, Picture, State, Vertex};

use crate::package::{Package, PackageId, Publicity};
use crate::workspace::Workspace;

impl Workspace {
    /// The picture of it. Packages that are not published are there if a published one needs them, which is a
    /// problem; what is needed only to work on a package is not drawn.
    #[must_use]
    pub fn picture(&self) -> Picture {
        let wanted: Vec<&Package> = self
            .packages()
            .filter(|package| package.is_public() || self.is_needed_by_public(&package.id))
            .collect();
        let mut picture = Picture::new();
        let places: BTreeMap<&PackageId, usize> =
            wanted.iter().map(|package| (&package.id, picture.add(vertex(package)))).collect();
        for package in &wanted {
            let needs = package.needs.iter().filter(|need| need.is_order());
            let mut from: Vec<usize> =
                needs.filter_map(|need| places.get(&need.package)).copied().collect();
            from.sort_unstable();
            from.dedup();
            for from in from {
                picture.add_edge(Edge::new(from, places[&package.id]));
            }
        }
        picture
    }

    fn is_needed_by_public(&self, id: &PackageId) -> bool {
        let mut needs =
            self.packages().filter(|package| package.is_public()).flat_map(|it| &it.needs);
        needs.any(|need| need.is_order() && need.package == *id)
    }
}

fn vertex(package: &Package) -> Vertex {
    let (ecosystem, version) = (package.id.ecosystem().word(), &package.version);
    let vertex = Vertex::new(package.id.name()).explained(package.manifest.display().to_string());
    match package.publicity {
        Publicity::Public { .. } => vertex.detailed(format!("{ecosystem} · {version}")),
        Publicity::Private { .. } => {
            vertex.detailed(format!("{ecosystem} · not published")).in_state(State::Failed)
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::package::{Ecosystem, Need, NeedKind, Version};

    use super::*;

    #[test]
    fn what_is_published_is_drawn_with_what_it_needs() {
        let package = |name: &str, is_public: bool, needs: &[(&str, NeedKind)]| Package {
            id: PackageId::new(Ecosystem::Cargo, name),
            version: Version::Written("1.2.0".to_owned()),
            manifest: format!("{name}/Cargo.toml").into(),
            publicity: match is_public {
                true => Publicity::Public { registries: Vec::new() },
                false => Publicity::Private { by: "publish = false" },
            },
            needs: needs
                .iter()
                .map(|(name, kind)| Need {
                    package: PackageId::new(Ecosystem::Cargo, name),
                    kind: *kind,
                    range: None,
                    line: None,
                })
                .collect(),
            provenance: None,
        };
        let (normal, build, work) = (NeedKind::Normal, NeedKind::Build, NeedKind::Development);
        let picture = Workspace::new([
            package("user", true, &[("base", normal), ("base", build), ("hidden", normal)]),
            package("base", true, &[("bench", work)]),
            package("hidden", false, &[]),
            package("bench", false, &[("user", normal)]),
        ])
        .picture();
        let names: Vec<&str> = picture.vertices.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(names, ["base", "hidden", "user"]);
        assert_eq!(picture.vertices[0].detail.as_deref(), Some("cargo · 1.2.0"));
        assert_eq!(picture.vertices[1].detail.as_deref(), Some("cargo · not published"));
        let edges: Vec<(usize, usize)> = picture.edges.iter().map(|it| (it.from, it.to)).collect();
        assert_eq!(edges, [(0, 2), (1, 2)]);
    }
}
