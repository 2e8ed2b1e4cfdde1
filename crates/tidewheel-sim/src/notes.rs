//! What of a decision is worth a line in the trace, and what is counted.
//!
//! When there is one is said in [`crate::world`].

use tidewheel_core::decision::Fact;
use tidewheel_core::row::{Change, Fate};
use tidewheel_core::schedule::Trigger;
use tidewheel_core::spec::LimitSpec;
use tidewheel_core::time::Timestamp;

use crate::coverage::Coverage;
use crate::store::Rows;
use crate::trace::Trace;
use crate::workload::{self, BROUGHT_LIMIT, BROUGHT_QUEUE};

pub(crate) fn note_fact(fact: &Fact, coverage: &mut Coverage) {
    match fact {
        Fact::BreakerChanged { open: true, .. } => coverage.hit("breaker: opened"),
        Fact::BreakerChanged { open: false, .. } => coverage.hit("breaker: closed"),
        _ => {}
    }
}

/// Whether an instant stands for a time of day that the night did not have.
fn is_in_gap(trigger: &Trigger, nominal: Timestamp) -> bool {
    let Trigger::Calendar { cron, .. } = trigger else { return false };
    cron.to_string() == workload::NIGHTLY && nominal.as_micros() % 3_600_000_000 == 0
}

pub(crate) fn note_change(
    change: &Change,
    rows: &Rows,
    trace: &mut Trace,
    coverage: &mut Coverage,
) {
    match change {
        Change::RunAccepted(row) => trace.add(format_args!("run {}", row.id)),
        Change::TaskChanged(row) => {
            trace.add(format_args!("{row:?}"));
            coverage.hit(&format!("reason: {}", row.reason.word()));
        }
        Change::FiringStored(row) => {
            trace.add(format_args!("{row:?}"));
            coverage.hit(&format!("firing: {}", row.origin.word()));
            match &row.fate {
                Fate::Skipped(reason) => coverage.add(&format!("skip: {reason}"), row.count),
                Fate::NotMade { .. } => coverage.hit("firing: ended without a run"),
                Fate::Fired(_) => {
                    let schedule = rows.schedules.get(&row.schedule);
                    if schedule.is_some_and(|(of, _)| is_in_gap(&of.spec.trigger, row.nominal)) {
                        coverage.hit("schedule: fired in a clock-change gap");
                    }
                }
            }
        }
        Change::ScheduleStored(row) => {
            trace.add(format_args!("{:?} {:?}", row.id, row.state));
        }
        Change::QueueStored { name, .. } if **name == *BROUGHT_QUEUE => {
            coverage.hit("brought: a queue");
        }
        Change::LimitStored { name, spec } if **name == *BROUGHT_LIMIT => {
            trace.add(format_args!("limit {name} {spec:?}"));
            coverage.hit(match spec {
                LimitSpec::Rate(_) => "brought: a limit of starts",
                _ => "brought: a limit of units",
            });
        }
        Change::SubmissionAccepted(row) => trace.add(format_args!("single {}", row.id)),
        Change::TaskAdded { id, spec } => {
            trace.add(format_args!("added {id:?}"));
            if spec.name.starts_with("late ") {
                coverage.hit("added: by the outcome of an attempt");
            }
        }
        Change::RunChanged(_)
        | Change::PriorityChanged(_)
        | Change::SchedulerPaused(_)
        | Change::QueueStored { .. }
        | Change::LimitStored { .. }
        | Change::ScheduleEnded(_) => trace.add(format_args!("{change:?}")),
    }
}
