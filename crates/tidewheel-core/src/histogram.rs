//! A small histogram of durations with buckets that grow with the value.
//!
//! Names, labels and the text formats of metrics belong to whoever exports it.

use std::fmt;
use std::time::Duration;

use crate::time::duration_nanos;

/// Values below this have a bucket each; above, a power of two is divided into this many.
const DIVISIONS: u64 = 4;
/// `DIVISIONS` as a power of two.
const DIVISION_BITS: u32 = DIVISIONS.trailing_zeros();
/// Enough for every 64-bit number.
const BUCKET_COUNT: usize = (64 - DIVISION_BITS as usize + 1) * DIVISIONS as usize;

/// How often durations of which length occurred.
///
/// A bucket is at most a quarter as wide as its lower bound, from one nanosecond to 584 years, so
/// that quantiles are at most a quarter too high; count, sum, least and greatest are exact. The 2 KiB
/// of buckets are set aside at the first value.
///
/// ```
/// # use std::time::Duration;
/// # use tidewheel_core::histogram::Histogram;
/// let mut histogram = Histogram::default();
/// for millis in 1..=100 {
///     histogram.record(Duration::from_millis(millis));
/// }
/// assert_eq!(histogram.count(), 100);
/// assert_eq!(histogram.max(), Some(Duration::from_millis(100)));
/// let median = histogram.quantile(0.5).unwrap();
/// assert!(median >= Duration::from_millis(50) && median <= Duration::from_micros(62_500));
/// ```
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Histogram {
    buckets: Option<Box<[u64; BUCKET_COUNT]>>,
    count: u64,
    sum_nanos: u128,
    /// Meaningless while `count` is zero, as is `max_nanos`.
    min_nanos: u64,
    max_nanos: u64,
}

impl Histogram {
    /// Adds one duration.
    pub fn record(&mut self, duration: Duration) {
        self.record_nanos(duration_nanos(duration));
    }

    /// Adds one duration given in nanoseconds.
    pub fn record_nanos(&mut self, nanos: u64) {
        let buckets = self.buckets.get_or_insert_with(|| Box::new([0; BUCKET_COUNT]));
        buckets[bucket_of(nanos)] += 1;
        self.min_nanos = if self.count == 0 { nanos } else { self.min_nanos.min(nanos) };
        self.max_nanos = self.max_nanos.max(nanos);
        self.sum_nanos += u128::from(nanos);
        self.count += 1;
    }

    /// Adds all that `other` holds.
    pub fn merge(&mut self, other: &Self) {
        let Some(added) = &other.buckets else {
            return;
        };
        let buckets = self.buckets.get_or_insert_with(|| Box::new([0; BUCKET_COUNT]));
        for (count, more) in buckets.iter_mut().zip(added.iter()) {
            *count += more;
        }
        let is_first = self.count == 0;
        self.min_nanos =
            if is_first { other.min_nanos } else { self.min_nanos.min(other.min_nanos) };
        self.max_nanos = self.max_nanos.max(other.max_nanos);
        self.sum_nanos += other.sum_nanos;
        self.count += other.count;
    }

    /// How many durations there are.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// All durations together, capped at 584 years.
    #[must_use]
    pub fn sum(&self) -> Duration {
        Duration::from_nanos(u64::try_from(self.sum_nanos).unwrap_or(u64::MAX))
    }

    /// The least, unless there are none.
    #[must_use]
    pub fn min(&self) -> Option<Duration> {
        (self.count > 0).then(|| Duration::from_nanos(self.min_nanos))
    }

    /// The greatest, unless there are none.
    #[must_use]
    pub fn max(&self) -> Option<Duration> {
        (self.count > 0).then(|| Duration::from_nanos(self.max_nanos))
    }

    /// The average, unless there are none.
    #[must_use]
    pub fn mean(&self) -> Option<Duration> {
        // An average of 64-bit numbers is one.
        let nanos = self.sum_nanos.checked_div(u128::from(self.count))? as u64;
        Some(Duration::from_nanos(nanos))
    }

    /// A duration that at least the share `q` of all does not exceed, unless there are none.
    ///
    /// It is never too low and at most a quarter too high. `q` is taken between 0 and 1.
    #[must_use]
    pub fn quantile(&self, q: f64) -> Option<Duration> {
        // The conversion saturates, and turns what is not a number into 0.
        let rank = ((q * self.count as f64).ceil() as u64).clamp(1, self.count.max(1));
        let mut seen = 0;
        for (upper, count) in self.buckets() {
            seen += count;
            if seen >= rank {
                return Some(upper.min(Duration::from_nanos(self.max_nanos)));
            }
        }
        None
    }

    /// The buckets that hold anything: the greatest duration that belongs to each, and its count.
    pub fn buckets(&self) -> impl Iterator<Item = (Duration, u64)> + '_ {
        let counts = self.buckets.as_deref().map_or(&[][..], |buckets| &buckets[..]);
        counts
            .iter()
            .enumerate()
            .filter(|(_, count)| **count > 0)
            .map(|(bucket, &count)| (Duration::from_nanos(upper_bound(bucket)), count))
    }
}

