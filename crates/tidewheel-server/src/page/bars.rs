//! Past runs of a flow as small bars: height is how long they took, shape and colour how they ended.
//!
//! Each bar is a link to its run, with its name for those who do not see it; where there are very many, those of one state are one
//! shape, and how many there are of each is said.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use tidewheel_client::api::{PastRun, RunState};

use super::words::{Markup, in_address, took};

const WIDTH: usize = 7;
const HEIGHT: f64 = 24.0;
const LEAST: f64 = 4.0;

/// The newest runs, the newest last, each of them a link or all of them a picture.
pub(crate) fn bars(runs: &[PastRun], most: usize, are_links: bool) -> Markup {
    let shown = &runs[runs.len().saturating_sub(most)..];
    let longest = shown.iter().filter_map(|run| run.took).max().unwrap_or_default().as_secs_f64();
    let width = most * WIDTH;
    let size = format!("width=\"{width}\" height=\"24\" viewBox=\"0 0 {width} 24\"");
    let shapes = shown.iter().enumerate().map(|(place, run)| (run, shape(place, run, longest)));
    Markup(match are_links {
        true => {
            let links: String = shapes.map(|(run, shape)| link(run, &shape)).collect();
            format!("<svg class=\"bars\" {size}>{links}</svg>")
        }
        false => picture(shapes, &size),
    })
}

/// A bar as a path. A notch tells those apart that did not go well, without their colour.
fn shape(place: usize, run: &PastRun, longest: f64) -> String {
    let time = run.took.unwrap_or_default();
    let share = if longest > 0.0 { time.as_secs_f64() / longest } else { 0.0 };
    let height = (LEAST + share * (HEIGHT - LEAST)).round();
    let (x, y) = (place * WIDTH, HEIGHT - height);
    match run.state {
        RunState::Failed | RunState::Unknown => {
            format!("M{x} {y}h5v1h-5zM{x} {}h5v{}h-5z", y + 3.0, height - 3.0)
        }
        _ => format!("M{x} {y}h5v{height}h-5z"),
    }
}

fn link(run: &PastRun, shape: &str) -> String {
    let at = run.accepted_at.to_string();
    let at = at.get(..16).unwrap_or_default().replace('T', " ");
    let said = format!("{}, {}, {at} UTC", run.state, took(run.took.unwrap_or_default()));
    let (word, id) = (run.state.word(), in_address(&run.run_id));
    format!(
        "<a href=\"/runs/{id}\" aria-label=\"{said}\"><path class=\"is-{word}\" d=\"{shape}\"><title>{said}</title></path></a>"
    )
}

fn picture<'a>(shapes: impl Iterator<Item = (&'a PastRun, String)>, size: &str) -> String {
    let mut states: BTreeMap<&str, (usize, String)> = BTreeMap::new();
    for (run, shape) in shapes {
        let (count, path) = states.entry(run.state.word()).or_default();
        *count += 1;
        path.push_str(&shape);
    }
    let counts: Vec<String> =
        states.iter().map(|(word, (count, _))| format!("{count} {word}")).collect();
    let said = if counts.is_empty() { "no runs".to_owned() } else { counts.join(", ") };
    let mut out = format!("<svg class=\"bars\" role=\"img\" aria-label=\"{said}\" {size}>");
    for (word, (_, path)) in states {
        _ = write!(out, "<path class=\"is-{word}\" d=\"{path}\"/>");
    }
    out.push_str("</svg>");
    out
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tidewheel::Timestamp;

    use super::*;

    fn run(state: RunState, seconds: u64) -> PastRun {
        PastRun {
            run_id: format!("{state}{seconds}"),
            state,
            accepted_at: Timestamp::UNIX_EPOCH,
            took: Some(Duration::from_secs(seconds)),
        }
    }

    #[test]
    fn each_bar_leads_to_its_run_and_what_failed_has_a_notch() {
        let runs =
            [run(RunState::Succeeded, 10), run(RunState::Failed, 5), run(RunState::Failed, 0)];
        let drawn = bars(&runs, 2, true).0;
        assert_eq!(drawn.matches("<a href=\"/runs/failed").count(), 2, "{drawn}");
        assert!(drawn.contains("aria-label=\"failed, 5.0 s, 1970-01-01 00:00 UTC\""), "{drawn}");
        assert!(drawn.contains("M0 0h5v1h-5zM0 3h5v21h-5z"), "{drawn}");
        assert!(drawn.contains("M7 20h5v1h-5zM7 23h5v1h-5z"), "{drawn}");
    }

    #[test]
    fn as_a_picture_many_are_a_few_shapes_and_say_how_many() {
        let mut runs = vec![run(RunState::Succeeded, 3); 28];
        runs.extend([run(RunState::Failed, 2), run(RunState::Failed, 1)]);
        let drawn = bars(&runs, 30, false).0;
        assert!(drawn.contains("aria-label=\"2 failed, 28 succeeded\""), "{drawn}");
        assert_eq!((drawn.matches("<path").count(), drawn.matches("<a ").count()), (2, 0));
    }
}
