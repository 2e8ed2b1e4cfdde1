//! What must hold: always, and when everything has come to rest.
//!
//! It looks at figures alone, so that broken ones can be made up in tests.

use tidewheel::observe::{Overview, Statistics};

use super::super::measurement::MEBI;
use super::tally::{Gauge, Tally, read};

/// What memory may be more at the end than after the first rounds, whatever that was: allocators keep
/// what a larger wave once needed.
const MEMORY_SLACK: u64 = 16 << 20;
/// Rounds after which everything that is made once has been made.
const WARM_ROUNDS: usize = 3;

/// What users counted, as far as the wheel must have counted the same.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counted {
    pub singles: u64,
    pub awaited: u64,
    pub told: u64,
    pub runs: u64,
    pub reports: u64,
    pub run_tasks: u64,
    pub fired: u64,
}

impl Counted {
    pub fn of(tally: &Tally) -> Self {
        Self {
            singles: read(&tally.singles),
            awaited: read(&tally.awaited),
            told: read(&tally.told),
            runs: read(&tally.runs),
            reports: read(&tally.reports),
            run_tasks: read(&tally.run_tasks),
            fired: read(&tally.fired),
        }
    }
}

/// What is broken while work goes on.
pub(super) fn always<'a>(
    stats: &Overview,
    gauges: impl IntoIterator<Item = &'a Gauge>,
) -> Vec<String> {
    let over = gauges.into_iter().filter(|gauge| gauge.most() > gauge.bound).map(|gauge| {
        format!(
            "{} {} were in use at once, and there are {}",
            gauge.most(),
            gauge.what,
            gauge.bound
        )
    });
    over.chain(sums(stats)).chain(open_books(&stats.total)).collect()
}

/// What is broken when nothing is left to do.
pub(super) fn at_rest(stats: &Overview, counted: &Counted) -> Vec<String> {
    let total = &stats.total;
    let mut broken = Vec::new();
    let mut same = |what: &str, is: u64, should: u64| {
        if is != should {
            broken.push(format!("{what}: {is}, not {should}"));
        }
    };
    same("submissions that were told their end", counted.told, counted.awaited);
    same("runs that gave a report", counted.reports, counted.runs);
    same("tasks that ended", total.ended(), total.submitted);
    let accepted = counted.singles + counted.run_tasks + counted.fired;
    same("tasks counted as submitted", total.submitted, accepted);
    let left = [
        ("attempts that still run", total.active),
        ("tasks that still wait", total.queued),
        ("tasks that still wait for time", stats.delayed),
        ("runs that are left", stats.runs),
        ("schedules that are left", stats.schedules),
    ];
    for (what, number) in left {
        same(what, number, 0);
    }
    broken
}

/// Whether memory grew from round to round; `resident` is what was held at the end of each, in bytes.
pub(super) fn memory(resident: &[u64]) -> Option<String> {
    let (warm, later) = resident.split_at_checked(WARM_ROUNDS)?;
    let (warm, last) = (*warm.iter().max()?, *later.last()?);
    let most = warm + MEMORY_SLACK.max(warm / 2);
    let mebi = |bytes: u64| bytes as f64 / MEBI;
    (last > most).then(|| {
        format!(
            "memory grew from {:.1} to {:.1} MiB with nothing left to do",
            mebi(warm),
            mebi(last)
        )
    })
}

/// One of the figures.
type Field = fn(&Statistics) -> u64;

/// The queues together are the whole.
fn sums(stats: &Overview) -> Vec<String> {
    let sum = |of: Field| stats.queues.iter().map(|(_, queue)| of(queue)).sum();
    let fields: [(&str, Field); 9] = [
        ("submitted", |of| of.submitted),
        ("completed", |of| of.completed),
        ("cancelled", |of| of.cancelled),
        ("skipped", |of| of.skipped),
        ("failed", |of| of.failed),
        ("rejected", |of| of.rejected),
        ("retried", |of| of.retried),
        ("active", |of| of.active),
        ("queued", |of| of.queued),
    ];
    let wrong = fields.into_iter().filter_map(|(name, of)| {
        let (total, sum): (u64, u64) = (of(&stats.total), sum(of));
        (total != sum).then(|| format!("`{name}` of the queues adds up to {sum}, not {total}"))
    });
    wrong.collect()
}

/// No more can end, run and wait than was ever submitted.
fn open_books(total: &Statistics) -> Option<String> {
    let seen = total.ended() + total.active + total.queued;
    let accepted = total.submitted + total.restored;
    (seen > accepted).then(|| format!("{seen} tasks ended, run or wait, of {accepted} accepted"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(submitted: u64) -> Overview {
        let total = Statistics { submitted, completed: submitted, ..Statistics::default() };
        Overview {
            total: total.clone(),
            queues: vec![("default".into(), total)],
            ..Overview::default()
        }
    }

    fn counted() -> Counted {
        Counted { singles: 6, awaited: 5, told: 5, runs: 1, reports: 1, run_tasks: 3, fired: 1 }
    }

    #[test]
    fn figures_that_agree_are_no_breach() {
        assert_eq!(at_rest(&ended(10), &counted()), [""; 0]);
        assert_eq!(always(&ended(10), &[Gauge::new("slots", 0)]), [""; 0]);
    }

    #[test]
    fn what_was_lost_is_told() {
        let untold = Counted { told: 4, ..counted() };
        assert_eq!(
            at_rest(&ended(10), &untold),
            ["submissions that were told their end: 4, not 5"]
        );
        let unreported = Counted { reports: 0, ..counted() };
        assert_eq!(at_rest(&ended(10), &unreported), ["runs that gave a report: 0, not 1"]);
    }

    #[test]
    fn books_that_do_not_close_are_told() {
        assert_eq!(at_rest(&ended(9), &counted()), ["tasks counted as submitted: 9, not 10"]);
        let mut open = ended(10);
        open.total.completed = 9;
        assert_eq!(at_rest(&open, &counted()), ["tasks that ended: 9, not 10"]);
        open.total.completed = 11;
        let broken = always(&open, []);
        assert_eq!(broken[0], "`completed` of the queues adds up to 10, not 11");
        assert_eq!(broken[1], "11 tasks ended, run or wait, of 10 accepted");
    }

    #[test]
    fn what_is_left_is_told() {
        let mut left = ended(10);
        (left.runs, left.schedules) = (2, 1);
        let broken = ["runs that are left: 2, not 0", "schedules that are left: 1, not 0"];
        assert_eq!(at_rest(&left, &counted()), broken);
    }

    #[test]
    fn memory_that_grows_is_told_and_a_wave_is_not() {
        let mebi = |numbers: &[u64]| numbers.iter().map(|number| number << 20).collect::<Vec<_>>();
        assert_eq!(memory(&mebi(&[8, 9, 10, 12, 24])), None);
        assert_eq!(memory(&mebi(&[8, 100])), None, "too early to tell");
        let told = memory(&mebi(&[8, 9, 10, 20, 30]));
        assert_eq!(
            told.as_deref(),
            Some("memory grew from 10.0 to 30.0 MiB with nothing left to do")
        );
    }
}
