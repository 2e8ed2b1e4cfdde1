//! Times in words: spans, and how far away instants are.
//!
//! Times that change while somebody looks at them are the surface's own.

use std::time::Duration;

use tidewheel::Timestamp;
use tidewheel::clock::wall_clock;

/// A span of time in at most two units.
#[must_use]
pub fn span(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0 if time.as_millis() < 1 => "0 s".to_owned(),
        0 => format!("{} ms", time.as_millis()),
        1..=59 => format!("{:.1} s", time.as_secs_f64()),
        60..=3_599 => format!("{} m {} s", seconds / 60, seconds % 60),
        3_600..=86_399 => format!("{} h {} m", seconds / 3_600, seconds % 3_600 / 60),
        _ => format!("{} d {} h", seconds / 86_400, seconds % 86_400 / 3_600),
    }
}

/// How long ago something was.
#[must_use]
pub fn ago(at: Timestamp) -> String {
    match wall_clock().since(at) {
        time if time < Duration::from_secs(2) => "just now".to_owned(),
        time => format!("{} ago", span(Duration::from_secs(time.as_secs()))),
    }
}

/// How far away something is.
#[must_use]
pub fn until(at: Timestamp) -> String {
    match at.since(wall_clock()) {
        time if time.is_zero() => "now".to_owned(),
        time => format!("in {}", span(time)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_have_at_most_two_units() {
        for (millis, text) in [
            (0, "0 s"),
            (250, "250 ms"),
            (1_500, "1.5 s"),
            (61_000, "1 m 1 s"),
            (3_660_000, "1 h 1 m"),
            (90_000_000, "1 d 1 h"),
        ] {
            assert_eq!(span(Duration::from_millis(millis)), text);
        }
    }
}
