//! Owners of runs are killed, and another one takes their work in among its own: it is killed or hurt as well, at every call
//! of moving and of restoring and at random times, until a last one is let be.
//!
//! The taker lives on the same data folder as a server does; how calls are counted and hit is in `strace`.

use std::time::Duration;

use super::super::check::Kind;
use super::super::command::Durable;
use super::super::plan::Plan;
use super::super::round::{Life, Round};
use super::super::strace::{self, Fault, Point, STORE_CALLS, Target};
use super::Stage;
use super::sweep::spread;

/// Faults altogether, without a word about rounds.
const FAULTS_DEFAULT: u64 = 100;
/// Takers that are killed in one folder after a random time.
const KILLS_MAX: u64 = 6;
/// Every so many rounds takers are killed at random times, in all others at a place.
const RANDOM_EVERY: u64 = 4;
/// How long a taker may take that met one error: it tries again within a second.
const ONE_ERROR_MAX: Duration = Duration::from_secs(30);
/// The shards whose owners are killed.
const OWNERS: [&str; 2] = ["left", "right"];

pub(super) fn play(stage: &mut Stage<'_>) -> anyhow::Result<()> {
    if let Some(point) = stage.only_point() {
        let point: Point = point.parse()?;
        return attack(stage, &point, 0);
    }
    let mut points = match strace::is_there() {
        Ok(()) => places(stage)?,
        Err(why) => {
            stage.note(format!("only random kills: {why}"));
            Vec::new()
        }
    };
    let all = points.len();
    stage.random(0).shuffle(&mut points);
    if !stage.is_timed() {
        points = spread(&points, stage.rounds().unwrap_or(FAULTS_DEFAULT) as usize);
    }
    let mut points = points.into_iter();
    let mut played = 0;
    while let Some(number) = stage.next_round(stage.outcome.faults, FAULTS_DEFAULT) {
        match points.next().filter(|_| number % RANDOM_EVERY > 0) {
            Some(point) => {
                attack(stage, &point, number)?;
                played += 1;
            }
            None => kill_at_random(stage, number)?,
        }
    }
    stage.note(format!("{played} of {all} places"));
    Ok(())
}

/// Every call of a taker by which something is moved or restored, with every fault.
fn places(stage: &mut Stage<'_>) -> anyhow::Result<Vec<Point>> {
    let mut points = Vec::new();
    for target in [Target::Main, Target::Books] {
        if target == Target::Books && stage.settings.durability == Durable::Process {
            // The first thread keeps the books itself.
            continue;
        }
        let mut round = stage.round(&format!("measure-{}", target.word()))?;
        prepare(&mut round);
        let owners = start_owners(&round)?;
        kill(&mut round, owners, || 100)?;
        let counts = strace::measure(&mut round, target)?;
        stage.close(round, "");
        for (call, number) in
            counts.into_iter().flat_map(|(call, n)| (1..=n).map(move |n| (call, n)))
        {
            let point = |fault, goes_on| Point { target, call, fault, number, goes_on };
            points.push(point(Fault::Kill, false));
            if STORE_CALLS.contains(&call) {
                points.push(point(Fault::InputOutput, false));
                points.push(point(Fault::NoSpace, false));
                points.push(point(Fault::InputOutput, true));
            }
        }
    }
    Ok(points)
}

fn prepare(round: &mut Round) {
    round.plan = Plan::Small;
    round.left = OWNERS.to_vec();
}

fn start_owners(round: &Round) -> anyhow::Result<Vec<Life>> {
    OWNERS.into_iter().map(|shard| round.start_owner(shard)).collect()
}

/// Lets owners live for a while, in milliseconds, and kills them.
fn kill(round: &mut Round, owners: Vec<Life>, mut time: impl FnMut() -> u64) -> anyhow::Result<()> {
    for mut life in owners {
        // The fault itself, not a wait for something.
        std::thread::sleep(Duration::from_millis(time()));
        round.faults += u64::from(life.kill()?);
    }
    Ok(())
}

/// Waits until all owners have their shards: whoever takes one in before has nothing to take.
fn wait_for(round: &Round, owners: &mut [Life]) -> anyhow::Result<()> {
    for (life, shard) in owners.iter_mut().zip(OWNERS) {
        let accepted = format!("accepted {shard}-");
        life.wait_or(round.life_max(), || Ok(round.ledger_text()?.contains(&accepted)))?;
    }
    Ok(())
}

/// Hurts a taker at a place, and lets another finish.
fn attack(stage: &mut Stage<'_>, point: &Point, place: u64) -> anyhow::Result<()> {
    let mut random = stage.random(place);
    let mut round = stage.round(&format!("{place}-{point}"))?;
    prepare(&mut round);
    let owners = start_owners(&round)?;
    kill(&mut round, owners, || random.between(20, 200))?;
    let most = match point.goes_on {
        true => Duration::from_millis(random.between(300, 1_000)),
        false => ONE_ERROR_MAX,
    };
    let injected = strace::inject(&mut round, point, most)?;
    if !injected.has_ended && !point.goes_on {
        round.find(Kind::Broken, format!("a taker hung after {point}"));
    }
    round.finish()?;
    stage.close(round, &point.to_string());
    Ok(())
}

/// Takers come while owners live or when they are dead, and are killed after a random time.
fn kill_at_random(stage: &mut Stage<'_>, number: u64) -> anyhow::Result<()> {
    let mut random = stage.random(number);
    let mut round = stage.round(&number.to_string())?;
    round.threads = 1 + (number / RANDOM_EVERY % 2) as u32;
    prepare(&mut round);
    let mut owners = start_owners(&round)?;
    let mut taker = None;
    if random.between(0, 1) == 0 {
        wait_for(&round, &mut owners)?;
        taker = Some(round.start()?);
    }
    kill(&mut round, owners, || random.between(5, 300))?;
    for _ in 0..random.between(1, KILLS_MAX) {
        let mut life = taker.take().map_or_else(|| round.start(), Ok)?;
        std::thread::sleep(Duration::from_millis(random.between(5, 200)));
        if !life.kill()? {
            break;
        }
        round.faults += 1;
        if random.between(0, 2) == 0 {
            round.expect_vanished();
        }
    }
    round.finish()?;
    stage.close(round, &format!("round:{number}"));
    Ok(())
}
