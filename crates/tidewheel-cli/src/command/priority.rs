//! `tidewheel priority`: changes where a run, or one of its steps, stands among all that waits.
//!
//! What the order comes to is known to the scheduler that has the run.

use std::collections::BTreeMap;
use std::time::Duration;

use tidewheel::Priority;
use tidewheel_client::api::{OrderLine, OrderPreview, PriorityChanged, PriorityWish};
use tidewheel_client::text::{harmless, span};

use crate::cli::Format;
use crate::data::DeskArgs;
use crate::error::{CommandError, ErrorKind};
use crate::table::Table;
use crate::ui::Ui;
use crate::value;

/// Change the priority of a run, or of one of its steps
///
/// A run's priority is that of all its steps which were given no other. A step that is named has the
/// priority for itself from then on; a step with elements, or one that runs a flow, stands for all
/// that is in it. What waits keeps the time it has waited, and what runs goes on: only its next
/// attempt waits with the new priority.
#[derive(Debug, clap::Args)]
#[command(
    allow_missing_positional = true,
    after_help = "\
Examples:
  tidewheel priority last high
  tidewheel priority 3f9a deploy 90 --dry-run
  tidewheel priority 3f9a low

VALUE is critical (100), high (80), normal (50), low (20), background (0), or a number from 0 to 100.
With --dry-run nothing is changed: it shows in which order what waits would start, where each
stands now (WAS), and when it is expected to start then and as things are.

With --format json it prints { run_id, step, priority, heard }; with --dry-run { run_id, step,
priority, before: [ { run_id, flow, step, queue, priority, effective, changed,
expected_start_seconds } ], after: [ … ], more }. Exit code 5 if the run or the step has ended, or
whoever runs it does not answer within five seconds; it will follow when it can."
)]
pub(crate) struct Args {
    /// The run: its id, the start of it, or `last`
    run: String,

    /// Only this step
    step: Option<String>,

    /// The priority: a word, or 0 to 100
    #[arg(value_name = "VALUE", value_parser = value::priority)]
    priority: Priority,

    /// Only show what the order would be
    #[arg(long)]
    dry_run: bool,

    #[command(flatten)]
    data: DeskArgs,
}

pub(crate) fn run(ui: &Ui, args: &Args) -> Result<u8, CommandError> {
    let priority = i64::from(args.priority.value());
    let wish = PriorityWish { version: None, step: args.step.clone(), priority };
    if args.dry_run {
        let ask = async |desk: tidewheel_client::desk::Desk| {
            Ok(desk.preview_priority(&args.run, wish).await?)
        };
        let preview = args.data.at_owner(ui, ask)?;
        match ui.format(Format::Human) {
            Format::Json => ui.print_json(&preview)?,
            Format::Human => ui.print(&order(&preview))?,
        }
        return Ok(0);
    }
    let ask =
        async |desk: tidewheel_client::desk::Desk| Ok(desk.set_priority(&args.run, wish).await?);
    let changed = args.data.at_owner(ui, ask)?;
    match ui.format(Format::Human) {
        Format::Json => ui.print_json(&changed)?,
        Format::Human => ui.print(&said(&changed))?,
    }
    Ok(if changed.heard { 0 } else { ErrorKind::Conflict.exit_code() })
}

fn said(changed: &PriorityChanged) -> String {
    let PriorityChanged { run_id, step, priority, heard, .. } = changed;
    let what = match step {
        Some(step) => format!("{run_id}: {}: priority {priority}", harmless(step)),
        None => format!("{run_id}: priority {priority}"),
    };
    match heard {
        true => what,
        false => format!("{what} was asked for; the process that runs it has not answered yet"),
    }
}

/// The order as it would be, with where each stands now.
fn order(preview: &OrderPreview) -> String {
    if preview.after.is_empty() {
        return "nothing waits: the order is the same".to_owned();
    }
    let name = |line: &OrderLine| (line.run_id.clone(), line.step.clone());
    let places: BTreeMap<_, _> =
        preview.before.iter().zip(1..).map(|(line, place)| (name(line), (place, line))).collect();
    let mut table = Table::new(["#", "WAS", "FLOW", "STEP", "PRIORITY", "EXPECTED", "BEFORE"]);
    for (line, place) in preview.after.iter().zip(1..) {
        let was: Option<&(i32, &OrderLine)> = places.get(&name(line));
        let before = was.map(|(_, line)| *line);
        let priority = match before.map(|before| before.priority) {
            Some(before) if before != line.priority => format!("{before} -> {}", line.priority),
            _ => line.priority.to_string(),
        };
        table.row([
            place.to_string(),
            was.map_or_else(|| "-".to_owned(), |(place, _)| place.to_string()),
            line.flow.as_deref().map_or_else(|| "-".to_owned(), harmless),
            harmless(&line.step),
            priority,
            expected(line),
            before.map_or_else(|| "-".to_owned(), expected),
        ]);
    }
    match preview.more {
        0 => table.to_string(),
        more => format!("{table}\n{more} more wait"),
    }
}

/// When a step is expected to start.
fn expected(line: &OrderLine) -> String {
    match line.expected_start_seconds {
        Some(seconds) => format!("in {}", span(Duration::from_secs_f64(seconds))),
        None => "unknown".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(step: &str, priority: u8, expected: Option<f64>) -> OrderLine {
        OrderLine {
            run_id: "3f9a".to_owned(),
            flow: Some("nightly".to_owned()),
            step: step.to_owned(),
            queue: "default".to_owned(),
            priority,
            effective: priority,
            changed: priority == 80,
            expected_start_seconds: expected,
        }
    }

    #[test]
    fn the_order_shows_where_each_stood() {
        let preview = OrderPreview {
            version: None,
            run_id: "3f9a".to_owned(),
            step: Some("deploy".to_owned()),
            priority: 80,
            before: vec![line("build", 50, Some(4.0)), line("deploy", 50, None)],
            after: vec![line("deploy", 80, Some(4.0)), line("build", 50, Some(60.0))],
            more: 2,
        };
        assert_eq!(
            order(&preview),
            "\
#  WAS  FLOW     STEP    PRIORITY  EXPECTED    BEFORE
1  2    nightly  deploy  50 -> 80  in 4.0 s    unknown
2  1    nightly  build   50        in 1 m 0 s  in 4.0 s
2 more wait"
        );
    }
}
