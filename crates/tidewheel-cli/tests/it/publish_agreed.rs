//! `tidewheel publish` of what somebody has agreed to: a plan by its digest, a run that was left by what it was started with.
//!
//! Questions and codes are in `publish_follow.rs`.

use crate::publishing::{Scene, told};
use crate::registry::{Fault, Faults, What};
use serde_json::json;

#[test]
fn a_digest_that_was_agreed_to_is_good_until_all_of_it_is_out_and_for_nothing_else() {
    let scene = Scene::chain("publish-agreed");
    let plan = ["publish", "plan", "--no-verify", "--format", "json"];
    let (_, plan) = told(&scene.tidewheel(&plan).output().unwrap());
    let agreed = ["--plan-hash", plan["digest"].as_str().unwrap(), "--max-retries", "0"];
    let refused = Fault::Refused(500, "not yet");
    scene.registry.script(Faults::none().on(What::Upload, "b", refused).times(2));
    // More of it is out each time.
    for _ in 0..2 {
        let (code, report) = scene.published(&agreed);
        assert_eq!((code, &report["plan"]), (7, &plan["digest"]), "{report:#}");
    }
    // Of another commit it is another plan.
    scene.file("c/src/lib.rs", "// more\n");
    scene.commit();
    let mut command = scene.publish(&agreed);
    let (code, error) = told(&command.env("CARGO_NET_OFFLINE", "false").output().unwrap());
    assert_eq!(code, 5, "{error:#}");
    assert_eq!(scene.brought(), ["a"]);
    scene.program("git").args(["reset", "-q", "--hard", "HEAD~1"]).status().unwrap();
    let (code, report) = scene.published(&agreed);
    assert_eq!((code, &report["published"]), (0, &json!(["cargo:b", "cargo:c"])), "{report:#}");
    scene.registry.assert_nothing_twice();
}

#[test]
fn a_run_that_was_left_is_gone_on_with_as_it_was_started_or_not_at_all() {
    let scene = Scene::chain("publish-left");
    scene.registry.script(Faults::none().on(What::Upload, "b", Fault::Silent { is_done: false }));
    let started = ["--except", "c", "--tag", "{name}-v{version}"];
    let begun = scene.begin(&started);
    begun.until_uploading("b");
    begun.kill();
    let brought = scene.brought();
    for (arguments, words) in [
        (["--plan-hash", "0123"], "its plan is"),
        (["--only", "b"], "was started without --only"),
        (["--tag", "v{version}"], "was started with --tag {name}-v{version}"),
    ] {
        let (code, error) = scene.published(&arguments);
        assert_eq!(code, 5, "{error:#}");
        let said = error.to_string();
        assert!(
            said.contains(words) && said.contains("`tidewheel publish resume` goes on"),
            "{said}"
        );
        assert!(said.contains("`tidewheel cancel"), "{said}");
    }
    assert_eq!(scene.brought(), brought);
    let (code, report) = scene.published(&started);
    assert_eq!((code, report["tags"].as_array().unwrap().len()), (0, 2), "{report:#}");
    scene.registry.assert_nothing_twice();
}
