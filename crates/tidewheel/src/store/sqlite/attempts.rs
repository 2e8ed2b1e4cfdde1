//! Rows of attempts: what the scheduler says of those that did not end their task, and what
//! executors know of any.
//!
//! The last attempt of a task that nobody left a record of has no row: the task's own says it all.

use std::path::Path;

use rusqlite::{Connection, params};
use tidewheel_core::row::TaskRow;

use crate::store::{AttemptRecord, LogFile, OutputValue, RecordedOutcome};

/// Writes what the scheduler says of an attempt; what an executor knew before is not touched.
pub(super) fn write_ended(
    connection: &Connection,
    row: &TaskRow,
    started_at: Option<i64>,
) -> rusqlite::Result<()> {
    let sql = "INSERT INTO attempts (run_id, idx, number, started_at, ended_at, outcome, error)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
        ON CONFLICT (run_id, idx, number) DO UPDATE SET
            started_at = COALESCE(started_at, excluded.started_at),
            ended_at = COALESCE(ended_at, excluded.ended_at),
            outcome = COALESCE(outcome, excluded.outcome),
            error = COALESCE(error, excluded.error)";
    connection.prepare_cached(sql)?.execute(params![
        row.id.run.0.to_be_bytes(),
        row.id.index,
        row.attempts,
        started_at,
        row.at.as_micros(),
        RecordedOutcome::Again(row.reason).word(),
        row.error,
    ])?;
    Ok(())
}

/// Writes what an executor knows of an attempt.
pub(super) fn write_record(
    connection: &Connection,
    record: &AttemptRecord,
    folder: &Path,
) -> rusqlite::Result<()> {
    let sql = "INSERT INTO attempts (run_id, idx, number, started_at, ended_at, outcome, code,
            signal, error, tail, stdout_path, stdout_bytes, stdout_cut, stderr_path, stderr_bytes,
            stderr_cut, warnings)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)
        ON CONFLICT (run_id, idx, number) DO UPDATE SET
            started_at = COALESCE(excluded.started_at, started_at),
            ended_at = COALESCE(excluded.ended_at, ended_at),
            outcome = COALESCE(excluded.outcome, outcome),
            code = COALESCE(excluded.code, code),
            signal = COALESCE(excluded.signal, signal),
            error = COALESCE(excluded.error, error),
            tail = COALESCE(excluded.tail, tail),
            stdout_path = COALESCE(excluded.stdout_path, stdout_path),
            stdout_bytes = COALESCE(excluded.stdout_bytes, stdout_bytes),
            stdout_cut = COALESCE(excluded.stdout_cut, stdout_cut),
            stderr_path = COALESCE(excluded.stderr_path, stderr_path),
            stderr_bytes = COALESCE(excluded.stderr_bytes, stderr_bytes),
            stderr_cut = COALESCE(excluded.stderr_cut, stderr_cut),
            warnings = COALESCE(excluded.warnings, warnings)";
    let run = record.task.run.0.to_be_bytes();
    let path = |log: &LogFile| stored_path(&log.path, folder);
    let bytes = |log: &LogFile| size(log.bytes);
    let (stdout, stderr) = (record.stdout.as_ref(), record.stderr.as_ref());
    connection.prepare_cached(sql)?.execute(params![
        run,
        record.task.index,
        record.attempt,
        record.started_at.map(|at| at.as_micros()),
        record.ended_at.map(|at| at.as_micros()),
        record.outcome.map(RecordedOutcome::word),
        record.code,
        record.signal,
        record.error,
        record.tail,
        stdout.map(path),
        stdout.map(bytes),
        stdout.map(|log| log.cut),
        stderr.map(path),
        stderr.map(bytes),
        stderr.map(|log| log.cut),
        (!record.warnings.is_empty()).then(|| record.warnings.join("\n")),
    ])?;
    let sql = "INSERT INTO outputs (run_id, idx, name, bytes, value, path)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6)
        ON CONFLICT (run_id, idx, name) DO UPDATE SET
            bytes = excluded.bytes, value = excluded.value, path = excluded.path";
    for output in &record.outputs {
        let (value, path) = match &output.value {
            OutputValue::Bytes(value) => (Some(value), None),
            OutputValue::File { path, .. } => (None, Some(stored_path(path, folder))),
        };
        let bytes = size(output.value.bytes());
        connection.prepare_cached(sql)?.execute(params![
            run,
            record.task.index,
            output.name,
            bytes,
            value,
            path
        ])?;
    }
    Ok(())
}

/// Paths inside the folder are kept without it, so that the folder can be moved.
fn stored_path(path: &Path, folder: &Path) -> String {
    path.strip_prefix(folder).unwrap_or(path).to_string_lossy().into_owned()
}

fn size(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}
