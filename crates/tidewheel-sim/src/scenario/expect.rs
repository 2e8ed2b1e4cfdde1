//! Lines that only look: `expect …`.
//!
//! States of ended tasks are read from the store, all others from the scheduler.

use anyhow::{Result, anyhow, bail};
use tidewheel_core::explain::Explanation;
use tidewheel_core::id::TaskId;
use tidewheel_core::input::Reply;
use tidewheel_core::report::TaskReport;
use tidewheel_core::row::{Fate, FiringRow};
use tidewheel_core::statistics::Statistics;
use tidewheel_core::task::{Reason, TaskState};

use super::player::Player;
use super::words::Words;

impl Player {
    pub(super) fn expect(&mut self, words: &mut Words) -> Result<()> {
        match words.peek().unwrap_or_default() {
            "started" => self.expect_started(words),
            "nothing" => self.expect_nothing(words),
            "stopping" => self.expect_stopping(words),
            "making" => self.expect_making(words),
            "run" => self.expect_run(words),
            "counts" => self.expect_counts(words),
            "stats" | "queue" => self.expect_statistics(words),
            "refused" => self.expect_refused(words),
            "accepted" => {
                words.expect("accepted")?;
                match self.last_reply.take() {
                    Some(Err(refusal)) => bail!("it was refused: {refusal}"),
                    _ => Ok(()),
                }
            }
            "unchanged" => {
                words.expect("unchanged")?;
                match self.last_reply.take() {
                    Some(Ok(Reply::Unchanged)) => Ok(()),
                    other => bail!("the reply was {other:?}"),
                }
            }
            "shut" => {
                words.expect("shut")?;
                words.expect("down")?;
                if self.shut_down { Ok(()) } else { bail!("the shutdown is not complete") }
            }
            "notice" => {
                words.expect("notice")?;
                let text = words.word("a text")?;
                if self.noticed(&text) { Ok(()) } else { bail!("nobody was told `{text}`") }
            }
            "asked" => {
                words.expect("asked")?;
                let key = self.schedule_key(&words.word("a schedule")?)?;
                if self.asked.contains(&key) { Ok(()) } else { bail!("nobody was asked") }
            }
            "joining" => {
                words.expect("joining")?;
                let id = self.run_id(&words.word("a run")?)?;
                if self.joining.contains(&id) { Ok(()) } else { bail!("it wants no place") }
            }
            "units" => self.expect_units(words),
            _ => self.expect_tasks(words),
        }
    }

    /// What is asked for of a shared limit, what was given back since the last look, and what was
    /// kept at the last restore.
    fn expect_units(&mut self, words: &mut Words) -> Result<()> {
        words.expect("units")?;
        let limit = words.word("a limit")?;
        loop {
            let what = words.word("asked, returned or kept")?;
            let seen = match what.as_str() {
                "asked" => self.units_asked.get(&limit).copied(),
                "returned" => self.units_returned.remove(&limit),
                "kept" => self.units_kept.get(&limit).map(|(units, _)| *units),
                other => bail!("units cannot be `{other}`"),
            };
            let expected: u32 = words.number()?;
            let seen = seen.unwrap_or(0);
            if seen != expected {
                bail!("{seen} units of `{limit}` {what}");
            }
            if !words.accept(",") {
                return Ok(());
            }
        }
    }

    fn names(words: &mut Words) -> Result<Vec<String>> {
        let mut names = Vec::new();
        loop {
            names.push(words.word("a task")?);
            if !words.accept(",") {
                return Ok(names);
            }
        }
    }

    fn expect_started(&mut self, words: &mut Words) -> Result<()> {
        words.expect("started")?;
        let expected = Self::names(words)?;
        let started = std::mem::take(&mut self.started);
        if started == expected {
            return Ok(());
        }
        bail!("started in this order since the last look: {}", list(&started))
    }

