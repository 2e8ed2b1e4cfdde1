//! What is known of schedules: how they stand, when they fire next, what became of their instants.
//!
//! It is read from the store, so that nobody need have them. What is done with them is in [`crate::house`].

use std::collections::BTreeSet;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use tidewheel::id::ScheduleId;
use tidewheel::schedule::{Misfire, Origin, Overlap, ScheduleSpec, Span, Trigger};
use tidewheel::store::{
    FiringFate, FiringSummary, LimitSummary, QueueSummary, RunSummary, ScheduleCommand,
    ScheduleSummary,
};
use tidewheel::{RunId, Timestamp};
use tidewheel_flow::FlowOrder;

use super::calendar::{upcoming_firing, zone_of};
use super::error::DeskError;
use super::local::LocalDesk;
use super::states::run_state;
use crate::api::{
    BackfillWish, Ledger, LedgerFate, LedgerLine, LedgerWish, RunState, ScheduleAsked,
    ScheduleLine, ScheduleList, ScheduleWord, Upcoming,
};
use crate::house::schedule_of;
use crate::text::nearest;

/// How long whoever has a schedule is waited for.
const PATIENCE: Duration = Duration::from_secs(5);

/// Firings that may be asked for at once, unless something else is said.
pub(crate) const BACKFILL_MAX: u32 = 100;

/// What may be wished of a schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScheduleWish {
    /// That nothing fires until it is resumed.
    Pause,
    /// That it fires again.
    Resume,
    /// That it fires once, now.
    Fire,
}

/// Schedules whose flows are remembered by name.
const FLOWS_MAX: usize = 65_536;

/// Firings of one instant that are looked through for one of them.
const SAME_MAX: u32 = 100;

/// Lines of a ledger that are looked through for what was missed.
const LEDGER_MAX: u32 = 1_000_000;

impl LocalDesk {
    /// The schedules that have not ended, by name, or all that are still known.
    ///
    /// # Errors
    ///
    /// When the folder cannot be read.
    pub fn schedules(&self, ended_too: bool) -> Result<ScheduleList, DeskError> {
        let mut schedules = self.schedules_within(ended_too)?;
        let named: BTreeSet<_> = schedules
            .iter()
            .filter(|it| !it.is_ended)
            .filter_map(|it| it.spec.name.clone())
            .collect();
        // One that was set again under its name has taken the place of those before.
        schedules.retain(|it| {
            !it.is_ended || !it.spec.name.as_ref().is_some_and(|name| named.contains(name))
        });
        let mut lines =
            schedules.iter().map(|it| self.schedule_line(it)).collect::<Result<Vec<_>, _>>()?;
        lines.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(ScheduleList { version: None, schedules: lines })
    }

    /// The next instants of a schedule.
    ///
    /// # Errors
    ///
    /// When there is no such schedule, or the folder cannot be read.
    pub fn upcoming(&self, name: &str, count: u32) -> Result<Upcoming, DeskError> {
        let schedule = self.find_schedule(name)?;
        Ok(instants(name, &schedule, schedule.upcoming(count as usize)))
    }

    /// What became of the instants of a schedule, also of one of this name that has ended.
    ///
    /// # Errors
    ///
    /// When there never was such a schedule, or the folder cannot be read.
    pub fn ledger(&self, name: &str, wish: &LedgerWish) -> Result<Ledger, DeskError> {
        let known = self.schedules_within(true)?;
        let is_meant = |it: &&ScheduleSummary| it.spec.name.as_deref() == Some(name);
        let mut firings = Vec::new();
        for schedule in known.iter().filter(is_meant) {
            let ledger = self.read(|it| it.firings(schedule.id, wish.before, wish.limit))?;
            firings.extend(ledger);
        }
        if !known.iter().any(|it| is_meant(&it)) {
            return Err(near_schedule(name, names(&known)));
        }
        firings.sort_by_key(|firing| std::cmp::Reverse(firing.nominal));
        firings.truncate(wish.limit as usize);
        let lines = firings.into_iter().map(|firing| self.ledger_line(firing));
        Ok(Ledger {
            version: None,
            schedule: name.to_owned(),
            firings: lines.collect::<Result<_, _>>()?,
        })
    }

    /// The instants of a schedule in a span that did not run, and how many firings had been asked for when that was
    /// read.
    ///
    /// # Errors
    ///
    /// When there is no such schedule, there are more than `max`, or the folder cannot be read.
    pub fn missed(
        &self,
        id: ScheduleId,
        span: Span,
        max: u32,
    ) -> Result<(Vec<Timestamp>, u64), DeskError> {
        let schedules = self.read(|reader| reader.schedules(false))?;
        let Some(schedule) = schedules.into_iter().find(|it| it.id == id) else {
            return Err(tidewheel::Rejection::Gone("schedule").into());
        };
        let ledger = self.read(|reader| reader.firings(id, Some(span.until), LEDGER_MAX))?;
        let span = in_its_life(&schedule, &ledger, span);
        let missed = schedule.missed(&ledger, span, max as usize + 1);
        match missed.len() > max as usize {
            true => Err(DeskError::TooManyFirings { max }),
            false => Ok((missed, schedule.state.asked_for)),
        }
    }

