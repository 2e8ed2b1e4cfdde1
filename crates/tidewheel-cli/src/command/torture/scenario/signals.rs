//! Signals that were ignored when the owner was started, sent again and again, to it and to its spawner;
//! and steps that ignore being told to end, whose owner is killed.
//!
//! None of the signals may end anything, and after a kill nothing may be left.

use std::time::Duration;

use rustix::process::Signal;

use super::super::flow;
use super::super::plan::Plan;
use super::super::round::{Life, Round, send};
use super::super::table;
use super::{Stage, flows};

const ROUNDS_DEFAULT: u64 = 4;
/// Signals before each kill.
const SIGNALS: u64 = 12;
const KILLS: u64 = 3;

pub(super) fn play(stage: &mut Stage<'_>) -> anyhow::Result<()> {
    while let Some(number) = stage.next_round(stage.outcome.rounds, ROUNDS_DEFAULT) {
        let mut random = stage.random(number);
        let mut round = stage.round(&number.to_string())?;
        round.plan = Plan::Flow;
        flow::write_stubborn(&round.folder, &round.ledger(), round.tag())?;
        for _ in 0..KILLS {
            let mut life = start(&round)?;
            for _ in 0..SIGNALS {
                // The fault itself, not a wait for something.
                std::thread::sleep(Duration::from_millis(random.between(5, 40)));
                if life.wait(Duration::ZERO)?.is_some() {
                    break;
                }
                disturb(&mut round, &life, random.between(0, 5))?;
            }
            if !life.kill()? {
                break;
            }
            round.faults += 1;
            round.expect_vanished();
        }
        if !flow::has_ended(&round.data())? {
            let mut life = start(&round)?;
            // The rest of its life is disturbed too.
            while life.wait(Duration::from_millis(random.between(5, 40)))?.is_none() {
                disturb(&mut round, &life, random.between(0, 5))?;
            }
            round.see_out(life)?;
        }
        stage.close(round, &format!("round:{number}"));
    }
    Ok(())
}

/// As `nohup` and a shell's `&` start programs.
fn start(round: &Round) -> anyhow::Result<Life> {
    let ignoring = ["sh", "-c", "trap '' HUP INT; exec \"$@\"", "sh"];
    flows::start_under(round, &ignoring)
}

/// One signal that must do nothing. Who is not there any more, or not yet what it will be, gets none.
fn disturb(round: &mut Round, life: &Life, which: u64) -> anyhow::Result<()> {
    // The shell before it ignores the two as well, and becomes the owner.
    let spawner = table::spawner_of(life.pid());
    let sent = match (which, spawner) {
        (0, _) => life.signal(Signal::HUP),
        (1, _) => life.signal(Signal::INT),
        (2, Some(spawner)) => send(spawner.pid, Signal::HUP),
        (3, Some(spawner)) => send(spawner.pid, Signal::INT),
        (_, Some(spawner)) => send(spawner.pid, Signal::TERM),
        (_, None) => return Ok(()),
    };
    // It may have ended in between.
    if sent.is_ok() {
        round.faults += 1;
    }
    Ok(())
}