    fn expect_nothing(&mut self, words: &mut Words) -> Result<()> {
        words.expect("nothing")?;
        let what = words.word("started, stopping or making")?;
        if what == "making" {
            let making = self.names_of_making();
            return if making.is_empty() { Ok(()) } else { bail!("making {}", list(&making)) };
        }
        let list_of = match what.as_str() {
            "started" => &mut self.started,
            "stopping" => &mut self.stopping,
            other => bail!("nothing can be `{other}`"),
        };
        let found = std::mem::take(list_of);
        if found.is_empty() { Ok(()) } else { bail!("{what}: {}", list(&found)) }
    }

    /// The firings whose runs are asked for and not made, oldest first.
    fn expect_making(&mut self, words: &mut Words) -> Result<()> {
        words.expect("making")?;
        let (expected, making) = (Self::names(words)?, self.names_of_making());
        if making == expected { Ok(()) } else { bail!("making {}", list(&making)) }
    }

    fn names_of_making(&self) -> Vec<String> {
        let name_of = |run| {
            let of_run = |(name, id): &(&String, &TaskId)| id.run == run && !name.contains('.');
            self.tasks.iter().find(of_run).map(|(name, _)| name.clone()).unwrap_or_default()
        };
        self.making.iter().map(|wanted| name_of(wanted.run)).collect()
    }

    fn expect_stopping(&mut self, words: &mut Words) -> Result<()> {
        words.expect("stopping")?;
        let expected = Self::names(words)?;
        let stopping = std::mem::take(&mut self.stopping);
        if stopping == expected { Ok(()) } else { bail!("told to stop: {}", list(&stopping)) }
    }

    fn expect_run(&mut self, words: &mut Words) -> Result<()> {
        words.expect("run")?;
        let id = self.run_id(&words.word("a run")?)?;
        let expected = words.word("a result")?;
        let result = self.results.get(&id).map_or("open", |result| result.word());
        if result == expected { Ok(()) } else { bail!("the run is {result}") }
    }

    fn expect_counts(&mut self, words: &mut Words) -> Result<()> {
        words.expect("counts")?;
        let id = self.run_id(&words.word("a run")?)?;
        let rows = self.store.rows();
        let run = rows.runs.get(&id).ok_or_else(|| anyhow!("the run was never stored"))?;
        loop {
            let word = words.word("a state, total or ended")?;
            let count = run.tasks.values().filter(|row| match word.as_str() {
                "ended" => row.state.is_terminal(),
                state => row.state.word() == state,
            });
            let found = match word.as_str() {
                "total" => run.task_count() as usize,
                _ => count.count(),
            };
            let expected: usize = words.number()?;
            if found != expected {
                bail!("{word} is {found}");
            }
            if !words.accept(",") {
                return Ok(());
            }
        }
    }

    fn expect_statistics(&mut self, words: &mut Words) -> Result<()> {
        let queue = if words.accept("queue") { Some(words.word("a queue")?) } else { None };
        words.expect("stats")?;
        let overview = self.scheduler_ref()?.overview(self.now);
        let figures = match &queue {
            None => &overview.total,
            Some(queue) => {
                let found = overview.queues.iter().find(|(name, _)| **name == **queue);
                &found.ok_or_else(|| anyhow!("there is no queue `{queue}`"))?.1
            }
        };
        loop {
            let name = words.word("a figure")?;
            let found = match name.as_str() {
                "runs" => overview.runs,
                "delayed" => overview.delayed,
                "schedules" => overview.schedules,
                "timers" => overview.timers,
                "backoff" => u64::from(overview.backoff_level),
                "oldest-wait-ms" => overview.oldest_wait.as_millis() as u64,
                name => figure(figures, name)?,
            };
            let at_least = words.accept("at-least");
            let expected: u64 = words.number()?;
            if found != expected && !(at_least && found > expected) {
                bail!("{name} is {found}");
            }
            if !words.accept(",") {
                return Ok(());
            }
        }
    }

    fn expect_refused(&mut self, words: &mut Words) -> Result<()> {
        words.expect("refused")?;
        let text = if words.is_empty() { String::new() } else { words.word("a text")? };
        match self.last_reply.take() {
            Some(Err(refusal)) if refusal.contains(&text) => Ok(()),
            Some(Err(refusal)) => bail!("it was refused, but with: {refusal}"),
            other => bail!("it was not refused: {other:?}"),
        }
    }

