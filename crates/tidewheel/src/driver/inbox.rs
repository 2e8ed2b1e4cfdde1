//! Follows commands that other processes left for runs of this wheel.
//!
//! What they do is decided like any other command; here they are only found and passed on. Questions that
//! come the same way are answered in `questions`.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use tidewheel_core::id::{ScheduleId, TaskKey};
use tidewheel_core::input::{CancelMode, Command, Rejection};
use tidewheel_core::schedule::Overlap;
use tokio::sync::{Notify, mpsc, watch};

use super::questions::{Answered, QuestionKind, answer_questions};
use super::shared::{Shared, Until};
use super::state::State;
use crate::store::{CommandSource, RunCommand, ScheduleCommand, SentCommand};

/// How often it is looked for commands where nobody says that there are any. Half of what is promised until one is seen.
const PERIOD: Duration = Duration::from_millis(50);

/// How often it is looked where somebody does.
const SELDOM: Duration = Duration::from_secs(1);

/// Firings of the past that may wait for each other.
const BACKFILL_MAX: u32 = 10_000;

/// Runs until the wheel has ended.
///
/// The store is asked, and waited for, on threads made for blocking; questions are thought about beside
/// that, so that no command waits for an answer to somebody else.
pub(super) async fn follow_inbox(shared: Arc<Shared>, source: Box<dyn CommandSource>) {
    let mut completed = shared.completed.subscribe();
    let (asked, questions) = mpsc::unbounded_channel();
    let (answered, answers) = mpsc::unbounded_channel();
    let bell = Arc::new(Notify::new());
    let thinking = answer_questions(Arc::clone(&shared), questions, answered, Arc::clone(&bell));
    shared.runtime.spawn(thinking);
    let mut inbox = Inbox { source, pending: Pending::default(), asked, answers, hears: None };
    loop {
        if has_ended(&mut completed, &bell, inbox.pause()).await {
            return;
        }
        let (shared, bell) = (Arc::clone(&shared), Arc::clone(&bell));
        let looking = shared.runtime.clone().spawn_blocking(move || {
            inbox.listen(bell);
            inbox.look(&shared);
            inbox
        });
        // Without it the runtime is ending, or the source is broken: nobody can be heard any more.
        inbox = match looking.await {
            Ok(inbox) => inbox,
            Err(_) => return,
        };
    }
}

/// Waits until it is time to look, or the wheel has ended; whether it was that.
async fn has_ended(
    completed: &mut watch::Receiver<bool>,
    bell: &Notify,
    at_most: Duration,
) -> bool {
    let mut ended = pin!(completed.wait_for(|ended| *ended));
    let mut rung = pin!(bell.notified());
    let either = poll_fn(|context| {
        if ended.as_mut().poll(context).is_ready() {
            return Poll::Ready(true);
        }
        rung.as_mut().poll(context).map(|()| false)
    });
    tokio::time::timeout(at_most, either).await.unwrap_or(false)
}

struct Inbox {
    source: Box<dyn CommandSource>,
    pending: Pending,
    /// To whoever thinks about questions, and back.
    asked: mpsc::UnboundedSender<QuestionKind>,
    answers: mpsc::UnboundedReceiver<Answered>,
    /// Whether it is told when something may have come; nobody has asked for that before the first look, since many
    /// wheels have ended by then.
    hears: Option<bool>,
}

impl Inbox {
    /// How long nobody looks, unless somebody rings.
    fn pause(&self) -> Duration {
        match self.hears == Some(true) && self.pending.is_empty() {
            true => SELDOM,
            false => PERIOD,
        }
    }

    fn listen(&mut self, bell: Arc<Notify>) {
        if self.hears.is_none() {
            self.hears = Some(self.source.listen(Box::new(move || bell.notify_one())));
        }
    }

