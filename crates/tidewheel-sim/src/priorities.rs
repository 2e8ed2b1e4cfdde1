//! Priorities after a restart, against what the store has been told of them.
//!
//! The rule is written here a second time, from the rows alone: a task has the priority that it was given while it was live,
//! else that of its run, unless it was accepted with another.

use tidewheel_core::id::{RunId, TaskKey};
use tidewheel_core::policy::Priority;

use crate::store::KeptRun;
use crate::world::World;

impl World {
    /// Checks a scheduler that was just restored.
    pub(crate) fn check_priorities(&mut self) {
        let Some(engine) = &self.engine else { return };
        let scheduler = engine.scheduler();
        let rows = self.store.rows();
        let mut wrong: Vec<(RunId, u32)> = Vec::new();
        let mut changed = 0;
        for (run, id) in scheduler.works() {
            let expected: Vec<Priority> = match (rows.runs.get(&id), rows.submissions.get(&id)) {
                (Some(kept), _) => {
                    changed += kept.priorities.len();
                    (0..kept.task_count()).map(|index| expected(kept, index)).collect()
                }
                (None, Some(kept)) => vec![kept.row.priority],
                (None, None) => continue,
            };
            for (index, expected) in (0..).zip(expected) {
                let found = scheduler.priority(TaskKey { run, index });
                if found.is_some_and(|found| found != expected) {
                    wrong.push((id, index));
                }
            }
        }
        drop(rows);
        if changed > 0 {
            self.coverage.hit("restore: with changed priorities");
        }
        if !wrong.is_empty() {
            self.violate("priorities outlive a restart", format!("{wrong:?}"));
        }
    }
}

fn expected(kept: &KeptRun, index: u32) -> Priority {
    if let Some(own) = kept.priorities.get(&Some(index)) {
        return *own;
    }
    let spec = &kept.row.spec;
    let asked = match kept.added.get(&index) {
        Some(added) => added.profile.priority,
        None => {
            let profile = spec.profile_of.get(index as usize).copied().unwrap_or(0);
            spec.profiles[usize::from(profile)].priority
        }
    };
    let of_run = spec.profiles[0].priority;
    let usual = kept.priorities.get(&None).copied().unwrap_or(of_run);
    if asked == of_run { usual } else { asked }
}
