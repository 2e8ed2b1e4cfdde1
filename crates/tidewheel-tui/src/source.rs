//! [`Source`]: whom the screens ask, and who has done what they wish for.
//!
//! What may be asked and done is decided at the [desk](tidewheel_client::desk); here it is only passed on.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tidewheel_client::api::{
    AnswerWish, Asked, AttemptList, CancelWish, GoneOn, LedgerWish, LinesWish, ListWish,
    PriorityChanged, PriorityWish, RefusalKind, RetryWish, ScheduleAsked, SearchWish, StartWish,
    StartedRun, StepResult, StepState,
};
use tidewheel_client::desk::{Changes, Desk, DeskError, ScheduleWish};
use tidewheel_client::remote::StatusPage;
use tidewheel_client::session::Workshop;
use tidewheel_client::text::{name, short_id};

use crate::message::{Again, Answer, Question, Raised, Refused, Said, StepKnown, Wish, Written};
use crate::model::RunsOf;

/// Something that is waited for.
pub type Waiting<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Runs that are listed at once.
const RUNS: u32 = 200;

/// Steps in line that are shown.
const LINE: u32 = 200;

/// Instants of a schedule that are shown, and lines of its ledger.
const NEXT: u32 = 10;
const LEDGER: u32 = 50;

/// Bytes of a line of a log that are shown.
const LINE_BYTES: u32 = 16 * 1024;

/// Places in a log that are found.
const HITS: u32 = 10_000;

/// How often a page is looked at.
const PAGE: Duration = Duration::from_secs(1);

/// Whom the screens ask.
pub trait Source: Send + Sync {
    /// Answers a question; else says why not, and what to do.
    fn ask(&self, question: Question) -> Waiting<Result<Answer, String>>;

    /// Has something done, and says what came of it.
    fn wish(&self, wish: Wish) -> Waiting<Result<Said, Refused>>;

    /// What says when something may have changed.
    ///
    /// # Errors
    ///
    /// When that cannot be known.
    fn news(&self) -> Result<News, String>;
}

/// Says when something may have changed.
#[derive(Debug)]
pub enum News {
    /// As a desk tells it.
    Desk(Box<Changes>),
    /// Now and then: nobody tells it.
    Clock,
}

impl News {
    /// Waits until something may have changed.
    pub async fn next(&mut self) {
        match self {
            Self::Desk(changes) => changes.next().await,
            Self::Clock => tokio::time::sleep(PAGE).await,
        }
    }
}

/// A desk, of a data folder or a server.
#[derive(Debug, Clone)]
pub struct DeskSource {
    desk: Desk,
    /// Who answers steps that ask.
    user: String,
    /// Who carries out runs, where no server does.
    workshop: Option<Workshop>,
}

impl DeskSource {
    /// A desk, asked by somebody of this name.
    #[must_use]
    pub fn new(desk: Desk, user: String) -> Self {
        Self { desk, user, workshop: None }
    }

    /// Has runs carried out here, where no server does.
    #[must_use]
    pub fn carried_out_by(self, workshop: Workshop) -> Self {
        Self { workshop: Some(workshop), ..self }
    }
}

impl Source for DeskSource {
    fn ask(&self, question: Question) -> Waiting<Result<Answer, String>> {
        let desk = self.desk.clone();
        Box::pin(async move { answer(&desk, question).await.map_err(|error| in_words(&error)) })
    }

    fn wish(&self, wish: Wish) -> Waiting<Result<Said, Refused>> {
        let own = self.clone();
        Box::pin(async move {
            let again = if let Wish::Retry(again) = &wish { Some(again.clone()) } else { None };
            own.fulfil(wish).await.map_err(|error| refused(&error, again))
        })
    }

    fn news(&self) -> Result<News, String> {
        let changes = self.desk.changes().map_err(|error| in_words(&error))?;
        Ok(News::Desk(Box::new(changes)))
    }
}

/// Why a wish was refused. What is in conflict with how things are now is to be looked at anew.
fn refused(error: &DeskError, again: Option<Again>) -> Refused {
    let is_conflict = error.refusal().kind == RefusalKind::Conflict;
    let anew = again.filter(|again| is_conflict && again.shown.is_some());
    // The hint names a command: here it is looked at anyway.
    let why = if anew.is_some() { error.refusal().message } else { in_words(error) };
    Refused { why, anew }
}

/// What went wrong and what to do, in one line.
fn in_words(error: &DeskError) -> String {
    let refusal = error.refusal();
    match refusal.hints.first() {
        Some(hint) => format!("{}; {hint}", refusal.message),
        None => refusal.message,
    }
}

