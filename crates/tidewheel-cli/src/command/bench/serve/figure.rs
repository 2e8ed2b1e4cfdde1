//! [`Figure`]: what was measured, what it may be, and how much of that is used up.
//!
//! How figures are taken is in the files beside.

use serde::Serialize;

use crate::command::bench::measurement::rounded;

/// A figure beside its bound.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Figure {
    /// Its name, for programs.
    pub name: &'static str,
    /// What was measured, for people.
    pub about: String,
    pub value: f64,
    pub unit: &'static str,
    /// What the value may be.
    pub bound: f64,
    /// How much of the bound is used up: at most 1 where it holds.
    pub ratio: f64,
    pub holds: bool,
}

impl Figure {
    /// One that must not be more than its bound.
    pub fn at_most(name: &'static str, about: String, value: f64, bound: f64) -> Self {
        Self::of(name, about, (value, bound), value / bound)
    }

    /// One that must not be less.
    pub fn at_least(name: &'static str, about: String, value: f64, bound: f64) -> Self {
        Self::of(name, about, (value, bound), bound / value)
    }

    fn of(name: &'static str, about: String, (value, bound): (f64, f64), ratio: f64) -> Self {
        Self {
            name,
            about,
            value: rounded(value, 3),
            unit: unit_of(name),
            bound,
            // Nothing can be said of what was not measured.
            ratio: if ratio.is_finite() { rounded(ratio, 3) } else { f64::MAX },
            holds: ratio <= 1.0,
        }
    }

    /// For people, in one line.
    pub fn line(&self) -> String {
        let Self { name, about, value, unit, bound, ratio, holds } = self;
        let verdict = if *holds { "" } else { "  does not hold" };
        format!("  {name:16}{value:>10.1} of {bound:>7} {unit:6}{ratio:>6.2}  {about}{verdict}\n")
    }
}

/// Units come last in names.
fn unit_of(name: &'static str) -> &'static str {
    match name.rsplit('_').next() {
        Some("ms") => "ms",
        Some("mb") => "MB",
        Some("percent") => "%",
        Some("seconds") => "s",
        _ => "a s",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_is_kept_from_above_or_from_below() {
        let most = |value| Figure::at_most("start_ms", String::new(), value, 3.0);
        let least = |value| Figure::at_least("submit_per_second", String::new(), value, 1000.0);
        assert!(most(3.0).holds && !most(3.1).holds);
        assert!(least(1000.0).holds && !least(999.0).holds && !least(0.0).holds);
        assert_eq!((most(1.5).ratio, least(2000.0).ratio), (0.5, 0.5));
        assert_eq!((most(1.0).unit, least(1.0).unit), ("ms", "a s"));
    }
}
