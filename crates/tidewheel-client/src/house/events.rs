//! News of runs and schedules, for flows that want to hear them: each is an arrival for their schedules.
//!
//! What is done with news is said by the steps of those flows. What happens, for whoever only looks, is in
//! [`super::happenings`].

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Weak};
use std::time::Duration;

use serde_json::{Value as Json, json};
use tidewheel::Timestamp;
use tidewheel::schedule::Origin;
use tidewheel_flow::{Arrivals, EventKind, Events, Flow};

use super::arrivals::Content;
use super::happenings::{Happenings, Seen};
use super::house::{House, Inner};
use super::setting::{names, schedule_of};
use crate::api::{
    Happened, LedgerFate, LedgerLine, LedgerWish, ListWish, RunLine, RunState, StateWish, What,
};
use crate::desk::{DeskError, blocking};
use crate::text::{harmless, short_id, span};

/// News of runs that ended longer ago are told to nobody.
const LOOK_BACK: Duration = Duration::from_secs(24 * 3600);

/// Runs that are looked at for news that nobody heard.
const RUNS_MAX: u32 = 500;

/// Instants of each schedule that are looked at for the same.
const INSTANTS_MAX: u32 = 5;

/// So many runs that are late are remembered before they are all looked at again.
const OVERDUE_MAX: usize = 10_000;

/// A schedule that fires for news.
#[derive(Debug, Clone)]
pub(super) struct Listener {
    name: String,
    flow: Arc<Flow>,
    events: Events,
}

/// Who listens, and what need not be looked at again.
#[derive(Debug, Default)]
pub(super) struct Listeners {
    all: Arc<Vec<Listener>>,
    /// Runs whose deadline is known to have passed, by listener.
    overdue: HashSet<(String, String)>,
    /// Schedule and instant of each firing whose run was not stored when the house caught up, by run.
    unstored: HashMap<String, (String, Timestamp)>,
}

/// Something that happened to a flow.
struct News {
    kind: EventKind,
    /// What tells it from other news.
    key: String,
    flow: String,
    /// What templates know of it.
    told: Json,
}

impl House {
    /// Notes which schedules fire for news.
    pub(super) fn note_listeners(&self) {
        let mut all = Vec::new();
        for version in self.inner.catalogue().flows() {
            for name in names(&version.flow) {
                let schedule = schedule_of(&version.flow, &name);
                if let Some(Arrivals::Events(events)) = schedule.and_then(|it| it.arrivals.as_ref())
                {
                    let (flow, events) = (Arc::clone(&version.flow), events.clone());
                    all.push(Listener { name, flow, events });
                }
            }
        }
        self.inner.listeners().all = Arc::new(all);
    }

    /// Tells what happens to those who listen, until the house ends.
    pub(super) async fn hear(weak: Weak<Inner>, mut happenings: Happenings) {
        while let Some(seen) = happenings.next().await {
            let Some(inner) = weak.upgrade() else { return };
            let house = Self::of(inner);
            if house.inner.listeners().all.is_empty() {
                continue;
            }
            // What cannot be stored now is found at the next start, as far as it is about runs.
            let _ = match seen {
                Seen::Gap => house.catch_up().await,
                Seen::Happened(happened) => house.heard(&happened).await,
            };
        }
    }

    async fn heard(&self, happened: &Happened) -> Result<(), DeskError> {
        let of_schedule = |kind, what: &str, why| {
            let (schedule, nominal) = (happened.schedule.as_deref()?, happened.nominal?);
            self.of_schedule(kind, schedule, nominal, what, why)
        };
        let news = match happened.what {
            What::RunEnded => {
                let id = happened.run_id.clone().unwrap_or_default();
                let line = self.desk().here(move |desk| desk.run_line(&id)).await?;
                line.as_ref().and_then(of_run)
            }
            What::ScheduleFired => {
                let (Some(schedule), Some(nominal)) = (&happened.schedule, happened.nominal) else {
                    return Ok(());
                };
                return self.fired(schedule, nominal, happened.at).await;
            }
            What::RunAccepted => {
                let run = happened.run_id.as_deref().unwrap_or_default();
                let firing = self.inner.listeners().unstored.remove(run);
                let Some((schedule, nominal)) = firing else { return Ok(()) };
                return self.fired(&schedule, nominal, happened.at).await;
            }
            What::ScheduleSkipped if happened.state.as_deref() == Some("misfire") => {
                of_schedule(EventKind::Late, "missed", None)
            }
            What::FiringFailed => {
                of_schedule(EventKind::Failure, "has no run for", happened.error.as_deref())
            }
            What::Missed => return self.catch_up().await,
            _ => None,
        };
        match news {
            Some(news) => self.tell_news(&news, |_| true).await,
            None => Ok(()),
        }
    }

