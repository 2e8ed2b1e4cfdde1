//! What the order would be if a priority were another, asked of a wheel before it is changed.
//!
//! The scheduler is played ahead twice, without the lock. Changing the priority is on the handles of runs and tasks.

use tidewheel_core::Preview;
use tidewheel_core::id::RunKey;
use tidewheel_core::input::Rejection;
use tidewheel_core::policy::Priority;

use crate::driver::{Shared, State};

impl Shared {
    /// The order that a priority would lead to, at most so many tasks of it. It takes its time, though none of the wheel's.
    pub(crate) fn preview(
        &self,
        find: impl FnOnce(&State) -> Option<RunKey>,
        task: Option<u32>,
        priority: Priority,
        max: usize,
    ) -> Result<Preview, Rejection> {
        let now = self.clock.now();
        let (run, forecast) = {
            let state = self.lock();
            let run = find(&state).ok_or(Rejection::Gone("run"))?;
            (run, state.engine.scheduler().forecast(now))
        };
        let too_much = || Rejection::Invalid("there is too much work to look ahead".into());
        forecast.ok_or_else(too_much)?.preview(run, task, priority, max)
    }
}
