//! [`Pace`]: when frames follow each other.
//!
//! Whether the terminal has taken the frame before is known to [`crate::outlet`].

use std::time::{Duration, Instant};

/// Bytes of a frame that a link is trusted to carry in a millisecond. One that is slower falls behind for a moment; one
/// that is not is never noticed to be waited for.
const BYTES_A_MILLISECOND: usize = 64;

/// Frames are at least so far apart: nobody sees more.
const FRAME_MIN: Duration = Duration::from_millis(30);

/// And at most so far, however large they are.
const FRAME_MAX: Duration = Duration::from_millis(250);

/// When frames follow each other. It has no clock: the time comes with each question.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Pace {
    /// Before this there is no other frame.
    next: Option<Instant>,
}

impl Pace {
    /// A frame of so many bytes was drawn.
    pub(crate) fn drawn(&mut self, at: Instant, bytes: usize) {
        self.next = at.checked_add(pause(bytes));
    }

    /// For how long there is no frame, if it is too early for one.
    pub(crate) fn early(&self, now: Instant) -> Option<Duration> {
        self.next?.checked_duration_since(now).filter(|left| !left.is_zero())
    }
}

/// How long no other frame follows one of so many bytes.
fn pause(bytes: usize) -> Duration {
    let carried = Duration::from_millis((bytes / BYTES_A_MILLISECOND) as u64);
    carried.clamp(FRAME_MIN, FRAME_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_frames_are_further_apart() {
        assert_eq!(pause(0), FRAME_MIN);
        assert_eq!(pause(6_400), Duration::from_millis(100));
        assert_eq!(pause(1 << 20), FRAME_MAX);
        let (begin, mut pace) = (Instant::now(), Pace::default());
        assert_eq!(pace.early(begin), None, "the first one is at once");
        pace.drawn(begin, 6_400);
        let after = |milliseconds| pace.early(begin + Duration::from_millis(milliseconds));
        assert_eq!(after(40), Some(Duration::from_millis(60)));
        assert_eq!((after(100), after(1000)), (None, None));
    }
}
