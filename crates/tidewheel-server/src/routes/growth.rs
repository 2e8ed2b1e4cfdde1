//! [`Growth`]: a log that somebody follows, told of when there is more of it.
//!
//! It is looked at only while somebody listens, and told of at most four times a second.

use std::time::Duration;

use tidewheel_client::api::{Document as _, Happened, LogGrown, What};
use tidewheel_client::desk::{Desk, DeskError, LocalDesk, LogOf};
use tokio::time::{Instant, sleep_until};

/// How often it is looked.
const LOOK: Duration = Duration::from_millis(250);

/// How often it is looked whether it is still the newest attempt, and whether somebody writes: what another process
/// does is not told here.
const AGAIN: u32 = 20;

/// The log of a step's newest attempt.
pub(super) struct Growth {
    desk: Desk,
    run: String,
    step: String,
    /// How it was last; nothing before it was looked at.
    last: Option<LogGrown>,
    /// Whether it must be looked for by name.
    is_unknown: bool,
    looks: u32,
    next: Instant,
}

impl Growth {
    /// The log of this step of a run.
    pub async fn new(desk: &Desk, run: &str, step: &str) -> Result<Self, DeskError> {
        let mut growth = Self {
            desk: desk.clone(),
            run: run.to_owned(),
            step: step.to_owned(),
            last: None,
            is_unknown: true,
            looks: 0,
            next: Instant::now(),
        };
        // Whether there is such a log is said at once.
        growth.look().await?;
        Ok(growth)
    }

    /// Something happened that may be about it.
    pub fn hear(&mut self, happened: &Happened) {
        let is_ours = happened.step.as_deref() == Some(&self.step);
        if is_ours || happened.what == What::RunEnded {
            self.is_unknown = true;
            self.next = self.next.min(Instant::now() + LOOK);
        }
    }

    /// Waits until there is more; gives the event. It may be dropped and asked again at any time.
    pub async fn next(&mut self) -> String {
        loop {
            sleep_until(self.next).await;
            let before = self.last.clone();
            // What cannot be looked at now may be later.
            let looked = self.look().await;
            let is_over = self.last.as_ref().is_some_and(|last| last.over);
            self.next = Instant::now() + if is_over { LOOK * 4 } else { LOOK };
            if looked.is_ok() && self.last != before {
                return self.event();
            }
        }
    }

    /// How it is now, as an event.
    pub fn event(&self) -> String {
        let last = self.last.clone().map(LogGrown::versioned);
        // It is made of texts and numbers, which can always be written, and JSON has no line ends.
        let data = serde_json::to_string(&last).unwrap_or_default();
        format!("event: log\ndata: {data}\n\n")
    }

    async fn look(&mut self) -> Result<(), DeskError> {
        self.looks += 1;
        let is_named = self.is_unknown || self.looks.is_multiple_of(AGAIN);
        let (run, step) = (self.run.clone(), self.step.clone());
        let known = self.last.clone().filter(|_| !is_named);
        let size = move |desk: &LocalDesk| match known {
            Some(last) => {
                let (task, attempt) = (Some(last.task), Some(last.attempt));
                let now =
                    desk.log_size(&last.run_id, LogOf { task, attempt, ..LogOf::default() })?;
                Ok(LogGrown { step: last.step, over: last.over, ..now })
            }
            None => desk.log_size(&run, LogOf { step: Some(&step), ..LogOf::default() }),
        };
        self.last = Some(self.desk.here(size).await?);
        self.is_unknown = false;
        Ok(())
    }
}