    /// Reports an instant that fired late, to the listeners that want to know of such a delay.
    async fn fired(&self, name: &str, nominal: Timestamp, at: Timestamp) -> Result<(), DeskError> {
        let late = at.since(nominal);
        let listeners = Arc::clone(&self.inner.listeners().all);
        let is_late = |listener: &Listener| late > listener.events.late;
        if !listeners.iter().any(is_late) {
            return Ok(());
        }
        let id = self.handle(name)?.id();
        let firing = self.desk().here(move |desk| desk.firing(id, nominal)).await?;
        // What people ask for is as old as they want it to be.
        if firing.is_none_or(|firing| firing.origin != Origin::Trigger) {
            return Ok(());
        }
        match self.late(name, nominal, late) {
            Some(news) => self.tell_news(&news, is_late).await,
            None => Ok(()),
        }
    }

    fn late(&self, schedule: &str, nominal: Timestamp, late: Duration) -> Option<News> {
        let late = span(late);
        self.of_schedule(EventKind::Late, schedule, nominal, "fired late for", Some(&late))
    }

    fn of_schedule(
        &self,
        kind: EventKind,
        schedule: &str,
        nominal: Timestamp,
        what: &str,
        why: Option<&str>,
    ) -> Option<News> {
        let flow = {
            let catalogue = self.inner.catalogue();
            let version = catalogue.flows().find(|it| schedule_of(&it.flow, schedule).is_some())?;
            version.name().to_owned()
        };
        let why_too = why.map(|why| format!(": {}", harmless(why))).unwrap_or_default();
        let text = format!("schedule {} {what} {nominal}{why_too}", harmless(schedule));
        let told = json!({
            "what": kind.word(), "flow": flow, "run": null, "state": null, "error": why,
            "schedule": schedule, "nominal": nominal.to_string(),
            "text": text, "slack": { "text": text },
        });
        let key = format!("{}:{schedule}:{}", kind.word(), nominal.as_micros());
        Some(News { kind, key, flow, told })
    }

    /// Tells news that nobody heard: because the house was not there, or too much happened.
    pub(super) async fn catch_up(&self) -> Result<(), DeskError> {
        self.catch_up_with_runs().await?;
        self.catch_up_with_schedules().await
    }

    /// The same of runs that have ended, also beside the house.
    pub(super) async fn catch_up_with_runs(&self) -> Result<(), DeskError> {
        let listeners = Arc::clone(&self.inner.listeners().all);
        if listeners.is_empty() {
            return Ok(());
        }
        let wish = ListWish { limit: RUNS_MAX, ..ListWish::default() };
        let runs = self.desk().list(wish).await?.runs;
        for listener in listeners.iter() {
            let kept = self.kept_news(listener).await?;
            self.forget_news(listener).await;
            let since = self.since(&kept);
            let is_known = |key: &String| kept.iter().any(|(known, _)| known == key);
            let is_this = |other: &Listener| other.name == listener.name;
            for run in runs.iter().rev().filter(|run| run.ended_at.is_some_and(|at| at > since)) {
                if let Some(news) = of_run(run).filter(|news| !is_known(&news.key)) {
                    self.tell_news(&news, is_this).await?;
                }
            }
        }
        Ok(())
    }

