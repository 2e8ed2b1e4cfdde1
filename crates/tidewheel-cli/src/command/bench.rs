//! stub
use crate::error::CommandError;
use crate::ui::Ui;
/// Measure
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}
pub(crate) fn run(_ui: &Ui, _args: &Args) -> Result<(), CommandError> { Ok(()) }
