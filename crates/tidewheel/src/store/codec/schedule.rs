//! Schedules and where they stand, as they are written.
//!
//! Payloads are not part of the text: they are bytes and have a column of their own. Instants are
//! microseconds since 1970.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tidewheel_core::calendar::{ClockChanges, Cron, Fold, Gap, Zone};
use tidewheel_core::id::RunId;
use tidewheel_core::row::Wanted;
use tidewheel_core::schedule::{
    Anchor, EndReason, FiredRanges, Misfire, Origin, Overlap, Pending, ScheduleSpec, ScheduleState,
    SkipCounts, Span, Trigger,
};
use tidewheel_core::time::Timestamp;

use super::CodecError;
use super::profile::{RetryRecord, is_false};

/// A [`ScheduleSpec`], without its payload and its kind.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ScheduleRecord {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    trigger: TriggerRecord,
    overlap: OverlapRecord,
    misfire: MisfireRecord,
    misfire_grace: Duration,
    #[serde(default, skip_serializing_if = "Duration::is_zero")]
    jitter: Duration,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    window: Option<(i64, i64)>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    exclusions: Vec<(i64, i64)>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    max_firings: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    backoff: Option<RetryRecord>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum TriggerRecord {
    Once(AnchorRecord),
    FixedRate { period: Duration, start: AnchorRecord },
    FixedDelay { delay: Duration, start: AnchorRecord },
    Calendar { cron: String, zone: String, gap: GapRecord, fold: FoldRecord },
    Custom,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum AnchorRecord {
    At(i64),
    After(Duration),
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum GapRecord {
    Next,
    Skip,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum FoldRecord {
    First,
    Both,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum OverlapRecord {
    Skip,
    QueueOne,
    QueueNewest,
    QueueAll { max: u32 },
    Cancel,
    Allow,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum MisfireRecord {
    Skip,
    Latest,
    All { max: u32 },
}

impl ScheduleRecord {
    pub(super) fn of(spec: &ScheduleSpec) -> Self {
        Self {
            name: spec.name.as_deref().map(str::to_owned),
            trigger: TriggerRecord::of(&spec.trigger),
            overlap: match spec.overlap {
                Overlap::Skip => OverlapRecord::Skip,
                Overlap::QueueOne => OverlapRecord::QueueOne,
                Overlap::QueueNewest => OverlapRecord::QueueNewest,
                Overlap::QueueAll { max } => OverlapRecord::QueueAll { max },
                Overlap::Cancel => OverlapRecord::Cancel,
                Overlap::Allow => OverlapRecord::Allow,
            },
            misfire: match spec.misfire {
                Misfire::Skip => MisfireRecord::Skip,
                Misfire::Latest => MisfireRecord::Latest,
                Misfire::All { max } => MisfireRecord::All { max },
            },
            misfire_grace: spec.misfire_grace,
            jitter: spec.jitter,
            window: spec.window.map(ends),
            exclusions: spec.exclusions.iter().copied().map(ends).collect(),
            max_firings: spec.max_firings,
            backoff: spec.backoff.as_ref().map(RetryRecord::of),
        }
    }

    pub(super) fn into_value(self) -> Result<ScheduleSpec, CodecError> {
        Ok(ScheduleSpec {
            name: self.name.map(Into::into),
            trigger: self.trigger.into_value()?,
            overlap: match self.overlap {
                OverlapRecord::Skip => Overlap::Skip,
                OverlapRecord::QueueOne => Overlap::QueueOne,
                OverlapRecord::QueueNewest => Overlap::QueueNewest,
                OverlapRecord::QueueAll { max } => Overlap::QueueAll { max },
                OverlapRecord::Cancel => Overlap::Cancel,
                OverlapRecord::Allow => Overlap::Allow,
            },
            misfire: match self.misfire {
                MisfireRecord::Skip => Misfire::Skip,
                MisfireRecord::Latest => Misfire::Latest,
                MisfireRecord::All { max } => Misfire::All { max },
            },
            misfire_grace: self.misfire_grace,
            jitter: self.jitter,
            window: self.window.map(span),
            exclusions: self.exclusions.into_iter().map(span).collect(),
            max_firings: self.max_firings,
            backoff: self.backoff.map(RetryRecord::into_value),
            payload: None,
            kind: None,
        })
    }
}

impl TriggerRecord {
    fn of(trigger: &Trigger) -> Self {
        match trigger {
            Trigger::Once(start) => Self::Once(AnchorRecord::of(*start)),
            Trigger::FixedRate { period, start } => {
                Self::FixedRate { period: *period, start: AnchorRecord::of(*start) }
            }
            Trigger::FixedDelay { delay, start } => {
                Self::FixedDelay { delay: *delay, start: AnchorRecord::of(*start) }
            }
            Trigger::Calendar { cron, zone } => Self::Calendar {
                cron: cron.to_string(),
                zone: zone.name().to_owned(),
                gap: match cron.clock_changes().gap {
                    Gap::Next => GapRecord::Next,
                    Gap::Skip => GapRecord::Skip,
                },
                fold: match cron.clock_changes().fold {
                    Fold::First => FoldRecord::First,
                    Fold::Both => FoldRecord::Both,
                },
            },
            Trigger::Custom => Self::Custom,
        }
    }

    fn into_value(self) -> Result<Trigger, CodecError> {
        Ok(match self {
            Self::Once(start) => Trigger::Once(start.into_value()),
            Self::FixedRate { period, start } => {
                Trigger::FixedRate { period, start: start.into_value() }
            }
            Self::FixedDelay { delay, start } => {
                Trigger::FixedDelay { delay, start: start.into_value() }
            }
            Self::Calendar { cron, zone, gap, fold } => {
                let gap = match gap {
                    GapRecord::Next => Gap::Next,
                    GapRecord::Skip => Gap::Skip,
                };
                let fold = match fold {
                    FoldRecord::First => Fold::First,
                    FoldRecord::Both => Fold::Both,
                };
                let cron = Cron::parse(&cron)
                    .map_err(|error| CodecError::value("a calendar", error.to_string()))?
                    .with_clock_changes(ClockChanges { gap, fold });
                let zone = Zone::named(&zone)
                    .map_err(|error| CodecError::value("a time zone", error.to_string()))?;
                Trigger::Calendar { cron, zone }
            }
            Self::Custom => Trigger::Custom,
        })
    }
}

impl AnchorRecord {
    fn of(anchor: Anchor) -> Self {
        match anchor {
            Anchor::At(instant) => Self::At(instant.as_micros()),
            Anchor::After(delay) => Self::After(delay),
        }
    }

    fn into_value(self) -> Anchor {
        match self {
            Self::At(micros) => Anchor::At(Timestamp::from_micros(micros)),
            Self::After(delay) => Anchor::After(delay),
        }
    }
}

/// A [`ScheduleState`].
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct StateRecord {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    anchor: Option<i64>,
    cursor: i64,
    /// Nominal instant, and when it is due.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pending: Option<(i64, i64)>,
    #[serde(default, skip_serializing_if = "VecDeque::is_empty")]
    queue: VecDeque<(i64, i64)>,
    /// Places in the queue that are not the trigger's, and whose they are.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    queued_for: BTreeMap<usize, OriginRecord>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    fired_ranges: Vec<(i64, i64)>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    last_fired: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    last_decided: Option<i64>,
    outstanding: u32,
    #[serde(default, skip_serializing_if = "is_false")]
    cancelling: bool,
    #[serde(default, skip_serializing_if = "is_false")]
    paused: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    end: Option<EndRecord>,
    #[serde(default, skip_serializing_if = "is_false")]
    end_told: bool,
    fired: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    asked_for: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    failed: u64,
    skipped: SkippedRecord,
    last_due_lag: Duration,
    backoff_level: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    not_before: Option<i64>,
    seen_label: i64,
    seen_wall: i64,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum EndRecord {
    Exhausted,
    MaxFirings,
    WindowClosed,
    TriggerStuck,
    Cancelled,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct SkippedRecord {
    misfire: u64,
    overlap: u64,
    paused: u64,
    excluded: u64,
    window: u64,
    queue_full: u64,
    backoff: u64,
}

impl StateRecord {
    pub(super) fn of(state: &ScheduleState) -> Self {
        let micros = Timestamp::as_micros;
        let pending = |pending: &Pending| (micros(pending.nominal), micros(pending.due));
        let ranges = state.fired_ranges.iter();
        Self {
            anchor: state.anchor.map(micros),
            cursor: micros(state.cursor),
            pending: state.pending.as_ref().map(pending),
            queue: state.queue.iter().map(pending).collect(),
            queued_for: (0..)
                .zip(&state.queue)
                .filter(|(_, queued)| queued.origin != Origin::Trigger)
                .map(|(place, queued)| (place, OriginRecord::of(queued.origin)))
                .collect(),
            fired_ranges: ranges.map(|(first, last)| (micros(first), micros(last))).collect(),
            last_fired: state.last_fired.map(micros),
            last_decided: state.last_decided.map(micros),
            outstanding: state.outstanding,
            cancelling: state.cancelling,
            paused: state.paused,
            end: state.end.map(EndRecord::of),
            end_told: state.end_told,
            fired: state.fired,
            asked_for: state.asked_for,
            failed: state.failed,
            skipped: SkippedRecord {
                misfire: state.skipped.misfire,
                overlap: state.skipped.overlap,
                paused: state.skipped.paused,
                excluded: state.skipped.excluded,
                window: state.skipped.window,
                queue_full: state.skipped.queue_full,
                backoff: state.skipped.backoff,
            },
            last_due_lag: state.last_due_lag,
            backoff_level: state.backoff_level,
            not_before: state.not_before.map(micros),
            seen_label: micros(state.seen_label),
            seen_wall: micros(state.seen_wall),
        }
    }

    #[allow(clippy::unnecessary_wraps, reason = "all records are read alike")]
    pub(super) fn into_value(self) -> Result<ScheduleState, CodecError> {
        let instant = Timestamp::from_micros;
        let queued_for = |place| self.queued_for.get(&place).map(OriginRecord::value);
        let pending = |(nominal, due), origin| Pending {
            nominal: instant(nominal),
            due: instant(due),
            origin,
        };
        let queue = (0..)
            .zip(self.queue)
            .map(|(place, queued)| pending(queued, queued_for(place).unwrap_or_default()));
        let ranges = self.fired_ranges.into_iter();
        Ok(ScheduleState {
            anchor: self.anchor.map(instant),
            cursor: instant(self.cursor),
            pending: self.pending.map(|planned| pending(planned, Origin::Trigger)),
            queue: queue.collect(),
            fired_ranges: FiredRanges::from_ranges(
                ranges.map(|(first, last)| (instant(first), instant(last))),
            ),
            last_fired: self.last_fired.map(instant),
            last_decided: self.last_decided.map(instant),
            outstanding: self.outstanding,
            cancelling: self.cancelling,
            paused: self.paused,
            end: self.end.map(EndRecord::into_value),
            end_told: self.end_told,
            fired: self.fired,
            asked_for: self.asked_for,
            failed: self.failed,
            skipped: SkipCounts {
                misfire: self.skipped.misfire,
                overlap: self.skipped.overlap,
                paused: self.skipped.paused,
                excluded: self.skipped.excluded,
                window: self.skipped.window,
                queue_full: self.skipped.queue_full,
                backoff: self.skipped.backoff,
            },
            last_due_lag: self.last_due_lag,
            backoff_level: self.backoff_level,
            not_before: self.not_before.map(instant),
            seen_label: instant(self.seen_label),
            seen_wall: instant(self.seen_wall),
        })
    }
}

/// Where a firing comes from.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum OriginRecord {
    Trigger,
    Backfill(u64),
    ByHand(u64),
}

impl OriginRecord {
    fn of(origin: Origin) -> Self {
        match origin {
            Origin::Trigger => Self::Trigger,
            Origin::Backfill(number) => Self::Backfill(number),
            Origin::ByHand(number) => Self::ByHand(number),
        }
    }

    fn value(&self) -> Origin {
        match *self {
            Self::Trigger => Origin::Trigger,
            Self::Backfill(number) => Origin::Backfill(number),
            Self::ByHand(number) => Origin::ByHand(number),
        }
    }
}

/// Firings whose runs are not made yet: the id of the run in hexadecimal, instant and origin.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct WantedRecord(Vec<(String, i64, OriginRecord)>);

impl WantedRecord {
    pub(super) fn of(wanted: &[Wanted]) -> Self {
        let record = |wanted: &Wanted| {
            let run = format!("{:032x}", wanted.run.0);
            (run, wanted.nominal.as_micros(), OriginRecord::of(wanted.origin))
        };
        Self(wanted.iter().map(record).collect())
    }

    pub(super) fn into_value(self) -> Result<Vec<Wanted>, CodecError> {
        let value = |(run, nominal, origin): (String, i64, OriginRecord)| {
            let id = u128::from_str_radix(&run, 16)
                .map_err(|_| CodecError::value("the id of a run", run))?;
            let nominal = Timestamp::from_micros(nominal);
            Ok(Wanted { run: RunId(id), nominal, origin: origin.value() })
        };
        self.0.into_iter().map(value).collect()
    }
}

impl EndRecord {
    fn of(reason: EndReason) -> Self {
        match reason {
            EndReason::Exhausted => Self::Exhausted,
            EndReason::MaxFirings => Self::MaxFirings,
            EndReason::WindowClosed => Self::WindowClosed,
            EndReason::TriggerStuck => Self::TriggerStuck,
            EndReason::Cancelled => Self::Cancelled,
        }
    }

    fn into_value(self) -> EndReason {
        match self {
            Self::Exhausted => EndReason::Exhausted,
            Self::MaxFirings => EndReason::MaxFirings,
            Self::WindowClosed => EndReason::WindowClosed,
            Self::TriggerStuck => EndReason::TriggerStuck,
            Self::Cancelled => EndReason::Cancelled,
        }
    }
}

fn ends(span: Span) -> (i64, i64) {
    (span.from.as_micros(), span.until.as_micros())
}

fn span((from, until): (i64, i64)) -> Span {
    Span::new(Timestamp::from_micros(from), Timestamp::from_micros(until))
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it so")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}
