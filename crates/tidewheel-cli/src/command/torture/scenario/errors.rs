//! EIO and ENOSPC at the n-th write or flush of a victim: once, and from then on.
//!
//! After an error that happened once a victim goes on by itself; one whose calls fail for good is
//! killed after a while. Then another one finishes.

use std::time::Duration;

use super::super::check::Kind;
use super::super::strace::{self, Fault, Point, STORE_CALLS, Target};
use super::Stage;
use super::sweep::{self, spread};

/// Without a word about rounds: many hours would be needed for all.
const POINTS_DEFAULT: u64 = 200;
/// How long a victim may take that met one error: it tries again within a second.
const ONE_ERROR_MAX: Duration = Duration::from_secs(30);

pub(super) fn play(stage: &mut Stage<'_>) -> anyhow::Result<()> {
    if let Err(why) = strace::is_there() {
        stage.skip(why);
        return Ok(());
    }
    if let Some(point) = stage.only_point() {
        let point: Point = point.parse()?;
        return attack(stage, &point, 0);
    }
    let counts = sweep::measure(stage)?;
    let kinds = [
        (Fault::InputOutput, false),
        (Fault::NoSpace, false),
        (Fault::InputOutput, true),
        (Fault::NoSpace, true),
    ];
    let mut points = Vec::new();
    for (target, call, count) in counts {
        // What the spawner does when its calls fail is tested beside its code.
        if target == Target::Spawner || !STORE_CALLS.contains(&call) {
            continue;
        }
        for number in 1..=count {
            points.extend(kinds.map(|(fault, goes_on)| Point {
                target,
                call,
                fault,
                number,
                goes_on,
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
        false => ONE_ERROR_MAX,
    };
    let injected = strace::inject(&mut round, point, most)?;
    if !injected.has_ended && !point.goes_on {
        round.find(Kind::Broken, format!("a victim hung after one error, {point}"));
    }
    round.finish()?;
    stage.close(round, &point.to_string());
    Ok(())
}
