//! Links and other things that nobody put there stand in the data folder while a flow is killed, resumed
//! and pruned beside.
//!
//! Nothing outside of the folder may change, and nothing inside may keep work from being done.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;

use super::super::check::Kind;
use super::super::flow;
use super::super::plan::Plan;
use super::super::round::Round;
use super::{Stage, flows};
use crate::random::Random;

const ROUNDS_DEFAULT: u64 = 4;
const KILLS: u64 = 3;
/// Runs whose logs are tampered with.
const VICTIMS: u64 = 4;
const KEPT: &str = "precious";
const SMALL: &str = "flow: [{ name: say, run: echo hello }]\n";

pub(super) fn play(stage: &mut Stage<'_>) -> anyhow::Result<()> {
    while let Some(number) = stage.next_round(stage.outcome.rounds, ROUNDS_DEFAULT) {
        let mut random = stage.random(number);
        let mut round = stage.round(&number.to_string())?;
        round.plan = Plan::Flow;
        flow::write(&round.folder, &round.ledger(), round.tag())?;
        let outside = outside(&round)?;
        tamper(&mut round, &outside, &mut random)?;
        for kill in 0..KILLS {
            let mut life = flows::start(&round)?;
            // The fault itself, not a wait for something.
            std::thread::sleep(Duration::from_millis(random.between(50, 400)));
            litter(&round, &outside, kill)?;
            prune(&mut round)?;
            if !life.kill()? {
                break;
            }
            round.faults += 1;
        }
        if !flow::has_ended(&round.data())? {
            let life = flows::start(&round)?;
            round.see_out(life)?;
        }
        expect_untouched(&mut round, &outside)?;
        stage.close(round, &format!("round:{number}"));
    }
    Ok(())
}

/// A folder that is nobody's business, with a file in it.
fn outside(round: &Round) -> anyhow::Result<PathBuf> {
    let outside = round.folder.join("outside");
    fs::create_dir_all(outside.join("deep"))?;
    for name in ["keep.txt", "deep/keep.txt"] {
        fs::write(outside.join(name), KEPT)?;
    }
    Ok(outside)
}

/// Lets some runs end and puts something else where their logs are.
fn tamper(round: &mut Round, outside: &Path, random: &mut Random) -> anyhow::Result<()> {
    let small = round.folder.join("small.yaml");
    fs::write(&small, SMALL).context("a flow cannot be written")?;
    let small = small.to_string_lossy().into_owned();
    for _ in 0..VICTIMS {
        round.expect_command(&["run", &small, "--durability", round.durability()], &[0])?;
    }
    for entry in fs::read_dir(round.data().join("logs"))? {
        let logs = entry?.path();
        round.faults += 1;
        match random.between(0, 4) {
            0 => {
                fs::remove_dir_all(&logs)?;
                symlink(outside, &logs)?;
            }
            1 => symlink(outside.join("keep.txt"), logs.join("link.out"))?,
            2 => {
                fs::create_dir(logs.join("strange"))?;
                symlink(outside, logs.join("strange").join("link"))?;
            }
            _ => symlink(logs.join("nowhere"), logs.join("dangling.err"))?,
        }
    }
    Ok(())
}

/// Puts things where nothing of ours is.
fn litter(round: &Round, outside: &Path, place: u64) -> anyhow::Result<()> {
    let data = round.data();
    for (folder, target) in [("logs", outside), ("locks", Path::new("nowhere")), ("", outside)] {
        let folder = data.join(folder);
        if folder.is_dir() {
            symlink(target, folder.join(format!("odd-{place}")))?;
            fs::create_dir(folder.join(format!("odd folder {place}")))?;
            fs::write(folder.join(format!("odd-{place}.tmp")), "?")?;
        }
    }
    Ok(())
}

/// What cannot be removed is told; the flow that has not ended is none of its business.
fn prune(round: &mut Round) -> anyhow::Result<()> {
    round.expect_command(&["prune", "--keep", "0"], &[0, 1])
}

fn expect_untouched(round: &mut Round, outside: &Path) -> anyhow::Result<()> {
    for name in ["keep.txt", "deep/keep.txt"] {
        if fs::read_to_string(outside.join(name)).ok().as_deref() != Some(KEPT) {
            round.find(Kind::Broken, format!("`{name}`, outside of the folder, was touched"));
        }
    }
    let count = fs::read_dir(outside)?.count();
    if count != 2 {
        round.find(Kind::Broken, format!("{count} things are outside of the folder, not 2"));
    }
    Ok(())
}
