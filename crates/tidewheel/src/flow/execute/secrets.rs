//! [`Secrets`]: values that are fetched when a run starts, and appear nowhere.
//!
//! Masking itself is in the process executor.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;

use serde_json::Value as Json;

use crate::executor::process::Masker;
use crate::flow::definition::{Flow, Secret, SecretOrigin};

/// Nothing that is a secret is longer.
const BYTES_MAX: usize = 64 << 10;

/// Why a secret could not be fetched. It never says what it is.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SecretError {
    /// The variable is not set.
    #[error("secret `{secret}`: the variable `{variable}` is not set")]
    Unset {
        /// The secret.
        secret: String,
        /// The variable.
        variable: String,
    },
    /// The file cannot be read.
    #[error("secret `{secret}`: {} cannot be read: {error}", path.display())]
    Unreadable {
        /// The secret.
        secret: String,
        /// The file.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// The program did not print it.
    #[error("secret `{secret}`: `{program}` {why}")]
    Command {
        /// The secret.
        secret: String,
        /// The program.
        program: String,
        /// What happened.
        why: String,
    },
    /// It cannot be kept out of what is written.
    #[error("secret `{secret}`: {why}")]
    Unusable {
        /// The secret.
        secret: String,
        /// Why.
        why: String,
    },
}

/// The secrets of a run.
#[derive(Clone, Default)]
pub struct Secrets {
    values: BTreeMap<String, String>,
    masker: Option<Arc<Masker>>,
}

impl Secrets {
    /// Fetches the secrets of a flow and of those it calls.
    ///
    /// # Errors
    ///
    /// When one that is needed cannot be had.
    pub fn fetch(flow: &Flow) -> Result<Self, SecretError> {
        let mut values = BTreeMap::new();
        fetch_into(flow, &mut values)?;
        let texts: Vec<&String> = values.values().filter(|value| !value.is_empty()).collect();
        let masker = match texts.is_empty() {
            true => None,
            false => Some(Arc::new(Masker::new(texts).map_err(|error| SecretError::Unusable {
                secret: "?".to_owned(),
                why: error.to_string(),
            })?)),
        };
        Ok(Self { values, masker })
    }

    pub(super) fn masker(&self) -> Option<&Arc<Masker>> {
        self.masker.as_ref()
    }

    pub(super) fn to_json(&self) -> Json {
        Json::Object(
            self.values.iter().map(|(name, it)| (name.clone(), it.clone().into())).collect(),
        )
    }

    /// The text without secrets.
    pub(super) fn mask(&self, text: &str) -> String {
        match &self.masker {
            Some(masker) => String::from_utf8_lossy(&masker.mask(text.as_bytes())).into_owned(),
            None => text.to_owned(),
        }
    }

    /// Whether a secret is in the text.
    pub(super) fn are_in(&self, text: &str) -> bool {
        self.masker.as_ref().is_some_and(|masker| *masker.mask(text.as_bytes()) != *text.as_bytes())
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secrets").field("count", &self.values.len()).finish_non_exhaustive()
    }
}

fn fetch_into(flow: &Flow, values: &mut BTreeMap<String, String>) -> Result<(), SecretError> {
    for secret in &flow.secrets {
        if !values.contains_key(&secret.name) {
            values.insert(secret.name.clone(), fetch(secret)?);
        }
    }
    for step in &flow.steps {
        if let crate::flow::definition::Work::Flow(child) = &step.work {
            fetch_into(&child.flow, values)?;
        }
    }
    Ok(())
}

fn fetch(secret: &Secret) -> Result<String, SecretError> {
    let name = secret.name.clone();
    let fetched = match &secret.origin {
        SecretOrigin::Variable(variable) => std::env::var(variable)
            .map_err(|_| SecretError::Unset { secret: name, variable: variable.clone() }),
        SecretOrigin::File(path) => fs::read_to_string(path)
            .map_err(|error| SecretError::Unreadable { secret: name, path: path.clone(), error }),
        SecretOrigin::Command(words) => by_command(name, words),
    };
    let value = match fetched {
        Ok(value) => value,
        Err(_) if secret.is_optional => String::new(),
        Err(error) => return Err(error),
    };
    if value.len() > BYTES_MAX {
        let why = format!("longer than {} KiB", BYTES_MAX >> 10);
        return Err(SecretError::Unusable { secret: secret.name.clone(), why });
    }
    Ok(value.trim_end_matches(['\n', '\r']).to_owned())
}

fn by_command(secret: String, words: &[String]) -> Result<String, SecretError> {
    let program = words.first().cloned().unwrap_or_default();
    let wrong = |why: String| SecretError::Command {
        secret: secret.clone(),
        program: program.clone(),
        why,
    };
    let output = Command::new(&program)
        .args(words.iter().skip(1))
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .map_err(|error| wrong(format!("cannot be started: {error}")))?;
    if !output.status.success() {
        return Err(wrong(format!("ended with {}", output.status)));
    }
    String::from_utf8(output.stdout).map_err(|_| wrong("printed what is not text".to_owned()))
}
