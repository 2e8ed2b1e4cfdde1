//! [`Secrets`]: values that are fetched when a run starts, and appear nowhere.
//!
//! Masking itself is in the process executor.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value as Json;
use tidewheel::executor::process::{MaskStream, Masker, ProcessCommand, ProcessError, Processes};

use super::world::{ThisMachine, World};
use crate::definition::{Flow, Secret, SecretOrigin, Work};

/// Nothing that is a secret is longer.
const BYTES_MAX: usize = 64 << 10;
/// How long a program may take to print one.
const TIME_MAX: Duration = Duration::from_secs(60);
/// The least of a secret that is one itself.
const PART_MIN: usize = 4;

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
    /// There is nothing in it, or it cannot be kept out of what is written.
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
    /// By the file of the flow that names them, and by name.
    values: BTreeMap<(PathBuf, String), String>,
    masker: Option<Arc<Masker>>,
}

impl Secrets {
    /// Fetches the secrets of a flow and of those it calls.
    ///
    /// # Errors
    ///
    /// When one that is needed cannot be had.
    pub async fn fetch(flow: &Flow, world: &dyn World) -> Result<Self, SecretError> {
        let mut values = BTreeMap::new();
        for (key, secret) in all_of(flow) {
            values.insert(key, fetch(secret, world).await?);
        }
        Self::of(values)
    }

    /// The same on this machine, for whoever wants to know before anything is begun.
    ///
    /// # Errors
    ///
    /// When one that is needed cannot be had.
    pub async fn fetch_here(flow: &Flow) -> Result<Self, SecretError> {
        Self::fetch(flow, &ThisMachine::new(Processes::builder())).await
    }

    /// One of the secrets of a flow, on this machine; `None` if it has none of this name.
    ///
    /// # Errors
    ///
    /// When it is needed and cannot be had.
    pub async fn fetch_one(flow: &Flow, name: &str) -> Result<Option<String>, SecretError> {
        let Some(secret) = flow.secrets.iter().find(|secret| secret.name == name) else {
            return Ok(None);
        };
        fetch(secret, &ThisMachine::new(Processes::builder())).await.map(Some)
    }

    fn of(values: BTreeMap<(PathBuf, String), String>) -> Result<Self, SecretError> {
        let texts: Vec<&String> = values.values().filter(|value| !value.is_empty()).collect();
        let masker = match texts.is_empty() {
            true => None,
            false => Some(Arc::new(Masker::new(texts).map_err(|error| SecretError::Unusable {
                secret: culprit(&values),
                why: error.to_string(),
            })?)),
        };
        Ok(Self { values, masker })
    }

    pub(super) fn masker(&self) -> Option<&Arc<Masker>> {
        self.masker.as_ref()
    }

    /// Those that a flow names.
    pub(super) fn to_json(&self, flow: &Flow) -> Json {
        let own = self.values.iter().filter(|((file, _), _)| *file == flow.file);
        Json::Object(own.map(|((_, name), value)| (name.clone(), value.clone().into())).collect())
    }

    /// The text without secrets.
    pub(super) fn mask(&self, text: &str) -> String {
        match &self.masker {
            Some(masker) => String::from_utf8_lossy(&masker.mask(text.as_bytes())).into_owned(),
            None => text.to_owned(),
        }
    }

    /// A text that may have been cut, without secrets: the beginning of one at its end is one too.
    pub(super) fn mask_cut(&self, text: &str) -> String {
        let Some(masker) = &self.masker else { return text.to_owned() };
        let mut stream = MaskStream::new(Arc::clone(masker));
        let mut masked = stream.push(text.as_bytes()).to_vec();
        match stream.finish() {
            end if end.len() < PART_MIN => masked.extend_from_slice(end),
            _ => masked.extend_from_slice(b"***"),
        }
        String::from_utf8_lossy(&masked).into_owned()
    }

    /// The name of a secret that is in the text, as it is, in part or encoded.
    pub(super) fn found_in(&self, text: &str) -> Option<&str> {
        let is_in = |masker: &Masker| *masker.mask(text.as_bytes()) != *text.as_bytes();
        self.masker.as_ref().filter(|masker| is_in(masker))?;
        // What all find together one finds alone; which one is asked seldom, so nothing is kept for it.
        let mut used = self.values.iter().filter(|(_, value)| !value.is_empty());
        let found = used.find(|(_, value)| Masker::new([value]).is_ok_and(|one| is_in(&one)));
        found.map(|((_, name), _)| name.as_str())
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secrets").field("count", &self.values.len()).finish_non_exhaustive()
    }
}

/// Every secret of a flow and of those it calls, once.
fn all_of(flow: &Flow) -> BTreeMap<(PathBuf, String), &Secret> {
    let own = flow.secrets.iter();
    let mut all: BTreeMap<_, _> =
        own.map(|secret| ((flow.file.clone(), secret.name.clone()), secret)).collect();
    for step in &flow.steps {
        if let Work::Flow(child) = &step.work {
            all.extend(all_of(&child.flow));
        }
    }
    all
}