    /// Leaves a wish for whoever has a schedule: it is paused, resumed, or fires once.
    ///
    /// # Errors
    ///
    /// When there is no such schedule, nobody has it, or whoever does has not followed it in time.
    pub fn ask_schedule(&self, name: &str, wish: ScheduleWish) -> Result<ScheduleAsked, DeskError> {
        let schedule = self.live_schedule(name)?;
        let asked_for = schedule.state.asked_for;
        let (command, asked, firings) = match wish {
            ScheduleWish::Pause => (ScheduleCommand::Pause, "paused", None),
            ScheduleWish::Resume => (ScheduleCommand::Resume, "resumed", None),
            ScheduleWish::Fire => (ScheduleCommand::FireNow { asked_for }, "fired", Some(1)),
        };
        self.send_to(&schedule, name, &[command])?;
        let (schedule, asked) = (name.to_owned(), asked.to_owned());
        Ok(ScheduleAsked { version: None, schedule, asked, firings })
    }

    /// Leaves the wish that instants of the past fire.
    ///
    /// # Errors
    ///
    /// As for [`LocalDesk::ask_schedule`], and when there are too many.
    pub fn backfill(&self, name: &str, wish: &BackfillWish) -> Result<ScheduleAsked, DeskError> {
        let schedule = self.live_schedule(name)?;
        let instants = self.backfilled(&schedule, wish)?;
        let commands: Vec<ScheduleCommand> = (schedule.state.asked_for..)
            .zip(&instants)
            .map(|(asked_for, nominal)| {
                let (nominal, at_once) = (*nominal, wish.at_once);
                ScheduleCommand::Backfill { nominal, asked_for, at_once }
            })
            .collect();
        if !commands.is_empty() {
            self.send_to(&schedule, name, &commands)?;
        }
        Ok(ScheduleAsked {
            version: None,
            schedule: name.to_owned(),
            asked: "backfilled".to_owned(),
            firings: u32::try_from(instants.len()).ok(),
        })
    }

    /// The instants of the past that would fire. Nothing is asked for.
    ///
    /// # Errors
    ///
    /// As for [`LocalDesk::backfill`].
    pub fn preview_backfill(&self, name: &str, wish: &BackfillWish) -> Result<Upcoming, DeskError> {
        let schedule = self.live_schedule(name)?;
        Ok(instants(name, &schedule, self.backfilled(&schedule, wish)?))
    }

    /// The instants that a backfill is about.
    fn backfilled(
        &self,
        schedule: &ScheduleSummary,
        wish: &BackfillWish,
    ) -> Result<Vec<Timestamp>, DeskError> {
        let max = wish.max.unwrap_or(BACKFILL_MAX);
        let span = wish.span(tidewheel::clock::wall_clock())?;
        let most = max as usize + 1;
        let instants = if wish.missed {
            let ledger = self.read(|it| it.firings(schedule.id, Some(span.until), LEDGER_MAX))?;
            let span = in_its_life(schedule, &ledger, span);
            schedule.missed(&ledger, span, most)
        } else {
            schedule.instants(span, most)
        };
        match instants.len() > max as usize {
            true => Err(DeskError::TooManyFirings { max }),
            false => Ok(instants),
        }
    }

    fn live_schedule(&self, name: &str) -> Result<ScheduleSummary, DeskError> {
        let schedule = self.find_schedule(name)?;
        let is_left = self.folder.is_left(&schedule.shard).map_err(|error| self.failed(error))?;
        match () {
            () if schedule.is_ended => Err(DeskError::ScheduleEnded { schedule: name.to_owned() }),
            () if is_left => Err(DeskError::NotServed { schedule: name.to_owned() }),
            () => Ok(schedule),
        }
    }

    fn send_to(
        &self,
        schedule: &ScheduleSummary,
        name: &str,
        commands: &[ScheduleCommand],
    ) -> Result<(), DeskError> {
        let heard = self.folder.send_to_schedule(schedule.id, commands, PATIENCE);
        match heard.map_err(|error| self.failed(error))? {
            true => Ok(()),
            false => Err(DeskError::NotHeard { schedule: name.to_owned(), patience: PATIENCE }),
        }
    }

