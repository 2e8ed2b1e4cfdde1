//! `tidewheel publish` of distributions with many files: one wheel for each machine, built here, elsewhere, or on several.
//!
//! What holds for every distribution is tested in `publish_python.rs`.

use std::fs;
use std::process::Command;

use crate::publishing::{PYTHON_BACKEND, Scene, told};
use crate::registry;
use crate::registry::{Fault, Faults, Protocol, What};
use serde_json::{Value as Json, json};
use tidewheel_testing::skipped;

/// Whether there is a Python that can read its own manifests.
fn has_python(test: &str) -> bool {
    let has_tomllib = Command::new("python3").args(["-c", "import tomllib"]).output();
    let is_there = has_tomllib.is_ok_and(|output| output.status.success());
    if !is_there {
        skipped(test, "python3 with tomllib is not there");
    }
    is_there
}

/// A project `our-a` whose backend makes a wheel for each of these, and a source distribution.
fn several(name: &str, tags: &str) -> Scene {
    let scene = Scene::new(name, Protocol::Python);
    let manifest = "[project]\nname = \"our-a\"\nversion = \"1.0\"\n\
        [build-system]\nrequires = []\nbuild-backend = \"ours\"\nbackend-path = [\".\"]\n";
    scene.file("pyproject.toml", manifest);
    let more = format!(
        "{PYTHON_BACKEND}\nimport shutil\nplain = build_wheel\ndef build_wheel(folder, settings=None, metadata=None):\n    \
         made = plain(folder)\n    names = [made.replace('none-any', tag) for tag in {tags}]\n    \
         for name in names:\n        shutil.copy(os.path.join(folder, made), os.path.join(folder, name))\n    \
         os.remove(os.path.join(folder, made))\n    return names[0]\n"
    );
    scene.file("ours.py", &more);
    scene.commit();
    scene
}

/// The names of files in the registry.
fn files(scene: &Scene) -> Vec<String> {
    scene.registry.census().into_iter().map(|it| it.2).collect()
}

fn uploads(scene: &Scene) -> usize {
    scene.registry.requests().iter().filter(|it| it.asked.what == What::Upload).count()
}

#[test]
fn of_twelve_files_killed_after_five_the_next_run_sends_seven_and_compares_five() {
    if !has_python("of_twelve_files_killed_after_five_the_next_run_sends_seven_and_compares_five") {
        return;
    }
    let eleven = "[f'none-machine_{number}' for number in range(11)]";
    let scene = several("wheels-twelve", eleven);
    let silent = Fault::Silent { is_done: false };
    scene.registry.script(Faults::none().on(What::Upload, "our-a", silent).after(5));
    let begun = scene.begin(&["--visible-within", "1s"]);
    let is_upload = |it: &&registry::Request| it.asked.what == What::Upload;
    assert!(begun.until(|requests, _| requests.iter().filter(is_upload).count() == 6));
    begun.kill();
    assert_eq!(files(&scene).len(), 5);
    let before = uploads(&scene);
    let (code, report) = scene.published(&[]);
    assert_eq!((code, &report["published"]), (0, &json!(["python:our-a"])), "{report:#}");
    assert_eq!((uploads(&scene) - before, files(&scene).len()), (7, 12));
    assert_eq!(report["packages"][0]["sha256"].as_array().unwrap().len(), 12);
    scene.registry.assert_nothing_twice();

    // Those that are there are compared: one that is another one is not passed over.
    let scene = several("wheels-twelve-other", eleven);
    scene.registry.put("our-a", "1.0", "our_a-1.0-py3-none-machine_4.whl", b"something else");
    let (code, report) = scene.published(&[]);
    assert_eq!((code, &report["verdict"]), (8, &"blocked".into()), "{report:#}");
    assert!(report.to_string().contains("the registry has sha256:"), "{report:#}");
    assert_eq!(uploads(&scene), 0);
}

