//! Rows of queues, limits and schedules, and of what became of a schedule's instants.
//!
//! Runs, submissions and tasks are in `changes`.

use std::sync::Arc;

use rusqlite::{OptionalExtension as _, params};
use tidewheel_core::id::ScheduleId;
use tidewheel_core::row::{FiringRow, ScheduleRow};
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
    // A schedule changes with every firing, what was asked for hardly ever.
    if writing.known.schedules.get(&row.id).is_some_and(|spec| Arc::ptr_eq(spec, &row.spec)) {
        let sql = "UPDATE schedules SET state = ?2, priority = ?3 WHERE id = ?1";
        let row = params![id, state, row.priority.value()];
        writing.connection.prepare_cached(sql)?.execute(row)?;
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
    let profile = writing.profile(&row.profile)?;
    let place = writing.place()?;
    let sql = "INSERT INTO schedules (id, shard, place, spec, payload, kind, profile, priority,
            state)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
        ON CONFLICT (id) DO UPDATE SET spec = excluded.spec, payload = excluded.payload,
            kind = excluded.kind, profile = excluded.profile, priority = excluded.priority, state = excluded.state";
    writing.connection.prepare_cached(sql)?.execute(params![
        id,
        writing.shard,
        place,
        codec::write(&*row.spec)?,
        row.spec.payload.as_deref(),
        row.spec.kind,
        profile,
        row.priority.value(),
        state,
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
    // An instant that fired stays so.
    let sql = "INSERT INTO firings (schedule, nominal, last, count, run_id, skipped)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6)
        ON CONFLICT (schedule, nominal) DO UPDATE SET last = excluded.last,
            count = excluded.count, run_id = excluded.run_id, skipped = excluded.skipped
        WHERE run_id IS NULL";
    let run = row.fate.ok().map(blob);
    let schedule = row.schedule.0.to_be_bytes();
    let nominal = row.nominal.as_micros();
    let written = writing.connection.prepare_cached(sql)?.execute(params![
        schedule,
        nominal,
        row.last.as_micros(),
        i64::try_from(row.count).unwrap_or(i64::MAX),
        run,
        row.fate.err(),
    ])?;
    if written > 0 || run.is_none() {
        return Ok(());
    }
    // Whatever submission it was before: change sets are not written twice, so this is another one.
    let what = format!("schedule {} fired at {} before", row.schedule, row.nominal);
    Err(StoreError::Conflict { what }.into())
}
