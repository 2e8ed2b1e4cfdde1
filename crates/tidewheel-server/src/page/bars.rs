//! Past runs of a flow as small bars: height is how long they took, shape and colour how they ended.
//!
//! Each bar is a link to its run, with its name for those who do not see it.

use std::fmt::Write as _;

use tidewheel_client::api::{PastRun, RunState};

use super::words::{Markup, in_address, took};

const WIDTH: usize = 7;
const HEIGHT: f64 = 24.0;
const LEAST: f64 = 4.0;

/// The newest runs, the newest last.
pub(crate) fn bars(runs: &[PastRun], most: usize) -> Markup {
    let shown = &runs[runs.len().saturating_sub(most)..];
    let longest = shown.iter().filter_map(|run| run.took).max().unwrap_or_default().as_secs_f64();
    let width = most * WIDTH;
    let mut out =
        format!("<svg class=\"bars\" width=\"{width}\" height=\"24\" viewBox=\"0 0 {width} 24\">");
    for (place, run) in shown.iter().enumerate() {
        let time = run.took.unwrap_or_default();
        let share = if longest > 0.0 { time.as_secs_f64() / longest } else { 0.0 };
        let height = (LEAST + share * (HEIGHT - LEAST)).round();
        let (x, y) = (place * WIDTH, HEIGHT - height);
        let at = run.accepted_at.to_string();
        let said = format!(
            "{}, {}, {}",
            run.state,
            took(time),
            at.get(..16).unwrap_or_default().replace('T', " ")
        );
        let word = run.state.word();
        let id = in_address(&run.run_id);
        // A notch tells those apart that did not go well, without their colour.
        let notch = match run.state {
            RunState::Failed | RunState::Unknown => "<path class=\"notch\" d=\"M0 2h5\"/>",
            _ => "",
        };
        _ = write!(
            out,
            "<a href=\"/runs/{id}\" aria-label=\"{said} UTC\"><g transform=\"translate({x} {y})\"><title>{said} \
             UTC</title><rect class=\"bar is-{word}\" width=\"5\" height=\"{height}\" rx=\"1\"/>{notch}</g></a>"
        );
    }
    out.push_str("</svg>");
    Markup(out)
}
