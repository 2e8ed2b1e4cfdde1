//! The axis of times: the part of a run's time that is shown, and round places on it.
//!
//! What stands below it is in [`super::gantt`] and [`super::slots`].

use std::time::Duration;

use tidewheel::Timestamp;
use tidewheel_client::text;

/// The length of the axis; bars are scaled to whatever room there is.
pub(super) const AXIS: f64 = 1000.0;

/// More places are not marked.
const TICKS_MAX: u64 = 6;

/// What is this near to the end is not marked: on a telephone its words would stand outside.
const NEAR_END: f64 = 0.15;

const SECOND: u64 = 1_000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// How far marks are from each other, in milliseconds: as people count.
#[rustfmt::skip]
const DISTANCES: [u64; 29] = [
    1, 2, 5, 10, 20, 50, 100, 200, 500,
    SECOND, 2 * SECOND, 5 * SECOND, 10 * SECOND, 15 * SECOND, 30 * SECOND,
    MINUTE, 2 * MINUTE, 5 * MINUTE, 10 * MINUTE, 15 * MINUTE, 30 * MINUTE,
    HOUR, 2 * HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR,
    DAY, 2 * DAY, 7 * DAY,
];

/// A place on the axis.
#[derive(Debug, PartialEq)]
pub(crate) struct Tick {
    pub share: f64,
    pub text: String,
}

/// The part of time that is shown, in seconds from the acceptance of the run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Window {
    pub zero: Timestamp,
    pub begin: f64,
    pub end: f64,
}

impl Window {
    /// Where an instant is on the axis.
    pub fn place(self, at: Timestamp) -> f64 {
        let seconds = (at.as_micros() - self.zero.as_micros()) as f64 / 1e6;
        (seconds - self.begin) / (self.end - self.begin).max(1e-6) * AXIS
    }

    /// The second that is at a place of the axis.
    pub fn second(self, place: f64) -> f64 {
        self.begin + place / AXIS * (self.end - self.begin)
    }

    /// Round places on it.
    pub fn ticks(self) -> Vec<Tick> {
        let span = (self.end - self.begin).max(1e-6) * 1e3;
        let is_wide = |distance: &u64| span / *distance as f64 <= TICKS_MAX as f64;
        let weeks = (span / (TICKS_MAX * 7 * DAY) as f64).ceil() as u64;
        let distance = DISTANCES.into_iter().find(is_wide).unwrap_or(weeks * 7 * DAY);
        let first = (self.begin * 1e3 / distance as f64).ceil() as u64;
        let share = |millis: u64| (millis as f64 - self.begin * 1e3) / span;
        let all = (first..).map(|number| number * distance);
        let shown = all.take_while(|millis| share(*millis) <= 1.0 - NEAR_END);
        shown.map(|millis| Tick { share: share(millis) * 100.0, text: words(millis) }).collect()
    }
}

/// A span without parts that are nothing.
fn words(millis: u64) -> String {
    let text = text::span(Duration::from_millis(millis)).replace(".0 s", " s");
    let short = [" 0 s", " 0 m", " 0 h"].iter().find_map(|rest| text.strip_suffix(rest));
    short.map(str::to_owned).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked(begin: f64, end: f64) -> Vec<String> {
        let window = Window { zero: Timestamp::UNIX_EPOCH, begin, end };
        window.ticks().into_iter().map(|tick| tick.text).collect()
    }

    #[test]
    fn marks_are_round_whatever_is_shown() {
        assert_eq!(marked(0.0, 1.378), ["0 s", "500 ms", "1 s"]);
        assert_eq!(marked(0.0, 0.827), ["0 s", "200 ms", "400 ms", "600 ms"]);
        assert_eq!(marked(0.333, 1.0), ["400 ms", "600 ms", "800 ms"]);
        assert_eq!(marked(0.0, 100.0), ["0 s", "30 s", "1 m"]);
        assert_eq!(
            marked(0.0, 3.0 * 3600.0),
            ["0 s", "30 m", "1 h", "1 h 30 m", "2 h", "2 h 30 m"]
        );
        assert_eq!(marked(0.0, 0.001), ["0 s"]);
        let days = 86_400.0;
        assert_eq!(marked(0.0, 100.0 * days), ["0 s", "21 d", "42 d", "63 d", "84 d"]);
    }

    #[test]
    fn a_mark_stands_where_its_instant_is() {
        let window = Window { zero: Timestamp::UNIX_EPOCH, begin: 1.0, end: 3.0 };
        let ticks = window.ticks();
        let two = ticks.iter().find(|tick| tick.text == "2 s").unwrap();
        assert!((two.share - 50.0).abs() < 1e-9, "{two:?}");
        let at = Timestamp::UNIX_EPOCH.after(Duration::from_secs(2));
        assert!((window.place(at) - AXIS / 2.0).abs() < 1e-6);
        assert!((window.second(AXIS / 2.0) - 2.0).abs() < 1e-9);
    }
}
