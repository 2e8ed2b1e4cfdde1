//! `tidewheel run` of a flow and then `tidewheel resume`, each killed after a random time, until the flow
//! is done.
//!
//! The victim is the command itself, with everything that people use it for; what the flow is, and what
//! must hold at the end, is in `flow`.

use std::time::Duration;

use super::super::flow;
use super::super::plan::Plan;
use super::super::round::{Life, Round};
use super::Stage;

/// Kills altogether.
const KILLS_DEFAULT: u64 = 100;
/// Kills in one folder, after which a victim may finish.
const KILLS_MAX: u64 = 10;

pub(super) fn play(stage: &mut Stage<'_>) -> anyhow::Result<()> {
    while let Some(number) = stage.next_round(stage.outcome.faults, KILLS_DEFAULT) {
        let mut random = stage.random(number);
        let mut round = stage.round(&number.to_string())?;
        let wanted = stage.rounds().unwrap_or(u64::MAX).saturating_sub(stage.outcome.faults);
        round.plan = Plan::Flow;
        flow::write(&round.folder, &round.ledger(), round.tag())?;
        while round.faults < KILLS_MAX.min(wanted.max(1)) {
            let delay = Duration::from_millis(random.between(20, 500));
            let is_patient = random.between(0, 2) == 0;
            let mut life = start(&round)?;
            // The fault itself, not a wait for something.
            std::thread::sleep(delay);
            if !life.kill()? {
                break;
            }
            round.faults += 1;
            if is_patient {
                round.expect_vanished();
            }
        }
        if !flow::has_ended(&round.data())? {
            let life = start(&round)?;
            round.see_out(life)?;
        }
        stage.close(round, &format!("round:{number}"));
    }
    Ok(())
}

/// Goes on with the run if there is one, and starts it if not.
pub(super) fn start(round: &Round) -> anyhow::Result<Life> {
    start_under(round, &[])
}

/// The same, as the last words of another command.
pub(super) fn start_under(round: &Round, before: &[&str]) -> anyhow::Result<Life> {
    let (data, file) = (round.data(), round.folder.join(flow::FILE));
    let [data_text, file] = [&data, &file].map(|path| path.to_string_lossy().into_owned());
    let what = match flow::is_stored(&data)? {
        true => ["resume", "last"],
        false => ["run", &file],
    };
    let around = ["--data", &data_text, "--durability", round.durability()];
    round.start_command(before, &[&what[..], &around[..]].concat())
}
