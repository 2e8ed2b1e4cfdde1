//! Wishes about runs that another process runs: pause, cancel, approve.
//!
//! What a wish does to a run is decided by the scheduler that has it.

use tidewheel::RunId;
use tidewheel::id::TaskId;
use tidewheel::store::{Answer, RunCommand, RunDetail, TaskSummary};

use super::error::DeskError;
use super::find::task_of;
use super::local::LocalDesk;
use crate::api::{AnswerWish, Answered, Asked, CancelWish};
use crate::session::end_left;

/// Longer lists of steps help nobody.
const HINTS_MAX: usize = 5;

impl LocalDesk {
    /// Starts nothing more of a run until it is resumed; what runs goes on.
    ///
    /// # Errors
    ///
    /// When there is no such run, it has ended, or nobody runs it.
    pub fn pause(&self, word: &str) -> Result<Asked, DeskError> {
        let detail = self.find(word)?;
        self.send(&detail, RunCommand::Pause)?;
        Ok(asked(detail.summary.id, "paused"))
    }

    /// Ends a run. One that nobody runs is ended on the spot, without its clean-up.
    ///
    /// # Errors
    ///
    /// When there is no such run, or it has ended.
    pub fn cancel(&self, word: &str, wish: &CancelWish) -> Result<Asked, DeskError> {
        let detail = self.find(word)?;
        let id = detail.summary.id;
        let asked = asked(id, "cancelled");
        if let Some(shard) = &detail.summary.shard
            && self.is_abandoned(&detail.summary)?
        {
            end_left(&self.folder, shard, id)?;
            let clean_up_left = self.kinds.definition_of(&detail).has_clean_up();
            return Ok(Asked { clean_up_left, ..asked });
        }
        let grace = wish.grace;
        self.send(
            &detail,
            match wish.everything {
                true => RunCommand::End { grace },
                false => RunCommand::Cancel { grace },
            },
        )?;
        Ok(asked)
    }

    /// Answers a step that waits for approval. The first answer counts.
    ///
    /// # Errors
    ///
    /// When there is no such run or step, it asks nobody, has ended, or was answered.
    pub fn answer(&self, word: &str, step: &str, wish: &AnswerWish) -> Result<Answered, DeskError> {
        let detail = self.find(word)?;
        let task = task_of(&detail, step)?;
        self.check_asks(&detail, task)?;
        let id = TaskId { run: detail.summary.id, index: task.index };
        let answer =
            Answer { is_approved: wish.approved, by: wish.by.clone(), note: wish.note.clone() };
        if !self.folder.answer(id, &answer).map_err(|error| self.failed(error))? {
            return Err(DeskError::AnsweredBefore { step: task.name.clone() });
        }
        Ok(Answered {
            version: None,
            run_id: id.run.to_string(),
            step: task.name.clone(),
            answer: if wish.approved { "approved" } else { "rejected" }.to_owned(),
        })
    }

    fn check_asks(&self, detail: &RunDetail, task: &TaskSummary) -> Result<(), DeskError> {
        let definition = self.kinds.kind_of(detail)?.read(detail)?;
        let step = task.name.clone();
        if !definition.asks(&step) {
            let asks =
                |task: &&TaskSummary| !task.state.is_terminal() && definition.asks(&task.name);
            let asking = detail.tasks.iter().filter(asks).take(HINTS_MAX);
            let asking = asking.map(|task| task.name.clone()).collect();
            return Err(DeskError::AsksNobody { step, asking });
        }
        match task.state.is_terminal() {
            true => Err(DeskError::StepEnded { step, state: task.state }),
            false => Ok(()),
        }
    }

    /// Leaves a command for whoever runs the run.
    fn send(&self, detail: &RunDetail, command: RunCommand) -> Result<(), DeskError> {
        let summary = &detail.summary;
        if summary.is_live && self.is_abandoned(summary)? {
            return Err(DeskError::Abandoned { run: summary.id });
        }
        self.folder.send(summary.id, command).map_err(|error| self.failed(error))
    }
}

fn asked(run: RunId, what: &str) -> Asked {
    let (run_id, asked) = (run.to_string(), what.to_owned());
    Asked { version: None, run_id, asked, clean_up_left: false }
}