/// A summary: a list of mostly empty buckets would tell less.
impl fmt::Debug for Histogram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Histogram")
            .field("count", &self.count)
            .field("mean", &self.mean())
            .field("p50", &self.quantile(0.5))
            .field("p99", &self.quantile(0.99))
            .field("max", &self.max())
            .finish_non_exhaustive()
    }
}

/// The bucket of a value: its highest bit, then the two bits that follow.
const fn bucket_of(nanos: u64) -> usize {
    if nanos < DIVISIONS {
        return nanos as usize;
    }
    let power = nanos.ilog2();
    let division = (nanos >> (power - DIVISION_BITS)) & (DIVISIONS - 1);
    (power - DIVISION_BITS + 1) as usize * DIVISIONS as usize + division as usize
}

/// The greatest value of a bucket.
const fn upper_bound(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    if bucket < DIVISIONS {
        return bucket;
    }
    let shift = bucket / DIVISIONS - 1;
    // All values of the bucket share these leading bits; the greatest has only ones after them.
    let leading = DIVISIONS + bucket % DIVISIONS;
    (leading << shift) | ((1 << shift) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nanos(nanos: u64) -> Duration {
        Duration::from_nanos(nanos)
    }

    #[test]
    fn buckets_cover_everything_without_gaps() {
        assert_eq!(BUCKET_COUNT, 252);
        assert_eq!(upper_bound(BUCKET_COUNT - 1), u64::MAX);
        for bucket in 0..BUCKET_COUNT - 1 {
            let upper = upper_bound(bucket);
            assert_eq!(bucket_of(upper), bucket);
            assert_eq!(bucket_of(upper + 1), bucket + 1);
            let lower = if bucket == 0 { 0 } else { upper_bound(bucket - 1) + 1 };
            assert!(upper - lower <= lower / 4, "bucket {bucket} from {lower} to {upper}");
        }
        assert_eq!(bucket_of(u64::MAX), BUCKET_COUNT - 1);
    }

    #[test]
    fn an_empty_histogram_knows_nothing() {
        let histogram = Histogram::default();
        assert!(histogram.is_empty());
        assert_eq!(histogram.sum(), Duration::ZERO);
        assert_eq!((histogram.min(), histogram.max(), histogram.mean()), (None, None, None));
        assert_eq!(histogram.quantile(0.5), None);
        assert_eq!(histogram.buckets().count(), 0);
        assert!(size_of::<Histogram>() <= 64);
    }

    #[test]
    fn sums_and_extremes_are_exact() {
        let mut histogram = Histogram::default();
        for value in [7, 1_000_003, 12, 999] {
            histogram.record(nanos(value));
        }
        assert_eq!(histogram.count(), 4);
        assert_eq!(histogram.sum(), nanos(1_001_021));
        assert_eq!(histogram.mean(), Some(nanos(250_255)));
        assert_eq!((histogram.min(), histogram.max()), (Some(nanos(7)), Some(nanos(1_000_003))));
        let buckets: Vec<_> = histogram.buckets().collect();
        assert_eq!(
            buckets,
            [(nanos(7), 1), (nanos(13), 1), (nanos(1023), 1), (nanos(1_048_575), 1)]
        );
    }

    #[test]
    fn quantiles_are_never_too_low_and_a_quarter_too_high_at_most() {
        let mut histogram = Histogram::default();
        let values: Vec<u64> = (1..=10_000).map(|value| value * value * 37).collect();
        for &value in &values {
            histogram.record(nanos(value));
        }
        for thousandths in 1..=1000 {
            let exact = nanos(values[thousandths * 10 - 1]);
            let found = histogram.quantile(thousandths as f64 / 1000.0).unwrap();
            // The product of share and count may round up to the next rank, hence the slack.
            assert!(found >= exact && found <= exact * 5 / 4 + nanos(37 * 30_000), "{thousandths}");
        }
        assert_eq!(histogram.quantile(1.0), histogram.max());
        assert_eq!(histogram.quantile(7.0), histogram.max());
        assert_eq!(histogram.quantile(-1.0), Some(nanos(39)));
        assert_eq!(histogram.quantile(f64::NAN), Some(nanos(39)));
    }

    #[test]
    fn merging_equals_recording_all() {
        let (mut left, mut right, mut all) =
            (Histogram::default(), Histogram::default(), Histogram::default());
        for value in 0..1000_u64 {
            let duration = nanos(value.pow(5));
            all.record(duration);
            if value % 3 == 0 { &mut left } else { &mut right }.record(duration);
        }
        left.merge(&right);
        assert_eq!(left, all);
        left.merge(&Histogram::default());
        assert_eq!(left, all);
        let mut empty = Histogram::default();
        empty.merge(&all);
        assert_eq!(empty, all);
    }

    #[test]
    fn extremes_of_length_are_recorded() {
        let mut histogram = Histogram::default();
        histogram.record(Duration::ZERO);
        histogram.record(Duration::MAX);
        histogram.record(Duration::MAX);
        assert_eq!(histogram.min(), Some(Duration::ZERO));
        assert_eq!(histogram.max(), Some(nanos(u64::MAX)));
        assert_eq!(histogram.sum(), nanos(u64::MAX));
        assert_eq!(histogram.quantile(0.3), Some(Duration::ZERO));
        assert_eq!(histogram.mean(), Some(nanos((u128::from(u64::MAX) * 2 / 3) as u64)));
    }
}
