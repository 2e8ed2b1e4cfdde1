//! Flow files as arguments: read, checked, and their problems shown.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::anyhow;
use serde_json::Value as Json;
use tidewheel_client::text::count;
use tidewheel_flow::{
    Disk, Flow, Loaded, ParamError, Style, known_params, load, parse_param, resolve_params,
};

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
        true => error.details("problems", loaded.problems.to_json(&loaded.files)),
        false => error,
    })
}

/// The params of a run, from `name=value` on the command line.
pub(crate) fn params_of(
    flow: &Flow,
    said: &[String],
) -> Result<BTreeMap<String, Json>, CommandError> {
    resolve_params(flow, said_params(flow, said)?).map_err(|error| wrong(flow, error))
}

/// The same for a plan: those that have no value are left out.
pub(crate) fn known_params_of(
    flow: &Flow,
    said: &[String],
) -> Result<BTreeMap<String, Json>, CommandError> {
    known_params(flow, said_params(flow, said)?).map_err(|error| wrong(flow, error))
}

fn said_params(flow: &Flow, said: &[String]) -> Result<BTreeMap<String, Json>, CommandError> {
    let mut values = BTreeMap::new();
    for pair in said {
        let Some((name, text)) = pair.split_once('=') else {
            let error = anyhow!("`{pair}` is not of the form name=value");
            return Err(CommandError::usage(error).hint("write --param name=value"));
        };
        let value = match flow.params.iter().find(|param| param.name == name) {
            Some(param) => parse_param(param, text).map_err(|error| wrong(flow, error))?,
            None => Json::String(text.to_owned()),
        };
        values.insert(name.to_owned(), value);
    }
    Ok(values)
}

/// The params of a run for a flow whose files have changed: those it has no longer are left out.
pub(crate) fn params_again(
    flow: &Flow,
    before: &BTreeMap<String, Json>,
) -> Result<BTreeMap<String, Json>, CommandError> {
    let kept = flow.params.iter().filter_map(|param| before.get_key_value(&param.name));
    let kept = kept.map(|(name, value)| (name.clone(), value.clone())).collect();
    resolve_params(flow, kept).map_err(|error| wrong(flow, error))
}

fn wrong(flow: &Flow, error: ParamError) -> CommandError {
    let hint = match &error {
        ParamError::Unknown { near: Some(near), .. } => Some(format!("did you mean `{near}`?")),
        ParamError::Unknown { .. } => {
            let names: Vec<&str> = flow.params.iter().map(|param| param.name.as_str()).collect();
            (!names.is_empty()).then(|| format!("params: {}", names.join(", ")))
        }
        ParamError::Missing { name } => Some(format!("say it with --param {name}=…")),
        _ => None,
    };
    let error = CommandError::usage(error);
    match hint {
        Some(hint) => error.hint(hint),
        None => error,
    }
}
