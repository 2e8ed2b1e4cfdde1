//! [`Secrets`]: values that are fetched when a run starts, and appear nowhere.
//!
//! Masking itself is in the process executor.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use serde_json::Value as Json;
use tidewheel::executor::process::{MaskStream, Masker};

use crate::definition::{Flow, Secret, SecretOrigin};

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
    pub fn fetch(flow: &Flow) -> Result<Self, SecretError> {
        let mut values = BTreeMap::new();
        fetch_into(flow, &mut values)?;
        Self::of(values)
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

fn fetch_into(
    flow: &Flow,
    values: &mut BTreeMap<(PathBuf, String), String>,
) -> Result<(), SecretError> {
    for secret in &flow.secrets {
        let key = (flow.file.clone(), secret.name.clone());
        if let Entry::Vacant(place) = values.entry(key) {
            place.insert(fetch(secret)?);
        }
    }
    for step in &flow.steps {
        if let crate::definition::Work::Flow(child) = &step.work {
            fetch_into(&child.flow, values)?;
        }
    }
    Ok(())
}

/// The secret that cannot be masked, or all where it is not a single one's fault.
fn culprit(values: &BTreeMap<(PathBuf, String), String>) -> String {
    let mut used = values.iter().filter(|(_, value)| !value.is_empty());
    match used.find(|(_, value)| Masker::new([value]).is_err()) {
        Some(((_, name), _)) => name.clone(),
        None => values.keys().map(|(_, name)| name.as_str()).collect::<Vec<_>>().join("`, `"),
    }
}

fn fetch(secret: &Secret) -> Result<String, SecretError> {
    let name = secret.name.clone();
    let fetched = match &secret.origin {
        SecretOrigin::Variable(variable) => std::env::var(variable)
            .map_err(|_| SecretError::Unset { secret: name, variable: variable.clone() }),
        SecretOrigin::File(path) => File::open(path)
            .and_then(read_text)
            .map_err(|error| SecretError::Unreadable { secret: name, path: path.clone(), error }),
        SecretOrigin::Command(words) => by_command(name, words, TIME_MAX),
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
    let value = value.trim_end_matches(['\n', '\r']);
    if value.is_empty() && !secret.is_optional {
        let origin = match &secret.origin {
            SecretOrigin::Variable(variable) => format!("the variable `{variable}` is empty"),
            SecretOrigin::File(path) => format!("{} is empty", path.display()),
            SecretOrigin::Command(words) => {
                format!("`{}` printed nothing", words.first().map_or("", String::as_str))
            }
        };
        let why = format!("{origin}; say `optional: true` if it may be missing");
        return Err(SecretError::Unusable { secret: secret.name.clone(), why });
    }
    Ok(value.to_owned())
}

/// Reads a little more than a secret may have, so that one that has more is known.
fn read_text(from: impl Read) -> io::Result<String> {
    let mut text = String::new();
    from.take(BYTES_MAX as u64 + 1).read_to_string(&mut text)?;
    Ok(text)
}

fn by_command(secret: String, words: &[String], time_max: Duration) -> Result<String, SecretError> {
    let program = words.first().cloned().unwrap_or_default();
    let wrong = |why: String| SecretError::Command {
        secret: secret.clone(),
        program: program.clone(),
        why,
    };
    let started = Command::new(&program)
        .args(words.iter().skip(1))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let mut child = started.map_err(|error| wrong(format!("cannot be started: {error}")))?;
    let (said, heard) = mpsc::channel();
    if let Some(stdout) = child.stdout.take() {
        std::thread::spawn(move || said.send(read_text(stdout)));
    }
    let text = heard.recv_timeout(time_max);
    // It has said all, or more than a secret is.
    let is_whole = matches!(&text, Ok(Ok(text)) if text.len() <= BYTES_MAX);
    if !is_whole {
        let _ = child.kill();
    }
    let status = child.wait().map_err(|error| wrong(format!("cannot be waited for: {error}")))?;
    match text {
        Err(_) => Err(wrong(format!("did not end within {} s", time_max.as_secs()))),
        Ok(Err(_)) => Err(wrong("printed what is not text".to_owned())),
        Ok(Ok(_)) if is_whole && !status.success() => Err(wrong(format!("ended with {status}"))),
        Ok(Ok(text)) => Ok(text),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn secrets_are_read_within_bounds() {
        let origin = SecretOrigin::File("/dev/zero".into());
        let secret = Secret { name: "token".to_owned(), origin, is_optional: false };
        assert!(fetch(&secret).unwrap_err().to_string().contains("longer than 64 KiB"));
        let words =
            |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let by = |command: &[&str], time| by_command("token".to_owned(), &words(command), time);
        let all_the_time = Duration::from_secs(60);
        assert!(by(&["cat", "/dev/zero"], all_the_time).unwrap().len() > BYTES_MAX);
        let error = by(&["sleep", "600"], Duration::ZERO).unwrap_err().to_string();
        assert!(error.contains("did not end within 0 s"), "{error}");
    }

    #[test]
    fn an_empty_secret_is_a_missing_one() {
        let file = std::env::temp_dir().join(format!("tidewheel-secret-{}", std::process::id()));
        fs::write(&file, "\n").unwrap();
        let secret = |origin: SecretOrigin, is_optional| {
            fetch(&Secret { name: "token".to_owned(), origin, is_optional })
        };
        for (origin, words) in [
            (SecretOrigin::File(file.clone()), "is empty"),
            (SecretOrigin::Command(vec!["true".to_owned()]), "`true` printed nothing"),
        ] {
            let error = secret(origin.clone(), false).unwrap_err().to_string();
            assert!(error.starts_with("secret `token`: "), "{error}");
            assert!(error.contains(words) && error.contains("`optional: true`"), "{error}");
            assert_eq!(secret(origin, true).unwrap(), "");
        }
        fs::remove_file(file).unwrap();
    }

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
