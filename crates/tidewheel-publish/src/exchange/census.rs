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
}

impl Unanswered {
    fn new(trouble: Trouble) -> Self {
        let retry = match &trouble {
            Trouble::Limited { wait: Some(wait), .. }
            | Trouble::Passing { wait: Some(wait), .. } => MayRetry::After(*wait),
            Trouble::Limited { .. } | Trouble::Passing { .. } => MayRetry::Yes,
            Trouble::NotAllowed { .. } | Trouble::CodeWanted { .. } | Trouble::Refused { .. } => {
                MayRetry::No
            }
        };
        Self { trouble, retry }
    }
}

impl fmt::Display for Unanswered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.trouble.fmt(f)
    }
}

/// As its own cause it says whether to ask again, which the scheduler finds there.
impl Error for Unanswered {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        (self.retry != MayRetry::Yes).then_some(&self.retry as _)
    }
}
