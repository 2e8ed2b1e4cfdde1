//! The flow that is tortured: what is in its files, and what must hold when it is done.
//!
//! Killing whoever runs it is in `scenario/flows`; that each step ran as the ledger says is checked in
//! `check`, as for every other task.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::Context as _;
use serde_json::{Value, json};
use tidewheel::store::sqlite::DataFolder;
use tidewheel::store::{OutputValue, TaskResult};

use super::check::{Duty, Kind, Stored, Verdict, check_tasks};
use super::round::TAG;
use super::stored;
use super::table::Seen;

/// The file that is run.
pub(super) const FILE: &str = "flow.yaml";
const CHILD: &str = "child.yaml";
const CLEAN_UP: &str = "clean-up.yaml";

/// Elements that are found out while the flow runs.
const ELEMENTS: u32 = 6;
/// Calls of the flow that finds out elements of its own.
const CALLS: u32 = 3;

/// What every step does: it says so, takes a while, and prints what it was given.
const STEP: &str = r#"say() { printf '%s %s %s %s %s\n' "$1" "$TIDEWHEEL_RUN_ID" "$TIDEWHEEL_TASK_INDEX" \
"$TIDEWHEEL_ATTEMPT" $$ >> "$TORTURE_LEDGER"; }; say start; sleep 0.02; say end; echo "$PRINT""#;

/// What a step says first that does not end when it is told to, nor does what it starts.
const STUBBORN: &str = "trap '' TERM HUP INT; ";

/// Writes the files of the flow.
pub(super) fn write(folder: &Path, ledger: &Path, tag: &str) -> anyhow::Result<()> {
    write_with(folder, ledger, tag, STEP)
}

/// The same with steps that ignore signals.
pub(super) fn write_stubborn(folder: &Path, ledger: &Path, tag: &str) -> anyhow::Result<()> {
    write_with(folder, ledger, tag, &format!("{STUBBORN}{STEP}"))
}

fn write_with(folder: &Path, ledger: &Path, tag: &str, step: &str) -> anyhow::Result<()> {
    let around = json!({ "TORTURE_LEDGER": ledger, TAG: tag });
    let text = step;
    let step = |name: &str, prints: &str| json!({ "name": name, "run": text, "env": { "PRINT": prints }, "outputs": { "n": "{{ json }}" } });
    let each = |name: &str, list: &str, prints: &str| {
        let mut step = step(name, prints);
        step["foreach"] = json!(list);
        step
    };
    let list: Vec<u32> = (0..ELEMENTS).collect();
    let calls: Vec<u32> = (0..CALLS).collect();
    let call = json!({
        "name": "call", "foreach": calls, "flow": CHILD, "with": { "x": "{{ item }}" },
    });
    let sum = "{{ (flows.each.n | sum) + (flows.call.add | map(attribute='n') | sum) }}";
    let main = json!({
        "env": around,
        "flow": [
            step("list", &json!(list).to_string()),
            each("each", "{{ flows.list.n }}", "{{ item * 10 }}"),
            call,
            step("sum", sum),
        ],
        "on_success": [step("cheer", "{{ flows.sum.n }}")],
        "on_failure": [step("mourn", "0")],
        "finally": [{ "name": "tidy", "flow": CLEAN_UP }],
    });
    let child = json!({
        "env": around,
        "params": { "x": 0 },
        "flow": [
            step("list", "[{{ params.x }}, {{ params.x + 1 }}]"),
            each("part", "{{ flows.list.n }}", "{{ item * 100 }}"),
            step("add", "{{ flows.part.n | sum }}"),
        ],
        "finally": [step("tidy", "{{ params.x }}")],
    });
    let clean_up = json!({ "env": around, "flow": [step("sweep", "1")] });
    for (name, value) in [(FILE, main), (CHILD, child), (CLEAN_UP, clean_up)] {
        // What is JSON is YAML.
        fs::write(folder.join(name), format!("{value:#}")).context("a flow cannot be written")?;
    }
    Ok(())
}

