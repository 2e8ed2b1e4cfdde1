//! Firings that people ask for: instants of the past, and one now.
//!
//! They meet the overlap policy as if their instants came now. Pauses, windows, exclusions and the
//! wait after a failure are for the trigger's own instants, which are decided in [`super::backlog`].

use crate::time::{Now, Timestamp};

use super::line::Line;
use super::ranges::FiredRanges;
use super::schedule::{Schedule, Voice};
use super::spec::{BATCH_MAX, Overlap, Span};
use super::state::Pending;
use super::trigger::Trigger;
use super::verdict::{Origin, SkipReason, Verdict};

/// No instant that fired.
static NONE: FiredRanges = FiredRanges::new();

/// Why firings cannot be asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BackfillError {
    /// None, or too many.
    #[error("from 1 to {BATCH_MAX} instants can be asked for at once")]
    Amount,
    /// The trigger has not decided it yet, and may still fire it.
    #[error("{0} is not decided yet: the schedule may still fire it by itself")]
    Undecided(Timestamp),
    /// The schedule has ended.
    #[error("the schedule has ended")]
    Ended,
}

impl Schedule {
    /// Fires instants of the past, oldest first, under `overlap` or the schedule's own policy.
    ///
    /// Whether they fired before is not looked at: a schedule does not keep all of its past. Whoever
    /// asks knows the ledger, and each firing has a number of its own in it.
    ///
    /// # Errors
    ///
    /// When nothing can be asked for so; then nothing has changed.
    pub fn backfill(
        &mut self,
        mut instants: Vec<Timestamp>,
        overlap: Option<Overlap>,
        now: Now,
        out: &mut Vec<Verdict>,
    ) -> Result<(), BackfillError> {
        if self.is_ended() {
            return Err(BackfillError::Ended);
        }
        instants.sort_unstable();
        instants.dedup();
        if instants.is_empty() || instants.len() > BATCH_MAX as usize {
            return Err(BackfillError::Amount);
        }
        match instants.last() {
            Some(&newest) if newest > self.state.cursor => {
                return Err(BackfillError::Undecided(newest));
            }
            _ => {}
        }
        self.observe(now);
        let mut voice = Voice::new(out);
        for nominal in instants {
            // A calendar that is set back must not fire it once more by itself.
            if self.spec.trigger.is_wall() {
                self.record(nominal);
            }
            let origin = Origin::Backfill(self.next_number());
            self.ask_for(
                Pending { nominal, due: self.state.seen_label, origin },
                overlap,
                &mut voice,
            );
        }
        Ok(())
    }

    /// Fires once, now, under `overlap` or the schedule's own policy.
    ///
    /// # Errors
    ///
    /// When the schedule has ended.
    pub fn fire_now(
        &mut self,
        overlap: Option<Overlap>,
        now: Now,
        out: &mut Vec<Verdict>,
    ) -> Result<(), BackfillError> {
        if self.is_ended() {
            return Err(BackfillError::Ended);
        }
        self.observe(now);
        let label = self.state.seen_label;
        let origin = Origin::ByHand(self.next_number());
        let instant = Pending { nominal: label, due: label, origin };
        self.ask_for(instant, overlap, &mut Voice::new(out));
        Ok(())
    }

    /// The instants of the trigger in `span` that can be asked for, earliest first: decided ones, in
    /// the window, not excluded; also from before the schedule was set, where the trigger has such.
    /// Each is found by arithmetic.
    pub fn instants(&self, span: Span) -> impl Iterator<Item = Timestamp> + '_ {
        // What fired before can be asked for as well.
        let line = Line { fired: &NONE, ..self.line() };
        let until = span.until.as_micros().saturating_sub(1).min(self.state.cursor.as_micros());
        let next = move |from: i64| line.first_free_from(from).filter(|instant| *instant <= until);
        let first = next(span.from.as_micros());
        std::iter::successors(first, move |instant| next(instant.checked_add(1)?))
            .map(Timestamp::from_micros)
    }

    /// The instants that will fire if nothing is changed, the next one first, as far as the trigger can
    /// tell now: one that counts from the end of the work before, or asks somebody, knows only the next.
    pub fn upcoming(&self) -> impl Iterator<Item = Timestamp> + '_ {
        let knows_more = !matches!(self.spec.trigger, Trigger::FixedDelay { .. } | Trigger::Custom);
        let line = self.line();
        let first = self.state.pending.map(|pending| pending.nominal.as_micros());
        let next = move |at: &i64| line.first_free_from(at.checked_add(1)?).filter(|_| knows_more);
        let left = usize::try_from(self.firings_left()).unwrap_or(usize::MAX);
        std::iter::successors(first, next).take(left).map(Timestamp::from_micros)
    }

    pub(super) fn skip_asked_for(
        &mut self,
        instant: Pending,
        reason: SkipReason,
        voice: &mut Voice<'_>,
    ) {
        self.state.skipped.add(reason, 1);
        let (first, last, origin) = (instant.nominal, instant.nominal, instant.origin);
        voice.say(Verdict::Skipped { count: 1, first, last, reason, origin });
    }

    fn next_number(&mut self) -> u64 {
        self.state.asked_for += 1;
        self.state.asked_for
    }

    /// Starts, queues or skips one.
    ///
    /// Where the schedule itself allows overlap nothing ever waits, so there a policy that queues
    /// lets all of them start.
    fn ask_for(&mut self, instant: Pending, overlap: Option<Overlap>, voice: &mut Voice<'_>) {
        let overlap = overlap.unwrap_or(self.spec.overlap);
        let waiting = self.state.queue.len();
        let is_free = self.state.outstanding == 0 && waiting == 0;
        match overlap {
            _ if is_free => self.launch(instant, voice),
            Overlap::Allow => self.launch(instant, voice),
            Overlap::Skip => self.skip_asked_for(instant, SkipReason::Overlap, voice),
            Overlap::QueueOne if waiting == 0 => self.state.queue.push_back(instant),
            Overlap::QueueAll { max } if waiting < max as usize => {
                self.state.queue.push_back(instant);
            }
            Overlap::QueueOne | Overlap::QueueAll { .. } => {
                self.skip_asked_for(instant, SkipReason::QueueFull, voice);
            }
            Overlap::QueueNewest => {
                self.drop_queued(SkipReason::QueueFull, voice);
                self.state.queue.push_back(instant);
            }
            Overlap::Cancel => {
                self.drop_queued(SkipReason::Overlap, voice);
                self.state.queue.push_back(instant);
                self.cancel_running(voice);
            }
        }
        self.start_queued(voice);
    }
}
