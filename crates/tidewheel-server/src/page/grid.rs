//! [`Grid`]: the steps of a flow beside its newest runs, to see since when one of them fails.
//!
//! What is in it comes from the client.

use tidewheel_client::api::{FlowGrid, GridRun, StepState};

use super::words::{Markup, run_address, step_address, took};

/// Steps that are shown.
const ROWS_MAX: usize = 60;

/// The height of the longest bar.
const HIGH: f64 = 24.0;

/// Steps beside runs.
pub(super) struct Grid {
    pub runs: Vec<Head>,
    pub rows: Vec<GridRow>,
}

/// A run above its column.
pub(super) struct Head {
    pub to: String,
    pub said: String,
    pub bar: Markup,
}

pub(super) struct GridRow {
    pub step: String,
    pub cells: Vec<Cell>,
}

/// How a step did in a run.
pub(super) struct Cell {
    pub letter: char,
    pub word: &'static str,
    /// Where more is said, if it did not go well.
    pub to: Option<String>,
}

impl Grid {
    pub fn of(grid: &FlowGrid) -> Self {
        let longest = grid.runs.iter().filter_map(|run| run.run.took).max().unwrap_or_default();
        let head = |it: &GridRun| Head {
            to: run_address(&it.run.run_id),
            said: said(it),
            bar: bar(it, longest.as_secs_f64()),
        };
        let letters: Vec<Vec<char>> =
            grid.runs.iter().map(|run| run.letters.chars().collect()).collect();
        let row = |(place, step): (usize, &String)| GridRow {
            step: step.clone(),
            cells: grid
                .runs
                .iter()
                .zip(&letters)
                .map(|(run, letters)| cell(run, step, letters.get(place).copied()))
                .collect(),
        };
        Self {
            runs: grid.runs.iter().map(head).collect(),
            rows: grid.steps.iter().enumerate().take(ROWS_MAX).map(row).collect(),
        }
    }
}

fn said(it: &GridRun) -> String {
    let time = it.run.took.map(took).unwrap_or_default();
    format!("{}, {time}, {}", it.run.state, it.run.accepted_at)
}

/// How long a run took beside the longest, and how it ended.
fn bar(it: &GridRun, longest: f64) -> Markup {
    let share = it.run.took.unwrap_or_default().as_secs_f64() / longest.max(1e-9);
    let high = (share * HIGH).clamp(3.0, HIGH);
    let (word, top) = (it.run.state.word(), HIGH - high);
    Markup(format!(
        "<svg width=\"12\" height=\"{HIGH}\" aria-hidden=\"true\"><rect class=\"is-{word}\" y=\"{top:.1}\" width=\"12\" \
         height=\"{high:.1}\" rx=\"2\"/></svg>"
    ))
}

fn cell(run: &GridRun, step: &str, letter: Option<char>) -> Cell {
    let state = letter.and_then(StepState::of_letter);
    let is_bad = matches!(state, Some(StepState::Failed | StepState::Unknown));
    Cell {
        letter: state.map_or('·', |state| state.letter()),
        word: state.map_or("absent", |state| state.word()),
        to: is_bad.then(|| step_address(&run.run.run_id, step)),
    }
}
