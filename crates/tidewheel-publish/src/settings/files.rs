//! Files of settings, read: TOML, and lines of `key = value`, with sections or without.
//!
//! A file that is not there says nothing; one that cannot be understood is said to be so.

use std::io;
use std::path::Path;

use super::target::Wrong;

/// Bytes of a file of settings.
const BYTES_MAX: u64 = 1 << 20;

/// The text of a file; nothing if there is none.
pub(super) fn text(path: &Path) -> Result<Option<String>, Wrong> {
    let cannot = |error: String| {
        (format!("{} cannot be read: {error}", path.display()), "see to that file".to_owned())
    };
    match std::fs::metadata(path) {
        Ok(file) if file.len() > BYTES_MAX => return Err(cannot("it is too large".to_owned())),
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(cannot(error.to_string())),
    }
    std::fs::read_to_string(path).map(Some).map_err(|error| cannot(error.to_string()))
}

/// A file in TOML; nothing if there is none.
pub(super) fn toml(path: &Path) -> Result<Option<toml::Table>, Wrong> {
    let Some(text) = text(path)? else { return Ok(None) };
    // What is wrong with it is not told: its lines may have tokens in them.
    text.parse()
        .map(Some)
        .map_err(|_| (format!("{} is not TOML", path.display()), "see to that file".to_owned()))
}

/// A text below keys of tables.
pub(super) fn at<'a>(table: &'a toml::Table, keys: &[&str]) -> Option<&'a str> {
    value_at(table, keys)?.as_str()
}

/// A value below keys of tables.
pub(super) fn value_at<'a>(table: &'a toml::Table, keys: &[&str]) -> Option<&'a toml::Value> {
    let (last, above) = keys.split_last()?;
    let mut table = table;
    for key in above {
        table = table.get(*key)?.as_table()?;
    }
    table.get(*last)
}

/// Lines of `key = value`, each with its section, which is empty before the first, and with one of these signs between.
/// Lines that begin with `#` or `;` say nothing.
pub(super) fn lines(text: &str, between: &[char]) -> Vec<(String, String, String)> {
    let mut section = String::new();
    let mut found = Vec::new();
    for line in text.lines().map(str::trim) {
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            section = name.trim().to_owned();
        } else if let Some((key, value)) = line.split_once(between) {
            let value = value.trim();
            let quoted = value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
            let value = quoted.unwrap_or(value).to_owned();
            found.push((section.clone(), key.trim().to_owned(), value));
        }
    }
    found
}
