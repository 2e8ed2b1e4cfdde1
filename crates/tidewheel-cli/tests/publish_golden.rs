//! The golden rule of publishing: after any faults and any number of kills, run again and again, a publish comes to
//! what one without faults comes to, and nothing was ever sent with two contents.
//!
//! `TIDEWHEEL_GOLDEN=500 cargo test -p tidewheel-cli --test publish_golden` plays more worlds than usual.
#![allow(clippy::unwrap_used, reason = "what goes wrong fails the test")]

mod publishing;
#[path = "../../tidewheel-publish/tests/registry/mod.rs"]
mod registry;

use std::process::{Child, Stdio};

use publishing::Scene;
use registry::{Faults, Random};

/// Worlds that are played unless something else is said.
const WORLDS: u64 = 4;
/// Processes that a world may take. One that needs more makes no progress.
const PROCESSES_MAX: usize = 60;

/// Ten crates: two roots, a diamond, a long way round.
const CRATES: [(&str, &[&str]); 10] = [
    ("a", &[]),
    ("b", &[]),
    ("c", &["a"]),
    ("d", &["a", "b"]),
    ("e", &["c", "d"]),
    ("f", &["b"]),
    ("g", &["f"]),
    ("h", &["g", "e"]),
    ("i", &[]),
    ("j", &["i", "h"]),
];

/// Waits until the registry has heard so many requests; whether the process lives then.
fn lives_until(scene: &Scene, child: &mut Child, requests: usize) -> bool {
    while scene.registry.requests().len() < requests {
        if child.try_wait().unwrap().is_some() {
            return false;
        }
        std::thread::yield_now();
    }
    true
}

fn play(seed: u64) {
    let names: Vec<&str> = CRATES.iter().map(|(name, _)| *name).collect();
    let scene = Scene::crates(&format!("publish-golden-{seed}"), &CRATES);
    let before = scene.tree();
    scene.registry.script(Faults::random(seed, &names));
    let mut random = Random::new(seed);
    let mut codes = Vec::new();
    while codes.last() != Some(&Some(0)) {
        assert!(codes.len() < PROCESSES_MAX, "world {seed} does not end: {codes:?}");
        let mut child =
            scene.publish(&[]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        if random.percent(50) {
            let requests = scene.registry.requests().len() + random.below(30) as usize;
            if lives_until(&scene, &mut child, requests) {
                child.kill().unwrap();
            }
        }
        let code = child.wait().unwrap().code();
        // Killed, all out, or to be run again; anything else is for a person, and nothing here is.
        assert!([None, Some(0), Some(7)].contains(&code), "world {seed}: {code:?} after {codes:?}");
        codes.push(code);
        assert_eq!(scene.tree(), before, "world {seed}");
    }
    let census: Vec<String> = scene.registry.census().into_iter().map(|it| it.0).collect();
    assert_eq!(census, names, "world {seed}");
    scene.registry.assert_nothing_twice();
}

#[test]
fn after_any_faults_and_kills_all_is_out_once() {
    let said = std::env::var("TIDEWHEEL_GOLDEN").ok().and_then(|said| said.parse().ok());
    for seed in 1..=said.unwrap_or(WORLDS) {
        play(seed);
    }
}
