//! When the tide comes in.

/// Hours between two high tides.
pub const HOURS: f64 = 12.42;
