//! Files with variables for processes: `NAME=value` lines, read when a run starts.
//!
//! They are read by no shell: a value stands for itself.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::definition::{Flow, Step, Work};

/// No file of variables is larger.
const BYTES_MAX: usize = 1 << 20;

/// Why a file with variables says nothing.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EnvFileError {
    /// It cannot be read.
    #[error("env_file: {} cannot be read: {error}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// It cannot be understood.
    #[error("env_file: {}, line {line}: {why}", path.display())]
    Wrong {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// Why.
        why: String,
    },
    /// The runtime ended before it was read.
    #[error("env_file: not read, because the program ends")]
    Interrupted,
}

/// What the files with variables of a flow, and of those it calls, say.
#[derive(Debug, Clone, Default)]
pub struct EnvFiles {
    /// By the file of the flow that names them.
    by_flow: BTreeMap<PathBuf, Vec<(String, String)>>,
}

impl EnvFiles {
    /// Reads those of a flow and of the flows it calls, on a thread made for blocking, if there are any.
    ///
    /// # Errors
    ///
    /// When one cannot be read or understood.
    pub async fn read(flow: &Arc<Flow>) -> Result<Self, EnvFileError> {
        // Most flows have none, and a thread is not made for nothing.
        if !has_files(flow) {
            return Ok(Self::default());
        }
        let flow = Arc::clone(flow);
        let reading = tokio::task::spawn_blocking(move || {
            let mut files = Self::default();
            files.add(&flow).map(|()| files)
        });
        reading.await.unwrap_or_else(|error| match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => Err(EnvFileError::Interrupted),
        })
    }

    fn add(&mut self, flow: &Flow) -> Result<(), EnvFileError> {
        if !self.by_flow.contains_key(&flow.file) {
            let mut variables = Vec::new();
            for path in &flow.env_files {
                variables.extend(read(path)?);
            }
            self.by_flow.insert(flow.file.clone(), variables);
        }
        for step in &flow.steps {
            if let Work::Flow(child) = &step.work {
                self.add(&child.flow)?;
            }
        }
        Ok(())
    }

    /// What is said for the steps of a flow.
    pub(super) fn of(&self, flow: &Flow) -> &[(String, String)] {
        self.by_flow.get(&flow.file).map(Vec::as_slice).unwrap_or_default()
    }
}

/// Whether a flow, or one that it calls, names a file with variables.
fn has_files(flow: &Flow) -> bool {
    let calls_one = |step: &Arc<Step>| match &step.work {
        Work::Flow(child) => has_files(&child.flow),
        _ => false,
    };
    !flow.env_files.is_empty() || flow.steps.iter().any(calls_one)
}

fn read(path: &Path) -> Result<Vec<(String, String)>, EnvFileError> {
    let unreadable = |error| EnvFileError::Unreadable { path: path.to_owned(), error };
    let bytes = std::fs::read(path).map_err(unreadable)?;
    let wrong =
        |line, why: &str| EnvFileError::Wrong { path: path.to_owned(), line, why: why.into() };
    if bytes.len() > BYTES_MAX {
        return Err(wrong(1, "the file is larger than 1 MiB"));
    }
    let text = String::from_utf8(bytes).map_err(|_| wrong(1, "the file is not UTF-8"))?;
    let mut variables = Vec::new();
    for (line, number) in text.lines().zip(1..) {
        match variable(line) {
            Ok(found) => variables.extend(found),
            Err(why) => return Err(wrong(number, why)),
        }
    }
    Ok(variables)
}

/// One line: a variable, or nothing.
fn variable(line: &str) -> Result<Option<(String, String)>, &'static str> {
    let line = line.trim();
    if line.is_empty() || line.starts_with('#') {
        return Ok(None);
    }
    let line = line.strip_prefix("export ").unwrap_or(line);
    let (name, value) = line.split_once('=').ok_or("a line is `NAME=value`")?;
    let (name, value) = (name.trim_end(), value.trim());
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let is_name = name.starts_with(|it: char| !it.is_ascii_digit()) && name.chars().all(is_letter);
    if !is_name {
        return Err("the name of a variable has letters, digits and _, and begins with no digit");
    }
    let value = match value.chars().next() {
        Some(quote @ ('"' | '\'')) => unquoted(&value[1..], quote)?,
        // A comment needs a blank before it.
        _ => value.split(" #").next().unwrap_or_default().trim_end().to_owned(),
    };
    Ok(Some((name.to_owned(), value)))
}

/// A value in quotes: in double ones `\n`, `\"` and `\\` mean what they usually do.
fn unquoted(text: &str, quote: char) -> Result<String, &'static str> {
    let mut value = String::new();
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match letter {
            letter if letter == quote => {
                let rest = letters.as_str().trim_start();
                return match rest.is_empty() || rest.starts_with('#') {
                    true => Ok(value),
                    false => Err("there is something behind the closing quote"),
                };
            }
            '\\' if quote == '"' => match letters.next() {
                Some('n') => value.push('\n'),
                Some('t') => value.push('\t'),
                Some(other @ ('"' | '\\' | '$')) => value.push(other),
                Some(other) => value.extend(['\\', other]),
                None => value.push('\\'),
            },
            letter => value.push(letter),
        }
    }
    Err("the quote is not closed on its line")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_variable_as_it_stands() {
        let read =
            |line| variable(line).map(|found| found.map(|(name, value)| format!("{name}={value}")));
        for (line, expected) in [
            ("A=1", "A=1"),
            ("  export A = b c  # why", "A=b c"),
            ("A=a#b$HOME", "A=a#b$HOME"),
            ("A=", "A="),
            (r#"A="a # \"b\"\n" # c"#, "A=a # \"b\"\n"),
            ("A='$x \\n'", "A=$x \\n"),
        ] {
            assert_eq!(read(line), Ok(Some(expected.to_owned())), "{line}");
        }
        assert_eq!(read("# A=1"), Ok(None));
        for line in ["A", "1A=2", "A=\"x", "A='x' y", "=x"] {
            assert!(read(line).is_err(), "{line}");
        }
    }
}