    /// The same of instants that fired late, were missed, or came to nothing.
    async fn catch_up_with_schedules(&self) -> Result<(), DeskError> {
        let listeners = Arc::clone(&self.inner.listeners().all);
        let is_wanted = |listener: &Listener| {
            let on = &listener.events.on;
            on.contains(&EventKind::Late) || on.contains(&EventKind::Failure)
        };
        let mut since = BTreeMap::new();
        for listener in listeners.iter().filter(|listener| is_wanted(listener)) {
            let kept = self.kept_news(listener).await?;
            since.insert(listener.name.clone(), self.since(&kept));
        }
        if since.is_empty() {
            return Ok(());
        }
        self.inner.listeners().unstored.clear();
        let handles = self.inner.session.wheel.schedules();
        for schedule in handles.iter().filter_map(|handle| handle.name()) {
            let wish = LedgerWish { version: None, before: None, limit: INSTANTS_MAX };
            let lines = self.desk().ledger(&schedule, wish).await?.firings;
            for line in lines.iter().rev().filter(|line| line.origin == "trigger") {
                let Some((news, at, late)) = self.of_line(&schedule, line).await? else { continue };
                let is_news = |listener: &Listener| {
                    since.get(&listener.name).is_some_and(|since| at > *since)
                        && late.is_none_or(|late| late > listener.events.late)
                };
                self.tell_news(&news, is_news).await?;
            }
        }
        Ok(())
    }

    /// The news that a line of a ledger is, if it is any: when it was so, and how late an instant fired.
    async fn of_line(
        &self,
        schedule: &str,
        line: &LedgerLine,
    ) -> Result<Option<(News, Timestamp, Option<Duration>)>, DeskError> {
        let why = line.why.as_deref();
        let at = line.last.unwrap_or(line.nominal);
        Ok(match (line.fate, line.run_id.clone()) {
            (LedgerFate::Ran, Some(run)) => {
                let id = run.clone();
                let stored = self.desk().here(move |desk| desk.run_line(&id)).await?;
                let Some(began) = stored.map(|run| run.accepted_at) else {
                    // A firing is stored before its run. `heard` reports it when the run is accepted, which never
                    // happens if the run was pruned.
                    let firing = (schedule.to_owned(), line.nominal);
                    self.inner.listeners().unstored.insert(run, firing);
                    return Ok(None);
                };
                let late = began.since(line.nominal);
                let news = self.late(schedule, line.nominal, late);
                news.map(|news| (news, began, Some(late)))
            }
            (LedgerFate::Skipped, _) if why == Some("misfire") => {
                let news =
                    self.of_schedule(EventKind::Late, schedule, line.nominal, "missed", None);
                news.map(|news| (news, at, None))
            }
            (LedgerFate::NotMade, _) => {
                let what = "has no run for";
                let news = self.of_schedule(EventKind::Failure, schedule, line.nominal, what, why);
                news.map(|news| (news, at, None))
            }
            _ => None,
        })
    }

    /// What was told to a listener, and when.
    async fn kept_news(&self, listener: &Listener) -> Result<Vec<(String, Timestamp)>, DeskError> {
        let (folder, name) = (self.inner.session.folder.clone(), listener.name.clone());
        let path = folder.path().to_owned();
        let kept = blocking(move || folder.reader()?.arrivals(&name)).await?;
        kept.map_err(|error| DeskError::folder(error, &path))
    }

    /// Since when somebody wants to hear news, as far back as they are told.
    fn since(&self, kept: &[(String, Timestamp)]) -> Timestamp {
        let oldest = self.inner.session.wheel.wall_clock().before(LOOK_BACK);
        let since = kept.iter().find(|(key, _)| key.is_empty()).map(|(_, since)| *since);
        since.unwrap_or(oldest).max(oldest)
    }

    /// Forgets news that are too old to be told again.
    async fn forget_news(&self, listener: &Listener) {
        let Some(handle) = self.inner.session.wheel.find_schedule(&listener.name) else { return };
        let Some(decided) = handle.decided() else { return };
        let (folder, name) = (self.inner.session.folder.clone(), listener.name.clone());
        let before = self.inner.session.wheel.wall_clock().before(2 * LOOK_BACK);
        // What is not forgotten now is the next time.
        let _ = blocking(move || {
            folder.settle_arrivals(&name, decided)?;
            folder.forget_arrivals_before(&name, before)
        })
        .await;
    }

