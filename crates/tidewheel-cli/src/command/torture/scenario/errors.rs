//! EIO and ENOSPC at the n-th write or flush of a victim: once, and from then on.
//!
//! After an error that happened once a victim goes on by itself; one whose calls fail for good is
//! killed after a while. Then another one finishes.

use std::time::Duration;

use super::super::check::Kind;
use super::super::round::LIFE_MAX;
use super::super::strace::{self, Fault, Point, STORE_CALLS};
use super::Stage;
use super::sweep::spread;

/// Without a word about rounds: many hours would be needed for all.
const POINTS_DEFAULT: u64 = 200;

pub(super) fn play(stage: &mut Stage<'_>) -> anyhow::Result<()> {
    if let Err(why) = strace::is_there() {
        stage.skip(why);
        return Ok(());
    }
    if let Some(point) = stage.only_point() {
        let point: Point = point.parse()?;
        return attack(stage, &point, 0);
    }
    let mut round = stage.round("measure")?;
    let counts = strace::measure(&mut round)?;
    stage.close(round, "");
    let kinds = [
        (Fault::InputOutput, false),
        (Fault::NoSpace, false),
        (Fault::InputOutput, true),
        (Fault::NoSpace, true),
    ];
    let mut points = Vec::new();
    for (call, count) in counts.iter().filter(|(call, _)| STORE_CALLS.contains(call)) {
        for number in 1..=*count {
            points.extend(kinds.map(|(fault, goes_on)| {
                let call = (*call).to_owned();
                Point { call, fault, number, goes_on }
            }));
        }
    }
    let all = points.len();
    stage.random(0).shuffle(&mut points);
    if !stage.is_timed() {
        points = spread(&points, stage.rounds().unwrap_or(POINTS_DEFAULT) as usize);
    }
    let mut played = 0;
    for point in &points {
        if played > 0 && !stage.has_time() {
            break;
        }
        attack(stage, point, played)?;
        played += 1;
    }
    stage.note(format!("{played} of {all} faults"));
    Ok(())
}

fn attack(stage: &mut Stage<'_>, point: &Point, place: u64) -> anyhow::Result<()> {
    let mut round = stage.round(&point.to_string())?;
    let most = match point.goes_on {
        true => Duration::from_millis(stage.random(place).between(300, 1_000)),
        false => LIFE_MAX,
    };
    let injected = strace::inject(&mut round, point, most)?;
    if !injected.has_ended && !point.goes_on {
        round.find(Kind::Broken, format!("a victim hung after one error, {point}"));
    }
    round.finish()?;
    stage.close(round, &point.to_string());
    Ok(())
}
