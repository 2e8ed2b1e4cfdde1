//! [`Tried`]: when a step was tried, told attempt by attempt.
//!
//! How that is drawn is in [`crate::view`]; how a run stands, of which only the newest attempts are told, in [`super::Watched`].

use std::time::Duration;

use tidewheel::Timestamp;
use tidewheel_client::api::{AttemptList, StepState};
use tidewheel_client::desk::attempt_state;

use super::watched::Watched;
use crate::run::{Status, Step, Tone};

/// Rows above and below the selected one whose attempts are asked for: more than any terminal has.
const AROUND: usize = 100;

/// Steps whose attempts are asked for at once.
const AT_ONCE: usize = 20;

/// When a step was tried, as far as that has ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tried {
    /// The attempts that had ended, each with its number, the oldest first.
    pub attempts: Vec<(u32, Stretch)>,
    /// How the step stood when it was asked.
    state: (u32, bool),
}

/// A stretch of time in which a step was tried, since the run was accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stretch {
    /// When it began.
    pub began: Duration,
    /// When it ended, or how late it is.
    pub ended: Duration,
    /// How it went.
    pub tone: Tone,
}

/// What has to be asked again when it becomes another one.
fn state(step: &Step) -> (u32, bool) {
    (step.attempt, matches!(step.status, Status::Running { .. }))
}

impl Watched {
    /// The names of steps around the selected one that were tried several times, or will be, which has not been told yet.
    #[must_use]
    pub fn untold(&self) -> Vec<String> {
        if self.shown != super::Shown::Time {
            return Vec::new();
        }
        let shown = self.shown();
        let cursor = self.list.cursor.min(shown.len().saturating_sub(1));
        let first = cursor.saturating_sub(AROUND);
        let near = shown.iter().skip(first).take(cursor - first + AROUND);
        let untold = near.filter(|place| {
            let step = &self.model.steps[**place];
            let told = self.tried.get(*place).map(|tried| tried.state);
            let is_waiting = matches!(step.status, Status::Delayed { .. });
            (step.attempt > 1 || is_waiting) && told != Some(state(step))
        });
        untold.take(AT_ONCE).map(|place| self.names[*place].to_string()).collect()
    }

    /// Takes in when these steps were tried. Of what nobody could tell, no more is asked until it stands otherwise.
    pub fn take_in(&mut self, asked: &[String], told: &[AttemptList]) {
        let Some(since) = self.since else { return };
        for (place, name) in self.names.iter().enumerate() {
            if !asked.iter().any(|asked| **asked == **name) {
                continue;
            }
            let of_it = told.iter().filter(|list| *list.step == **name);
            let attempts = of_it.flat_map(|list| &list.attempts).filter_map(|it| {
                let at = |instant: Timestamp| instant.since(since);
                let tone = Tone::of(it.outcome.as_deref().map_or(StepState::Failed, attempt_state));
                let (began, ended) = (at(it.started_at?), at(it.ended_at?));
                Some((it.attempt, Stretch { began, ended, tone }))
            });
            let state = state(&self.model.steps[place]);
            self.tried.insert(place, Tried { attempts: attempts.collect(), state });
        }
    }

