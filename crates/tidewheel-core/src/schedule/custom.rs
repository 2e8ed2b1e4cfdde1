//! Triggers whose instants somebody else names: asking for the next one, and what an answer is worth.
//!
//! Who is asked, and where, is the driver's business; a rule that is code is not stored.

use crate::time::{Now, Timestamp};

use super::line::Cover;
use super::schedule::{Schedule, Voice};
use super::trigger::Trigger;
use super::verdict::{EndReason, SkipReason, Verdict};

impl Schedule {
    /// The custom trigger's answer: its next instant, or `None` to end. Unasked ones are ignored.
    ///
    /// An instant that was decided before is asked for once more and then ends the schedule.
    pub fn answer(&mut self, now: Now, next: Option<Timestamp>, out: &mut Vec<Verdict>) {
        self.observe(now);
        if !self.asked || self.state.end.is_some() {
            return;
        }
        self.asked = false;
        let mut voice = Voice::new(out);
        match next {
            Some(instant) => self.accept(instant, &mut voice),
            None => self.end(EndReason::Exhausted),
        }
        self.settle(SkipReason::Misfire, &mut voice);
    }

    /// Whoever names its instants is another one now, or is there again: asks it, unless the next instant
    /// is known.
    pub fn ask_again(&mut self, now: Now, out: &mut Vec<Verdict>) {
        self.observe(now);
        self.asked = false;
        self.settle(SkipReason::Misfire, &mut Voice::new(out));
    }

    /// Whether it must be told its next instant.
    pub(super) fn wants_answer(&self) -> bool {
        self.spec.trigger == Trigger::Custom
            && self.state.end.is_none()
            && self.state.pending.is_none()
            && !self.asked
    }

    /// Takes an instant that the custom trigger named.
    fn accept(&mut self, instant: Timestamp, voice: &mut Voice<'_>) {
        let at = instant.as_micros();
        let line = self.line();
        let (cover, _) = line.cover(at);
        let (floor, ceiling) = (line.floor(), line.ceiling());
        let was_decided = Some(instant) == self.state.last_decided || instant <= self.state.cursor;
        if cover == Cover::Fired || was_decided {
            if self.repeated {
                self.end(EndReason::TriggerStuck);
            }
            self.repeated = true;
            return;
        }
        self.repeated = false;
        if at > ceiling {
            self.end(EndReason::WindowClosed);
        } else if at < floor || cover == Cover::Excluded {
            let reason = if at < floor { SkipReason::Window } else { SkipReason::Excluded };
            self.skip(instant, reason, voice);
            self.state.cursor = instant.min(self.state.seen_label);
            self.state.last_decided = Some(instant);
        } else {
            self.state.anchor = Some(instant);
            self.state.pending = Some(self.with_jitter(at));
        }
    }
}
