//! Figures as text for Prometheus and for whoever else reads OpenMetrics.
//!
//! It is written by hand: the figures are counted by the scheduler, and a library of metrics would count them again.
//! What they mean is in `tidewheel_client::api`.

use std::fmt::Write as _;

use tidewheel_client::api::{Figures, QueueFigures, TimeFigures};

/// Which of the two texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    Prometheus,
    OpenMetrics,
}

impl Dialect {
    pub fn content_type(self) -> &'static str {
        match self {
            Self::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }
}

/// A figure of each queue, its name and what it is.
type OfQueue = (&'static str, &'static str, fn(&QueueFigures) -> u64);

const GAUGES: [OfQueue; 2] = [
    ("tidewheel_tasks_active", "Attempts that run now.", |it| it.active),
    ("tidewheel_tasks_queued", "Tasks that are ready and wait.", |it| it.queued),
];

/// Times of each queue, their name and what they are.
type TimesOfQueue = (&'static str, &'static str, fn(&QueueFigures) -> &TimeFigures);

const TIMES: [TimesOfQueue; 2] = [
    ("tidewheel_wait_seconds", "From ready to started.", |it| &it.wait_time),
    ("tidewheel_run_seconds", "From started to ended.", |it| &it.run_time),
];

const COUNTERS: [OfQueue; 7] = [
    ("tidewheel_tasks_submitted", "Tasks accepted.", |it| it.submitted),
    ("tidewheel_tasks_completed", "Tasks that ran and ended.", |it| it.completed),
    ("tidewheel_tasks_failed", "Tasks that ran and failed.", |it| it.failed),
    ("tidewheel_tasks_rejected", "Tasks refused.", |it| it.rejected),
    ("tidewheel_tasks_cancelled", "Tasks cancelled or abandoned.", |it| it.cancelled),
    ("tidewheel_tasks_late", "Tasks that ended after their deadline.", |it| it.late),
    ("tidewheel_attempts_retried", "Attempts that failed and are followed by another.", |it| {
        it.retried
    }),
];

/// The figures as text.
pub(crate) fn exposition(figures: &Figures, dialect: Dialect) -> String {
    let mut page = Page { text: String::new(), dialect };
    let scheduler = &figures.scheduler;
    page.gauge(
        "tidewheel_slots",
        "Attempts that may run at once; 0 without a bound.",
        f64::from(figures.slots.unwrap_or(0)),
    );
    page.gauge("tidewheel_runs", "Runs that have not ended.", figures.runs as f64);
    page.gauge("tidewheel_tasks_delayed", "Tasks that wait for time.", figures.delayed as f64);
    page.gauge("tidewheel_schedules", "Live schedules.", figures.schedules as f64);
    page.gauge(
        "tidewheel_backoff_level",
        "The longest series of failures any schedule is in now.",
        f64::from(figures.backoff_level),
    );
    page.gauge(
        "tidewheel_oldest_wait_seconds",
        "The longest time any ready task has been waiting.",
        figures.oldest_wait_seconds,
    );
    page.gauge(
        "tidewheel_failure_ratio",
        "Failed attempts as a share of all that ended.",
        figures.total.failure_rate,
    );
    let counted = [
        (
            "tidewheel_promotions",
            "Times that waiting raised a priority.",
            scheduler.starvation_promotions,
        ),
        (
            "tidewheel_tasks_high_priority_completed",
            "Completed tasks with a priority of 75 and more.",
            scheduler.high_priority_completed,
        ),
        (
            "tidewheel_tasks_low_priority_completed",
            "Completed tasks with a priority below 25.",
            scheduler.low_priority_completed,
        ),
    ];
    for (name, about, value) in counted {
        page.head(name, about, "counter");
        page.line(&format!("{name}_total"), &[], value as f64);
    }
    page.queues(&figures.queues);
    page.head(
        "tidewheel_due_lag_seconds",
        "From the instant a firing was due to its notice.",
        "histogram",
    );
    page.histogram("tidewheel_due_lag_seconds", None, &figures.due_lag);
    if dialect == Dialect::OpenMetrics {
        page.text.push_str("# EOF\n");
    }
    page.text
}

struct Page {
    text: String,
    dialect: Dialect,
}

impl Page {
    fn gauge(&mut self, name: &str, about: &str, value: f64) {
        self.head(name, about, "gauge");
        self.line(name, &[], value);
    }

