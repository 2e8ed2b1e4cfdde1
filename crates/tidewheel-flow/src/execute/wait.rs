//! Steps that wait. Each look is an attempt; between two of them nothing is held.
//!
//! How long it may take in all is kept by the scheduler.

use std::time::Duration;

use serde_json::json;
use tidewheel::{Attempt, Outcome, Timestamp};

use super::context::Position;
use super::end::{Success, Trouble};
use super::runner::FlowRunner;
use crate::definition::{ProcessWork, Wait, WaitFor};
use crate::language::instant;
use crate::language::template::Context;

/// The longest sleep towards an instant: the wall clock may be moved meanwhile.
const NAP_MAX: Duration = Duration::from_secs(60);

impl FlowRunner {
    pub(super) async fn wait(
        &self,
        wait: &Wait,
        position: &Position,
        context: &Context,
        attempt: &Attempt,
    ) -> Result<Success, Trouble> {
        match &wait.what {
            // The scheduler has let the time pass before the attempt.
            WaitFor::Time(_) => Ok(Success::default()),
            WaitFor::Instant(tree) => {
                let text = tree.render_text(context)?;
                let until = instant::parse(&text).ok_or_else(|| {
                    Trouble::permanent(format!(
                        "`{text}` is no instant such as 2030-01-31T08:00:00Z"
                    ))
                })?;
                let left = until.since(attempt.wheel().wall_clock());
                match left.is_zero() {
                    true => Ok(Success::default()),
                    false => Err(Trouble::postponed(left.min(NAP_MAX))),
                }
            }
            WaitFor::File(tree) => {
                let path = self.folder_of(position, context)?.join(tree.render_text(context)?);
                match path.try_exists() {
                    Ok(true) => Ok(Success { data: json!(path), ..Success::default() }),
                    Ok(false) => Err(Trouble::postponed(wait.every)),
                    Err(error) => Err(Trouble::passing(format!("{}: {error}", path.display()))),
                }
            }
            WaitFor::Run(work) => self.look(work, wait, position, context, attempt).await,
            WaitFor::Http(request) => match self.ask(request, context, attempt).await {
                // A request that is wrong in itself is not waited for; that the other side says no
                // may change.
                Err(trouble) if trouble.was_answered || !is_permanent(&trouble.outcome) => {
                    self.keep_last_answer(&trouble, attempt);
                    Err(Trouble::postponed(wait.every))
                }
                other => other,
            },
            WaitFor::Approval(_) => self.approval(wait, attempt).await,
        }
    }

    /// Since when a step waits: its first look, or when the time began that the scheduler let pass.
    pub(super) fn waits_since(
        &self,
        wait: &Wait,
        position: &Position,
        attempt: &Attempt,
    ) -> Timestamp {
        let now = attempt.wheel().wall_clock();
        let began = match &wait.what {
            WaitFor::Time(time) => now.before(*time),
            _ => now,
        };
        self.traces.begin(&position.name.to_string(), began)
    }

    /// Looks by a command. What looks write is not kept, since there may be very many of them; the newest
    /// says why it is not time yet.
    async fn look(
        &self,
        work: &ProcessWork,
        wait: &Wait,
        position: &Position,
        context: &Context,
        attempt: &Attempt,
    ) -> Result<Success, Trouble> {
        let command = self.command(position, work, None, context, attempt)?.unlogged();
        match self.process_end(command, position, context, attempt).await {
            Err(trouble) if trouble.was_answered => {
                self.keep_last_answer(&trouble, attempt);
                Err(Trouble::postponed(wait.every))
            }
            other => other,
        }
    }

    /// Keeps why a task waits. Looks that follow each other share the record of the first, since there may be
    /// very many of them; those of attempts before it stay as they are.
    pub(super) fn tell_why(&self, attempt: &Attempt, why: &str) {
        let first = self.traces.first_look(attempt.id().index, attempt.number());
        self.means.tell_why(attempt, first, self.secrets.mask(why));
    }

    /// Keeps what the newest look brought, for whoever asks what it waits for.
    fn keep_last_answer(&self, trouble: &Trouble, attempt: &Attempt) {
        let Outcome::Failed(failure) = &trouble.outcome else { return };
        self.tell_why(attempt, &failure.message);
    }

    async fn approval(&self, wait: &Wait, attempt: &Attempt) -> Result<Success, Trouble> {
        let Some(answers) = self.means.answers.clone() else {
            return Err(Trouble::permanent("nobody can be asked for approval here"));
        };
        // They are read from what is stored, which others may have just then.
        let id = attempt.id();
        let read = tokio::task::spawn_blocking(move || answers.answer(id)).await;
        let Some(answer) = read.ok().flatten() else {
            return Err(Trouble::postponed(wait.every));
        };
        if answer.is_approved {
            let data = json!({ "by": answer.by, "note": answer.note });
            return Ok(Success { data, ..Success::default() });
        }
        let note = answer.note.map(|note| format!(": {note}")).unwrap_or_default();
        Err(Trouble::permanent(format!("rejected by {}{note}", answer.by)))
    }
}

fn is_permanent(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Failed(failure) if failure.permanent)
}
