//! What becomes of an upload, whatever its registry does: the same run finishes it, or a report says what is left.
//!
//! Kills, signals and real packages are tested through the command, in `tidewheel-cli`.

use std::time::Duration;

use crate::registry::{Fault, Faults, Protocol, Request, RetryAfter, Upload, What};
use crate::scene::{Scene, is_about, of, options, refused};
use serde_json::{Value as Json, json};
use tidewheel_publish::plan::{Class, Pace, Rate};
use tidewheel_publish::prepare::Wish;
use tidewheel_publish::run::{Journal, Mishap, PublishOptions, Verdict};

/// What may happen to one upload.
fn faults() -> Vec<Fault> {
    vec![
        Fault::Refused(500, "try again"),
        Fault::DoneThenRefused(500),
        Fault::TooMany(RetryAfter::Seconds(1)),
        Fault::TooMany(RetryAfter::Date(1)),
        Fault::TooMany(RetryAfter::Sentence(1)),
        Fault::TooMany(RetryAfter::Missing),
        Fault::TooMany(RetryAfter::Text("soon")),
        Fault::CutWhileReading(0),
        Fault::CutWhileReading(500),
        Fault::CutBeforeDoing,
        Fault::CutAfterDoing,
        Fault::CutWhileAnswering,
        Fault::Hidden(20),
        Fault::Flickering(6),
        Fault::Garbled,
    ]
}

