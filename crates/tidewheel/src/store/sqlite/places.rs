//! Places of runs in concurrency groups, as claims.
//!
//! What a run without a place does is decided by the rule in `tidewheel_core::pool`.

use std::time::Duration;

use rusqlite::{Connection, OptionalExtension as _, Row, params};
use tidewheel_core::id::RunId;
use tidewheel_core::pool::{self, Claim, PlaceVerdict, Stage};
use tidewheel_core::spec::RunGroup;

use super::changes::blob;
use super::commons::{Claims, Lives};
use super::error::FolderError;
use super::folder::DataFolder;
use super::inbox;
use super::prune::in_transaction;
use crate::store::{Placement, RunCommand, codec};

/// How the pools of groups are called. Limits have other names.
const GROUP: &str = "group:";
/// Time for the attempts of a run that is replaced to stop by themselves: as much as each of them finds
/// right.
const GRACE: Duration = Duration::MAX;

/// How a run stands in its concurrency group.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunPlace {
    /// The group.
    pub group: String,
    /// Whether it has a place; else it waits for one.
    pub is_given: bool,
    /// The runs that have one.
    pub holders: Vec<RunId>,
}

impl DataFolder {
    /// How a run that has not ended stands in its concurrency group, if it belongs to one.
    ///
    /// # Errors
    ///
    /// When the database cannot be read.
    pub fn place_of(&self, run: RunId) -> Result<Option<RunPlace>, FolderError> {
        let sql = "SELECT pool, held FROM claims WHERE run_id = ?1";
        let found: Option<(String, bool, Vec<Member>)> = self.ask(|connection| {
            let found: Option<(String, bool)> = connection
                .query_row(sql, [blob(run)], |row| Ok((row.get(0)?, row.get(1)?)))
                .optional()?;
            let Some((pool, held)) = found else { return Ok(None) };
            let members = read_members(connection, &pool)?;
            Ok(Some((pool, held, members)))
        })?;
        let Some((pool, is_given, mut members)) = found else { return Ok(None) };
        let mut lives = Lives::default();
        members.retain(|member| lives.lives(self, &member.shard));
        let group = pool.strip_prefix(GROUP).unwrap_or(&pool).to_owned();
        Ok(Some(RunPlace { group, is_given, holders: holders(&members) }))
    }
}

/// A run's claim as stored.
#[derive(Debug, Clone)]
struct Member {
    claim: Claim,
    shard: String,
    most: u32,
    stage: Stage,
}

impl Claims {
    /// Asks for a place for a run of this shard, which has none.
    pub(super) fn place(&self, run: RunId, group: &RunGroup) -> rusqlite::Result<Placement> {
        let pool = format!("{GROUP}{}", group.name);
        // A look is cheap and keeps nobody waiting who writes.
        let (own, others) = self.members(&pool, run)?;
        if let Some(own) = own.filter(|own| !own.claim.is_held)
            && standing(&own, &others, group) == PlaceVerdict::Waits
        {
            return Ok(Placement::Taken { holders: holders(&others) });
        }
        in_transaction(&self.connection, |_| self.find_place(&pool, run, group))
    }

    fn find_place(&self, pool: &str, run: RunId, group: &RunGroup) -> rusqlite::Result<Placement> {
        let (own, others) = self.members(pool, run)?;
        if own.is_none() && !self.is_live(run)? {
            // It has ended meanwhile, and is about to leave.
            return Ok(Placement::Taken { holders: Vec::new() });
        }
        let own = own.map_or_else(|| Member::new(run, group), Member::asking_again);
        let standing = standing(&own, &others, group);
        let sql =
            "DELETE FROM claims WHERE pool = ?1 AND run_id NOT IN (SELECT run_id FROM live_runs)";
        self.connection.prepare_cached(sql)?.execute([pool])?;
        let is_refused = matches!(standing, PlaceVerdict::Replaced | PlaceVerdict::Refused);
        if !is_refused {
            self.write_member(pool, run, &own, standing == PlaceVerdict::Placed)?;
        }
        Ok(match standing {
            PlaceVerdict::Placed => Placement::Given,
            PlaceVerdict::Waits => Placement::Taken { holders: holders(&others) },
            PlaceVerdict::Replaces(owners) => {
                for owner in owners {
                    self.replace(RunId(owner))?;
                }
                Placement::Taken { holders: holders(&others) }
            }
            PlaceVerdict::Replaced => Placement::Refused { replaced: true },
            PlaceVerdict::Refused => Placement::Refused { replaced: false },
        })
    }

