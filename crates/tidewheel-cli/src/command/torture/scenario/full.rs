//! The disk is full for a while: the data folder is on a small file system that a filler takes up.
//!
//! Mounting one needs a mount namespace of our own, so this program is started once more inside of
//! one, and its report is taken over.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow};

use super::super::check::Kind;
use super::super::plan::Plan;
use super::super::report::Report;
use super::super::round::{Life, Round, size_of};
use super::super::table;
use super::Stage;

const ROUNDS_DEFAULT: u64 = 3;
/// How long it is full.
const FULL_MIN_MS: u64 = 1_000;
const FULL_MAX_MS: u64 = 2_000;
/// A share of one processor that waiting for space may take.
const BUSY_MAX: f64 = 0.2;

pub(super) fn play(stage: &mut Stage<'_>) -> anyhow::Result<()> {
    if !stage.settings.inside {
        return play_inside(stage);
    }
    while let Some(number) = stage.next_round(stage.outcome.rounds, ROUNDS_DEFAULT) {
        let mut round = stage.round(&number.to_string())?;
        round.plan = Plan::Mixed;
        round.count = 400;
        round.pause = Duration::from_millis(10);
        let (folder, data) = (round.folder.clone(), round.data());
        fs::create_dir_all(&data)?;
        run("mount", &["-t", "tmpfs", "-o", "size=6m,mode=0700", "tmpfs"], &data)?;
        let full = stage.random(number).between(FULL_MIN_MS, FULL_MAX_MS);
        if let Some(note) = starve(&mut round, Duration::from_millis(full))? {
            stage.note(note);
        }
        let is_clean = stage.close(round, &format!("round:{number}"));
        if !is_clean {
            // The file system vanishes with the namespace.
            copy(&data, &folder)?;
        }
        run("umount", &[], &data)?;
        if is_clean && !stage.settings.keep {
            let _ = fs::remove_dir_all(&folder);
        }
    }
    Ok(())
}

fn starve(round: &mut Round, full: Duration) -> anyhow::Result<Option<String>> {
    let mut life = round.start()?;
    let has_begun = || Ok(round.ledger_text()?.lines().any(|line| line.starts_with("start")));
    if life.wait_or(round.life_max(), has_begun)?.is_some() {
        let said = round.last_words();
        round.find(Kind::Broken, format!("a victim ended before the disk was full: {said}"));
        return Ok(None);
    }
    let filler = round.data().join("filler");
    fill(&filler)?;
    round.faults += 1;
    let note = watch(round, &mut life, full)?;
    fs::remove_file(&filler).context("the filler cannot be removed")?;
    round.see_out(life)?;
    Ok(note)
}

/// Takes all the space there is.
fn fill(path: &Path) -> anyhow::Result<()> {
    let mut file = File::create(path).context("the filler cannot be made")?;
    for size in [64 << 10, 4 << 10] {
        let block = vec![0; size];
        while file.write_all(&block).is_ok() {}
    }
    Ok(())
}

/// Watches a victim without space, which must neither end nor be busy.
fn watch(round: &mut Round, life: &mut Life, full: Duration) -> anyhow::Result<Option<String>> {
    let ticks = |round: &Round| -> u64 {
        round.left().iter().filter_map(|seen| table::ticks_of(seen.pid)).sum()
    };
    // What was stored already is still being done.
    life.wait(Duration::from_millis(200))?;
    let (size, before, begin) = (size_of(&round.ledger()), ticks(round), Instant::now());
    if let Some(status) = life.wait(full)? {
        let said = round.last_words();
        round.find(Kind::Broken, format!("a victim without space ended with {status}: {said}"));
        round.finish()?;
        return Ok(None);
    }
    let busy = ticks(round).saturating_sub(before) as f64 / 100.0 / begin.elapsed().as_secs_f64();
    if size_of(&round.ledger()) > size {
        return Ok(Some("space was left for some more steps".to_owned()));
    }
    if busy > BUSY_MAX {
        round.find(Kind::Broken, format!("without space a victim was {:.0} % busy", busy * 100.0));
    }
    Ok(Some(format!("{:.0} % busy while the disk was full", busy * 100.0)))
}

/// Starts this program inside of a mount namespace.
fn play_inside(stage: &mut Stage<'_>) -> anyhow::Result<()> {
    let Some(how) = ["-m", "-rm"].into_iter().find(|how| may_mount(how)) else {
        stage.skip("no file system may be mounted here");
        return Ok(());
    };
    let settings = stage.settings;
    let mut command = Command::new("unshare");
    command.arg(how).arg("--").arg(&settings.program);
    command.args(["torture", "--only", "full", "--inside", "--format", "json"]);
    command.arg(format!("--seed={}", settings.seed));
    command.arg(format!("--durability={}", settings.durability.word()));
    command.arg("--work").arg(&settings.work);
    if settings.keep {
        command.arg("--keep");
    }
    if let Some(point) = &settings.point {
        command.arg(format!("--point={point}"));
    }
    match (stage.rounds(), stage.seconds_left()) {
        (_, Some(seconds)) => command.arg(format!("--seconds={seconds}")),
        (Some(rounds), None) => command.arg(format!("--rounds={rounds}")),
        (None, None) => &mut command,
    };
    // What it says on the way is in the report too.
    let output = command.stdin(Stdio::null()).output()?;
    let report: Report = serde_json::from_slice(&output.stdout).with_context(|| {
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        format!("the part inside gave no report: {}", said.trim())
    })?;
    stage.outcome = report.scenarios.into_iter().next().context("the report is empty")?;
    Ok(())
}

fn may_mount(how: &str) -> bool {
    let mut command = Command::new("unshare");
    command.args([how, "--", "mount", "-t", "tmpfs", "tmpfs", "/tmp"]);
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

fn copy(data: &Path, folder: &Path) -> anyhow::Result<()> {
    let mut command = Command::new("cp");
    let status = command.arg("-r").arg(data).arg(folder.join("data-copy")).status()?;
    status.success().then_some(()).ok_or_else(|| anyhow!("the folder cannot be copied"))
}

fn run(program: &str, words: &[&str], path: &Path) -> anyhow::Result<()> {
    let output = Command::new(program).args(words).arg(path).output();
    let output = output.with_context(|| format!("failed to start {program}"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    Err(anyhow!("{program} failed: {}", said.trim()))
}
