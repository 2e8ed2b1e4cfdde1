//! [`SqliteCommons`]: what the shards of a folder claim of limits that they share.
//!
//! Claims are rows, and count while somebody holds the lock of their shard. Who gets what is decided
//! by the rule in `tidewheel_core::pool`.

use std::collections::BTreeMap;
use std::sync::Arc;

use rusqlite::{Connection, params};
use tidewheel_core::id::RunId;
use tidewheel_core::pool::{self, Claim};
use tidewheel_core::spec::RunGroup;

use super::connection;
use super::error::{FolderError, Stage, store_error};
use super::folder::{DataFolder, Durability};
use super::prune::in_transaction;
use crate::file::FileLock;
use crate::store::{Commons, Placement, Settled, StoreError};

/// How the pools of limits are called. Concurrency groups have other names.
const LIMIT: &str = "limit:";
/// How many runs of a shard are named.
const RUNS_NAMED_MAX: u32 = 3;

/// The way of one shard to what it shares with others. Most share nothing: it is opened when it is
/// first used.
#[derive(Debug)]
pub(super) struct SqliteCommons {
    folder: DataFolder,
    shard: String,
    claims: Option<Claims>,
}

/// The claims of a folder, as one shard sees them.
#[derive(Debug)]
pub(super) struct Claims {
    pub(super) folder: DataFolder,
    pub(super) shard: String,
    pub(super) connection: Connection,
}

/// Which shards somebody has, each asked once.
#[derive(Debug, Default)]
pub(super) struct Lives(BTreeMap<String, bool>);

impl Lives {
    pub(super) fn lives(&mut self, folder: &DataFolder, shard: &str) -> bool {
        // What cannot be asked is as if somebody lived there.
        let ask = || !folder.is_free(shard).unwrap_or(false);
        *self.0.entry(shard.to_owned()).or_insert_with(ask)
    }
}

/// A claim as stored.
#[derive(Debug, Clone)]
struct Row {
    claim: Claim,
    /// The name of its shard.
    shard: String,
    /// Units that there are, as its shard says.
    most: u32,
}

impl Row {
    fn has_units(&self) -> bool {
        self.claim.is_held && self.claim.units > 0
    }
}

/// Somebody who has units of a shared limit.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnitHolder {
    /// The limit.
    pub limit: String,
    /// The shard.
    pub shard: String,
    /// The process that has it, where it left its number.
    pub pid: Option<u32>,
    /// Units.
    pub units: u32,
    /// Unfinished runs and submissions of the shard, some of many.
    pub runs: Vec<RunId>,
}

impl DataFolder {
    /// Who has units of shared limits.
    ///
    /// # Errors
    ///
    /// When the database cannot be read.
    pub fn unit_holders(&self) -> Result<Vec<UnitHolder>, FolderError> {
        let mut found = self.ask(read_holders)?;
        // What cannot be asked is as if somebody lived there.
        found.retain(|holder| !self.is_free(&holder.shard).unwrap_or(false));
        for holder in &mut found {
            holder.pid = FileLock::holder(&self.lock_path(&holder.shard)).pid;
        }
        Ok(found)
    }
}

/// What all who live claim of a limit.
struct Living {
    rows: Vec<Row>,
    own: i64,
}

impl SqliteCommons {
    pub(super) fn new(folder: &DataFolder, shard: &str) -> Self {
        Self { folder: folder.clone(), shard: shard.to_owned(), claims: None }
    }

    fn claims(&mut self) -> Result<&Claims, StoreError> {
        let claims = match self.claims.take() {
            Some(claims) => claims,
            None => Claims::open(&self.folder, &self.shard)?,
        };
        Ok(self.claims.insert(claims))
    }
}

impl Commons for SqliteCommons {
    fn define(&mut self, limit: &str, units: u32) -> Result<(), StoreError> {
        let claims = self.claims()?;
        match claims.define(&pool_of(limit), units).map_err(|error| claims.failed(error))? {
            None => Ok(()),
            Some((most, who)) => Err(StoreError::Conflict {
                what: format!(
                    "the shared limit `{limit}` is to have {units} units here, but has {most} in \
                     {who}"
                ),
            }),
        }
    }

    fn forget(&mut self, limit: &str) -> Result<(), StoreError> {
        let claims = self.claims()?;
        claims.forget(&pool_of(limit)).map_err(|error| claims.failed(error))
    }

    fn place(&mut self, run: RunId, group: &RunGroup) -> Result<Placement, StoreError> {
        let claims = self.claims()?;
        claims.place(run, group).map_err(|error| claims.failed(error))
    }

