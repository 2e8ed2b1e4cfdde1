//! SIGSTOP: a frozen victim keeps its shard, so a second one is refused; then it goes on.
//!
//! In every second round its spawner is killed meanwhile.

use std::time::Duration;

use anyhow::anyhow;
use rustix::process::Signal;

use super::super::check::Kind;
use super::super::plan::Plan;
use super::super::round::{Life, Round, send};
use super::super::table;
use super::super::victim::HELD;
use super::Stage;

const ROUNDS_DEFAULT: u64 = 6;
const PATIENCE: Duration = Duration::from_secs(20);

pub(super) fn play(stage: &mut Stage<'_>) -> anyhow::Result<()> {
    while let Some(number) = stage.next_round(stage.outcome.rounds, ROUNDS_DEFAULT) {
        let mut random = stage.random(number);
        let mut round = stage.round(&number.to_string())?;
        round.plan = Plan::Mixed;
        round.count = 100;
        round.pause = Duration::from_millis(40);
        // Somewhere among the first steps.
        let lines = random.between(1, 12) as usize;
        let mut life = round.start()?;
        let has_begun = || {
            Ok(round.ledger_text()?.lines().filter(|line| line.starts_with("start")).count()
                >= lines)
        };
        if life.wait_or(round.life_max(), has_begun)?.is_some() {
            let said = round.last_words();
            round.find(Kind::Broken, format!("a victim ended before it was stopped: {said}"));
        } else {
            freeze(&mut round, &life, number % 2 == 1)?;
            round.see_out(life)?;
        }
        stage.close(round, &format!("round:{number}"));
    }
    Ok(())
}

fn freeze(round: &mut Round, life: &Life, kills_spawner: bool) -> anyhow::Result<()> {
    life.freeze()?;
    round.faults += 1;
    if kills_spawner {
        let spawner = table::spawner_of(life.pid());
        let spawner = spawner.ok_or_else(|| anyhow!("a victim has no spawner"))?;
        send(spawner.pid, Signal::KILL)?;
        round.faults += 1;
    }
    let mut second = round.start()?;
    match second.wait(PATIENCE)? {
        Some(status) if status.code() == Some(HELD) => {
            let said = round.last_words();
            if !said.contains(&life.pid().to_string()) {
                round.find(Kind::Broken, format!("the holder is not named: {said}"));
            }
        }
        Some(status) => {
            round.find(Kind::Doubled, format!("a second victim was not refused: {status}"));
        }
        None => {
            round.find(Kind::Broken, "a second victim was neither refused nor let in");
            second.kill()?;
        }
    }
    life.signal(Signal::CONT)
}
