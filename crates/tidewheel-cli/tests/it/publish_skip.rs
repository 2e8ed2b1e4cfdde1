//! One package of a publish that is left out while it goes on: what needs it is not begun, everything else goes out, and the
//! next run brings it.
//!
//! Packages that are left out from the start are in `publish_cargo.rs`, whole publishes that are cancelled too.

use crate::publishing::{Scene, told};
use crate::registry::{Fault, Faults, What};
use serde_json::{Value as Json, json};

/// `b` and `d` need `a`, `c` needs `b`.
fn fork(name: &str) -> Scene {
    Scene::crates(name, &[("a", &[]), ("b", &["a"]), ("c", &["b"]), ("d", &["a"])])
}

const SILENT: Fault = Fault::Silent { is_done: false };

#[test]
fn one_package_is_left_out_and_the_others_go_on() {
    let scene = fork("skip-one");
    scene.registry.script(Faults::none().on(What::Upload, "b", SILENT));
    let report = scene.path("report.json");
    let begun = scene.begin(&["-o", report.to_str().unwrap()]);
    begun.until_uploading("b");
    begun.until_uploaded("d");
    let cancel = ["cancel", "last", "cargo:b", "--grace", "0s", "--format", "json"];
    let (code, asked) = told(&scene.tidewheel(&cancel).output().unwrap());
    assert_eq!((code, &asked["step"]), (0, &"cargo:b".into()), "{asked:#}");
    assert_eq!(begun.wait().code(), Some(7));
    let report: Json = serde_json::from_slice(&std::fs::read(&report).unwrap()).unwrap();
    assert_eq!(report["published"], json!(["cargo:a", "cargo:d"]), "{report:#}");
    let b = &report["packages"][1];
    let why = b["error"].as_str().unwrap();
    assert!(why.contains("nobody knows what became of its upload"), "{report:#}");
    assert_eq!(report["skipped"], json!(["cargo:c"]), "{report:#}");
    scene.finish();
    scene.registry.assert_nothing_twice();
}

#[test]
fn one_that_is_left_out_stays_so_when_its_run_is_taken_up_by_the_next() {
    let scene = fork("skip-kept");
    let silent = Faults::none().on(What::Upload, "b", SILENT).on(What::Upload, "d", SILENT);
    scene.registry.script(silent);
    let begun = scene.begin(&[]);
    begun.until_uploading("b");
    begun.until_uploading("d");
    // Said to a server that has the data folder, as its page would.
    let server = scene.serve("operator");
    let cancel = |step: &str| {
        let cancel = ["cancel", "last", step, "--grace", "0s", "--format", "json"];
        told(&server.tidewheel(&cancel).output().unwrap())
    };
    let (code, asked) = cancel("cargo:b");
    assert_eq!((code, &asked["heard"]), (0, &true.into()), "{asked:#}");
    assert_eq!(cancel("cargo:nobody").0, 4);
    begun.kill();
    assert_eq!(cancel("cargo:d").0, 5, "nobody is there to hear it");
    server.stop();
    let resume = ["publish", "resume", "--format", "json"];
    let (code, report) = told(&scene.tidewheel(&resume).output().unwrap());
    assert_eq!((code, &report["verdict"]), (7, &"incomplete".into()), "{report:#}");
    assert_eq!(report["published"], json!(["cargo:a", "cargo:d"]), "{report:#}");
    let report = scene.finish();
    assert_eq!(report["published"], json!(["cargo:b", "cargo:c"]), "{report:#}");
    scene.registry.assert_nothing_twice();
}
