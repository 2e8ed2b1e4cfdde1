//! [`Metrics`]: the figures of a wheel for the recorder of the `metrics` facade. Feature `metrics`.
//!
//! They are told from time to time and never where work is decided: a recorder is somebody else's code,
//! and would hold it up.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use metrics::{Unit, counter, gauge, histogram};
use tidewheel_core::histogram::Histogram;
use tidewheel_core::statistics::{Overview, Statistics};

use crate::driver::Shared;
use crate::wheel::Tidewheel;

/// Tells a recorder of the `metrics` facade what the figures of a wheel say; the names are in the guide,
/// under "Metrics".
///
/// [`Tidewheel::export_metrics`] does it by itself; who answers questions, such as those of Prometheus,
/// does it just before.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use tidewheel::Tidewheel;
/// use tidewheel::observe::Metrics;
///
/// let wheel = Tidewheel::builder().start();
/// let mut metrics = Metrics::new();
/// wheel.submit_normal(async {}).await?;
/// metrics.record(&wheel.stats());
/// # Ok(())
/// # }
/// ```
#[derive(Default)]
pub struct Metrics {
    /// What was told of each queue's times, so that each duration is told once.
    told: BTreeMap<Arc<str>, Told>,
}

#[derive(Default)]
struct Told {
    wait_time: Histogram,
    run_time: Histogram,
    due_lag: Histogram,
}

impl Metrics {
    /// Describes the figures to the recorder; nothing is told yet.
    #[must_use]
    pub fn new() -> Self {
        describe();
        Self::default()
    }

    /// Tells the recorder these figures. Durations are told as their buckets, at most a quarter too high.
    pub fn record(&mut self, figures: &Overview) {
        for (queue, own) in &figures.queues {
            count(queue, own);
            let told = self.told.entry(Arc::clone(queue)).or_default();
            let pairs = [
                ("tidewheel_wait_seconds", &own.wait_time, &mut told.wait_time),
                ("tidewheel_attempt_seconds", &own.run_time, &mut told.run_time),
                ("tidewheel_due_lag_seconds", &own.due_lag, &mut told.due_lag),
            ];
            for (name, now, before) in pairs {
                if now.count() != before.count() {
                    tell(name, queue, before, now);
                    before.clone_from(now);
                }
            }
        }
        gauge!("tidewheel_slots").set(figures.slots.map_or(f64::INFINITY, f64::from));
        gauge!("tidewheel_runs").set(figures.runs as f64);
        gauge!("tidewheel_tasks_delayed").set(figures.delayed as f64);
        gauge!("tidewheel_schedules").set(figures.schedules as f64);
        gauge!("tidewheel_paused").set(f64::from(u8::from(figures.paused)));
        gauge!("tidewheel_oldest_wait_seconds").set(figures.oldest_wait.as_secs_f64());
    }
}

fn count(queue: &str, figures: &Statistics) {
    let counters = [
        ("tidewheel_tasks_submitted_total", figures.submitted),
        ("tidewheel_tasks_restored_total", figures.restored),
        ("tidewheel_tasks_completed_total", figures.completed),
        ("tidewheel_tasks_failed_total", figures.failed),
        ("tidewheel_tasks_failed_unstarted_total", figures.failed_unstarted),
        ("tidewheel_tasks_already_done_total", figures.already_done),
        ("tidewheel_tasks_cancelled_total", figures.cancelled),
        ("tidewheel_tasks_skipped_total", figures.skipped),
        ("tidewheel_tasks_rejected_total", figures.rejected),
        ("tidewheel_tasks_late_total", figures.late),
        ("tidewheel_attempts_retried_total", figures.retried),
        ("tidewheel_attempts_lost_total", figures.lost),
        ("tidewheel_attempts_postponed_total", figures.postponed),
        ("tidewheel_attempts_preempted_total", figures.preempted),
        ("tidewheel_promotions_total", figures.promotions),
    ];
    for (name, value) in counters {
        counter!(name, "queue" => queue.to_owned()).absolute(value);
    }
    gauge!("tidewheel_attempts_running", "queue" => queue.to_owned()).set(figures.active as f64);
    gauge!("tidewheel_tasks_waiting", "queue" => queue.to_owned()).set(figures.queued as f64);
}

