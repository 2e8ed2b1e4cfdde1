//! [`Desk`]: where every surface asks and wishes, wherever the runs are.
//!
//! What is done is in the files beside; here it is only brought to where it can be done without holding
//! anybody up.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use tidewheel::store::sqlite::DataFolder;

use super::error::DeskError;
use super::local::LocalDesk;
use super::reach::Reach;
use super::schedules::ScheduleWish;
use super::surface::Surface;
use crate::api::{
    AnswerWish, Answered, ArtifactList, Asked, AttemptList, BackfillWish, CancelWish, Explained,
    GoneOn, Ledger, LedgerWish, ListWish, LogList, LogWanted, LogWish, Named, OrderPreview,
    Preview, PriorityChanged, PriorityWish, RetryWish, RunList, RunResult, ScheduleAsked,
    ScheduleList, Standing, StepList, StepsWish, Upcoming,
};
use crate::remote::RemoteDesk;

/// Where questions about runs are asked, and wishes said: the same for every surface. Clones are the same desk.
///
/// What it takes and gives are documents of [`crate::api`], so that it does not matter where it stands. Its methods
/// may be awaited on any thread of a runtime: what must wait for files does so elsewhere.
#[derive(Debug, Clone)]
pub struct Desk {
    pub(super) way: Way,
}

/// How a desk is reached.
#[derive(Debug, Clone)]
pub(super) enum Way {
    /// It is that of a data folder on this machine, asked on threads that may wait.
    Here(Arc<LocalDesk>),
    /// The same, asked on the thread of whoever asks.
    Inline(Arc<LocalDesk>),
    /// It is that of a server.
    There(Arc<RemoteDesk>),
}

impl From<LocalDesk> for Desk {
    fn from(desk: LocalDesk) -> Self {
        Self { way: Way::Here(Arc::new(desk)) }
    }
}

impl From<Arc<RemoteDesk>> for Desk {
    fn from(desk: Arc<RemoteDesk>) -> Self {
        Self { way: Way::There(desk) }
    }
}

impl From<RemoteDesk> for Desk {
    fn from(desk: RemoteDesk) -> Self {
        Self { way: Way::There(Arc::new(desk)) }
    }
}

impl Desk {
    /// The desk of a data folder on this machine, at which flows are understood.
    ///
    /// # Errors
    ///
    /// When the folder cannot be read.
    pub async fn open(folder: DataFolder) -> Result<Self, DeskError> {
        blocking(|| LocalDesk::open(folder)).await?.map(Self::from)
    }

    /// A desk that answers on the thread of whoever asks: for a program that has nothing else to do meanwhile,
    /// and to which a thread is more than a question. Never for a thread that others depend on.
    #[must_use]
    pub fn inline(desk: LocalDesk) -> Self {
        Self { way: Way::Inline(Arc::new(desk)) }
    }

    /// The same desk for somebody who knows of these flows only: what is outside is not there.
    ///
    /// # Errors
    ///
    /// When it is that of a server, which alone knows what whoever asks it may know.
    pub fn within(&self, reach: &Reach) -> Result<Self, DeskError> {
        let narrowed = |desk: &LocalDesk| Arc::new(desk.within(reach.clone()));
        let way = match &self.way {
            Way::Here(desk) => Way::Here(narrowed(desk)),
            Way::Inline(desk) => Way::Inline(narrowed(desk)),
            Way::There(_) => return Err(DeskError::NotHere),
        };
        Ok(Self { way })
    }

