//! The golden rule of `tidewheel publish`: whatever registries do and whenever it is killed, run often enough it ends as
//! a run without any of that would.
//!
//! Packages, faults and kills are drawn from a seed; some of them, or one that failed, are played by
//! `SWEEP_SEEDS=100..200 cargo test -p tidewheel-cli --test it publish_sweep::many -- --ignored --nocapture`. Single faults
//! are tested one by one in `uploads` of `tidewheel-publish`.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::publishing::{Begun, Scene, told};
use crate::registry::{Fault, Faults, Random, Registry, What};
use serde_json::Value as Json;

/// Scripts that `./test` plays.
const FEW: u64 = 4;
/// Scripts of the long test.
const MANY: u64 = 500;
/// Packages of a workspace.
const PACKAGES: usize = 10;
/// Seeds that have a workspace in common: what is packed once serves all of them.
const SHARED_BY: u64 = 50;
/// Processes that one script may take. Most take two or three.
const PROCESSES_MAX: usize = 40;

/// A workspace of crates that need each other as a seed says, everything packed, and nothing published.
struct Ground {
    scene: Scene,
    needs: BTreeMap<String, Vec<String>>,
    tree: BTreeMap<PathBuf, Vec<u8>>,
    /// What a run without faults leaves in the registry.
    census: Vec<(String, String, String, String)>,
}

impl Ground {
    fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let names: Vec<String> = (0..PACKAGES).map(|number| format!("p{number}")).collect();
        let mut needs = BTreeMap::new();
        for (number, name) in names.iter().enumerate() {
            let before = names[..number].iter();
            let needed: Vec<String> = before.filter(|_| random.percent(25)).cloned().collect();
            needs.insert(name.clone(), needed);
        }
        let of = |name: &String| needs[name].iter().map(String::as_str).collect::<Vec<&str>>();
        let lists: Vec<(&str, Vec<&str>)> = names.iter().map(|name| (&**name, of(name))).collect();
        let crates: Vec<(&str, &[&str])> = lists.iter().map(|(name, it)| (*name, &**it)).collect();
        let scene = Scene::crates(&format!("publish-sweep-{seed}"), &crates);
        let tree = scene.tree();
        let plan = ["publish", "plan", "--no-verify", "--format", "json"];
        assert_eq!(told(&scene.tidewheel(&plan).output().unwrap()).0, 0);
        copy(&scene.path("data"), &scene.path("packed"));
        let mut ground = Self { scene, needs, tree, census: Vec::new() };
        ground.scene.finish();
        ground.census = ground.scene.registry.census();
        assert_eq!(ground.census.len(), PACKAGES);
        ground
    }

    fn registry(&self) -> &Registry {
        &self.scene.registry
    }

    /// As it was when everything was packed and nothing published.
    fn reset(&self) {
        self.registry().forget();
        self.lose_state();
    }

    /// All that was noted about runs is gone.
    fn lose_state(&self) {
        std::fs::remove_dir_all(self.scene.path("data")).unwrap();
        copy(&self.scene.path("packed"), &self.scene.path("data"));
    }

    /// Plays a script until all is out, looks whether the rule was kept, and says how many processes it took.
    fn play(&self, seed: u64) -> usize {
        self.reset();
        let mut random = Random::new(seed);
        let names: Vec<&str> = self.needs.keys().map(String::as_str).collect();
        self.registry().script(Faults::random(seed, &names));
        let mut said = Vec::new();
        for process in 0.. {
            assert!(process < PROCESSES_MAX, "seed {seed} does not end: {said:#?}");
            let kill = (process < 6 && random.percent(60)).then(|| Kill::draw(&mut random));
            let heard = self.registry().requests_count();
            let (code, told) = self.run(seed, process, kill);
            self.check_refusals(seed, heard, code, &told);
            said.push(told);
            assert_eq!(self.scene.tree(), self.tree, "seed {seed}: the workspace was written to");
            if code == Some(0) {
                break;
            }
            if random.percent(8) {
                self.lose_state();
            }
        }
        self.check(seed, &said);
        said.len()
    }

    /// One process, killed or not: its exit code, if it had one, and what it said.
    fn run(&self, seed: u64, process: usize, kill: Option<Kill>) -> (Option<i32>, String) {
        let log = self.scene.path(&format!("said-{process}"));
        let file = std::fs::File::create(&log).unwrap();
        // Nothing is tried again often, so that giving up and coming again is part of it.
        let mut command = self.scene.publish(&["--max-retries", "1", "--visible-within", "5s"]);
        // Packages one after the other, or as many at once as can go.
        command.args(["--concurrency", if seed.is_multiple_of(2) { "1" } else { "8" }]);
        let heard = self.registry().requests_count();
        let command = command.stdout(file.try_clone().unwrap()).stderr(file);
        let begun = Begun::start(&self.scene, command);
        let status = match kill {
            Some(kill) => {
                kill.wait(heard, &begun);
                begun.kill()
            }
            None => begun.wait(),
        };
        let code = status.code();
        let text = std::fs::read_to_string(&log).unwrap();
        (code, format!("{kill:?} {code:?}\n{text}"))
    }

    /// What its registry said no to, if it is not there all the same, is told in its words and was sent no more by this
    /// process. Nobody has to see to anything but where there was a no.
    fn check_refusals(&self, seed: u64, heard: usize, code: Option<i32>, said: &str) {
        let all = self.registry().requests();
        let is_no = |fault: Option<&Fault>| match fault {
            Some(Fault::Unauthorised) => Some(("not-allowed", "requires authentication")),
            Some(Fault::Refused(400 | 404 | 422, words)) => Some(("refused", *words)),
            _ => None,
        };
        let noes = |code: &str| {
            all.iter().any(|it| is_no(it.fault.as_ref()).is_some_and(|no| no.0 == code))
        };
        // The run that a process takes up may have been told by the one before.
        assert!(code != Some(8) || noes("not-allowed"), "seed {seed}: {said}");
        assert!(code != Some(1) || noes("refused"), "seed {seed}: {said}");
        let packages = self.registry().packages();
        for (place, asked) in all.iter().enumerate().skip(heard) {
            let Some((word, words)) = is_no(asked.fault.as_ref()) else { continue };
            let name = asked.asked.package.as_deref().unwrap();
            if packages.contains_key(name) {
                continue;
            }
            let again = all[place + 1..].iter().filter(|it| {
                it.asked.what == What::Upload && it.asked.package.as_deref() == Some(name)
            });
            assert_eq!(again.count(), 0, "seed {seed}: {name} was sent again after a no: {said}");
            let report = said.lines().find(|line| line.starts_with("{\"run_id\""));
            let Some(report) = report else {
                assert_eq!(code, None, "seed {seed}: {said}");
                continue;
            };
            let report: Json = serde_json::from_str(report).unwrap();
            let mut packages = report["packages"].as_array().unwrap().iter();
            let it = packages.find(|it| it["package"] == format!("cargo:{name}")).unwrap();
            assert_eq!(it["code"], word, "seed {seed}: {it:#}");
            assert!(it["error"].as_str().unwrap().contains(words), "seed {seed}: {it:#}");
        }
    }

    fn check(&self, seed: u64, said: &[String]) {
        let registry = self.registry();
        assert_eq!(registry.census(), self.census, "seed {seed}: {said:#?}");
        let uploads = registry.uploads();
        let contents: BTreeSet<(&str, &str)> =
            uploads.iter().map(|it| (&*it.file, &*it.sha256)).collect();
        assert_eq!(contents.len(), PACKAGES, "seed {seed}: something was sent with two contents");
        let mut out = BTreeSet::new();
        for upload in uploads.iter().filter(|it| it.is_stored) {
            let missing = self.needs[&upload.package].iter().find(|it| !out.contains(*it));
            assert_eq!(missing, None, "seed {seed}: {} went out too early", upload.package);
            out.insert(&upload.package);
        }
        // What cannot be seen, and of which the dead knew, may be sent again by the next, and once by each.
        for name in self.needs.keys() {
            let again = uploads.iter().filter(|it| it.was_there && it.package == *name).count();
            assert!(again < said.len(), "seed {seed}: {name} was sent again {again} times");
        }
        let report = self.scene.finish();
        assert_eq!(report["published"], serde_json::json!([]), "seed {seed}");
        assert_eq!(registry.uploads().len(), uploads.len(), "seed {seed}");
    }
}

