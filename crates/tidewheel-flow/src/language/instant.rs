//! Instants as people write them: RFC 3339, with an offset or `Z`.
//!
//! Calendars and zones are the core's.

use tidewheel::Timestamp;

/// Reads an instant such as `2030-01-31T08:00:00Z`.
pub(crate) fn parse(text: &str) -> Option<Timestamp> {
    text.trim().parse().ok()
}
