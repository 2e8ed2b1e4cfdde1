//! What flows need of a session: what they say is heard, answers that are read, results that are recalled.
//!
//! How a flow is run is in `tidewheel-flow`.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use tidewheel::id::{AttemptId, TaskId};
use tidewheel::store::sqlite::{DataFolder, Reader};
use tidewheel::store::{Answer, AttemptRecord, RecordedOutcome};
use tidewheel::task::{BoxError, Reason};
use tidewheel::{RunId, TaskState};
use tidewheel_flow::{
    Answers, Means, Progress, Recalled, RecalledTask, Trace, World, remove_containers,
};

use crate::desk::LocalDesk;
use crate::progress::{Said, Sayings};

/// Where it is noted which containers may be there.
const CONTAINERS: &str = "containers";

/// Ends what is left of attempts that were under way when their owner died: processes, then containers.
pub(super) fn end_left(
    mut end_processes: impl FnMut(&[AttemptId]) -> Result<(), BoxError> + Send + 'static,
    folder: &DataFolder,
) -> impl FnMut(&[AttemptId]) -> Result<(), BoxError> + Send + 'static {
    let containers = folder.path().join(CONTAINERS);
    move |attempts| {
        end_processes(attempts)?;
        Ok(remove_containers(&containers, attempts)?)
    }
}

pub(super) fn means(folder: &DataFolder, sayings: &Arc<Sayings>, world: Arc<dyn World>) -> Means {
    let told = Arc::clone(sayings);
    Means::new(world)
        .told(move |task, progress| match progress {
            Progress::Began { attempt } => told.begin(task, attempt),
            Progress::Command(command) => told.say(task, Said::Command(command.to_owned())),
            Progress::Left(record) => {
                let left = AttemptRecord { outputs: Vec::new(), ..record.clone() };
                told.say(task, Said::Left(Box::new(left)));
            }
        })
        .variable("TIDEWHEEL_DATA", whole_path(folder.path()))
        .variable("TIDEWHEEL_BIN", std::env::current_exe().unwrap_or_default())
        .cache(folder.path().join("cache"))
        .containers(folder.path().join(CONTAINERS))
        .runs(whole_path(&folder.runs_dir()))
        .answers(Arc::new(StoredAnswers { folder: folder.clone(), reader: Mutex::default() }))
}

/// The path of a data folder for processes that run elsewhere.
fn whole_path(folder: &Path) -> PathBuf {
    std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned())
}

/// What people said, as others left it in the data folder.
struct StoredAnswers {
    folder: DataFolder,
    /// Opened when the first task asks: few flows ask anybody.
    reader: Mutex<Option<Reader>>,
}

impl Answers for StoredAnswers {
    fn answer(&self, task: TaskId) -> Option<Answer> {
        let mut reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
        // What cannot be read now is read at the next look.
        if reader.is_none() {
            *reader = self.folder.reader().ok();
        }
        reader.as_ref()?.answer(task).ok().flatten()
    }
}

/// What tasks that have succeeded left, and rounds of those that are done again, from the store.
pub(super) fn recall(
    folder: &DataFolder,
) -> impl Fn(RunId) -> Result<Recalled, BoxError> + Send + Sync + use<> {
    let folder = folder.clone();
    move |run| {
        // A run that nobody has stored has left nothing.
        let Some(view) = LocalDesk::open(folder.clone())?.show_run(run)? else {
            return Ok(Vec::new());
        };
        let mut recalled = Vec::new();
        for task in &view.detail.tasks {
            let newest = view.results.get(&task.index).and_then(|it| it.newest.as_ref());
            // The newest attempt may have been lost, or have failed, in the middle of a round.
            let may_have_rounds = newest.is_some_and(was_round) || task.attempts > 1;
            let rounds = match may_have_rounds {
                true => rounds_of(&folder, TaskId { run, index: task.index })?,
                false => 0,
            };
            if !task.state.is_terminal() && rounds == 0 {
                continue;
            }
            let is_done = task.state == TaskState::Succeeded;
            let code = newest.and_then(|newest| newest.code);
            recalled.push(RecalledTask {
                name: task.name.clone(),
                outputs: is_done.then(|| view.outputs_of(task.index)),
                trace: Trace::of(task.started_at, task.at, code).with_rounds(rounds),
            });
        }
        Ok(recalled)
    }
}

/// Whether an attempt was a round of a step that is done again.
fn was_round(record: &AttemptRecord) -> bool {
    record.outcome == Some(RecordedOutcome::Again(Reason::Postponed))
}

/// How many rounds a step has had that is done again.
fn rounds_of(folder: &DataFolder, task: TaskId) -> Result<u32, BoxError> {
    let rounds = folder.reader()?.attempts(task)?.iter().filter(|it| was_round(it)).count();
    Ok(u32::try_from(rounds).unwrap_or(u32::MAX))
}
