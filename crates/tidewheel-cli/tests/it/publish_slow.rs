//! `tidewheel publish` to registries that are slow, or never answer: each try has its time, and what became of it is looked up;
//! and how soon it goes on when they show what it waits for.
//!
//! Registries that answer that something went wrong are in `publish_cargo.rs`.
#![allow(clippy::unwrap_used, reason = "what goes wrong fails the test")]

use std::time::Duration;

use crate::publishing::{Scene, told};
use crate::registry::{Fault, Faults, Request, What};

/// A file that takes a registry a quarter of an hour, at a thousand bytes a second. Nothing that packs makes it smaller.
fn large(scene: &Scene) {
    let mut seed = 1_u64;
    let noise = std::iter::repeat_with(|| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 56) as u8
    });
    std::fs::write(scene.path("ws/b/noise"), noise.take(1 << 20).collect::<Vec<u8>>()).unwrap();
    scene.commit();
}

#[test]
fn a_try_that_takes_too_long_is_ended_and_what_became_of_it_is_looked_up() {
    for (name, fault, uploads) in [
        ("never-done", Fault::Silent { is_done: true }, 1),
        ("never-not-done", Fault::Silent { is_done: false }, 2),
        ("endless", Fault::Endless, 1),
        ("dripping", Fault::Dripping, 2),
    ] {
        let scene = Scene::chain(&format!("slow-{name}"));
        large(&scene);
        scene.registry.script(Faults::none().on(What::Upload, "b", fault));
        // A machine that is slow itself only tries again.
        let (code, report) = scene.published(&["--task-timeout", "2s", "--max-retries", "20"]);
        assert_eq!(code, 0, "{name}: {report:#}");
        let requests = scene.registry.requests();
        let is =
            |it: &Request, what| it.asked.what == what && it.asked.package.as_deref() == Some("b");
        let first = requests.iter().position(|it| is(it, What::Upload)).unwrap();
        assert!(requests[first].fault.is_some(), "{name}");
        let next =
            requests[first + 1..].iter().find(|it| is(it, What::Upload) || is(it, What::Look));
        assert!(next.is_some_and(|it| is(it, What::Look)), "{name}: it was sent again unseen");
        let sent = requests.iter().filter(|it| is(it, What::Upload)).count();
        assert_eq!(sent, uploads, "{name}");
        scene.registry.assert_nothing_twice();
    }
}

#[test]
fn a_registry_that_never_answers_leaves_a_publish_that_can_be_run_again() {
    let scene = Scene::chain("slow-gives-up");
    let silent = Fault::Silent { is_done: false };
    scene.registry.script(Faults::none().on(What::Upload, "b", silent).always());
    let (code, report) = scene.published(&["--task-timeout", "2s", "--max-retries", "1"]);
    assert_eq!((code, &report["verdict"]), (7, &"incomplete".into()), "{report:#}");
    let b = report["packages"].as_array().unwrap().iter().find(|it| it["package"] == "cargo:b");
    let why = b.unwrap()["error"].as_str().unwrap();
    assert!(why.contains("nobody knows what became of its upload"), "{why}");
    scene.registry.script(Faults::none());
    scene.finish();
    scene.registry.assert_nothing_twice();
}

#[test]
fn what_needs_a_package_is_sent_within_two_seconds_of_its_being_seen() {
    let scene = Scene::chain("slow-seen");
    scene.registry.script(Faults::none().on(What::Upload, "a", Fault::Hidden(2)));
    // As it is unless somebody says otherwise.
    let publish = ["publish", "--yes", "--no-verify", "--format", "json"];
    assert_eq!(told(&scene.tidewheel(&publish).output().unwrap()).0, 0);
    let requests = scene.registry.requests();
    let is = |it: &Request, what, name: &str| {
        it.asked.what == what && it.asked.package.as_deref() == Some(name)
    };
    let b = requests.iter().find(|it| is(it, What::Upload, "b")).unwrap();
    let before = requests.iter().filter(|it| is(it, What::Look, "a") && it.at < b.at);
    let looks: Vec<Duration> = before.map(|it| it.at).collect();
    // It may have been there to be seen from the moment on when the last look did not see it.
    let unseen = looks[looks.len() - 2];
    assert!(b.at - unseen <= Duration::from_secs(2), "{looks:?}, then b at {:?}", b.at);
}

#[test]
fn registries_of_crates_are_paced_as_somebody_says() {
    let scene = Scene::crates("slow-paced", &[("a", &[]), ("b", &[]), ("c", &[])]);
    let plan = ["publish", "plan", "--no-verify", "--format", "json", "--pace-new", "1/10m"];
    let (code, plan) = told(&scene.tidewheel(&plan).output().unwrap());
    assert_eq!((code, &plan["wait_s"]), (0, &1200.into()), "{plan:#}");
    let (code, report) = scene.published(&["--pace-new", "1/1s"]);
    assert_eq!(code, 0, "{report:#}");
    let at: Vec<Duration> = scene.registry.uploads().iter().map(|it| it.at).collect();
    assert!(at[2] - at[0] > Duration::from_millis(1900), "{at:?}");
    for wrong in ["0/1s", "1", "x/1s", "1/soon"] {
        let output = scene.publish(&["--pace-update", wrong]).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{wrong}");
    }
}
