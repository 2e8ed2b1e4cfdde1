//! [`Inbox`]: finds commands that other processes sent for work of a shard.
//!
//! Following them is the owner's business.

use std::collections::BTreeSet;
use std::error::Error;
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode, OptionalExtension as _, params};
use tidewheel_core::id::{RunId, ScheduleId};

use super::bell::Bell;
use super::changes::blob;
use super::error::FolderError;
use super::folder::{DataFolder, now};
use super::prune::in_transaction;
use crate::store::{
    CommandSource, Previewed, Question, RunCommand, ScheduleCommand, Sent, SentCommand, StoreError,
    TaskAnswer, WhatIf, codec,
};

/// How often it is looked whether a command was followed.
const LOOK: Duration = Duration::from_millis(10);

/// The commands for one shard. Made by [`DataFolder::inbox`].
#[derive(Debug)]
pub struct Inbox {
    pub(super) folder: DataFolder,
    pub(super) shard: String,
    /// Opened when it is first looked for something: many runs have ended by then.
    connection: Option<Connection>,
    /// What SQLite said when the inbox was last looked at: it says something else when anybody has
    /// written since.
    version: Option<i64>,
    /// The commands that were handed out and are still there.
    handed_out: BTreeSet<i64>,
    /// Whether somebody has written since it was last looked for questions.
    has_news: bool,
    /// Those of them that ask what if, until they are asked for.
    what_ifs: Vec<WhatIf>,
    /// Tells whoever looks that it is time to.
    bell: Option<Bell>,
}

impl DataFolder {
    /// Leaves a command for whoever has the run or submission.
    ///
    /// # Errors
    ///
    /// [`FolderError::UnknownRun`] and [`FolderError::AlreadyEnded`], or what went wrong.
    pub fn send(&self, run: RunId, command: RunCommand) -> Result<(), FolderError> {
        left(self.leave_command(run, command)?, run)
    }

    /// The same, and waits until whoever has the run or submission has followed the command and what came of
    /// it is stored, for `patience` at the most. False: nobody has yet; it is there for whoever does.
    ///
    /// # Errors
    ///
    /// As for [`DataFolder::send`], and [`FolderError::Busy`] when the command cannot even be left for so
    /// long: whoever has the run may be frozen while it writes.
    pub fn send_and_wait(
        &self,
        run: RunId,
        command: RunCommand,
        patience: Duration,
    ) -> Result<bool, FolderError> {
        self.leave_and_wait(run, &[command], patience, leave)
    }

    /// Leaves commands for whoever has a schedule, all or none, and waits until they were followed, for `patience` at
    /// the most. False: nobody has yet.
    ///
    /// # Errors
    ///
    /// As for [`DataFolder::send_and_wait`]; the schedule stands in the place of the run.
    pub fn send_to_schedule(
        &self,
        schedule: ScheduleId,
        commands: &[ScheduleCommand],
        patience: Duration,
    ) -> Result<bool, FolderError> {
        let commands: Vec<_> = commands.iter().map(|it| RunCommand::OfSchedule(*it)).collect();
        self.leave_and_wait(RunId(schedule.0), &commands, patience, leave_for_schedule)
    }

    fn leave_and_wait(
        &self,
        run: RunId,
        commands: &[RunCommand],
        patience: Duration,
        leave: Leave,
    ) -> Result<bool, FolderError> {
        let texts = commands.iter().map(codec::write).collect::<Result<Vec<String>, _>>();
        let texts = texts.map_err(StoreError::from)?;
        let deadline = Instant::now() + patience;
        let connection = self.connect()?;
        let failed = |error| self.failed(error);
        connection.busy_timeout(patience).map_err(failed)?;
        let sent = send(&connection, run, &texts, leave).map_err(|error| {
            match error.sqlite_error_code() {
                Some(ErrorCode::DatabaseBusy) => {
                    FolderError::Busy { path: self.database().to_owned(), patience }
                }
                _ => failed(error),
            }
        });
        left(sent?, run)?;
        let id = connection.last_insert_rowid();
        loop {
            let sql = "SELECT EXISTS (SELECT 1 FROM inbox WHERE id = ?1)";
            let is_there = connection.query_row(sql, [id], |row| row.get::<_, bool>(0));
            if !is_there.map_err(failed)? {
                return Ok(true);
            }
            if Instant::now() >= deadline {
                return Ok(false);
            }
            thread::sleep(LOOK);
        }
    }