/// Tells what has come to a histogram since.
fn tell(name: &'static str, queue: &str, before: &Histogram, now: &Histogram) {
    let handle = histogram!(name, "queue" => queue.to_owned());
    let mut known = before.buckets().peekable();
    for (upper, count) in now.buckets() {
        // Buckets never lose anything, so those of before are all among those of now.
        let told = known.next_if(|(bound, _)| *bound == upper).map_or(0, |(_, count)| count);
        let added = usize::try_from(count - told).unwrap_or(usize::MAX);
        if added > 0 {
            handle.record_many(upper.as_secs_f64(), added);
        }
    }
}

fn describe() {
    use metrics::{describe_counter, describe_gauge, describe_histogram};

    for (name, text) in COUNTERS {
        describe_counter!(name, Unit::Count, text);
    }
    for (name, text) in GAUGES {
        let is_time = name.ends_with("_seconds");
        describe_gauge!(name, if is_time { Unit::Seconds } else { Unit::Count }, text);
    }
    for (name, text) in HISTOGRAMS {
        describe_histogram!(name, Unit::Seconds, text);
    }
}

const COUNTERS: [(&str, &str); 15] = [
    ("tidewheel_tasks_submitted_total", "Tasks accepted"),
    ("tidewheel_tasks_restored_total", "Tasks taken over from the store"),
    ("tidewheel_tasks_completed_total", "Tasks that ran and ended"),
    ("tidewheel_tasks_failed_total", "Of those, tasks that failed"),
    ("tidewheel_tasks_failed_unstarted_total", "Tasks that failed without an attempt"),
    ("tidewheel_tasks_already_done_total", "Tasks that were done before their run began"),
    ("tidewheel_tasks_cancelled_total", "Tasks cancelled or abandoned"),
    ("tidewheel_tasks_skipped_total", "Tasks not done, by rule"),
    ("tidewheel_tasks_rejected_total", "Tasks refused at the door"),
    ("tidewheel_tasks_late_total", "Tasks that ended after their deadline"),
    ("tidewheel_attempts_retried_total", "Attempts that failed, with another to follow"),
    ("tidewheel_attempts_lost_total", "Attempts lost with their worker"),
    ("tidewheel_attempts_postponed_total", "Attempts that found it was not time yet"),
    ("tidewheel_attempts_preempted_total", "Attempts ended to make room"),
    ("tidewheel_promotions_total", "Times that waiting raised a priority"),
];

const GAUGES: [(&str, &str); 8] = [
    ("tidewheel_attempts_running", "Attempts running"),
    ("tidewheel_tasks_waiting", "Tasks that could start and wait"),
    ("tidewheel_tasks_delayed", "Tasks that wait for time"),
    ("tidewheel_slots", "Attempts that may run at once"),
    ("tidewheel_runs", "Runs that have not ended"),
    ("tidewheel_schedules", "Live schedules"),
    ("tidewheel_paused", "1 while the wheel is paused"),
    ("tidewheel_oldest_wait_seconds", "The longest wait of a task that could start"),
];

const HISTOGRAMS: [(&str, &str); 3] = [
    ("tidewheel_wait_seconds", "From ready to started"),
    ("tidewheel_attempt_seconds", "From started to ended"),
    ("tidewheel_due_lag_seconds", "From due to noticed, of firings"),
];

impl Tidewheel {
    /// Tells the program's recorder of the `metrics` facade the figures of the wheel, every `period` and
    /// once more when the wheel has ended. It keeps no wheel alive. A period below a millisecond is one.
    pub fn export_metrics(&self, period: Duration) {
        self.shared().runtime.spawn(export(Arc::clone(self.shared()), period));
    }
}

/// The runtime's clock knows nothing shorter, and one that is paused goes on only while nobody does anything.
const PERIOD_MIN: Duration = Duration::from_millis(1);

async fn export(shared: Arc<Shared>, period: Duration) {
    let mut metrics = Metrics::new();
    let period = period.max(PERIOD_MIN);
    let mut completed = shared.completed.subscribe();
    loop {
        let ended = tokio::time::timeout(period, completed.wait_for(|is_over| *is_over)).await;
        let is_over = ended.is_ok();
        let now = shared.clock.now();
        let figures = shared.lock().engine.scheduler().overview(now);
        metrics.record(&figures);
        if is_over {
            return;
        }
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").field("queues", &self.told.keys()).finish()
    }
}