    fn leave(&mut self, run: RunId) -> Result<(), StoreError> {
        let claims = self.claims()?;
        claims.leave(run).map_err(|error| claims.failed(error))
    }

    fn settle(&mut self, limit: &str, held: u32, asked: u32) -> Result<Settled, StoreError> {
        let claims = self.claims()?;
        claims.settle(&pool_of(limit), (held, asked)).map_err(|error| claims.failed(error))
    }
}

impl Claims {
    fn open(folder: &DataFolder, shard: &str) -> Result<Self, StoreError> {
        // After a power failure nobody lives who claimed anything: it need not survive one.
        let connection = connection::open(folder.database(), Durability::Process)
            .map_err(|error| store_error(error, Stage::Before, folder.database()))?;
        Ok(Self { folder: folder.clone(), shard: shard.to_owned(), connection })
    }

    fn failed(&self, error: rusqlite::Error) -> StoreError {
        store_error(error, Stage::Before, self.folder.database())
    }

    fn living(&self, limit: &str) -> rusqlite::Result<Living> {
        let sql = "SELECT id FROM shards WHERE name = ?1";
        let own =
            self.connection.prepare_cached(sql)?.query_row([&self.shard], |row| row.get(0))?;
        let mut rows = read_rows(&self.connection, limit)?;
        let mut lives = Lives::default();
        rows.retain(|row| row.shard == self.shard || lives.lives(&self.folder, &row.shard));
        Ok(Living { rows, own })
    }

    /// Who else has units, in words.
    fn holders(&self, living: &Living) -> Vec<Arc<str>> {
        let is_other = |row: &&Row| row.has_units() && row.claim.owner != owner(living.own);
        let others = living.rows.iter().filter(is_other);
        others.map(|row| self.describe(&row.shard).into()).collect()
    }

    fn describe(&self, shard: &str) -> String {
        let runs = runs_of(&self.connection, shard).unwrap_or_default();
        let runs: Vec<String> = runs.iter().map(|run| format!("run {run}")).collect();
        let what = if runs.is_empty() { format!("shard {shard}") } else { runs.join(", ") };
        let holder = FileLock::holder(&self.folder.lock_path(shard));
        holder.pid.map_or_else(|| what.clone(), |pid| format!("{what} (process {pid})"))
    }

    /// Writes down what this shard has and waits for, as the rule left it.
    fn write(&self, limit: &str, shard: i64, claims: &[Claim]) -> rusqlite::Result<()> {
        let own = |is_held: bool| {
            let mut own = claims.iter().filter(|claim| claim.owner == owner(shard));
            own.find(|claim| claim.is_held == is_held).map(|claim| claim.units)
        };
        let sql = "UPDATE claims SET units = ?3 WHERE pool = ?1 AND shard = ?2 AND held";
        let held = own(true).unwrap_or(0);
        self.connection.prepare_cached(sql)?.execute(params![limit, shard, held])?;
        let Some(asked) = own(false) else {
            let sql = "DELETE FROM claims WHERE pool = ?1 AND shard = ?2 AND NOT held";
            self.connection.prepare_cached(sql)?.execute(params![limit, shard])?;
            return Ok(());
        };
        let sql = "UPDATE claims SET units = ?3 WHERE pool = ?1 AND shard = ?2 AND NOT held";
        if self.connection.prepare_cached(sql)?.execute(params![limit, shard, asked])? == 0 {
            let sql = "INSERT INTO claims (pool, shard, units, held, most)
                SELECT pool, shard, ?3, 0, most FROM claims
                WHERE pool = ?1 AND shard = ?2 AND held";
            self.connection.prepare_cached(sql)?.execute(params![limit, shard, asked])?;
        }
        Ok(())
    }

    /// Says how many units there are. Somebody who lives and says otherwise is given.
    fn define(&self, limit: &str, units: u32) -> rusqlite::Result<Option<(u32, String)>> {
        in_transaction(&self.connection, |connection| {
            let living = self.living(limit)?;
            let is_other = |row: &&Row| row.claim.owner != owner(living.own) && row.most != units;
            if let Some(other) = living.rows.iter().find(is_other) {
                return Ok(Some((other.most, self.describe(&other.shard))));
            }
            let sql = "UPDATE claims SET most = ?3 WHERE pool = ?1 AND shard = ?2";
            if connection.execute(sql, params![limit, living.own, units])? == 0 {
                let sql = "INSERT INTO claims (pool, shard, units, held, most)
                    VALUES (?1, ?2, 0, 1, ?3)";
                connection.execute(sql, params![limit, living.own, units])?;
            }
            Ok(None)
        })
    }