async fn answer(desk: &Desk, question: Question) -> Result<Answer, DeskError> {
    Ok(match question {
        Question::Glance => Answer::Glance(Box::new(desk.glance().await?)),
        Question::Runs { of: RunsOf { flow: name, state }, after: cursor } => {
            let wish = ListWish { name, state, cursor, limit: RUNS, ..ListWish::default() };
            Answer::Runs(desk.list(wish).await?)
        }
        Question::Run(run) | Question::Asks { run, .. } => {
            Answer::Run(Box::new(desk.standing(&run).await?))
        }
        Question::About(run) => Answer::About(Box::new(desk.about(&run).await?)),
        Question::Attempts { run, steps } => Answer::Attempts(attempts(desk, &run, steps).await?),
        Question::Step { run, step } => Answer::Step(Box::new(known(desk, &run, &step).await?)),
        Question::Log { run, step, of: Written { attempt, stream }, from, count } => {
            let wish = LinesWish {
                step: Some(step),
                attempt,
                stream,
                from,
                count,
                bytes: LINE_BYTES,
                ..LinesWish::default()
            };
            Answer::Log(Box::new(desk.log_lines(&run, wish).await?))
        }
        Question::Find { run, step, of: Written { attempt, stream }, text } => {
            let wish = SearchWish {
                step: Some(step),
                attempt,
                stream,
                text: Some(text),
                limit: HITS,
                ..SearchWish::default()
            };
            Answer::Found(desk.found_in_log(&run, wish).await?)
        }
        Question::Line => Answer::Line(Box::new((desk.line(LINE).await?, desk.capacity().await?))),
        Question::Schedules => Answer::Schedules(desk.schedules(false).await?),
        Question::Schedule(name) => {
            let ledger = desk.ledger(&name, LedgerWish { limit: LEDGER, ..LedgerWish::default() });
            let ledger = ledger.await?;
            Answer::Schedule(Box::new((desk.upcoming(&name, NEXT).await?, ledger)))
        }
        Question::Flow(name) => Answer::Flow(Box::new(desk.flow(&name).await?)),
        Question::Source(name) => Answer::Source(Box::new(desk.source(&name).await?)),
        Question::Preview(Again { run, from, .. }) => {
            let wish = RetryWish { from, ..RetryWish::default() };
            Answer::Preview(Box::new(desk.preview(&run, wish).await?))
        }
        Question::Order(raised) => {
            let (run, wish) = wanted(raised);
            Answer::Order(Box::new(desk.preview_priority(&run, wish).await?))
        }
        Question::Backfill(name, wish) => {
            Answer::Backfill(Box::new(desk.preview_backfill(&name, wish).await?))
        }
    })
}

