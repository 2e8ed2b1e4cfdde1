//! What surfaces that stay on look at all the time: what matters now, who stands in line, lines of logs, and that
//! something has changed.
//!
//! What a [`Desk`] is asked once is in [`super::desk`].

use std::sync::Arc;
use std::time::Duration;

use tidewheel::clock::wall_clock;
use tidewheel::store::sqlite::Reader;
use tokio::time::{sleep, timeout};

use super::desk::{Desk, Way, blocking};
use super::error::DeskError;
use super::glance::KnownFlow;
use super::local::LocalDesk;
use crate::api::{
    Glance, LimitList, LinesWish, ListWish, LogFound, LogLines, QueueList, SearchWish, SlotHolder,
    StateWish, StepState, WaitingLine, WaitingStep,
};
use crate::remote::{Bell, RemoteDesk};

/// Runs that have not ended whose steps are told of.
const RUNNING_MAX: u32 = 20;

/// Runs whose flows are told of, where no house knows which flows there are.
const RUNS_MAX: u32 = 200;

/// How often it is asked whether anybody has written to the database.
const LOOK: Duration = Duration::from_millis(250);

/// How often something is taken to have changed although nobody says so: a server may tell nothing.
const ANYWAY: Duration = Duration::from_secs(2);

impl Desk {
    /// The desk of the server, for what only a server can do.
    #[must_use]
    pub fn server(&self) -> Option<&RemoteDesk> {
        self.there()
    }

    /// What matters now.
    ///
    /// # Errors
    ///
    /// When it cannot be read.
    pub async fn glance(&self) -> Result<Glance, DeskError> {
        match self.there() {
            Some(there) => there.glance().await,
            None => self.here(LocalDesk::glance).await,
        }
    }

    /// Who has slots and who waits for one, at most so many of each.
    ///
    /// # Errors
    ///
    /// When it cannot be read.
    pub async fn line(&self, max: u32) -> Result<WaitingLine, DeskError> {
        match self.there() {
            Some(there) => there.line(max).await,
            None => self.here(move |desk| desk.line_up(max as usize)).await,
        }
    }

    /// Queues and limits of the server; none without one: each process has its own then.
    ///
    /// # Errors
    ///
    /// When it cannot be read.
    pub async fn capacity(&self) -> Result<Option<(QueueList, LimitList)>, DeskError> {
        match self.there() {
            Some(there) => Ok(Some((there.queues().await?, there.limits().await?))),
            None => Ok(None),
        }
    }

    /// Some lines of a log.
    ///
    /// # Errors
    ///
    /// When there is no such run, step or attempt, or the log cannot be read.
    pub async fn log_lines(&self, word: &str, wish: LinesWish) -> Result<LogLines, DeskError> {
        if let Some(there) = self.there() {
            return there.log_lines(word, &wish).await;
        }
        let word = word.to_owned();
        self.here(move |desk| desk.log_lines(&word, &wish)).await
    }

    /// The numbers of the lines in which something is found, up to the limit of the wish.
    ///
    /// # Errors
    ///
    /// As for [`Desk::log_lines`], and when it cannot be searched for.
    pub async fn found_in_log(&self, word: &str, wish: SearchWish) -> Result<Vec<u64>, DeskError> {
        if let Some(there) = self.there() {
            return there.found_in_log(word, &wish).await;
        }
        let word = word.to_owned();
        let limit = wish.limit as usize;
        self.here(move |desk| {
            let mut hits = Vec::new();
            desk.search_log(&word, &wish, |found: LogFound| {
                hits.extend(found.hits);
                hits.len() < limit
            })?;
            Ok(hits)
        })
        .await
    }

    /// Says from now on when something may have changed.
    ///
    /// # Errors
    ///
    /// When the folder cannot be read.
    pub fn changes(&self) -> Result<Changes, DeskError> {
        Ok(match &self.way {
            Way::Here(desk) | Way::Inline(desk) => Changes::Here {
                reader: Some(Box::new(desk.folder().reader().map_err(|error| desk.failed(error))?)),
                version: None,
            },
            Way::There(desk) => Changes::There(Bell::of(Arc::clone(desk))),
        })
    }
}

