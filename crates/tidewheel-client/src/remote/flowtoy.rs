//! [`StatusPage`]: the state of a run that flowtoy serves, or whoever speaks like it.
//!
//! Its form is in [`crate::api`]. It says nothing of what waits for what, and takes no wishes.

use std::time::Duration;

use reqwest::{Client, Url};
use serde::Deserialize;
use serde_json::Value as Json;
use tidewheel::Timestamp;

use super::wire::{RemoteError, tls};
use crate::api::{Named, RunState, Standing, StepStanding, StepState, Values};
use crate::desk::DeskError;

/// How long an answer may take.
const ANSWER: Duration = Duration::from_secs(10);

/// An answer that is longer is none of a status page.
const BYTES_MAX: usize = 16 << 20;

/// A page with the state of one run.
#[derive(Debug)]
pub struct StatusPage {
    client: Client,
    status: Url,
    outputs: Url,
}

impl StatusPage {
    /// The page at an address, with or without its last part.
    ///
    /// # Errors
    ///
    /// When the address is none.
    pub fn new(address: &str) -> Result<Self, RemoteError> {
        let wrong = || RemoteError::Address(address.to_owned());
        let base = address.trim_end_matches('/').trim_end_matches("/status");
        let url = |last: &str| Url::parse(&format!("{base}/{last}")).map_err(|_| wrong());
        let (status, outputs) = (url("status")?, url("outputs")?);
        if !matches!(status.scheme(), "http" | "https") {
            return Err(wrong());
        }
        let client = Client::builder()
            .tls_backend_preconfigured(tls()?)
            .timeout(ANSWER)
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .build()
            .map_err(|error| RemoteError::Client(error.to_string()))?;
        Ok(Self { client, status, outputs })
    }

    /// What it is called in messages.
    #[must_use]
    pub fn name(&self) -> &str {
        self.status.as_str()
    }

    /// How the run stands.
    ///
    /// # Errors
    ///
    /// When the page cannot be read, or is no such page.
    pub async fn standing(&self) -> Result<Standing, DeskError> {
        let status: Told = self.read(&self.status).await?;
        Ok(Standing::from(&status))
    }

    /// What a step has left so far.
    ///
    /// # Errors
    ///
    /// As for [`StatusPage::standing`].
    pub async fn outputs(&self, step: &str) -> Result<Values, DeskError> {
        let outputs: Named<Values> = self.read(&self.outputs).await?;
        Ok(outputs.get(step).cloned().unwrap_or_default())
    }

    async fn read<T: serde::de::DeserializeOwned>(&self, url: &Url) -> Result<T, DeskError> {
        let unreachable = |error: reqwest::Error| DeskError::Unreachable {
            server: url.to_string(),
            why: error.without_url().to_string(),
        };
        let strange = |status: u16, why: String| DeskError::Server {
            server: url.to_string(),
            status,
            why,
            hint: Some("flowtoy serves it at http://HOST:PORT/status".to_owned()),
        };
        let mut answer = self.client.get(url.clone()).send().await.map_err(unreachable)?;
        let status = answer.status();
        let mut bytes = Vec::new();
        while let Some(piece) = answer.chunk().await.map_err(unreachable)? {
            bytes.extend_from_slice(&piece);
            if bytes.len() > BYTES_MAX {
                return Err(strange(status.as_u16(), "its answer is too long".to_owned()));
            }
        }
        if !status.is_success() {
            return Err(strange(status.as_u16(), "it does not answer like flowtoy".to_owned()));
        }
        serde_json::from_slice(&bytes).map_err(|error| {
            strange(status.as_u16(), format!("its answer is not that of flowtoy: {error}"))
        })
    }
}

/// What is read of such a page: its servers each lack some fields, and say nothing where there is nothing.
#[derive(Debug, Deserialize)]
struct Told {
    /// A number of flowtoy's own, or a text.
    #[serde(default)]
    run_id: Json,
    #[serde(default)]
    started_at: Option<f64>,
    #[serde(default)]
    ended_at: Option<f64>,
    steps: Named<ToldStep>,
}

