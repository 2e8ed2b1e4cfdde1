//! Registries that nobody here wrote, driven by the official clients, beside the one for tests.
//!
//! Both are given the same; what `tidewheel-publish` reads of them must be the same too. `./test` installs what is
//! needed, or says what cannot be had.

use crate::peers::{Peer, ask};
use crate::registry::{Protocol, Registry};
use crate::samples::{
    cargo_with, crate_user, crates, distributions, npm_package, npm_settings, pip, twine,
};
use crate::tools::{Scratch, fail, succeed, tool};
use tidewheel_publish::registry::{read_document, read_index};
use tidewheel_testing::skipped;

#[test]
fn verdaccio_says_of_a_package_what_the_registry_for_tests_says() {
    let test = "registry_peers::verdaccio_says_of_a_package_what_the_registry_for_tests_says";
    let scratch = Scratch::new("verdaccio");
    let Some(theirs) = Peer::verdaccio(&scratch) else { return skipped(test, "no verdaccio") };
    let Some(npm) = tool("TIDEWHEEL_NPM", "npm") else { return skipped(test, "no npm") };
    npm_package(&scratch, "first", "@tw/first", "1.0.0", "");
    npm_package(&scratch, "second", "second", "1.0.0", r#""@tw/first": "^1.0.0""#);
    let run =
        |folder: &str, arguments: &[&str]| scratch.command(&npm, folder).args(arguments).output();
    let ours = Registry::start(Protocol::Npm);
    for (port, token) in [(ours.port(), ours.token()), (theirs.port, &*theirs.token)] {
        npm_settings(&scratch, port, token);
        for folder in ["first", "second"] {
            succeed(scratch.command(&npm, folder).args(["publish", "--access", "public"]));
        }
        let again = run("second", &["publish"]).unwrap();
        assert!(!again.status.success(), "a version is published once");
        scratch.file("user/package.json", r#"{ "name": "user", "version": "0.0.0" }"#);
        succeed(scratch.command(&npm, "user").args(["install", "second"]));
        assert!(scratch.path("user/node_modules/@tw/first/index.js").exists());
        std::fs::remove_dir_all(scratch.path("user")).unwrap();
    }
    for (path, name) in [("/@tw%2ffirst", "@tw/first"), ("/second", "second")] {
        let listings = [ours.port(), theirs.port].map(|port| {
            let (status, text) = ask(port, "GET", path, &[("accept", "application/json")], b"");
            assert_eq!(status, 200, "{text}");
            // Each says where its own files are.
            read_document(name, &text.replace(&format!(":{port}/"), "/")).unwrap()
        });
        assert_eq!(listings[0], listings[1]);
        assert!(!listings[0].versions["1.0.0"].files[0].digests.is_empty());
    }
    let absent = [ours.port(), theirs.port].map(|port| ask(port, "GET", "/nobody", &[], b"").0);
    assert_eq!(absent, [404, 404]);
    npm_settings(&scratch, theirs.port, "other");
    npm_package(&scratch, "third", "third", "1.0.0", "");
    fail(scratch.command(&npm, "third").arg("publish"));
}

#[test]
fn pypiserver_says_of_a_project_what_the_registry_for_tests_says() {
    let test = "registry_peers::pypiserver_says_of_a_project_what_the_registry_for_tests_says";
    let scratch = Scratch::new("pypiserver");
    let Some(theirs) = Peer::pypiserver(&scratch) else { return skipped(test, "no pypiserver") };
    let Some(program) = tool("TIDEWHEEL_TWINE", "twine") else { return skipped(test, "no twine") };
    let files = distributions(&scratch).expect("pypiserver came with Python");
    let ours = Registry::start(Protocol::Python);
    ours.be_html_only();
    let upload =
        |url: &str, user, password| twine(&scratch, &program, url, (user, password), &files);
    succeed(&mut upload(&ours.upload_url(), "__token__", ours.token()));
    let there = format!("{}/", theirs.url());
    fail(&mut upload(&there, "tester", "other"));
    succeed(&mut upload(&there, "tester", &theirs.token));
    // Both give an index of pages, in which each file has its digest.
    let indices = [ours.index_url(), format!("{}/simple/", theirs.url())];
    for (port, index) in [ours.port(), theirs.port].into_iter().zip(&indices) {
        let (status, page) = ask(port, "GET", "/simple/tw-first/", &[], b"");
        assert_eq!(status, 200, "{page}");
        for (_, _, file, sha256) in ours.census() {
            assert!(page.contains(&format!("{file}#sha256={sha256}")), "{page}");
        }
        assert_eq!(ask(port, "GET", "/simple/nobody/", &[], b"").0, 404);
        succeed(&mut pip(&scratch, index, &format!("from-{port}"), "tw-first"));
        assert!(scratch.path(&format!("from-{port}/tw_first.py")).exists());
    }
}

#[test]
#[ignore = "needs kellnr, which takes long to build: ./test release"]
fn kellnr_says_of_a_crate_what_the_registry_for_tests_says() {
    let scratch = Scratch::new("kellnr");
    let ours = Registry::start(Protocol::Cargo);
    let theirs = Peer::kellnr(&scratch).expect("TIDEWHEEL_KELLNR names it");
    let there = format!("sparse+{}/api/v1/crates/", theirs.url());
    let publish = ["publish", "--workspace", "--registry", "local", "--no-verify"];
    for (index, token) in [(ours.index_url(), ours.token()), (there, &*theirs.token)] {
        crates(&scratch, &index);
        fail(&mut cargo_with(&scratch, "other", "work", &publish));
        succeed(&mut cargo_with(&scratch, token, "work", &publish));
        assert_eq!(succeed(&mut crate_user(&scratch)), "first second\n");
        std::fs::remove_dir_all(scratch.path("user")).unwrap();
        std::fs::remove_dir_all(scratch.path("cargo-home")).unwrap();
    }
    let listings = |name: &str| {
        [(ours.port(), "/index"), (theirs.port, "/api/v1/crates")].map(|(port, base)| {
            let path = format!("{base}/{}/{}/{name}", &name[..2], &name[2..4]);
            let (status, text) = ask(port, "GET", &path, &[], b"");
            assert_eq!(status, 200, "{text}");
            read_index(name, &text).unwrap()
        })
    };
    let [first, same] = listings("tw-first");
    assert_eq!(first, same);
    // What needs others has the address of its registry in it, so it is another content.
    let [second, other] =
        listings("tw-second").map(|it| it.versions.into_keys().collect::<Vec<_>>());
    assert_eq!((&second, second.len()), (&other, 1));
}