    /// What became of an instant that a schedule was told, if it is decided.
    pub(crate) fn firing(
        &self,
        schedule: ScheduleId,
        nominal: Timestamp,
    ) -> Result<Option<FiringSummary>, DeskError> {
        let after = Timestamp::from_micros(nominal.as_micros().saturating_add(1));
        let found = self.read(|reader| reader.firings(schedule, Some(after), 1))?.pop();
        Ok(found.filter(|firing| firing.nominal <= nominal && nominal <= firing.last))
    }

    /// Whether a run is known.
    pub(crate) fn has_run(&self, run: RunId) -> Result<bool, DeskError> {
        Ok(self.read(|reader| reader.run(run))?.is_some())
    }

    /// The schedules of a shard as they are stored: those that have not ended, or those that have.
    pub(crate) fn stored_schedules(
        &self,
        shard: &str,
        is_ended: bool,
    ) -> Result<Vec<ScheduleSummary>, DeskError> {
        let mut schedules = self.read(|reader| reader.schedules(is_ended))?;
        schedules.retain(|it| it.is_ended == is_ended && (is_ended || it.shard == shard));
        Ok(schedules)
    }

    /// The queues of a shard.
    pub(crate) fn stored_queues(&self, shard: &str) -> Result<Vec<QueueSummary>, DeskError> {
        let mut queues = self.read(|reader| reader.queues())?;
        queues.retain(|queue| queue.shard == shard);
        Ok(queues)
    }

    /// The limits of a shard.
    pub(crate) fn stored_limits(&self, shard: &str) -> Result<Vec<LimitSummary>, DeskError> {
        let mut limits = self.read(|reader| reader.limits())?;
        limits.retain(|limit| limit.shard == shard);
        Ok(limits)
    }

    /// A schedule by name; of those that have ended the newest.
    fn find_schedule(&self, name: &str) -> Result<ScheduleSummary, DeskError> {
        let mut known = self.schedules_within(true)?;
        known.sort_by_key(|it| !it.is_ended);
        match known.iter().rposition(|it| it.spec.name.as_deref() == Some(name)) {
            Some(place) => Ok(known.swap_remove(place)),
            None => Err(near_schedule(name, names(&known))),
        }
    }

    /// The schedule that a run is a firing of, as far as it is still known, and why it fired.
    pub(super) fn fired_by(
        &self,
        run: &RunSummary,
    ) -> Result<(Option<String>, Option<String>), DeskError> {
        let Some((schedule, nominal)) = run.firing else { return Ok((None, None)) };
        let name = self.read(|reader| reader.schedule_name(schedule))?;
        // Those of one instant, which are few, stand before the next one.
        let before = Timestamp::from_micros(nominal.as_micros() + 1);
        let firings = self.read(|reader| reader.firings(schedule, Some(before), SAME_MAX))?;
        let own = firings.iter().find(|it| it.fate == FiringFate::Ran(run.id));
        Ok((name, own.map(|it| origin_word(it.origin))))
    }

    fn schedule_line(&self, schedule: &ScheduleSummary) -> Result<ScheduleLine, DeskError> {
        let ScheduleSummary { spec, state, .. } = schedule;
        let is_left = || self.folder.is_left(&schedule.shard).map_err(|error| self.failed(error));
        let word = match () {
            () if schedule.is_ended => ScheduleWord::Ended,
            () if state.paused => ScheduleWord::Paused,
            () if is_left()? => ScheduleWord::Idle,
            () => ScheduleWord::Active,
        };
        let counters = schedule.counters();
        let zone = match &spec.trigger {
            Trigger::Calendar { zone, .. } => Some(zone.name().to_owned()),
            _ => None,
        };
        Ok(ScheduleLine {
            name: spec.name.as_deref().unwrap_or_default().to_owned(),
            flow: self.flow_of(schedule),
            rule: rule(spec),
            zone,
            state: word,
            overlap: overlap(spec.overlap).to_owned(),
            misfire: misfire(spec.misfire).to_owned(),
            next: state.pending.map(|pending| pending.nominal).filter(|_| !schedule.is_ended),
            last: state.last_fired,
            fired: counters.fired,
            asked_for: counters.asked_for,
            failed: counters.failed,
            skipped: counters.skipped.total(),
            running: counters.outstanding,
            waiting: counters.queued,
            backoff_level: counters.backoff_level,
        })
    }

    /// The name of the flow that a schedule runs. A flow is read once for each version.
    pub(super) fn flow_of(&self, schedule: &ScheduleSummary) -> Option<String> {
        let ScheduleSummary { id, spec, .. } = schedule;
        let payload = spec.payload.as_ref()?;
        let mut flows = self.flows.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((same, name)) = flows.get(id)
            && same == payload
        {
            return name.clone();
        }
        let order = FlowOrder::from_payload(spec.kind.as_deref(), Some(payload)).ok();
        let name = order.and_then(|order| Some(order.flow().ok()?.name.clone()));
        if flows.len() >= FLOWS_MAX {
            flows.clear();
        }
        flows.insert(*id, (Arc::clone(payload), name.clone()));
        name
    }

