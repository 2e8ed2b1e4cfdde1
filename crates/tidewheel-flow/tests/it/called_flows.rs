//! A flow called is the flow alone: random flows, run by themselves and called by a step of another,
//! give the same states of steps and the same result.
//!
//! Every combination of words about one failure is in `failure_words`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use crate::bench::{Deed, End, Stage, Start};
use tidewheel::run::RunResult;
use tidewheel::{Cancel, TaskState};

const FLOWS: u64 = if cfg!(debug_assertions) { 300 } else { 3_000 };

/// Numbers from a seed (splitmix64).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }

    fn percent(&mut self, chance: u64) -> bool {
        self.below(100) < chance
    }

    fn pick(&mut self, words: &[&'static str]) -> &'static str {
        words[self.below(words.len() as u64) as usize]
    }
}

/// A flow with what its steps do, by name.
#[derive(Debug, Default)]
struct Made {
    text: String,
    /// Attempt by attempt.
    deeds: BTreeMap<String, Vec<Deed>>,
    /// Steps that call another flow.
    callers: Vec<String>,
    /// Whether its hooks are being written, which do not ask how others have ended.
    is_in_hooks: bool,
}

/// What a step says about failures and skips.
fn words(random: &mut Random) -> String {
    let mut text = String::new();
    for key in ["on_error", "on_dependency_error"] {
        if random.percent(25) {
            write!(text, ", {key}: {}", random.pick(&["fail", "skip", "continue"])).unwrap();
        }
    }
    if random.percent(25) {
        write!(text, ", on_skip: {}", random.pick(&["skip", "continue"])).unwrap();
    }
    if random.percent(20) {
        write!(text, ", when: '{{{{ {} }}}}'", random.pick(&["true", "false"])).unwrap();
    }
    text
}

/// What a step waits for, of those before it: just so, or asking how they have ended.
fn needs(random: &mut Random, prefix: &str, number: u64, asks: bool) -> String {
    let mut needs: Vec<String> =
        (0..number).filter(|_| random.percent(35)).map(|need| format!("{prefix}{need}")).collect();
    if asks && needs.len() > 1 && random.percent(15) {
        let (how, when) = (random.pick(&["all", "any"]), when(random));
        return format!("{{ {how}: [{}], when: {when} }}", needs.join(", "));
    }
    for need in &mut needs {
        if asks && random.percent(20) {
            *need = format!("{{ step: {need}, when: {} }}", when(random));
        }
    }
    needs.join(", ")
}

fn when(random: &mut Random) -> &'static str {
    random.pick(&[
        "succeeded",
        "failed",
        "skipped",
        "cancelled",
        "ended",
        "[succeeded, failed]",
        "[succeeded, skipped]",
    ])
}

/// Steps of one list, of which later ones may need earlier ones, as they are written. What they do is noted under
/// the path that they are in.
fn steps(
    random: &mut Random,
    (path, prefix): (&str, &str),
    children: &[&str],
    made: &mut Made,
) -> Vec<String> {
    let count = 1 + random.below(5);
    let mut written = Vec::new();
    for number in 0..count {
        let name = format!("{prefix}{number}");
        let needs = needs(random, prefix, number, !made.is_in_hooks);
        let words = words(random);
        let work = work(random, &format!("{path}{name}"), children, made);
        written.push(format!("{{ name: {name}, {work}, depends_on: [{needs}]{words} }}"));
    }
    written
}

/// What a step is: a child that is called, a list of elements, steps of its own, or work.
fn work(random: &mut Random, task: &str, children: &[&str], made: &mut Made) -> String {
    match random.below(10) {
        0..3 if !children.is_empty() => {
            let child = children[random.below(children.len() as u64) as usize];
            made.callers.push(task.to_owned());
            format!("flow: {child}")
        }
        3 => {
            for element in 0..3 {
                note(random, format!("{task}[{element}]"), made);
            }
            format!("run: x, foreach: [a, b, c]{ENDS}")
        }
        // Not in a group again: two levels show what three would.
        4 if !task.contains('/') => {
            let inner = steps(random, (&format!("{task}/"), "g"), &[], made);
            format!("steps: [{}]", inner.join(", "))
        }
        _ => {
            note(random, task.to_owned(), made);
            format!("run: x{ENDS}")
        }
    }
}

/// What becomes of how an attempt ends: nothing was to be done, or it is tried again. Waits that chance spreads would be
/// others in a run of its own.
const ENDS: &str =
    ", skip_codes: 78, retry: { retries: 1, delay: 5ms, backoff: fixed, jitter: none, codes: 75 }";

/// Notes what a task does.
fn note(random: &mut Random, task: String, made: &mut Made) {
    let attempt = |_| {
        let ends = match random.below(100) {
            0..22 => End::Code(1),
            22..34 => End::Code(78),
            34..44 => End::Code(75),
            _ => End::Well,
        };
        Deed { ends, ..Deed::takes(Duration::from_millis(1 + random.below(40))) }
    };
    made.deeds.insert(task, (0..2).map(attempt).collect());
}

