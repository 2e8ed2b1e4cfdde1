//! Rows of queues, limits and schedules, and of what became of a schedule's instants.
//!
//! Runs, submissions and tasks are in `changes`.

use std::sync::Arc;

use rusqlite::{OptionalExtension as _, params};
use tidewheel_core::id::ScheduleId;
use tidewheel_core::input::Fires;
use tidewheel_core::row::{Fate, FiringRow, ScheduleRow};
use tidewheel_core::spec::{LimitSpec, QueueSpec};

use super::changes::{Writing, blob};
use super::store::Fault;
use crate::store::{StoreError, codec};

pub(super) fn pause(writing: &mut Writing<'_>, paused: bool) -> Result<(), Fault> {
    let sql = "UPDATE shards SET paused = ?2 WHERE id = ?1";
    writing.connection.prepare_cached(sql)?.execute(params![writing.shard, paused])?;
    Ok(())
}

pub(super) fn store_queue(
    writing: &mut Writing<'_>,
    name: &str,
    spec: &QueueSpec,
    paused: bool,
) -> Result<(), Fault> {
    let sql = "INSERT INTO queues (shard, name, spec, paused) VALUES (?1, ?2, ?3, ?4)
        ON CONFLICT (shard, name) DO UPDATE SET spec = excluded.spec, paused = excluded.paused";
    let row = params![writing.shard, name, codec::write(spec)?, paused];
    writing.connection.prepare_cached(sql)?.execute(row)?;
    Ok(())
}

pub(super) fn store_limit(
    writing: &mut Writing<'_>,
    name: &str,
    spec: &LimitSpec,
) -> Result<(), Fault> {
    let sql = "INSERT INTO limits (shard, name, spec) VALUES (?1, ?2, ?3)
        ON CONFLICT (shard, name) DO UPDATE SET spec = excluded.spec";
    let row = params![writing.shard, name, codec::write(spec)?];
    writing.connection.prepare_cached(sql)?.execute(row)?;
    Ok(())
}

pub(super) fn store_schedule(writing: &mut Writing<'_>, row: &ScheduleRow) -> Result<(), Fault> {
    let id = row.id.0.to_be_bytes();
    let state = codec::write(&row.state)?;
    let wanted = (!row.wanted.is_empty()).then(|| codec::write(&row.wanted)).transpose()?;
    // A schedule changes with every firing, what was asked for hardly ever.
    if writing.known.schedules.get(&row.id).is_some_and(|spec| Arc::ptr_eq(spec, &row.spec)) {
        let sql = "UPDATE schedules SET state = ?2, wanted = ?3 WHERE id = ?1";
        writing.connection.prepare_cached(sql)?.execute(params![id, state, wanted])?;
        return Ok(());
    }
    let sql = "SELECT ended FROM schedules WHERE id = ?1";
    let mut statement = writing.connection.prepare_cached(sql)?;
    if statement.query_row([id], |row| row.get(0)).optional()? == Some(true) {
        // The same identity once more is another schedule: its instants begin anew.
        let sql = "DELETE FROM firings WHERE schedule = ?1";
        writing.connection.prepare_cached(sql)?.execute([id])?;
        writing.connection.prepare_cached("DELETE FROM schedules WHERE id = ?1")?.execute([id])?;
    }
    let (profile, priority) = match &row.fires {
        Fires::Task { profile, priority } => {
            (Some(writing.profile(profile)?), Some(priority.value()))
        }
        Fires::Run => (None, None),
    };
    let place = writing.place()?;
    let sql = "INSERT INTO schedules (id, shard, place, spec, payload, kind, profile, priority,
            state, wanted)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
        ON CONFLICT (id) DO UPDATE SET spec = excluded.spec, payload = excluded.payload,
            kind = excluded.kind, profile = excluded.profile, priority = excluded.priority,
            state = excluded.state, wanted = excluded.wanted";
    writing.connection.prepare_cached(sql)?.execute(params![
        id,
        writing.shard,
        place,
        codec::write(&*row.spec)?,
        row.spec.payload.as_deref(),
        row.spec.kind,
        profile,
        priority,
        state,
        wanted,
    ])?;
    writing.known.schedules.insert(row.id, Arc::clone(&row.spec));
    Ok(())
}

pub(super) fn end_schedule(writing: &mut Writing<'_>, id: ScheduleId) -> Result<(), Fault> {
    let sql = "UPDATE schedules SET ended = 1 WHERE id = ?1";
    writing.connection.prepare_cached(sql)?.execute([id.0.to_be_bytes()])?;
    writing.known.schedules.remove(&id);
    Ok(())
}

pub(super) fn store_firing(writing: &mut Writing<'_>, row: &FiringRow) -> Result<(), Fault> {
    // An instant that fired stays so, but may turn out to come to nothing.
    let sql =
        "INSERT INTO firings (schedule, nominal, number, origin, last, count, run_id, skipped,
            error)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
        ON CONFLICT (schedule, nominal, number) DO UPDATE SET last = excluded.last,
            count = excluded.count, run_id = excluded.run_id, skipped = excluded.skipped,
            error = excluded.error
        WHERE run_id IS NULL OR (run_id = excluded.run_id AND excluded.error IS NOT NULL)";
    let (skipped, error) = match &row.fate {
        Fate::Fired(_) => (None, None),
        Fate::Skipped(word) => (Some(*word), None),
        Fate::NotMade { error, .. } => (None, Some(&**error)),
    };
    let run = row.fate.run().map(blob);
    let written = writing.connection.prepare_cached(sql)?.execute(params![
        row.schedule.0.to_be_bytes(),
        row.nominal.as_micros(),
        row.origin.number().cast_signed(),
        row.origin.word(),
        row.last.as_micros(),
        i64::try_from(row.count).unwrap_or(i64::MAX),
        run,
        skipped,
        error,
    ])?;
    if written > 0 || run.is_none() {
        return Ok(());
    }
    // Whatever submission it was before: change sets are not written twice, so this is another one.
    let what = format!("schedule {} fired at {} before", row.schedule, row.nominal);
    Err(StoreError::Conflict { what }.into())
}