    pub(super) fn ledger_line(&self, firing: FiringSummary) -> Result<LedgerLine, DeskError> {
        let (fate, run, why) = match firing.fate {
            FiringFate::Ran(run) => (LedgerFate::Ran, Some(run), None),
            FiringFate::Skipped(reason) => (LedgerFate::Skipped, None, Some(reason)),
            FiringFate::NotMade { error, .. } => (LedgerFate::NotMade, None, Some(error)),
        };
        Ok(LedgerLine {
            nominal: firing.nominal,
            last: (firing.count > 1).then_some(firing.last),
            count: firing.count,
            origin: origin_word(firing.origin),
            fate,
            why,
            state: run.map(|run| self.state_of(run)).transpose()?.flatten(),
            run_id: run.map(|run| run.to_string()),
        })
    }

    /// How a run stands, if it is still known.
    fn state_of(&self, run: RunId) -> Result<Option<RunState>, DeskError> {
        let Some(detail) = self.read(|reader| reader.run(run))? else { return Ok(None) };
        let is_abandoned = self.is_abandoned(&detail.summary)?;
        Ok(Some(run_state(&detail.summary, is_abandoned)))
    }
}

/// Why an instant fired, in one word.
fn origin_word(origin: Origin) -> String {
    origin.word().replace(' ', "-")
}

/// Instants of a schedule, each in the time zone of its rule.
fn instants(name: &str, schedule: &ScheduleSummary, instants: Vec<Timestamp>) -> Upcoming {
    let zone = match &schedule.spec.trigger {
        Trigger::Calendar { zone, .. } => Some(zone.name().to_owned()),
        _ => None,
    };
    let clock = zone_of(schedule);
    Upcoming {
        version: None,
        schedule: name.to_owned(),
        rule: rule(&schedule.spec),
        zone,
        next: instants.into_iter().map(|at| upcoming_firing(&clock, at)).collect(),
    }
}

/// That there is no such schedule, with the one that may be meant.
pub(crate) fn near_schedule<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> DeskError {
    let near = nearest(name, known).map(str::to_owned);
    DeskError::NoSchedule { schedule: name.to_owned(), near }
}

fn names(known: &[ScheduleSummary]) -> impl Iterator<Item = &str> {
    known.iter().filter_map(|it| it.spec.name.as_deref())
}

/// When a schedule fires, in words.
fn rule(spec: &ScheduleSpec) -> String {
    match &spec.trigger {
        Trigger::Calendar { cron, .. } => cron.to_string(),
        Trigger::FixedRate { period, .. } => format!("every {}", crate::text::span(*period)),
        Trigger::FixedDelay { delay, .. } => {
            format!("{} after each run", crate::text::span(*delay))
        }
        Trigger::Once(tidewheel::schedule::Anchor::At(at)) => format!("at {at}"),
        Trigger::Once(_) => "once".to_owned(),
        Trigger::Custom => outside(spec).unwrap_or_else(|| "by a rule in code".to_owned()),
    }
}

/// What it fires for, as its flow has it.
fn outside(spec: &ScheduleSpec) -> Option<String> {
    let order = FlowOrder::from_payload(spec.kind.as_deref(), spec.payload.as_deref()).ok()?;
    let flow = order.flow().ok()?;
    Some(schedule_of(&flow, spec.name.as_deref()?)?.text.clone())
}

const fn overlap(overlap: Overlap) -> &'static str {
    match overlap {
        Overlap::Skip => "skip",
        Overlap::QueueOne => "queue-one",
        Overlap::QueueNewest => "queue-newest",
        Overlap::QueueAll { .. } => "queue-all",
        Overlap::Cancel => "cancel",
        Overlap::Allow => "allow",
    }
}

const fn misfire(misfire: Misfire) -> &'static str {
    match misfire {
        Misfire::Skip => "skip",
        Misfire::Latest => "latest",
        Misfire::All { .. } => "all",
    }
}

/// A span that begins with time itself is one that nobody gave: then it begins with the first instant that was decided
/// about. What was before it was not missed: there was no schedule.
fn in_its_life(schedule: &ScheduleSummary, ledger: &[FiringSummary], span: Span) -> Span {
    if span.from > Timestamp::UNIX_EPOCH {
        return span;
    }
    let decided = ledger.iter().filter(|firing| firing.origin == Origin::Trigger);
    let first = decided.map(|firing| firing.nominal).min();
    Span::new(first.unwrap_or(schedule.state.cursor).min(span.until), span.until)
}
