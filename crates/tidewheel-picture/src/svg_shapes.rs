//! The outlines of steps and the marks of states in an SVG picture.
//!
//! What they look like otherwise is in [`super::svg_style`].

use std::fmt::{self, Write};

use super::layout::Place;
use super::model::{Shape, State};
use super::svg::Number;

/// How far the cards of a fan-out show behind each other.
const STACK: f64 = 3.5;
const CORNER: f64 = 8.0;

/// Writes the outline of a box, relative to its upper left corner.
pub(super) fn write_outline(out: &mut String, shape: Shape, place: &Place) -> fmt::Result {
    let (width, height) = (place.width, place.height);
    match shape {
        Shape::Step | Shape::More => write_card(out, [0.0, 0.0, width, height], CORNER),
        Shape::Wait => write_card(out, [0.0, 0.0, width, height], height / 2.0),
        Shape::FanOut => {
            for layer in [2.0, 1.0, 0.0] {
                let shift = layer * STACK;
                write_card(out, [shift, shift, width, height], CORNER)?;
            }
            Ok(())
        }
        Shape::ChildFlow => {
            write_card(out, [0.0, 0.0, width, height], CORNER)?;
            let (left, right) = (Number(6.0), Number(width - 6.0));
            let height = Number(height);
            writeln!(out, r#"<path class="rib" d="M{left} 0V{height}M{right} 0V{height}"/>"#)
        }
        Shape::CleanUp => {
            let cut = 11.0;
            let (right, low) = (Number(width - cut), Number(height - cut));
            let (width, height, cut) = (Number(width), Number(height), Number(cut));
            write!(out, r#"<path class="card" d="M{cut} 0H{right}L{width} {cut}V{low}"#)?;
            writeln!(out, r#"L{right} {height}H{cut}L0 {low}V{cut}Z"/>"#)
        }
    }
}

fn write_card(out: &mut String, [x, y, width, height]: [f64; 4], corner: f64) -> fmt::Result {
    let (width, height, corner) = (Number(width), Number(height), Number(corner));
    write!(out, r#"<rect class="card" "#)?;
    if x != 0.0 {
        write!(out, r#"x="{}" y="{}" "#, Number(x), Number(y))?;
    }
    writeln!(out, r#"width="{width}" height="{height}" rx="{corner}"/>"#)
}

/// Writes the lamp with the mark of one state, or with all marks for a page that changes classes.
pub(super) fn write_lamp(out: &mut String, marks: &[State], x: f64, y: f64) -> fmt::Result {
    write!(out, r#"<g transform="translate({} {})">"#, Number(x), Number(y))?;
    write!(out, r#"<circle class="lamp" r="6.5"/>"#)?;
    for state in marks {
        if let Some(path) = mark(*state) {
            write!(out, r#"<path class="mark mark-{}" d="{path}"/>"#, state.word())?;
        }
    }
    writeln!(out, "</g>")
}

fn mark(state: State) -> Option<&'static str> {
    match state {
        State::Pending => None,
        State::Running => Some("M0-6.5A6.5 6.5 0 0 1 6.5 0"),
        State::Succeeded => Some("M-2.9.2-.8 2.3 2.9-2"),
        State::Failed => Some("M-2.2-2.2 2.2 2.2M2.2-2.2-2.2 2.2"),
        State::Skipped => Some("M-2.8 0H2.8"),
        State::Cancelled => Some("M-4.6 4.6 4.6-4.6"),
        State::Unknown => Some("M-1.7-1.6A1.8 1.8 0 1 1 .6.3Q0 .6 0 1.2M0 3.3V3.4"),
    }
}
