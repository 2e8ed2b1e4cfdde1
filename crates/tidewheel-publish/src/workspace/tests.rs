//! Orders and problems of workspaces that were never on a disk.
//!
//! How real ones are read is tested in `discover`.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::*;
use crate::package::{Ecosystem, Publicity, Version};

fn id(name: &str) -> PackageId {
    PackageId::new(Ecosystem::Cargo, name)
}

fn need(name: &str, kind: NeedKind, range: Option<&str>) -> Need {
    Need { package: id(name), kind, range: range.map(str::to_owned), line: Some(7) }
}

fn package(name: &str, needs: impl IntoIterator<Item = Need>) -> Package {
    Package {
        id: id(name),
        version: Version::Written("1.0.0".to_owned()),
        manifest: PathBuf::from(format!("{name}/Cargo.toml")),
        publicity: Publicity::Public { registries: Vec::new() },
        needs: needs.into_iter().collect(),
        provenance: None,
    }
}

fn after(name: &str, needed: &[&str]) -> Package {
    package(name, needed.iter().map(|needed| need(needed, NeedKind::Normal, Some("^1"))))
}

fn private(package: Package) -> Package {
    Package { publicity: Publicity::Private { by: "publish = false" }, ..package }
}

fn told(workspace: &Workspace) -> Vec<(Code, String)> {
    workspace.problems().into_iter().map(|it| (it.code, it.what)).collect()
}

fn order(workspace: &Workspace) -> Vec<&str> {
    workspace.order().unwrap().into_iter().map(|package| package.id.name()).collect()
}

#[test]
fn each_package_comes_after_what_it_needs_and_private_ones_do_not_come() {
    let tests = package("tests", [need("umbrella", NeedKind::Normal, None)]);
    let workspace = Workspace::new([
        after("umbrella", &["left", "right"]),
        after("left", &["base"]),
        after("right", &["base", "elsewhere"]),
        after("base", &[]),
        private(tests),
    ]);
    assert_eq!(order(&workspace), ["base", "left", "right", "umbrella"]);
    assert_eq!(told(&workspace), []);
}

#[test]
fn what_is_needed_to_build_or_by_others_makes_an_order_and_what_is_needed_to_work_on_it_does_not() {
    for kind in [NeedKind::Build, NeedKind::Optional, NeedKind::Peer] {
        let workspace =
            Workspace::new([package("a", [need("z", kind, Some("1"))]), after("z", &[])]);
        assert_eq!(order(&workspace), ["z", "a"], "{kind:?}");
    }
    let needs = [need("z", NeedKind::Development, None)];
    let workspace = Workspace::new([package("a", needs), after("z", &["a"])]);
    assert_eq!(order(&workspace), ["a", "z"]);
    assert_eq!(told(&workspace), []);
}

#[test]
fn circles_are_named_in_full_and_all_of_them() {
    let workspace = Workspace::new([
        after("a", &["b"]),
        after("b", &["c"]),
        after("c", &["a"]),
        after("x", &["y"]),
        after("y", &["x"]),
        after("own", &["own"]),
        after("free", &[]),
    ]);
    assert!(workspace.order().is_err());
    let told = told(&workspace);
    assert!(told.iter().all(|(code, _)| *code == Code::Cycle), "{told:?}");
    let whole = |circle: &str| told.iter().filter(|(_, what)| what.contains(circle)).count();
    assert_eq!(whole("cargo:own needs itself"), 1, "{told:?}");
    // Wherever the circle begins, each need is in it.
    for step in ["cargo:a → cargo:b", "cargo:b → cargo:c", "cargo:c → cargo:a"] {
        assert_eq!(whole(step), 1, "{step}: {told:?}");
    }
    assert_eq!(whole("cargo:x → cargo:y") + whole("cargo:y → cargo:x"), 2);
    assert_eq!(told.len(), 3);
}

