//! What stays on the screen when the run is over.
//!
//! It is drawn once and may be as long as it takes, so it is not bound to the terminal's height.

use std::time::Duration;

use tidewheel_client::progress::EndState;
use tidewheel_client::text;

use super::line::{Line, Signs, Tone};
use super::model::{Model, Phase};
use super::row::{self, RowStyle};
use super::window::WINDOW_MAX;

/// Failed steps that are listed.
const FAILED_MAX: usize = 30;
/// Failed steps that are listed with their output.
const FAILED_WITH_TAIL: usize = 10;
/// Lines of output of each.
const TAIL_LINES: usize = 10;

/// Draws the end: all steps if they are few, else those that failed, and the counts.
pub fn summary(model: &Model, width: usize, now: Duration, signs: &'static Signs) -> Vec<Line> {
    let style = RowStyle::new(model, width, model.elapsed(now), signs);
    let all = 0..model.steps.len();
    let is_small = all.len() <= WINDOW_MAX;
    let shown: Vec<usize> = if is_small {
        all.collect()
    } else {
        model.failed.iter().copied().take(FAILED_MAX).collect()
    };
    let mut lines = Vec::new();
    let mut tails = 0;
    for index in shown {
        lines.push(row::step(model, index, &style));
        let tail = model.steps[index].tail();
        if !tail.is_empty() && tails < FAILED_WITH_TAIL {
            let first = tail.len().saturating_sub(TAIL_LINES);
            lines.extend(tail[first..].iter().map(|line| row::tail(line, &style)));
            tails += 1;
        }
    }
    let failed = model.failed.len();
    if !is_small && failed > FAILED_MAX {
        let text = format!("   {} {} more failed", signs.more, failed - FAILED_MAX);
        lines.push(Line::new().with(Tone::Faint, text));
    }
    if !lines.is_empty() {
        lines.push(Line::new());
    }
    lines.push(verdict(model, width, now, signs));
    lines
}

/// One line: how it went, how long it took, and how many steps ended how.
fn verdict(model: &Model, width: usize, now: Duration, signs: &Signs) -> Line {
    let (mark, tone, word) = match model.phase {
        Phase::Ended { state, .. } => {
            let (mark, tone) = row::end_mark(state, signs);
            (mark, tone, state.word())
        }
        _ => (signs.unknown, Tone::Doubtful, "unfinished"),
    };
    let took = text::took(model.elapsed(now));
    let mut line = Line::new().with(Tone::Plain, " ").with(tone, mark).with(Tone::Plain, " ");
    line.push_cut(Tone::Strong, &model.flow, width, signs);
    line.push(Tone::Plain, " ");
    line.push(tone, word);
    // Not cut: it stays, so it may take two rows.
    line.push(Tone::Plain, format!(" in {took}: {}", counts(model)));
    line
}

/// "38 succeeded, 1 failed, 1 skipped".
pub(crate) fn counts(model: &Model) -> String {
    let tolerated = model.failed.iter().filter(|&&step| model.steps[step].is_tolerated()).count();
    let ended = EndState::ALL.map(|state| (state.word(), model.count(state)));
    let open = model.steps.len() - model.ended_count();
    let all = ended.into_iter().chain([("not ended", open)]);
    let some: Vec<String> = all
        .filter(|(_, count)| *count > 0)
        .map(|(word, count)| match word {
            "failed" if tolerated == count => format!("{count} failed (tolerated)"),
            "failed" if tolerated > 0 => format!("{count} failed ({tolerated} tolerated)"),
            _ => format!("{count} {word}"),
        })
        .collect();
    if some.is_empty() { "no steps".to_owned() } else { some.join(", ") }
}