    /// As [`DataFolder::send`], which refuses where nobody has the run any more.
    pub(super) fn leave_command(
        &self,
        run: RunId,
        command: RunCommand,
    ) -> Result<Sent, FolderError> {
        let text = codec::write(&command).map_err(StoreError::from)?;
        let connection = self.connect()?;
        send(&connection, run, &[text], leave).map_err(|error| self.failed(error))
    }

    /// The commands for a shard.
    ///
    /// # Errors
    ///
    /// When the database cannot be opened.
    pub fn inbox(&self, shard: &str) -> Result<Inbox, FolderError> {
        let mut inbox = self.unopened_inbox(shard);
        inbox.ask(|_| Ok(()))?;
        Ok(inbox)
    }

    /// The same, opened by whoever first looks into it.
    pub(super) fn unopened_inbox(&self, shard: &str) -> Inbox {
        Inbox {
            folder: self.clone(),
            shard: shard.to_owned(),
            connection: None,
            version: None,
            handed_out: BTreeSet::new(),
            has_news: true,
            what_ifs: Vec::new(),
            bell: None,
        }
    }
}

impl Inbox {
    /// The commands that came since the last call, oldest first. Cheap when nothing was written.
    ///
    /// Those that are not [acknowledged](Inbox::acknowledge) come again to the next owner. What is
    /// no command that this program knows is removed.
    ///
    /// # Errors
    ///
    /// When the database cannot be read.
    pub fn take(&mut self) -> Result<Vec<SentCommand>, FolderError> {
        let version = self.ask(|connection| {
            connection.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))
        })?;
        if self.version == Some(version) {
            return Ok(Vec::new());
        }
        let mut found = self.read()?;
        // Not by the newest of them: one that was sent long ago comes with the work that it is for, when that is moved here.
        let there = found.iter().map(|(id, ..)| *id).collect();
        let before = std::mem::replace(&mut self.handed_out, there);
        found.retain(|(id, ..)| !before.contains(id));
        // Only now: what could not be read is looked for again.
        self.version = Some(version);
        self.has_news = true;
        let mut commands = Vec::new();
        let mut unreadable = Vec::new();
        for (id, run, text) in found {
            match codec::read(&text) {
                Ok(command) => commands.push(SentCommand { id, run, command }),
                // Nobody can follow it, and the others are not to wait for it.
                Err(_) => unreadable.push(id),
            }
        }
        // If that fails, the next owner tries again.
        let _ = self.remove(&unreadable);
        Ok(commands)
    }

    /// Removes commands that were followed, or that nobody can follow any more.
    ///
    /// # Errors
    ///
    /// When the database cannot be written: they will come again.
    pub fn acknowledge(&mut self, commands: &[SentCommand]) -> Result<(), FolderError> {
        let ids: Vec<i64> = commands.iter().map(|command| command.id).collect();
        self.remove(&ids)
    }

    /// Asks the database something, and opens it before if nobody has.
    pub(super) fn ask<T>(
        &mut self,
        question: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, FolderError> {
        let connection = match self.connection.take() {
            Some(connection) => connection,
            None => self.folder.connect()?,
        };
        let answer = question(self.connection.insert(connection));
        answer.map_err(|error| self.folder.failed(error))
    }

    fn remove(&mut self, ids: &[i64]) -> Result<(), FolderError> {
        if ids.is_empty() {
            return Ok(());
        }
        self.ask(|connection| {
            in_transaction(connection, |connection| {
                for id in ids {
                    connection.prepare_cached("DELETE FROM inbox WHERE id = ?1")?.execute([id])?;
                }
                Ok(())
            })
        })
    }

    fn read(&mut self) -> Result<Vec<(i64, RunId, String)>, FolderError> {
        let sql = "SELECT id, run_id, command FROM inbox
            WHERE shard = (SELECT id FROM shards WHERE name = ?1) ORDER BY id";
        let shard = self.shard.clone();
        self.ask(|connection| {
            let mut statement = connection.prepare_cached(sql)?;
            let rows = statement.query_map([shard], |row| {
                Ok((row.get(0)?, RunId(u128::from_be_bytes(row.get(1)?)), row.get(2)?))
            })?;
            rows.collect()
        })
    }
}

impl CommandSource for Inbox {
    fn listen(&mut self, ring: Box<dyn Fn() + Send>) -> bool {
        // With a connection open the file is there that is listened at.
        let _ = self.ask(|_| Ok(()));
        self.bell = self.folder.bell(ring);
        self.bell.is_some()
    }

    fn take(&mut self) -> Result<Vec<SentCommand>, Box<dyn Error + Send + Sync>> {
        Ok(Self::take(self)?)
    }

