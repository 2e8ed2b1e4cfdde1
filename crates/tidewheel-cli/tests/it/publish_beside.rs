//! `tidewheel publish` beside others before the same registry: `cargo publish --workspace`, `pnpm -r publish`, level by level. What a
//! second run can do after a fault, and how long many packages take.
//!
//! What cargo does is what the cargo of this machine does; if a newer one does better, these tests say so by failing. Figures
//! are printed by `./test publish`; they are for reading, and depend on the machine. 40 packages, each of which its registry
//! takes 2 s to take in, in a graph of depth 6, 8 at a time; `SPEED_MS` makes each upload take another time.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::publishing::{Scene, tidewheel, told};
use crate::registry::{Fault, Faults, Protocol, Random, Registry, RetryAfter, What};

const PACKAGES: usize = 40;
const DEPTH: usize = 6;
const AT_ONCE: usize = 8;

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

fn faulty(name: &str, faults: &Faults) -> Scene {
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

/// `cargo publish --workspace`, and its exit code.
fn cargo_publish(scene: &Scene) -> i32 {
    let mut command = scene.program(&std::env::var("CARGO").unwrap_or("cargo".to_owned()));
    command
        .args(["publish", "--workspace", "--registry", "ours", "--no-verify"])
        .env("CARGO_NET_OFFLINE", "false")
        .env("CARGO_REGISTRIES_OURS_TOKEN", scene.registry.token());
    command.output().unwrap().status.code().unwrap()
}

fn cargo(name: &str, faults: &Faults) -> Ended {
    let scene = faulty(&format!("table-cargo-{name}"), faults);
    let ended = twice(&scene, || cargo_publish(&scene));
    // What cargo has left half done is finished by ours, unless it has gone wrong for good.
    scene.registry.script(Faults::none());
    scene.finish();
    assert_eq!(scene.registry.census().len(), 3, "{name}");
    ended
}

fn ours(name: &str, faults: &Faults) -> Ended {
    let scene = faulty(&format!("table-ours-{name}"), faults);
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

/// `a` has a development dependency on `c`, which needs it: by a version, or by its path alone.
fn with_development_dependency(name: &str, version: &str) -> Scene {
    let scene = Scene::chain(name);
    let manifest = std::fs::read_to_string(scene.path("ws/a/Cargo.toml")).unwrap();
    let need = format!("[dev-dependencies]\nc = {{ path = \"../c\"{version} }}\n");
    scene.file("a/Cargo.toml", &(manifest + &need));
    scene.commit();
    scene
}

#[test]
fn where_cargo_does_not_say_what_is_wrong_ours_names_the_circle_the_line_and_the_edit() {
    let versioned = ", version = \"1.0.0\", registry = \"ours\"";
    let scene = with_development_dependency("table-circle", versioned);
    assert_eq!(cargo_publish(&scene), 101);
    let (code, error) = told(&scene.publish(&[]).output().unwrap());
    assert_eq!(code, 3, "{error:#}");
    let said = error.to_string();
    assert!(said.contains("a/Cargo.toml:10: cargo:c is needed to work on cargo:a"), "{said}");
    assert!(said.contains("cargo:a → cargo:c → cargo:b → cargo:a"), "{said}");
    assert!(said.contains("leave its version out, as in c = { path = \\\"../c\\\" }"), "{said}");
    assert!(scene.brought().is_empty());
    // By its path alone it is left out of what is packed, by both.
    let scene = with_development_dependency("table-path", "");
    assert_eq!(cargo_publish(&scene), 0);
    let scene = with_development_dependency("table-path-ours", "");
    scene.finish();
}

#[test]
fn where_cargo_only_warns_ours_plans_what_is_left() {
    let scene = Scene::chain("table-dry");
    let refused = Faults::none().on(What::Upload, "b", Fault::Refused(500, "no"));
    scene.registry.script(refused);
    assert_eq!(cargo_publish(&scene), 101);
    let mut command = scene.program(&std::env::var("CARGO").unwrap_or("cargo".to_owned()));
    command
        .args(["publish", "--workspace", "--registry", "ours", "--no-verify", "--dry-run"])
        .env("CARGO_NET_OFFLINE", "false")
        .env("CARGO_REGISTRIES_OURS_TOKEN", scene.registry.token());
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("already exists"), "{said}");
    assert_eq!(cargo_publish(&scene), 101, "it is no dry run of what follows");
    let plan = ["publish", "plan", "--no-verify", "--format", "json"];
    let (code, plan) = told(&scene.tidewheel(&plan).output().unwrap());
    assert_eq!(code, 0, "{plan:#}");
    let classes: Vec<&str> = plan["packages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["class"].as_str().unwrap())
        .collect();
    assert_eq!(classes, ["done", "new", "new"]);
    scene.finish();
}

/// Packages with what they need. The first of each level is on the longest way; the last levels are narrow.
fn graph() -> Vec<(String, Vec<String>)> {
    let widths = [9, 9, 9, 9, 3, 1];
    assert_eq!((widths.len(), widths.iter().sum::<usize>()), (DEPTH, PACKAGES));
    let mut random = Random::new(40);
    let mut packages: Vec<(String, Vec<String>)> = Vec::new();
    for (level, width) in widths.into_iter().enumerate() {
        for place in 0..width {
            let name = format!("l{level}p{place}");
            let needs = match (level, place) {
                (0, _) => Vec::new(),
                (_, 0) => vec![format!("l{}p0", level - 1)],
                _ => vec![format!("l{}p{}", level - 1, random.below(widths[level - 1] as u64))],
            };
            packages.push((name, needs));
        }
    }
    packages
}

fn upload_time() -> Duration {
    let said = std::env::var("SPEED_MS").ok().and_then(|it| it.parse().ok());
    Duration::from_millis(said.unwrap_or(2000))
}

/// What nobody can be faster than: the longest way, or all of it side by side.
fn bound() -> Duration {
    upload_time() * DEPTH.max(PACKAGES.div_ceil(AT_ONCE)) as u32
}

/// Each level as wide as allowed, and the next when all of it is out: by threads that do nothing else, to a registry
/// that takes as long.
fn level_by_level() -> Duration {
    let registry = Registry::start(Protocol::Cargo);
    registry.take_for_uploads(upload_time());
    let began = Instant::now();
    for level in 0..DEPTH {
        let names = graph().into_iter().map(|it| it.0);
        let names: Vec<String> = names.filter(|it| it[1..2] == *level.to_string()).collect();
        let next = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..AT_ONCE {
                scope.spawn(|| {
                    while let Some(name) = names.get(next.fetch_add(1, Ordering::SeqCst)) {
                        send(&registry, name);
                    }
                });
            }
        });
    }
    let took = began.elapsed();
    assert_eq!(registry.census().len(), PACKAGES);
    took
}

