//! Follows commands that other processes left for runs of this wheel.
//!
//! What they do is decided like any other command; here they are only found and passed on.

use std::sync::Arc;
use std::time::Duration;

use tidewheel_core::input::{CancelMode, Command, Rejection};

use super::shared::{Shared, Until};
use crate::store::{CommandSource, RunCommand, SentCommand};

/// How often it is looked for commands. Half of what is promised until one is seen.
const PERIOD: Duration = Duration::from_millis(50);

/// Runs until the wheel has ended.
pub(super) async fn follow_inbox(shared: Arc<Shared>, mut source: Box<dyn CommandSource>) {
    let mut completed = shared.completed.subscribe();
    loop {
        let ended = tokio::time::timeout(PERIOD, completed.wait_for(|ended| *ended)).await;
        if ended.is_ok() {
            return;
        }
        // What cannot be read now is found the next time.
        let Ok(sent) = source.take() else { continue };
        let followed: Vec<SentCommand> =
            sent.into_iter().filter(|sent| is_settled(&shared, sent)).collect();
        // What could not be acknowledged comes again to the next owner, which does no harm.
        let _ = source.acknowledge(&followed);
    }
}

/// Passes a command on. Whether nothing is left to be done about it.
fn is_settled(shared: &Arc<Shared>, sent: &SentCommand) -> bool {
    let answer = shared.command_with(
        Until::Stored,
        |state, _| {
            let run = state.engine.scheduler().find_work(sent.run);
            let run = run.ok_or(Rejection::Gone("run"))?;
            Ok(match sent.command {
                RunCommand::Cancel { grace } => {
                    Command::CancelRun { run, mode: CancelMode::Stop { grace } }
                }
                RunCommand::Pause => Command::PauseRun(run),
                RunCommand::Resume => Command::ResumeRun(run),
            })
        },
        |_, _| (),
    );
    !matches!(answer, Err(Rejection::Unavailable(_)))
}
