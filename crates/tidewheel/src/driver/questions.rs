//! Answers questions of other processes about tasks of this wheel.
//!
//! What is answered is in `answers`: why a task waits is the scheduler's to say, and when it will start is found by playing it
//! ahead.

use std::sync::Arc;

use tokio::sync::{Notify, mpsc};

use super::shared::Shared;
use crate::store::{Previewed, Question, TaskAnswer, WhatIf};

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
        let shared = Arc::clone(&shared);
        // Looking ahead takes its time, and the runtime is not to wait for that.
        let looking = tokio::task::spawn_blocking(move || answer(&shared, asked));
        if let Some(answer) = looking.await.ok().flatten() {
            let _ = answers.send(answer);
            bell.notify_one();
        }
    }
}

/// The answer to a question about work that is here.
fn answer(shared: &Shared, asked: QuestionKind) -> Option<Answered> {
    match asked {
        QuestionKind::Why(Question { id, run, tasks }) => {
            Some(Answered::Why(id, shared.why(run, &tasks)?))
        }
        QuestionKind::WhatIf(WhatIf { id, run, task, priority }) => {
            Some(Answered::WhatIf(id, shared.what_if(run, task, priority)))
        }
    }
}
