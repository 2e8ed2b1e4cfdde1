//! The priority of a run or of one of its steps, changed; and before that, what would come of it.
//!
//! What a priority means for the order is decided by the scheduler that has the run. One in this process is asked what would be;
//! any other, through the data folder.

use std::time::Duration;

use tidewheel::Priority;
use tidewheel::id::TaskId;
use tidewheel::observe::{Preview, Prospect};
use tidewheel::store::sqlite::FolderError;
use tidewheel::store::{RunCommand, RunDetail};

use super::error::DeskError;
use super::find::task_of;
use super::local::LocalDesk;
use crate::api::{OrderLine, OrderPreview, PriorityChanged, PriorityWish};

/// How long whoever runs a run is waited for. To look ahead twice takes longer than to say why a step waits.
const PATIENCE: Duration = Duration::from_secs(5);

impl LocalDesk {
    /// Changes the priority of a run, or of one of its steps.
    ///
    /// # Errors
    ///
    /// When there is no such run or step, it has ended, or nobody runs it.
    pub fn set_priority(
        &self,
        word: &str,
        wish: &PriorityWish,
    ) -> Result<PriorityChanged, DeskError> {
        let detail = self.find(word)?;
        let (task, priority) = wanted(&detail, wish)?;
        let heard = self.send(&detail, RunCommand::SetPriority { task, priority })?;
        Ok(PriorityChanged {
            version: None,
            run_id: detail.summary.id.to_string(),
            step: wish.step.clone(),
            priority: priority.value(),
            heard,
        })
    }

    /// What the order would be then. Nothing is changed.
    ///
    /// # Errors
    ///
    /// As for [`LocalDesk::set_priority`], and when whoever runs the run does not answer.
    pub fn preview_priority(
        &self,
        word: &str,
        wish: &PriorityWish,
    ) -> Result<OrderPreview, DeskError> {
        let detail = self.find(word)?;
        let (task, priority) = wanted(&detail, wish)?;
        let run = detail.summary.id;
        if !detail.summary.is_live {
            return Err(self.failed(FolderError::AlreadyEnded { run }));
        }
        self.check_runs(&detail.summary)?;
        let own = self.own.as_ref().and_then(|own| own.what_if(run, task, priority));
        let answer = match own {
            Some(answer) => Some(answer),
            None => {
                let answer = self.folder.preview_priority(run, task, priority, PATIENCE);
                answer.map_err(|error| self.failed(error))?
            }
        };
        let Preview { before, after, more } = match answer {
            Some(Ok(preview)) => preview,
            Some(Err(why)) => return Err(DeskError::NotChanged { run, why }),
            None => return Err(DeskError::Silent { run, patience: PATIENCE }),
        };
        let tasks: Vec<TaskId> = before.iter().chain(&after).map(|it| it.task).collect();
        let unforeseen = self.unforeseen(&tasks)?;
        let line = |it: &Prospect| line(it, unforeseen.contains(&it.task));
        let lines = |order: &[Prospect]| -> Vec<OrderLine> {
            order.iter().filter(|it| self.reach.has(it.run.as_deref())).map(line).collect()
        };
        Ok(OrderPreview {
            version: None,
            run_id: run.to_string(),
            step: wish.step.clone(),
            priority: priority.value(),
            before: lines(&before),
            after: lines(&after),
            // Who may not know of all does not learn how many there are.
            more: if self.reach.is_all() { more } else { 0 },
        })
    }
}

/// The task and the priority that are meant.
fn wanted(detail: &RunDetail, wish: &PriorityWish) -> Result<(Option<u32>, Priority), DeskError> {
    let Some(step) = &wish.step else { return Ok((None, Priority::new(wish.priority))) };
    let task = task_of(detail, step)?;
    match task.state.is_terminal() {
        true => Err(DeskError::StepEnded { step: task.name.clone(), state: task.state }),
        false => Ok((Some(task.index), Priority::new(wish.priority))),
    }
}

fn line(it: &Prospect, is_unforeseen: bool) -> OrderLine {
    let expected = it.expected_start.filter(|_| !is_unforeseen);
    OrderLine {
        run_id: it.task.run.to_string(),
        flow: it.run.as_deref().map(str::to_owned),
        step: it.name.to_string(),
        queue: it.queue.to_string(),
        priority: it.priority,
        effective: it.effective,
        changed: it.is_changed,
        expected_start_seconds: expected.map(|it| it.as_secs_f64()),
    }
}