/// Writes a list of steps, one a line.
fn list(random: &mut Random, prefix: &str, children: &[&str], made: &mut Made) {
    for step in steps(random, ("", prefix), children, made) {
        writeln!(made.text, "  - {step}").unwrap();
    }
}

fn flow(random: &mut Random, prefix: &str, children: &[&str]) -> Made {
    let mut made = Made::default();
    let (on_error, on_skip) =
        (random.pick(&["fail", "skip", "continue"]), random.pick(&["skip", "continue"]));
    let runner = format!("{{ order: fifo, on_error: {on_error}, on_skip: {on_skip} }}");
    writeln!(made.text, "runner: {runner}").unwrap();
    writeln!(made.text, "flow:").unwrap();
    list(random, prefix, children, &mut made);
    made.is_in_hooks = true;
    for list in ["on_success", "on_failure", "finally"] {
        if random.percent(35) {
            writeln!(made.text, "{list}:").unwrap();
            self::list(random, &format!("{prefix}{}", &list[..4]), &[], &mut made);
        }
    }
    made
}

/// Says what the steps of a flow do, and those of the flow that it calls.
fn does(stage: &mut Stage, path: &str, made: &Made, child: &Made) {
    for (name, deeds) in &made.deeds {
        stage.does(&format!("{path}{name}"), deeds.clone());
    }
    for caller in &made.callers {
        for (inner, deeds) in &child.deeds {
            stage.does(&format!("{path}{caller}/{inner}"), deeds.clone());
        }
    }
}

/// How all tasks under a path have ended, and the run, which may be cancelled after a while.
fn play(
    seed: u64,
    path: &str,
    flows: &[(&str, &str)],
    (made, child): (&Made, &Made),
    cancelled_after: Option<Duration>,
) -> (BTreeMap<String, TaskState>, RunResult) {
    let mut stage = Stage::new();
    // One at a time, so that both come by the same things in the same order.
    stage.slots = 1;
    for (name, text) in flows {
        stage.flow(name, text);
    }
    does(&mut stage, path, made, child);
    stage.start(&Start::default()).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
    if let Some(time) = cancelled_after {
        stage.pass(time);
        // It may have ended before.
        let _ = stage.run().unwrap().cancel(Cancel::Drain);
    }
    let result = stage.finish().unwrap_or_else(|error| panic!("seed {seed}: {error}")).result();
    let states = stage.states().into_iter();
    (states.collect(), result)
}

#[test]
fn a_flow_called_is_the_flow_alone() {
    let mut seen: BTreeMap<TaskState, u64> = BTreeMap::new();
    let mut results: BTreeMap<RunResult, u64> = BTreeMap::new();
    for seed in 0..FLOWS {
        let mut random = Random(seed);
        let child = flow(&mut random, "c", &[]);
        let made = flow(&mut random, "s", &["child.yaml"]);
        let cancelled_after = random.percent(20).then(|| Duration::from_millis(random.below(120)));
        let files = [("flow.yaml", &*made.text), ("child.yaml", &*child.text)];
        let (alone, result) = play(seed, "", &files, (&made, &child), cancelled_after);
        // A run that a failure has stopped is not stopped again; one that calls it has not ended by then.
        if cancelled_after.is_some() && result == RunResult::Failed {
            continue;
        }
        let outer = "{ runner: { order: fifo }, flow: [{ name: call, flow: flow.yaml }] }";
        let files =
            [("outer.yaml", outer), ("flow.yaml", &*made.text), ("child.yaml", &*child.text)];
        let (mut states, called) = play(seed, "call/", &files, (&made, &child), cancelled_after);
        let call = states.remove("call");
        let inside: BTreeMap<String, TaskState> = states
            .into_iter()
            .map(|(name, state)| (name.strip_prefix("call/").unwrap().to_owned(), state))
            .collect();
        let told = format!(
            "seed {seed}, cancelled after {cancelled_after:?}:\n{}\nwith child.yaml:\n{}",
            made.text, child.text
        );
        assert_eq!(inside, alone, "{told}");
        assert_eq!(called, result, "{told}");
        let expected = match result {
            RunResult::Succeeded => TaskState::Succeeded,
            RunResult::Cancelled => TaskState::Cancelled,
            _ => TaskState::Failed,
        };
        assert_eq!(call, Some(expected), "{told}");
        for state in alone.values() {
            *seen.entry(*state).or_default() += 1;
        }
        *results.entry(result).or_default() += 1;
    }
    for state in [TaskState::Succeeded, TaskState::Failed, TaskState::Skipped] {
        assert!(seen.get(&state).is_some_and(|count| *count > FLOWS / 4), "{seen:?}");
    }
    for result in [RunResult::Succeeded, RunResult::Failed, RunResult::Cancelled] {
        assert!(results.get(&result).is_some_and(|count| *count > FLOWS / 20), "{results:?}");
    }
}
