//! Webhooks: deliveries that are signed, each of which counts once and fires a schedule.
//!
//! Whether a signature is good is found out in [`super::signature`]; how a delivery travels is the surface's business.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};
use tidewheel::Timestamp;
use tidewheel::schedule::ScheduleHandle;
use tidewheel::store::{FiringFate, FiringSummary};
use tidewheel_flow::{Arrivals, Flow, SecretError, Secrets, Webhook};

use super::arrivals::Content;
use super::house::House;
use super::setting::schedule_of;
use super::signature;
use crate::api::{Delivered, DeliveryFate};
use crate::desk::{DeskError, LocalDesk, blocking};

/// How long it is waited for what becomes of a delivery; then whoever delivers is told that it waits.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long a secret is known before it is fetched again: so long one that was replaced still counts.
const SECRETS_KEPT: Duration = Duration::from_secs(60);

/// How long a delivery is remembered.
const REMEMBERED: Duration = Duration::from_secs(7 * 24 * 3600);

/// How often it is looked whether some are to be forgotten.
const FORGET_EVERY: Duration = Duration::from_secs(3600);

/// Something that was sent to a hook.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Delivery {
    /// Its headers, in small letters.
    pub headers: BTreeMap<String, String>,
    /// Its body, as it came.
    pub body: Vec<u8>,
    /// Whether it was sent by somebody on this machine, as far as can be known.
    pub is_from_here: bool,
}

/// What is sent may be anything, and signatures are secrets for as long as they are fresh.
impl std::fmt::Debug for Delivery {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Delivery").field("bytes", &self.body.len()).finish_non_exhaustive()
    }
}

impl Delivery {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }
}

/// A delivery by somebody who may; made by [`House::signed`].
#[derive(Debug)]
pub struct Signed {
    hook: String,
    id: String,
    delivery: Delivery,
}

impl Signed {
    /// The hook: the name of its schedule.
    #[must_use]
    pub fn hook(&self) -> &str {
        &self.hook
    }
}

/// Secrets of hooks, by the hook: when they were fetched, for which version of its flow.
pub(super) type HookSecrets = HashMap<String, (Instant, Arc<Flow>, Vec<String>)>;

impl House {
    /// Whether a delivery is signed with a secret of the hook.
    ///
    /// # Errors
    ///
    /// [`DeskError::NotSigned`], whatever it is that is wrong: also when there is no such hook.
    pub async fn signed(&self, hook: &str, delivery: Delivery) -> Result<Signed, DeskError> {
        let now = self.inner.session.wheel.wall_clock();
        let found = self.find_hook(hook);
        let (webhook, secrets) = match &found {
            Some((flow, webhook)) => match self.hook_secrets(hook, flow, webhook).await {
                Ok(secrets) => (webhook.clone(), secrets),
                Err(_) => return Err(DeskError::NotSigned),
            },
            // It is reckoned all the same: nobody learns from the time it takes which hooks there are.
            None => (Webhook::new(Vec::new()), vec![signature::NOBODYS.to_owned()]),
        };
        let id = signature::check(&webhook, &secrets, &delivery, now);
        let id = id.filter(|_| found.is_some()).ok_or(DeskError::NotSigned)?;
        Ok(Signed { hook: hook.to_owned(), id, delivery })
    }

    /// Takes a delivery in: it is stored, and its schedule fires for it. One whose id is known fires nothing: what became
    /// of the first is said.
    ///
    /// # Errors
    ///
    /// When the schedule is gone, what was delivered does not fit the params, or the queue is full: then it may be
    /// delivered again.
    pub async fn deliver(&self, signed: Signed) -> Result<Delivered, DeskError> {
        let Signed { hook, id, delivery } = signed;
        let (version, handle) = (self.hook_version(&hook), self.handle(&hook)?);
        let schedule = version.as_deref().and_then(|flow| schedule_of(flow, &hook));
        let schedule =
            schedule.ok_or_else(|| DeskError::NoSchedule { schedule: hook.clone(), near: None })?;
        let content = Content::of(schedule, &told(&id, &delivery)).to_bytes();
        let mut happenings = self.happenings(None);
        let arrived = vec![(id.clone(), content)];
        let kept = self.arrive(&hook, &handle, arrived).await?;
        let Some(kept) = kept.into_iter().next() else { return Err(DeskError::NotSigned) };
        self.forget_old(&hook, &handle).await;
        let nominal = kept.arrival.nominal;
        let looked = async {
            loop {
                let fate = self.fate(&handle, nominal).await?;
                if fate.0 != DeliveryFate::Waiting || happenings.next().await.is_none() {
                    return Ok::<_, DeskError>(fate);
                }
            }
        };
        let waiting = (DeliveryFate::Waiting, None, None);
        let (fate, run_id, why) = match tokio::time::timeout(PATIENCE, looked).await {
            Ok(fate) => fate?,
            Err(_) => waiting,
        };
        if let Some(why) = why.as_ref().filter(|why| is_full(why)) {
            self.forget(&hook, vec![id]).await?;
            return Err(DeskError::HookFull { hook, why: why.clone() });
        }
        if let (DeliveryFate::NotMade, Some(why)) = (fate, &why) {
            return Err(DeskError::NotDelivered { hook, why: why.clone() });
        }
        let created = kept.is_new;
        Ok(Delivered {
            version: None,
            schedule: hook,
            delivery: id,
            created,
            nominal,
            fate,
            run_id,
            why,
        })
    }