    fn forget(&self, limit: &str) -> rusqlite::Result<()> {
        let sql = "DELETE FROM claims
            WHERE pool = ?1 AND shard = (SELECT id FROM shards WHERE name = ?2)";
        self.connection.prepare_cached(sql)?.execute(params![limit, self.shard]).map(drop)
    }

    fn settle(&self, limit: &str, asks: (u32, u32)) -> rusqlite::Result<Settled> {
        // A look is cheap and keeps nobody waiting who writes.
        let living = self.living(limit)?;
        if living.is_in_vain(asks) {
            return Ok(Settled::Taken { holders: self.holders(&living) });
        }
        let (is_granted, living) = in_transaction(&self.connection, |_| self.decide(limit, asks))?;
        Ok(match is_granted {
            true => Settled::Granted,
            false => Settled::Taken { holders: self.holders(&living) },
        })
    }

    fn decide(&self, limit: &str, asks: (u32, u32)) -> rusqlite::Result<(bool, Living)> {
        let living = self.living(limit)?;
        let mut claims: Vec<Claim> = living.rows.iter().map(|row| row.claim).collect();
        let is_granted =
            pool::settle(&mut claims, owner(living.own), asks, living.most(), u64::MAX);
        self.write(limit, living.own, &claims)?;
        Ok((is_granted, living))
    }
}

impl Living {
    /// Units that there are. Who contradicts the others is refused, but a shard may have been dead
    /// when it was asked whether anybody does.
    fn most(&self) -> u32 {
        self.rows.iter().map(|row| row.most).min().unwrap_or(0)
    }

    /// Whether asking for so many changes nothing: it was so before, and they are not there.
    fn is_in_vain(&self, (held, asked): (u32, u32)) -> bool {
        let claims: Vec<Claim> = self.rows.iter().map(|row| row.claim).collect();
        let own = |is_held: bool| {
            let mut own = claims.iter().filter(|claim| claim.owner == owner(self.own));
            own.find(|claim| claim.is_held == is_held)
        };
        let is_same = own(true).is_some_and(|claim| claim.units == held);
        is_same
            && match own(false) {
                Some(wish) => wish.units == asked && !pool::is_served(&claims, *wish, self.most()),
                None => asked == 0,
            }
    }
}

/// The pool of a limit.
fn pool_of(limit: &str) -> String {
    format!("{LIMIT}{limit}")
}

fn owner(shard: i64) -> u128 {
    u128::from(shard.cast_unsigned())
}

fn read_rows(connection: &Connection, limit: &str) -> rusqlite::Result<Vec<Row>> {
    let sql = "SELECT place, shard, units, held, name, most FROM claims
        JOIN shards ON shards.id = shard WHERE pool = ?1 ORDER BY place";
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map([limit], |row| {
        let claim = Claim {
            place: row.get::<_, i64>(0)?.cast_unsigned(),
            owner: owner(row.get(1)?),
            units: row.get(2)?,
            is_held: row.get(3)?,
        };
        Ok(Row { claim, shard: row.get(4)?, most: row.get(5)? })
    })?;
    rows.collect()
}

/// The unfinished work of a shard, some of it.
fn runs_of(connection: &Connection, shard: &str) -> rusqlite::Result<Vec<RunId>> {
    let sql = "SELECT run_id FROM
            (SELECT run_id, shard FROM live_runs UNION ALL SELECT run_id, shard FROM live_submissions)
        WHERE shard = (SELECT id FROM shards WHERE name = ?1) LIMIT ?2";
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map(params![shard, RUNS_NAMED_MAX], |row| {
        Ok(RunId(u128::from_be_bytes(row.get(0)?)))
    })?;
    rows.collect()
}

fn read_holders(connection: &Connection) -> rusqlite::Result<Vec<UnitHolder>> {
    let sql = "SELECT pool, name, units FROM claims
        JOIN shards ON shards.id = shard WHERE held AND units > 0 ORDER BY place";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query([])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let (pool, shard): (String, String) = (row.get(0)?, row.get(1)?);
        let Some(limit) = pool.strip_prefix(LIMIT).map(str::to_owned) else { continue };
        let runs = runs_of(connection, &shard)?;
        found.push(UnitHolder { limit, shard, pid: None, units: row.get(2)?, runs });
    }
    Ok(found)
}
