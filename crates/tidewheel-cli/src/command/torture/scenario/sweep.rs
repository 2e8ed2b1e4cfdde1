//! SIGKILL at the n-th write, flush or message of a victim or its spawner, for every n.
//!
//! How a call is counted and hit is in `strace`.

use super::super::check::Kind;
use super::super::command::Durable;
use super::super::round::LIFE_MAX;
use super::super::strace::{self, Fault, Point, Target};
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
    let counts = measure(stage)?;
    let mut points: Vec<Point> = counts
        .iter()
        .flat_map(|(target, call, count)| {
            (target.first(call)..=*count).map(|number| kill_at(*target, call, number))
        })
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
        for (target, call, count) in &counts {
            let mut number = count + 1;
            while attack(stage, &kill_at(*target, call, number))? {
                number += 1;
            }
        }
    }
    stage.note(format!("{played} of {all} places"));
    for target in Target::EACH {
        let calls = counts.iter().filter(|(of, ..)| *of == target);
        let calls: Vec<String> = calls.map(|(_, call, count)| format!("{count} {call}")).collect();
        if !calls.is_empty() {
            stage.note(format!("{}: {}", target.word(), calls.join(", ")));
        }
    }
    Ok(())
}

/// How often each thread makes each call when nobody hurts it.
pub(super) fn measure(stage: &mut Stage<'_>) -> anyhow::Result<Vec<(Target, &'static str, u32)>> {
    let mut counts = Vec::new();
    for target in Target::EACH {
        if target == Target::Books && stage.settings.durability == Durable::Process {
            // The first thread keeps the books itself.
            continue;
        }
        let mut round = stage.round(&format!("measure-{}", target.word()))?;
        let calls = strace::measure(&mut round, target)?;
        counts.extend(calls.into_iter().map(|(call, count)| (target, call, count)));
        stage.close(round, "");
    }
    Ok(counts)
}

fn kill_at(target: Target, call: &'static str, number: u32) -> Point {
    Point { target, call, fault: Fault::Kill, number, goes_on: false }
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
