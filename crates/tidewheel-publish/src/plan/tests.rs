//! Plans of workspaces in all situations, without a registry.
//!
//! How answers of registries are read is tested in `registry`.

use std::path::PathBuf;
use std::time::Duration;

use super::*;
use crate::package::{Ecosystem, Need, NeedKind, Package, PackageId, Publicity, Version};
use crate::registry::{Algorithm, Digest, Listed, ListedFile, Listing};
use crate::settings::Address;
use crate::workspace::Workspace;

fn id(name: &str) -> PackageId {
    PackageId::new(Ecosystem::Cargo, name)
}

fn package(name: &str, needs: &[&str]) -> Package {
    let need = |name: &&str| Need {
        package: id(name),
        kind: NeedKind::Normal,
        range: Some("^1".to_owned()),
        line: None,
    };
    Package {
        id: id(name),
        version: Version::Written("1.0.0".to_owned()),
        manifest: PathBuf::from(format!("{name}/Cargo.toml")),
        publicity: Publicity::Public { registries: Vec::new() },
        needs: needs.iter().map(need).collect(),
        provenance: None,
    }
}

fn address(index: &str) -> Address {
    Address { name: "ours".to_owned(), index: index.to_owned(), upload: None }
}

fn sha256(byte: u8) -> Digest {
    Digest::new(Algorithm::Sha256, &[byte; 32]).unwrap()
}

fn sha1(byte: u8) -> Digest {
    Digest::new(Algorithm::Sha1, &[byte; 20]).unwrap()
}

fn listed(digests: &[Digest]) -> Listed {
    let file = ListedFile { name: None, digests: digests.to_vec(), url: None };
    Listed { files: vec![file], is_yanked: false }
}

fn listing(versions: &[(&str, Listed)]) -> Listing {
    let versions = versions.iter().map(|(version, it)| ((*version).to_owned(), it.clone()));
    Listing { versions: versions.collect() }
}

fn packed(digests: &[Digest]) -> Vec<(String, Vec<Digest>)> {
    vec![("a-1.0.0.crate".to_owned(), digests.to_vec())]
}

fn words(plan: &Plan) -> Vec<(&str, &str)> {
    plan.packages.iter().map(|it| (it.id.name(), it.class.word())).collect()
}

/// The class of one package in this situation.
fn class_of(listing: Option<Listing>, packed: Option<Vec<(String, Vec<Digest>)>>) -> Class {
    let mut situation = Situation::default();
    situation.listings.extend(listing.map(|listing| (id("a"), listing)));
    situation.packed.extend(packed.map(|packed| (id("a"), packed)));
    let workspace = Workspace::new([package("a", &[])]);
    Plan::new(&workspace, &situation).unwrap().packages[0].class.clone()
}

#[test]
fn contents_decide_what_is_to_be_done() {
    let ours = || Some(packed(&[sha256(1), sha1(1)]));
    let out = |digests: &[Digest]| Some(listing(&[("1.0.0", listed(digests))]));
    assert_eq!(class_of(None, ours()), Class::Unknown);
    assert_eq!(class_of(Some(Listing::default()), ours()), Class::New);
    assert_eq!(class_of(Some(listing(&[("0.9.0", listed(&[]))])), ours()), Class::Update);
    assert_eq!(class_of(out(&[sha256(1)]), ours()), Class::Done);
    let conflict = Class::Conflict { ours: sha256(1), theirs: sha256(2) };
    assert_eq!(class_of(out(&[sha256(2)]), ours()), conflict);
    // One that differs is enough, whatever else is equal.
    assert_eq!(class_of(out(&[sha1(1), sha256(2)]), ours()), conflict);
    assert_eq!(class_of(out(&[sha256(1)]), None), Class::Out);
    assert_eq!(class_of(out(&[]), ours()), Class::Out);
    // Equal digests of an algorithm that was broken show nothing, different ones do.
    assert_eq!(class_of(out(&[sha1(1)]), ours()), Class::Out);
    assert_eq!(class_of(out(&[sha1(2)]), ours()).word(), "conflict");
    let yanked = Listed { is_yanked: true, ..listed(&[sha256(1)]) };
    assert_eq!(class_of(Some(listing(&[("1.0.0", yanked)])), ours()), Class::Yanked);
}

#[test]
fn of_a_version_with_many_files_those_that_are_missing_are_uploaded() {
    let file = |name: &str, byte| ListedFile {
        name: Some(name.to_owned()),
        digests: vec![sha256(byte)],
        url: None,
    };
    let out =
        |files: Vec<ListedFile>| Some(listing(&[("1.0.0", Listed { files, is_yanked: false })]));
    let ours = || {
        let files = ["a-1.0.0.tar.gz", "a-1.0.0-py3-none-any.whl"];
        Some(files.iter().map(|name| ((*name).to_owned(), vec![sha256(1)])).collect())
    };
    let first = || file("a-1.0.0.tar.gz", 1);
    assert_eq!(class_of(out(vec![first()]), ours()), Class::Partial { out: 1, all: 2 });
    let all = vec![first(), file("a-1.0.0-py3-none-any.whl", 1)];
    assert_eq!(class_of(out(all), ours()), Class::Done);
    let other = vec![first(), file("a-1.0.0-py3-none-any.whl", 2)];
    assert_eq!(class_of(out(other), ours()).word(), "conflict");
    // What others have put there is theirs.
    let more = vec![first(), file("a-1.0.0-py3-none-any.whl", 1), file("a-1.0.0-cp39.whl", 9)];
    assert_eq!(class_of(out(more), ours()), Class::Done);
}

