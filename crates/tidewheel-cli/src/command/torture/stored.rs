//! Reads what a data folder says at the end, for the check.
//!
//! Only what surfaces may read is used, so that what users are shown is what is checked.

use std::path::Path;

use anyhow::Context as _;
use tidewheel::store::sqlite::{DataFolder, Options};
use tidewheel::store::{RunFilter, RunKind, TaskSummary};

use super::check::{Duty, Stored, StoredRun, StoredTask};
use super::plan::ONCE;

pub(super) fn read(data: &Path) -> anyhow::Result<Stored> {
    let folder =
        DataFolder::open(data, Options::default()).context("the folder cannot be opened")?;
    let findings = folder.check()?;
    let reader = folder.reader()?;
    let filter = RunFilter { limit: u32::MAX, ..RunFilter::default() };
    let mut runs = Vec::new();
    for summary in reader.runs(&filter)? {
        let tasks = if summary.kind == RunKind::Run {
            let detail = reader.run(summary.id)?.context("a run that is listed is not there")?;
            detail.tasks.iter().map(task_of).collect()
        } else {
            vec![StoredTask {
                index: 0,
                name: String::new(),
                duty: Duty::Work,
                after: Vec::new(),
                state: summary.state,
                attempts: summary.attempts,
                at_most_once: false,
            }]
        };
        runs.push(StoredRun { id: summary.id, is_live: summary.is_live, tasks });
    }
    Ok(Stored { runs, findings, left: Vec::new() })
}

fn task_of(task: &TaskSummary) -> StoredTask {
    StoredTask {
        index: task.index,
        name: task.name.clone(),
        duty: Duty::Work,
        after: task.after.clone(),
        state: task.state,
        attempts: task.attempts,
        at_most_once: task.name == ONCE,
    }
}