/// Makes a wheel of a project as a build machine would.
fn wheel(scene: &Scene, folder: &str, name: &str, version: &str, tag: &str) {
    let script = "import sys, zipfile, os\nfolder, name, version, tag = sys.argv[1:]\n\
        os.makedirs(folder, exist_ok=True)\n\
        with zipfile.ZipFile(f'{folder}/{name}-{version}-{tag}.whl', 'w') as wheel:\n    \
        wheel.writestr(f'{name}-{version}.dist-info/METADATA', f'Metadata-Version: 2.1\\nName: {name}\\nVersion: {version}\\n\
        Requires-Dist: our-b>=1; extra == \"fast\"\\nProvides-Extra: fast\\n')\n    wheel.writestr(f'{name}/{tag}.so', tag)\n";
    let folder = scene.path(folder).display().to_string();
    let arguments = ["-c", script, &folder, name, version, tag];
    assert!(Command::new("python3").args(arguments).status().unwrap().success());
}

/// A maturin project, whose version is that of its crate and which needs `our-b` for an extra, beside `our-b` and a project
/// that must not be uploaded. No maturin is there: its wheels come from elsewhere.
fn maturin(name: &str) -> Scene {
    let scene = Scene::new(name, Protocol::Python);
    scene.file("pyproject.toml", "[tool.uv.workspace]\nmembers = [\"*\"]\n");
    let fast = "[project]\nname = \"Our.Fast\"\ndynamic = [\"version\"]\n\
        [project.optional-dependencies]\nfast = [\"our_b>=1\"]\n[dependency-groups]\ndev = [\"our-hidden\"]\n\
        [build-system]\nrequires = [\"maturin\"]\nbuild-backend = \"maturin\"\n";
    scene.file("fast/pyproject.toml", fast);
    scene.file("fast/Cargo.toml", "[package]\nname = \"fast\"\nversion = \"0.3.0-beta.2\"\n");
    let ours = "[build-system]\nrequires = []\nbuild-backend = \"ours\"\nbackend-path = [\".\"]\n";
    scene.file(
        "b/pyproject.toml",
        &format!("[project]\nname = \"our-b\"\nversion = \"1.0\"\n{ours}"),
    );
    scene.file("b/ours.py", PYTHON_BACKEND);
    let hidden = "[project]\nname = \"our-hidden\"\nversion = \"1.0\"\nclassifiers = [\"Private :: Do Not Upload\"]\n";
    scene.file("hidden/pyproject.toml", hidden);
    scene.commit();
    scene
}

#[test]
fn wheels_of_a_maturin_project_that_were_built_elsewhere_go_out_as_they_are() {
    if !has_python("wheels_of_a_maturin_project_that_were_built_elsewhere_go_out_as_they_are") {
        return;
    }
    let scene = maturin("wheels-handed");
    let tags = ["cp39-abi3-linux_x86_64", "cp39-abi3-macosx_11_0_arm64", "cp39-abi3-win_amd64"];
    for tag in tags {
        wheel(&scene, tag, "our_fast", "0.3.0b2", tag);
    }
    let folders = tags.map(|tag| scene.path(tag).display().to_string());
    let wheels: Vec<&str> = folders.iter().flat_map(|it| ["--wheels", it]).collect();
    let (code, report) = scene.published(&wheels);
    // What an extra needs goes first.
    let order = json!(["python:our-b", "python:our-fast"]);
    assert_eq!((code, &report["published"]), (0, &order), "{report:#}");
    let expected = tags.map(|tag| format!("our_fast-0.3.0b2-{tag}.whl"));
    assert_eq!(files(&scene)[2..], expected);
    assert!(!report.to_string().contains("our-hidden"), "{report:#}");
    let sent = &scene.registry.packages()["our-fast"].versions[0].files[0].bytes;
    assert_eq!(*sent, fs::read(scene.path(tags[0]).join(&expected[0])).unwrap());
    let (code, report) = scene.published(&wheels);
    assert_eq!((code, &report["done"]), (0, &order), "{report:#}");
    // One more machine, later: only its wheel is sent.
    wheel(&scene, "later", "our_fast", "0.3.0b2", "cp39-abi3-linux_aarch64");
    let later = scene.path("later").display().to_string();
    let (code, report) = scene.published(&[&wheels[..], &["--wheels", &later]].concat());
    assert_eq!((code, &report["published"]), (0, &json!(["python:our-fast"])), "{report:#}");
    assert_eq!(files(&scene).len(), 6);
    scene.registry.assert_nothing_twice();
}

