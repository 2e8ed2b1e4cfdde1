//! Times in words, as short as they can be while somebody looks at them.
//!
//! Text of others is made harmless and cut by [`tidewheel_client::text`].

use std::time::Duration;

pub(crate) use tidewheel_client::text::{columns, cut, name, output, sentence};

/// A duration that is over, with tenths where they matter: `2.1 s`, `1m20s`, `3h05m`.
pub(crate) fn took(duration: Duration) -> String {
    let tenths = (duration.as_millis() + 50) / 100;
    if tenths < 600 {
        return format!("{}.{} s", tenths / 10, tenths % 10);
    }
    about(duration.max(Duration::from_secs(60)))
}

/// A duration that goes on, or that nobody knows exactly, in whole seconds: `2 s`, `1m20s`.
pub(crate) fn about(duration: Duration) -> String {
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
pub(crate) fn until(duration: Duration) -> String {
    if !duration.is_zero() && duration < Duration::from_secs(1) {
        return format!("{} ms", duration.as_millis().max(1));
    }
    about(Duration::from_secs(duration.as_millis().div_ceil(1000) as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

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
            assert_eq!(until(duration), future);
        }
    }
}