    /// The claim of a run, and those of all others of its group that live.
    fn members(&self, pool: &str, run: RunId) -> rusqlite::Result<(Option<Member>, Vec<Member>)> {
        let mut lives = Lives::default();
        let members = read_members(&self.connection, pool)?;
        let (own, mut others): (Vec<Member>, Vec<Member>) =
            members.into_iter().partition(|member| member.claim.owner == run.0);
        others.retain(|other| lives.lives(&self.folder, &other.shard));
        Ok((own.into_iter().next(), others))
    }

    fn write_member(
        &self,
        pool: &str,
        run: RunId,
        member: &Member,
        is_placed: bool,
    ) -> rusqlite::Result<()> {
        let is_begun = member.stage == Stage::Begun || is_placed;
        if member.stage == Stage::New {
            let sql = "INSERT INTO claims (pool, shard, units, held, most, run_id, begun)
                SELECT ?1, id, 1, ?3, ?4, ?5, ?6 FROM shards WHERE name = ?2";
            let values = params![pool, self.shard, is_placed, member.most, blob(run), is_begun];
            self.connection.prepare_cached(sql)?.execute(values)?;
        } else {
            let sql = "UPDATE claims SET held = ?2, begun = ?3 WHERE run_id = ?1";
            self.connection.prepare_cached(sql)?.execute(params![
                blob(run),
                is_placed,
                is_begun
            ])?;
        }
        Ok(())
    }

    /// Leaves a command for whoever has a run that is to make room.
    fn replace(&self, run: RunId) -> rusqlite::Result<()> {
        if let Ok(text) = codec::write(&RunCommand::Replace { grace: GRACE }) {
            inbox::leave(&self.connection, run, &text)?;
        }
        Ok(())
    }

    fn is_live(&self, run: RunId) -> rusqlite::Result<bool> {
        let sql = "SELECT EXISTS (SELECT 1 FROM live_runs WHERE run_id = ?1)";
        self.connection.prepare_cached(sql)?.query_row([blob(run)], |row| row.get(0))
    }

    /// Gives up the place of a run, or its wish for one.
    pub(super) fn leave(&self, run: RunId) -> rusqlite::Result<()> {
        let sql = "DELETE FROM claims WHERE run_id = ?1";
        self.connection.prepare_cached(sql)?.execute([blob(run)])?;
        Ok(())
    }
}

impl Member {
    fn new(run: RunId, group: &RunGroup) -> Self {
        let claim = Claim { place: u64::MAX, owner: run.0, units: 1, is_held: false };
        Self { claim, shard: String::new(), most: group.max, stage: Stage::New }
    }

    /// One that had its place when its process died, and waits for it again.
    fn asking_again(self) -> Self {
        Self { claim: Claim { is_held: false, ..self.claim }, ..self }
    }
}

/// The rule, with the strictest of all bounds where runs do not agree about it.
fn standing(own: &Member, others: &[Member], group: &RunGroup) -> PlaceVerdict {
    let claims: Vec<Claim> = others.iter().map(|other| other.claim).collect();
    let most = others.iter().map(|other| other.most).min().unwrap_or(group.max).min(group.max);
    pool::stand(&claims, own.claim, most, group.busy, own.stage)
}

fn holders(members: &[Member]) -> Vec<RunId> {
    let held = members.iter().filter(|member| member.claim.is_held);
    held.map(|member| RunId(member.claim.owner)).collect()
}

/// Those of runs that have ended do not count, whether or not their process lived to give them up.
fn read_members(connection: &Connection, pool: &str) -> rusqlite::Result<Vec<Member>> {
    let sql = "SELECT place, run_id, held, name, most, begun FROM claims
        JOIN shards ON shards.id = shard
        WHERE pool = ?1 AND run_id IN (SELECT run_id FROM live_runs) ORDER BY place";
    let mut statement = connection.prepare_cached(sql)?;
    let read = |row: &Row<'_>| {
        let claim = Claim {
            place: row.get::<_, i64>(0)?.cast_unsigned(),
            owner: u128::from_be_bytes(row.get(1)?),
            units: 1,
            is_held: row.get(2)?,
        };
        let stage = if row.get(5)? { Stage::Begun } else { Stage::InLine };
        Ok(Member { claim, shard: row.get(3)?, most: row.get(4)?, stage })
    };
    statement.query_map([pool], read)?.collect()
}
