//! What is refused before anything is sent: each case with its code, and a registry that was brought nothing.
//!
//! What is found out while packages are packed is tested with the real tools, in `publish_refused` of the command.

use crate::registry::{Pipeline, Protocol};
use crate::scene::{Scene, is_kept, options, refused};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use tidewheel_publish::prepare::{Provenance, Wish};
use tidewheel_publish::run::Verdict;

/// It is refused with this code and these words, and nothing was brought.
#[track_caller]
fn check(scene: &Scene, said: &str, code: &str, words: &str) {
    assert!(said.contains(&format!("[{code}]")) && said.contains(words), "{said}");
    assert!(scene.brought().is_empty());
}

async fn check_plan(scene: &Scene, wish: Wish, code: &str, words: &str) {
    check(scene, &refused(scene.plan(wish).await), code, words);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_that_is_nobodys() {
    let scene = Scene::chain(Protocol::Npm);
    scene.git(&["checkout", "-q", "--detach"]);
    // A branch still has it: so pipelines check things out.
    scene.plan(scene.wish()).await.unwrap();
    scene.commit();
    check_plan(&scene, scene.wish(), "commit", "is on no branch and has no tag").await;
    scene.plan(Wish { allow_detached: true, ..scene.wish() }).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clone_that_cannot_know_all_tags() {
    let scene = Scene::chain(Protocol::Npm);
    scene.git(&["commit", "-q", "--allow-empty", "-m", "more"]);
    let (from, to) = (scene.path("ws"), scene.path("shallow"));
    let from = format!("file://{}", from.display());
    scene.git(&["clone", "-q", "--depth", "1", &from, to.to_str().unwrap()]);
    std::fs::rename(scene.path("ws"), scene.path("whole")).unwrap();
    std::fs::rename(&to, scene.path("ws")).unwrap();
    scene.pack();
    let tagged = Wish { tag: Some("{name}-v{version}".to_owned()), ..scene.wish() };
    check_plan(&scene, tagged, "tag", "the clone is shallow").await;
    // Without tags it does not matter.
    scene.plan(scene.wish()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_that_are_not_committed() {
    let scene = Scene::chain(Protocol::Npm);
    scene.file("a/index.js", "// changed\n");
    let said = refused(scene.plan(scene.wish()).await);
    assert!(said.contains("a/index.js"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_that_were_only_proposed() {
    let mut scene = Scene::chain(Protocol::Npm);
    scene.set("GITHUB_EVENT_NAME", "pull_request");
    let said = refused(scene.plan(scene.wish()).await);
    assert!(said.contains("was only proposed"), "{said}");
    scene.plan(Wish { allow_pull_request: true, ..scene.wish() }).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn tags_that_are_elsewhere_or_no_tags() {
    let scene = Scene::chain(Protocol::Npm);
    scene.git(&["tag", "v1.0.0"]);
    scene.commit();
    let tagged = |tag: &str| Wish { tag: Some(tag.to_owned()), ..scene.wish() };
    check_plan(&scene, tagged("v{version}"), "tag", "the tag `v1.0.0` is at").await;
    let said = refused(scene.plan(tagged("a..b")).await);
    assert!(said.contains("[tag]"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn lock_files_that_were_forgotten() {
    let scene = Scene::chain(Protocol::Npm);
    let lock = r#"{ "lockfileVersion": 3, "packages": { "a": { "version": "0.9.0" }, "b": { "version": "1.0.0" } } }"#;
    scene.file("package-lock.json", lock);
    scene.commit();
    let words = "npm:a is 1.0.0, and the lock file says 0.9.0";
    check_plan(&scene, scene.wish(), "lock", words).await;

    let scene = Scene::chain(Protocol::Python);
    let lock = "version = 1\n[[package]]\nname = \"b\"\nversion = \"0.9\"\nsource = { editable = \"b\" }\n";
    scene.file("uv.lock", lock);
    scene.commit();
    let words = "python:b is 1.0.0, and the lock file says 0.9";
    check_plan(&scene, scene.wish(), "lock", words).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_packages_of_one_name() {
    let scene = Scene::new(Protocol::Python, &[("our-a", &[]), ("Our_A", &[])]);
    check_plan(&scene, scene.wish(), "duplicate", "our-a").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_that_are_none_or_not_good_enough() {
    let mut scene = Scene::chain(Protocol::Npm);
    let token = scene.registry.token().to_owned();
    scene.set("NPM_TOKEN", "old");
    check_plan(&scene, scene.wish(), "credentials", "is not good: unauthorized").await;
    // Whoever knows better may say so: then the registry says it with the first upload.
    let unchecked = Wish { check_tokens: false, ..scene.wish() };
    let report = scene.try_publish(unchecked, options()).await.unwrap();
    assert_eq!(report.verdict, Verdict::Blocked, "{report:#?}");
    assert!(scene.brought().is_empty());
    scene.set("NPM_TOKEN", &token);
    scene.registry.put("a", "0.9.0", "a-0.9.0.tgz", b"old");
    scene.registry.be_read_only("a");
    let words = "`tester`, whose token it is, may not write npm:a";
    check_plan(&scene, scene.wish(), "credentials", words).await;

    let mut scene = Scene::chain(Protocol::Cargo);
    scene.set("CARGO_REGISTRIES_OURS_TOKEN", "two\nlines");
    check_plan(&scene, scene.wish(), "credentials", "signs in it that no token has").await;
    scene.unset("CARGO_REGISTRIES_OURS_TOKEN");
    check_plan(&scene, scene.wish(), "credentials", "there is no token").await;
}

/// A token of Python's public registry, with one condition.
fn token(caveat: &str) -> String {
    let field = |kind: u8, data: &[u8]| [&[kind, data.len() as u8], data].concat();
    let parts = [
        vec![2],
        field(2, b"id"),
        vec![0],
        field(2, caveat.as_bytes()),
        vec![0, 0],
        field(6, &[7; 32]),
    ];
    format!("pypi-{}", URL_SAFE_NO_PAD.encode(parts.concat()))
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_for_other_projects_or_other_times() {
    let mut scene = Scene::new(Protocol::Python, &[("a", &[]), ("b", &["a"])]);
    scene.set("UV_PUBLISH_TOKEN", &token(r#"[1,["a"]]"#));
    // A new name cannot be made with it either.
    let words = "does not let python:b be uploaded: it is for `a` only";
    check_plan(&scene, scene.wish(), "credentials", words).await;
    scene.set("UV_PUBLISH_TOKEN", &token("[0,1000,500]"));
    check_plan(&scene, scene.wish(), "credentials", "it has expired").await;
    scene.unset("UV_PUBLISH_TOKEN");
    let words = "there is no token for the registry";
    check_plan(&scene, scene.wish(), "credentials", words).await;
}

const REPOSITORY: &str = r#""repository": "https://forge.example/us/all""#;

#[tokio::test(flavor = "multi_thread")]
async fn statements_that_cannot_be_made() {
    let mut wanted = Scene::new(Protocol::Npm, &[("a", &[])]);
    wanted.set_more("a", &format!(r#"{REPOSITORY}, "publishConfig": {{ "provenance": true }}"#));
    check_plan(&wanted, wanted.wish(), "provenance", "nobody signs it").await;
    let without = Wish { provenance: Provenance::Without, ..wanted.wish() };
    wanted.plan(without).await.unwrap();
    let nameless = Scene::new(Protocol::Npm, &[("a", &[])]);
    let signed = Wish { provenance: Provenance::Signed, ..nameless.wish() };
    check_plan(&nameless, signed, "provenance", "names no repository").await;
    nameless.plan(nameless.wish()).await.unwrap();
}

/// A scene in a pipeline, with no token but what it is given.
fn in_pipeline(protocol: Protocol, pipeline: &Pipeline) -> Scene {
    let mut scene = Scene::chain(protocol);
    for name in ["CARGO_REGISTRIES_OURS_TOKEN", "NPM_TOKEN", "UV_PUBLISH_TOKEN"] {
        scene.unset(name);
    }
    for (name, value) in pipeline.variables() {
        scene.set(name, &value);
    }
    scene
}

#[tokio::test(flavor = "multi_thread")]
async fn crates_go_out_by_tokens_that_are_given_and_given_again_when_they_end() {
    let pipeline = Pipeline::start();
    let scene = in_pipeline(Protocol::Cargo, &pipeline);
    // A crate that its registry has never seen cannot trust anybody.
    let said = refused(scene.plan(scene.wish()).await);
    check(&scene, &said, "credentials", "cargo:a is new");
    assert_eq!(scene.registry.given(), 0);
    for name in ["a", "b", "c"] {
        scene.registry.put(name, "0.9.0", &format!("{name}-0.9.0.crate"), b"old");
    }
    scene.registry.trust_once();
    let report = scene.publish().await;
    assert_eq!((report.verdict, &report.published), (Verdict::Done, &scene.ids(&["a", "b", "c"])));
    assert_eq!(scene.registry.given(), 3, "one for each upload, and none is asked for in vain");
    scene.registry.assert_nothing_twice();
    assert!(!format!("{report:?}").contains("-canary"), "{report:#?}");
    assert_eq!(is_kept(&scene, "-canary"), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn packages_of_npm_have_a_token_each_and_their_tags_at_once() {
    let pipeline = Pipeline::start();
    let scene = in_pipeline(Protocol::Npm, &pipeline);
    for name in ["a", "b"] {
        scene.registry.put(name, "0.9.0", &format!("{name}-0.9.0.tgz"), b"old");
    }
    check_plan(&scene, scene.wish(), "credentials", "npm:c is new").await;
    scene.registry.put("c", "0.9.0", "c-0.9.0.tgz", b"old");
    let report = scene.publish().await;
    assert_eq!((report.verdict, &report.published), (Verdict::Done, &scene.ids(&["a", "b", "c"])));
    for name in ["a", "b", "c"] {
        let tags = scene.registry.packages()[name].tags.clone();
        assert_eq!(tags, [("latest".to_owned(), "1.0.0".to_owned())].into(), "{name}");
    }
    assert_eq!(is_kept(&scene, "-canary"), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn distributions_may_be_new_to_a_registry_that_trusts_their_pipeline() {
    let pipeline = Pipeline::start();
    let scene = in_pipeline(Protocol::Python, &pipeline);
    let report = scene.publish().await;
    assert_eq!((report.verdict, &report.published), (Verdict::Done, &scene.ids(&["a", "b", "c"])));
    assert_eq!(scene.registry.given(), 1);
    assert_eq!(is_kept(&scene, "-canary"), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pipeline_that_is_not_trusted_is_told_before_anything_is_sent() {
    let pipeline = Pipeline::start();
    let mut scene = in_pipeline(Protocol::Python, &pipeline);
    scene.set("PYPI_ID_TOKEN", "somebody else");
    let said = refused(scene.plan(scene.wish()).await);
    check(&scene, &said, "credentials", "gives this pipeline no token");
    assert!(said.contains("is not trusted"), "{said}");
    // What says who one is does not travel in the clear.
    scene.unset("PYPI_ID_TOKEN");
    scene.set("ACTIONS_ID_TOKEN_REQUEST_URL", "http://pipeline.example/identity");
    let said = refused(scene.plan(scene.wish()).await);
    assert!(said.contains("in the clear"), "{said}");
}
