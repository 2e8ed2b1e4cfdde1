//! Beside `cargo publish --workspace`: what a second run can do after a fault, and how long many packages take.
//!
//! Figures are printed with `--ignored --nocapture`; they are for reading, and depend on the machine.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "what goes wrong fails the test")]

mod publishing;
#[path = "../../tidewheel-publish/tests/registry/mod.rs"]
mod registry;

use std::time::{Duration, Instant};

use publishing::Scene;
use registry::{Fault, Faults, RetryAfter, What};

/// `cargo publish --workspace`, and whether it ended well.
fn cargo_publish(scene: &Scene) -> bool {
    let cargo = std::env::var("CARGO").unwrap_or("cargo".to_owned());
    let mut command = scene.program(&cargo);
    command.args(["publish", "--workspace", "--no-verify", "--registry", "ours"]);
    command.env("CARGO_NET_OFFLINE", "false");
    command.env("CARGO_REGISTRIES_OURS_TOKEN", scene.registry.token());
    command.output().unwrap().status.success()
}

#[test]
fn after_a_fault_a_second_run_of_cargo_publish_cannot_finish_and_ours_can() {
    for (name, fault) in [
        ("refused-before", Fault::Refused(500, "try again")),
        ("refused-after", Fault::DoneThenRefused(500)),
        ("limit", Fault::TooMany(RetryAfter::Seconds(1))),
    ] {
        let scene = Scene::chain(&format!("publish-beside-{name}"));
        scene.registry.script(Faults::none().on(What::Upload, "b", fault).times(4));
        let first = cargo_publish(&scene);
        scene.registry.script(Faults::none());
        assert_eq!((first, cargo_publish(&scene)), (false, false), "{name}: cargo finishes by now");
        // What is missing is published from what cargo has left half done.
        scene.finish();
        let census: Vec<String> = scene.registry.census().into_iter().map(|it| it.0).collect();
        assert_eq!(census, ["a", "b", "c"], "{name}");
    }
}

/// Crates in layers, each of which needs one of the layer before.
fn layered(layers: usize, many: usize) -> Vec<(String, Vec<String>)> {
    let name = |number: usize| format!("p{number}");
    let needs = |number: usize| number.checked_sub(many.div_ceil(layers)).map(name);
    (0..many).map(|number| (name(number), needs(number).into_iter().collect())).collect()
}

fn scene(name: &str, crates: &[(String, Vec<String>)]) -> Scene {
    let needs: Vec<Vec<&str>> =
        crates.iter().map(|(_, needs)| needs.iter().map(String::as_str).collect()).collect();
    let crates: Vec<(&str, &[&str])> =
        crates.iter().zip(&needs).map(|((name, _), needs)| (name.as_str(), &needs[..])).collect();
    Scene::crates(name, &crates)
}

#[test]
#[ignore = "it prints figures"]
fn forty_packages_of_two_seconds_in_six_layers_eight_at_once() {
    let scene = scene("publish-forty", &layered(6, 40));
    scene.registry.take_for_uploads(Duration::from_secs(2));
    let (code, report) = scene.published(&["--concurrency", "8"]);
    assert_eq!(code, 0, "{report:#}");
    let uploads = scene.registry.uploads();
    let last = uploads.iter().map(|it| it.at).max().unwrap();
    let first = uploads.iter().map(|it| it.at).min().unwrap();
    // An upload is noted when it has arrived and taken its time.
    println!(
        "first to last: {:.2} s, at once: {}",
        (last - first).as_secs_f64(),
        scene.registry.uploads_at_once()
    );
}

#[test]
#[ignore = "it prints figures"]
fn a_plan_of_three_hundred_packages() {
    let scene = scene("publish-three-hundred", &layered(10, 300));
    for name in ["packed for the first time", "packed before"] {
        let began = Instant::now();
        let output = scene
            .tidewheel(&["publish", "plan", "--no-verify", "--format", "json"])
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        println!("{name}: {:.2} s", began.elapsed().as_secs_f64());
    }
}

#[test]
#[ignore = "it prints what people see"]
fn how_it_looks() {
    let scene = Scene::chain("publish-look");
    scene.registry.script(Faults::none().on(
        What::Upload,
        "b",
        Fault::TooMany(RetryAfter::Seconds(2)),
    ));
    for arguments in [
        &["publish", "--no-verify", "--yes"][..],
        &["show", "last"],
        &["publish", "status"],
        &["publish", "undo"],
    ] {
        let output = scene.tidewheel(arguments).output().unwrap();
        println!(
            "$ tidewheel {}\n{}{}",
            arguments.join(" "),
            String::from_utf8_lossy(&output.stderr),
            String::from_utf8_lossy(&output.stdout)
        );
    }
}