#[test]
fn a_versioned_development_dependency_on_what_needs_the_package_is_told_with_the_edit() {
    let a = package("a", [need("c", NeedKind::Development, Some("^1"))]);
    let workspace = Workspace::new([a, after("b", &["a"]), after("c", &["b"])]);
    let [problem] = &workspace.problems()[..] else { panic!("{:?}", workspace.problems()) };
    assert_eq!(problem.code, Code::DevelopmentCycle);
    assert!(problem.what.ends_with("cargo:a → cargo:c → cargo:b → cargo:a"), "{}", problem.what);
    let edit = "leave its version out, as in c = { path = \"../c\" }";
    assert_eq!((problem.line, problem.hint.as_deref()), (Some(7), Some(edit)));
    // By its path only it is left out when the package is packed.
    let a = package("a", [need("c", NeedKind::Development, None)]);
    assert_eq!(told(&Workspace::new([a, after("c", &["a"])])), []);
    // Without a circle the registry has it in time.
    let a = || package("a", [need("c", NeedKind::Development, Some("^1"))]);
    let workspace = Workspace::new([a(), after("c", &[])]);
    assert_eq!((told(&workspace), order(&workspace)), (vec![], vec!["c", "a"]));
    // Registries of npm do not ask what is needed to work on a package.
    let npm = |it: Package| Package { id: PackageId::new(Ecosystem::Npm, it.id.name()), ..it };
    let of_npm = |mut it: Need| {
        it.package = PackageId::new(Ecosystem::Npm, it.package.name());
        it
    };
    let b = npm(package("b", [of_npm(need("c", NeedKind::Development, Some("^1")))]));
    let c = npm(package("c", [of_npm(need("b", NeedKind::Normal, Some("^1")))]));
    let workspace = Workspace::new([b, c]);
    assert_eq!((told(&workspace), order(&workspace)), (vec![], vec!["b", "c"]));
    // Two of them are a circle too.
    let c = package("c", [need("a", NeedKind::Development, Some("^1"))]);
    let circle = told(&Workspace::new([a(), c]));
    assert!(circle.iter().all(|(code, _)| *code == Code::DevelopmentCycle), "{circle:?}");
    assert_eq!(circle.len(), 2, "either may be opened");
}

#[test]
fn a_need_without_a_version_or_of_a_private_package_is_a_problem_of_those_that_are_published() {
    let vague = || [need("base", NeedKind::Normal, None)];
    let workspace = Workspace::new([package("a", vague()), after("base", &[])]);
    let [(code, what)] = &told(&workspace)[..] else { panic!() };
    assert_eq!(
        (*code, what.as_str()),
        (Code::NoVersion, "cargo:a needs cargo:base and names no version")
    );
    let workspace = Workspace::new([private(package("a", vague())), after("base", &[])]);
    assert_eq!(told(&workspace), []);
    let workspace = Workspace::new([after("a", &["base"]), private(after("base", &[]))]);
    let [(code, what)] = &told(&workspace)[..] else { panic!() };
    assert_eq!(
        (*code, what.as_str()),
        (Code::NeedsPrivate, "cargo:a needs cargo:base, which is not published")
    );
}

#[test]
fn two_packages_of_one_name_are_a_problem_that_names_both_files() {
    let named =
        |name: &str| Package { id: PackageId::new(Ecosystem::Python, name), ..package(name, []) };
    let workspace = Workspace::new([named("A_b"), named("a-B")]);
    let [problem] = &workspace.problems()[..] else { panic!() };
    assert_eq!(
        problem.to_string(),
        "a-B/Cargo.toml: python:a-b is also the package of A_b/Cargo.toml"
    );
    // Another ecosystem has names of its own.
    let workspace = Workspace::new([named("a"), package("a", [])]);
    assert_eq!(told(&workspace), []);
}

/// A generator that is the same everywhere; good enough to choose edges.
fn shuffled(seed: &mut u64) -> u64 {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *seed >> 33
}

