//! Wishes about runs that another process runs: pause, cancel, approve.
//!
//! What a wish does to a run is decided by the scheduler that has it.

use std::time::Duration;
use tidewheel::RunId;
use tidewheel::id::TaskId;

use tidewheel::store::{Answer, RunCommand, RunDetail, RunSummary, TaskSummary};

use super::error::DeskError;
use super::find::task_of;
use super::local::LocalDesk;
use crate::api::{AnswerWish, Answered, Asked, CancelWish, Refusal, RefusalKind};
use crate::session::end_left;

/// Each step has the time to end by itself that it asks for.
const AS_EACH_SAYS: Duration = Duration::MAX;

/// How long whoever runs a run is waited for. It looks every 50 ms; one that is frozen never does.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);

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
        let heard = self.send(&detail, RunCommand::Pause)?;
        Ok(asked(detail.summary.id, "paused", heard))
    }

    /// Ends a run, or one of its steps. A run that nobody runs is ended on the spot, without its clean-up.
    ///
    /// # Errors
    ///
    /// When there is no such run or step, or it has ended.
    pub fn cancel(&self, word: &str, wish: &CancelWish) -> Result<Asked, DeskError> {
        let detail = self.find(word)?;
        if let Some(step) = &wish.step {
            return self.cancel_step(&detail, step, wish);
        }
        let id = detail.summary.id;
        if let Some(shard) = &detail.summary.shard
            && self.is_abandoned(&detail.summary)?
        {
            end_left(&self.folder, shard, id)?;
            let clean_up_left = self.kinds.definition_of(&detail).has_clean_up();
            return Ok(Asked { clean_up_left, ..asked(id, "cancelled", true) });
        }
        let grace = wish.grace.unwrap_or(AS_EACH_SAYS);
        let heard = self.send(
            &detail,
            match (wish.drain, wish.everything) {
                (true, _) => RunCommand::Drain,
                (false, true) => RunCommand::End { grace },
                (false, false) => RunCommand::Cancel { grace },
            },
        )?;
        Ok(asked(id, "cancelled", heard))
    }

    /// Ends one step: what needs it is skipped. The rest goes on, so somebody must run it.
    fn cancel_step(
        &self,
        detail: &RunDetail,
        step: &str,
        wish: &CancelWish,
    ) -> Result<Asked, DeskError> {
        let task = task_of(detail, step)?;
        if task.state.is_terminal() {
            return Err(DeskError::StepEnded { step: task.name.clone(), state: task.state });
        }
        let grace = wish.grace.unwrap_or(AS_EACH_SAYS);
        let heard = self.send(detail, RunCommand::CancelTask { task: task.index, grace })?;
        Ok(Asked { step: Some(task.name.clone()), ..asked(detail.summary.id, "cancelled", heard) })
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
        match self.kinds.definition_of(&detail).wants_code(&task.name) {
            true => self.hand_code(&detail, &task.name, wish)?,
            false if wish.code.is_some() => {
                return Err(about_code(&task.name, "wants no one-time code", Vec::new()));
            }
            false => self.keep_answer(id, &task.name, wish)?,
        }
        Ok(Answered {
            version: None,
            run_id: id.run.to_string(),
            step: task.name.clone(),
            answer: if wish.approved { "approved" } else { "rejected" }.to_owned(),
        })
    }

    /// Keeps an answer for whoever carries out the run.
    fn keep_answer(&self, id: TaskId, step: &str, wish: &AnswerWish) -> Result<(), DeskError> {
        let answer =
            Answer { is_approved: wish.approved, by: wish.by.clone(), note: wish.note.clone() };
        match self.folder.answer(id, &answer).map_err(|error| self.failed(error))? {
            true => Ok(()),
            false => Err(DeskError::AnsweredBefore { step: step.to_owned() }),
        }
    }

    /// Hands a code on, or that there is none; nothing of it is kept.
    fn hand_code(
        &self,
        detail: &RunDetail,
        step: &str,
        wish: &AnswerWish,
    ) -> Result<(), DeskError> {
        let code = wish.code.as_ref().filter(|_| wish.approved);
        if wish.approved && code.is_none() {
            let hint = vec!["say it with the yes: --code, or `code` over HTTP".to_owned()];
            return Err(about_code(step, "wants a one-time code", hint));
        }
        self.kinds.kind_of(detail)?.hand_code(detail, step, &wish.by, code)
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

    /// Leaves a command for whoever runs the run, and waits a little until it was followed; false if it was
    /// not.
    pub(super) fn send(&self, detail: &RunDetail, command: RunCommand) -> Result<bool, DeskError> {
        let summary = &detail.summary;
        self.check_runs(summary)?;
        let heard = self.folder.send_and_wait(summary.id, command, PATIENCE);
        heard.map_err(|error| self.failed(error))
    }

    /// Whether there is somebody who would hear a wish.
    pub(super) fn check_runs(&self, summary: &RunSummary) -> Result<(), DeskError> {
        match summary.is_live && self.is_abandoned(summary)? {
            true => Err(DeskError::Abandoned { run: summary.id }),
            false => Ok(()),
        }
    }
}

fn about_code(step: &str, what: &str, hints: Vec<String>) -> DeskError {
    DeskError::OfKind(Box::new(Refusal {
        kind: RefusalKind::Usage,
        exit_code: None,
        message: format!("step `{step}` {what}"),
        hints,
        position: None,
        problems: None,
        changes: Vec::new(),
    }))
}

fn asked(run: RunId, what: &str, heard: bool) -> Asked {
    let (run_id, asked) = (run.to_string(), what.to_owned());
    Asked { version: None, run_id, step: None, asked, heard, clean_up_left: false }
}
