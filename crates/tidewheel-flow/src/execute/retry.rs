//! Attempts that others follow, as steps say it: failures that are worth another one, and rounds of a step
//! that is done until something holds.
//!
//! Failures that are not worth it are told to be for good, and rounds are told to have come too early. How often and when
//! another attempt follows is decided by the scheduler.

use serde_json::Value as Json;
use tidewheel::store::{AttemptRecord, RecordedOutcome};
use tidewheel::task::Reason;
use tidewheel::{Attempt, Outcome};

use super::context::Position;
use super::end::{Success, Trouble};
use super::runner::FlowRunner;
use crate::definition::{Repeat, RetryIf};
use crate::language::problem::quote;
use crate::language::template::Context;

impl FlowRunner {
    /// What a step says of its failure, if it says anything.
    pub(super) fn judged(
        &self,
        mut trouble: Trouble,
        position: &Position,
        context: &Context,
        attempt: &Attempt,
    ) -> Trouble {
        let code = trouble.record.code;
        let (Some(rule), Outcome::Failed(failure)) =
            (&position.step.retry_if, &mut trouble.outcome)
        else {
            return trouble;
        };
        let is_worth_it = rule.names(code, failure.permanent);
        let holds = match &rule.when {
            Some(when) if is_worth_it => {
                let context = context
                    .clone()
                    .with("error", Json::from(self.secrets.mask(&failure.message)))
                    .with("code", code.map_or(Json::Null, Json::from))
                    .with("attempt", Json::from(attempt.number()));
                when.is_true(&context)
            }
            _ => Ok(is_worth_it),
        };
        match (holds, &trouble.not_again) {
            (Ok(true), Some(why)) => {
                failure.message = format!("{}{why}", failure.message).into();
                failure.permanent = true;
            }
            (Ok(holds), _) => failure.permanent = !holds,
            (Err(error), _) => {
                failure.message = format!("{}; {error}", failure.message).into();
                failure.permanent = true;
            }
        }
        trouble
    }
}

impl FlowRunner {
    /// Whether a step that went well has been done often enough. One that has not is not yet done: the
    /// round is kept beside its attempt, so that it counts after a crash, and the next one follows later.
    pub(super) fn check_round(
        &self,
        task: &str,
        repeat: &Repeat,
        success: &Success,
        context: &Context,
    ) -> Result<(), Trouble> {
        let round = self.traces.count_round(task);
        let context = success.names(context.clone()).with("round", Json::from(round));
        let kept = |trouble: Trouble| trouble.with_record(success.record.clone());
        let holds = repeat.until.is_true(&context).map_err(|error| {
            kept(success.without_json(&error, &self.secrets).unwrap_or_else(|| error.into()))
        })?;
        if holds {
            return Ok(());
        }
        if repeat.rounds_max.is_some_and(|most| round >= most) {
            let until = repeat.until.template.text().trim();
            let rounds = if round == 1 { "round" } else { "rounds" };
            let text = format!("after {round} {rounds} it does not hold that {}", quote(until));
            return Err(kept(Trouble::permanent(text)));
        }
        let outcome = Some(RecordedOutcome::Again(Reason::Postponed));
        let record = AttemptRecord { outcome, ..success.record.clone() };
        Err(Trouble::postponed(repeat.every).with_record(record))
    }
}

impl RetryIf {
    /// Whether failures with this code, and for good or not, are worth another attempt.
    fn names(&self, code: Option<i32>, is_permanent: bool) -> bool {
        let is_in = |codes: &[i32]| code.is_some_and(|code| codes.contains(&code));
        match is_permanent {
            _ if !self.codes.is_empty() => is_in(&self.codes),
            _ if is_in(&self.not_codes) => false,
            true => self.on.failed_for_good,
            false => self.on.failed,
        }
    }
}