#[test]
fn what_needs_something_that_cannot_be_had_is_blocked_and_others_go_on() {
    let workspace = Workspace::new([
        package("base", &[]),
        package("left", &["base"]),
        package("top", &["left"]),
        package("out", &["base"]),
        package("free", &[]),
        Package {
            publicity: Publicity::Private { by: "publish = false" },
            ..package("tests", &["top"])
        },
    ]);
    let mut situation = Situation::default();
    let theirs = listing(&[("1.0.0", listed(&[sha256(2)]))]);
    situation.listings.insert(id("base"), theirs.clone());
    situation.packed.insert(id("base"), packed(&[sha256(1)]));
    situation.listings.insert(id("out"), theirs);
    situation.packed.insert(id("out"), packed(&[sha256(2)]));
    for name in ["left", "top", "free"] {
        situation.listings.insert(id(name), Listing::default());
    }
    let plan = Plan::new(&workspace, &situation).unwrap();
    let mut told = words(&plan);
    told.sort_unstable();
    assert_eq!(
        told,
        [
            ("base", "conflict"),
            ("free", "new"),
            ("left", "blocked"),
            ("out", "done"),
            ("tests", "private"),
            ("top", "blocked"),
        ]
    );
    assert_eq!(plan.uploads().count(), 1);
    assert_eq!(plan.stuck().count(), 3);
    let top = plan.packages.iter().find(|it| it.id == id("top")).unwrap();
    assert_eq!(top.class.to_string(), "blocked by cargo:left");
}

#[test]
fn a_plan_says_how_long_the_registry_will_take_at_least() {
    let names: Vec<String> = (0..40).map(|number| format!("p{number}")).collect();
    let workspace = Workspace::new(names.iter().map(|name| package(name, &[])));
    let situation = |listing: &Listing| {
        let listings = names.iter().map(|name| (id(name), listing.clone())).collect();
        let addresses =
            names.iter().map(|name| (id(name), address("https://a.example/"))).collect();
        let paces = [("https://a.example/".to_owned(), Pace::of_public_crates())].into();
        Situation { listings, addresses, paces, ..Situation::default() }
    };
    let wait = |listing: &Listing| Plan::new(&workspace, &situation(listing)).unwrap().wait;
    assert_eq!(wait(&Listing::default()), Duration::from_mins(350));
    assert_eq!(wait(&listing(&[("0.9.0", listed(&[]))])), Duration::from_mins(10));
    assert_eq!(wait(&listing(&[("1.0.0", listed(&[]))])), Duration::ZERO);
    // Each registry has a pace of its own, and they go side by side.
    let mut mixed = situation(&Listing::default());
    for name in &names[..30] {
        mixed.addresses.insert(id(name), address("https://b.example/"));
    }
    assert_eq!(Plan::new(&workspace, &mixed).unwrap().wait, Duration::from_mins(50));
    let slow = Rate { burst: 1, every: Duration::from_secs(1) };
    let said = Pace::of_public_crates().unless_said(Pace { new: Some(slow), update: None });
    assert_eq!((said.new, said.update), (Some(slow), Pace::of_public_crates().update));
}

#[test]
fn the_same_situation_gives_the_same_digest_and_any_other_another() {
    let workspace = Workspace::new([package("a", &[]), package("b", &["a"])]);
    let situation = |byte: u8, is_new: bool| {
        let versions = if is_new { vec![] } else { vec![("0.1.0", listed(&[]))] };
        let listings = ["a", "b"].map(|name| (id(name), listing(&versions)));
        let packed = [(id("a"), packed(&[sha256(byte)]))];
        let (listings, packed) = (listings.into(), packed.into());
        Situation { listings, packed, ..Situation::default() }
    };
    let digest = |workspace: &Workspace, situation: &Situation| {
        Plan::new(workspace, situation).unwrap().digest
    };
    let first = digest(&workspace, &situation(1, true));
    assert_eq!(first, digest(&workspace, &situation(1, true)));
    assert_ne!(first, digest(&workspace, &situation(2, true)), "other contents");
    assert_ne!(first, digest(&workspace, &situation(1, false)), "other things to do");
    let mut elsewhere = situation(1, true);
    elsewhere.addresses.insert(id("a"), address("https://a.example/"));
    let there = digest(&workspace, &elsewhere);
    assert_ne!(first, there, "another registry");
    elsewhere.addresses.insert(id("a"), address("https://b.example/"));
    assert_ne!(there, digest(&workspace, &elsewhere), "still another registry, of the same name");
    let loose = Workspace::new([package("a", &[]), package("b", &[])]);
    assert_ne!(first, digest(&loose, &situation(1, true)), "another order");
}
