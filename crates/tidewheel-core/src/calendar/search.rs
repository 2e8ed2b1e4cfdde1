//! From local times to instants: what an expression does when the clocks change.
//!
//! Time is taken in segments without a clock change; within one, local time is an offset away and
//! [`super::local`] does the walking. The rules are those of Debian's cron. An expression that
//! describes a rhythm follows the wall clock: it skips what the clock skips and repeats what it
//! repeats. One that names times of day fires once for each: at the end of the gap for those in
//! it, and only on the first pass for those that come twice.

use super::fields::Fields;
use super::zone::{Segment, Zone, bounds};

/// Farther from UTC than any zone, in seconds.
const OFFSET_MAX: i64 = 26 * 3_600;

/// One expression in one zone under one policy. All times are Unix seconds.
pub(super) struct Search<'a> {
    pub(super) fields: &'a Fields,
    pub(super) zone: &'a Zone,
    /// Times in a gap fire together at its end; otherwise not at all.
    pub(super) fires_after_gap: bool,
    /// Times that come twice fire on the first pass only.
    pub(super) fires_once_in_fold: bool,
}

impl Search<'_> {
    /// The first firing that is not before `from`.
    pub(super) fn next(&self, from: i64) -> Option<i64> {
        let (first, last) = bounds();
        let mut at = from.max(first);
        while at <= last {
            let segment = self.zone.segment_at(at);
            if segment.start == Some(at) && self.gap_fires(&segment) {
                return Some(at);
            }
            let open = at.max(self.opening(&segment));
            if let Some(local) = self.fields.next_local(open + segment.offset) {
                let found = local - segment.offset;
                if segment.end.is_none_or(|end| found < end) {
                    return (found <= last).then_some(found);
                }
            }
            // Nothing more in this segment. Local time may go back at its end, so ask again from
            // the earliest it can be, and leave out the segments before the answer.
            let end = segment.end?;
            let earliest = end + segment.offset.min(self.zone.offset_at(end));
            let upcoming = self.fields.next_local(earliest)?;
            at = end.max(upcoming - OFFSET_MAX);
        }
        None
    }

    /// The last firing that is not after `until`.
    pub(super) fn previous(&self, until: i64) -> Option<i64> {
        let (first, last) = bounds();
        let mut at = until.min(last);
        while at >= first {
            let segment = self.zone.segment_at(at);
            if let Some(local) = self.fields.previous_local(at + segment.offset) {
                let found = local - segment.offset;
                if found >= self.opening(&segment) {
                    return (found >= first).then_some(found);
                }
            }
            let start = segment.start?;
            if self.gap_fires(&segment) {
                return Some(start);
            }
            let latest = start - 1 + segment.offset - segment.shift;
            let upcoming = self.fields.previous_local(latest)?;
            at = (start - 1).min(upcoming + OFFSET_MAX);
        }
        None
    }

    /// How many firings lie from `from` to `until`, both included.
    pub(super) fn count(&self, from: i64, until: i64) -> u64 {
        let (first, last) = bounds();
        let mut at = from.max(first);
        let until = until.min(last);
        let mut count = 0;
        while at <= until {
            let segment = self.zone.segment_at(at);
            let close = segment.end.map_or(until, |end| until.min(end - 1));
            if segment.start == Some(at)
                && self.gap_fires(&segment)
                && !self.fields.matches_local(at + segment.offset)
            {
                count += 1;
            }
            let open = at.max(self.opening(&segment));
            count += self.fields.count_local(open + segment.offset, close + segment.offset);
            at = close + 1;
        }
        count
    }

    /// Whether this second is a firing.
    pub(super) fn matches(&self, at: i64) -> bool {
        let (first, last) = bounds();
        if !(first..=last).contains(&at) {
            return false;
        }
        let segment = self.zone.segment_at(at);
        if segment.start == Some(at) && self.gap_fires(&segment) {
            return true;
        }
        at >= self.opening(&segment) && self.fields.matches_local(at + segment.offset)
    }

    /// Whether the segment begins with the firing of times that the clocks left out.
    fn gap_fires(&self, segment: &Segment) -> bool {
        let Some(start) = segment.start else { return false };
        if !self.fires_after_gap || segment.shift <= 0 {
            return false;
        }
        let gap_end = start + segment.offset;
        self.fields.next_local(gap_end - segment.shift).is_some_and(|local| local < gap_end)
    }

    /// The first second of the segment whose local time counts: past what the clocks repeat.
    fn opening(&self, segment: &Segment) -> i64 {
        match segment.start {
            Some(start) if self.fires_once_in_fold => start - segment.shift.min(0),
            Some(start) => start,
            None => i64::MIN / 2,
        }
    }
}
