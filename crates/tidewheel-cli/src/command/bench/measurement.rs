//! [`Measurement`]: the figures of one workload, in the one form all have.
//!
//! Times are wall-clock times taken by the workload itself.

use std::time::Duration;

use serde::Serialize;

use crate::cli::Format;
use crate::error::CommandError;
use crate::ui::Ui;

/// What one workload came to.
#[derive(Debug)]
pub(super) struct Measurement {
    pub workload: &'static str,
    pub variant: String,
    pub n: u64,
    /// The run alone.
    pub run: Duration,
    /// Making the graph.
    pub build: Duration,
    /// More for people: a label and a figure.
    pub details: Vec<(&'static str, String)>,
    /// More for programs: a field and its number.
    pub figures: Vec<(&'static str, f64)>,
}

/// The JSON form. Fields are only ever added.
#[derive(Serialize)]
struct Line<'a> {
    workload: &'a str,
    peer: &'a str,
    version: &'a str,
    variant: &'a str,
    n: u64,
    seconds: f64,
    build_seconds: f64,
    per_task_us: f64,
    tasks_per_s: f64,
    peak_rss_mb: f64,
}

impl Measurement {
    pub fn print(&self, ui: &Ui) -> Result<(), CommandError> {
        let seconds = self.run.as_secs_f64().max(1e-9);
        let line = Line {
            workload: self.workload,
            peer: "tidewheel",
            version: env!("CARGO_PKG_VERSION"),
            variant: &self.variant,
            n: self.n,
            seconds: rounded(seconds, 6),
            build_seconds: rounded(self.build.as_secs_f64(), 6),
            per_task_us: rounded(seconds / self.n as f64 * 1e6, 4),
            tasks_per_s: rounded(self.n as f64 / seconds, 1),
            peak_rss_mb: rounded(peak_memory() as f64 / MEBI, 1),
        };
        match ui.format(Format::Human) {
            Format::Json => {
                let mut value = serde_json::to_value(&line).map_err(CommandError::internal)?;
                if let Some(fields) = value.as_object_mut() {
                    let more = self.figures.iter();
                    fields.extend(
                        more.map(|(name, figure)| ((*name).to_owned(), rounded(*figure, 6).into())),
                    );
                }
                ui.print(&value.to_string())
            }
            Format::Human => ui.print(&self.describe(&line)),
        }
    }

    fn describe(&self, line: &Line<'_>) -> String {
        let mut rows = vec![
            ("time", format!("{:.3} s", line.seconds)),
            ("per task", format!("{:.3} µs", line.per_task_us)),
            ("rate", format!("{} a second", thousands(line.tasks_per_s as u64))),
        ];
        if self.build > Duration::ZERO {
            rows.push(("graph made in", format!("{:.3} s", line.build_seconds)));
        }
        rows.push(("peak memory", format!("{:.1} MiB", line.peak_rss_mb)));
        rows.extend(self.details.iter().map(|(label, figure)| (*label, figure.clone())));
        let mut text =
            format!("{} {}, {} in all\n", self.workload, self.variant, thousands(self.n));
        for (label, figure) in rows {
            text.push_str(&format!("  {label:18}{figure}\n"));
        }
        text
    }
}

pub(super) const MEBI: f64 = 1_048_576.0;

pub(super) fn rounded(value: f64, digits: i32) -> f64 {
    let factor = 10_f64.powi(digits);
    (value * factor).round() / factor
}

/// 1234567 as 1,234,567.
pub(super) fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// The most memory the process ever held, in bytes; 0 where the system does not say.
pub(super) fn peak_memory() -> u64 {
    status_bytes("VmHWM:")
}

/// The memory the process holds now, in bytes; 0 where the system does not say.
pub(super) fn resident_memory() -> u64 {
    status_bytes("VmRSS:")
}

fn status_bytes(field: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(field));
    let kibibytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kibibytes.unwrap_or(0) * 1024
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_numbers_are_grouped() {
        for (number, text) in [(0, "0"), (999, "999"), (1_000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(thousands(number), text);
        }
    }
}
