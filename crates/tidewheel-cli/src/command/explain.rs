//! `tidewheel explain`: why a step is where it is, and what must happen next.
//!
//! Why that is, is found out at the desk.

use std::time::Duration;

use tidewheel_client::api::{RunState, StepExplained, StepState};
use tidewheel_client::text::{span, with_element};

use crate::cli::Format;
use crate::data::DeskArgs;
use crate::error::CommandError;
use crate::ui::Ui;

/// Say why steps of a run have not started, failed, or were skipped
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tidewheel explain last
  tidewheel explain 3f9a deploy

With --format json it prints { run_id, steps: [ { step, element, state, tolerated, why, waits_for, expected_start_seconds, unpassed_in_seconds } ] }.")]
pub(crate) struct Args {
    /// The run: its id, the start of it, or `last`
    run: String,

    /// Only this step; else all that have not succeeded
    step: Option<String>,

    #[command(flatten)]
    data: DeskArgs,
}

pub(crate) fn run(ui: &Ui, args: &Args) -> Result<u8, CommandError> {
    let explained = args
        .data
        .at_desk(ui, async |desk| Ok(desk.explain(&args.run, args.step.as_deref()).await?))?;
    if ui.format(Format::Human) == Format::Json {
        ui.print_json(&explained)?;
        return Ok(0);
    }
    let is_interrupted = explained.state == RunState::Interrupted;
    let mut lines: Vec<String> = explained.why.iter().cloned().collect();
    if explained.steps.is_empty() {
        lines.push("all steps have succeeded".to_owned());
    }
    for explained in &explained.steps {
        let StepExplained { step, element, state, tolerated, why, expected_start_seconds, .. } =
            explained;
        let note = if *tolerated { ", tolerated" } else { "" };
        let start = expected_start_seconds.map(|seconds| {
            format!("; expected to start in {}", span(Duration::from_secs_f64(seconds)))
        });
        let start = start.unwrap_or_default();
        let is = if is_interrupted && *state == StepState::Running { "was" } else { "is" };
        lines.push(format!(
            "{} {is} {state}{note}: {why}{start}",
            with_element(step, element.as_ref())
        ));
    }
    ui.print(&lines.join("\n"))?;
    Ok(0)
}
