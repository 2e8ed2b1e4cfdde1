//! [`Extremes`]: numbers at the ends of what their types can hold, in some worlds.
//!
//! They have chance of their own, so that the other worlds stay as they are. Nothing here may keep work
//! from ending: a delay without end would.

use std::sync::Arc;
use std::time::Duration;

use tidewheel_core::policy::Priority;
use tidewheel_core::schedule::ScheduleSpec;
use tidewheel_core::spec::{Addition, LimitSpec, Profile, RunSpec};
use tidewheel_core::time::{Now, Timestamp};

use crate::coverage::Coverage;
use crate::random::Random;
use crate::world::World;

/// A limit of as many units as there can be.
pub const VAST: &str = "vast";
/// So many profiles that nobody uses are more than a scheduler keeps.
const PROFILES: u64 = 1_100;

/// Chance of its own for what is extreme.
#[derive(Debug)]
pub struct Extremes {
    random: Random,
    is_on: bool,
    /// The wall clock goes to an end of time once at most: what comes back is another world's business.
    has_jumped: bool,
}

impl Extremes {
    /// Those of a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let mut random = Random::new(!seed);
        let is_on = random.percent(25);
        Self { random, is_on, has_jumped: false }
    }

    /// The limit that only such worlds have.
    #[must_use]
    pub fn limit(&self) -> Option<(Arc<str>, LimitSpec)> {
        self.is_on.then(|| (VAST.into(), LimitSpec::Units(u32::MAX)))
    }

    /// Gives a profile some numbers that hardly fit.
    pub fn exaggerate(&mut self, profile: &mut Profile, coverage: &mut Coverage) {
        if !self.is_on || self.random.percent(40) {
            return;
        }
        let random = &mut self.random;
        if random.percent(40) {
            let units = [1, 1 << 31, (1 << 31) + 1, u32::MAX - 1, u32::MAX];
            profile.limits.push((VAST.into(), *random.pick(&units)));
        }
        if random.percent(30) {
            coverage.hit("extreme: priority");
            let ends = [i64::MIN, i64::MAX, -1, 101, i64::from(i32::MIN), i64::from(u32::MAX)];
            profile.priority = Priority::new(*random.pick(&ends));
        }
        if random.percent(30) {
            coverage.hit("extreme: time without end");
            let [attempt, task] = [random.percent(50), random.percent(50)];
            profile.attempt_timeout = attempt.then_some(Duration::MAX);
            profile.task_timeout = task.then_some(Duration::from_nanos(u64::MAX));
        }
        if random.percent(8) {
            coverage.hit("extreme: time of a nanosecond");
            profile.attempt_timeout = Some(Duration::from_nanos(1));
            profile.start_delay = Duration::from_nanos(1);
        }
        // Without time to succeed in, it would try for ever.
        let has_time = profile.attempt_timeout != Some(Duration::from_nanos(1));
        if random.percent(15) && has_time {
            coverage.hit("extreme: retries");
            profile.retry.retries = u32::MAX;
            // Each wait is still bounded by the cap.
            profile.retry.backoff.base = Duration::MAX;
        }
    }

    /// The same for all of a run.
    pub fn exaggerate_run(&mut self, spec: &mut RunSpec, coverage: &mut Coverage) {
        if !self.is_on {
            return;
        }
        for profile in &mut spec.profiles {
            self.exaggerate(Arc::make_mut(profile), coverage);
        }
        if self.random.percent(10) {
            coverage.hit("extreme: deadline");
            for deadline in spec.deadlines.values_mut() {
                *deadline = Duration::MAX;
            }
            spec.options.timeout = Some(Duration::MAX);
        }
    }

    /// The same for tasks that are added.
    pub fn exaggerate_addition(&mut self, addition: &mut Addition, coverage: &mut Coverage) {
        if !self.is_on {
            return;
        }
        for task in &mut addition.tasks {
            self.exaggerate(Arc::make_mut(&mut task.profile), coverage);
            if task.deadline.is_some() && self.random.percent(30) {
                task.deadline = Some(Duration::MAX);
            }
            if task.estimate.is_some() && self.random.percent(30) {
                task.estimate = Some(Duration::MAX);
            }
        }
    }

    /// The same for a schedule.
    pub fn exaggerate_schedule(&mut self, spec: &mut ScheduleSpec, coverage: &mut Coverage) {
        if !self.is_on || self.random.percent(60) {
            return;
        }
        coverage.hit("extreme: schedule");
        match self.random.below(3) {
            0 => spec.misfire_grace = Duration::MAX,
            1 => spec.max_firings = spec.max_firings.or(Some(u64::MAX)),
            _ => {
                if let Some(backoff) = &mut spec.backoff {
                    backoff.backoff.base = Duration::MAX;
                }
            }
        }
    }

    /// A wall clock that somebody set to where no clock should be.
    pub fn jump(&mut self, now: &mut Now, coverage: &mut Coverage) -> bool {
        if !self.is_on || self.has_jumped || !self.random.percent(15) {
            return false;
        }
        self.has_jumped = true;
        const YEAR: Duration = Duration::from_secs(365 * 86_400);
        now.wall = match self.random.below(6) {
            0 => {
                coverage.hit("fault: clock to the end of time");
                Timestamp::UNIX_EPOCH.after(Duration::MAX)
            }
            1 => {
                coverage.hit("fault: clock to the beginning of time");
                Timestamp::UNIX_EPOCH.before(Duration::MAX)
            }
            2 => Timestamp::UNIX_EPOCH,
            3 => now.wall.before(100 * YEAR),
            _ => {
                coverage.hit("fault: clock centuries ahead");
                now.wall.after(200 * YEAR)
            }
        };
        true
    }
}

impl World {
    /// Somebody asks for option sets that never come again, so that numbers of profiles are given out
    /// again while work goes on.
    pub(crate) fn change_options(&mut self) {
        let Some(engine) = self.engine.as_mut().filter(|_| self.extremes.is_on) else { return };
        if !self.extremes.random.percent(4) {
            return;
        }
        let mut newest = None;
        for _ in 0..PROFILES {
            let left = Duration::from_nanos(1 + self.extremes.random.below(u64::MAX));
            let profile = Profile { attempt_timeout: Some(left), ..Profile::default() };
            let Ok(id) = engine.scheduler_mut().profile(&profile) else { return };
            if newest.is_some_and(|newest| id < newest) {
                self.coverage.hit("profiles: a number was given out again");
            }
            newest = newest.max(Some(id));
        }
        engine.scheduler().check();
    }
}
