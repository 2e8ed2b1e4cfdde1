//! What `tidewheel publish` has packed: carried to another machine, lost, packed again, packed as it goes.
//!
//! How each ecosystem packs is tested in `tidewheel-publish`.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::publishing::{Begun, PYTHON_BACKEND, Scene, everything, told};
use crate::registry::{Fault, Faults, What};
use serde_json::{Value as Json, json};

/// A cargo that packs nothing.
fn lazy_cargo(scene: &Scene) -> PathBuf {
    let cargo = std::env::var("CARGO").unwrap_or("cargo".to_owned());
    let path = scene.path("lazy-cargo");
    let script = format!("#!/bin/sh\ntest \"$1\" = package && exit 9\nexec {cargo} \"$@\"\n");
    fs::write(&path, script).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

fn packed(scene: &Scene) -> Json {
    let into = scene.path("carried");
    let into = into.to_str().unwrap();
    let mut command =
        scene.tidewheel(&["publish", "pack", "--into", into, "--no-verify", "--format", "json"]);
    let output = command.env_remove("CARGO_REGISTRIES_OURS_TOKEN").output().unwrap();
    let (code, packed) = told(&output);
    assert_eq!(code, 0, "{packed:#}");
    packed
}

/// Sends what was carried over, on a machine that has nothing else and packs nothing.
fn send(scene: &Scene, arguments: &[&str]) -> Command {
    let mut command = scene.publish(&["--packed", scene.path("carried").to_str().unwrap()]);
    command.args(arguments);
    command.env("CARGO", lazy_cargo(scene)).env("TIDEWHEEL_DATA", scene.path("elsewhere"));
    command
}

#[track_caller]
fn refused(scene: &Scene, command: &mut Command, words: &str) {
    let (code, error) = told(&command.output().unwrap());
    assert_eq!(code, 3, "{error:#}");
    assert!(error.to_string().contains(words), "{error:#}");
    assert!(scene.brought().is_empty());
}

#[test]
fn what_is_packed_on_one_machine_is_sent_from_another_byte_for_byte() {
    let scene = Scene::chain("pack-carried");
    let before = scene.tree();
    let packed = packed(&scene);
    assert!(scene.registry.requests().is_empty(), "nobody was asked, and no token was there");
    assert_eq!(scene.tree(), before);
    let digest = packed["digest"].as_str().unwrap();
    // The machine that packs is not needed any more.
    fs::remove_dir_all(scene.path("data")).unwrap();

    let files = everything(&scene.path("carried"));
    let (file, content) = files.iter().find(|(path, _)| path.ends_with("b-1.0.0.crate")).unwrap();
    let mut other = content.clone();
    *other.last_mut().unwrap() ^= 1;
    fs::write(file, &other).unwrap();
    refused(&scene, &mut send(&scene, &[]), "b-1.0.0.crate is not what was packed");
    // A list that was changed with it is found out by its own digest.
    let list = scene.path("carried/packed.json");
    let text = fs::read_to_string(&list).unwrap();
    fs::write(&list, text.replacen("\"bytes\"", " \"bytes\"", 1)).unwrap();
    refused(&scene, &mut send(&scene, &["--packed-hash", digest]), "its list has the digest");
    fs::write(&list, text.replacen("a-1.0.0.crate", "../../a-1.0.0.crate", 1)).unwrap();
    refused(&scene, &mut send(&scene, &[]), "is no name of a file");
    fs::write(&list, &text).unwrap();
    fs::remove_file(file).unwrap();
    refused(&scene, &mut send(&scene, &[]), "b-1.0.0.crate cannot be read");
    fs::write(file, content).unwrap();

    let (code, report) = told(&send(&scene, &["--packed-hash", digest]).output().unwrap());
    assert_eq!((code, &report["published"]), (0, &json!(["cargo:a", "cargo:b", "cargo:c"])));
    let sent: Vec<String> = scene.registry.census().into_iter().map(|it| it.3).collect();
    let said: Vec<&str> = packed["packages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["files"][0]["sha256"].as_str().unwrap())
        .collect();
    assert_eq!(sent, said);
    let (code, report) = told(&send(&scene, &[]).output().unwrap());
    assert_eq!((code, report["done"].as_array().unwrap().len()), (0, 3), "{report:#}");
    scene.registry.assert_nothing_twice();
}

#[test]
fn what_was_packed_of_another_commit_is_not_sent() {
    let scene = Scene::chain("pack-moved");
    packed(&scene);
    scene.file("a/src/lib.rs", "// more\n");
    scene.commit();
    refused(&scene, &mut send(&scene, &[]), "it was packed from commit");
    scene.file("a/src/lib.rs", "// still more\n");
    refused(&scene, &mut send(&scene, &["--allow-dirty"]), "and something else is here");
}

/// The file of a package among what was packed.
fn kept(scene: &Scene, name: &str) -> PathBuf {
    let all = everything(&scene.path("data/publish"));
    all.into_keys().find(|path| path.ends_with(name)).unwrap()
}

#[test]
fn what_was_packed_and_lost_is_packed_again_on_request() {
    let scene = Scene::chain("pack-lost");
    scene.registry.script(Faults::none().on(What::Upload, "b", Fault::Refused(422, "not today")));
    assert_eq!(scene.published(&[]).0, 1);
    fs::remove_file(kept(&scene, "a-1.0.0.crate")).unwrap();
    fs::write(kept(&scene, "c-1.0.0.crate"), "something else").unwrap();
    let (code, error) = scene.published(&[]);
    assert_eq!(code, 3, "{error:#}");
    assert!(error.to_string().contains("--rebuild packs it again"), "{error:#}");
    let (code, report) = scene.published(&["--rebuild"]);
    assert_eq!(code, 0, "{report:#}");
    assert_eq!(
        (&report["done"], &report["published"]),
        (&json!(["cargo:a"]), &json!(["cargo:b", "cargo:c"]))
    );
    scene.registry.assert_nothing_twice();
}

#[test]
fn a_run_that_was_left_goes_on_with_what_is_packed_again() {
    let scene = Scene::chain("pack-left");
    scene.registry.script(Faults::none().on(What::Upload, "b", Fault::Silent { is_done: false }));
    let begun = scene.begin(&[]);
    begun.until_uploading("b");
    begun.kill();
    fs::remove_file(kept(&scene, "c-1.0.0.crate")).unwrap();
    let (code, report) = scene.published(&["--rebuild", "--visible-within", "1s"]);
    assert_eq!(code, 0, "{report:#}");
    scene.registry.assert_nothing_twice();
}

#[test]
fn what_was_sent_and_comes_out_otherwise_is_refused() {
    let scene = Scene::python("pack-otherwise");
    let backend = PYTHON_BACKEND.replace("RECORD', '')", "RECORD', os.urandom(8).hex())");
    assert_ne!(backend, PYTHON_BACKEND);
    scene.file("a/ours.py", &backend);
    scene.file("b/ours.py", &backend);
    scene.commit();
    scene
        .registry
        .script(Faults::none().on(What::Upload, "our-b", Fault::Refused(422, "no")).times(2));
    assert_eq!(scene.published(&[]).0, 1);
    // Nobody has this one yet: another one will do.
    fs::remove_file(kept(&scene, "our_b-1.0-py3-none-any.whl")).unwrap();
    assert_eq!(scene.published(&["--rebuild"]).0, 1);
    let out = scene.registry.census();
    fs::remove_file(kept(&scene, "our_a-1.0-py3-none-any.whl")).unwrap();
    let (code, error) = scene.published(&["--rebuild"]);
    assert_eq!(code, 3, "{error:#}");
    assert!(error.to_string().contains("packed again it has"), "{error:#}");
    assert_eq!(scene.registry.census(), out);
}

/// `tidewheel publish --stream`; cargo finds what is out in the same registry.
fn stream(scene: &Scene) -> (i32, Json) {
    let mut command = scene.publish(&["--stream"]);
    told(&command.env("CARGO_NET_OFFLINE", "false").output().unwrap())
}

#[test]
fn nothing_is_sent_before_everything_is_packed_unless_it_is_streamed() {
    let scene = Scene::chain("pack-stream-late");
    // What looks like a secret is not packed.
    scene.file("c/.env", "KEY=1\n");
    scene.commit();
    let (code, error) = scene.published(&[]);
    assert_eq!(code, 3, "{error:#}");
    assert!(scene.brought().is_empty());
    let (code, report) = stream(&scene);
    assert_eq!((code, &report["verdict"]), (8, &"blocked".into()), "{report:#}");
    assert_eq!(report["published"], json!(["cargo:a", "cargo:b"]));
    assert!(report.to_string().contains("cargo:c has .env in it"), "{report:#}");
    // The same again, and nothing is sent again.
    let (code, report) = stream(&scene);
    assert_eq!((code, &report["done"]), (8, &json!(["cargo:a", "cargo:b"])), "{report:#}");
    assert_eq!(scene.brought(), ["a", "b"]);
}

#[test]
fn what_is_streamed_is_finished_by_the_next_run() {
    let scene = Scene::chain("pack-stream");
    let before = scene.tree();
    scene.registry.script(Faults::none().on(What::Upload, "b", Fault::Silent { is_done: true }));
    let mut command = scene.publish(&["--stream"]);
    command.env("CARGO_NET_OFFLINE", "false");
    let begun = Begun::start(&scene, command.stdout(Stdio::null()).stderr(Stdio::null()));
    begun.until_uploading("b");
    begun.kill();
    let (code, report) = stream(&scene);
    assert_eq!(code, 0, "{report:#}");
    let (code, report) = stream(&scene);
    assert_eq!((code, report["done"].as_array().unwrap().len()), (0, 3), "{report:#}");
    scene.registry.assert_nothing_twice();
    assert_eq!((scene.brought(), scene.tree()), (vec!["a".into(), "b".into(), "c".into()], before));
    let left = everything(&scene.path("data/publish"));
    assert!(!left.keys().any(|path| path.components().any(|it| it.as_os_str() == "staging")));
    // What is out is compared all the same.
    let scene = Scene::chain("pack-stream-other");
    scene.registry.put("a", "1.0.0", "a-1.0.0.crate", b"something else");
    let (code, report) = stream(&scene);
    assert_eq!(code, 8, "{report:#}");
    assert!(report.to_string().contains("conflict: we have"), "{report:#}");
    assert!(scene.brought().is_empty());
}

#[test]
fn a_plan_shows_what_is_in_packages_and_what_may_be_there_by_mistake() {
    let scene = Scene::chain("pack-inside");
    scene.file("b/notes.txt.bak", "not for anybody\n");
    scene.commit();
    let plan = |arguments: &[&str]| {
        let all = [&["publish", "plan", "--no-verify"], arguments].concat();
        scene.tidewheel(&all).output().unwrap()
    };
    let (code, shown) = told(&plan(&["--files", "--format", "json"]));
    assert_eq!(code, 0, "{shown:#}");
    let file = &shown["packages"][1]["files"][0];
    let odd = serde_json::json!([{ "name": "notes.txt.bak", "bytes": 16 }]);
    assert_eq!(file["inside"]["odd"], odd, "{shown:#}");
    let contents = file["contents"].as_array().unwrap();
    assert_eq!(file["inside"]["files"], contents.len());
    assert!(contents.iter().any(|it| it["name"] == "Cargo.toml.orig"), "{shown:#}");
    let said = String::from_utf8(plan(&[]).stdout).unwrap();
    let odd = "b-1.0.0.crate has in it what nobody may need who uses it: notes.txt.bak (16 bytes)";
    assert!(said.contains(odd), "{said}");
    assert!(!said.contains("src/lib.rs"), "{said}");
    let said = String::from_utf8(plan(&["--files"]).stdout).unwrap();
    assert!(said.contains("  src/lib.rs (0 bytes)"), "{said}");
    assert!(scene.brought().is_empty());
}