/// When steps were tried. A step that is not there any more holds up no other.
async fn attempts(
    desk: &Desk,
    run: &str,
    steps: Vec<String>,
) -> Result<Vec<AttemptList>, DeskError> {
    let mut told = Vec::new();
    for step in steps {
        match desk.attempts(run, &step).await {
            Ok(list) => told.push(list),
            Err(error) if error.refusal().kind == RefusalKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(told)
}

/// What is known of a step. Of the run only that is kept.
async fn known(desk: &Desk, run: &str, step: &str) -> Result<StepKnown, DeskError> {
    let result = desk.show(run).await?.steps.0.into_iter().find(|(name, _)| name == step);
    let explained = desk.explain(run, Some(step)).await?.steps.into_iter().next();
    let attempts = Some(desk.attempts(run, step).await?);
    Ok(StepKnown { result: result.map(|(_, result)| result), explained, attempts })
}

impl DeskSource {
    async fn fulfil(&self, wish: Wish) -> Result<Said, DeskError> {
        let desk = &self.desk;
        Ok(match wish {
            Wish::Pause(run) => asked(&desk.pause(&run).await?),
            Wish::Resume(run) => gone_on(&self.resume(&run).await?),
            Wish::Cancel(run) => asked(&desk.cancel(&run, CancelWish::default()).await?),
            Wish::CancelStep { run, step } => {
                let wish = CancelWish { step: Some(step), ..CancelWish::default() };
                asked(&desk.cancel(&run, wish).await?)
            }
            Wish::Retry(again) => {
                let started = self.retry(again).await?;
                begun(format!("run {} goes on with it", short_id(&started.run_id)), started)
            }
            Wish::Raise(raised) => {
                let (run, wish) = wanted(raised);
                prioritised(&desk.set_priority(&run, wish).await?)
            }
            Wish::Answer { run, step, approved, note, code } => {
                let by = self.user.clone();
                let wish = AnswerWish { version: None, approved, by, note, code };
                let answered = desk.answer(&run, &step, wish).await?;
                said(format!("{}: {}", answered.step, answered.answer))
            }
            Wish::Start(wish) => {
                let started = self.start(wish).await?;
                let run = short_id(&started.run_id);
                begun(format!("run {run} of {} has begun", started.flow), started)
            }
            Wish::PauseSchedule(name) => {
                scheduled(&desk.ask_schedule(&name, ScheduleWish::Pause).await?)
            }
            Wish::ResumeSchedule(name) => {
                scheduled(&desk.ask_schedule(&name, ScheduleWish::Resume).await?)
            }
            Wish::Fire(name) => scheduled(&desk.ask_schedule(&name, ScheduleWish::Fire).await?),
            Wish::Backfill(name, wish) => scheduled(&desk.backfill(&name, wish).await?),
        })
    }

    async fn start(&self, wish: StartWish) -> Result<StartedRun, DeskError> {
        match (self.desk.server(), &self.workshop) {
            (Some(server), _) => server.start(&wish).await,
            (None, Some(workshop)) => workshop.start(wish).await,
            (None, None) => Err(DeskError::NotHere),
        }
    }

    async fn retry(&self, Again { run, from, shown }: Again) -> Result<StartedRun, DeskError> {
        let wish = RetryWish { from, preview: shown, ..RetryWish::default() };
        match (self.desk.server(), &self.workshop) {
            (Some(server), _) => server.retry(&run, &wish).await,
            (None, Some(workshop)) => workshop.retry(&run, wish).await,
            (None, None) => Err(DeskError::NotHere),
        }
    }

    async fn resume(&self, run: &str) -> Result<GoneOn, DeskError> {
        match &self.workshop {
            Some(workshop) => workshop.resume(run).await,
            None => self.desk.go_on(run).await,
        }
    }
}

fn wanted(Raised { run, step, priority }: Raised) -> (String, PriorityWish) {
    (run, PriorityWish { version: None, step: Some(step), priority: i64::from(priority) })
}

fn prioritised(changed: &PriorityChanged) -> Said {
    let heard = if changed.heard { "" } else { ", which is not heard yet" };
    let step = changed.step.as_deref().unwrap_or_default();
    said(format!("{step}: priority {}{heard}", changed.priority))
}

fn said(text: String) -> Said {
    Said { text, run: None }
}

fn begun(text: String, started: StartedRun) -> Said {
    Said { text, run: Some(started.run_id) }
}

fn gone_on(gone_on: &GoneOn) -> Said {
    said(format!("run {} is {}", short_id(&gone_on.run_id), gone_on.state))
}

fn asked(asked: &Asked) -> Said {
    let heard = if asked.heard { "" } else { ", which is not heard yet" };
    match &asked.step {
        Some(step) => said(format!("{}: {}{heard}", name(step), asked.asked)),
        None => said(format!("run {}: {}{heard}", short_id(&asked.run_id), asked.asked)),
    }
}

fn scheduled(asked: &ScheduleAsked) -> Said {
    let firings = match asked.firings {
        Some(count) if count != 1 => format!(", {count} instants"),
        _ => String::new(),
    };
    said(format!("{}: {}{firings}", asked.schedule, asked.asked))
}

/// A page with the state of one run, as flowtoy serves it.
#[derive(Debug)]
pub struct PageSource {
    page: Arc<StatusPage>,
}

impl PageSource {
    /// A page.
    #[must_use]
    pub fn new(page: StatusPage) -> Self {
        Self { page: Arc::new(page) }
    }
}

impl Source for PageSource {
    fn ask(&self, question: Question) -> Waiting<Result<Answer, String>> {
        let page = Arc::clone(&self.page);
        Box::pin(async move {
            let answer = match question {
                Question::Run(_) => page.standing().await.map(|it| Answer::Run(Box::new(it))),
                Question::Step { step, .. } => page_step(&page, &step).await,
                _ => return Err("a status page says only how its run stands".to_owned()),
            };
            answer.map_err(|error| in_words(&error))
        })
    }

    fn wish(&self, _: Wish) -> Waiting<Result<Said, Refused>> {
        Box::pin(async { Err("a status page can only be looked at".to_owned().into()) })
    }

    fn news(&self) -> Result<News, String> {
        Ok(News::Clock)
    }
}

/// What a page says of a step.
async fn page_step(page: &StatusPage, name: &str) -> Result<Answer, DeskError> {
    let standing = page.standing().await?;
    let outputs = page.outputs(name).await.unwrap_or_default();
    let step = standing.steps.into_iter().find(|step| step.name == name);
    let result = step.map(|step| StepResult {
        state: step.state,
        reason: None,
        tolerated: false,
        attempts: step.attempt,
        element: None,
        tags: Vec::new(),
        started_at: step.started_at,
        ended_at: step.ended_at,
        code: None,
        error: step.error.filter(|_| step.state != StepState::Succeeded),
        timeout: None,
        warnings: Vec::new(),
        outputs,
    });
    Ok(Answer::Step(Box::new(StepKnown { result, ..StepKnown::default() })))
}
