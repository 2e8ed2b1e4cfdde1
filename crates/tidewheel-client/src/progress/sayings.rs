//! What tasks say of themselves while they run, on its way to whoever follows their run.
//!
//! How a run goes is told by notices; these are only what the scheduler does not know. Nobody is woken by them: a
//! notice comes before or after each, and whoever follows the run listens then. A wake-up a saying cost short steps
//! as many changes of thread as everything else.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tidewheel::clock::wall_clock;
use tidewheel::id::TaskId;
use tidewheel::store::AttemptRecord;
use tidewheel::{RunId, Timestamp};

/// What is kept of runs that nobody follows yet. Whoever starts a run follows it at once, or never.
const UNHEARD_MAX: usize = 10_000;

/// Commands kept for whoever follows a run. They may not look for long.
const COMMANDS_MAX: usize = 10_000;

/// Something that a task said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Said {
    /// Its attempt of this number was admitted. Said only of runs that were taken over: the
    /// notice may have come before anybody listened.
    Admitted(u32),
    /// Its attempt of this number has something to do, since then.
    Began(u32, Timestamp),
    /// It starts this command.
    Command(String),
    /// An attempt ended, and left this, without its outputs.
    Left(Box<AttemptRecord>),
}

/// What was said and not heard yet.
#[derive(Debug, Default)]
pub struct Sayings {
    said: Mutex<Unheard>,
}

#[derive(Debug, Default)]
struct Unheard {
    followed: HashMap<RunId, Queue>,
    /// Of runs that nobody follows, the oldest first.
    others: VecDeque<(TaskId, Said)>,
}

#[derive(Debug, Default)]
struct Queue {
    said: Vec<(TaskId, Said)>,
    /// The same one as its listener has.
    mark: Arc<()>,
}

impl Sayings {
    /// A task says something of itself.
    pub fn say(&self, task: TaskId, said: Said) {
        let mut unheard = self.unheard();
        if let Some(queue) = unheard.followed.get_mut(&task.run) {
            if matches!(said, Said::Command(_)) && queue.said.len() >= COMMANDS_MAX {
                return;
            }
            queue.said.push((task, said));
            return;
        }
        if unheard.others.len() == UNHEARD_MAX {
            unheard.others.pop_front();
        }
        unheard.others.push_back((task, said));
    }

    /// An attempt of a run that was taken over was admitted.
    pub fn admit(&self, task: TaskId, attempt: u32) {
        self.say(task, Said::Admitted(attempt));
    }

    /// An attempt has something to do.
    pub fn begin(&self, task: TaskId, attempt: u32) {
        self.say(task, Said::Began(attempt, wall_clock()));
    }

    /// Listens to the tasks of a run, also to what they have said so far. One listener a run.
    #[must_use]
    pub fn listen(self: &Arc<Self>, run: RunId) -> Listener {
        let mut unheard = self.unheard();
        let (own, others) = unheard.others.drain(..).partition(|(task, _)| task.run == run);
        unheard.others = others;
        let (said, mark): (VecDeque<_>, _) = (own, Arc::default());
        let queue = Queue { said: said.into(), mark: Arc::clone(&mark) };
        unheard.followed.insert(run, queue);
        Listener { sayings: Arc::clone(self), run, mark }
    }

    fn unheard(&self) -> MutexGuard<'_, Unheard> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Who hears what the tasks of a run say. When it is gone, nothing more of it is kept.
#[derive(Debug)]
pub struct Listener {
    sayings: Arc<Sayings>,
    run: RunId,
    mark: Arc<()>,
}

impl Listener {
    /// What was said since the last time, the oldest first.
    #[must_use]
    pub fn hear(&self) -> Vec<(TaskId, Said)> {
        let mut unheard = self.sayings.unheard();
        unheard
            .followed
            .get_mut(&self.run)
            .map(|it| std::mem::take(&mut it.said))
            .unwrap_or_default()
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let mut unheard = self.sayings.unheard();
        // Somebody else may follow the run by now.
        let is_ours = |queue: &Queue| Arc::ptr_eq(&queue.mark, &self.mark);
        if unheard.followed.get(&self.run).is_some_and(is_ours) {
            unheard.followed.remove(&self.run);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(run: u128, index: u32) -> TaskId {
        TaskId { run: RunId(run), index }
    }

    fn began(attempt: u32) -> Said {
        Said::Began(attempt, Timestamp::UNIX_EPOCH)
    }

    fn words(heard: Vec<(TaskId, Said)>) -> Vec<(u32, Said)> {
        heard.into_iter().map(|(task, said)| (task.index, said)).collect()
    }

    #[test]
    fn each_listener_hears_its_own_run_from_the_beginning() {
        let sayings = Arc::new(Sayings::default());
        sayings.say(task(1, 0), began(1));
        sayings.say(task(2, 0), began(7));
        let (first, second) = (sayings.listen(RunId(1)), sayings.listen(RunId(2)));
        sayings.say(task(1, 3), Said::Command("make".to_owned()));
        let made = (3, Said::Command("make".to_owned()));
        assert_eq!(words(first.hear()), [(0, began(1)), made]);
        assert_eq!(words(second.hear()), [(0, began(7))]);
        assert_eq!(first.hear(), []);
    }

    #[test]
    fn what_nobody_hears_is_not_kept_for_ever() {
        let sayings = Arc::new(Sayings::default());
        for attempt in 0..=UNHEARD_MAX as u32 {
            sayings.say(task(1, 0), began(attempt));
        }
        let listener = sayings.listen(RunId(1));
        let heard = listener.hear();
        assert_eq!((heard.len(), &heard[0].1), (UNHEARD_MAX, &began(1)));
        for _ in 0..COMMANDS_MAX + 5 {
            sayings.say(task(1, 0), Said::Command("flood".to_owned()));
        }
        // What steps do is never passed over, whatever they print.
        sayings.say(task(1, 0), began(2));
        assert_eq!(listener.hear().len(), COMMANDS_MAX + 1);
        drop(listener);
        assert!(sayings.unheard().followed.is_empty());
    }
}