    /// Takes in what has arrived, and sends off what is to be answered.
    fn look(&mut self, shared: &Arc<Shared>) {
        // What cannot be read now is found the next time.
        self.pending.unsettled.extend(self.source.take().unwrap_or_default());
        let Self { source, pending, .. } = self;
        pending.offer(|sent| match pass_on(shared, sent) {
            // Somebody has put it into the store, and memory is to be restored from there.
            Err(Rejection::Gone(_)) if source.has(sent.run).unwrap_or(true) => {
                Err(shared.take_in_soon())
            }
            answer => answer,
        });
        // Together with what could not be acknowledged before: otherwise the next owner might find
        // an early command without the later one that undoes it.
        if self.source.acknowledge(&self.pending.settled).is_ok() {
            self.pending.settled.clear();
        }
        // What cannot be read or written now is asked again, or given up by whoever asked.
        for question in self.source.questions().unwrap_or_default() {
            let _ = self.asked.send(QuestionKind::Why(question));
        }
        for question in self.source.what_ifs().unwrap_or_default() {
            let _ = self.asked.send(QuestionKind::WhatIf(question));
        }
        while let Ok(answered) = self.answers.try_recv() {
            let _ = match answered {
                Answered::Why(question, answer) => self.source.answer(question, &answer),
                Answered::WhatIf(question, answer) => self.source.answer_what_if(question, &answer),
            };
        }
    }
}

/// Commands that are still to be done something about. Nothing is acknowledged that the scheduler
/// has not taken in: whatever is left when the wheel ends is for the next owner.
#[derive(Debug, Default)]
struct Pending {
    /// To be offered to the scheduler, oldest first.
    unsettled: Vec<SentCommand>,
    /// To be acknowledged.
    settled: Vec<SentCommand>,
}

impl Pending {
    fn is_empty(&self) -> bool {
        self.unsettled.is_empty() && self.settled.is_empty()
    }

    /// Offers commands to the scheduler. One that is not taken now is offered again, and so are
    /// those for the same run that came after it: a resume must not overtake the pause it undoes.
    /// Only a cancel is for all times, and makes what came before it pointless.
    fn offer(&mut self, mut take: impl FnMut(&SentCommand) -> Result<(), Rejection>) {
        let mut left: Vec<SentCommand> = Vec::new();
        for sent in self.unsettled.drain(..) {
            let is_cancel = matches!(
                sent.command,
                RunCommand::Drain
                    | RunCommand::Cancel { .. }
                    | RunCommand::End { .. }
                    | RunCommand::Replace { .. }
            );
            let is_early = |earlier: &SentCommand| earlier.run == sent.run;
            if !is_cancel && left.iter().any(is_early) {
                left.push(sent);
                continue;
            }
            match take(&sent) {
                Err(Rejection::Unavailable(_) | Rejection::ShuttingDown) => left.push(sent),
                // Refused for other reasons it would be refused again.
                Ok(()) | Err(_) => {
                    self.settled.extend(left.extract_if(.., |earlier| is_early(earlier)));
                    self.settled.push(sent);
                }
            }
        }
        self.unsettled = left;
    }
}

/// Passes a command on, and waits until what came of it is stored.
fn pass_on(shared: &Arc<Shared>, sent: &SentCommand) -> Result<(), Rejection> {
    let reply = shared.command_with(
        Until::Stored,
        |state, _| {
            if let RunCommand::OfSchedule(command) = sent.command {
                return schedule_command(state, ScheduleId(sent.run.0), command);
            }
            let run = match state.engine.scheduler().find_work(sent.run) {
                Some(run) => run,
                None if state.engine.holds(sent.run) => {
                    return Err(Rejection::Unavailable("nobody here understands it".into()));
                }
                None if state.has_stored_all() => return Err(Rejection::Gone("run")),
                // Should we die before its end is stored, the command is for the next owner.
                None => return Err(Rejection::Unavailable("its end is not stored yet".into())),
            };
            Ok(match sent.command {
                RunCommand::Drain => Command::CancelRun { run, mode: CancelMode::Drain },
                RunCommand::Cancel { grace } => {
                    Command::CancelRun { run, mode: CancelMode::Stop { grace } }
                }
                RunCommand::End { grace } => {
                    Command::CancelRun { run, mode: CancelMode::End { grace } }
                }
                RunCommand::CancelTask { task, grace } => Command::CancelTask {
                    task: TaskKey { run, index: task },
                    mode: CancelMode::Stop { grace },
                },
                RunCommand::Replace { grace } => {
                    Command::ReplaceRun { run, mode: CancelMode::Stop { grace } }
                }
                RunCommand::Pause => Command::PauseRun(run),
                RunCommand::Resume => Command::ResumeRun(run),
                RunCommand::SetPriority { task, priority } => {
                    Command::SetPriority { run, task, priority }
                }
                RunCommand::OfSchedule(_) => return Err(Rejection::Gone("schedule")),
            })
        },
        |_, _, _| (),
    );
    reply.map(drop)
}

