//! The data folder behind the seams that every store has: [`Reader`](store::Reader),
//! [`Records`](store::Records) and [`Outbox`](store::Outbox).
//!
//! Nothing is done here; what fails is said as any store would say it.

use std::collections::BTreeMap;
use std::time::Duration;

use tidewheel_core::id::{RunId, ScheduleId, TaskId};
use tidewheel_core::policy::Priority;
use tidewheel_core::time::Timestamp;

use super::{DataFolder, Reader};
use crate::store::{
    self, Answer, AttemptRecord, FiringSummary, LimitSummary, OutputRecord, Previewed,
    QueueSummary, RecordedOutcome, RunCommand, RunDetail, RunFilter, RunSummary, ScheduleSummary,
    Sent, StoreCounts, StoreError, TaskAnswer, TaskResult,
};

impl store::Reader for Reader {
    fn runs(&self, filter: &RunFilter) -> Result<Vec<RunSummary>, StoreError> {
        Ok(Self::runs(self, filter)?)
    }

    fn run(&self, id: RunId) -> Result<Option<RunDetail>, StoreError> {
        Ok(Self::run(self, id)?)
    }

    fn find(&self, prefix: &str, limit: u32) -> Result<Vec<RunId>, StoreError> {
        Ok(Self::find(self, prefix, limit)?)
    }

    fn counts(&self) -> Result<StoreCounts, StoreError> {
        Ok(Self::counts(self)?)
    }

    fn schedules(&self, ended_too: bool) -> Result<Vec<ScheduleSummary>, StoreError> {
        Ok(Self::schedules(self, ended_too)?)
    }

    fn firings(
        &self,
        schedule: ScheduleId,
        before: Option<Timestamp>,
        limit: u32,
    ) -> Result<Vec<FiringSummary>, StoreError> {
        Ok(Self::firings(self, schedule, before, limit)?)
    }

    fn queues(&self) -> Result<Vec<QueueSummary>, StoreError> {
        Ok(Self::queues(self)?)
    }

    fn limits(&self) -> Result<Vec<LimitSummary>, StoreError> {
        Ok(Self::limits(self)?)
    }
}

impl store::Records for Reader {
    fn attempts(&self, task: TaskId) -> Result<Vec<AttemptRecord>, StoreError> {
        Ok(Self::attempts(self, task)?)
    }

    fn outputs(&self, task: TaskId) -> Result<Vec<OutputRecord>, StoreError> {
        Ok(Self::outputs(self, task)?)
    }

    fn results(&self, run: RunId) -> Result<BTreeMap<u32, TaskResult>, StoreError> {
        Ok(Self::results(self, run)?)
    }

    fn outcomes(&self, run: RunId) -> Result<BTreeMap<u32, RecordedOutcome>, StoreError> {
        Ok(Self::outcomes(self, run)?)
    }

    fn times(&self, run: RunId) -> Result<BTreeMap<u32, Duration>, StoreError> {
        let spans = self.attempt_times(run)?.into_iter().filter_map(|(index, attempts)| {
            let newest = attempts.last()?;
            Some((index, newest.ended_at?.since(newest.started_at?)))
        });
        Ok(spans.collect())
    }

    fn answer(&self, task: TaskId) -> Result<Option<Answer>, StoreError> {
        Ok(Self::answer(self, task)?)
    }
}

impl store::Outbox for DataFolder {
    fn send(&self, run: RunId, command: RunCommand) -> Result<Sent, StoreError> {
        Ok(self.leave_command(run, command)?)
    }

    fn ask(
        &self,
        run: RunId,
        tasks: &[u32],
        patience: Duration,
    ) -> Result<Option<Vec<TaskAnswer>>, StoreError> {
        Ok(self.ask_owner(run, tasks, patience)?)
    }

    fn preview(
        &self,
        run: RunId,
        task: Option<u32>,
        priority: Priority,
        patience: Duration,
    ) -> Result<Option<Previewed>, StoreError> {
        Ok(self.preview_priority(run, task, priority, patience)?)
    }

    fn answer(&self, task: TaskId, answer: &Answer) -> Result<bool, StoreError> {
        Ok(Self::answer(self, task, answer)?)
    }
}
