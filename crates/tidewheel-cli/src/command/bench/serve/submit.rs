//! How many runs a second are accepted durably, while a stream of events is open and what was accepted runs.
//!
//! The runs do nothing: it is not the time of their processes that is measured.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::anyhow;

use super::child::Place;
use super::figure::Figure;
use crate::command::bench::command::{Durable, ServeArgs};
use crate::command::bench::dag::failed;
use crate::error::CommandError;

/// Connections at once.
const CONNECTIONS: usize = 32;

/// How long to leave a server alone that has had enough of one token.
const TOO_SOON: Duration = Duration::from_millis(5);

pub(super) fn measure(args: &ServeArgs) -> Result<Vec<Figure>, CommandError> {
    let place = Place::new("submit", None)?;
    place.flow("none", "flow: [{ name: none, wait: 0s }]\n")?;
    let served = place.serve(Durable::Power)?;
    let heard = Arc::new(AtomicU64::new(0));
    let stream = served.asking()?;
    let counted = Arc::clone(&heard);
    thread::spawn(move || stream.listen(|_| counted.fetch_add(1, Ordering::Relaxed) < u64::MAX));
    let (is_over, accepted) = (AtomicBool::new(false), AtomicU64::new(0));
    let submit = || {
        let mut asking = served.asking()?;
        while !is_over.load(Ordering::Relaxed) {
            match asking.try_start("none")? {
                Some(_) => _ = accepted.fetch_add(1, Ordering::Relaxed),
                None => thread::sleep(TOO_SOON),
            }
        }
        Ok::<_, CommandError>(())
    };
    let begun = Instant::now();
    let took = thread::scope(|scope| {
        let users: Vec<_> = (0..CONNECTIONS).map(|_| scope.spawn(submit)).collect();
        thread::sleep(Duration::from_secs(args.seconds));
        is_over.store(true, Ordering::Relaxed);
        for user in users {
            user.join().unwrap_or_else(|_| Err(failed(anyhow!("a thread panicked"))))?;
        }
        Ok::<_, CommandError>(begun.elapsed())
    })?;
    let accepted = accepted.into_inner();
    let rate = accepted as f64 / took.as_secs_f64();
    let heard = heard.load(Ordering::Relaxed);
    let about = format!("runs accepted durably by {CONNECTIONS} connections; {heard} events told");
    Ok(vec![Figure::at_least("submit_per_second", about, rate, 1000.0)])
}