/// What is to be done with a schedule.
fn schedule_command(
    state: &State,
    id: ScheduleId,
    command: ScheduleCommand,
) -> Result<Command, Rejection> {
    let mut schedules = state.engine.scheduler().schedules();
    let found = schedules.find(|(_, known)| *known == id);
    let (schedule, _) = found.ok_or(Rejection::Gone("schedule"))?;
    Ok(match command {
        ScheduleCommand::Pause => Command::PauseSchedule(schedule),
        ScheduleCommand::Resume => Command::ResumeSchedule(schedule),
        ScheduleCommand::FireNow { asked_for } => {
            let counters = state.engine.scheduler().schedule_counters(schedule);
            if counters.is_some_and(|counters| counters.asked_for > asked_for) {
                return Err(Rejection::Invalid("it was asked for before".into()));
            }
            Command::FireNow { schedule, overlap: None }
        }
        ScheduleCommand::Backfill { nominal, asked_for, at_once } => {
            let overlap = Some(match at_once {
                true => Overlap::Allow,
                false => Overlap::QueueAll { max: BACKFILL_MAX },
            });
            let (instants, asked_for) = (vec![nominal], Some(asked_for));
            Command::Backfill { schedule, instants, overlap, asked_for }
        }
    })
}

#[cfg(test)]
mod tests {
    use tidewheel_core::id::RunId;

    use super::*;

    const CANCEL: RunCommand = RunCommand::Cancel { grace: Duration::ZERO };

    fn sent(id: i64, run: u128, command: RunCommand) -> SentCommand {
        SentCommand { id, run: RunId(run), command }
    }

    fn unavailable() -> Rejection {
        Rejection::Unavailable("the disk is full".into())
    }

    /// Offers once; gives the ids that were offered, left and settled.
    fn offer(
        pending: &mut Pending,
        answer: impl Fn(i64) -> Result<(), Rejection>,
    ) -> [Vec<i64>; 3] {
        let mut offered = Vec::new();
        pending.offer(|sent| {
            offered.push(sent.id);
            answer(sent.id)
        });
        let ids = |list: &[SentCommand]| list.iter().map(|sent| sent.id).collect();
        [offered, ids(&pending.unsettled), ids(&pending.settled)]
    }

    #[test]
    fn what_the_scheduler_did_not_take_in_is_offered_again_and_not_acknowledged() {
        let unsettled = vec![sent(1, 7, CANCEL), sent(2, 8, CANCEL), sent(3, 9, CANCEL)];
        let mut pending = Pending { unsettled, settled: Vec::new() };
        let seen = offer(&mut pending, |id| match id {
            1 => Err(unavailable()),
            2 => Err(Rejection::ShuttingDown),
            _ => Err(Rejection::Gone("run")),
        });
        assert_eq!(seen, [vec![1, 2, 3], vec![1, 2], vec![3]]);
        assert_eq!(offer(&mut pending, |_| Ok(())), [vec![1, 2], vec![], vec![3, 1, 2]]);
    }

    #[test]
    fn commands_for_a_run_keep_their_order_and_only_a_cancel_overtakes() {
        let (pause, resume) = (RunCommand::Pause, RunCommand::Resume);
        let unsettled = vec![sent(1, 7, pause), sent(2, 7, resume), sent(3, 8, resume)];
        let mut pending = Pending { unsettled, settled: Vec::new() };
        let seen = offer(&mut pending, |id| if id == 1 { Err(unavailable()) } else { Ok(()) });
        assert_eq!(seen, [vec![1, 3], vec![1, 2], vec![3]]);
        pending.unsettled.push(sent(4, 7, CANCEL));
        let draining = |id| if id == 1 { Err(Rejection::ShuttingDown) } else { Ok(()) };
        assert_eq!(offer(&mut pending, draining), [vec![1, 4], vec![], vec![3, 1, 2, 4]]);
    }
}