    /// Has something done that only the machine with the data folder can do, such as to prepare a run. It may
    /// block.
    ///
    /// # Errors
    ///
    /// What it says; or that the folder is elsewhere.
    pub async fn here<T: Send + 'static>(
        &self,
        ask: impl FnOnce(&LocalDesk) -> Result<T, DeskError> + Send + 'static,
    ) -> Result<T, DeskError> {
        match &self.way {
            Way::Here(desk) => {
                let desk = Arc::clone(desk);
                blocking(move || ask(&desk)).await?
            }
            Way::Inline(desk) => ask(desk),
            Way::There(_) => Err(DeskError::NotHere),
        }
    }

    /// Whether it answers on the thread of whoever asks.
    pub(crate) fn is_inline(&self) -> bool {
        matches!(self.way, Way::Inline(_))
    }

    /// The desk of the server, if it is there.
    pub(super) fn there(&self) -> Option<&RemoteDesk> {
        match &self.way {
            Way::There(desk) => Some(desk),
            Way::Here(_) | Way::Inline(_) => None,
        }
    }

    /// Which runs there are, newest first.
    ///
    /// # Errors
    ///
    /// When the folder cannot be read.
    pub async fn list(&self, wish: ListWish) -> Result<RunList, DeskError> {
        if let Some(there) = self.there() {
            return there.list(&wish).await;
        }
        self.here(move |desk| desk.list(&wish)).await
    }

    /// What a run came to, or has come to so far, whatever its kind.
    ///
    /// # Errors
    ///
    /// When there is no such run.
    pub async fn show(&self, word: &str) -> Result<RunResult, DeskError> {
        if let Some(there) = self.there() {
            return there.show(word).await;
        }
        let word = word.to_owned();
        self.here(move |desk| desk.result(&word)).await
    }

    /// The same without its steps: what made it, what it was started with, and the files that it left.
    ///
    /// # Errors
    ///
    /// When there is no such run.
    pub async fn about(&self, word: &str) -> Result<RunResult, DeskError> {
        if let Some(there) = self.there() {
            let (steps, outputs) = (Named::default(), Named::default());
            return Ok(RunResult { steps, outputs, ..there.show(word).await? });
        }
        let word = word.to_owned();
        self.here(move |desk| desk.about(&word)).await
    }

    /// The same in the words of a surface. A server speaks to everybody as they prefer.
    ///
    /// # Errors
    ///
    /// When there is no such run.
    pub async fn show_for(&self, word: &str, at: Surface) -> Result<RunResult, DeskError> {
        if let Some(there) = self.there() {
            return there.show(word).await;
        }
        let word = word.to_owned();
        self.here(move |desk| desk.result_for(&word, at)).await
    }

    /// How a run stands, step by step, for whoever watches it.
    ///
    /// # Errors
    ///
    /// When there is no such run.
    pub async fn standing(&self, word: &str) -> Result<Standing, DeskError> {
        if let Some(there) = self.there() {
            return there.standing(word).await;
        }
        let word = word.to_owned();
        self.here(move |desk| desk.standing(&word)).await
    }

    /// The attempts at a step of a run.
    ///
    /// # Errors
    ///
    /// When there is no such run or step.
    pub async fn attempts(&self, word: &str, step: &str) -> Result<AttemptList, DeskError> {
        if let Some(there) = self.there() {
            return there.attempts(word, step).await;
        }
        let (word, step) = (word.to_owned(), step.to_owned());
        self.here(move |desk| desk.attempts(&word, &step)).await
    }

    /// Why a step of a run is where it is; else all that have not succeeded.
    ///
    /// # Errors
    ///
    /// When there is no such run or step.
    pub async fn explain(&self, word: &str, step: Option<&str>) -> Result<Explained, DeskError> {
        if let Some(there) = self.there() {
            return there.explain(word, step).await;
        }
        let (word, step) = (word.to_owned(), step.map(str::to_owned));
        self.here(move |desk| desk.explain(&word, step.as_deref())).await
    }

    /// What is kept of the output of a run's steps, as it is now.
    ///
    /// # Errors
    ///
    /// When there is no such run, step or attempt.
    pub async fn logs(&self, word: &str, wish: &LogWish) -> Result<LogList, DeskError> {
        if let Some(there) = self.there() {
            return there.logs(word, wish).await;
        }
        let (word, wish) = (word.to_owned(), wish.clone());
        self.here(move |desk| desk.logs(&word, &wish)).await
    }

    /// Some of what an attempt wrote to a stream; nothing at the end of what there is.
    ///
    /// # Errors
    ///
    /// When there can be no such run.
    pub async fn log(&self, wanted: LogWanted) -> Result<Vec<u8>, DeskError> {
        if let Some(there) = self.there() {
            return there.log(&wanted).await;
        }
        self.here(move |desk| desk.log(&wanted)).await
    }

    /// The artifacts of a run, of all of its steps or of one.
    ///
    /// # Errors
    ///
    /// When there is no such run or step.
    pub async fn artifacts(
        &self,
        word: &str,
        step: Option<&str>,
    ) -> Result<ArtifactList, DeskError> {
        if let Some(there) = self.there() {
            return there.artifacts(word, step).await;
        }
        let (word, step) = (word.to_owned(), step.map(str::to_owned));
        self.here(move |desk| desk.artifacts(&word, step.as_deref())).await
    }

    /// Copies one artifact to whatever takes it, and makes sure that it is still what it was.
    ///
    /// # Errors
    ///
    /// When there is no such artifact, several steps left one of this name, or it cannot be copied.
    pub async fn artifact(
        &self,
        word: &str,
        step: Option<&str>,
        name: &str,
        mut to: impl Write + Send + 'static,
    ) -> Result<(), DeskError> {
        if let Some(there) = self.there() {
            return there.artifact(word, step, name, &mut to).await;
        }
        let (word, step) = (word.to_owned(), step.map(str::to_owned));
        let name = name.to_owned();
        self.here(move |desk| desk.artifact(&word, step.as_deref(), &name, &mut to)).await
    }

    /// Copies all artifacts to a folder, each to `STEP/NAME`. Nothing that is there is overwritten.
    ///
    /// # Errors
    ///
    /// When one of them cannot be copied, or something is in the way.
    pub async fn copy_artifacts(
        &self,
        word: &str,
        step: Option<&str>,
        folder: &Path,
    ) -> Result<ArtifactList, DeskError> {
        if let Some(there) = self.there() {
            return there.copy_artifacts(word, step, folder).await;
        }
        let (word, step) = (word.to_owned(), step.map(str::to_owned));
        let folder = folder.to_owned();
        self.here(move |desk| desk.copy_artifacts(&word, step.as_deref(), &folder)).await
    }

    /// Starts nothing more of a run until it is resumed; what runs goes on.
    ///
    /// # Errors
    ///
    /// When there is no such run, it has ended, or nobody runs it.
    pub async fn pause(&self, word: &str) -> Result<Asked, DeskError> {
        if let Some(there) = self.there() {
            return there.pause(word).await;
        }
        let word = word.to_owned();
        self.here(move |desk| desk.pause(&word)).await
    }

    /// Goes on with a run where it runs.
    ///
    /// # Errors
    ///
    /// When there is no such run, it has ended without success, or nobody runs it.
    pub async fn go_on(&self, word: &str) -> Result<GoneOn, DeskError> {
        if let Some(there) = self.there() {
            return there.go_on(word).await;
        }
        let word = word.to_owned();
        self.here(move |desk| desk.go_on(&word)).await
    }

    /// Ends a run, or one of its steps. A run that nobody runs is ended on the spot, without its clean-up.
    ///
    /// # Errors
    ///
    /// When there is no such run or step, or it has ended.
    pub async fn cancel(&self, word: &str, wish: CancelWish) -> Result<Asked, DeskError> {
        if let Some(there) = self.there() {
            return there.cancel(word, &wish).await;
        }
        let word = word.to_owned();
        self.here(move |desk| desk.cancel(&word, &wish)).await
    }

    /// Changes the priority of a run, or of one of its steps.
    ///
    /// # Errors
    ///
    /// When there is no such run or step, it has ended, or nobody runs it.
    pub async fn set_priority(
        &self,
        word: &str,
        wish: PriorityWish,
    ) -> Result<PriorityChanged, DeskError> {
        if let Some(there) = self.there() {
            return there.set_priority(word, &wish).await;
        }
        let word = word.to_owned();
        self.here(move |desk| desk.set_priority(&word, &wish)).await
    }

    /// What the order of all that waits would be then. Nothing is changed.
    ///
    /// # Errors
    ///
    /// As for [`Desk::set_priority`], and when whoever runs the run does not answer.
    pub async fn preview_priority(
        &self,
        word: &str,
        wish: PriorityWish,
    ) -> Result<OrderPreview, DeskError> {
        if let Some(there) = self.there() {
            return there.preview_priority(word, &wish).await;
        }
        let word = word.to_owned();
        self.here(move |desk| desk.preview_priority(&word, &wish)).await
    }

    /// Answers a step that waits for approval. The first answer counts.
    ///
    /// # Errors
    ///
    /// When there is no such run or step, it asks nobody, has ended, or was answered.
    pub async fn answer(
        &self,
        word: &str,
        step: &str,
        wish: AnswerWish,
    ) -> Result<Answered, DeskError> {
        if let Some(there) = self.there() {
            return there.answer(word, step, &wish).await;
        }
        let (word, step) = (word.to_owned(), step.to_owned());
        self.here(move |desk| desk.answer(&word, &step, &wish)).await
    }

    /// The schedules that have not ended, by name, or all that are still known.
    ///
    /// # Errors
    ///
    /// When the folder cannot be read.
    pub async fn schedules(&self, ended_too: bool) -> Result<ScheduleList, DeskError> {
        if let Some(there) = self.there() {
            return there.schedules(ended_too).await;
        }
        self.here(move |desk| desk.schedules(ended_too)).await
    }

    /// The next instants of a schedule.
    ///
    /// # Errors
    ///
    /// When there is no such schedule.
    pub async fn upcoming(&self, schedule: &str, count: u32) -> Result<Upcoming, DeskError> {
        if let Some(there) = self.there() {
            return there.upcoming(schedule, count).await;
        }
        let schedule = schedule.to_owned();
        self.here(move |desk| desk.upcoming(&schedule, count)).await
    }

    /// What became of the instants of a schedule.
    ///
    /// # Errors
    ///
    /// When there never was such a schedule.
    pub async fn ledger(&self, schedule: &str, wish: LedgerWish) -> Result<Ledger, DeskError> {
        if let Some(there) = self.there() {
            return there.ledger(schedule, &wish).await;
        }
        let schedule = schedule.to_owned();
        self.here(move |desk| desk.ledger(&schedule, &wish)).await
    }

    /// Has a schedule paused, resumed or fired by whoever has it.
    ///
    /// # Errors
    ///
    /// When there is no such schedule, nobody has it, or whoever does has not followed it in time.
    pub async fn ask_schedule(
        &self,
        schedule: &str,
        wish: ScheduleWish,
    ) -> Result<ScheduleAsked, DeskError> {
        if let Some(there) = self.there() {
            return there.ask_schedule(schedule, wish).await;
        }
        let schedule = schedule.to_owned();
        self.here(move |desk| desk.ask_schedule(&schedule, wish)).await
    }

    /// Has instants of the past fired by whoever has the schedule.
    ///
    /// # Errors
    ///
    /// As for [`Desk::ask_schedule`], and when there are too many.
    pub async fn backfill(
        &self,
        schedule: &str,
        wish: BackfillWish,
    ) -> Result<ScheduleAsked, DeskError> {
        if let Some(there) = self.there() {
            return there.backfill(schedule, &wish).await;
        }
        let schedule = schedule.to_owned();
        self.here(move |desk| desk.backfill(&schedule, &wish)).await
    }

    /// The instants of the past that would fire then. Nothing is asked for.
    ///
    /// # Errors
    ///
    /// As for [`Desk::backfill`].
    pub async fn preview_backfill(
        &self,
        schedule: &str,
        wish: BackfillWish,
    ) -> Result<Upcoming, DeskError> {
        if let Some(there) = self.there() {
            return there.preview_backfill(schedule, &wish).await;
        }
        let schedule = schedule.to_owned();
        self.here(move |desk| desk.preview_backfill(&schedule, &wish)).await
    }

    /// Steps of a run, some at a time.
    ///
    /// # Errors
    ///
    /// When there is no such run, or it cannot be asked for.
    pub async fn steps(&self, word: &str, wish: StepsWish) -> Result<StepList, DeskError> {
        if let Some(there) = self.there() {
            return there.steps(word, &wish).await;
        }
        let word = word.to_owned();
        self.here(move |desk| desk.steps(&word, &wish)).await
    }

    /// What a retry would do.
    ///
    /// # Errors
    ///
    /// When there is no such run, it has not ended, or it cannot be made again so.
    pub async fn preview(&self, word: &str, wish: RetryWish) -> Result<Preview, DeskError> {
        if let Some(there) = self.there() {
            return there.preview(word, &wish).await;
        }
        let word = word.to_owned();
        self.here(move |desk| desk.preview(&word, &wish)).await
    }
}

/// Does something that waits for files on a thread for that.
pub(crate) async fn blocking<T: Send + 'static>(
    what: impl FnOnce() -> T + Send + 'static,
) -> Result<T, DeskError> {
    let done = tokio::task::spawn_blocking(what).await;
    done.map_err(|error| match error.try_into_panic() {
        Ok(panic) => std::panic::resume_unwind(panic),
        Err(error) => DeskError::System(error.into()),
    })
}
