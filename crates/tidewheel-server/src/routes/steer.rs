//! What is done with runs that go on: pause, end, put elsewhere in the order, answer; and what that, or a retry, would do.
//!
//! The scheduler that has a run decides what becomes of it. What starts or goes on anew is in [`super::flows`].

use axum::response::Response;
use tidewheel_client::api::{
    AnswerWish, Answered, Asked, CancelWish, OrderPreview, Preview, PriorityChanged, PriorityWish,
    RetryWish,
};

use crate::door::{Call, document};
use crate::problem::Problem;
use crate::table::{Form, Gives, Permission, Route, Takes, Verb};

/// A wish is short.
const WISH_MAX: usize = 64 << 10;

pub(super) const ROUTES: &[Route] = &[
    Route {
        name: "pause-run",
        about: "Starts nothing more of a run until it is resumed; what runs goes on.",
        verb: Verb::Post,
        path: "/api/v1/runs/{run}/pause",
        permission: Permission::Operator,
        query: None,
        takes: Takes::Nothing,
        gives: Gives::Document(Form::of::<Asked>()),
        changes: true,
        answer: |call| Box::pin(pause(call)),
    },
    Route {
        name: "cancel-run",
        about: "Ends a run, or one of its steps: what needs that is skipped, and the rest goes on. A run that nobody runs is ended \
                on the spot, without its clean-up.",
        verb: Verb::Post,
        path: "/api/v1/runs/{run}/cancel",
        permission: Permission::Operator,
        query: None,
        takes: Takes::MaybeDocument(Form::of::<CancelWish>(), WISH_MAX),
        gives: Gives::Document(Form::of::<Asked>()),
        changes: true,
        answer: |call| Box::pin(cancel(call)),
    },
    Route {
        name: "set-priority",
        about: "Changes the priority of a run, or of one of its steps: where it stands among all that waits. What runs goes on.",
        verb: Verb::Post,
        path: "/api/v1/runs/{run}/priority",
        permission: Permission::Operator,
        query: None,
        takes: Takes::Document(Form::of::<PriorityWish>(), WISH_MAX),
        gives: Gives::Document(Form::of::<PriorityChanged>()),
        changes: true,
        answer: |call| Box::pin(set_priority(call)),
    },
    Route {
        name: "preview-priority",
        about: "Says in which order what waits would start if a run, or one of its steps, had another priority. Nothing is \
                changed.",
        verb: Verb::Post,
        path: "/api/v1/runs/{run}/priority/preview",
        permission: Permission::Operator,
        query: None,
        takes: Takes::Document(Form::of::<PriorityWish>(), WISH_MAX),
        gives: Gives::Document(Form::of::<OrderPreview>()),
        changes: false,
        answer: |call| Box::pin(preview_priority(call)),
    },
    Route {
        name: "answer-step",
        about: "Answers a step that waits for approval. The first answer counts.",
        verb: Verb::Post,
        path: "/api/v1/runs/{run}/steps/{step}/answer",
        permission: Permission::Operator,
        query: None,
        takes: Takes::Document(Form::of::<AnswerWish>(), WISH_MAX),
        gives: Gives::Document(Form::of::<Answered>()),
        changes: true,
        answer: |call| Box::pin(answer(call)),
    },
    Route {
        name: "preview-retry",
        about: "Says what a retry of a run would do. Nothing is changed.",
        verb: Verb::Post,
        path: "/api/v1/runs/{run}/retry/preview",
        permission: Permission::Operator,
        query: None,
        takes: Takes::MaybeDocument(Form::of::<RetryWish>(), WISH_MAX),
        gives: Gives::Document(Form::of::<Preview>()),
        changes: false,
        answer: |call| Box::pin(preview(call)),
    },
];

async fn pause(call: Call) -> Result<Response, Problem> {
    document(call.server.desk().pause(call.param("run")).await?)
}

async fn cancel(call: Call) -> Result<Response, Problem> {
    let wish = call.document_or(CancelWish::default())?;
    if let Some(step) = &wish.step {
        call.object.add("step", step);
    }
    document(call.server.desk().cancel(call.param("run"), wish).await?)
}

async fn set_priority(call: Call) -> Result<Response, Problem> {
    let wish: PriorityWish = call.document()?;
    call.object.add("priority", &wish.priority.to_string());
    if let Some(step) = &wish.step {
        call.object.add("step", step);
    }
    document(call.server.desk().set_priority(call.param("run"), wish).await?)
}

async fn preview_priority(call: Call) -> Result<Response, Problem> {
    let wish: PriorityWish = call.document()?;
    document(call.server.desk().preview_priority(call.param("run"), wish).await?)
}

async fn answer(call: Call) -> Result<Response, Problem> {
    let wish: AnswerWish = call.document()?;
    // Who says so is who is known to ask; what they call themselves stands behind it.
    let name = call.who.as_ref().map_or("-", |who| who.name.as_str());
    let by = match wish.by.is_empty() || wish.by == name {
        true => name.to_owned(),
        false => format!("{name} ({})", wish.by),
    };
    call.object.add("said", if wish.approved { "yes" } else { "no" });
    if let Some(note) = &wish.note {
        call.object.add("note", note);
    }
    let wish = AnswerWish { by, ..wish };
    document(call.server.desk().answer(call.param("run"), call.param("step"), wish).await?)
}

async fn preview(call: Call) -> Result<Response, Problem> {
    let wish = call.document_or(RetryWish::default())?;
    document(call.server.desk().preview(call.param("run"), wish).await?)
}
