//! Crates, as `cargo metadata` says: versions and needs that are inherited, renamed packages, who may be published.
//!
//! The manifest itself is read for the lines of needs alone: there is one program that understands all of it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use cargo_metadata::{Dependency, DependencyKind, MetadataCommand};

use super::folder::Discovered;
use super::manifest::{after, listed, read};
use crate::package::{Ecosystem, Need, NeedKind, Package, PackageId, Publicity, Version};
use crate::problem::{Code, Problem};

pub(super) fn discover(root: &Path) -> Discovered {
    let manifest = root.join("Cargo.toml");
    let mut command = MetadataCommand::new();
    command.manifest_path(&manifest).no_deps().other_options(["--offline".to_owned()]);
    // Its settings are looked for from there.
    command.current_dir(root);
    let metadata = match command.exec() {
        Ok(metadata) => metadata,
        Err(error) => {
            let what = format!("`cargo metadata` failed: {}", error.to_string().trim());
            let is_unnamed = what.contains("registry index was not found");
            let hint = "name the index of that registry: [registries.NAME] in .cargo/config.toml";
            let problem = Problem {
                code: Code::Tool,
                package: None,
                file: manifest,
                line: None,
                what,
                hint: is_unnamed.then(|| hint.to_owned()),
            };
            return Discovered { packages: Vec::new(), problems: vec![problem] };
        }
    };
    let members = metadata.workspace_packages();
    let names: BTreeMap<PathBuf, PackageId> = members
        .iter()
        .filter_map(|member| Some((member.manifest_path.parent()?.into(), id(&member.name))))
        .collect();
    let text = |member: &cargo_metadata::Package| {
        read(member.manifest_path.as_std_path()).unwrap_or_default()
    };
    let packages = members.iter().map(|member| (member, text(member)));
    let packages = packages.map(|(member, text)| Package {
        id: id(&member.name),
        version: Version::Written(member.version.to_string()),
        manifest: member.manifest_path.clone().into(),
        publicity: match &member.publish {
            None => Publicity::Public { registries: Vec::new() },
            Some(none) if none.is_empty() => Publicity::Private { by: "publish = false" },
            Some(registries) => Publicity::Public { registries: registries.clone() },
        },
        needs: member
            .dependencies
            .iter()
            .filter_map(|it| need(it, &names, &text))
            .chain(after(listed(member.metadata.pointer("/tidewheel/publish-after"))))
            .collect(),
        // Registries of crates take no statements.
        provenance: None,
    });
    Discovered { packages: packages.collect(), problems: Vec::new() }
}

/// The folder of the workspace that a manifest is a part of; nothing if cargo does not say, which it does when it is asked
/// for more.
pub(super) fn root_of(manifest: &Path) -> Option<PathBuf> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["locate-project", "--workspace", "--message-format", "plain"]);
    command.arg("--manifest-path").arg(manifest).current_dir(manifest.parent()?);
    let output = command.stdin(Stdio::null()).output().ok().filter(|it| it.status.success())?;
    let told = String::from_utf8(output.stdout).ok()?;
    std::fs::canonicalize(Path::new(told.trim_end()).parent()?).ok()
}

fn id(name: &str) -> PackageId {
    PackageId::new(Ecosystem::Cargo, name)
}

/// What is needed of the workspace. By its path: a package of the same name may come from elsewhere.
fn need(
    dependency: &Dependency,
    members: &BTreeMap<PathBuf, PackageId>,
    manifest: &str,
) -> Option<Need> {
    let package = members.get(dependency.path.as_ref()?.as_std_path())?.clone();
    let kind = match dependency.kind {
        DependencyKind::Development => NeedKind::Development,
        DependencyKind::Build => NeedKind::Build,
        _ if dependency.optional => NeedKind::Optional,
        _ => NeedKind::Normal,
    };
    // Cargo says `*` of a path without a version. Registries refuse it, so nobody means it.
    let range = Some(dependency.req.to_string()).filter(|range| range != "*");
    let written = dependency.rename.as_ref().unwrap_or(&dependency.name);
    let line = line_of_need(manifest, dependency.kind, written);
    Some(Need { package, kind, range, line })
}

/// The line of a manifest that names a need, in a section of its kind.
fn line_of_need(manifest: &str, kind: DependencyKind, written: &str) -> Option<usize> {
    let section = match kind {
        DependencyKind::Development => "dev-dependencies",
        DependencyKind::Build => "build-dependencies",
        _ => "dependencies",
    };
    let bare = |text: &str| text.trim().trim_matches(['"', '\'']).to_owned();
    let mut is_inside = false;
    manifest
        .lines()
        .position(|line| {
            let line = line.trim();
            if let Some(header) = line.strip_prefix('[') {
                let header = header.split(']').next().unwrap_or_default().trim();
                is_inside = header.rsplit('.').next() == Some(section);
                let own = header.rsplit_once('.');
                // A need may have a section of its own.
                return own.is_some_and(|(before, name)| {
                    before.rsplit('.').next() == Some(section) && bare(name) == written
                });
            }
            let name = line.split(['=', '.']).next().unwrap_or_default();
            is_inside && line.contains('=') && bare(name) == written
        })
        .map(|line| line + 1)
}
