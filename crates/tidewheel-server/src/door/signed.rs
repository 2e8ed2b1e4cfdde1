//! Whether a delivery to a webhook is signed by somebody who may, and does not come too often.
//!
//! What makes a signature good is known to the house.

use axum::http::{HeaderMap, StatusCode};
use hyper::body::Bytes;
use tidewheel_client::house::{Delivery, Signed};

use super::pass::{Passing, Refused};
use crate::problem::Problem;

impl Passing<'_> {
    /// The delivery, if it is signed. Whatever is wrong with it, and whether there is such a hook at all, whoever sends
    /// it learns nothing but that nobody knows them.
    pub(super) async fn check_signed(
        &self,
        params: &[(String, String)],
        headers: &HeaderMap,
        body: Bytes,
    ) -> Result<Signed, Refused> {
        let hook = params.iter().find(|(name, _)| name == "hook").map_or("", |(_, hook)| hook);
        let signed = match self.server.house() {
            Ok(house) => {
                let mut delivery = delivery(headers, body);
                // Behind a proxy everybody seems to be here.
                delivery.is_from_here =
                    self.peer.is_here() && !self.server.settings.is_behind_proxy;
                house.signed(hook, delivery).await.ok()
            }
            Err(_) => None,
        };
        let Some(signed) = signed else {
            let address = self.peer.to_string();
            self.server.strangers.take(&address, self.instant).map_err(Refused::too_often)?;
            return Err(Problem::nobody().into());
        };
        // Only those that are signed count: nobody else can keep the others out.
        self.server.deliveries.take(hook, self.instant).map_err(Refused::too_often)?;
        Ok(signed)
    }
}

/// What was sent, with the headers that are there once and are text.
fn delivery(headers: &HeaderMap, body: Bytes) -> Delivery {
    let once = headers.keys().filter_map(|name| {
        let mut values = headers.get_all(name).iter();
        let (value, None) = (values.next()?, values.next()) else { return None };
        Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned()))
    });
    let mut delivery = Delivery::default();
    (delivery.headers, delivery.body) = (once.collect(), body.to_vec());
    delivery
}

impl Refused {
    /// That was too often.
    pub(super) fn too_often(wait: std::time::Duration) -> Self {
        let problem = Problem::new(StatusCode::TOO_MANY_REQUESTS, "that was too often");
        Self::ForComingTooOften(problem.after(wait))
    }
}
