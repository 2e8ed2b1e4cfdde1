//! The owner of a flow is frozen while another process asks it to pause or to end the run.
//!
//! Whoever asks must be told that nobody has heard; once it is said to be heard, nothing more of the run
//! may start. Every second round ends the run.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::Value;

use super::super::check::Kind;
use super::super::flow;
use super::super::plan::Plan;
use super::super::round::{Life, Round};
use super::{Stage, flows};

const ROUNDS_DEFAULT: u64 = 6;
/// How long whoever asks a frozen owner may take to say that nobody has heard.
const ANSWER_MAX: Duration = Duration::from_secs(30);
const PATIENCE: Duration = Duration::from_secs(30);
/// How often is asked until somebody hears.
const ASKED_MAX: u32 = 10;
const NOT_HEARD: i32 = 5;

pub(super) fn play(stage: &mut Stage<'_>) -> anyhow::Result<()> {
    while let Some(number) = stage.next_round(stage.outcome.rounds, ROUNDS_DEFAULT) {
        let mut random = stage.random(number);
        let mut round = stage.round(&number.to_string())?;
        let ends = number % 2 == 1;
        round.plan = if ends { Plan::Ended } else { Plan::Flow };
        flow::write(&round.folder, &round.ledger(), round.tag())?;
        let steps = random.between(1, 8) as usize;
        let mut life = flows::start(&round)?;
        let has_begun = || Ok(starts(&round)? >= steps);
        if life.wait_or(round.life_max(), has_begun)?.is_some() {
            let said = round.last_words();
            round.find(Kind::Broken, format!("a victim ended before it was frozen: {said}"));
        } else {
            freeze(&mut round, &life, if ends { END } else { PAUSE })?;
            if ends { expect_end(&mut round, life)? } else { go_on(&mut round, life)? }
        }
        stage.close(round, &format!("round:{number}"));
    }
    Ok(())
}

const PAUSE: &[&str] = &["pause", "last"];
const END: &[&str] = &["cancel", "last", "--everything", "--grace", "1s"];

/// Asks while the owner is frozen, and again when it is not.
fn freeze(round: &mut Round, life: &Life, wish: &[&str]) -> anyhow::Result<()> {
    life.freeze()?;
    round.faults += 1;
    let begin = Instant::now();
    let (code, answer) = ask(round, wish)?;
    // Frozen while it writes, it keeps others from even leaving a word.
    let is_told = code == Some(NOT_HEARD) && answer["heard"] != Value::Bool(true);
    if !is_told {
        let what = format!("a frozen owner was said to have heard `{}`: {answer}", wish[0]);
        round.find(Kind::Broken, what);
    }
    if begin.elapsed() > ANSWER_MAX {
        round.find(Kind::Broken, format!("the answer took {:.0?}", begin.elapsed()));
    }
    life.signal(Signal::CONT)?;
    // What was asked is followed, and asking again is answered then.
    for _ in 0..ASKED_MAX {
        let (code, answer) = ask(round, wish)?;
        if code == Some(0) && answer["heard"] == Value::Bool(true) {
            return Ok(());
        }
        // It has ended meanwhile, by that wish or by itself: then nothing can start any more.
        if flow::has_ended(&round.data())? {
            return Ok(());
        }
        if code != Some(NOT_HEARD) {
            break;
        }
    }
    round.find(Kind::Lost, format!("`{}` was not heard after the thaw", wish[0]));
    Ok(())
}

/// Nothing starts while it is paused; then it goes on.
fn go_on(round: &mut Round, life: Life) -> anyhow::Result<()> {
    let before = starts(round)?;
    let (_, shown) = ask(round, &["show", "last"])?;
    let is_paused = shown["state"] == "paused";
    // Longer than a step takes.
    std::thread::sleep(Duration::from_millis(200));
    let after = starts(round)?;
    if is_paused && after > before {
        let what = format!("{} steps started after the pause was heard", after - before);
        round.find(Kind::Doubled, what);
    }
    if is_paused {
        round.expect_command(&["resume", "last"], &[0])?;
    }
    round.see_out(life)
}

/// It ends, and nothing of it starts.
fn expect_end(round: &mut Round, mut life: Life) -> anyhow::Result<()> {
    let before = starts(round)?;
    if life.wait(PATIENCE)?.is_none() {
        round.find(Kind::Broken, "a victim whose run was ended did not end");
        life.kill()?;
    }
    let after = starts(round)?;
    if after > before {
        let what = format!("{} steps started after the end was heard", after - before);
        round.find(Kind::Doubled, what);
    }
    Ok(())
}

/// The exit code and what is said as JSON.
fn ask(round: &Round, words: &[&str]) -> anyhow::Result<(Option<i32>, Value)> {
    let output = round.ask(&[words, &["--format", "json"]].concat())?;
    let said = || Value::from(String::from_utf8_lossy(&output.stderr));
    let answer = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| said());
    Ok((output.status.code(), answer))
}

fn starts(round: &Round) -> anyhow::Result<usize> {
    Ok(round.ledger_text()?.lines().filter(|line| line.starts_with("start")).count())
}