async fn finishes(protocol: Protocol, fault: Fault) {
    let scene = Scene::chain(protocol);
    scene.registry.script(Faults::none().on(What::Upload, "b", fault.clone()));
    let report = scene.publish().await;
    assert_eq!(report.verdict, Verdict::Done, "{fault:?}: {report:#?}");
    let mut census: Vec<String> = scene.registry.census().into_iter().map(|it| it.0).collect();
    census.dedup();
    assert_eq!(census, ["a", "b", "c"], "{fault:?}");
    scene.registry.assert_nothing_twice();
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_happens_to_an_upload_the_same_run_finishes_and_nothing_is_sent_twice() {
    for fault in faults() {
        finishes(Protocol::Cargo, fault).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_happens_to_an_upload_to_npm_it_is_finished() {
    for fault in [
        Fault::DoneThenRefused(500),
        Fault::TooMany(RetryAfter::Seconds(1)),
        Fault::CutAfterDoing,
        Fault::Hidden(5),
    ] {
        finishes(Protocol::Npm, fault).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn cut_at_twenty_places_an_upload_is_made_once_by_the_same_run() {
    for place in 0..20 {
        let scene = Scene::new(Protocol::Npm, &[("b", &[])]);
        let cut = Fault::CutWhileReading(place * 50 + 25);
        scene.registry.script(Faults::none().on(What::Upload, "b", cut));
        let report = scene.publish().await;
        assert_eq!(report.verdict, Verdict::Done, "{place}: {report:#?}");
        assert!(scene.registry.is_script_over(), "{place}");
        assert_eq!(scene.brought(), ["b"], "{place}");
        scene.registry.assert_nothing_twice();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_comes_after_a_plus_makes_no_other_version() {
    let mut scene = Scene::chain(Protocol::Cargo);
    for name in ["a", "b", "c"] {
        scene.set_version(name, "1.0.0+3.2");
    }
    let report = scene.publish().await;
    assert_eq!(report.published, ["cargo:a", "cargo:b", "cargo:c"], "{report:#?}");
    let report = scene.publish().await;
    assert_eq!(report.done, ["cargo:a", "cargo:b", "cargo:c"], "{report:#?}");
    scene.registry.assert_nothing_twice();
}

#[tokio::test(flavor = "multi_thread")]
async fn dependents_wait_until_those_who_resolve_can_have_what_they_need() {
    let scene = Scene::chain(Protocol::Cargo);
    scene.registry.script(Faults::none().on(What::Upload, "a", Fault::Hidden(15)));
    assert_eq!(scene.publish().await.verdict, Verdict::Done);
    let requests = scene.registry.requests();
    let at = |what, name| requests.iter().position(|it| is_about(it, what, name)).unwrap();
    let (a, b) = (at(What::Upload, "a"), at(What::Upload, "b"));
    let between = requests[a..b].iter().filter(|it| is_about(it, What::Look, "a")).count();
    // Fifteen do not see it. The next one does, and no other comes before what needs it is sent.
    assert_eq!(between, 16);
}

#[test]
fn packages_that_are_not_seen_yet_are_looked_for_every_second() {
    assert_eq!(PublishOptions::default().look_every, Duration::from_secs(1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_version_with_another_content_blocks_what_needs_it_and_nothing_else() {
    let packages: [(&str, &[&str]); 4] = [("a", &[]), ("b", &["a"]), ("c", &["b"]), ("d", &["a"])];
    for protocol in [Protocol::Cargo, Protocol::Npm] {
        let scene = Scene::new(protocol, &packages);
        scene.put_other("b");
        let report = scene.publish().await;
        assert_eq!(report.verdict, Verdict::Blocked, "{report:#?}");
        assert_eq!(report.published, scene.ids(&["a", "d"]));
        let [b, c] = ["b", "c"].map(|it| of(&report, &scene.id(it).to_string()).clone());
        assert_eq!((b.code, c.code), (Some(Mishap::Conflict), Some(Mishap::Blocked)));
        let why = b.error.unwrap();
        assert!(why.contains("we have sha") && why.contains("the registry has sha"), "{why}");
        assert_eq!(scene.brought(), ["a", "d"]);
    }
    // Somebody who is quicker is found out, too.
    let scene = Scene::chain(Protocol::Cargo);
    scene.registry.script(Faults::none().on(What::Upload, "b", Fault::Taken));
    let report = scene.publish().await;
    assert_eq!(report.verdict, Verdict::Blocked, "{report:#?}");
    assert_eq!(report.published, ["cargo:a"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_yanked_version_is_never_sent_again() {
    let scene = Scene::chain(Protocol::Cargo);
    assert_eq!(scene.publish().await.verdict, Verdict::Done);
    scene.registry.yank("b", "1.0.0");
    let report = scene.publish().await;
    assert_eq!(report.verdict, Verdict::Blocked, "{report:#?}");
    assert_eq!(scene.brought(), ["a", "b", "c"]);
}

fn at_most(wait: Duration) -> PublishOptions {
    PublishOptions { max_wait: Some(wait), ..options() }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_would_wait_too_long_ends_for_now_and_goes_on_later() {
    let scene = Scene::chain(Protocol::Cargo);
    let long = Fault::TooMany(RetryAfter::Seconds(3600));
    scene.registry.script(Faults::none().on(What::Upload, "b", long).always());
    let report = scene.publish_with(at_most(Duration::from_secs(600))).await;
    assert_eq!(report.verdict, Verdict::Incomplete, "{report:#?}");
    assert!(report.go_on_at.is_some());
    assert_eq!(
        [&report.published, &report.failed, &report.skipped],
        [&["cargo:a"], &["cargo:b"], &["cargo:c"]]
    );
    scene.heal();
    let report = scene.publish().await;
    assert_eq!(report.done, ["cargo:a"]);
    assert_eq!(report.published, ["cargo:b", "cargo:c"]);
    scene.registry.assert_nothing_twice();
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_says_when_to_come_again_is_not_waited_for_longer_than_anybody_wants() {
    let scene = Scene::chain(Protocol::Cargo);
    let busy = Fault::Busy(RetryAfter::Seconds(3600));
    scene.registry.script(Faults::none().on(What::Upload, "b", busy));
    let report = scene.publish_with(at_most(Duration::from_secs(600))).await;
    assert_eq!(report.verdict, Verdict::Incomplete, "{report:#?}");
    assert_eq!(of(&report, "cargo:b").result, "waiting", "{report:#?}");
    assert!(report.go_on_at.is_some(), "{report:#?}");
    // Whoever plans is told at once, and waits for nobody.
    let limited = Fault::TooMany(RetryAfter::Seconds(3600));
    scene.registry.script(Faults::none().on(What::Look, "a", limited).always());
    let said = refused(scene.plan(scene.wish()).await);
    assert!(said.contains("it wants to be asked again in 3600 s"), "{said}");
    scene.heal();
    assert_eq!(scene.publish().await.verdict, Verdict::Done);
    scene.registry.assert_nothing_twice();
}

fn visible_within(time: Duration) -> PublishOptions {
    PublishOptions { visible_within: time, ..options() }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_taken_and_is_not_seen_is_waited_for_by_the_next_run_and_not_sent_again() {
    let scene = Scene::chain(Protocol::Cargo);
    scene.registry.script(Faults::none().on(What::Upload, "b", Fault::Hidden(u32::MAX)));
    let report = scene.publish_with(visible_within(Duration::from_millis(50))).await;
    assert_eq!(report.verdict, Verdict::Incomplete, "{report:#?}");
    let asked = scene.registry.requests_count();
    let sees = async {
        // It is not seen when the next run begins, and later it is.
        let is_look = |it: &&Request| is_about(it, What::Look, "b");
        let looks =
            move |all: &[Request], _: &[Upload]| all[asked..].iter().filter(is_look).count() > 5;
        scene.until(looks).await;
        scene.registry.reveal();
    };
    let (report, ()) = tokio::join!(scene.publish(), sees);
    assert_eq!(report.verdict, Verdict::Done, "{report:#?}");
    scene.registry.assert_nothing_twice();
    assert_eq!(scene.brought(), ["a", "b", "c"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn each_run_looks_for_what_was_taken_for_as_long_as_the_first() {
    let scene = Scene::chain(Protocol::Cargo);
    scene.registry.script(Faults::none().on(What::Upload, "b", Fault::Hidden(u32::MAX)));
    let within = Duration::from_millis(500);
    let mut before = 0;
    for _ in 0..2 {
        let report = scene.publish_with(visible_within(within)).await;
        assert_eq!(report.verdict, Verdict::Incomplete, "{report:#?}");
        let looks = scene.requests(What::Look, "b");
        // From the look of the plan to that of the report.
        // elapsed: a lower bound
        let looked = looks.last().unwrap().at - looks[before].at;
        assert!(looked >= within, "{looked:?}");
        before = looks.len();
    }
    scene.registry.assert_nothing_twice();
}

#[tokio::test(flavor = "multi_thread")]
async fn crates_come_after_those_that_they_are_tried_with() {
    let mut scene = Scene::new(Protocol::Cargo, &[("a", &[]), ("z", &[])]);
    let tried =
        "[dev-dependencies]\nz = { path = \"../z\", version = \"1.0.0\", registry = \"ours\" }\n";
    scene.set_more("a", tried);
    assert_eq!(scene.publish().await.verdict, Verdict::Done);
    assert_eq!(scene.brought(), ["z", "a"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_crate_is_only_tried_with_may_be_out_in_any_version_that_it_asks_for() {
    let mut scene = Scene::new(Protocol::Cargo, &[("a", &[]), ("z", &[])]);
    let tried =
        "[dev-dependencies]\nz = { path = \"../z\", version = \"1.0.0\", registry = \"ours\" }\n";
    scene.set_more("a", tried);
    let only = |name: &str| Wish { only: vec![name.to_owned()], ..scene.wish() };
    let said = refused(scene.try_publish(only("a"), options()).await);
    assert!(said.contains("cargo:a needs cargo:z 1.0.0, which is not out"), "{said}");
    assert_eq!(scene.try_publish(only("z"), options()).await.unwrap().verdict, Verdict::Done);
    let wish = only("a");
    scene.set_version("z", "1.1.0");
    let report = scene.try_publish(wish, options()).await.unwrap();
    assert_eq!((report.verdict, report.published), (Verdict::Done, vec!["cargo:a".to_owned()]));
}

#[tokio::test(flavor = "multi_thread")]
async fn some_packages_go_alone_only_if_what_they_need_of_the_others_is_out() {
    for protocol in [Protocol::Cargo, Protocol::Npm] {
        let scene = Scene::chain(protocol);
        let names = |names: &[&str]| names.iter().map(|it| (*it).to_owned()).collect();
        let only = |all: &[&str]| Wish { only: names(all), ..scene.wish() };
        let said = refused(scene.try_publish(only(&["b"]), options()).await);
        let [a, b] = ["a", "b"].map(|it| scene.id(it));
        assert!(said.contains(&format!("{b} needs {a} 1.0.0, which is not out")), "{said}");
        assert!(scene.brought().is_empty());
        let said = refused(scene.try_publish(only(&["nobody"]), options()).await);
        assert!(said.contains("there is no package `nobody`"), "{said}");
        let from = Wish { from: names(&["b"]), ..scene.wish() };
        let said = refused(scene.try_publish(from.clone(), options()).await);
        assert!(said.contains(&format!("{b} needs {a} 1.0.0, which is not out")), "{said}");
        let except = Wish { except: names(&["b", "c"]), ..scene.wish() };
        let report = scene.try_publish(except, options()).await.unwrap();
        assert_eq!((report.verdict, report.published), (Verdict::Done, scene.ids(&["a"])));
        let report = scene.try_publish(from, options()).await.unwrap();
        assert_eq!((report.verdict, report.published), (Verdict::Done, scene.ids(&["b", "c"])));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_registry_refuses_is_told_in_its_words_and_not_tried_again() {
    let scene = Scene::chain(Protocol::Cargo);
    let reserved = Fault::Refused(422, "b is a reserved name");
    scene.registry.script(Faults::none().on(What::Upload, "b", reserved).always());
    // The second time it is no less refused, and not taken for something that is there and cannot be seen.
    for sent in [1, 2] {
        let report = scene.publish().await;
        assert_eq!(report.verdict, Verdict::Failed, "{report:#?}");
        let b = of(&report, "cargo:b");
        assert!(b.error.as_ref().unwrap().contains("b is a reserved name"), "{report:#?}");
        let codes: Vec<Option<Mishap>> = report.packages.iter().map(|it| it.code).collect();
        assert_eq!(codes, [None, Some(Mishap::Refused), Some(Mishap::NotBegun)]);
        assert_eq!(report.skipped, ["cargo:c"]);
        assert_eq!(scene.requests(What::Upload, "b").len(), sent);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn waiting_for_a_registry_uses_no_retry_up_and_takes_no_place() {
    let scene = Scene::new(Protocol::Cargo, &[("a", &[]), ("b", &[]), ("c", &["a"])]);
    // `a` is not shown before `b` is out, and of that the registry says that there were too many, more often than anything
    // is tried.
    let limited = Fault::TooMany(RetryAfter::Seconds(0));
    let faults = Faults::none().on(What::Upload, "a", Fault::Hidden(u32::MAX));
    scene.registry.script(faults.on(What::Upload, "b", limited).times(5));
    let sees = async {
        scene.until(|_, uploads| uploads.iter().any(|it| it.package == "b")).await;
        scene.registry.reveal();
    };
    let alone = PublishOptions { concurrency: 1, retries: 0, ..options() };
    let (report, ()) = tokio::join!(scene.publish_with(alone), sees);
    assert_eq!(report.verdict, Verdict::Done, "{report:#?}");
    assert_eq!(scene.requests(What::Upload, "b").len(), 6);
    scene.registry.assert_nothing_twice();
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_network_a_plan_says_what_it_does_not_know() {
    let mut scene = Scene::chain(Protocol::Cargo);
    scene.unset("CARGO_REGISTRIES_OURS_TOKEN");
    let offline = Wish { offline: true, ..scene.wish() };
    let prepared = scene.plan(offline).await.unwrap();
    let plan = serde_json::to_value(prepared.document()).unwrap();
    let packages = plan["packages"].as_array().unwrap();
    assert!(packages.iter().all(|it| it["class"] == "unknown"), "{plan:#}");
    assert!(scene.registry.requests().is_empty());
    // Programs rely on these.
    let keys = |of: &Json| of.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    let sorted = |words: &str| {
        let mut words: Vec<String> = words.split(' ').map(str::to_owned).collect();
        words.sort();
        words
    };
    let told = |of: &Json| {
        let mut keys = keys(of);
        keys.sort();
        keys
    };
    assert_eq!(told(&plan), sorted("digest commit wait_s uploads packages"));
    let of_package = sorted("package version class why after registry index files");
    assert_eq!(told(&packages[0]), of_package);
    assert_eq!(told(&packages[0]["files"][0]), sorted("name bytes sha256 inside"));
    assert_eq!(told(&packages[0]["files"][0]["inside"]), sorted("files bytes odd"));
}

#[tokio::test(flavor = "multi_thread")]
async fn registries_of_crates_are_paced_as_somebody_says() {
    let scene = Scene::new(Protocol::Cargo, &[("a", &[]), ("b", &[]), ("c", &[])]);
    let pace = |every| Pace { new: Some(Rate { burst: 1, every }), ..Pace::default() };
    let slow = Wish { pace: pace(Duration::from_secs(600)), ..scene.wish() };
    let prepared = scene.plan(slow).await.unwrap();
    assert_eq!(prepared.plan.wait, Duration::from_secs(1200));
    let every = Duration::from_millis(300);
    let report = scene.publish_with(PublishOptions { pace: pace(every), ..options() }).await;
    assert_eq!(report.verdict, Verdict::Done, "{report:#?}");
    let at: Vec<Duration> = scene.registry.uploads().iter().map(|it| it.at).collect();
    // elapsed: a lower bound, without what the first upload took
    assert!(at[2] - at[0] > every, "{at:?}");
}

fn impatient(timeout: Duration, retries: u32) -> PublishOptions {
    PublishOptions { timeout, retries, ..options() }
}

/// `b` was uploaded once, with this fault, and is looked for before it is sent again.
#[track_caller]
fn check_looked_up(scene: &Scene, fault: &Fault) {
    let requests = scene.registry.requests();
    let is = |it: &Request, what| is_about(it, what, "b");
    let first = requests.iter().position(|it| is(it, What::Upload)).unwrap();
    assert_eq!(requests[first].fault.as_ref(), Some(fault));
    let mut next = requests[first + 1..].iter();
    let next = next.find(|it| is(it, What::Upload) || is(it, What::Look));
    assert!(next.is_some_and(|it| is(it, What::Look)), "{fault:?}: it was sent again unseen");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_try_that_takes_too_long_is_ended_and_what_became_of_it_is_looked_up() {
    for fault in [Fault::Silent { is_done: false }, Fault::Dripping] {
        let mut scene = Scene::chain(Protocol::Cargo);
        // Who reads a thousand bytes a second takes far longer than a try has.
        scene.set_bytes("b", 1 << 20);
        scene.registry.script(Faults::none().on(What::Upload, "b", fault.clone()));
        // A machine that is slow itself only tries again. What it sends then may arrive after its try has ended.
        let report = scene.publish_with(impatient(Duration::from_secs(1), 50)).await;
        assert_eq!(report.verdict, Verdict::Done, "{fault:?}: {report:#?}");
        check_looked_up(&scene, &fault);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_taken_before_its_try_took_too_long_is_not_sent_again() {
    for fault in [Fault::Silent { is_done: true }, Fault::Endless] {
        let scene = Scene::chain(Protocol::Cargo);
        let a = Wish { only: vec!["a".to_owned()], ..scene.wish() };
        assert_eq!(scene.try_publish(a, options()).await.unwrap().verdict, Verdict::Done);
        scene.registry.script(Faults::none().on(What::Upload, "b", fault.clone()).always());
        // A machine that is slow itself may not get as far as that in one try.
        while scene.requests(What::Upload, "b").is_empty() {
            let report = scene.publish_with(impatient(Duration::from_secs(1), 0)).await;
            assert_eq!(report.verdict, Verdict::Incomplete, "{fault:?}: {report:#?}");
        }
        scene.until(|_, uploads| uploads.iter().any(|it| it.package == "b")).await;
        scene.heal();
        let sent = scene.requests(What::Upload, "b").len();
        assert_eq!(scene.publish().await.verdict, Verdict::Done, "{fault:?}");
        check_looked_up(&scene, &fault);
        assert_eq!(scene.requests(What::Upload, "b").len(), sent, "{fault:?}: it was sent again");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registry_that_never_answers_leaves_a_publish_that_can_be_run_again() {
    let scene = Scene::chain(Protocol::Cargo);
    let a = Wish { only: vec!["a".to_owned()], ..scene.wish() };
    assert_eq!(scene.try_publish(a, options()).await.unwrap().verdict, Verdict::Done);
    let silent = Fault::Silent { is_done: false };
    scene.registry.script(Faults::none().on(What::Upload, "b", silent).always());
    let mut report = scene.publish_with(impatient(Duration::from_secs(1), 1)).await;
    // On a slow machine the time may be over before anything is sent.
    while scene.requests(What::Upload, "b").is_empty() {
        report = scene.publish_with(impatient(Duration::from_secs(1), 1)).await;
    }
    assert_eq!(report.verdict, Verdict::Incomplete, "{report:#?}");
    let why = of(&report, "cargo:b").error.clone().unwrap();
    assert!(why.contains("nobody knows what became of its upload"), "{why}");
    scene.heal();
    assert_eq!(scene.publish().await.verdict, Verdict::Done);
    scene.registry.assert_nothing_twice();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_no_after_trouble_is_told_in_its_words_and_asked_for_again_by_the_next_run() {
    for scene in Scene::chains() {
        let b = scene.id("b").to_string();
        let reserved = Fault::Refused(422, "it is a reserved name");
        let faults = Faults::none().on(What::Upload, "b", Fault::Refused(500, "try again"));
        scene.registry.script(faults.on(What::Upload, "b", reserved).always());
        for sent in [2, 3] {
            // Not every registry says what it has: that one gets time to show it.
            let report = scene.publish_with(visible_within(Duration::from_millis(200))).await;
            assert_eq!(report.verdict, Verdict::Failed, "{report:#?}");
            let it = of(&report, &b);
            assert_eq!(it.code, Some(Mishap::Refused), "{it:#?}");
            assert!(it.error.as_ref().unwrap().contains("it is a reserved name"), "{it:#?}");
            let count = scene.requests(What::Upload, "b").len();
            assert_eq!(count, sent, "{b}: it is tried once a run");
        }
        scene.heal();
        assert_eq!(scene.publish().await.verdict, Verdict::Done);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_ends_after_trouble_is_told_as_that() {
    for scene in Scene::chains() {
        let faults = Faults::none().on(What::Upload, "b", Fault::Refused(500, "try again"));
        scene.registry.script(faults.on(What::Upload, "b", Fault::Unauthorised).always());
        let report = scene.publish_with(visible_within(Duration::from_millis(200))).await;
        assert_eq!(report.verdict, Verdict::Blocked, "{report:#?}");
        let it = of(&report, &scene.id("b").to_string());
        assert_eq!(it.code, Some(Mishap::NotAllowed), "{report:#?}");
        scene.heal();
        assert_eq!(scene.publish().await.verdict, Verdict::Done);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_taken_in_spite_of_its_answer_and_is_shown_late_is_no_refusal() {
    for scene in Scene::chains() {
        // Registries of npm and crates say no to what they have.
        let fault = Fault::HiddenThenRefused(500, 9);
        scene.registry.script(Faults::none().on(What::Upload, "b", fault));
        let report = scene.publish().await;
        assert_eq!(report.verdict, Verdict::Done, "{report:#?}");
        let it = of(&report, &scene.id("b").to_string());
        assert_eq!((it.result, &it.error), ("published", &None), "{report:#?}");
        // Those that say what they have are not sent it again.
        if scene.registry.protocol() == Protocol::Cargo {
            scene.registry.assert_nothing_twice();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_version_with_several_files_only_those_are_sent_that_are_missing() {
    let scene = Scene::new(Protocol::Python, &[("a", &[]), ("b", &["a"])]);
    let refused = Fault::Refused(422, "not today");
    scene.registry.script(Faults::none().on(What::Upload, "a", refused).after(1));
    let report = scene.publish().await;
    assert_eq!(report.verdict, Verdict::Failed, "{report:#?}");
    assert_eq!(scene.registry.census().len(), 1);
    assert_eq!(scene.publish().await.verdict, Verdict::Done);
    assert_eq!(scene.registry.census().len(), 4);
    scene.registry.assert_nothing_twice();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_taken_is_not_sent_again_while_somebody_wants_to_wait_for_it() {
    let scene = Scene::new(Protocol::Python, &[("a", &[])]);
    let unseen = Fault::Hidden(u32::MAX);
    scene.registry.script(Faults::none().on(What::Upload, "a", unseen).always());
    let report = scene.publish_with(visible_within(Duration::from_millis(50))).await;
    assert_eq!(report.verdict, Verdict::Incomplete);
    assert_eq!(scene.brought(), ["a", "a"]);
    // It was taken forty minutes ago.
    let is_it = |text: &str| text.contains("/journal/");
    let mut kept = scene.kept().into_keys();
    let path = kept.find(|path| is_it(&path.to_string_lossy())).unwrap();
    let journal = Journal::load(&path);
    let mut text: Json = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    text["since"] = json!(journal.since - 40 * 60 * 1_000_000);
    std::fs::write(path, text.to_string()).unwrap();
    let patient = PublishOptions {
        visible_within: Duration::from_secs(7200),
        ..at_most(Duration::from_secs(1))
    };
    let report = scene.publish_with(patient).await;
    assert_eq!(report.verdict, Verdict::Incomplete, "{report:#?}");
    assert_eq!(scene.brought(), ["a", "a"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn where_a_registry_gives_no_digest_files_are_fetched_and_compared() {
    let scene = Scene::new(Protocol::Python, &[("a", &[]), ("b", &["a"])]);
    scene.registry.be_without_digests();
    let report = scene.publish().await;
    assert_eq!((report.verdict, report.published), (Verdict::Done, scene.ids(&["a", "b"])));
    let report = scene.publish().await;
    assert_eq!((report.verdict, report.done), (Verdict::Done, scene.ids(&["a", "b"])));
    let all = scene.registry.requests();
    let fetched = all.iter().filter(|it| it.asked.what == What::Download).count();
    assert!(fetched >= 4, "{fetched} files were fetched");
    // Another content under the same name is found out.
    let scene = Scene::new(Protocol::Python, &[("a", &[]), ("b", &["a"])]);
    scene.registry.be_without_digests();
    scene.put_other("a");
    let report = scene.publish().await;
    assert_eq!(report.verdict, Verdict::Blocked, "{report:#?}");
    assert!(scene.brought().is_empty());
}

/// `b` needs a version of `a` that is not the one of the workspace.
fn scene_of_newer() -> Scene {
    let mut scene = Scene::new(Protocol::Python, &[("a", &[]), ("b", &["a"])]);
    scene.set_range("b", ">=2,<3");
    scene
}

#[tokio::test(flavor = "multi_thread")]
async fn a_need_that_nothing_will_satisfy_is_told_before_anything_is_sent() {
    let scene = scene_of_newer();
    let said = refused(scene.plan(scene.wish()).await);
    let words = "python:b needs python:a >=2,<3, and there is 1.0.0";
    assert!(said.contains(words) && said.contains("[needs-unpublished]"), "{said}");
    assert!(scene.brought().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn all_that_packages_need_of_each_other_is_out_at_the_end_or_it_is_not_done() {
    let scene = scene_of_newer();
    scene.registry.put("a", "2.1", "a-2.1.tar.gz", b"newer");
    scene.registry.script(Faults::none().on(What::Upload, "b", Fault::Held));
    let takes_back = async {
        scene.until(|all, _| all.iter().any(|it| is_about(it, What::Upload, "b"))).await;
        // What would do is taken back while it goes on. Every upload goes well.
        scene.registry.yank("a", "2.1");
        scene.registry.release();
    };
    let (report, ()) = tokio::join!(scene.publish(), takes_back);
    assert_eq!(report.verdict, Verdict::Blocked, "{report:#?}");
    let unmet = json!([{ "package": "python:b", "needs": "python:a", "range": ">=2,<3" }]);
    assert_eq!(serde_json::to_value(&report.unmet).unwrap(), unmet, "{report:#?}");
    // Another one that will do makes it whole.
    scene.registry.put("a", "2.2", "a-2.2.tar.gz", b"newest");
    let report = scene.publish().await;
    assert_eq!((report.verdict, &report.unmet[..]), (Verdict::Done, &[][..]), "{report:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registry_that_is_not_the_one_of_the_plan_is_sent_nothing() {
    let mut scene = Scene::chain(Protocol::Cargo);
    let prepared = scene.plan(scene.wish()).await.unwrap();
    let classes: Vec<&Class> = prepared.plan.packages.iter().map(|it| &it.class).collect();
    assert_eq!(classes, [&Class::New; 3]);
    let order = prepared.order(options()).of(scene.path("ws"), None);
    // Somebody has put another registry under its name meanwhile.
    let other = crate::registry::Registry::start(Protocol::Cargo);
    scene.set("CARGO_REGISTRIES_OURS_INDEX", &other.index_url());
    let report = scene.carry_out(&scene.publisher(), order).await;
    assert_eq!(report.verdict, Verdict::Blocked, "{report:#?}");
    let why = of(&report, "cargo:a").error.clone().unwrap();
    assert!(why.contains("it was planned to go to"), "{why}");
    assert!(other.uploads().is_empty() && scene.brought().is_empty());
    scene.unset("CARGO_REGISTRIES_OURS_INDEX");
    assert_eq!(scene.publish().await.verdict, Verdict::Done);
}
