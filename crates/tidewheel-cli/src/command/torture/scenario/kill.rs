//! SIGKILL after a random time, again and again, until the plan is done.
//!
//! After a kill all processes of the victim must disappear by themselves; sometimes that is waited
//! for, and sometimes the next victim comes at once and must cope with what is left.

use std::time::Duration;

use super::super::plan::Plan;
use super::Stage;

/// Kills altogether.
const KILLS_DEFAULT: u64 = 100;
/// Kills in one folder, after which a victim may finish.
const KILLS_MAX: u64 = 8;

pub(super) fn play(stage: &mut Stage<'_>) -> anyhow::Result<()> {
    while let Some(number) = stage.next_round(stage.outcome.faults, KILLS_DEFAULT) {
        let mut random = stage.random(number);
        let mut round = stage.round(&number.to_string())?;
        let wanted = stage.rounds().unwrap_or(u64::MAX).saturating_sub(stage.outcome.faults);
        round.threads = 1 + (number % 2) as u32;
        // Long enough that most kills come before its end.
        round.plan = Plan::Mixed;
        round.count = 100;
        round.pause = Duration::from_millis(10);
        while round.faults < KILLS_MAX.min(wanted.max(1)) {
            let delay = Duration::from_millis(random.between(5, 300));
            let is_patient = random.between(0, 2) == 0;
            let mut life = round.start()?;
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
        round.finish()?;
        stage.close(round, &format!("round:{number}"));
    }
    Ok(())
}
