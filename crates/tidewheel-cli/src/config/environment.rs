//! Variables of the environment: settings in them, and names that look like settings.
//!
//! Variables that are no settings, such as `NO_COLOR`, are asked for where they count.

use std::ffi::OsStr;

use anyhow::anyhow;

use super::places::{CONFIG, Surroundings};
use super::setting::{Definition, Kind, SETTINGS, Setting, nearest_setting};
use super::value::{Value, shortened};
use tidewheel_client::text::nearest;

use crate::error::CommandError;

/// How the names of all our variables begin.
const PREFIX: &str = "TIDEWHEEL_";

/// Variables of ours that are no settings: what a step is told of its attempt, what our own
/// processes tell each other, what is secret, and what tests are told.
const OTHERS: [&str; 18] = [
    CONFIG,
    "TIDEWHEEL_ARTIFACTS",
    "TIDEWHEEL_ATTEMPT",
    "TIDEWHEEL_BIN",
    "TIDEWHEEL_BLESS",
    "TIDEWHEEL_COOKIE",
    "TIDEWHEEL_MAIL_PASSWORD",
    "TIDEWHEEL_OUTPUT",
    "TIDEWHEEL_RUN_DIR",
    "TIDEWHEEL_RUN_ID",
    "TIDEWHEEL_SPAWNER",
    "TIDEWHEEL_STEP",
    "TIDEWHEEL_TASK_INDEX",
    "TIDEWHEEL_TEST_PATIENCE",
    "TIDEWHEEL_TEST_STATUS",
    "TIDEWHEEL_TOKEN",
    "TIDEWHEEL_TOOLS",
    "TIDEWHEEL_TORTURE",
];

/// The values that variables say. An empty variable says nothing.
pub(super) fn values(around: &Surroundings) -> Result<Vec<(Setting, Value)>, CommandError> {
    let mut values = Vec::new();
    for definition in &SETTINGS {
        if let Some(value) = around.variable(definition.variable) {
            values.push((definition.setting, read(definition, value, around)?));
        }
    }
    Ok(values)
}

fn read(
    definition: &Definition,
    value: &OsStr,
    around: &Surroundings,
) -> Result<Value, CommandError> {
    if definition.kind == Kind::Path {
        // A path need not be text.
        let base = around.current_folder.clone().unwrap_or_default();
        return Ok(Value::Path(base.join(value)));
    }
    let variable = definition.variable;
    let Some(text) = value.to_str() else {
        return Err(CommandError::input(anyhow!("the variable {variable} is not UTF-8 text")));
    };
    definition.read(text).ok_or_else(|| {
        let (shown, expected) = (shortened(text), definition.expected());
        let error = anyhow!("the variable {variable} is `{shown}`; it should be {expected}");
        let error = CommandError::input(error);
        match definition.nearest_word(text) {
            Some(word) => error.hint(format!("did you mean `{word}`?")),
            None => error,
        }
    })
}

/// One line for each variable that looks like ours and is not.
pub(super) fn warnings(around: &Surroundings) -> Vec<String> {
    let names = around.variables.iter().map(|(name, _)| name.to_string_lossy());
    let mut unknown: Vec<_> = names.filter(|name| is_unknown(name)).collect();
    unknown.sort_unstable();
    unknown.iter().map(|name| warning(name)).collect()
}

fn is_unknown(name: &str) -> bool {
    let is_setting = SETTINGS.iter().any(|definition| definition.variable == name);
    name.starts_with(PREFIX) && !is_setting && !OTHERS.contains(&name)
}

fn warning(name: &str) -> String {
    let wanted = name.strip_prefix(PREFIX).unwrap_or(name).to_lowercase();
    let meant = match nearest(&wanted, ["config"]) {
        Some(_) => Some(CONFIG),
        None => nearest_setting(&wanted).map(|definition| definition.variable),
    };
    let name = shortened(name);
    match meant {
        Some(meant) => format!("there is no setting {name}; did you mean {meant}?"),
        None => format!("there is no setting {name}; `tidewheel config show` lists them"),
    }
}
