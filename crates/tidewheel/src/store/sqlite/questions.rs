//! Questions to whoever has a run: left by one process, answered by another.
//!
//! What is answered is found out by the scheduler that has the run.

use std::thread;
use std::time::{Duration, Instant};

use rusqlite::{Connection, OptionalExtension as _, params};
use tidewheel_core::id::RunId;
use tidewheel_core::policy::Priority;

use super::changes::blob;
use super::error::FolderError;
use super::folder::{DataFolder, now};
use super::inbox::Inbox;
use crate::store::codec::{self, Supposed, Written};
use crate::store::{Previewed, Question, StoreError, TaskAnswer, WhatIf};

/// How often it is looked whether an answer is there.
const LOOK: Duration = Duration::from_millis(10);

/// Questions older than this are forgotten: whoever asked has gone.
const KEPT: Duration = Duration::from_secs(60);

impl DataFolder {
    /// Asks whoever has a run why tasks of it are not running, and waits for the answer, for `patience`
    /// at the most. `None`: nobody answered, or nobody has the run.
    ///
    /// # Errors
    ///
    /// When the database cannot be read or written.
    pub fn ask_owner(
        &self,
        run: RunId,
        tasks: &[u32],
        patience: Duration,
    ) -> Result<Option<Vec<TaskAnswer>>, FolderError> {
        let text = codec::write(&tasks.to_vec()).map_err(StoreError::from)?;
        let answer = self.put_question(run, &text, patience)?;
        // An answer that cannot be read is none; the next question may be luckier.
        Ok(answer.and_then(|answer| codec::read(&answer).ok()))
    }

    /// Asks whoever has a run what the order would be if it, or one of its tasks, had this priority, and waits for the
    /// answer, for `patience` at the most. `None`: nobody answered, or nobody has the run.
    ///
    /// # Errors
    ///
    /// When the database cannot be read or written.
    pub fn preview_priority(
        &self,
        run: RunId,
        task: Option<u32>,
        priority: Priority,
        patience: Duration,
    ) -> Result<Option<Previewed>, FolderError> {
        let text = codec::write(&Supposed { task, priority }).map_err(StoreError::from)?;
        let answer = self.put_question(run, &text, patience)?;
        Ok(answer.and_then(|answer| codec::read(&answer).ok()))
    }

    /// Leaves a question, and takes it back with the answer or without.
    fn put_question(
        &self,
        run: RunId,
        text: &str,
        patience: Duration,
    ) -> Result<Option<String>, FolderError> {
        let connection = self.connect()?;
        let failed = |error| self.failed(error);
        let Some(id) = leave(&connection, run, text).map_err(failed)? else { return Ok(None) };
        let deadline = Instant::now() + patience;
        let answer = loop {
            let answer = answer_to(&connection, id).map_err(failed)?;
            if answer.is_some() || Instant::now() >= deadline {
                break answer;
            }
            thread::sleep(LOOK);
        };
        let sql = "DELETE FROM questions WHERE id = ?1";
        connection.execute(sql, [id]).map_err(failed)?;
        Ok(answer)
    }
}

impl Inbox {
    /// The questions that nobody has answered yet, oldest first: why tasks wait, and what if.
    pub(super) fn unanswered(&mut self) -> Result<(Vec<Question>, Vec<WhatIf>), FolderError> {
        let sql = "SELECT id, run_id, question FROM questions WHERE answer IS NULL
            AND shard = (SELECT id FROM shards WHERE name = ?1) ORDER BY id";
        let shard = self.shard.clone();
        let (mut questions, mut what_ifs) = (Vec::new(), Vec::new());
        self.ask(|connection| {
            let mut statement = connection.prepare_cached(sql)?;
            let mut rows = statement.query([shard])?;
            while let Some(row) = rows.next()? {
                let (id, text): (i64, String) = (row.get(0)?, row.get(2)?);
                let run = RunId(u128::from_be_bytes(row.get(1)?));
                match codec::read(&text) {
                    Ok(Supposed { task, priority }) => {
                        what_ifs.push(WhatIf { id, run, task, priority });
                    }
                    Err(_) => {
                        let tasks = codec::read(&text).unwrap_or_default();
                        questions.push(Question { id, run, tasks });
                    }
                }
            }
            Ok(())
        })?;
        Ok((questions, what_ifs))
    }

    pub(super) fn store_answer<T: Written>(
        &mut self,
        question: i64,
        answer: &T,
    ) -> Result<(), FolderError> {
        let text = codec::write(answer).map_err(StoreError::from)?;
        let sql = "UPDATE questions SET answer = ?2 WHERE id = ?1";
        self.ask(|connection| connection.execute(sql, params![question, text]).map(drop))
    }
}

/// Leaves a question for whoever has the run, if it is not at its end.
fn leave(connection: &Connection, run: RunId, text: &str) -> rusqlite::Result<Option<i64>> {
    let old = now().as_micros() - KEPT.as_micros() as i64;
    connection.execute("DELETE FROM questions WHERE asked_at < ?1", [old])?;
    let sql = "INSERT INTO questions (shard, run_id, question, asked_at)
        SELECT shard, run_id, ?2, ?3 FROM live_runs WHERE run_id = ?1
        UNION ALL SELECT shard, run_id, ?2, ?3 FROM live_submissions WHERE run_id = ?1";
    let left = connection.execute(sql, params![blob(run), text, now().as_micros()])?;
    Ok((left > 0).then(|| connection.last_insert_rowid()))
}

fn answer_to(connection: &Connection, id: i64) -> rusqlite::Result<Option<String>> {
    let sql = "SELECT answer FROM questions WHERE id = ?1";
    let row = connection.query_row(sql, [id], |row| row.get::<_, Option<String>>(0)).optional()?;
    Ok(row.flatten())
}
