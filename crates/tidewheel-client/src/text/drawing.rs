//! The steps of a run as a drawing of lines, for a terminal.
//!
//! How it is drawn is the business of [`tidewheel_flow::picture`].

use tidewheel_flow::picture::{Picture, State, TextLine, Vertex};

use crate::api::StepState;

/// A step that is drawn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DrawnStep<'a> {
    /// Its name.
    pub name: &'a str,
    /// What stands behind it.
    pub detail: Option<String>,
    /// How it stands.
    pub state: StepState,
    /// The numbers of the steps it waits for.
    pub after: &'a [usize],
}

/// Draws steps in lines of at most so many columns, each with the number of its step. Nothing foreign in them does
/// anything but show.
#[must_use]
pub fn drawing(steps: &[DrawnStep<'_>], width: usize) -> Vec<TextLine> {
    let mut picture = Picture::new();
    for step in steps {
        let mut vertex = Vertex::new(step.name).in_state(drawn_state(step.state));
        if let Some(detail) = &step.detail {
            vertex = vertex.detailed(detail.clone());
        }
        picture.add(vertex);
    }
    for (to, step) in steps.iter().enumerate() {
        for &from in step.after.iter().filter(|from| **from < steps.len()) {
            picture.connect(from, to);
        }
    }
    picture.text_lines(width)
}

/// A state of a step, for pictures.
pub(crate) fn drawn_state(state: StepState) -> State {
    match state {
        StepState::Pending => State::Pending,
        StepState::Running => State::Running,
        StepState::Succeeded => State::Succeeded,
        StepState::Failed => State::Failed,
        StepState::Skipped => State::Skipped,
        StepState::Cancelled => State::Cancelled,
        StepState::Unknown => State::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_a_step_says_which_one_it_is_of() {
        let step =
            |name, after| DrawnStep { name, detail: None, state: StepState::Succeeded, after };
        let steps = [step("one", &[][..]), step("two \u{202e}", &[0]), step("three", &[0])];
        let lines = drawing(&steps, 40);
        let of: Vec<usize> = lines.iter().filter_map(|line| line.vertex).collect();
        assert_eq!(of, [0, 1, 2]);
        for line in &lines {
            let name = line.vertex.map_or("", |vertex| ["one", "two", "three"][vertex]);
            assert!(line.text.contains(name), "{}", line.text);
            assert!(!line.text.contains('\u{202e}'));
        }
    }
}
