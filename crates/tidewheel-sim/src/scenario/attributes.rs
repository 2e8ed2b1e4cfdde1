//! What a scenario says about a task, a run, a queue, a limit or a schedule.
//!
//! Nothing is done here; the player hands it to the scheduler.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, anyhow, bail};
use tidewheel_core::calendar::{Cron, Zone};
use tidewheel_core::graph::Graph;
use tidewheel_core::group::{GroupKind, Membership};
use tidewheel_core::policy::{Backoff, BreakerSpec, Jitter, Priority, Retry, Shape};
use tidewheel_core::schedule::{Anchor, Misfire, Overlap, ScheduleSpec, Span, Trigger};
use tidewheel_core::spec::{
    Busy, Definition, LimitSpec, OnStop, Profile, QueueSpec, RunGroup, RunOptions, RunOrder,
    RunSpec, TaskSpec,
};

use super::groups::{GroupText, WhenText, group_kind};
use super::words::Words;

/// A task as a scenario describes it.
#[derive(Debug, Clone, Default)]
pub struct TaskText {
    /// How it is treated.
    pub profile: Profile,
    /// Time until it should have ended.
    pub deadline: Option<Duration>,
    /// Its key.
    pub key: Option<Arc<str>>,
    /// Whether it is done already.
    pub done: bool,
    /// How long it is expected to take.
    pub estimate: Option<Duration>,
    /// It succeeds by itself after so long.
    pub takes: Option<Duration>,
    /// Its condition.
    pub when: Option<WhenText>,
    /// The group it is the end of, for tasks that are added.
    pub ends: Option<GroupKind>,
    /// How many tasks of that group are under way at once.
    pub at_once: Option<u32>,
}

impl TaskText {
    /// Reads a list of attributes to the end of the line.
    ///
    /// # Errors
    ///
    /// When one is not known.
    pub fn read(&mut self, words: &mut Words) -> Result<()> {
        self.read_listed(words)?;
        words.end()
    }

    /// Reads attributes, behind which something else may come.
    pub fn read_listed(&mut self, words: &mut Words) -> Result<()> {
        while !words.is_empty() {
            self.attribute(words)?;
            if !words.accept(",") {
                break;
            }
        }
        Ok(())
    }

    fn attribute(&mut self, words: &mut Words) -> Result<()> {
        let profile = &mut self.profile;
        match words.word("an attribute")?.as_str() {
            "priority" => profile.priority = priority(words)?,
            "queue" => profile.queue = Some(words.word("a queue")?.into()),
            "fair-by" => profile.fair_by = Some(words.word("a key")?.into()),
            "retries" => profile.retry = retry(words)?,
            "timeout" => profile.attempt_timeout = Some(words.duration()?),
            "task-timeout" => profile.task_timeout = Some(words.duration()?),
            "delay" => profile.start_delay = words.duration()?,
            "on-error" => profile.on_error = Some(words.word("a word")?.parse()?),
            "on-dependency-error" => {
                profile.on_dependency_error = Some(words.word("a word")?.parse()?);
            }
            "on-skip" => profile.on_skip = Some(words.word("a word")?.parse()?),
            "always" => profile.always = true,
            "at-most-once" => profile.at_most_once = true,
            "limit" => {
                let name = words.word("a limit")?;
                let units =
                    if words.peek().is_some_and(|word| word != ",") { words.number()? } else { 1 };
                profile.limits.push((name.into(), units));
            }
            "deadline" => self.deadline = Some(words.duration()?),
            "key" => self.key = Some(words.word("a key")?.into()),
            "done" => self.done = true,
            "estimate" => self.estimate = Some(words.duration()?),
            "takes" => self.takes = Some(words.duration()?),
            "when" => self.when = Some(WhenText::read(words)?),
            "ends" => self.ends = Some(group_kind(words)?),
            "at-once" => self.at_once = Some(words.number()?),
            other => bail!("`{other}` is not an attribute of a task"),
        }
        Ok(())
    }