    /// When a step was tried, the oldest first: all of it as one, while nothing more is known. The newest attempt has the
    /// tone of the step.
    #[must_use]
    pub fn stretches(&self, place: usize, now: Duration, tone: Tone) -> Vec<Stretch> {
        let step = &self.model.steps[place];
        let Some(began) = step.began else { return Vec::new() };
        let whole = Stretch { began, ended: step.ended.unwrap_or(now).max(began), tone };
        let Some(tried) = self.tried.get(&place).filter(|it| !it.attempts.is_empty()) else {
            return vec![whole];
        };
        let newest = |number: u32| number >= step.attempt;
        let before = tried.attempts.iter().filter(|(number, _)| !newest(*number));
        let mut all: Vec<Stretch> = before.map(|(_, stretch)| *stretch).collect();
        let told = tried.attempts.iter().find(|(number, _)| newest(*number));
        all.extend(match (step.status, told) {
            (Status::Running { since }, _) => Some(Stretch { began: since, ..whole }),
            (Status::Ended(_), Some((_, told))) => Some(Stretch { tone, ..*told }),
            (Status::Ended(_), None) => {
                let began = whole.ended.saturating_sub(step.took.unwrap_or_default());
                Some(Stretch { began, ..whole })
            }
            (_, told) => told.map(|(_, stretch)| *stretch),
        });
        all
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test")]

    use tidewheel_client::api::{AttemptLine, StepStanding};

    use super::*;
    use crate::model::Shown;
    use crate::samples::{NOW, standing};

    fn line(attempt: u32, from: u64, to: u64, outcome: &str) -> AttemptLine {
        let ago = |seconds| Some(NOW.before(Duration::from_secs(seconds)));
        AttemptLine {
            attempt,
            outcome: Some(outcome.to_owned()),
            started_at: ago(from),
            ended_at: ago(to),
            code: None,
            signal: None,
            error: None,
        }
    }

    /// A run in which the step `test` is tried for the third time.
    fn watched() -> Watched {
        let mut standing = standing();
        let since = Some(NOW.before(Duration::from_secs(10)));
        let third = StepStanding { attempt: 3, started_at: since, ..standing.steps[2].clone() };
        standing.steps[2] = third;
        let mut watched = Watched::new(&standing.run_id);
        watched.shown = Shown::Time;
        watched.look(&standing, NOW);
        watched
    }

    fn told() -> AttemptList {
        AttemptList {
            version: None,
            run_id: String::new(),
            step: "test".to_owned(),
            attempts: vec![line(1, 40, 35, "failed"), line(2, 25, 20, "failed")],
        }
    }

    #[test]
    fn attempts_are_asked_for_once_where_there_were_several() {
        let mut watched = watched();
        assert_eq!(watched.untold(), ["test"]);
        watched.shown = Shown::Steps;
        assert!(watched.untold().is_empty(), "they are not shown");
        watched.shown = Shown::Time;
        watched.take_in(&["test".to_owned()], &[]);
        assert!(watched.untold().is_empty(), "nobody can tell");
        let mut now = standing();
        let (state, ended_at) = (StepState::Succeeded, Some(NOW));
        now.steps[2] = StepStanding { attempt: 3, state, ended_at, ..now.steps[2].clone() };
        watched.look(&now, NOW);
        assert_eq!(watched.untold(), ["test"], "it stands otherwise");
    }

    #[test]
    fn attempts_stand_apart_and_the_newest_goes_on() {
        let mut watched = watched();
        let now = Duration::from_secs(95);
        let seconds = |watched: &Watched| -> Vec<(u64, u64, Tone)> {
            let all = watched.stretches(2, now, Tone::Active);
            all.iter().map(|it| (it.began.as_secs(), it.ended.as_secs(), it.tone)).collect()
        };
        assert_eq!(seconds(&watched), [(85, 95, Tone::Active)], "what is known without being told");
        watched.take_in(&["test".to_owned()], &[told()]);
        let apart = [(55, 60, Tone::Bad), (70, 75, Tone::Bad), (85, 95, Tone::Active)];
        assert_eq!(seconds(&watched), apart);
    }

    #[test]
    fn attempts_have_the_tone_of_their_own_end() {
        let ends = [
            ("failed", Tone::Bad),
            ("attempt-timeout", Tone::Bad),
            ("reused", Tone::Good),
            ("cached", Tone::Good),
            ("preempted", Tone::Doubtful),
            ("postponed", Tone::Doubtful),
        ];
        for (outcome, tone) in ends {
            let mut watched = watched();
            let told = AttemptList { attempts: vec![line(1, 40, 35, outcome)], ..told() };
            watched.take_in(&["test".to_owned()], &[told]);
            let all = watched.stretches(2, Duration::from_secs(95), Tone::Active);
            assert_eq!(all[0].tone, tone, "{outcome}");
        }
    }
}
