//! Answers questions of other processes about tasks of this wheel.
//!
//! Why a task waits is the scheduler's to say, and when it will start is found by playing it ahead.

use std::sync::Arc;

use tidewheel_core::id::TaskKey;
use tokio::sync::{Notify, mpsc};

use super::shared::Shared;
use crate::store::{Previewed, Question, TaskAnswer, WhatIf};

/// Tasks that are explained at once: people read no more, and the lock is held meanwhile.
const TASKS_MAX: usize = 1_000;

/// Tasks of an order that are told: people read no more.
const ORDER_MAX: usize = 100;

/// What is asked.
pub(super) enum QuestionKind {
    Why(Question),
    WhatIf(WhatIf),
}

/// The answer to a question, on its way to whoever asked.
pub(super) enum Answered {
    Why(i64, Vec<TaskAnswer>),
    WhatIf(i64, Previewed),
}

/// Answers questions one after the other, until nobody asks any more, and rings for each answer.
pub(super) async fn answer_questions(
    shared: Arc<Shared>,
    mut questions: mpsc::UnboundedReceiver<QuestionKind>,
    answers: mpsc::UnboundedSender<Answered>,
    bell: Arc<Notify>,
) {
    while let Some(asked) = questions.recv().await {
        let answer = match asked {
            QuestionKind::Why(question) => {
                answer(&shared, &question).await.map(|it| Answered::Why(question.id, it))
            }
            QuestionKind::WhatIf(question) => {
                preview(&shared, question).await.map(|it| Answered::WhatIf(question.id, it))
            }
        };
        if let Some(answer) = answer {
            let _ = answers.send(answer);
            bell.notify_one();
        }
    }
}

/// The order that a priority would lead to, of work that is here.
async fn preview(shared: &Arc<Shared>, question: WhatIf) -> Option<Previewed> {
    let WhatIf { run, task, priority, .. } = question;
    let shared = Arc::clone(shared);
    let looking = tokio::task::spawn_blocking(move || {
        shared.preview(|state| state.engine.scheduler().find_work(run), task, priority, ORDER_MAX)
    });
    Some(looking.await.ok()?.map_err(|refusal| refusal.to_string()))
}

/// The answer to a question about work that is here.
async fn answer(shared: &Arc<Shared>, question: &Question) -> Option<Vec<TaskAnswer>> {
    let (explained, forecast) = {
        let now = shared.clock.now();
        let state = shared.lock();
        let scheduler = state.engine.scheduler();
        let run = scheduler.find_work(question.run)?;
        let keys = question.tasks.iter().take(TASKS_MAX).map(|&index| TaskKey { run, index });
        (scheduler.explain_all(keys, now), scheduler.forecast(now))
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