#[test]
fn wheels_that_are_not_of_this_workspace_are_refused() {
    if !has_python("wheels_that_are_not_of_this_workspace_are_refused") {
        return;
    }
    let scene = maturin("wheels-stray");
    wheel(&scene, "other", "their_fast", "0.3.0b2", "cp39-abi3-win_amd64");
    wheel(&scene, "old", "our_fast", "0.2.0", "cp39-abi3-win_amd64");
    wheel(&scene, "good", "our_fast", "0.3.0b2", "cp39-abi3-win_amd64");
    fs::create_dir(scene.path("empty")).unwrap();
    for (folders, words) in [
        (&["other"][..], "it is of no package of this workspace"),
        (&["old"], "was packed with the version 0.2.0, not 0.3.0b2"),
        (&["good", "old"], "another version than the other files"),
        (&["empty"], "there is no wheel and no source distribution in it"),
        (&["nowhere"], "it cannot be read"),
    ] {
        let folders: Vec<String> =
            folders.iter().map(|it| scene.path(it).display().to_string()).collect();
        let wheels: Vec<&str> = folders.iter().flat_map(|it| ["--wheels", it]).collect();
        let (code, error) = scene.published(&wheels);
        assert_eq!(code, 3, "{error:#}");
        assert!(error.to_string().contains(words), "{error:#}");
    }
    assert!(scene.brought().is_empty());
}

/// Packs on a machine of its own.
fn packed(scene: &Scene, machine: &str) -> (String, Json) {
    let into = scene.path(&format!("from-{machine}")).display().to_string();
    let mut command = scene.tidewheel(&["publish", "pack", "--into", &into, "--format", "json"]);
    command.env("TIDEWHEEL_DATA", scene.path(&format!("data-{machine}"))).env("MACHINE", machine);
    let (code, packed) = told(&command.output().unwrap());
    assert_eq!(code, 0, "{packed:#}");
    (into, packed)
}

#[test]
fn what_several_machines_have_packed_of_one_commit_goes_out_together() {
    if !has_python("what_several_machines_have_packed_of_one_commit_goes_out_together") {
        return;
    }
    let scene = several("wheels-joined", "['none-' + os.environ['MACHINE']]");
    let (linux, of_linux) = packed(&scene, "linux_x86_64");
    let (mac, of_mac) = packed(&scene, "macosx_arm64");
    let digest = |of: &Json| of["digest"].as_str().unwrap().to_owned();
    let (first, second) = (digest(&of_linux), digest(&of_mac));
    let both = ["--packed", &linux, "--packed", &mac];
    let (code, error) = scene.published(&[&both[..], &["--packed-hash", &first]].concat());
    assert_eq!(code, 2, "{error:#}");
    let swapped = ["--packed-hash", &second, "--packed-hash", &first];
    let (code, error) = scene.published(&[&both[..], &swapped[..]].concat());
    assert_eq!(code, 3, "{error:#}");
    assert!(error.to_string().contains("its list has the digest"), "{error:#}");
    assert!(scene.brought().is_empty());

    let said = ["--packed-hash", &first, "--packed-hash", &second];
    let (code, report) = scene.published(&[&both[..], &said[..]].concat());
    assert_eq!((code, &report["published"]), (0, &json!(["python:our-a"])), "{report:#}");
    let machines = ["linux_x86_64", "macosx_arm64"];
    let wheels = machines.map(|it| format!("our_a-1.0-py3-none-{it}.whl"));
    assert_eq!(files(&scene)[..2], wheels);
    // Both have made one of these: that of the first is sent.
    let source = |of: &Json| {
        let all = of["packages"][0]["files"].as_array().unwrap();
        let source = all.iter().find(|it| it["name"] == "our_a-1.0.tar.gz").unwrap();
        source["sha256"].as_str().unwrap().to_owned()
    };
    assert_eq!(scene.registry.census()[2].3, source(&of_linux));
    let (code, report) = scene.published(&both);
    assert_eq!((code, &report["done"]), (0, &json!(["python:our-a"])), "{report:#}");
    scene.registry.assert_nothing_twice();
}