    /// The task as it is added to a live run.
    ///
    /// # Errors
    ///
    /// When its condition names a task that is not there.
    pub fn spec(
        &self,
        name: &str,
        (after, before): (Vec<u32>, Vec<u32>),
        (group, opens): (Option<u32>, bool),
        find: impl Fn(&str) -> Option<u32>,
    ) -> Result<TaskSpec> {
        let condition = self.when.as_ref().map(|when| when.condition(find)).transpose()?;
        Ok(TaskSpec {
            name: name.into(),
            after,
            before,
            condition: condition.map(Arc::new),
            membership: Membership { group, opens, ends: self.ends, at_once: self.at_once },
            profile: Arc::new(self.profile.clone()),
            estimate: self.estimate,
            key: self.key.clone(),
            deadline: self.deadline,
            payload: None,
        })
    }
}

/// A priority by number (also one out of range) or name.
pub fn priority(words: &mut Words) -> Result<Priority> {
    Ok(words.word("a priority")?.parse()?)
}

fn retry(words: &mut Words) -> Result<Retry> {
    let mut retry = Retry { jitter: Jitter::None, ..Retry::times(words.number()?) };
    loop {
        if words.accept("every") {
            retry.backoff =
                Backoff { shape: Shape::Fixed, base: words.duration()?, ..Backoff::default() };
        } else if words.accept("from") {
            retry.backoff.base = words.duration()?;
        } else if words.accept("cap") {
            retry.backoff.cap = words.duration()?;
        } else if words.accept("jitter") {
            retry.jitter = match words.word("a jitter")?.as_str() {
                "none" => Jitter::None,
                "full" => Jitter::Full,
                "equal" => Jitter::Equal,
                other => bail!("`{other}` is not a jitter"),
            };
        } else {
            return Ok(retry);
        }
    }
}

/// A run as a scenario describes it.
#[derive(Debug, Clone, Default)]
pub struct RunText {
    /// Tasks in order of mention, with what each waits for.
    pub tasks: Vec<(String, Vec<String>)>,
    /// What is said about all tasks that are not described themselves.
    pub every: TaskText,
    /// What is said about single tasks.
    pub described: BTreeMap<String, TaskText>,
    /// How the run is treated.
    pub options: RunOptions,
    /// Queues and limits that it brings along.
    pub defines: Vec<Definition>,
    /// Groups: the end, the tasks in it, the opener.
    pub groups: Vec<GroupText>,
}

impl RunText {
    /// Reads edges: `a -> b -> c, d`.
    ///
    /// # Errors
    ///
    /// When they make no sense.
    pub fn read_edges(&mut self, words: &mut Words) -> Result<()> {
        while !words.is_empty() {
            let mut before = words.word("a task")?;
            self.mention(&before);
            while words.accept("->") {
                let after = words.word("a task")?;
                let place = self.mention(&after);
                self.tasks[place].1.push(before);
                before = after;
            }
            if !words.accept(",") {
                break;
            }
        }
        words.end()
    }

    fn mention(&mut self, name: &str) -> usize {
        self.tasks.iter().position(|(known, _)| known == name).unwrap_or_else(|| {
            self.tasks.push((name.to_owned(), Vec::new()));
            self.tasks.len() - 1
        })
    }

    /// Reads an indented line about the run.
    ///
    /// # Errors
    ///
    /// When it makes no sense.
    pub fn read(&mut self, words: &mut Words) -> Result<()> {
        let options = &mut self.options;
        match words.word("a setting")?.as_str() {
            "slots" => options.slots = Some(words.number()?),
            "timeout" => options.timeout = Some(words.duration()?),
            "on-error" => options.on_error = words.word("a word")?.parse()?,
            "on-skip" => options.on_skip = words.word("a word")?.parse()?,
            "on-stop" => {
                options.on_stop = if words.accept("cancel") {
                    OnStop::Cancel { grace: words.duration()? }
                } else {
                    words.expect("finish")?;
                    OnStop::Finish
                };
            }
            "order" => {
                options.order = match words.word("an order")?.as_str() {
                    "critical-path" => RunOrder::CriticalPath,
                    "latest-finish" => RunOrder::LatestFinish,
                    "deadline" => RunOrder::Deadline,
                    "fifo" => RunOrder::Fifo,
                    other => bail!("`{other}` is not an order"),
                }
            }
            "queue" => options.queue = words.word("a queue")?.into(),
            "brings" => {
                let what = words.word("queue or limit")?;
                let name = words.word("a name")?.into();
                self.defines.push(match what.as_str() {
                    "queue" => Definition::Queue { name, spec: queue(words)? },
                    "limit" => Definition::Limit { name, spec: limit(words)? },
                    other => bail!("nothing brings a `{other}`"),
                });
            }
            "keep-open" => options.keep_open = true,
            "paused" => options.paused = true,
            "concurrency-group" => {
                let (name, busy) = (words.word("a group")?.into(), Busy::default());
                options.group = Some(RunGroup { name, max: 1, busy });
            }
            "group" => {
                self.groups.push(GroupText::read(words)?);
                return words.end();
            }
            "every" => {
                words.expect("task")?;
                words.expect(":")?;
                return self.every.read(words);
            }
            "task" => {
                let name = words.word("a task")?;
                words.expect(":")?;
                if !self.tasks.iter().any(|(known, _)| *known == name) {
                    bail!("the run has no task `{name}`");
                }
                let mut text = self.every.clone();
                text.read(words)?;
                self.described.insert(name, text);
                return Ok(());
            }
            other => bail!("`{other}` is not a setting of a run"),
        }
        words.end()
    }

