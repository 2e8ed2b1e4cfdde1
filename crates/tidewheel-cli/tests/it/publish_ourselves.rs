//! We publish ourselves: the crates of this workspace go to a registry on loopback, and somebody who needs the library
//! builds with what is there.
//!
//! The crates of others that ours need are put there as cargo has them in its cache; nothing is fetched from anywhere.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::publishing::{Scene, told};
use crate::registry;
use crate::registry::{Protocol, Registry};
use serde_json::Value as Json;
use tidewheel_testing::skipped;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn cargo_home() -> PathBuf {
    let usual = || Path::new(&std::env::var_os("HOME").unwrap()).join(".cargo");
    std::env::var_os("CARGO_HOME").map_or_else(usual, PathBuf::from)
}

/// Everything in the folders of a folder, by a path below them.
fn in_each(folder: &Path, below: &str) -> Option<PathBuf> {
    let folders = fs::read_dir(folder).ok()?.filter_map(Result::ok);
    folders.map(|it| it.path().join(below)).find(|path| path.exists())
}

/// The line of a version in what cargo has kept of an index: texts between zeros, some of which are JSON.
fn line(home: &Path, name: &str, version: &str) -> Option<Json> {
    let below = tidewheel_publish::registry::index_path(name);
    let kept = fs::read(in_each(&home.join("registry/index"), &format!(".cache/{below}"))?).ok()?;
    let texts = kept.split(|byte| *byte == 0).filter(|text| text.starts_with(b"{"));
    let mut lines = texts.filter_map(|text| serde_json::from_slice::<Json>(text).ok());
    lines.find(|line| line["vers"] == version)
}

/// Puts the crates of others that ours are locked to into a registry. `None` if cargo's cache cannot be read.
fn put_others(registry: &Registry) -> Option<usize> {
    let home = cargo_home();
    let lock = fs::read_to_string(root().join("Cargo.lock")).unwrap();
    let field = |package: &str, key: &str| {
        let value = package.lines().find_map(|line| line.strip_prefix(&format!("{key} = ")))?;
        Some(value.trim_matches('"').to_owned())
    };
    let mut count = 0;
    for package in lock.split("[[package]]").filter(|it| field(it, "checksum").is_some()) {
        let (name, version) = (field(package, "name")?, field(package, "version")?);
        let file = format!("{name}-{version}.crate");
        // What only other systems need has never been fetched: it is listed, and nobody asks for it.
        let cached = in_each(&home.join("registry/cache"), &file);
        let bytes = cached.map(|path| fs::read(path).unwrap()).unwrap_or_default();
        registry.put_line(line(&home, &name, &version)?, &file, &bytes);
        count += 1;
    }
    Some(count)
}

/// The names of our crates that are published.
fn ours() -> Vec<String> {
    let output = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()))
        .args(["metadata", "--no-deps", "--format-version", "1", "--offline"])
        .current_dir(root())
        .output()
        .unwrap();
    let metadata: Json = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let public = packages.iter().filter(|it| it["publish"] != serde_json::json!([]));
    let mut names: Vec<String> = public.map(|it| it["name"].as_str().unwrap().to_owned()).collect();
    names.sort();
    names
}

/// Cargo's own settings for somebody to whom the usual registry is this one.
fn settings(registry: &Registry) -> String {
    let index = registry.index_url();
    format!("[source.crates-io]\nreplace-with = \"ours\"\n[source.ours]\nregistry = \"{index}\"\n")
}

#[test]
fn our_crates_are_published_with_it_and_others_build_with_them() {
    let scene = Scene::new("publish-ourselves", Protocol::Cargo);
    let registry = &scene.registry;
    let Some(others) = put_others(registry) else {
        let why = "cargo's cache is not as it is known here";
        return skipped("our_crates_are_published_with_it_and_others_build_with_them", why);
    };
    assert!(others > 100, "only {others} crates of others");
    // Names that the registry knows are paced less than new ones.
    for name in ours() {
        registry.put(&name, "0.0.0", &format!("{name}-0.0.0.crate"), b"nothing");
    }
    let publish = |arguments: &[&str]| {
        let mut command = scene.tidewheel(&["publish", "--yes", "--format", "json"]);
        command
            .args(["--no-verify", "--allow-dirty", "--look-every", "50ms"])
            .args(arguments)
            .current_dir(root())
            .env("CARGO_HOME", cargo_home())
            .env("CARGO_REGISTRIES_CRATES_IO_INDEX", registry.index_url())
            .env("CARGO_REGISTRY_TOKEN", registry.token());
        told(&command.output().unwrap())
    };
    let (code, report) = publish(&[]);
    assert_eq!(code, 0, "{report:#}");
    let mut published: Vec<String> =
        registry.uploads().into_iter().map(|upload| upload.package).collect();
    published.sort();
    assert_eq!(published, ours());
    registry.assert_nothing_twice();
    let (code, report) = publish(&[]);
    assert_eq!((code, &report["published"]), (0, &serde_json::json!([])), "{report:#}");

    // Somebody who has never heard of this folder builds the first example of the guide.
    let user = scene.path("user");
    fs::create_dir_all(user.join("src")).unwrap();
    fs::create_dir_all(user.join(".cargo")).unwrap();
    let manifest = "[package]\nname = \"user\"\nversion = \"0.0.0\"\nedition = \"2024\"\n[workspace]\n\
                    [dependencies]\ntidewheel = \"0.1\"\n\
                    tokio = { version = \"1\", features = [\"macros\", \"rt-multi-thread\", \"time\"] }\n";
    fs::write(user.join("Cargo.toml"), manifest).unwrap();
    fs::write(user.join(".cargo/config.toml"), settings(registry)).unwrap();
    let example = root().join("crates/tidewheel/examples/quickstart.rs");
    fs::copy(example, user.join("src/main.rs")).unwrap();
    let cargo = std::env::var("CARGO").unwrap_or("cargo".to_owned());
    let mut command = scene.program(&cargo);
    command.args(["run", "--quiet"]).env("CARGO_NET_OFFLINE", "false").current_dir(&user);
    // What a debugger and the next build would need takes time to write.
    command.env("CARGO_PROFILE_DEV_DEBUG", "false").env("CARGO_INCREMENTAL", "0");
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let lock = fs::read_to_string(user.join("Cargo.lock")).unwrap();
    assert!(lock.contains("name = \"tidewheel-core\""), "{lock}");
    let downloads = registry.requests().into_iter().filter(|it| it.path.ends_with("/download"));
    let is_ours = |it: &registry::Request| it.path.contains("/tidewheel/0.1.0/");
    assert!(downloads.into_iter().any(|it| is_ours(&it)), "the library came from elsewhere");
}
