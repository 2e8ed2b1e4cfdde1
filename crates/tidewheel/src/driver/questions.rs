//! Answers questions of other processes about tasks of this wheel.
//!
//! Why a task waits is the scheduler's to say, and when it will start is found by playing it ahead.

use std::sync::Arc;

use tidewheel_core::id::TaskKey;

use super::shared::Shared;
use crate::store::{CommandSource, Question, TaskAnswer};

/// Tasks that are explained at once: people read no more, and the lock is held meanwhile.
const TASKS_MAX: usize = 1_000;

/// Answers what was asked since the last time.
pub(super) async fn answer_questions(shared: &Arc<Shared>, source: &mut dyn CommandSource) {
    // What cannot be read or written now is asked again, or given up by whoever asked.
    for question in source.questions().unwrap_or_default() {
        if let Some(answer) = answer(shared, &question).await {
            let _ = source.answer(question.id, &answer);
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