#[derive(Debug, Deserialize)]
struct ToldStep {
    state: String,
    #[serde(default)]
    started_at: Option<f64>,
    #[serde(default)]
    ended_at: Option<f64>,
    #[serde(default)]
    notes: Vec<String>,
}

/// Flowtoy does not say that a run has failed: its steps do.
impl From<&Told> for Standing {
    fn from(status: &Told) -> Self {
        let steps: Vec<StepStanding> =
            status.steps.0.iter().map(|(name, step)| standing_of(name, step)).collect();
        let has_failed = steps.iter().any(|step| step.state == StepState::Failed);
        let state = match status.ended_at {
            None => RunState::Running,
            Some(_) if has_failed => RunState::Failed,
            Some(_) => RunState::Succeeded,
        };
        Self {
            version: None,
            run_id: id_of(&status.run_id),
            flow: None,
            state,
            why: None,
            accepted_at: status.started_at.map_or(Timestamp::UNIX_EPOCH, instant),
            ended_at: status.ended_at.map(instant),
            steps,
        }
    }
}

fn id_of(id: &Json) -> String {
    match id {
        Json::String(text) => text.clone(),
        Json::Number(number) => number.to_string(),
        _ => String::new(),
    }
}

fn standing_of(name: &str, step: &ToldStep) -> StepStanding {
    let state = match step.state.as_str() {
        "pending" => StepState::Pending,
        "running" => StepState::Running,
        "succeeded" => StepState::Succeeded,
        "failed" => StepState::Failed,
        "skipped" => StepState::Skipped,
        _ => StepState::Unknown,
    };
    StepStanding {
        attempt: u32::from(step.started_at.is_some()),
        started_at: step.started_at.map(instant),
        ended_at: step.ended_at.map(instant),
        error: (!step.notes.is_empty()).then(|| step.notes.join("; ")),
        ..StepStanding::new(name, state)
    }
}

/// An instant from seconds of the epoch, as Python counts them.
fn instant(seconds: f64) -> Timestamp {
    Timestamp::from_micros((seconds * 1e6) as i64)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test")]

    use super::*;

    #[test]
    fn what_flowtoy_says_of_a_run_is_a_standing() {
        let status: Told = serde_json::from_str(
            r#"{"run_id": 1794962224830, "started_at": 1000.5, "ended_at": 1004.0, "total_steps": 2,
                "completed_steps": 2, "current_step": null,
                "steps": {"b": {"state": "succeeded", "started_at": 1000.5, "ended_at": 1002.0,
                                "notes": [], "outputs": ["x"]},
                          "a": {"state": "failed", "started_at": null, "ended_at": null,
                                "notes": ["exit 3"], "outputs": []}}}"#,
        )
        .unwrap();
        let standing = Standing::from(&status);
        assert_eq!((standing.run_id.as_str(), standing.state), ("1794962224830", RunState::Failed));
        let steps: Vec<(&str, StepState)> =
            standing.steps.iter().map(|step| (step.name.as_str(), step.state)).collect();
        assert_eq!(steps, [("b", StepState::Succeeded), ("a", StepState::Failed)], "in its order");
        assert_eq!(standing.steps[1].error.as_deref(), Some("exit 3"));
        assert_eq!(standing.ended_at.unwrap().since(standing.accepted_at).as_millis(), 3500);
    }

    #[test]
    fn a_page_is_named_with_or_without_its_last_part() {
        for address in
            ["http://127.0.0.1:8005", "http://127.0.0.1:8005/", "http://127.0.0.1:8005/status"]
        {
            assert_eq!(StatusPage::new(address).unwrap().name(), "http://127.0.0.1:8005/status");
        }
        assert!(matches!(StatusPage::new("ftp://x"), Err(RemoteError::Address(_))));
    }
}
