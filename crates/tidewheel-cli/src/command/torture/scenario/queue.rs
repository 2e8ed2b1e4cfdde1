//! Many queued tasks, and a kill: how long until the next victim has the first one running.
//!
//! Then all of them are done and checked.

use std::time::Duration;

use anyhow::Context as _;

use super::super::check::Kind;
use super::super::ledger::Line;
use super::super::plan::Plan;
use super::Stage;

const ROUNDS_DEFAULT: u64 = 1;
/// From the start of the next victim to its first task, for a hundred thousand.
const RECOVERY_MAX: Duration = Duration::from_secs(2);
const SLOTS: u32 = 64;

pub(super) fn play(stage: &mut Stage<'_>) -> anyhow::Result<()> {
    while let Some(number) = stage.next_round(stage.outcome.rounds, ROUNDS_DEFAULT) {
        let mut round = stage.round(&number.to_string())?;
        round.plan = Plan::Queue;
        round.count = stage.settings.queued;
        round.slots = SLOTS;
        let mut life = round.start_under(&[], &["--hold"])?;
        let is_ready = || Ok(round.ledger_text()?.ends_with("\nready\n"));
        if life.wait_or(round.life_max(), is_ready)?.is_some() || !life.kill()? {
            let said = round.last_words();
            round.find(Kind::Broken, format!("a victim ended before it was killed: {said}"));
        } else {
            round.faults += 1;
            let begin = monotonic_nanos();
            round.finish()?;
            let text = round.ledger_text()?;
            let first = text.lines().find_map(|line| match Line::parse(line) {
                Some(Line::Dispatched { nanos }) => Some(nanos),
                _ => None,
            });
            let first = first.context("no task ever began")?;
            let recovery = Duration::from_nanos(first.saturating_sub(begin));
            stage.note(format!(
                "{} queued: {:.3} s from the start of a victim to its first task",
                round.count,
                recovery.as_secs_f64()
            ));
            if recovery > RECOVERY_MAX && !cfg!(debug_assertions) {
                let what = format!("recovery took {:.3} s", recovery.as_secs_f64());
                round.find(Kind::Broken, what);
            }
        }
        stage.close(round, &format!("round:{number}"));
    }
    Ok(())
}

/// The clock that victims write down.
fn monotonic_nanos() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec.cast_unsigned() * 1_000_000_000 + now.tv_nsec.cast_unsigned()
}