/// Uploads an empty crate, as cargo would.
fn send(registry: &Registry, name: &str) {
    let told = serde_json::json!({ "name": name, "vers": "1.0.0", "deps": [], "features": {} });
    let mut body = Vec::new();
    for part in [told.to_string().as_bytes(), b"\x1f\x8bnothing"] {
        body.extend((part.len() as u32).to_le_bytes());
        body.extend(part);
    }
    let (token, length) = (registry.token(), body.len());
    let head = format!(
        "PUT /api/v1/crates/new HTTP/1.1\r\nauthorization: {token}\r\ncontent-length: {length}\r\n\
         connection: close\r\n\r\n"
    );
    let mut stream = TcpStream::connect(("127.0.0.1", registry.port())).unwrap();
    stream.write_all(&[head.as_bytes(), &body].concat()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

fn crates(name: &str, packages: &[(String, Vec<String>)]) -> Scene {
    let lists: Vec<(&str, Vec<&str>)> = packages
        .iter()
        .map(|(name, needs)| (name.as_str(), needs.iter().map(String::as_str).collect()))
        .collect();
    let crates: Vec<(&str, &[&str])> = lists.iter().map(|(name, it)| (*name, &**it)).collect();
    Scene::crates(name, &crates)
}

fn scene(name: &str) -> Scene {
    let scene = crates(name, &graph());
    scene.registry.take_for_uploads(upload_time());
    scene
}

fn print(who: &str, took: Duration, note: &str) {
    let over = took.as_secs_f64() / bound().as_secs_f64() * 100.0 - 100.0;
    println!("{who:<28} {:>7.2} s  {over:>+6.1} %  {note}", took.as_secs_f64());
}

/// From the first upload to the last answer, as the registry saw it.
fn uploading(scene: &Scene) -> Duration {
    let uploads = scene.registry.uploads();
    let first = uploads.iter().map(|it| it.at).min().unwrap();
    uploads.iter().map(|it| it.at).max().unwrap() - first + upload_time()
}

#[test]
#[ignore = "prints figures: ./test publish"]
fn forty_packages() {
    print("bound", bound(), "the longest way, or all side by side");
    print("level by level", level_by_level(), "threads that do nothing else");
    let scene = scene("speed-ours");
    let plan = Instant::now();
    let told_plan = told(
        &scene.tidewheel(&["publish", "plan", "--no-verify", "--format", "json"]).output().unwrap(),
    );
    assert_eq!(told_plan.0, 0);
    print("plan", plan.elapsed(), "everything packed, every package asked for");
    let began = Instant::now();
    let (code, report) = scene.published(&["--concurrency", "8"]);
    let took = began.elapsed();
    assert_eq!(code, 0, "{report:#}");
    assert_eq!(scene.registry.census().len(), PACKAGES);
    let at_once = scene.registry.uploads_at_once();
    print("tidewheel publish", uploading(&scene), &format!("uploads alone; {at_once} at once"));
    print("tidewheel publish", took, "the whole command, packed before");
    cargos();
}

#[test]
#[ignore = "prints figures: ./test publish"]
fn forty_packages_of_npm() {
    pnpms();
}

/// Runs a program and says the most memory that it, or one that it has started, ever had, in KiB: the kernel knows it when
/// they have ended.
const MEASURED: &str = "\
import os, sys
child = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=[(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)])
_, status, used = os.wait4(child, 0)
print(used.ru_maxrss)
sys.exit(os.waitstatus_to_exitcode(status))
";

/// `tidewheel` with these arguments: the time it took, and the most memory that it or a tool of it had, in MiB.
fn measured(scene: &Scene, arguments: &[&str]) -> (Duration, u64) {
    let program = tidewheel();
    let began = Instant::now();
    let output = scene
        .program("python3")
        .args([&["-c", MEASURED, &program], arguments].concat())
        .env("CARGO_REGISTRIES_OURS_TOKEN", scene.registry.token())
        .output()
        .unwrap();
    let took = began.elapsed();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let kib: u64 = String::from_utf8_lossy(&output.stdout).trim().parse().unwrap();
    (took, kib / 1024)
}

#[test]
#[ignore = "prints figures: ./test publish"]
fn three_hundred_packages() {
    let name = |number: usize| format!("p{number}");
    let needs = |number: usize| number.checked_sub(30).map(name).into_iter().collect();
    let packages: Vec<(String, Vec<String>)> =
        (0..300).map(|number| (name(number), needs(number))).collect();
    let scene = crates("publish-three-hundred", &packages);
    let began = Instant::now();
    let cargo = std::env::var("CARGO").unwrap_or("cargo".to_owned());
    let metadata = ["metadata", "--no-deps", "--offline", "--format-version", "1"];
    assert!(scene.program(&cargo).args(metadata).output().unwrap().status.success());
    let metadata = began.elapsed();
    let mut plans = Vec::new();
    for what in ["packed for the first time", "packed before"] {
        let (took, memory) = measured(&scene, &["publish", "plan", "--no-verify"]);
        plans.push(took);
        let after = took.saturating_sub(metadata).as_secs_f64();
        println!("plan of 300, {what}: {after:.2} s after metadata, {memory} MiB with its tools");
    }
    let cargos = cargo_package(&scene, &packages);
    let beyond = plans[0].saturating_sub(cargos + metadata);
    println!("cargo package of 300: {:.2} s", cargos.as_secs_f64());
    println!("plan of 300, beyond that: {:.2} s after metadata", beyond.as_secs_f64());
    assert!(beyond <= Duration::from_secs(5), "{beyond:?}");
    // Its registry takes no time: what is left is ours.
    let publish = ["publish", "--yes", "--no-verify", "--quiet", "--concurrency", "8"];
    let (took, memory) = measured(&scene, &publish);
    assert_eq!(scene.registry.census().len(), 300);
    let run = took.saturating_sub(plans[1]).as_secs_f64() * 1000.0 / 300.0;
    println!("publish of 300: {run:.0} ms a package beyond the plan, {memory} MiB");
    assert!(memory <= 200, "{memory} MiB");
}

/// What cargo alone takes to pack these, in a clone of their workspace.
fn cargo_package(scene: &Scene, packages: &[(String, Vec<String>)]) -> Duration {
    let (from, to) = (scene.path("ws"), scene.path("clone"));
    let cloned = scene.program("git").args(["clone", "-q"]).args([&from, &to]).status();
    assert!(cloned.unwrap().success());
    let mut command = scene.program(&std::env::var("CARGO").unwrap_or("cargo".to_owned()));
    command.current_dir(&to).env("CARGO_TARGET_DIR", scene.path("clone-target"));
    command.args(["package", "--no-verify", "--registry", "ours"]);
    command.args(packages.iter().flat_map(|(name, _)| ["-p".to_owned(), name.clone()]));
    let began = Instant::now();
    let output = command.output().unwrap();
    let took = began.elapsed();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    took
}

fn cargos() {
    let scene = scene("speed-cargo");
    let began = Instant::now();
    assert_eq!(cargo_publish(&scene), 0);
    let took = began.elapsed();
    print("cargo publish --workspace", uploading(&scene), "uploads alone");
    print("cargo publish --workspace", took, "the whole command");
}

fn pnpms() {
    let pnpm = std::env::var("TIDEWHEEL_PNPM").unwrap_or("pnpm".to_owned());
    if Command::new(&pnpm).arg("--version").output().is_err() {
        println!("pnpm -r publish: skipped, there is no pnpm");
        return;
    }
    let scene = Scene::new("speed-pnpm", Protocol::Npm);
    scene.registry.take_for_uploads(upload_time());
    let (url, port, token) =
        (scene.registry.index_url(), scene.registry.port(), scene.registry.token());
    let settings = format!("registry={url}\n//127.0.0.1:{port}/:_authToken={token}\n");
    scene.file(".npmrc", &settings);
    scene.file("pnpm-workspace.yaml", "packages:\n  - '*'\n");
    scene.file("package.json", r#"{ "name": "root", "version": "0.0.0", "private": true }"#);
    for (name, needs) in graph() {
        let needs: Vec<String> =
            needs.iter().map(|needed| format!("\"{needed}\": \"workspace:^\"")).collect();
        let manifest = format!(
            "{{ \"name\": \"{name}\", \"version\": \"1.0.0\", \"dependencies\": {{ {} }} }}",
            needs.join(", ")
        );
        scene.file(&format!("{name}/package.json"), &manifest);
    }
    scene.commit();
    let run = |arguments: &[&str]| {
        let output = scene.program(&pnpm).args(arguments).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    };
    // It publishes only what is installed, which takes no part in the time.
    run(&["install", "--no-lockfile", "--ignore-scripts"]);
    let began = Instant::now();
    run(&["-r", "publish", "--no-git-checks", "--config.workspace-concurrency=8"]);
    let took = began.elapsed();
    assert_eq!(scene.registry.census().len(), PACKAGES);
    print("pnpm -r publish", uploading(&scene), "uploads alone");
    print("pnpm -r publish", took, "the whole command");
}