/// When a process is killed.
#[derive(Debug, Clone, Copy)]
enum Kill {
    /// When the registry has heard so many more requests.
    After(usize),
    /// After this time, wherever it is then.
    In(Duration),
}

impl Kill {
    fn draw(random: &mut Random) -> Self {
        match random.percent(80) {
            true => Self::After(random.below(5 * PACKAGES as u64) as usize + 1),
            false => Self::In(Duration::from_millis(random.below(300))),
        }
    }

    /// Returns when it is time, or the process has ended by itself.
    fn wait(self, heard: usize, begun: &Begun<'_>) {
        match self {
            Self::After(more) => begun.until(|requests, _| requests.len() >= heard + more),
            Self::In(time) => begun.within(time, |_, _| false),
        };
    }
}

fn copy(from: &Path, to: &Path) {
    let status = Command::new("cp").arg("-a").args([from, to]).stdin(Stdio::null()).status();
    assert!(status.unwrap().success());
}

#[test]
fn a_few_scripts_of_faults_and_kills_end_as_a_run_without_them_would() {
    let ground = Ground::new(0);
    for seed in 0..FEW {
        ground.play(seed);
    }
}

/// The seeds that are asked for: `SWEEP_SEEDS=100..200`, `SWEEP_SEEDS=117` for one, or all.
fn wanted() -> Range<u64> {
    let Ok(said) = std::env::var("SWEEP_SEEDS") else { return 0..MANY };
    let (from, to) = match said.split_once("..") {
        Some((from, to)) => (from.parse(), to.parse()),
        None => (said.parse(), said.parse().map(|seed: u64| seed + 1)),
    };
    from.unwrap()..to.unwrap()
}

#[test]
#[ignore = "five hundred scripts take minutes: ./test publish"]
fn many_scripts_of_faults_and_kills_end_as_a_run_without_them_would() {
    let wanted = wanted();
    let last = wanted.end.div_ceil(SHARED_BY);
    let next = AtomicU64::new(wanted.start / SHARED_BY);
    let (played, began) = (AtomicU64::new(0), Instant::now());
    std::thread::scope(|scope| {
        let threads = std::thread::available_parallelism().map_or(2, usize::from);
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let group = next.fetch_add(1, Ordering::SeqCst);
                    if group >= last {
                        return;
                    }
                    let ground = Ground::new(group);
                    let seeds = group * SHARED_BY..(group + 1) * SHARED_BY;
                    let seeds = seeds.start.max(wanted.start)..seeds.end.min(wanted.end);
                    for seed in seeds {
                        let processes = ground.play(seed);
                        let count = played.fetch_add(1, Ordering::SeqCst) + 1;
                        let took = began.elapsed();
                        println!("seed {seed}: {processes} processes; {count} in {took:.0?}");
                    }
                }
            });
        }
    });
    assert_eq!(played.into_inner(), wanted.end - wanted.start);
}
