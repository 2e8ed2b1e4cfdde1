//! [`census`]: what registries list of many packages, several asked at once, and again where that could help.
//!
//! What follows from it is for plans and reports to say.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tidewheel::Tidewheel;
use tidewheel::executor::http::MayRetry;
use tokio::task::JoinSet;

use super::client::Client;
use super::trouble::Trouble;
use crate::package::PackageId;
use crate::registry::Listing;
use crate::settings::Target;

/// How often a registry that has trouble is asked again.
const RETRIES: u32 = 4;
/// Time before the first of these, at most.
const BASE_DELAY: Duration = Duration::from_millis(250);
/// The longest wait that a registry may ask for which is only asked something: somebody looks at a screen meanwhile.
const WAIT_MAX: Duration = Duration::from_secs(60);

/// What registries list of packages, with all that is known of the versions that matter; of each that cannot be asked, why.
pub async fn census(
    client: &Arc<Client>,
    targets: &BTreeMap<PackageId, Target>,
    version_of: impl Fn(&PackageId) -> Option<String>,
) -> BTreeMap<PackageId, Result<Listing, String>> {
    let wheel = Tidewheel::builder().start();
    let mut asking = JoinSet::new();
    for (id, target) in targets {
        let question = Arc::new((Arc::clone(client), id.clone(), target.clone(), version_of(id)));
        let asked = wheel.task_with(move |_| {
            let question = Arc::clone(&question);
            async move {
                let (client, id, target, version) = &*question;
                let listing = match version {
                    Some(version) => client.listing_of(target, id, version).await,
                    None => client.listing(target, id).await,
                };
                listing.map_err(Unanswered::new)
            }
        });
        let (asked, id) = (asked.retries(RETRIES).base_delay(BASE_DELAY).submit(), id.clone());
        asking.spawn(async move { (id, asked.await.map_err(|error| error.to_string())) });
    }
    asking.join_all().await.into_iter().collect()
}

/// A registry that did not answer, and whether it might.
#[derive(Debug)]
struct Unanswered {
    trouble: Trouble,
    retry: MayRetry,
    /// How long it wants to be left alone, if that is too long.
    too_long: Option<Duration>,
}

impl Unanswered {
    fn new(trouble: Trouble) -> Self {
        let wait = match &trouble {
            Trouble::Limited { wait, .. } | Trouble::Passing { wait, .. } => *wait,
            _ => None,
        };
        let too_long = wait.filter(|wait| *wait > WAIT_MAX);
        let retry = match (&trouble, wait) {
            _ if too_long.is_some() => MayRetry::No,
            (_, Some(wait)) => MayRetry::After(wait),
            (Trouble::Limited { .. } | Trouble::Passing { .. }, None) => MayRetry::Yes,
            (
                Trouble::NotAllowed { .. } | Trouble::CodeWanted { .. } | Trouble::Refused { .. },
                None,
            ) => MayRetry::No,
        };
        Self { trouble, retry, too_long }
    }
}

impl fmt::Display for Unanswered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.trouble.fmt(f)?;
        match self.too_long {
            Some(wait) => write!(
                f,
                "; it wants to be asked again in {} s, and no answer is waited for longer than {} s: run it again then",
                wait.as_secs(),
                WAIT_MAX.as_secs()
            ),
            None => Ok(()),
        }
    }
}

/// As its own cause it says whether to ask again, which the scheduler finds there.
impl Error for Unanswered {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        (self.retry != MayRetry::Yes).then_some(&self.retry as _)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_registry_that_wants_to_be_left_alone_for_long_is_not_waited_for_and_that_is_said() {
        let asked = |seconds: u64| {
            let (wait, what) = (Some(Duration::from_secs(seconds)), "busy".to_owned());
            let limited = Trouble::Limited { wait, what: what.clone() };
            [limited, Trouble::Passing { wait, what }].map(Unanswered::new)
        };
        for answer in asked(60) {
            assert_eq!(answer.retry, MayRetry::After(WAIT_MAX));
            assert_eq!(answer.to_string(), "busy");
        }
        for answer in asked(3600) {
            assert_eq!(answer.retry, MayRetry::No);
            assert!(answer.to_string().starts_with("busy; it wants to be asked again in 3600 s"));
        }
    }
}
