//! Times in words: spans, and how far away instants are.
//!
//! Those that change while somebody looks at them are as short as they can be.

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
        time => format!("{} ago", span(time)),
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

/// A duration that is over, with tenths where they matter: `2.1 s`, `1m20s`, `3h05m`.
#[must_use]
pub fn took(duration: Duration) -> String {
    let tenths = (duration.as_millis() + 50) / 100;
    if tenths < 600 {
        return format!("{}.{} s", tenths / 10, tenths % 10);
    }
    about(duration.max(Duration::from_secs(60)))
}

/// A duration that goes on, or that nobody knows exactly, in whole seconds: `2 s`, `1m20s`.
#[must_use]
pub fn about(duration: Duration) -> String {
    let seconds = duration.as_secs();
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3600 % 24, seconds / 60 % 60);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, minutes) => format!("{minutes}m{:02}s", seconds % 60),
        (0, hours, minutes) => format!("{hours}h{minutes:02}m"),
        (days, hours, _) => format!("{days}d{hours:02}h"),
    }
}

/// A time still to come, rounded up so that nothing is due before it happens.
#[must_use]
pub fn due(duration: Duration) -> String {
    if !duration.is_zero() && duration < Duration::from_secs(1) {
        return format!("{} ms", duration.as_millis().max(1));
    }
    about(Duration::from_secs(duration.as_millis().div_ceil(1000) as u64))
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

    #[test]
    fn times_are_short() {
        let cases = [
            (0, "0.0 s", "0 s", "0 s"),
            (49, "0.0 s", "0 s", "49 ms"),
            (2_120, "2.1 s", "2 s", "3 s"),
            (59_949, "59.9 s", "59 s", "1m00s"),
            (59_950, "1m00s", "59 s", "1m00s"),
            (80_000, "1m20s", "1m20s", "1m20s"),
            (3_900_000, "1h05m", "1h05m", "1h05m"),
            (97_200_000, "1d03h", "1d03h", "1d03h"),
        ];
        for (millis, past, present, future) in cases {
            let duration = Duration::from_millis(millis);
            assert_eq!(took(duration), past);
            assert_eq!(about(duration), present);
            assert_eq!(due(duration), future);
        }
    }
}
