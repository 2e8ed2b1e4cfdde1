//! Flow files as arguments: read, checked, and their problems shown.
//!
//! What is wrong with files and params is found out by `tidewheel-flow`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::anyhow;
use serde_json::Value as Json;
use tidewheel_client::desk::DeskError;
use tidewheel_client::text::count;
use tidewheel_flow::{Disk, Flow, Loaded, Style, known_params, load, parse_param, resolve_params};

use crate::cli::Format;
use crate::error::CommandError;
use crate::ui::Ui;

/// Reads files into a flow that can be run. Warnings are shown, errors are too, and end it.
pub(crate) fn load_files(ui: &Ui, paths: &[PathBuf]) -> Result<Loaded, CommandError> {
    let loaded = load(paths, &Disk);
    report_problems(ui, &loaded)?;
    Ok(loaded)
}

/// Shows all problems. Errors make the command fail.
pub(crate) fn report_problems(ui: &Ui, loaded: &Loaded) -> Result<(), CommandError> {
    if loaded.problems.is_empty() {
        return Ok(());
    }
    let is_json = ui.format(Format::Human) == Format::Json;
    // Warnings of a flow that runs are told beside the result.
    if !is_json || loaded.runnable().is_some() {
        let style = if ui.is_colourful_for_errors() { Style::Colour } else { Style::Plain };
        let text = loaded.problems.render(&loaded.files, style, ui.width());
        ui.explain(&text);
    }
    if loaded.runnable().is_some() {
        return Ok(());
    }
    let errors = loaded.problems.errors();
    let what = count(errors, "problem");
    let error = CommandError::input(anyhow!("the flow cannot be run: {what}"));
    Err(match is_json {
        true => error.problems(loaded.problems.to_json(&loaded.files)),
        false => error,
    })
}

/// The params of a run, from `name=value` on the command line.
pub(crate) fn params_of(
    flow: &Flow,
    said: &[String],
) -> Result<BTreeMap<String, Json>, CommandError> {
    let values = said_params(flow, said)?;
    Ok(resolve_params(flow, values).map_err(|error| DeskError::param(flow, error))?)
}

/// The same for a plan: those that have no value are left out.
pub(crate) fn known_params_of(
    flow: &Flow,
    said: &[String],
) -> Result<BTreeMap<String, Json>, CommandError> {
    let values = said_params(flow, said)?;
    Ok(known_params(flow, values).map_err(|error| DeskError::param(flow, error))?)
}

fn said_params(flow: &Flow, said: &[String]) -> Result<BTreeMap<String, Json>, CommandError> {
    let mut values = BTreeMap::new();
    for pair in said {
        let Some((name, text)) = pair.split_once('=') else {
            let error = anyhow!("`{pair}` is not of the form name=value");
            return Err(CommandError::usage(error).hint("write --param name=value"));
        };
        let value = match flow.params.iter().find(|param| param.name == name) {
            Some(param) => {
                parse_param(param, text).map_err(|error| DeskError::param(flow, error))?
            }
            None => Json::String(text.to_owned()),
        };
        values.insert(name.to_owned(), value);
    }
    Ok(values)
}