    fn queues(&mut self, queues: &[QueueFigures]) {
        let name_of = |queue: &QueueFigures| queue.queue.clone().unwrap_or_default();
        for (name, about, value) in GAUGES {
            self.head(name, about, "gauge");
            for queue in queues {
                self.line(name, &[("queue", &name_of(queue))], value(queue) as f64);
            }
        }
        for (name, about, value) in COUNTERS {
            self.head(name, about, "counter");
            for queue in queues {
                let value = value(queue) as f64;
                self.line(&format!("{name}_total"), &[("queue", &name_of(queue))], value);
            }
        }
        for (name, about, times) in TIMES {
            self.head(name, about, "histogram");
            for queue in queues {
                self.histogram(name, Some(&name_of(queue)), times(queue));
            }
        }
    }

    fn histogram(&mut self, name: &str, queue: Option<&str>, times: &TimeFigures) {
        let own: Vec<(&str, &str)> = queue.iter().map(|queue| ("queue", *queue)).collect();
        let bucket = format!("{name}_bucket");
        for bound in &times.buckets {
            let le = format!("{:?}", bound.seconds);
            let labels: Vec<(&str, &str)> = own.iter().copied().chain([("le", &*le)]).collect();
            self.line(&bucket, &labels, bound.count as f64);
        }
        let labels: Vec<(&str, &str)> = own.iter().copied().chain([("le", "+Inf")]).collect();
        self.line(&bucket, &labels, times.count as f64);
        self.line(&format!("{name}_sum"), &own, times.sum_seconds);
        self.line(&format!("{name}_count"), &own, times.count as f64);
    }

    /// What a family of figures is. The older text names counters with their ending.
    fn head(&mut self, name: &str, about: &str, kind: &str) {
        let ending = match (kind, self.dialect) {
            ("counter", Dialect::Prometheus) => "_total",
            _ => "",
        };
        // Writing to a text cannot fail.
        let _ = writeln!(self.text, "# HELP {name}{ending} {about}\n# TYPE {name}{ending} {kind}");
    }

    fn line(&mut self, name: &str, labels: &[(&str, &str)], value: f64) {
        let escaped =
            |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        let labels: Vec<String> =
            labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).collect();
        let labels = match labels.is_empty() {
            true => String::new(),
            false => format!("{{{}}}", labels.join(",")),
        };
        let _ = writeln!(self.text, "{name}{labels} {value}");
    }
}

#[cfg(test)]
mod tests {
    use tidewheel_client::api::TimeBucket;

    use super::*;

    fn figures() -> Figures {
        let times = TimeFigures {
            count: 3,
            sum_seconds: 1.5,
            buckets: vec![
                TimeBucket { seconds: 0.001, count: 1 },
                TimeBucket { seconds: 1.0, count: 2 },
            ],
            ..TimeFigures::default()
        };
        let queue = QueueFigures {
            queue: Some("a\"b\\c\nd".to_owned()),
            submitted: 7,
            wait_time: times,
            ..QueueFigures::default()
        };
        Figures { slots: Some(16), queues: vec![queue], ..Figures::default() }
    }

    #[test]
    fn each_figure_is_a_line_with_what_it_is() {
        let text = exposition(&figures(), Dialect::Prometheus);
        for line in [
            "# TYPE tidewheel_slots gauge",
            "tidewheel_slots 16",
            "# TYPE tidewheel_tasks_submitted_total counter",
            r#"tidewheel_tasks_submitted_total{queue="a\"b\\c\nd"} 7"#,
            "# TYPE tidewheel_wait_seconds histogram",
            r#"tidewheel_wait_seconds_bucket{queue="a\"b\\c\nd",le="0.001"} 1"#,
            r#"tidewheel_wait_seconds_bucket{queue="a\"b\\c\nd",le="1.0"} 2"#,
            r#"tidewheel_wait_seconds_bucket{queue="a\"b\\c\nd",le="+Inf"} 3"#,
            r#"tidewheel_wait_seconds_sum{queue="a\"b\\c\nd"} 1.5"#,
            r#"tidewheel_wait_seconds_count{queue="a\"b\\c\nd"} 3"#,
        ] {
            assert!(text.lines().any(|it| it == line), "{line}\n{text}");
        }
        let open = exposition(&figures(), Dialect::OpenMetrics);
        assert!(
            open.contains("# TYPE tidewheel_tasks_submitted counter\n")
                && open.ends_with("# EOF\n")
        );
        assert!(!text.contains("# EOF"));
    }
}
