//! What follows uploads, and what goes with them: tags, hooks, statements, one-time codes, tokens that end.
//!
//! Questions at a terminal, and flags of the command, are tested in `tidewheel-cli`.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use crate::registry::{Fault, Faults, Protocol, Request, Upload, What};
use crate::scene::{Scene, of, options};
use serde_json::{Value as Json, json};
use tidewheel_publish::prepare::{Provenance, Wish};
use tidewheel_publish::run::{Mishap, PublishOptions, Report, Verdict, take_back};
use tidewheel_publish::settings::Secret;

fn tagged(tag: &str) -> PublishOptions {
    PublishOptions { tag: Some(tag.to_owned()), ..options() }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_is_tagged_when_its_packages_are_out_and_a_tag_is_never_moved() {
    let scene = Scene::chain(Protocol::Npm);
    let commit = scene.git(&["rev-parse", "HEAD"]);
    let remote = scene.path("remote").display().to_string();
    scene.git(&["init", "-q", "--bare", &remote]);
    let refused = Fault::Refused(422, "not this one");
    scene.registry.script(Faults::none().on(What::Upload, "b", refused).always());
    let each = PublishOptions { push_tags: Some(remote.clone()), ..tagged("{name}-v{version}") };
    assert_eq!(scene.publish_with(each.clone()).await.verdict, Verdict::Failed);
    assert_eq!(scene.git(&["tag"]), "a-v1.0.0", "what is out has its tag, the others have none");
    scene.heal();
    let report = scene.publish_with(each).await;
    assert_eq!(report.verdict, Verdict::Done, "{report:#?}");
    let states: Vec<&str> = report.tags.iter().map(|it| it.state).collect();
    assert_eq!(states, ["there", "set", "set"]);
    assert_eq!(scene.git(&["rev-parse", "c-v1.0.0"]), commit);
    assert_eq!(scene.git(&["--git-dir", &remote, "tag"]), "a-v1.0.0\nb-v1.0.0\nc-v1.0.0");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tag_for_all_waits_for_those_that_are_stuck() {
    let scene = Scene::chain(Protocol::Npm);
    scene.put_other("b");
    let report = scene.publish_with(tagged("v{version}")).await;
    assert_eq!((report.verdict, &report.published), (Verdict::Blocked, &scene.ids(&["a"])));
    assert_eq!((scene.git(&["tag"]).as_str(), &report.tags[..]), ("", &[][..]));
    let report = scene.publish_with(tagged("{name}-v{version}")).await;
    assert_eq!(report.verdict, Verdict::Blocked, "{report:#?}");
    assert_eq!(scene.git(&["tag"]), "a-v1.0.0", "those with one of their own have it");
    // So do tags of npm.
    let tags = &scene.registry.packages()["a"].tags;
    assert!(!tags.contains_key("latest"), "{tags:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn tags_of_npm_move_when_all_packages_are_out() {
    let scene = Scene::chain(Protocol::Npm);
    scene.registry.put("a", "0.9.0", "a-0.9.0.tgz", b"old");
    let refused = Fault::Refused(422, "not this one");
    scene.registry.script(Faults::none().on(What::Upload, "b", refused).always());
    assert_eq!(scene.publish().await.verdict, Verdict::Failed);
    let tags = |name: &str| scene.registry.packages()[name].tags.clone();
    assert_eq!(tags("a").get("latest"), None, "{:?}", tags("a"));
    scene.heal();
    assert_eq!(scene.publish().await.verdict, Verdict::Done);
    for name in ["a", "b", "c"] {
        assert_eq!(tags(name), [("latest".to_owned(), "1.0.0".to_owned())].into(), "{name}");
    }
}

fn with_hook(hook: &str) -> PublishOptions {
    PublishOptions { hook: Some(hook.to_owned()), ..options() }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hook_runs_once_for_each_package_that_was_uploaded() {
    let scene = Scene::chain(Protocol::Npm);
    let only = Wish { only: vec!["a".to_owned()], ..scene.wish() };
    assert_eq!(scene.try_publish(only, options()).await.unwrap().verdict, Verdict::Done);
    let heard = scene.path("heard");
    let line = format!(
        "echo $TIDEWHEEL_PACKAGE $TIDEWHEEL_VERSION ${{NPM_TOKEN-none}} >> {}",
        heard.display()
    );
    let fails = format!("test -e {} || exit 1; {line}", scene.path("open").display());
    let report = scene.publish_with(with_hook(&fails)).await;
    assert_eq!(report.verdict, Verdict::Incomplete, "{report:#?}");
    assert!(of(&report, "npm:b").error.as_ref().unwrap().contains("its hook failed"));
    fs::write(scene.path("open"), "").unwrap();
    for _ in 0..2 {
        assert_eq!(scene.publish_with(with_hook(&fails)).await.verdict, Verdict::Done);
    }
    assert_eq!(fs::read_to_string(&heard).unwrap(), "b 1.0.0 none\nc 1.0.0 none\n");
}

/// Writes a program that runs this.
fn program(scene: &Scene, name: &str, script: &str) -> String {
    let path = scene.path(name);
    fs::write(&path, format!("#!/bin/sh\n{script}")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path.display().to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_follows_has_what_it_needs_and_no_token_of_a_registry() {
    let mut scene = Scene::new(Protocol::Cargo, &[("a", &[])]);
    let (heard, seen) = (scene.path("heard"), scene.path("seen"));
    let say = "$GH_TOKEN ${CARGO_REGISTRIES_OURS_TOKEN-none} ${MINE-none}";
    let hook = format!("echo $TIDEWHEEL_TAG {say} > {}", heard.display());
    let ssh = program(&scene, "ssh", &format!("echo {say} > {}\nexit 1\n", seen.display()));
    // A token is known by its name, and by being one.
    let token = scene.registry.token().to_owned();
    scene.set("GH_TOKEN", "canary");
    scene.set("MINE", &token);
    scene.set("GIT_SSH_COMMAND", &ssh);
    let report = scene
        .publish_with(PublishOptions {
            push_tags: Some("ssh://remote.invalid/a".to_owned()),
            tag: Some("{name}-v{version}".to_owned()),
            ..with_hook(&hook)
        })
        .await;
    assert_eq!((report.verdict, report.tags[0].state), (Verdict::Incomplete, "failed"));
    assert_eq!(fs::read_to_string(&heard).unwrap(), "a-v1.0.0 canary none none\n");
    assert_eq!(fs::read_to_string(&seen).unwrap(), "canary none none\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_one_time_code_that_is_wanted_is_a_matter_for_somebody_and_goes_with_each_upload() {
    let scene = Scene::chain(Protocol::Npm);
    scene.registry.script(Faults::none().on(What::Upload, "b", Fault::CodeWanted));
    let report = scene.publish().await;
    assert_eq!((report.verdict, report.wants_code), (Verdict::Blocked, true), "{report:#?}");
    assert_eq!(report.published, ["npm:a"]);
    assert_eq!(of(&report, "npm:b").code, Some(Mishap::CodeWanted));
    let mut around = scene.surroundings();
    around.code = Secret::new("canary-123456");
    let publisher = tidewheel_publish::run::Publisher::new(around).unwrap();
    let prepared = scene.plan(scene.wish()).await.unwrap();
    let order = prepared.order(options()).of(scene.path("ws"), None);
    let report = scene.carry_out(&publisher, order).await;
    assert_eq!(report.verdict, Verdict::Done, "{report:#?}");
    for name in ["b", "c"] {
        let requests = scene.requests(What::Upload, name);
        assert_eq!(requests.last().unwrap().header("npm-otp"), Some("canary-123456"));
    }
    assert!(!format!("{report:?}").contains("canary"));
    assert_eq!(crate::scene::is_kept(&scene, "canary"), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_earlier_release_has_brought_out_is_not_taken_back() {
    let mut scene = Scene::new(Protocol::Npm, &[("a", &[]), ("b", &["a"])]);
    assert_eq!(scene.publish().await.verdict, Verdict::Done);
    scene.set_version("b", "1.1.0");
    let prepared = scene.plan(scene.wish()).await.unwrap();
    let order = prepared.order(options()).of(scene.path("ws"), None);
    let report = scene.carry_out(&scene.publisher(), order.clone()).await;
    assert_eq!((&report.done, &report.published), (&scene.ids(&["a"]), &scene.ids(&["b"])));
    let states = |taken: &[tidewheel_publish::run::TakenBack]| -> Vec<(String, &'static str)> {
        taken.iter().map(|it| (it.package.clone(), it.state)).collect()
    };
    let package = |name: &str| scene.id(name).to_string();
    let reason = Some("it loses data");
    scene.registry.script(Faults::none().on(What::TakeBack, "b", Fault::CodeWanted));
    let taken = take_back(&scene.publisher(), &order, reason).await;
    assert!(taken[0].error.is_some(), "{taken:#?}");
    let taken = take_back(&scene.publisher(), &order, reason).await;
    assert_eq!(states(&taken), [(package("b"), "taken back"), (package("a"), "out before")]);
    let packages = scene.registry.packages();
    assert!(packages["a"].versions[0].told.get("deprecated").is_none());
    assert!(packages["b"].versions[0].told.get("deprecated").is_none(), "1.0.0 is earlier");
    assert_eq!(packages["b"].versions[1].told["deprecated"], "it loses data");
}

/// Cargo's settings have a program that gives tokens, which runs this.
fn with_giver(scene: &mut Scene, script: &str) {
    scene.unset("CARGO_REGISTRIES_OURS_TOKEN");
    let giver = program(scene, "giver", script);
    let index = scene.registry.index_url();
    let settings = format!(
        "[registries.ours]\nindex = \"{index}\"\n\
         credential-provider = [\"cargo:token-from-stdout\", \"{giver}\"]\n"
    );
    scene.file(".cargo/config.toml", &settings);
    scene.commit();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_has_ended_is_asked_for_again_and_programs_that_give_them_are_asked() {
    let mut scene = Scene::chain(Protocol::Cargo);
    let count = scene.path("count");
    let script = format!("echo x >> {}\necho {}\n", count.display(), scene.registry.token());
    with_giver(&mut scene, &script);
    scene.registry.script(Faults::none().on(What::Upload, "b", Fault::Unauthorised));
    // The same one again does not help: somebody has to see to it.
    let report = scene.publish().await;
    assert_eq!(report.verdict, Verdict::Blocked, "{report:#?}");
    assert_eq!(report.published, ["cargo:a"]);
    assert!(!format!("{report:?}").contains(scene.registry.token()), "{report:#?}");
    let asked = fs::read_to_string(&count).unwrap().lines().count();
    assert!(asked >= 2, "asked {asked} times");
    assert_eq!(scene.publish().await.verdict, Verdict::Done);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_has_ended_when_a_registry_is_looked_at_is_asked_for_again() {
    let mut scene = Scene::chain(Protocol::Cargo);
    let count = scene.path("count");
    // Whoever asks first is given one that ends soon.
    let script = format!(
        "if [ -e {0} ]; then echo {1}; else echo ended; fi\necho x >> {0}\n",
        count.display(),
        scene.registry.token()
    );
    with_giver(&mut scene, &script);
    // The first look is that of the plan.
    scene.registry.script(Faults::none().on(What::Look, "a", Fault::Unauthorised).after(1));
    let report = scene.publish().await;
    assert_eq!(report.verdict, Verdict::Done, "{report:#?}");
    assert_eq!(fs::read_to_string(&count).unwrap().lines().count(), 2);
}

const REPOSITORY: &str = r#""repository": "https://forge.example/us/all""#;

/// A signer that notes for whom it signs, and says what it signs. It has the secrets of whoever publishes.
fn signer(scene: &Scene) -> String {
    format!(
        "test -n \"$SIGNING_TOKEN\" && echo $TIDEWHEEL_PACKAGE >> {} && \
         printf '{{\"mediaType\":\"application/vnd.dev.sigstore.bundle.v0.3+json\",\"of\":\"%s\"}}' $(sha256sum \"$TIDEWHEEL_FILE\" | cut -c1-64)",
        scene.path("signed").display()
    )
}

fn signed(scene: &Scene) -> Vec<String> {
    let text = fs::read_to_string(scene.path("signed")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

async fn publish_signed(scene: &Scene, signer: &str, retries: u32) -> Report {
    let wish = Wish { provenance: Provenance::Signed, ..scene.wish() };
    let options = PublishOptions { signer: Some(signer.to_owned()), retries, ..options() };
    scene.try_publish(wish, options).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn statements_go_with_the_packages_that_want_them_and_are_made_once() {
    let mut scene = Scene::new(Protocol::Npm, &[("a", &[]), ("b", &["a"]), ("c", &[])]);
    scene.set("SIGNING_TOKEN", "s");
    scene.set_more("a", REPOSITORY);
    scene.set_more("b", REPOSITORY);
    scene.set_more("c", &format!(r#"{REPOSITORY}, "publishConfig": {{ "provenance": false }}"#));
    // Refused once: what was signed is not signed again.
    let refused = Fault::Refused(422, "not today");
    scene.registry.script(Faults::none().on(What::Upload, "b", refused));
    let signer = signer(&scene);
    assert_eq!(publish_signed(&scene, &signer, 3).await.verdict, Verdict::Failed);
    let report = publish_signed(&scene, &signer, 3).await;
    assert_eq!((report.verdict, &report.published), (Verdict::Done, &scene.ids(&["b"])));
    assert_eq!(signed(&scene), ["a", "b"]);
    let statement = |package: &str| -> Json {
        let stored = &scene.registry.packages()[package].versions[0];
        stored.told["dist"]["attestations"]["provenance"].clone()
    };
    let census = scene.registry.census();
    for package in ["a", "b"] {
        let file = census.iter().find(|it| it.0 == package).unwrap();
        assert_eq!(statement(package)["of"], file.3, "{package}");
    }
    assert_eq!(statement("c"), Json::Null, "it wants none");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_cannot_be_signed_stops_itself_and_what_needs_it_and_goes_on_later() {
    let mut scene = Scene::new(Protocol::Npm, &[("a", &[]), ("b", &[]), ("c", &["b"]), ("d", &[])]);
    scene.set("SIGNING_TOKEN", "s");
    for name in ["a", "b", "c", "d"] {
        scene.set_more(name, REPOSITORY);
    }
    let open = scene.path("open");
    let conflict = "{ echo '409: an entry is there already' >&2; exit 1; }";
    let signer = format!(
        "test $TIDEWHEEL_PACKAGE != b || test -e {} || {conflict}; {}",
        open.display(),
        signer(&scene)
    );
    let report = publish_signed(&scene, &signer, 1).await;
    assert_eq!(report.verdict, Verdict::Incomplete, "{report:#?}");
    assert_eq!(report.published, scene.ids(&["a", "d"]), "{report:#?}");
    assert_eq!((&report.failed, &report.skipped), (&scene.ids(&["b"]), &scene.ids(&["c"])));
    let why = of(&report, "npm:b").error.as_ref().unwrap();
    assert!(why.contains("cannot be signed") && why.contains("409: an entry is there already"));
    fs::write(open, "").unwrap();
    let report = publish_signed(&scene, &signer, 1).await;
    assert_eq!((report.verdict, &report.published), (Verdict::Done, &scene.ids(&["b", "c"])));
    scene.registry.assert_nothing_twice();
}

#[tokio::test(flavor = "multi_thread")]
async fn no_more_are_signed_at_once_than_may_be() {
    let names = ["a", "b", "c", "d", "e"];
    let packages = names.map(|name| (name, &[][..]));
    let mut scene = Scene::new(Protocol::Npm, &packages);
    scene.set("SIGNING_TOKEN", "s");
    for name in names {
        scene.set_more(name, REPOSITORY);
    }
    // The first holds its turn until others have come while it is there. Whoever comes while another one is there fails, and is not tried again.
    let (lock, asked) = (scene.path("lock").display().to_string(), scene.path("asked"));
    let signer = format!(
        "mkdir {lock} && {{ until test -e {}; do sleep 0.01; done; rmdir {lock}; }} && {}",
        asked.display(),
        signer(&scene)
    );
    let opens = async {
        // One look for the plan, one by each attempt; and those that have no turn come again.
        let looks = |all: &[Request], _: &[Upload]| {
            all.iter().filter(|it| it.asked.what == What::Look).count() >= 12
        };
        scene.until(looks).await;
        fs::write(&asked, "").unwrap();
    };
    let (report, ()) = tokio::join!(publish_signed(&scene, &signer, 0), opens);
    assert_eq!(report.verdict, Verdict::Done, "{report:#?}");
    assert_eq!(signed(&scene).len(), 5);
}

#[tokio::test(flavor = "multi_thread")]
async fn distributions_have_a_list_of_statements_for_each_file() {
    let scene = Scene::new(Protocol::Python, &[("a", &[]), ("b", &["a"])]);
    let report = publish_signed(&scene, "printf '{\"version\":1}'", 0).await;
    assert_eq!(report.verdict, Verdict::Done, "{report:#?}");
    let packages = scene.registry.packages();
    let files: Vec<_> = packages.values().flat_map(|it| &it.versions[0].files).collect();
    assert_eq!(files.len(), 4);
    assert!(files.iter().all(|it| it.told["attestations"] == r#"[{"version":1}]"#), "{files:?}");
    let scene = Scene::new(Protocol::Python, &[("a", &[])]);
    let report = publish_signed(&scene, "echo no", 0).await;
    assert_eq!(report.verdict, Verdict::Incomplete, "{report:#?}");
    let why = of(&report, "python:a").error.as_ref().unwrap();
    assert!(why.contains("what the signer says is no JSON"), "{why}");
    assert_eq!(serde_json::to_value(&report).unwrap()["verdict"], json!("incomplete"));
}