    /// A list such as `a running, b failed (error), c skipped (dependency-failed b)`.
    fn expect_tasks(&mut self, words: &mut Words) -> Result<()> {
        loop {
            let name = words.word("a task")?;
            if self.schedules.contains_key(&name) {
                self.expect_schedule(&name, words)?;
            } else {
                self.expect_task(&name, words)?;
            }
            if !words.accept(",") {
                return Ok(());
            }
        }
    }

    fn expect_task(&mut self, name: &str, words: &mut Words) -> Result<()> {
        let word = words.word("a state")?;
        match word.as_str() {
            "explains" => {
                let text = words.word("a text")?;
                let said = self.explanation(name)?.to_string();
                if said.contains(&text) { Ok(()) } else { bail!("it says: {said}") }
            }
            "denies" => {
                let text = words.word("a text")?;
                let said = self.explanation(name)?.to_string();
                if said.contains(&text) { bail!("it says: {said}") } else { Ok(()) }
            }
            "effective" | "ahead" => {
                let expected: u64 = words.number()?;
                let place = self.explanation(name)?.place;
                let place = place.ok_or_else(|| anyhow!("`{name}` has no place in the order"))?;
                let found = if word == "ahead" { place.ahead } else { u64::from(place.effective) };
                if found == expected { Ok(()) } else { bail!("{word} is {found}") }
            }
            "priority" => {
                let expected: u32 = words.number()?;
                let found = self.scheduler_ref()?.priority(self.task_key(name)?);
                let found = found.ok_or_else(|| anyhow!("`{name}` is not in memory"))?;
                match found.value() == expected as u8 {
                    true => Ok(()),
                    false => bail!("its priority is {}", found.value()),
                }
            }
            "attempts" => {
                let expected: u32 = words.number()?;
                let (_, _, attempts, _) = self.standing(name)?;
                if attempts == expected { Ok(()) } else { bail!("attempts: {attempts}") }
            }
            "error" => {
                let expected = words.word("a text")?;
                let (_, _, _, error) = self.standing(name)?;
                match error {
                    Some(error) if error.contains(&expected) => Ok(()),
                    other => bail!("the error is {other:?}"),
                }
            }
            state => self.expect_state(name, state, words),
        }
    }

    fn expect_state(&mut self, name: &str, expected: &str, words: &mut Words) -> Result<()> {
        let (state, reason, _, _) = self.standing(name)?;
        if !TaskState::ALL.iter().any(|known| known.word() == expected) {
            bail!("`{expected}` is not a state");
        }
        if state.word() != expected {
            bail!("`{name}` is {state} ({})", self.reason_text(name, reason)?);
        }
        if words.accept("(") {
            let word = words.word("a reason")?;
            let cause = if words.accept(")") {
                None
            } else {
                let cause = words.word("a task")?;
                words.expect(")")?;
                Some(self.task_id(&cause)?.index)
            };
            if reason.word() != word || cause.is_some() && reason.cause() != cause {
                bail!("`{name}` is {state} ({})", self.reason_text(name, reason)?);
            }
        }
        Ok(())
    }

    fn reason_text(&self, name: &str, reason: Reason) -> Result<String> {
        let run = self.task_id(name)?.run;
        let cause = reason.cause().map(|index| tidewheel_core::TaskId { run, index });
        let cause = cause.and_then(|id| self.names.get(&id)).map_or("", String::as_str);
        Ok(format!("{reason} {cause}").trim().to_owned())
    }

    fn standing(&self, name: &str) -> Result<(TaskState, Reason, u32, Option<String>)> {
        let id = self.task_id(name)?;
        let text = |error: &Option<std::sync::Arc<str>>| error.as_ref().map(ToString::to_string);
        let rows = self.store.rows();
        let row = rows.task(id);
        if let Some(row) = row.filter(|row| row.state.is_terminal()) {
            return Ok((row.state, row.reason, row.attempts, text(&row.error)));
        }
        if let Some(TaskReport { state, reason, attempts, error, .. }) = self
            .engine
            .as_ref()
            .and_then(|engine| engine.scheduler().task(self.task_key(name).ok()?))
        {
            return Ok((state, reason, attempts, text(&error)));
        }
        match row {
            Some(row) => Ok((row.state, row.reason, row.attempts, text(&row.error))),
            None => bail!("nothing is known about `{name}`"),
        }
    }