/// The secret that cannot be masked, or all where it is not a single one's fault.
fn culprit(values: &BTreeMap<(PathBuf, String), String>) -> String {
    let mut used = values.iter().filter(|(_, value)| !value.is_empty());
    match used.find(|(_, value)| Masker::new([value]).is_err()) {
        Some(((_, name), _)) => name.clone(),
        None => values.keys().map(|(_, name)| name.as_str()).collect::<Vec<_>>().join("`, `"),
    }
}

async fn fetch(secret: &Secret, world: &dyn World) -> Result<String, SecretError> {
    let name = secret.name.clone();
    let fetched = match &secret.origin {
        SecretOrigin::Variable(variable) => variable_of(world, variable)
            .ok_or_else(|| SecretError::Unset { secret: name, variable: variable.clone() }),
        SecretOrigin::File(path) => read(path.clone())
            .await
            .map_err(|error| SecretError::Unreadable { secret: name, path: path.clone(), error }),
        SecretOrigin::Command { words, inherit } => by_command(world, name, words, inherit).await,
    };
    let value = match fetched {
        Ok(value) => value,
        Err(_) if secret.is_optional => String::new(),
        Err(error) => return Err(error),
    };
    if value.len() > BYTES_MAX {
        return Err(too_long(&secret.name));
    }
    let value = value.trim_end_matches(['\n', '\r']);
    if value.is_empty() && !secret.is_optional {
        let origin = match &secret.origin {
            SecretOrigin::Variable(variable) => format!("the variable `{variable}` is empty"),
            SecretOrigin::File(path) => format!("{} is empty", path.display()),
            SecretOrigin::Command { words, .. } => {
                format!("`{}` printed nothing", words.first().map_or("", String::as_str))
            }
        };
        let why = format!("{origin}; say `optional: true` if it may be missing");
        return Err(SecretError::Unusable { secret: secret.name.clone(), why });
    }
    Ok(value.to_owned())
}

fn too_long(secret: &str) -> SecretError {
    let why = format!("longer than {} KiB", BYTES_MAX >> 10);
    SecretError::Unusable { secret: secret.to_owned(), why }
}

fn variable_of(world: &dyn World, name: &str) -> Option<String> {
    let (_, value) = world.variables().into_iter().find(|(known, _)| known == name)?;
    value.into_string().ok()
}

/// Reads a little more than a secret may have, so that one that has more is known. A file may be a
/// pipe, or on a machine that does not answer.
async fn read(path: PathBuf) -> io::Result<String> {
    let read = move || {
        let mut text = String::new();
        File::open(path)?.take(BYTES_MAX as u64 + 1).read_to_string(&mut text)?;
        Ok(text)
    };
    tokio::task::spawn_blocking(read).await?
}

async fn by_command(
    world: &dyn World,
    secret: String,
    words: &[String],
    inherit: &[String],
) -> Result<String, SecretError> {
    let program = words.first().cloned().unwrap_or_default();
    let command = ProcessCommand::argv(words).inherit_also(inherit).unlogged();
    let command = command.capture_max(BYTES_MAX as u64);
    let wrong = |why: String| SecretError::Command { secret: secret.clone(), program, why };
    let end = match world.ask(&command, TIME_MAX).await {
        Ok(end) => end,
        Err(ProcessError::CaptureTooLarge { .. }) => return Err(too_long(&secret)),
        Err(error) => return Err(wrong(format!("cannot be run: {error}"))),
    };
    if end.was_stopped {
        return Err(wrong(format!("did not end within {} s", TIME_MAX.as_secs())));
    }
    if !end.status.is_success() {
        return Err(wrong(format!("ended with {}", end.status)));
    }
    let text = String::from_utf8(end.captured.unwrap_or_default());
    text.map_err(|_| wrong("printed what is not text".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_secret_in_a_text_is_named() {
        let values = [
            ("db", r#"{"user": "admin", "password": "correct-horse"}"#),
            ("none", ""),
            ("token", "s3cr3t-value"),
        ];
        let key = |name: &str| (PathBuf::from("flow.yaml"), name.to_owned());
        let values = values.map(|(name, value)| (key(name), value.to_owned()));
        let secrets = Secrets::of(BTreeMap::from(values)).unwrap();
        assert_eq!(secrets.found_in("nothing of it"), None);
        assert_eq!(secrets.found_in("x s3cr3t-value x"), Some("token"));
        assert_eq!(secrets.found_in("czNjcjN0LXZhbHVl"), Some("token"));
        assert_eq!(secrets.found_in(r#"{"pass":"correct-horse"}"#), Some("db"));
        assert_eq!(secrets.found_in("admin"), None);
    }
}