    /// What is said about a task.
    #[must_use]
    pub fn of(&self, name: &str) -> &TaskText {
        self.described.get(name).unwrap_or(&self.every)
    }

    /// The run to be submitted.
    ///
    /// # Errors
    ///
    /// When the graph is none.
    pub fn spec(&self, name: &str) -> Result<RunSpec> {
        let mut builder = Graph::builder();
        for (task, after) in &self.tasks {
            let estimate = self.of(task).estimate;
            let entry = builder.task(task).after(after);
            if let Some(estimate) = estimate {
                entry.estimate(estimate);
            }
        }
        let graph = Arc::new(builder.build()?);
        let options = RunOptions { name: name.into(), ..self.options.clone() };
        let mut spec = RunSpec::new(graph.clone(), options, self.every.profile.clone());
        spec.profile_of = vec![0; graph.len() as usize];
        spec.defines.clone_from(&self.defines);
        for (task, _) in &self.tasks {
            let Some(index) = graph.index_of(task) else { continue };
            let text = self.of(task);
            let profile = Arc::new(text.profile.clone());
            let place = spec.profiles.iter().position(|known| *known == profile);
            let place = place.unwrap_or_else(|| {
                spec.profiles.push(profile);
                spec.profiles.len() - 1
            });
            spec.profile_of[index as usize] = place as u16;
            if let Some(deadline) = text.deadline {
                spec.deadlines.insert(index, deadline);
            }
            if let Some(key) = &text.key {
                spec.keys.insert(index, key.clone());
            }
            if text.done {
                spec.already_done.push(index);
            }
            if let Some(when) = &text.when {
                let condition = when.condition(|task| graph.index_of(task))?;
                spec.conditions.insert(index, Arc::new(condition));
            }
        }
        for group in &self.groups {
            let (end, group) = group.spec(|task| graph.index_of(task))?;
            spec.groups.insert(end, group);
        }
        Ok(spec)
    }
}

/// Reads the settings of a queue.
pub fn queue(words: &mut Words) -> Result<QueueSpec> {
    let mut spec = QueueSpec::default();
    while !words.is_empty() {
        match words.word("a setting")?.as_str() {
            "weight" => spec.weight = words.number()?,
            "slots" => spec.slots = Some(words.number()?),
            "rate" => spec.rate = Some(words.rate()?),
            "waiting-max" => spec.waiting_max = Some(words.number()?),
            "preempt" => spec.preempt = true,
            other => bail!("`{other}` is not a setting of a queue"),
        }
        words.accept(",");
    }
    Ok(spec)
}

/// Reads the kind and size of a limit.
pub fn limit(words: &mut Words) -> Result<LimitSpec> {
    let spec = match words.word("the kind of limit")?.as_str() {
        "units" => LimitSpec::Units(words.number()?),
        "shared" => LimitSpec::SharedUnits(words.number()?),
        "rate" => {
            let rate = words.rate()?;
            LimitSpec::Rate(if words.accept("burst") {
                rate.with_burst(words.number()?)?
            } else {
                rate
            })
        }
        "breaker" => {
            words.expect("failures")?;
            let failures_max = words.number()?;
            words.expect("reset")?;
            let spec = BreakerSpec::new(failures_max, words.duration()?);
            LimitSpec::Breaker(if words.accept("fail-fast") { spec.fail_fast() } else { spec })
        }
        other => bail!("`{other}` is not a kind of limit"),
    };
    words.end()?;
    Ok(spec)
}

