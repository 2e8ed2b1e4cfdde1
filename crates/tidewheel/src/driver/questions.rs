//! Answers questions of other processes about tasks of this wheel.
//!
//! Why a task waits is the scheduler's to say, and when it will start is found by playing it ahead.

use std::sync::Arc;

use tidewheel_core::id::TaskKey;
use tokio::sync::{Notify, mpsc};

use super::shared::Shared;
use crate::store::{Question, TaskAnswer};

/// Tasks that are explained at once: people read no more, and the lock is held meanwhile.
const TASKS_MAX: usize = 1_000;

/// The answer to a question, on its way to whoever asked.
pub(super) struct Answered {
    pub question: i64,
    pub answer: Vec<TaskAnswer>,
}

/// Answers questions one after the other, until nobody asks any more, and rings for each answer.
pub(super) async fn answer_questions(
    shared: Arc<Shared>,
    mut questions: mpsc::UnboundedReceiver<Question>,
    answers: mpsc::UnboundedSender<Answered>,
    bell: Arc<Notify>,
) {
    while let Some(question) = questions.recv().await {
        if let Some(answer) = answer(&shared, &question).await {
            let _ = answers.send(Answered { question: question.id, answer });
            bell.notify_one();
        }
    }
}

/// The answer to a question about work that is here.
async fn answer(shared: &Arc<Shared>, question: &Question) -> Option<Vec<TaskAnswer>> {
    let (explained, forecast) = {
        let now = shared.clock.now();
        let state = shared.lock();
        let scheduler = state.engine.scheduler();
        let run = scheduler.find_work(question.run)?;
        let keys = question.tasks.iter().take(TASKS_MAX).map(|&index| TaskKey { run, index });
        let explained: Vec<_> =
            keys.filter_map(|key| Some((key, scheduler.explain(key, now)?))).collect();
        (explained, scheduler.forecast(now))
    };
    // Looking ahead takes its time, and neither the wheel nor the runtime is to wait for that.
    let looking = tokio::task::spawn_blocking(|| forecast.map(|forecast| forecast.starts()));
    let starts = looking.await.ok().flatten().unwrap_or_default();
    let answer = explained.into_iter().map(|(key, explanation)| {
        let waits = !explanation.state.is_terminal() && !explanation.state.holds_slot();
        let expected = starts.get(&key).copied().filter(|_| waits);
        TaskAnswer::new(explanation, expected)
    });
    Some(answer.collect())
}
