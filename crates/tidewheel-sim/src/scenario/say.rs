//! Lines that make something happen.
//!
//! Lines that only look are in [`super::expect`].

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, anyhow, bail};
use tidewheel_core::id::{RunId, ScheduleId, TaskId};
use tidewheel_core::input::{
    CancelMode, Command, Dependents, Event, Failure, Fires, Outcome, ShutdownMode, Submission,
};
use tidewheel_core::schedule::Span;
use tidewheel_core::spec::RunSpec;
use tidewheel_core::time::{Now, Timestamp};

use super::attributes::{RunText, TaskText, limit, overlap, queue, schedule_spec};
use super::player::Player;
use super::words::Words;

impl Player {
    /// Plays one line.
    ///
    /// # Errors
    ///
    /// When it cannot be read, or an expectation is not met.
    pub fn line(&mut self, words: &mut Words) -> Result<()> {
        let first = words.word("a word")?;
        match first.as_str() {
            "expect" => self.expect(words)?,
            "scheduler" => self.configure(words)?,
            "queue" => {
                let name = words.word("a queue")?.into();
                let spec = queue(words)?;
                self.command(Command::DefineQueue { name, spec })?;
            }
            "limit" => {
                let name = words.word("a limit")?.into();
                let spec = limit(words)?;
                self.command(Command::DefineLimit { name, spec })?;
            }
            "start" => {
                let name = words.word("a run")?;
                self.start_run(&name)?;
            }
            "submit" => self.submit(words)?,
            "schedule" => self.schedule(words)?,
            "update" => self.update(words)?,
            "make" => self.make(words)?,
            "fire" => self.fire(words)?,
            "backfill" => self.backfill(words)?,
            "add" => self.add(words)?,
            "remove" => self.remove(words)?,
            "pause" => self.pause(words, true)?,
            "resume" => self.pause(words, false)?,
            "cancel" => self.cancel(words)?,
            "abandon" => {
                let id = self.run_id(&words.word("a submission")?)?;
                let run = self.run_key(id).unwrap_or_default();
                self.command(Command::Abandon(run))?;
            }
            "close" => {
                let id = self.run_id(&words.word("a run")?)?;
                let run = self.run_key(id).unwrap_or_default();
                self.command(Command::CloseRun(run))?;
            }
            "reset" => {
                words.expect("breaker")?;
                let name: Arc<str> = words.word("a breaker")?.into();
                self.command(Command::ResetBreaker(name))?;
            }
            "slots" => {
                let run = match words.accept("of") {
                    true => Some(self.run_id(&words.word("a run")?)?),
                    false => None,
                };
                let slots = if words.accept("unbounded") { None } else { Some(words.number()?) };
                self.command(match run {
                    Some(id) => {
                        let run = self.run_key(id).unwrap_or_default();
                        Command::SetRunSlots { run, slots }
                    }
                    None => Command::SetSlots(slots),
                })?;
            }
            "priority" => self.priority(words)?,
            "shut" => self.shut_down(words)?,
            "after" => {
                let delay = words.duration()?;
                self.advance_to(self.now.monotonic.after(delay))?;
            }
            "at" => {
                let delay = words.duration()?;
                self.advance_to(self.zero.after(delay))?;
            }
            "crash" => self.crash(),
            "restart" => {
                if words.accept("after") {
                    let delay = words.duration()?;
                    self.jump(delay, true);
                }
                self.engine()?;
                self.check()?;
            }
            "clock" | "suspend" | "date" => self.clock(&first, words)?,
            "trigger" => self.trigger(words)?,
            "grant" => {
                let (limit, units) = (words.word("a limit")?, words.number()?);
                self.units_asked.remove(&limit);
                self.event(Event::UnitsGranted { limit: limit.into(), units })?;
            }
            "place" => {
                let run = self.run_id(&words.word("a run")?)?;
                let event = match words.word("given, taken or refused")?.as_str() {
                    "given" => Event::PlaceGiven(run),
                    "taken" => {
                        words.expect("by")?;
                        let holders = vec![self.run_id(&words.word("a run")?)?];
                        Event::PlaceTaken { run, holders }
                    }
                    "refused" => Event::PlaceRefused { run, replaced: words.accept("replaced") },
                    other => anyhow::bail!("a place cannot be `{other}`"),
                };
                self.event(event)?;
            }
            "replace" => {
                let id = self.run_id(&words.word("a run")?)?;
                let run = self.run_key(id).unwrap_or_default();
                let mode = CancelMode::Stop { grace: Duration::ZERO };
                self.command(Command::ReplaceRun { run, mode })?;
            }
            "kept" => {
                let limit = words.word("a limit")?;
                if let Some((_, since)) = self.units_kept.get(&limit).copied() {
                    self.event(Event::UnitsKept { limit: limit.into(), since })?;
                }
            }
            "elsewhere" => {
                let (holder, limit) = (words.word("a text")?, words.word("a limit")?.into());
                self.event(Event::UnitsTaken { limit, holders: vec![holder.into()] })?;
            }
            name => self.report(name, words)?,
        }
        words.end()
    }

