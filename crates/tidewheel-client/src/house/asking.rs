//! How many steps ask somebody, for every page that shows it: counted anew when something has happened.
//!
//! Which steps ask is found out at the [desk](crate::desk).

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::time::timeout;

use super::house::{House, Inner};

/// So long it is waited for a new count. No page is held up for longer: it shows the last one.
const PATIENCE: Duration = Duration::from_millis(50);

/// After so long it is counted anew although nobody has told anything.
const AGE_MAX: Duration = Duration::from_secs(10);

/// What was counted last.
#[derive(Debug, Default)]
pub(super) struct Asking {
    counted: Mutex<Option<Counted>>,
    /// Whoever has it counts.
    turn: tokio::sync::Mutex<()>,
}

#[derive(Debug, Clone)]
struct Counted {
    /// When it was begun.
    at: Instant,
    /// The newest event before that.
    after: String,
    /// Of each step that asks, the flow of its run: who may not know of it does not count it.
    flows: Arc<[Option<String>]>,
}

impl Asking {
    fn counted(&self) -> Option<Counted> {
        self.counted.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn keep(&self, counted: Counted) {
        *self.counted.lock().unwrap_or_else(PoisonError::into_inner) = Some(counted);
    }
}

impl House {
    /// How many steps ask somebody, as it is now; or as it was a moment ago, where it takes its time to find that out.
    pub async fn asking(&self) -> usize {
        let asking = &self.inner.asking;
        let newest = self.newest_event();
        let is_so = |it: &Counted| it.after == newest && it.at.elapsed() < AGE_MAX;
        if !asking.counted().is_some_and(|it| is_so(&it)) {
            // It goes on when nobody waits for it any more.
            let counting = tokio::spawn(count(Arc::clone(&self.inner), Instant::now()));
            let _ = timeout(PATIENCE, counting).await;
        }
        let flows = asking.counted().map(|it| it.flows).unwrap_or_default();
        flows.iter().filter(|flow| self.reach.has(flow.as_deref())).count()
    }
}

/// Counts, unless somebody else has begun to do so since then.
async fn count(inner: Arc<Inner>, since: Instant) {
    let _turn = inner.asking.turn.lock().await;
    if inner.asking.counted().is_some_and(|it| it.at >= since) {
        return;
    }
    let at = Instant::now();
    let after = House::of(Arc::clone(&inner)).newest_event();
    // Whoever asks for the list itself is told why it cannot be read.
    let Ok(open) = inner.desk.here(|desk| desk.approvals()).await else { return };
    let flows = open.approvals.into_iter().map(|it| it.flow).collect();
    inner.asking.keep(Counted { at, after, flows });
}
