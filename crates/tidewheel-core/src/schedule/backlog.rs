//! What becomes of the instants that are due: misfire, overlap, queue and jitter.
//!
//! When it is time to ask, and all that begins or ends a schedule, is in [`super::schedule`].

use std::time::Duration;

use crate::time::Timestamp;

use super::line::{Line, Skip};
use super::schedule::{Schedule, Voice};
use super::spec::{Misfire, Overlap};
use super::state::Pending;
use super::trigger::{Series, Trigger, micros};
use super::verdict::{EndReason, Firing, Origin, SkipReason, Verdict};

impl Schedule {
    pub(super) fn line(&self) -> Line<'_> {
        Line {
            series: Series::new(&self.spec.trigger, self.state.anchor),
            window: self.spec.window,
            exclusions: &self.spec.exclusions,
            fired: &self.state.fired_ranges,
        }
    }

    /// Decides every instant that is due and plans the next.
    ///
    /// An instant is in time while it is no later than the grace and no newer one is due; all
    /// others are the misfire policy's, which names `reason` for those it drops.
    pub(super) fn decide_due(&mut self, reason: SkipReason, voice: &mut Voice<'_>) {
        let label = self.state.seen_label;
        let Some(pending) = self.state.pending.filter(|pending| pending.due <= label) else {
            return;
        };
        // What passed during a pause passed for certain, so there the grace has no say.
        let grace =
            if reason == SkipReason::Paused { Duration::ZERO } else { self.spec.misfire_grace };
        let newest = self.newest_due(pending);
        let is_in_time = label.since(newest.due) <= grace;
        if is_in_time && newest == pending {
            self.pass(before(pending), None, voice);
            self.admit(pending, false, voice);
        } else {
            let kept = match self.spec.misfire {
                Misfire::Skip if is_in_time => vec![newest],
                Misfire::Skip => Vec::new(),
                Misfire::Latest => vec![newest],
                Misfire::All { max } => self.newest_free(pending, newest, u64::from(max)),
            };
            let until = kept.first().map_or(newest.nominal, |oldest| before(*oldest));
            self.pass(until, Some(reason), voice);
            // While older work runs or waits, it is the overlap policy that they meet.
            let catches_up = matches!(self.spec.misfire, Misfire::All { .. })
                && self.may_start()
                && self.state.queue.is_empty();
            for instant in kept {
                self.pass(before(instant), None, voice);
                self.admit(instant, catches_up, voice);
                self.state.cursor = instant.nominal;
            }
        }
        self.state.cursor = newest.nominal;
        self.state.last_decided = Some(newest.nominal);
        self.plan_next();
    }

    /// Starts what waits in the queue, as far as it may.
    ///
    /// A pause and the wait after a failure are for the trigger's instants, not for what people ask
    /// for.
    pub(super) fn start_queued(&mut self, voice: &mut Voice<'_>) {
        while self.may_start() {
            let only_asked_for = self.state.paused || self.is_held();
            let may_go = |instant: &Pending| !only_asked_for || instant.origin != Origin::Trigger;
            let place = self.state.queue.iter().position(may_go);
            let Some(instant) = place.and_then(|place| self.state.queue.remove(place)) else {
                return;
            };
            self.launch(instant, voice);
        }
    }

    /// Whether work may start beside what runs.
    pub(super) fn may_start(&self) -> bool {
        self.state.outstanding == 0 || self.spec.overlap == Overlap::Allow
    }

    /// How many firings the schedule has left, queued ones counted as fired.
    pub(super) fn firings_left(&self) -> u64 {
        let queue = self.state.queue.iter();
        let queued = queue.filter(|instant| instant.origin == Origin::Trigger).count();
        let accepted = self.state.fired.saturating_add(queued as u64);
        self.spec.max_firings.map_or(u64::MAX, |max| max.saturating_sub(accepted))
    }

    /// `nominal` with its jitter: less than the distance to the instant after it.
    pub(super) fn with_jitter(&self, nominal: i64) -> Pending {
        let at = Timestamp::from_micros(nominal);
        let jitter = micros(self.spec.jitter);
        if jitter == 0 {
            return Pending { nominal: at, due: at, origin: Origin::Trigger };
        }
        let following = self.line().series.first_from(nominal.saturating_add(1));
        let room =
            following.map_or(i64::MAX, |next| next.saturating_sub(nominal).saturating_sub(1));
        let most = jitter.min(room).unsigned_abs();
        let drawn =
            hash(&[self.seed, self.id as u64, (self.id >> 64) as u64, nominal.cast_unsigned()]);
        // Scaling by multiplication avoids the bias of a remainder.
        let share = ((u128::from(drawn) * (u128::from(most) + 1)) >> 64) as u64;
        let due = at.after(Duration::from_micros(share));
        Pending { nominal: at, due, origin: Origin::Trigger }
    }

    pub(super) fn skip(&mut self, instant: Timestamp, reason: SkipReason, voice: &mut Voice<'_>) {
        self.tell_skipped(Skip { count: 1, first: instant, last: instant, reason }, voice);
    }

    fn tell_skipped(&mut self, skip: Skip, voice: &mut Voice<'_>) {
        self.state.skipped.add(skip.reason, skip.count);
        let series = self.line().series;
        voice.skipped(skip, |last| {
            series.first_from(last.as_micros().saturating_add(1)) == Some(skip.first.as_micros())
        });
    }

    /// Whether the wait after a failure is not over.
    fn is_held(&self) -> bool {
        self.state.not_before.is_some_and(|not_before| self.state.seen_label < not_before)
    }

    /// The newest instant that is due, at least `pending`.
    fn newest_due(&self, pending: Pending) -> Pending {
        let oldest = pending.nominal.as_micros();
        let label = self.state.seen_label;
        let newest_until = |until| match self.line().last_free_until(until, oldest) {
            Some(instant) if instant > oldest => self.with_jitter(instant),
            _ => pending,
        };
        let newest = newest_until(label.as_micros());
        // Jitter ends before the next instant, so only the last one can be not yet due.
        if newest.due <= label {
            newest
        } else {
            newest_until(newest.nominal.as_micros().saturating_sub(1))
        }
    }

    /// Up to `max` of the newest instants from `oldest` to `newest`, in order.
    fn newest_free(&self, oldest: Pending, newest: Pending, max: u64) -> Vec<Pending> {
        let max = max.min(self.firings_left());
        let line = self.line();
        let from = oldest.nominal.as_micros();
        let earlier = |instant: &Pending| {
            let until = instant.nominal.as_micros().checked_sub(1)?;
            let instant = line.last_free_until(until, from)?;
            Some(if instant == from { oldest } else { self.with_jitter(instant) })
        };
        let newest_first = std::iter::successors(Some(newest), earlier);
        let mut instants: Vec<_> =
            newest_first.take(usize::try_from(max).unwrap_or(usize::MAX)).collect();
        instants.reverse();
        instants
    }

    /// Moves the cursor to `until` and tells what was skipped on the way.
    fn pass(&mut self, until: Timestamp, reason: Option<SkipReason>, voice: &mut Voice<'_>) {
        let from = self.state.cursor.as_micros().saturating_add(1);
        for skip in self.line().skips(from, until.as_micros(), reason) {
            self.tell_skipped(skip, voice);
        }
        self.state.cursor = self.state.cursor.max(until);
    }

    /// Starts, queues or skips one instant that is to fire.
    ///
    /// Instants that are caught up with wait their turn whatever the overlap policy: no work of
    /// the schedule kept them from starting in time.
    fn admit(&mut self, instant: Pending, catches_up: bool, voice: &mut Voice<'_>) {
        let nominal = instant.nominal;
        let waiting = self.state.queue.len();
        let is_free = self.may_start() && waiting == 0;
        if !self.is_held() && is_free {
            self.record(nominal);
            return self.launch(instant, voice);
        }
        if catches_up {
            return self.enqueue(instant);
        }
        if self.is_held() {
            return self.skip(nominal, SkipReason::Backoff, voice);
        }
        match self.spec.overlap {
            Overlap::Skip => self.skip(nominal, SkipReason::Overlap, voice),
            Overlap::QueueOne if waiting == 0 => self.enqueue(instant),
            Overlap::QueueAll { max } if waiting < max as usize => self.enqueue(instant),
            Overlap::QueueOne | Overlap::QueueAll { .. } => {
                self.skip(nominal, SkipReason::QueueFull, voice);
            }
            Overlap::QueueNewest => {
                self.drop_queued(SkipReason::QueueFull, voice);
                self.enqueue(instant);
            }
            Overlap::Cancel => self.displace(instant, voice),
            Overlap::Allow => self.enqueue(instant),
        }
    }

    /// Puts `instant` in the place of everything that runs or waits.
    fn displace(&mut self, instant: Pending, voice: &mut Voice<'_>) {
        self.drop_queued(SkipReason::Overlap, voice);
        self.enqueue(instant);
        self.cancel_running(voice);
    }

    /// Skips everything that waits.
    pub(super) fn drop_queued(&mut self, reason: SkipReason, voice: &mut Voice<'_>) {
        while let Some(older) = self.state.queue.pop_front() {
            match older.origin {
                Origin::Trigger => self.skip(older.nominal, reason, voice),
                _ => self.skip_asked_for(older, reason, voice),
            }
        }
    }

    /// Asks for what runs to be cancelled, once.
    pub(super) fn cancel_running(&mut self, voice: &mut Voice<'_>) {
        if self.state.outstanding > 0 && !self.state.cancelling {
            self.state.cancelling = true;
            voice.say(Verdict::CancelRunning);
        }
    }

    fn enqueue(&mut self, instant: Pending) {
        self.record(instant.nominal);
        self.state.queue.push_back(instant);
    }

    pub(super) fn launch(&mut self, instant: Pending, voice: &mut Voice<'_>) {
        if self.room == 0 {
            return match instant.origin {
                Origin::Trigger => self.skip(instant.nominal, SkipReason::QueueFull, voice),
                _ => self.skip_asked_for(instant, SkipReason::QueueFull, voice),
            };
        }
        self.room -= 1;
        let state = &mut self.state;
        if instant.origin == Origin::Trigger {
            state.fired += 1;
            state.last_fired = Some(instant.nominal);
        }
        state.outstanding = state.outstanding.saturating_add(1);
        state.last_due_lag = state.seen_label.since(instant.due);
        voice.say(Verdict::Fire(Firing {
            nominal: instant.nominal,
            ordinal: state.fired,
            due_lag: state.last_due_lag,
            origin: instant.origin,
        }));
    }

    /// Remembers that `nominal` fires.
    pub(super) fn record(&mut self, nominal: Timestamp) {
        let at = nominal.as_micros();
        let Line { series, fired, .. } = self.line();
        // Time that cannot jump leaves no gaps worth keeping.
        let joins_before = !self.spec.trigger.is_wall()
            || fired
                .end_before(at)
                .is_some_and(|end| series.last_until(at.saturating_sub(1)) == Some(end));
        let joins_after = fired
            .next_start(at)
            .is_some_and(|start| series.first_from(at.saturating_add(1)) == Some(start));
        self.state.fired_ranges.insert(at, joins_before, joins_after);
    }

    /// Plans what follows the instant just decided.
    fn plan_next(&mut self) {
        self.state.pending = None;
        if self.firings_left() == 0 {
            return self.end(EndReason::MaxFirings);
        }
        match self.spec.trigger {
            Trigger::FixedDelay { .. } | Trigger::Custom => {
                self.state.anchor = None;
                self.plan_delay(self.state.seen_label);
            }
            _ => self.plan_after_cursor(),
        }
    }
}

/// The last place before `instant`.
fn before(instant: Pending) -> Timestamp {
    Timestamp::from_micros(instant.nominal.as_micros().saturating_sub(1))
}

/// A number that looks random and depends on all of `parts` (splitmix64 over each in turn).
fn hash(parts: &[u64]) -> u64 {
    parts.iter().fold(0, |state, part| {
        let value = (state ^ part).wrapping_add(0x9e37_79b9_7f4a_7c15);
        let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        value ^ (value >> 31)
    })
}