    fn configure(&mut self, words: &mut Words) -> Result<()> {
        if self.engine.is_some() {
            bail!("the scheduler is running already");
        }
        while !words.is_empty() {
            match words.word("a setting")?.as_str() {
                "slots" => self.config.slots = Some(words.number()?),
                "starvation" => {
                    self.config.starvation_timeout =
                        if words.accept("off") { None } else { Some(words.duration()?) };
                }
                "lost-max" => self.config.lost_attempts_max = words.number()?,
                "seed" => self.config.seed = words.number()?,
                other => bail!("`{other}` is not a setting of the scheduler"),
            }
            words.accept(",");
        }
        Ok(())
    }

    fn start_run(&mut self, name: &str) -> Result<()> {
        let text = self.runs.get(name).cloned().ok_or_else(|| anyhow!("there is no `{name}`"))?;
        let spec = match text.spec(name) {
            Ok(spec) => Arc::new(spec),
            Err(error) => {
                self.last_reply = Some(Err(error.to_string()));
                return Ok(());
            }
        };
        let id = RunId(u128::from(self.number()));
        self.name_run(name, id, &text, &spec, |task| task.to_owned());
        self.command(Command::SubmitRun { id, spec })
    }

    /// Lets lines speak of a run and its tasks.
    fn name_run(
        &mut self,
        name: &str,
        id: RunId,
        text: &RunText,
        spec: &RunSpec,
        called: impl Fn(&str) -> String,
    ) {
        self.run_ids.insert(name.to_owned(), id);
        for (task, _) in &text.tasks {
            let Some(index) = spec.graph.index_of(task) else { continue };
            let task_id = TaskId { run: id, index };
            self.tasks.insert(format!("{name}.{task}"), task_id);
            self.tasks.insert(called(task), task_id);
            self.names.insert(task_id, called(task));
            if let Some(takes) = text.of(task).takes {
                self.takes.insert(task_id, takes);
            }
        }
    }

    /// `make FIRING as RUN`: its tasks are `FIRING.a`; `make FIRING fails "text"`.
    fn make(&mut self, words: &mut Words) -> Result<()> {
        let name = words.word("a firing")?;
        let run = self.run_id(&name)?;
        let schedule_name = name.split('#').next().unwrap_or_default();
        let place = self.making.iter().position(|wanted| wanted.run == run);
        // A firing that nobody asks for any more can still be answered.
        let schedule = match place.map(|place| self.making.remove(place)) {
            Some(wanted) => wanted.schedule,
            None => self.schedule_key(schedule_name)?,
        };
        if words.accept("fails") {
            let error = words.word("a reason")?.into();
            return self.event(Event::RunNotMade { schedule, run, error });
        }
        words.expect("as")?;
        let kind = words.word("a run")?;
        let text = self.runs.get(&kind).cloned().ok_or_else(|| anyhow!("there is no `{kind}`"))?;
        let spec = Arc::new(text.spec(&kind)?);
        let own = name.clone();
        self.name_run(&name, run, &text, &spec, move |task| format!("{own}.{task}"));
        self.command(Command::SubmitFiring { schedule, id: run, spec })
    }

    /// `fire NAME [overlap POLICY]`.
    fn fire(&mut self, words: &mut Words) -> Result<()> {
        let schedule = self.schedule_key(&words.word("a schedule")?)?;
        let overlap = if words.accept("overlap") { Some(overlap(words)?) } else { None };
        self.command(Command::FireNow { schedule, overlap })
    }

    /// `backfill NAME "…", "…" [overlap POLICY] [knowing N]`, `backfill NAME from "…" until "…" …`.
    fn backfill(&mut self, words: &mut Words) -> Result<()> {
        let schedule = self.schedule_key(&words.word("a schedule")?)?;
        let mut instants: Vec<Timestamp> = Vec::new();
        if words.accept("from") {
            let from = words.word("an instant")?.parse()?;
            words.expect("until")?;
            let span = Span::new(from, words.word("an instant")?.parse()?);
            instants = self.scheduler_ref()?.schedule_instants(schedule, span, 1_000);
        } else {
            instants.push(words.word("an instant")?.parse()?);
            while words.accept(",") {
                instants.push(words.word("an instant")?.parse()?);
            }
        }
        let overlap = if words.accept("overlap") { Some(overlap(words)?) } else { None };
        let asked_for = if words.accept("knowing") { Some(words.number()?) } else { None };
        self.command(Command::Backfill { schedule, instants, overlap, asked_for })
    }

