//! A large graph whose victim is killed a few times on the way.
//!
//! Its tasks are the victim's own: what is tested is how much state survives, not processes.

use std::time::{Duration, Instant};

use super::super::plan::Plan;
use super::super::round::size_of;
use super::Stage;

const ROUNDS_DEFAULT: u64 = 1;
const KILLS: u64 = 4;
/// About what one step writes into the ledger.
const STEP_BYTES: u64 = 2 * 55;

pub(super) fn play(stage: &mut Stage<'_>) -> anyhow::Result<()> {
    while let Some(number) = stage.next_round(stage.outcome.rounds, ROUNDS_DEFAULT) {
        let mut random = stage.random(number);
        let mut round = stage.round(&number.to_string())?;
        round.plan = Plan::Steps;
        round.count = stage.settings.steps;
        round.threads = 2;
        let whole = u64::from(round.count) * STEP_BYTES;
        let mut marks: Vec<u64> = (0..KILLS).map(|_| random.between(0, whole)).collect();
        marks.sort_unstable();
        let begin = Instant::now();
        for mark in marks {
            let mut life = round.start()?;
            let ledger = round.ledger();
            let is_there = || Ok(size_of(&ledger) >= mark);
            if life.wait_or(round.life_max(), is_there)?.is_some() || !life.kill()? {
                break;
            }
            round.faults += 1;
        }
        round.finish()?;
        let seconds = begin.elapsed();
        stage.note(format!(
            "{} steps, killed {} times: {:.1} s",
            round.count,
            round.faults,
            seconds.max(Duration::from_millis(1)).as_secs_f64()
        ));
        stage.close(round, &format!("round:{number}"));
    }
    Ok(())
}
