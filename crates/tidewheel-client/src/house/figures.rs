//! How a house does, in figures, and whether that is well.
//!
//! Figures are counted by the scheduler. How they are shown is each surface's own.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use tidewheel::observe::{Histogram, Overview, Statistics};

use super::house::House;
use crate::api::{
    Figures, Health, HealthState, QueueFigures, SchedulerFigures, TimeBucket, TimeFigures,
};

/// The bounds of histograms, in milliseconds.
const BOUNDS: [u64; 16] = [
    1, 2, 5, 10, 25, 50, 100, 250, 500, 1_000, 5_000, 30_000, 60_000, 300_000, 1_800_000, 3_600_000,
];

/// How often it is looked how things go.
const EVERY: Duration = Duration::from_secs(5);

/// So many looks in a row at which more waits than before are a warning: half a minute.
const GROWS: usize = 6;

/// So many are more: a minute.
const GROWS_ON: usize = 12;

/// So many times as many tasks as can run wait before growth is called unbounded.
const CROWD: u64 = 100;

/// Promotions in a minute for each slot that are a warning: every task waits for long.
const PROMOTIONS: u64 = 6;

impl House {
    /// How it does, in figures.
    #[must_use]
    pub fn figures(&self) -> Figures {
        figures(&self.overview())
    }
}

fn figures(overview: &Overview) -> Figures {
    let total = &overview.total;
    Figures {
        version: None,
        scheduler: SchedulerFigures {
            enabled: overview.slots.is_some(),
            active_count: total.active,
            queued_count: total.queued,
            total_submitted: total.submitted,
            total_completed: total.completed,
            high_priority_completed: total.high_priority_completed,
            low_priority_completed: total.low_priority_completed,
            starvation_promotions: total.promotions,
        },
        slots: overview.slots,
        runs: overview.runs,
        delayed: overview.delayed,
        schedules: overview.schedules,
        backoff_level: overview.backoff_level,
        oldest_wait_seconds: overview.oldest_wait.as_secs_f64(),
        due_lag: times(&total.due_lag),
        total: of_queue(None, total),
        queues: overview.queues.iter().map(|(name, it)| of_queue(Some(name), it)).collect(),
    }
}

fn of_queue(name: Option<&str>, statistics: &Statistics) -> QueueFigures {
    QueueFigures {
        queue: name.map(str::to_owned),
        active: statistics.active,
        queued: statistics.queued,
        submitted: statistics.submitted,
        completed: statistics.completed,
        failed: statistics.failed,
        rejected: statistics.rejected,
        retried: statistics.retried,
        cancelled: statistics.cancelled,
        late: statistics.late,
        failure_rate: statistics.failure_rate(),
        wait_time: times(&statistics.wait_time),
        run_time: times(&statistics.run_time),
    }
}

fn times(histogram: &Histogram) -> TimeFigures {
    let seconds = |time: Option<Duration>| time.unwrap_or_default().as_secs_f64();
    let bucket = |bound: u64| {
        let bound = Duration::from_millis(bound);
        // A bucket of ours that reaches beyond the bound counts for the next one.
        let within = histogram.buckets().filter(|(upper, _)| *upper <= bound);
        TimeBucket { seconds: bound.as_secs_f64(), count: within.map(|(_, count)| count).sum() }
    };
    TimeFigures {
        count: histogram.count(),
        sum_seconds: histogram.sum().as_secs_f64(),
        p50_seconds: seconds(histogram.quantile(0.5)),
        p99_seconds: seconds(histogram.quantile(0.99)),
        max_seconds: seconds(histogram.max()),
        buckets: BOUNDS.map(bucket).into(),
    }
}

/// How things went lately, by which it is told whether they go well.
#[derive(Debug, Default)]
pub struct Lately {
    looks: VecDeque<Look>,
}

#[derive(Debug, Clone, Copy)]
struct Look {
    at: Instant,
    queued: u64,
    promotions: u64,
    late: u64,
}

impl Lately {
    /// Whether it is time to look again.
    #[must_use]
    pub fn is_due(&self, now: Instant) -> bool {
        self.looks.back().is_none_or(|last| now.duration_since(last.at) >= EVERY)
    }

    /// Looks at the figures, if it is time to.
    pub fn look(&mut self, now: Instant, figures: &Figures) {
        if !self.is_due(now) {
            return;
        }
        if self.looks.len() > GROWS_ON {
            self.looks.pop_front();
        }
        let (queued, promotions) =
            (figures.scheduler.queued_count, figures.scheduler.starvation_promotions);
        self.looks.push_back(Look { at: now, queued, promotions, late: figures.total.late });
    }