    /// The flow and the hook of this name, if its schedule is live.
    fn find_hook(&self, hook: &str) -> Option<(Arc<Flow>, Webhook)> {
        let flow = self.hook_version(hook)?;
        let webhook = match schedule_of(&flow, hook)?.arrivals.as_ref()? {
            Arrivals::Webhook(webhook) => webhook.clone(),
            _ => return None,
        };
        self.inner.session.wheel.find_schedule(hook)?;
        Some((flow, webhook))
    }

    fn hook_version(&self, hook: &str) -> Option<Arc<Flow>> {
        let catalogue = self.inner.catalogue();
        let version = catalogue.flows().find(|it| schedule_of(&it.flow, hook).is_some())?;
        Some(Arc::clone(&version.flow))
    }

    /// The secrets of a hook, which are fetched from time to time.
    pub(super) async fn hook_secrets(
        &self,
        hook: &str,
        flow: &Arc<Flow>,
        webhook: &Webhook,
    ) -> Result<Vec<String>, SecretError> {
        if let Some(secrets) = self.known_secrets(hook, flow) {
            return Ok(secrets);
        }
        let mut secrets = Vec::new();
        for name in &webhook.secrets {
            // One that may be missing signs nothing while it is.
            secrets.extend(Secrets::fetch_one(flow, name).await?.filter(|it| !it.is_empty()));
        }
        let fetched = (Instant::now(), Arc::clone(flow), secrets.clone());
        self.inner.hook_secrets().insert(hook.to_owned(), fetched);
        Ok(secrets)
    }

    fn known_secrets(&self, hook: &str, flow: &Arc<Flow>) -> Option<Vec<String>> {
        let known = self.inner.hook_secrets();
        let (at, of, secrets) = known.get(hook)?;
        (at.elapsed() < SECRETS_KEPT && Arc::ptr_eq(of, flow)).then(|| secrets.clone())
    }

    /// What became of the instant of a delivery.
    async fn fate(&self, handle: &ScheduleHandle, nominal: Timestamp) -> Result<Fate, DeskError> {
        let id = handle.id();
        self.desk().here(move |desk| fate(desk, desk.firing(id, nominal)?)).await
    }

    async fn forget(&self, hook: &str, keys: Vec<String>) -> Result<(), DeskError> {
        let (folder, hook) = (self.inner.session.folder.clone(), hook.to_owned());
        let path = folder.path().to_owned();
        let forget = move || folder.forget_arrivals(&hook, &keys);
        blocking(forget).await?.map_err(|error| DeskError::folder(error, &path))
    }

    /// Forgets deliveries that nobody will send again, from time to time.
    async fn forget_old(&self, hook: &str, handle: &ScheduleHandle) {
        let is_due = {
            let mut looked = self.inner.forgotten();
            let last = looked.get(hook).copied();
            let is_due = last.is_none_or(|last: Instant| last.elapsed() >= FORGET_EVERY);
            if is_due {
                looked.insert(hook.to_owned(), Instant::now());
            }
            is_due
        };
        let Some(decided) = handle.decided().filter(|_| is_due) else { return };
        let (folder, hook) = (self.inner.session.folder.clone(), hook.to_owned());
        let before = self.inner.session.wheel.wall_clock().before(REMEMBERED);
        // What is not forgotten now is the next time.
        let _ = blocking(move || {
            folder.settle_arrivals(&hook, decided)?;
            folder.forget_arrivals_before(&hook, before)
        })
        .await;
    }
}

type Fate = (DeliveryFate, Option<String>, Option<String>);

fn fate(desk: &LocalDesk, firing: Option<FiringSummary>) -> Result<Fate, DeskError> {
    Ok(match firing.map(|firing| firing.fate) {
        None => (DeliveryFate::Waiting, None, None),
        Some(FiringFate::Ran(run)) => match desk.has_run(run)? {
            true => (DeliveryFate::Ran, Some(run.to_string()), None),
            // Its run is being made.
            false => (DeliveryFate::Waiting, None, None),
        },
        Some(FiringFate::Skipped(reason)) => (DeliveryFate::Skipped, None, Some(reason)),
        Some(FiringFate::NotMade { error, .. }) => (DeliveryFate::NotMade, None, Some(error)),
    })
}

/// What templates know of a delivery. A body that is no JSON is a text.
fn told(id: &str, delivery: &Delivery) -> Json {
    let text = || Json::String(String::from_utf8_lossy(&delivery.body).into_owned());
    let body = serde_json::from_slice(&delivery.body).unwrap_or_else(|_| text());
    let is_secret = |name: &str| {
        name.contains("signature") || name.contains("authorization") || name.contains("cookie")
    };
    let headers = delivery.headers.iter().filter(|(name, _)| !is_secret(name));
    let headers: BTreeMap<&String, &String> = headers.collect();
    json!({ "id": id, "body": body, "headers": headers })
}

/// Whether this is why a run was refused: the queue has no room for it. The ledger keeps texts.
fn is_full(why: &str) -> bool {
    let is_said = why.contains("` is full (") || why.contains("` has no room for ");
    why.starts_with("queue `") && is_said
}

#[cfg(test)]
mod tests {
    use tidewheel::Rejection;

    use super::*;

    #[test]
    fn a_full_queue_is_known_by_its_words() {
        for wanted in [1, 7] {
            let full = Rejection::QueueFull { queue: "mail".into(), wanted, current: 3, max: 3 };
            assert!(is_full(&full.to_string()), "{full}");
        }
        assert!(!is_full("the flow needs the param `x`"));
    }
}
