//! Which figures are taken, and how they are shown.
//!
//! How each is taken is in the files beside.

use serde_json::json;

use super::figure::Figure;
use super::{chain, due, idle, lists, start, submit};
use crate::cli::Format;
use crate::command::bench::command::{ServeArgs, ServeFigure};
use crate::error::CommandError;
use crate::ui::Ui;

/// All of them, in the order in which they are taken.
const ALL: [ServeFigure; 6] = [
    ServeFigure::Start,
    ServeFigure::Submit,
    ServeFigure::Due,
    ServeFigure::Lists,
    ServeFigure::Idle,
    ServeFigure::Chain,
];

pub(in crate::command::bench) fn measure(ui: &Ui, args: &ServeArgs) -> Result<(), CommandError> {
    let mut figures: Vec<Figure> = Vec::new();
    let is_wanted = |figure: &ServeFigure| args.only.is_empty() || args.only.contains(figure);
    for figure in ALL.into_iter().filter(is_wanted) {
        ui.note(&format!("measuring {}", figure.word()));
        figures.extend(match figure {
            ServeFigure::Start => start::measure(args)?,
            ServeFigure::Submit => submit::measure(args)?,
            ServeFigure::Due => due::measure(args)?,
            ServeFigure::Lists => lists::measure(ui, args)?,
            ServeFigure::Idle => idle::measure(args)?,
            ServeFigure::Chain => chain::measure(args)?,
        });
    }
    match ui.format(Format::Human) {
        Format::Json => {
            let (workload, version) = ("serve", env!("CARGO_PKG_VERSION"));
            let peer = "tidewheel";
            ui.print(&json!({ "workload": workload, "peer": peer, "version": version, "figures": figures }).to_string())
        }
        Format::Human => {
            let lines: String = figures.iter().map(Figure::line).collect();
            ui.print(&format!("serve, each figure beside its bound and its share of it\n{lines}"))
        }
    }
}