/// Says when something may have changed.
#[derive(Debug)]
pub enum Changes {
    /// In a data folder: when somebody has written to its database, which costs next to nothing to ask.
    Here {
        /// Who asks; away while it does.
        reader: Option<Box<Reader>>,
        /// What was there at the last look.
        version: Option<i64>,
    },
    /// At a server, which tells.
    There(Bell),
}

impl Changes {
    /// Waits until something may have changed. It may be given up at any time.
    pub async fn next(&mut self) {
        match self {
            Self::Here { reader, version } => loop {
                let Some(mine) = reader.take() else {
                    // A look that was given up took it along: from now on everything may have changed.
                    return sleep(ANYWAY).await;
                };
                let looked = blocking(move || (mine.version().ok(), mine)).await;
                let Ok((now, mine)) = looked else { return sleep(ANYWAY).await };
                *reader = Some(mine);
                if now.is_none() || now != *version {
                    *version = now;
                    return;
                }
                sleep(LOOK).await;
            },
            Self::There(bell) => {
                let _ = timeout(ANYWAY.max(bell.silence()), bell.rung()).await;
            }
        }
    }
}

impl LocalDesk {
    /// What matters now, as far as it is stored. The flows are those of the newest runs and of schedules.
    ///
    /// # Errors
    ///
    /// When the folder cannot be read.
    pub fn glance(&self) -> Result<Glance, DeskError> {
        let at = wall_clock();
        let schedules = self.schedules(false)?.schedules;
        let recent = self.list(&ListWish { limit: RUNS_MAX, ..ListWish::default() })?;
        let mut names: Vec<String> = recent.runs.into_iter().filter_map(|run| run.flow).collect();
        names.extend(schedules.iter().filter_map(|schedule| schedule.flow.clone()));
        names.sort_unstable();
        names.dedup();
        let own = |name: &str| {
            let own = schedules.iter().filter(|it| it.flow.as_deref() == Some(name));
            own.map(|it| it.name.clone()).collect()
        };
        let flow = |name: String| KnownFlow { schedules: own(&name), name, is_outdated: false };
        let flows = names.into_iter().map(flow).collect();
        self.glance_at(at, flows, schedules)
    }

    /// Who runs and who could, in runs that have not ended: each process has slots of its own, so the order is that of
    /// when they are expected to start.
    fn line_up(&self, max: usize) -> Result<WaitingLine, DeskError> {
        let wish =
            ListWish { state: Some(StateWish::Running), limit: RUNNING_MAX, ..ListWish::default() };
        let now = wall_clock();
        let (mut holders, mut waiting) = (Vec::new(), Vec::new());
        for run in self.list(&wish)?.runs {
            let standing = self.standing(&run.run_id)?;
            for step in standing.steps.iter().filter(|it| it.state == StepState::Running) {
                let since = step.started_at.unwrap_or(now);
                holders.push(SlotHolder {
                    run_id: run.run_id.clone(),
                    flow: run.flow.clone(),
                    step: step.name.clone(),
                    attempt: step.attempt,
                    seconds: now.since(since).as_secs_f64(),
                });
            }
            let explained = self.explain(&run.run_id, None)?;
            let ready = explained
                .steps
                .into_iter()
                .filter(|it| it.state == StepState::Pending && it.waits_for.is_empty());
            waiting.extend(ready.map(|it| WaitingStep {
                run_id: run.run_id.clone(),
                flow: run.flow.clone(),
                step: it.step,
                queue: String::new(),
                priority: it.priority.unwrap_or_default(),
                effective: it.priority.unwrap_or_default(),
                waited_seconds: 0.0,
                why: vec![it.why],
                expected_start_seconds: it.expected_start_seconds,
                unpassed_in_seconds: it.unpassed_in_seconds,
            }));
        }
        holders.sort_by(|one, other| other.seconds.total_cmp(&one.seconds));
        let start = |it: &WaitingStep| it.expected_start_seconds.unwrap_or(f64::MAX);
        waiting.sort_by(|one, other| start(one).total_cmp(&start(other)));
        let more = waiting.len().saturating_sub(max) as u64;
        holders.truncate(max);
        waiting.truncate(max);
        Ok(WaitingLine { version: None, slots: None, holders, waiting, more })
    }
}