/// Every task that the run must have, what it has to do, and what those that work leave.
pub(super) fn expected() -> BTreeMap<String, (Duty, Option<Value>)> {
    let mut tasks = BTreeMap::new();
    let mut quiet = |name: String| tasks.insert(name, (Duty::Quiet, None));
    quiet("each[]".to_owned());
    quiet("each".to_owned());
    quiet("call".to_owned());
    quiet("tidy".to_owned());
    for call in 0..CALLS {
        for name in ["", "/part[]", "/part"] {
            quiet(format!("call[{call}]{name}"));
        }
    }
    let mut leaves = |name: String, value: Value| tasks.insert(name, (Duty::Work, Some(value)));
    leaves("list".to_owned(), json!((0..ELEMENTS).collect::<Vec<_>>()));
    for element in 0..ELEMENTS {
        leaves(format!("each[{element}]"), json!(element * 10));
    }
    let mut sum: u32 = (0..ELEMENTS).map(|element| element * 10).sum();
    for call in 0..CALLS {
        leaves(format!("call[{call}]/list"), json!([call, call + 1]));
        leaves(format!("call[{call}]/part[0]"), json!(call * 100));
        leaves(format!("call[{call}]/part[1]"), json!((call + 1) * 100));
        leaves(format!("call[{call}]/add"), json!((2 * call + 1) * 100));
        leaves(format!("call[{call}]/tidy"), json!(call));
        sum += (2 * call + 1) * 100;
    }
    leaves("sum".to_owned(), json!(sum));
    leaves("cheer".to_owned(), json!(sum));
    leaves("tidy/sweep".to_owned(), json!(1));
    tasks.insert("mourn".to_owned(), (Duty::Never, None));
    tasks
}

/// What is stored of the flow, with what its tasks left by their index.
pub(super) struct StoredFlow {
    pub stored: Stored,
    pub left: BTreeMap<u32, Value>,
}

/// Whether a run of it is stored.
pub(super) fn is_stored(data: &Path) -> anyhow::Result<bool> {
    Ok(data.exists() && !stored::read(data)?.runs.is_empty())
}

/// Whether its run is stored and has ended.
pub(super) fn has_ended(data: &Path) -> anyhow::Result<bool> {
    Ok(data.exists() && stored::read(data)?.runs.first().is_some_and(|run| !run.is_live))
}

pub(super) fn read(data: &Path, processes: Vec<Seen>) -> anyhow::Result<StoredFlow> {
    let mut stored = stored::read(data)?;
    stored.left = processes.into_iter().map(|seen| seen.command).collect();
    let duties = expected();
    for task in stored.runs.iter_mut().flat_map(|run| &mut run.tasks) {
        task.duty = duties.get(&task.name).map_or(Duty::Work, |(duty, _)| *duty);
    }
    let left = match stored.runs.first() {
        None => BTreeMap::new(),
        Some(run) => {
            let results = DataFolder::open(data, Default::default())?.reader()?.results(run.id)?;
            results.into_iter().map(|(index, result)| (index, output(&result))).collect()
        }
    };
    Ok(StoredFlow { stored, left })
}

/// The output `n`.
fn output(result: &TaskResult) -> Value {
    let output = result.outputs.iter().find(|output| output.name == "n");
    match output.map(|output| &output.value) {
        Some(OutputValue::Bytes(bytes)) => serde_json::from_slice(bytes).unwrap_or_default(),
        _ => Value::Null,
    }
}

/// Checks a run that was ended on the way: it has ended, each attempt came once and after what it needs.
pub(super) fn check_ended(ledger: &str, stored: &Stored) -> Verdict {
    let mut stored = stored.clone();
    let duties = expected();
    for task in stored.runs.iter_mut().flat_map(|run| &mut run.tasks) {
        let is_quiet = duties.get(&task.name).is_some_and(|(duty, _)| *duty != Duty::Work);
        task.duty = if is_quiet { Duty::Free } else { Duty::Perhaps };
    }
    check_tasks(ledger, &stored)
}

/// Checks that there is one run with exactly the tasks it should have, each done as the ledger says, and
/// that each left what it should.
pub(super) fn check(ledger: &str, flow: &StoredFlow) -> Verdict {
    let mut verdict = check_tasks(ledger, &flow.stored);
    let [run] = &flow.stored.runs[..] else {
        let kind = if flow.stored.runs.is_empty() { Kind::Lost } else { Kind::Doubled };
        verdict.find(kind, format!("{} runs are stored, not one", flow.stored.runs.len()));
        return verdict;
    };
    let mut missing = expected();
    for task in &run.tasks {
        let Some((_, value)) = missing.remove(&task.name) else {
            verdict.find(Kind::Doubled, format!("there is a task `{}` that should not", task.name));
            continue;
        };
        let left = flow.left.get(&task.index);
        if value.is_some() && left != value.as_ref() {
            let what = format!("`{}` left {left:?} and not {value:?}", task.name);
            verdict.find(Kind::Lost, what);
        }
    }
    for name in missing.keys() {
        verdict.find(Kind::Lost, format!("there is no task `{name}`"));
    }
    verdict
}