    /// `submit NAME`, `submit NAME: attributes`, `submit 5 NAME: attributes` (NAME1 … NAME5).
    fn submit(&mut self, words: &mut Words) -> Result<()> {
        let first = words.word("a name")?;
        let (count, name) = match first.parse::<u32>() {
            Ok(count) => (Some(count), words.word("a name")?),
            Err(_) => (None, first),
        };
        let mut text = TaskText::default();
        if words.accept(":") {
            text.read(words)?;
        }
        for number in 1..=count.unwrap_or(1) {
            let name = if count.is_some() { format!("{name}{number}") } else { name.clone() };
            self.submit_one(name, &text)?;
        }
        Ok(())
    }

    fn submit_one(&mut self, name: String, text: &TaskText) -> Result<()> {
        let id = RunId(u128::from(self.number()));
        let profile = match self.engine()?.scheduler_mut().profile(&text.profile) {
            Ok(profile) => profile,
            Err(rejection) => {
                self.last_reply = Some(Err(rejection.to_string()));
                return Ok(());
            }
        };
        let task_id = TaskId { run: id, index: 0 };
        self.tasks.insert(name.clone(), task_id);
        self.names.insert(task_id, name);
        if let Some(takes) = text.takes {
            self.takes.insert(task_id, takes);
        }
        let submission = Submission {
            id,
            profile,
            priority: text.profile.priority,
            deadline: text.deadline,
            key: text.key.clone(),
            attachment: None,
        };
        self.command(Command::Submit(submission))
    }

    fn schedule(&mut self, words: &mut Words) -> Result<()> {
        let name = words.word("a schedule")?;
        words.expect(":")?;
        let mut text = TaskText::default();
        let (spec, fires_runs) = schedule_spec(words, &mut text)?;
        let spec = Box::new(spec);
        let profile = self.engine()?.scheduler_mut().profile(&text.profile)?;
        let id = ScheduleId(u128::from(self.number()) << 64);
        self.schedules.insert(name.clone(), id);
        if let Some(takes) = text.takes {
            self.schedule_takes.insert(name, takes);
        }
        let priority = text.profile.priority;
        let fires = if fires_runs { Fires::Run } else { Fires::Task { profile, priority } };
        self.command(Command::AddSchedule { id, spec, fires })
    }

    /// `update NAME: trigger, policies`.
    fn update(&mut self, words: &mut Words) -> Result<()> {
        let schedule = self.schedule_key(&words.word("a schedule")?)?;
        words.expect(":")?;
        let (spec, _) = schedule_spec(words, &mut TaskText::default())?;
        let spec = Box::new(spec);
        self.command(Command::UpdateSchedule { schedule, spec })
    }

    /// `remove NAME [releasing] [grace 1s]`.
    fn remove(&mut self, words: &mut Words) -> Result<()> {
        let task = self.task_key(&words.word("a task")?)?;
        let dependents =
            if words.accept("releasing") { Dependents::Release } else { Dependents::Skip };
        let grace = if words.accept("grace") { Some(words.duration()?) } else { None };
        self.command(Command::RemoveTask { task, dependents, grace })
    }

    fn pause(&mut self, words: &mut Words, pause: bool) -> Result<()> {
        if words.accept("run") {
            let id = self.run_id(&words.word("a run")?)?;
            let run = self.run_key(id).unwrap_or_default();
            return self.command(if pause {
                Command::PauseRun(run)
            } else {
                Command::ResumeRun(run)
            });
        }
        if words.accept("queue") {
            let name = words.word("a queue")?.into();
            return self.command(if pause {
                Command::PauseQueue(name)
            } else {
                Command::ResumeQueue(name)
            });
        }
        if words.accept("schedule") {
            let key = self.schedule_key(&words.word("a schedule")?)?;
            return self.command(if pause {
                Command::PauseSchedule(key)
            } else {
                Command::ResumeSchedule(key)
            });
        }
        self.command(if pause { Command::Pause } else { Command::Resume })
    }

    /// `priority run NAME high`, `priority TASK 80`.
    fn priority(&mut self, words: &mut Words) -> Result<()> {
        let (run, task) = if words.accept("run") {
            (self.run_key(self.run_id(&words.word("a run")?)?).unwrap_or_default(), None)
        } else {
            let task = self.task_key(&words.word("a task")?)?;
            (task.run, Some(task.index))
        };
        let priority = words.word("a priority")?.parse()?;
        self.command(Command::SetPriority { run, task, priority })
    }

