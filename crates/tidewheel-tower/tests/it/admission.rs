//! Words of an admission, each with a service that tells how it was called.
//!
//! Requests that are refused, and the wheel of the guide, are in `axum`.

use std::convert::Infallible;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tidewheel::clock::VirtualClock;
use tidewheel::{Builder, Tidewheel, Timestamp};
use tidewheel_tower::{Admission, AdmissionLayer};
use tower::{ServiceBuilder, ServiceExt, service_fn};

const SECOND: Duration = Duration::from_secs(1);

fn builder() -> Builder {
    Tidewheel::builder().clock(VirtualClock::at(Timestamp::UNIX_EPOCH))
}

#[tokio::test(start_paused = true)]
async fn whoever_asks_once_does_not_wait_for_all_of_whoever_asks_often() {
    let answered = Arc::<Mutex<Vec<&str>>>::default();
    let told = Arc::clone(&answered);
    let layer = AdmissionLayer::new(builder().slots(1).start(), |tenant: &&'static str| {
        Admission::new().fair_by(tenant)
    });
    let service =
        ServiceBuilder::new().layer(layer).service(service_fn(move |tenant: &'static str| {
            let told = Arc::clone(&told);
            async move {
                tokio::time::sleep(SECOND).await;
                told.lock().unwrap().push(tenant);
                Ok::<_, Infallible>(())
            }
        }));
    let mut asked = Vec::new();
    for tenant in ["often", "often", "often", "often", "once"] {
        asked.push(tokio::spawn(service.clone().oneshot(tenant)));
        tokio::task::yield_now().await;
    }
    for request in asked {
        request.await.unwrap().unwrap();
    }
    assert_eq!(*answered.lock().unwrap(), ["often", "once", "often", "often", "often"]);
}

#[tokio::test(start_paused = true)]
async fn a_request_takes_as_many_units_as_it_says() {
    let (inside, most) = (Arc::<AtomicU32>::default(), Arc::<AtomicU32>::default());
    let seen = Arc::clone(&most);
    let layer = AdmissionLayer::new(builder().limit("memory", 4).start(), |units: &u32| {
        Admission::new().units("memory", *units)
    });
    let service = ServiceBuilder::new().layer(layer).service(service_fn(move |units: u32| {
        let (inside, seen) = (Arc::clone(&inside), Arc::clone(&seen));
        async move {
            let now = inside.fetch_add(units, Ordering::Relaxed) + units;
            seen.fetch_max(now, Ordering::Relaxed);
            tokio::time::sleep(SECOND).await;
            inside.fetch_sub(units, Ordering::Relaxed);
            Ok::<_, Infallible>(())
        }
    }));
    let asked = [3, 1, 2, 2, 4].map(|units| tokio::spawn(service.clone().oneshot(units)));
    for request in asked {
        request.await.unwrap().unwrap();
    }
    assert_eq!(most.load(Ordering::Relaxed), 4);
}