#[test]
fn in_a_thousand_random_workspaces_nothing_comes_before_what_it_needs() {
    for seed in 0..1_000 {
        let mut seed = seed;
        let count = 1 + shuffled(&mut seed) % 30;
        let packages = (0..count).map(|number| {
            let needed = (0..number).filter(|_| shuffled(&mut seed).is_multiple_of(4));
            // The names say nothing about the order.
            let name = |number: u64| format!("p{}", (number * 7_919) % 10_007);
            let needed: Vec<String> = needed.map(name).collect();
            let package =
                after(&name(number), &needed.iter().map(String::as_str).collect::<Vec<_>>());
            if shuffled(&mut seed).is_multiple_of(8) { private(package) } else { package }
        });
        let workspace = Workspace::new(packages.collect::<Vec<_>>());
        let mut done = BTreeSet::new();
        for package in workspace.order().unwrap() {
            assert!(package.is_public());
            assert!(workspace.before(&package.id).iter().all(|needed| done.contains(*needed)));
            done.insert(package.id.clone());
        }
        assert_eq!(done.len(), workspace.packages().filter(|package| package.is_public()).count());
    }
}

/// Who runs now, of those that a wheel has begun.
#[derive(Default)]
struct Floor {
    running: Vec<(String, tokio::sync::oneshot::Sender<()>)>,
}

/// Begins packages as a wheel does, and ends them one by one when as many run as can.
async fn play(workspace: &Workspace, at_once: usize, seed: &mut u64) {
    let floor = std::sync::Arc::new(std::sync::Mutex::new(Floor::default()));
    let bell = std::sync::Arc::new(tokio::sync::Notify::new());
    let wheel = tidewheel::Tidewheel::builder().start();
    let (heard, rung) = (std::sync::Arc::clone(&floor), std::sync::Arc::clone(&bell));
    let run = wheel.run(workspace.graph().unwrap(), move |task| {
        let (floor, bell) = (std::sync::Arc::clone(&heard), std::sync::Arc::clone(&rung));
        let name = task.name().to_string();
        async move {
            let (end, ends) = tokio::sync::oneshot::channel();
            floor.lock().unwrap().running.push((name, end));
            bell.notify_one();
            let _ = ends.await;
            tidewheel::Outcome::Succeeded
        }
    });
    let run = run.concurrency(u32::try_from(at_once).unwrap()).start().unwrap();
    let public: Vec<&Package> = workspace.packages().filter(|it| it.is_public()).collect();
    let mut done: BTreeSet<String> = BTreeSet::new();
    while done.len() < public.len() {
        let is_ready = |it: &&&Package| {
            let before = workspace.before(&it.id);
            !done.contains(&it.id.to_string())
                && before.iter().all(|id| done.contains(&id.to_string()))
        };
        let ready: BTreeSet<String> =
            public.iter().filter(is_ready).map(|it| it.id.to_string()).collect();
        // Were there fewer, this would wait for ever.
        while floor.lock().unwrap().running.len() < ready.len().min(at_once) {
            bell.notified().await;
        }
        let (name, end) = {
            let running = &mut floor.lock().unwrap().running;
            assert!(running.iter().all(|(name, _)| ready.contains(name)), "one came too early");
            assert!(running.len() <= at_once, "{} at once", running.len());
            running.remove(shuffled(seed) as usize % running.len())
        };
        done.insert(name);
        end.send(()).unwrap();
    }
    assert!(run.await.unwrap().is_success());
}

#[tokio::test]
async fn in_a_thousand_random_workspaces_as_many_run_as_can_and_none_before_what_it_needs() {
    for seed in 0..1_000 {
        let mut seed = seed + 77;
        let count = 1 + shuffled(&mut seed) % 12;
        let packages = (0..count).map(|number| {
            let needed = (0..number).filter(|_| shuffled(&mut seed).is_multiple_of(3));
            let needed: Vec<String> = needed.map(|number| format!("p{number}")).collect();
            after(&format!("p{number}"), &needed.iter().map(String::as_str).collect::<Vec<_>>())
        });
        let workspace = Workspace::new(packages.collect::<Vec<_>>());
        let at_once = 1 + shuffled(&mut seed) as usize % 8;
        play(&workspace, at_once, &mut seed).await;
    }
}