    /// `cancel run|schedule NAME [stop|end 1s]`, `cancel TASK [stop|end 1s]`; without it drains.
    fn cancel(&mut self, words: &mut Words) -> Result<()> {
        if words.accept("schedule") {
            let key = self.schedule_key(&words.word("a schedule")?)?;
            return self.command(Command::CancelSchedule(key));
        }
        let is_run = words.accept("run");
        let name = words.word("a name")?;
        let mode = if words.accept("stop") {
            CancelMode::Stop { grace: words.duration()? }
        } else if words.accept("end") {
            CancelMode::End { grace: words.duration()? }
        } else {
            CancelMode::Drain
        };
        if is_run {
            let run = self.run_key(self.run_id(&name)?).unwrap_or_default();
            self.command(Command::CancelRun { run, mode })
        } else {
            let task = self.task_key(&name)?;
            self.command(Command::CancelTask { task, mode })
        }
    }

    fn shut_down(&mut self, words: &mut Words) -> Result<()> {
        words.expect("down")?;
        let mode = match words.word("a mode")?.as_str() {
            "drain" => ShutdownMode::Drain,
            "reject" => ShutdownMode::Reject,
            "persist" => ShutdownMode::Persist,
            other => bail!("`{other}` is not a way to shut down"),
        };
        let grace = if words.accept("grace") { Some(words.duration()?) } else { None };
        self.command(Command::ShutDown { mode, grace })
    }

    fn clock(&mut self, first: &str, words: &mut Words) -> Result<()> {
        match first {
            "date" => {
                if self.engine.is_some() {
                    bail!("the date is set before anything happens");
                }
                self.now.wall = words.word("an instant")?.parse()?;
            }
            "suspend" => {
                let delay = words.duration()?;
                self.jump(delay, true);
                self.event(Event::TimePassed)?;
            }
            _ => {
                words.expect("jumps")?;
                let back = words.accept("back");
                let by = words.duration()?;
                self.now.wall =
                    if back { self.now.wall.before(by) } else { self.now.wall.after(by) };
                self.event(Event::TimePassed)?;
            }
        }
        Ok(())
    }

    /// Moves the clocks without anybody being woken in between.
    fn jump(&mut self, by: Duration, both: bool) {
        let monotonic = if both { self.now.monotonic.after(by) } else { self.now.monotonic };
        self.now = Now { monotonic, wall: self.now.wall.after(by) };
    }

    /// `trigger NAME answers never`, `trigger NAME answers in 5s`, `… answers "INSTANT"`.
    fn trigger(&mut self, words: &mut Words) -> Result<()> {
        let schedule = self.schedule_key(&words.word("a schedule")?)?;
        words.expect("answers")?;
        let next: Option<Timestamp> = if words.accept("never") {
            None
        } else if words.accept("in") {
            Some(self.now.wall.after(words.duration()?))
        } else {
            Some(words.word("an instant")?.parse()?)
        };
        self.asked.retain(|key| *key != schedule);
        self.event(Event::TriggerAnswered { schedule, next })
    }

    /// `NAME [attempt N] succeeds|fails|panics|times out|stops|is lost|skips|postpones|expands`.
    fn report(&mut self, name: &str, words: &mut Words) -> Result<()> {
        let task = self.task_key(name)?;
        let attempt = if words.accept("attempt") {
            words.number()?
        } else {
            let report = self.scheduler_ref()?.task(task);
            let report = report.ok_or_else(|| anyhow!("`{name}` is not in memory"))?;
            if !report.state.holds_slot() {
                bail!("`{name}` is {}, not running", report.state);
            }
            report.attempts
        };
        let id = self.task_id(name)?;
        self.ending.retain(|_, ending| *ending != (id, attempt));
        if words.accept("expands") {
            return self.expand(id, task, attempt, words);
        }
        let outcome = outcome(words)?;
        self.event(Event::AttemptEnded { task, attempt, outcome })
    }
}

fn outcome(words: &mut Words) -> Result<Outcome> {
    Ok(match words.word("what happens")?.as_str() {
        "succeeds" => Outcome::Succeeded,
        "stops" => Outcome::Cancelled,
        "skips" => Outcome::Skipped,
        "postpones" => Outcome::Postponed(words.duration()?),
        "fails" => {
            let permanent = words.accept("permanently");
            let mut failure = Failure { permanent, ..failure("failed") };
            if words.peek().is_some_and(|word| word.starts_with('"')) {
                failure.message = words.word("a message")?.into();
            }
            if words.accept("retry-after") {
                failure.retry_after = Some(words.duration()?);
            }
            Outcome::Failed(Box::new(failure))
        }
        "panics" => {
            let mut failure = Failure { panicked: true, ..failure("panicked") };
            if !words.is_empty() {
                failure.message = words.word("a message")?.into();
            }
            Outcome::Failed(Box::new(failure))
        }
        "times" => {
            words.expect("out")?;
            Outcome::TimedOut
        }
        "is" => {
            words.expect("lost")?;
            Outcome::Lost
        }
        other => bail!("`{other}` is not something a task does"),
    })
}

fn failure(message: &str) -> Failure {
    Failure { message: message.into(), ..Failure::default() }
}
