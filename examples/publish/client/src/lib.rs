//! Asks when the tide comes in.

/// Hours from now, if the last high tide was so long ago.
pub fn next(hours_ago: f64) -> f64 {
    tide_core::HOURS - hours_ago % tide_core::HOURS
}