    fn explanation(&self, name: &str) -> Result<Explanation> {
        let explained = self.scheduler_ref()?.explain(self.task_key(name)?, self.now);
        explained.ok_or_else(|| anyhow!("`{name}` cannot be explained"))
    }

    /// `tick fired 3`, `tick skipped 2`, `tick next in 300ms`, `tick next never`, `tick ended`.
    fn expect_schedule(&mut self, name: &str, words: &mut Words) -> Result<()> {
        let id = self.schedules[name];
        let word = words.word("a fact")?;
        let found = match word.as_str() {
            "fired" => {
                let rows = self.store.rows();
                let fates = rows.fates(id);
                fates.iter().filter(|(_, row)| matches!(row.fate, Fate::Fired(_))).count() as u64
            }
            "unmade" => {
                let rows = self.store.rows();
                let fates = rows.fates(id);
                let unmade = |row: &FiringRow| matches!(row.fate, Fate::NotMade { .. });
                fates.iter().filter(|(_, row)| unmade(row)).count() as u64
            }
            "asked-for" => {
                let rows = self.store.rows();
                let fates = rows.fates(id);
                let mut numbers: Vec<u64> =
                    fates.iter().map(|(_, row)| row.origin.number()).filter(|it| *it > 0).collect();
                numbers.dedup();
                numbers.len() as u64
            }
            "skipped" => {
                let reason = words
                    .peek()
                    .is_none_or(|word| word.parse::<u64>().is_err())
                    .then(|| words.word("a reason"))
                    .transpose()?;
                let rows = self.store.rows();
                let fates = rows.fates(id);
                let skipped = fates.iter().filter(|(_, row)| match (&row.fate, &reason) {
                    (Fate::Skipped(why), Some(reason)) => *why == reason.replace('-', " "),
                    (fate, _) => matches!(fate, Fate::Skipped(_)),
                });
                skipped.map(|(_, row)| row.count).sum()
            }
            "next" => {
                let next = self.scheduler_ref()?.schedule_next(self.schedule_key(name)?);
                let expected = if words.accept("never") {
                    None
                } else if words.accept("in") {
                    Some(self.now.wall.after(words.duration()?))
                } else {
                    Some(words.word("an instant")?.parse()?)
                };
                if next == expected {
                    return Ok(());
                }
                bail!("the next instant is {}", next.map_or("none".into(), |at| at.to_string()));
            }
            "ended" | "live" => {
                let ended = self.store.rows().schedules.get(&id).is_none_or(|(_, ended)| *ended);
                return if ended == (word == "ended") { Ok(()) } else { bail!("ended is {ended}") };
            }
            other => bail!("`{other}` is not a fact about a schedule"),
        };
        let expected: u64 = words.number()?;
        if found == expected { Ok(()) } else { bail!("{word} {found}") }
    }
}

fn figure(figures: &Statistics, name: &str) -> Result<u64> {
    Ok(match name {
        "active" => figures.active,
        "queued" => figures.queued,
        "submitted" => figures.submitted,
        "completed" => figures.completed,
        "high" => figures.high_priority_completed,
        "low" => figures.low_priority_completed,
        "promotions" => figures.promotions,
        "rejected" => figures.rejected,
        "cancelled" => figures.cancelled,
        "skipped" => figures.skipped,
        "failed" => figures.failed,
        "retried" => figures.retried,
        "lost" => figures.lost,
        "postponed" => figures.postponed,
        "preempted" => figures.preempted,
        "late" => figures.late,
        "restored" => figures.restored,
        "failed-unstarted" => figures.failed_unstarted,
        "already-done" => figures.already_done,
        other => bail!("`{other}` is not a figure"),
    })
}

fn list(names: &[String]) -> String {
    if names.is_empty() { "nothing".into() } else { names.join(", ") }
}
