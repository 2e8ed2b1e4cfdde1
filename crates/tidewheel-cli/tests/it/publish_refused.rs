//! What `tidewheel publish` finds out when the real tools pack, and refuses before anything is sent.
//!
//! What needs no packing is in `refusals.rs` of `tidewheel-publish`.

use std::process::Command;

use crate::publishing::{Scene, told};

/// It is refused with this code and these words, and nothing was brought.
#[track_caller]
fn refused(scene: &Scene, command: &mut Command, code: &str, words: &str) {
    let (exit_code, error) = told(&command.output().unwrap());
    assert_eq!(exit_code, 3, "{error:#}");
    let said = error["error"]["message"].as_str().unwrap_or_default();
    assert!(said.contains(&format!("[{code}]")) && said.contains(words), "{error:#}");
    assert!(scene.brought().is_empty());
}

#[test]
fn a_lock_file_of_cargo_that_was_forgotten() {
    let scene = Scene::chain("refused-cargo-lock");
    let lock = "version = 4\n\n[[package]]\nname = \"a\"\nversion = \"0.9.0\"\n";
    scene.file("Cargo.lock", lock);
    scene.commit();
    refused(&scene, &mut scene.publish(&[]), "packing", "--locked");
}

/// A crate for the registry that is meant where none is named, which here is on loopback.
fn usual(name: &str, more: &str) -> Scene {
    let scene = Scene::crates(name, &[]);
    scene.file("Cargo.toml", "[workspace]\nresolver = \"3\"\nmembers = [\"a\"]\n");
    let manifest =
        format!("[package]\nname = \"a\"\nversion = \"1.0.0\"\nedition = \"2024\"\n{more}");
    scene.file("a/Cargo.toml", &manifest);
    scene.file("a/src/lib.rs", "");
    scene
}

fn publish_usual(scene: &Scene) -> Command {
    let mut command = scene.publish(&[]);
    command.env("CARGO_REGISTRIES_CRATES_IO_INDEX", scene.registry.index_url());
    command.env("CARGO_REGISTRY_TOKEN", scene.registry.token());
    command
}

#[test]
fn what_the_usual_registry_of_crates_would_not_take() {
    let scene = usual("refused-bare", "");
    scene.commit();
    let words = "cargo:a has no description and no license";
    refused(&scene, &mut publish_usual(&scene), "packing", words);

    let scene = usual("refused-large", "description = \"d\"\nlicense = \"MIT\"\n");
    // Nothing that packs makes this smaller.
    let mut seed = 1_u64;
    let noise = std::iter::repeat_with(|| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 56) as u8
    });
    let noise: Vec<u8> = noise.take(11 << 20).collect();
    std::fs::write(scene.path("ws/a/noise"), noise).unwrap();
    scene.commit();
    refused(&scene, &mut publish_usual(&scene), "packing", "at most 10 MiB");
}

#[test]
fn what_was_not_built_before_it_was_packed() {
    let scene = Scene::npm("refused-unbuilt");
    let manifest = |config: &str| {
        format!(
            r#"{{ "name": "a", "version": "1.0.0", "main": "dist/a.js", "scripts": {{ "build": "x" }},
            "publishConfig": {{ {config} }} }}"#
        )
    };
    scene.file("a/package.json", &manifest(""));
    scene.commit();
    let words = "npm:a names `dist/a.js` as its `main`, and that is not in the package";
    refused(&scene, &mut scene.publish(&[]), "packing", words);
    let (_, error) = told(&scene.publish(&[]).output().unwrap());
    assert!(error.to_string().contains("`npm run build` before it is published"), "{error:#}");
    // A folder of which nobody knows what is in it is not packed instead.
    scene.file("a/package.json", &manifest(r#""directory": "dist""#));
    scene.file("a/dist/a.js", "");
    scene.commit();
    refused(&scene, &mut scene.publish(&[]), "packing", "`publishConfig.directory` is \"dist\"");
    // To pnpm and yarn it is a matter of what is said instead.
    scene.file("a/package.json", &manifest(r#""main": "a.js""#));
    scene.file("yarn.lock", "");
    scene.commit();
    refused(&scene, &mut scene.publish(&[]), "packing", "names `a.js` as its `main`");
    scene.file("a/a.js", "");
    scene.commit();
    scene.finish();
    assert_eq!(scene.registry.packages()["a"].versions[0].told["main"], "a.js");
}
