//! SIGKILL at the n-th write, flush or message of a victim or its spawner, for every n.
//!
//! How a call is counted and hit is in `strace`.

use super::super::check::Kind;
use super::super::round::LIFE_MAX;
use super::super::strace::{self, Fault, Point};
use super::Stage;

pub(super) fn play(stage: &mut Stage<'_>) -> anyhow::Result<()> {
    if let Err(why) = strace::is_there() {
        stage.skip(why);
        return Ok(());
    }
    if let Some(point) = stage.only_point() {
        let point: Point = point.parse()?;
        attack(stage, &point)?;
        return Ok(());
    }
    let mut round = stage.round("measure")?;
    let counts = strace::measure(&mut round)?;
    stage.close(round, "");
    let at = |call: &str, number| Point {
        call: call.to_owned(),
        fault: Fault::Kill,
        number,
        goes_on: false,
    };
    let mut points: Vec<Point> = counts
        .iter()
        .flat_map(|(call, count)| (strace::first_of(call)..=*count).map(|n| at(call, n)))
        .collect();
    let all = points.len();
    if stage.is_timed() {
        stage.random(0).shuffle(&mut points);
    } else if let Some(rounds) = stage.rounds() {
        points = spread(&points, rounds as usize);
    }
    let mut played = 0;
    for point in &points {
        // Even a scenario without time is played once.
        if played > 0 && !stage.has_time() {
            break;
        }
        attack(stage, point)?;
        played += 1;
    }
    if stage.rounds().is_none() && !stage.is_timed() {
        // Calls are not the same number in each life: go on until one ends without reaching n.
        for (call, count) in &counts {
            let mut number = count + 1;
            while attack(stage, &at(call, number))? {
                number += 1;
            }
        }
    }
    let calls: Vec<String> = counts.iter().map(|(call, count)| format!("{count} {call}")).collect();
    stage.note(format!("{played} of {all} places ({})", calls.join(", ")));
    Ok(())
}

/// Kills a victim at a place, and lets another finish. Whether the place was reached.
fn attack(stage: &mut Stage<'_>, point: &Point) -> anyhow::Result<bool> {
    let mut round = stage.round(&point.to_string())?;
    let injected = strace::inject(&mut round, point, LIFE_MAX)?;
    if !injected.has_ended {
        round.find(Kind::Broken, format!("a victim hung at {point}"));
    }
    round.finish()?;
    stage.close(round, &point.to_string());
    Ok(injected.is_hit)
}

/// So many of all, evenly.
pub(super) fn spread(points: &[Point], wanted: usize) -> Vec<Point> {
    let wanted = wanted.min(points.len());
    (0..wanted).map(|place| points[place * points.len() / wanted].clone()).collect()
}