/// Reads a schedule: its trigger first, then policies, then attributes of its task.
///
/// Whether its firings are runs is told apart.
pub fn schedule_spec(words: &mut Words, task: &mut TaskText) -> Result<(ScheduleSpec, bool)> {
    let mut fires_runs = false;
    let mut spec = ScheduleSpec::new(trigger(words)?);
    while words.accept(",") {
        match words.peek().unwrap_or_default() {
            "overlap" | "misfire" | "grace" | "jitter" | "excluding" | "window" | "at-most"
            | "backoff" | "named" => policy(&mut spec, words)?,
            "runs" => fires_runs = words.accept("runs"),
            _ => task.attribute(words)?,
        }
    }
    words.end()?;
    Ok((spec, fires_runs))
}

fn trigger(words: &mut Words) -> Result<Trigger> {
    Ok(match words.word("a trigger")?.as_str() {
        "once" => {
            if words.accept("after") {
                Trigger::after(words.duration()?)
            } else {
                words.expect("at")?;
                Trigger::at(words.word("an instant")?.parse()?)
            }
        }
        "every" => {
            let period = words.duration()?;
            Trigger::FixedRate { period, start: anchor(words)? }
        }
        "spaced" => {
            let delay = words.duration()?;
            Trigger::FixedDelay { delay, start: anchor(words)? }
        }
        "cron" => {
            let text = words.word("an expression")?;
            let cron = Cron::parse(&text).map_err(|error| anyhow!("{error}"))?;
            let zone = match words.peek() {
                Some(name) if name != "," => {
                    let name = words.word("a zone")?;
                    Zone::named(&name).map_err(|error| anyhow!("{error}"))?
                }
                _ => Zone::utc(),
            };
            Trigger::calendar(cron, zone)
        }
        "custom" => Trigger::Custom,
        other => bail!("`{other}` is not a trigger"),
    })
}

fn anchor(words: &mut Words) -> Result<Anchor> {
    if words.accept("from") { Ok(Anchor::After(words.duration()?)) } else { Ok(Anchor::NOW) }
}

/// Reads an overlap policy.
pub fn overlap(words: &mut Words) -> Result<Overlap> {
    Ok(match words.word("an overlap policy")?.as_str() {
        "skip" => Overlap::Skip,
        "queue-one" => Overlap::QueueOne,
        "queue-newest" => Overlap::QueueNewest,
        "queue-all" => Overlap::QueueAll { max: words.number()? },
        "cancel" => Overlap::Cancel,
        "allow" => Overlap::Allow,
        other => bail!("`{other}` is not an overlap policy"),
    })
}

fn policy(spec: &mut ScheduleSpec, words: &mut Words) -> Result<()> {
    match words.word("a policy")?.as_str() {
        "overlap" => spec.overlap = overlap(words)?,
        "named" => spec.name = Some(words.word("a name")?.into()),
        "misfire" => {
            spec.misfire = match words.word("a misfire policy")?.as_str() {
                "skip" => Misfire::Skip,
                "latest" => Misfire::Latest,
                "all" => Misfire::All { max: words.number()? },
                other => bail!("`{other}` is not a misfire policy"),
            }
        }
        "grace" => spec.misfire_grace = words.duration()?,
        "jitter" => spec.jitter = words.duration()?,
        "excluding" => {
            let from = words.word("an instant")?.parse()?;
            spec.exclusions.push(Span::new(from, words.word("an instant")?.parse()?));
        }
        "window" => {
            let from = words.word("an instant")?.parse()?;
            spec.window = Some(Span::new(from, words.word("an instant")?.parse()?));
        }
        "at-most" => spec.max_firings = Some(words.number()?),
        "backoff" => {
            let backoff = Backoff { base: words.duration()?, ..Backoff::default() };
            spec.backoff = Some(Retry { backoff, jitter: Jitter::None, ..Retry::default() });
        }
        other => bail!("`{other}` is not a policy of a schedule"),
    }
    Ok(())
}