    fn acknowledge(
        &mut self,
        commands: &[SentCommand],
    ) -> Result<(), Box<dyn Error + Send + Sync>> {
        Ok(Self::acknowledge(self, commands)?)
    }

    fn has(&mut self, run: RunId) -> Result<bool, Box<dyn Error + Send + Sync>> {
        let sql = "SELECT EXISTS (SELECT 1 FROM (SELECT run_id, shard FROM live_runs
                UNION ALL SELECT run_id, shard FROM live_submissions)
            WHERE run_id = ?1 AND shard = (SELECT id FROM shards WHERE name = ?2))";
        let shard = self.shard.clone();
        let has = self.ask(|connection| {
            connection.query_row(sql, params![blob(run), shard], |row| row.get(0))
        });
        Ok(has?)
    }

    fn questions(&mut self) -> Result<Vec<Question>, Box<dyn Error + Send + Sync>> {
        if !self.has_news {
            return Ok(Vec::new());
        }
        let (questions, what_ifs) = self.unanswered()?;
        self.has_news = false;
        self.what_ifs = what_ifs;
        Ok(questions)
    }

    fn what_ifs(&mut self) -> Result<Vec<WhatIf>, Box<dyn Error + Send + Sync>> {
        Ok(std::mem::take(&mut self.what_ifs))
    }

    fn answer_what_if(
        &mut self,
        question: i64,
        answer: &Previewed,
    ) -> Result<(), Box<dyn Error + Send + Sync>> {
        Ok(self.store_answer(question, answer)?)
    }

    fn answer(
        &mut self,
        question: i64,
        answer: &Vec<TaskAnswer>,
    ) -> Result<(), Box<dyn Error + Send + Sync>> {
        Ok(self.store_answer(question, answer)?)
    }
}

/// Whether a command is there for the owner, or why not.
fn left(sent: Sent, run: RunId) -> Result<(), FolderError> {
    match sent {
        Sent::Left => Ok(()),
        Sent::Ended => Err(FolderError::AlreadyEnded { run }),
        Sent::Unknown => Err(FolderError::UnknownRun { run }),
    }
}

/// Puts a command into the inbox of whoever it is for.
type Leave = fn(&Connection, RunId, &str) -> rusqlite::Result<Sent>;

/// Leaves commands, all or none.
fn send(
    connection: &Connection,
    run: RunId,
    texts: &[String],
    leave: Leave,
) -> rusqlite::Result<Sent> {
    connection.execute_batch("BEGIN IMMEDIATE")?;
    let mut sent = Ok(Sent::Left);
    for text in texts {
        sent = leave(connection, run, text);
        if !matches!(sent, Ok(Sent::Left)) {
            break;
        }
    }
    let end = if sent.is_ok() { "COMMIT" } else { "ROLLBACK" };
    connection.execute_batch(end)?;
    sent
}

fn leave_for_schedule(
    connection: &Connection,
    schedule: RunId,
    text: &str,
) -> rusqlite::Result<Sent> {
    let sql = "SELECT shard FROM schedules WHERE id = ?1 AND NOT ended";
    let shard: Option<i64> =
        connection.query_row(sql, [blob(schedule)], |row| row.get(0)).optional()?;
    let Some(shard) = shard else { return Ok(Sent::Unknown) };
    put(connection, shard, schedule, text)
}

pub(super) fn leave(connection: &Connection, run: RunId, text: &str) -> rusqlite::Result<Sent> {
    let sql = "SELECT shard FROM live_runs WHERE run_id = ?1
        UNION ALL SELECT shard FROM live_submissions WHERE run_id = ?1";
    let shard: Option<i64> = connection.query_row(sql, [blob(run)], |row| row.get(0)).optional()?;
    let Some(shard) = shard else {
        let sql = "SELECT EXISTS (SELECT 1 FROM runs WHERE run_id = ?1)";
        let is_known = connection.query_row(sql, [blob(run)], |row| row.get(0))?;
        return Ok(if is_known { Sent::Ended } else { Sent::Unknown });
    };
    put(connection, shard, run, text)
}

fn put(connection: &Connection, shard: i64, run: RunId, text: &str) -> rusqlite::Result<Sent> {
    let sql = "INSERT INTO inbox (shard, run_id, command, sent_at) VALUES (?1, ?2, ?3, ?4)";
    connection.execute(sql, params![shard, blob(run), text, now().as_micros()])?;
    Ok(Sent::Left)
}