    /// Looks once for runs that should have ended by now, as the house does by itself from time to time.
    ///
    /// # Errors
    ///
    /// When runs cannot be read, or news of them not be stored.
    pub async fn look_for_overdue(&self) -> Result<(), DeskError> {
        let listeners = Arc::clone(&self.inner.listeners().all);
        if !listeners.iter().any(|listener| listener.events.deadline.is_some()) {
            return Ok(());
        }
        let wish =
            ListWish { limit: RUNS_MAX, state: Some(StateWish::Running), ..ListWish::default() };
        let runs = self.desk().list(wish).await?.runs;
        let now = self.inner.session.wheel.wall_clock();
        for listener in listeners.iter() {
            let Some(deadline) = listener.events.deadline else { continue };
            for run in runs.iter().filter(|run| run.accepted_at.after(deadline) <= now) {
                let known = (listener.name.clone(), run.run_id.clone());
                if self.inner.listeners().overdue.contains(&known) {
                    continue;
                }
                let Some(news) = overdue(run, deadline) else { continue };
                self.tell_news(&news, |other| other.name == listener.name).await?;
                let mut listeners = self.inner.listeners();
                if listeners.overdue.len() >= OVERDUE_MAX {
                    listeners.overdue.clear();
                }
                listeners.overdue.insert(known);
            }
        }
        Ok(())
    }

    /// Lets news arrive for all who listen to such, and for whom this holds.
    async fn tell_news(
        &self,
        news: &News,
        holds: impl Fn(&Listener) -> bool,
    ) -> Result<(), DeskError> {
        let listeners = Arc::clone(&self.inner.listeners().all);
        // Who tells news makes none: else a letter that cannot be sent were one more to send.
        if listeners.iter().any(|listener| listener.flow.name == news.flow) {
            return Ok(());
        }
        let notify = {
            let catalogue = self.inner.catalogue();
            catalogue.flow(&news.flow).map(|it| it.flow.notify.clone()).unwrap_or_default()
        };
        for listener in listeners.iter().filter(|listener| holds(listener)) {
            let is_named = notify.contains(&listener.flow.name);
            let Listener { name, flow, events } = listener;
            if !events.on.contains(&news.kind) || !(is_named || events.is_of(&news.flow)) {
                continue;
            }
            let (Some(schedule), Ok(handle)) = (schedule_of(flow, name), self.handle(name)) else {
                continue;
            };
            let content = Content::of(schedule, &news.told).to_bytes();
            self.arrive(name, &handle, vec![(news.key.clone(), content)]).await?;
        }
        Ok(())
    }
}

/// What became of a run, if that is news. One that somebody ended is none.
fn of_run(run: &RunLine) -> Option<News> {
    let kind = match run.state {
        RunState::Succeeded => EventKind::Success,
        RunState::Failed | RunState::Unknown => EventKind::Failure,
        _ => return None,
    };
    let error = run.error.as_deref().map(|error| format!(": {}", harmless(error)));
    let error = error.filter(|_| kind == EventKind::Failure).unwrap_or_default();
    Some(news_of(run, kind, &format!("{}{error}", run.state)))
}

fn overdue(run: &RunLine, deadline: Duration) -> Option<News> {
    let is_over = run.ended_at.is_some();
    let what = format!("is not over after {}", span(deadline));
    (!is_over).then(|| news_of(run, EventKind::Deadline, &what))
}

fn news_of(run: &RunLine, kind: EventKind, what: &str) -> News {
    let flow = run.flow.clone().unwrap_or_default();
    let short = short_id(&run.run_id);
    let text = format!("{} {what} (run {short})", harmless(&flow));
    let instant = |at: Option<Timestamp>| at.map(|at| at.to_string());
    let told = json!({
        "what": kind.word(), "flow": flow, "run": run.run_id, "state": run.state.word(),
        "error": run.error, "steps": run.steps, "failed": run.failed,
        "accepted_at": run.accepted_at.to_string(), "ended_at": instant(run.ended_at),
        "schedule": null, "nominal": null,
        "text": text, "slack": { "text": text },
    });
    News { kind, key: format!("{}:{}", kind.word(), run.run_id), flow, told }
}
