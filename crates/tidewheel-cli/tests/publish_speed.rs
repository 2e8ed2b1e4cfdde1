//! How fast a workspace goes out: ours, level by level, `cargo publish --workspace` and, where it is there, pnpm.
//!
//! Nothing is shown by it: it prints figures, with `--ignored --nocapture` in release. 40 packages, each of which its
//! registry takes 2 s to take in, in a graph of depth 6, 8 at a time. `SPEED_MS` makes each upload take another time.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "what goes wrong fails the test")]

mod publishing;
#[path = "../../tidewheel-publish/tests/registry/mod.rs"]
mod registry;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use publishing::{Scene, told};
use registry::{Protocol, Random, Registry};

const PACKAGES: usize = 40;
const DEPTH: usize = 6;
const AT_ONCE: usize = 8;

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

fn scene(name: &str) -> Scene {
    let graph = graph();
    let lists: Vec<(&str, Vec<&str>)> = graph
        .iter()
        .map(|(name, needs)| (name.as_str(), needs.iter().map(String::as_str).collect()))
        .collect();
    let crates: Vec<(&str, &[&str])> = lists.iter().map(|(name, it)| (*name, &**it)).collect();
    let scene = Scene::crates(name, &crates);
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
#[ignore = "prints figures: cargo test --release -p tidewheel-cli --test publish_speed -- --ignored --nocapture"]
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
    pnpms();
}

fn cargos() {
    let scene = scene("speed-cargo");
    let began = Instant::now();
    let output = scene
        .program(&std::env::var("CARGO").unwrap_or("cargo".to_owned()))
        .args(["publish", "--workspace", "--registry", "ours", "--no-verify"])
        .env("CARGO_NET_OFFLINE", "false")
        .env("CARGO_REGISTRIES_OURS_TOKEN", scene.registry.token())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
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
    let settings = format!(
        "registry={url}\n//127.0.0.1:{port}/:_authToken={token}\nworkspace-concurrency=8\n"
    );
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
    let began = Instant::now();
    let output = scene.program(&pnpm).args(["-r", "publish", "--no-git-checks"]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    let took = began.elapsed();
    assert_eq!(scene.registry.census().len(), PACKAGES);
    print("pnpm -r publish", uploading(&scene), "uploads alone");
    print("pnpm -r publish", took, "the whole command");
}
