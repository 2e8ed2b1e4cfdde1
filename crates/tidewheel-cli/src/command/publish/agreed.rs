//! What somebody has agreed to, held against what is about to be done: a plan by its digest, a run that was left by what it was
//! started with.
//!
//! What is done then is in `start`.

use anyhow::anyhow;
use serde_json::json;
use tidewheel_client::desk::RunView;
use tidewheel_client::text::{harmless, short_id};
use tidewheel_publish::PlanDocument;
use tidewheel_publish::run::PublishOrder;

use super::args::PublishArgs;
use super::shown::plan_text;
use crate::cli::Format;
use crate::error::{CommandError, ErrorKind};
use crate::ui::Ui;

/// What a run was started with, if it is a publish.
pub(super) fn order_of(run: &RunView) -> Option<PublishOrder> {
    PublishOrder::of_run(&run.detail)
}

/// Whether this is the plan whose digest was said, or what is left of it: then it goes by that digest. `last` is what the
/// newest run was started with.
pub(super) fn check_hash(
    args: &PublishArgs,
    order: &mut PublishOrder,
    last: Option<&PublishOrder>,
) -> Result<(), CommandError> {
    let Some(wanted) = args.plan_hash.as_ref().filter(|it| **it != order.plan) else {
        return Ok(());
    };
    if last.is_some_and(|last| last.plan == *wanted && last.leaves(order)) {
        order.plan.clone_from(wanted);
        return Ok(());
    }
    let error = anyhow!("the plan is {} now, not {wanted}", order.plan);
    Err(CommandError::new(ErrorKind::Conflict, error).hint("see `tidewheel publish plan`"))
}

/// A run that was left is gone on with as it was started: whoever says something else is told.
pub(super) fn check_left(
    args: &PublishArgs,
    left: &RunView,
    order: &PublishOrder,
) -> Result<(), CommandError> {
    let id = short_id(left.detail.summary.id);
    let refuse = |what: String| {
        let error = anyhow!("run {id} was left, and {}", harmless(&what));
        CommandError::new(ErrorKind::Conflict, error)
            .hint("`tidewheel publish resume` goes on with it as it was started")
            .hint(format!("`tidewheel cancel {id}` ends it; then this begins anew"))
    };
    if let Some(wanted) = args.plan_hash.as_ref().filter(|it| **it != order.plan) {
        return Err(refuse(format!("its plan is {}, not {wanted}", order.plan)));
    }
    let asked = args.asked();
    let other = asked.iter().find(|(flag, said)| order.asked.get(*flag) != Some(said));
    other.map_or(Ok(()), |(flag, _)| {
        let then = order.asked.get(flag).map(|then| format!("with {flag} {}", then.join(" ")));
        let then = then.unwrap_or_else(|| format!("without {flag}"));
        Err(refuse(format!("was started {then}")))
    })
}

/// Shows the plan and asks, unless that was answered already.
pub(super) fn may_send(
    ui: &Ui,
    args: &PublishArgs,
    plan: &PlanDocument,
) -> Result<bool, CommandError> {
    if args.shown.events {
        ui.print_json(&json!({ "plan": plan }))?;
    }
    if args.yes || args.plan_hash.is_some() {
        let is_human = ui.format(Format::Human) == Format::Human;
        if is_human && !args.shown.quiet && !args.shown.events {
            ui.explain(&plan_text(plan));
        }
        return Ok(true);
    }
    ui.explain(&plan_text(plan));
    ui.ask("Publish this?")?.ok_or_else(|| {
        let error = anyhow!("there is nobody to ask whether this may be published");
        CommandError::new(ErrorKind::Refused, error)
            .hint("say --yes, or --plan-hash with the digest above")
    })
}
