//! `cargo publish --workspace` and `tidewheel publish` before the same registry in the same trouble.
//!
//! It prints the table of the design page, with `--nocapture`. What cargo does is what the cargo of this machine does; if
//! a newer one does better, this test says so by failing.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "what goes wrong fails the test")]

mod publishing;
#[path = "../../tidewheel-publish/tests/registry/mod.rs"]
mod registry;

use std::time::Instant;

use publishing::{Scene, told};
use registry::{Fault, Faults, RetryAfter, What};

/// How two runs of the same command ended, and what was out after each.
#[derive(Debug, PartialEq, Eq)]
struct Ended {
    codes: [i32; 2],
    out: [String; 2],
}

impl Ended {
    fn words(&self) -> String {
        let [first, second] = [0, 1].map(|run| {
            let out = if self.out[run].is_empty() { "nothing" } else { &self.out[run] };
            format!("exit {}, {out} out", self.codes[run])
        });
        format!("{first} | {second}")
    }
}

fn scene(name: &str, faults: &Faults) -> Scene {
    let scene = Scene::chain(name);
    scene.registry.script(faults.clone());
    scene
}

/// Two runs of a command.
fn twice(scene: &Scene, run: impl Fn() -> i32) -> Ended {
    let mut codes = [0; 2];
    let mut out = [String::new(), String::new()];
    for (code, out) in codes.iter_mut().zip(&mut out) {
        *code = run();
        let names: Vec<String> = scene.registry.census().into_iter().map(|it| it.0).collect();
        *out = names.join(" ");
    }
    Ended { codes, out }
}

fn cargo(name: &str, faults: &Faults) -> Ended {
    let scene = scene(&format!("table-cargo-{name}"), faults);
    twice(&scene, || {
        let mut command = scene.program(&std::env::var("CARGO").unwrap_or("cargo".to_owned()));
        command
            .args(["publish", "--workspace", "--registry", "ours", "--no-verify"])
            .env("CARGO_NET_OFFLINE", "false")
            .env("CARGO_REGISTRIES_OURS_TOKEN", scene.registry.token());
        command.output().unwrap().status.code().unwrap()
    })
}

fn ours(name: &str, faults: &Faults) -> Ended {
    let scene = scene(&format!("table-ours-{name}"), faults);
    let ended = twice(&scene, || told(&scene.publish(&[]).output().unwrap()).0);
    scene.registry.assert_nothing_twice();
    ended
}

fn ended(codes: [i32; 2], out: [&str; 2]) -> Ended {
    Ended { codes, out: out.map(str::to_owned) }
}

/// One row: the fault, and what cargo does. Ours ends well in all of them, in the first run.
fn row(what: &str, name: &str, faults: Faults, cargos: Ended) {
    let began = Instant::now();
    let seen = cargo(name, &faults);
    let took = began.elapsed();
    assert_eq!(seen, cargos, "{what}: cargo");
    let seen_ours = ours(name, &faults);
    assert_eq!(seen_ours, ended([0, 0], ["a b c", "a b c"]), "{what}: ours");
    println!("| {what} | {} | {} | {took:.0?} |", seen.words(), seen_ours.words());
}

fn heading() {
    println!(
        "| Fault | cargo, first run | second run | ours, first run | second run | cargo took |"
    );
    println!("|---|---|---|---|---|---|");
}

#[test]
fn where_cargo_cannot_be_run_again_ours_has_finished_already() {
    heading();
    let on = |package: &str, fault| Faults::none().on(What::Upload, package, fault);
    row("none", "none", Faults::none(), ended([0, 101], ["a b c", "a b c"]));
    let stuck = || ended([101, 101], ["a", "a"]);
    row("b answers 500, not stored", "before", on("b", Fault::Refused(500, "no")), stuck());
    let limited = Fault::TooMany(RetryAfter::Seconds(1));
    row("b answers 429, come again in 1 s", "limited", on("b", limited), stuck());
    let after = on("b", Fault::DoneThenRefused(500));
    row("b is stored, then 500", "after", after, ended([101, 101], ["a b", "a b"]));
}

#[test]
#[ignore = "cargo waits for a minute: ./test publish"]
fn where_cargo_waits_a_minute_for_the_index_and_gives_up_ours_goes_on() {
    heading();
    let late = Faults::none().on(What::Upload, "a", Fault::Hidden(1000));
    row("the index shows a late", "late", late, ended([101, 101], ["a", "a"]));
}
