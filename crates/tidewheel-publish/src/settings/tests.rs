//! Settings as their tools have them, in folders of their own.

use std::path::{Path, PathBuf};

use tidewheel_testing::{TempDir, temp_folder};

use super::target::is_safe;
use super::*;
use crate::package::{Ecosystem, Package, PackageId, Publicity, Version};

struct Scene(TempDir);

impl Scene {
    fn new(name: &str) -> Self {
        let root = temp_folder(&format!("settings-{name}"));
        std::fs::create_dir_all(root.path().join("home")).unwrap();
        std::fs::create_dir_all(root.path().join("ws/.cargo")).unwrap();
        Self(root)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn file(&self, path: &str, text: &str) -> &Self {
        std::fs::create_dir_all(self.path(path).parent().unwrap()).unwrap();
        std::fs::write(self.path(path), text).unwrap();
        self
    }

    fn around(&self, variables: &[(&str, &str)]) -> Surroundings {
        let home = ("HOME".to_owned(), self.path("home").display().to_string());
        let variables = variables.iter().map(|(name, value)| (name.to_string(), value.to_string()));
        Surroundings::of(&self.path("ws"), variables.chain([home]))
    }
}

fn package(ecosystem: Ecosystem, name: &str, registries: &[&str]) -> Package {
    Package {
        id: PackageId::new(ecosystem, name),
        version: Version::Written("1.0.0".to_owned()),
        manifest: Path::new("manifest").to_owned(),
        publicity: Publicity::Public {
            registries: registries.iter().map(|it| it.to_string()).collect(),
        },
        needs: Vec::new(),
        provenance: None,
    }
}

fn token(target: &Target) -> Option<String> {
    match target.credentials.clone()? {
        Credentials::Token(secret) => Some(secret.reveal().to_owned()),
        Credentials::Bearer(secret) => Some(format!("bearer {}", secret.reveal())),
        Credentials::Basic { user, password } => Some(format!("{user}:{}", password.reveal())),
        Credentials::Trusted => Some("trusted".to_owned()),
    }
}

#[test]
fn a_crate_goes_where_cargo_would_send_it() {
    let scene = Scene::new("cargo");
    scene.file(
        "ws/.cargo/config.toml",
        "[registries.near]\nindex = \"sparse+https://near.example/index\"\n",
    );
    scene.file("home/.cargo/config.toml", "[registry]\ndefault = \"far\"\n[registries]\nfar.index = \"sparse+https://far.example/\"\nnear.index = \"sparse+https://other.example/\"\nold.index = \"https://old.example/git\"\n");
    scene.file("home/.cargo/credentials.toml", "[registries.near]\ntoken = \"cio-near\"\n");
    let around = scene.around(&[("CARGO_REGISTRIES_FAR_TOKEN", "cio-far\n")]);
    let near = target_of(&package(Ecosystem::Cargo, "a", &["near"]), &around).unwrap();
    assert_eq!(
        (near.address.name.as_str(), near.address.index.as_str()),
        ("near", "https://near.example/index/")
    );
    assert_eq!(token(&near).as_deref(), Some("cio-near"));
    let far = target_of(&package(Ecosystem::Cargo, "a", &[]), &around).unwrap();
    assert_eq!((far.address.name.as_str(), token(&far).as_deref()), ("far", Some("cio-far")));
    let both = package(Ecosystem::Cargo, "a", &["near", "far"]);
    assert_eq!(target_of(&both, &around).unwrap().address.name, "far");
    let wanted = |name: &str| {
        let mut around = around.clone();
        around.registry = Some(name.to_owned());
        around
    };
    assert_eq!(target_of(&both, &wanted("near")).unwrap().address.name, "near");
    for (of, name, what) in [
        (&both, "elsewhere", "it goes to `near`, `far`, not to `elsewhere`"),
        (
            &package(Ecosystem::Cargo, "a", &[]),
            "elsewhere",
            "nobody says where the registry `elsewhere` is",
        ),
        (&package(Ecosystem::Cargo, "a", &[]), "old", "is a git repository"),
    ] {
        let problem = target_of(of, &wanted(name)).unwrap_err();
        assert!(problem.what.contains(what), "{problem}");
        assert!(problem.hint.is_some());
    }
}

#[test]
fn no_registry_is_known_that_nobody_has_named() {
    let scene = Scene::new("none");
    // There is no tool that could be asked for its own.
    let around = scene.around(&[("PATH", "/nowhere"), ("CARGO", "/nowhere/cargo")]);
    for ecosystem in [Ecosystem::Cargo, Ecosystem::Npm, Ecosystem::Python] {
        let problem = target_of(&package(ecosystem, "a", &[]), &around).unwrap_err();
        assert!(problem.what.contains("nobody says where"), "{problem}");
    }
}

/// A tool that says something.
#[cfg(unix)]
fn tool(scene: &Scene, name: &str, script: &str) {
    use std::os::unix::fs::PermissionsExt as _;
    scene.file(&format!("bin/{name}"), &format!("#!/bin/sh\n{script}\n"));
    let path = scene.path("bin").join(name);
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[cfg(unix)]
#[test]
fn where_nobody_names_a_registry_it_is_the_one_that_the_tool_uses() {
    let scene = Scene::new("usual");
    tool(&scene, "npm", "echo https://npm.example/");
    let wanted = "https://index.example/config.json";
    tool(
        &scene,
        "cargo",
        &format!("echo \"failed to download from \\`{wanted}\\`\" >&2; exit 101"),
    );
    let python = "case \"$2\" in *twine*) echo https://up.example/legacy/;; *) echo https://up.example/simple;; esac";
    tool(&scene, "python3", python);
    tool(&scene, "keyring", "echo sesame-$3");
    let path = format!("{}:/usr/bin:/bin", scene.path("bin").display());
    let around = scene.around(&[("PATH", &path)]);
    let target = |ecosystem| target_of(&package(ecosystem, "a", &[]), &around).unwrap();
    let cargo = target(Ecosystem::Cargo);
    assert_eq!(
        (cargo.address.name.as_str(), cargo.address.index.as_str()),
        ("crates-io", "https://index.example/")
    );
    assert_eq!(target(Ecosystem::Npm).address.index, "https://npm.example/");
    let python = target(Ecosystem::Python);
    assert_eq!(python.address.index, "https://up.example/simple/");
    assert_eq!(python.address.upload.as_deref(), Some("https://up.example/legacy/"));
    assert_eq!(token(&python).as_deref(), Some("__token__:sesame-__token__"), "of the keyring");
}

#[cfg(unix)]
#[test]
fn programs_that_give_tokens_are_asked_in_their_own_language() {
    let scene = Scene::new("helpers");
    let answer = r#"{"Ok":{"kind":"get","token":"cio-plugin","cache":"session","operation_independent":true}}"#;
    let speaks = format!(
        "test \"$1\" = --cargo-plugin || exit 1; echo '{{\"v\":[1]}}'; read line; echo \"$line\" > \"$HOME/heard\"; echo '{answer}'"
    );
    tool(&scene, "plugin", &speaks);
    tool(&scene, "token", "echo Bearer npm-helped");
    let bin = scene.path("bin");
    let at = |name: &str| bin.join(name).display().to_string();
    scene.file("home/.cargo/config.toml", &format!("[registries.ours]\nindex = \"sparse+https://ours.example/\"\n[registry]\nglobal-credential-providers = [\"cargo:token\", \"mine one\"]\n[credential-alias]\nmine = [\"{}\"]\n", at("plugin")));
    scene.file(
        "home/.npmrc",
        &format!("registry=https://npm.example/\n//npm.example/:tokenHelper={}\n", at("token")),
    );
    let around = scene.around(&[("PATH", "/usr/bin:/bin")]);
    let cargo = target_of(&package(Ecosystem::Cargo, "a", &["ours"]), &around).unwrap();
    assert_eq!(token(&cargo).as_deref(), Some("cio-plugin"));
    let heard = std::fs::read_to_string(scene.path("home/heard")).unwrap();
    assert!(heard.contains(r#""index-url":"sparse+https://ours.example/""#), "{heard}");
    assert!(heard.contains(r#""args":["one"]"#), "{heard}");
    let npm = target_of(&package(Ecosystem::Npm, "a", &[]), &around).unwrap();
    assert_eq!(token(&npm).as_deref(), Some("bearer npm-helped"));
    // A workspace does not say which program is started.
    scene.file("home/.npmrc", "registry=https://npm.example/\n");
    scene.file("ws/.npmrc", &format!("//npm.example/:tokenHelper={}\n", at("token")));
    let npm = target_of(&package(Ecosystem::Npm, "a", &[]), &scene.around(&[])).unwrap();
    assert_eq!(token(&npm), None);
}

#[test]
fn an_npm_package_goes_where_its_scope_does() {
    let scene = Scene::new("npm");
    scene.file("ws/.npmrc", "registry = https://npm.example/all\n@us:registry=https://us.example/npm/\n//us.example/npm/:_authToken=${US_TOKEN}\n");
    scene.file("home/.npmrc", "; mine\n//npm.example/:_auth=bWU6c2VzYW1l\n");
    let around = scene.around(&[("US_TOKEN", "npm_123")]);
    let scoped = target_of(&package(Ecosystem::Npm, "@us/a", &[]), &around).unwrap();
    assert_eq!(scoped.address.index, "https://us.example/npm/");
    assert_eq!(token(&scoped).as_deref(), Some("bearer npm_123"));
    let plain = target_of(&package(Ecosystem::Npm, "a", &[]), &around).unwrap();
    assert_eq!(plain.address.index, "https://npm.example/all/");
    assert_eq!(token(&plain).as_deref(), Some("me:sesame"), "said of an address above it");
    let own = target_of(&package(Ecosystem::Npm, "a", &["https://own.example"]), &around).unwrap();
    assert_eq!((own.address.index.as_str(), token(&own)), ("https://own.example/", None));
}

#[test]
fn a_python_project_goes_to_its_index_or_where_pypirc_says() {
    let scene = Scene::new("python");
    let upload = [
        ("UV_PUBLISH_URL", "https://up.example/legacy/"),
        ("UV_PUBLISH_CHECK_URL", "https://up.example/simple"),
        ("UV_PUBLISH_TOKEN", "pypi-1"),
    ];
    let target = target_of(&package(Ecosystem::Python, "a", &[]), &scene.around(&upload)).unwrap();
    assert_eq!(
        (target.address.index.as_str(), target.address.upload.as_deref()),
        ("https://up.example/simple/", Some("https://up.example/legacy/"))
    );
    assert_eq!(token(&target).as_deref(), Some("__token__:pypi-1"));
    scene.file("ws/pyproject.toml", "[[tool.uv.index]]\nname = \"ours\"\nurl = \"https://ours.example/simple\"\npublish-url = \"https://ours.example/up\"\n");
    scene.file("home/.pypirc", "[distutils]\nindex-servers = ours\n[ours]\nrepository: https://other.example\nusername = me\npassword = sesame\n");
    let target = target_of(&package(Ecosystem::Python, "a", &[]), &scene.around(&[])).unwrap();
    assert_eq!(
        (target.address.name.as_str(), target.address.upload.as_deref()),
        ("ours", Some("https://ours.example/up"))
    );
    assert_eq!(token(&target).as_deref(), Some("me:sesame"));
}

#[test]
fn a_pipeline_that_says_what_it_is_needs_no_token() {
    let scene = Scene::new("pipeline");
    scene.file(
        "ws/.npmrc",
        "registry=https://npm.example/\n//npm.example/:_authToken=${NODE_AUTH_TOKEN}\n",
    );
    let asked = [
        ("ACTIONS_ID_TOKEN_REQUEST_URL", "https://pipeline.example/"),
        ("ACTIONS_ID_TOKEN_REQUEST_TOKEN", "t"),
    ];
    let package = package(Ecosystem::Npm, "a", &[]);
    let leave =
        |variables: &[(&str, &str)]| token(&target_of(&package, &scene.around(variables)).unwrap());
    // A variable that is not there is no token.
    assert_eq!(leave(&[]), None);
    assert_eq!(leave(&asked).as_deref(), Some("trusted"));
    assert_eq!(leave(&[("NPM_ID_TOKEN", "said")]).as_deref(), Some("trusted"));
    let both = [asked[0], asked[1], ("NODE_AUTH_TOKEN", "t")];
    assert_eq!(leave(&both).as_deref(), Some("bearer t"));
    // Without its token nobody is asked.
    assert_eq!(leave(&asked[..1]), None);
}

#[test]
fn no_token_travels_in_the_clear() {
    for (address, safe) in [
        ("https://a.example/", true),
        ("http://127.0.0.1:8080/x", true),
        ("http://localhost/", true),
        ("http://[::1]:80/", true),
        ("http://a.example/", false),
        ("http://127.0.0.1@a.example/", false),
        ("http://localhost.a.example/", false),
        ("ftp://127.0.0.1/", false),
    ] {
        assert_eq!(is_safe(address), safe, "{address}");
    }
    let scene = Scene::new("clear");
    let variables = [
        ("CARGO_REGISTRIES_CRATES_IO_INDEX", "sparse+http://a.example/"),
        ("CARGO_REGISTRY_TOKEN", "canary"),
    ];
    let problem =
        target_of(&package(Ecosystem::Cargo, "a", &[]), &scene.around(&variables)).unwrap_err();
    assert!(problem.what.contains("in the clear") && !format!("{problem:?}").contains("canary"));
}

#[test]
fn a_secret_is_shown_to_nobody() {
    let secret = Secret::new(" canary\n").unwrap();
    assert_eq!(format!("{secret:?}"), "***");
    assert_eq!(secret.masked_in("token canary was refused"), "token *** was refused");
    assert!(Secret::new(" \n").is_none());
}