    /// Whether things go well.
    #[must_use]
    pub fn health(&self, figures: &Figures, trouble: Option<&str>) -> Health {
        let mut found: Vec<(HealthState, String)> = Vec::new();
        if let Some(trouble) = trouble {
            found.push((HealthState::Unhealthy, format!("nothing can be stored: {trouble}")));
        }
        let queued = figures.scheduler.queued_count;
        let slots = u64::from(figures.slots.unwrap_or(1)).max(1);
        let grows = self.grows();
        if grows >= GROWS_ON && queued > CROWD * slots {
            let why = format!("more and more waits for a minute: {queued} tasks by now");
            found.push((HealthState::Unhealthy, why));
        } else if grows >= GROWS {
            let why = format!("more and more waits: {queued} tasks by now");
            found.push((HealthState::Warning, why));
        }
        if let (Some(first), Some(last)) = (self.looks.front(), self.looks.back()) {
            if last.late > first.late {
                let why = format!("{} tasks were too late lately", last.late - first.late);
                found.push((HealthState::Unhealthy, why));
            }
            let promoted = last.promotions.saturating_sub(first.promotions);
            if promoted > PROMOTIONS * slots {
                let why = format!("waiting raised priorities {promoted} times lately");
                found.push((HealthState::Warning, why));
            }
        }
        let state = found.iter().map(|(state, _)| *state).max().unwrap_or(HealthState::Healthy);
        Health {
            version: None,
            state,
            why: found.into_iter().map(|(_, why)| why).collect(),
            program: concat!("tidewheel ", env!("CARGO_PKG_VERSION")).to_owned(),
        }
    }

    /// At how many looks in a row, up to the last, more waited than before.
    fn grows(&self) -> usize {
        let pairs = self.looks.iter().zip(self.looks.iter().skip(1)).rev();
        pairs.take_while(|(before, after)| after.queued > before.queued).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How it looks after these numbers of waiting tasks, one every look.
    fn after(queued: impl IntoIterator<Item = u64>) -> (Lately, Figures) {
        let (mut lately, mut at) = (Lately::default(), Instant::now());
        let mut figures = Figures { slots: Some(4), ..Figures::default() };
        for queued in queued {
            figures.scheduler.queued_count = queued;
            lately.look(at, &figures);
            at += EVERY;
        }
        (lately, figures)
    }

    fn state(queued: impl IntoIterator<Item = u64>) -> HealthState {
        let (lately, figures) = after(queued);
        lately.health(&figures, None).state
    }

    #[test]
    fn what_goes_up_and_down_is_well_and_what_only_grows_is_not() {
        assert_eq!(state([]), HealthState::Healthy);
        assert_eq!(state([10, 500, 20, 700, 30, 900, 40]), HealthState::Healthy);
        assert_eq!(state((0..6).map(|it| it * 10)), HealthState::Healthy, "not for long enough");
        assert_eq!(state((0..7).map(|it| it * 10)), HealthState::Warning);
        assert_eq!(state((0..13).map(|it| it * 10)), HealthState::Warning, "they are few");
        assert_eq!(state((0..13).map(|it| it * 100)), HealthState::Unhealthy);
        assert_eq!(state((0..13).map(|it| it * 100).chain([5])), HealthState::Healthy);
    }

    #[test]
    fn what_is_late_promoted_or_cannot_be_stored_is_told() {
        let (mut lately, mut figures) = after([0, 0]);
        let health = lately.health(&figures, Some("the disk is full"));
        assert_eq!(health.state, HealthState::Unhealthy);
        assert_eq!(health.why, ["nothing can be stored: the disk is full"]);
        let later = Instant::now() + Duration::from_secs(60);
        figures.scheduler.starvation_promotions = 25;
        lately.look(later, &figures);
        assert_eq!(lately.health(&figures, None).state, HealthState::Warning);
        figures.total.late = 1;
        lately.look(later + EVERY, &figures);
        assert_eq!(lately.health(&figures, None).state, HealthState::Unhealthy);
    }

    #[test]
    fn buckets_never_say_more_than_there_was() {
        let mut histogram = Histogram::default();
        for millis in [0, 1, 3, 40, 2_000, 7_200_000] {
            histogram.record(Duration::from_millis(millis));
        }
        let times = times(&histogram);
        assert_eq!(times.count, 6);
        let counts: Vec<u64> = times.buckets.iter().map(|bucket| bucket.count).collect();
        assert!(counts.is_sorted() && counts.last() == Some(&5), "{counts:?}");
    }
}
