//! Lines that add tasks to live runs, by a command or by the outcome of an attempt.
//!
//! What is asked of the tasks themselves is read in [`super::attributes`].

use anyhow::Result;
use tidewheel_core::id::{RunId, TaskId, TaskKey};
use tidewheel_core::input::{Command, Event, Outcome};
use tidewheel_core::spec::Addition;

use super::attributes::TaskText;
use super::player::Player;
use super::words::Words;

/// Tasks about to be added, with the names that the indices they will get had before.
struct Adding {
    run: RunId,
    first: u32,
    before: Vec<(TaskId, Option<String>)>,
}

impl Player {
    /// `add NAME to RUN [after a, b] [before c, d] [inside e [opening]]: attributes
    /// [and NAME …] [if missing]`.
    pub(super) fn add(&mut self, words: &mut Words) -> Result<()> {
        let name = words.word("a task")?;
        words.expect("to")?;
        let run_name = words.word("a run")?;
        let id = self.run_id(&run_name)?;
        let (addition, adding) = self.addition(id, name, words)?;
        let run = self.run_key(id).unwrap_or_default();
        self.command(Command::AddTasks { run, addition })?;
        self.note_added(adding);
        Ok(())
    }

    /// `NAME expands into NAME [after a, b] [before c, d] [inside e [opening]]: attributes
    /// [and NAME …] [if missing]`.
    pub(super) fn expand(
        &mut self,
        id: TaskId,
        task: TaskKey,
        attempt: u32,
        words: &mut Words,
    ) -> Result<()> {
        words.expect("into")?;
        let name = words.word("a task")?;
        let (addition, adding) = self.addition(id.run, name, words)?;
        let outcome = Outcome::Expanded(Box::new(addition));
        self.event(Event::AttemptEnded { task, attempt, outcome })?;
        self.note_added(adding);
        Ok(())
    }

    /// Reads tasks to be added. Those that are not there must have their names and durations as soon as
    /// they start.
    fn addition(
        &mut self,
        run: RunId,
        name: String,
        words: &mut Words,
    ) -> Result<(Addition, Adding)> {
        let mut names = vec![name];
        let mut texts = Vec::new();
        loop {
            let after = listed("after", words)?;
            let before = listed("before", words)?;
            let group = listed("inside", words)?;
            let opens = words.accept("opening");
            let mut text = TaskText::default();
            if words.accept(":") {
                text.read_listed(words)?;
            }
            texts.push((after, before, (group, opens), text));
            if !words.accept("and") {
                break;
            }
            names.push(words.word("a task")?);
        }
        let passes_over_known = words.accept("if");
        if passes_over_known {
            words.expect("missing")?;
        }
        let mut addition = Addition { tasks: Vec::new(), passes_over_known };
        let mut adding = Adding { run, first: self.task_count(run), before: Vec::new() };
        let mut next = adding.first;
        for (name, (after, before, (group, opens), text)) in names.iter().zip(texts) {
            let edges = (self.indices(&after, &names)?, self.indices(&before, &names)?);
            let group = self.indices(&group, &names)?.first().copied();
            let find = |task: &str| self.index(task, &names).ok();
            addition.tasks.push(text.spec(name, edges, (group, opens), find)?);
            let is_there = self.tasks.get(name).is_some_and(|known| known.run == run);
            if !(is_there && passes_over_known) {
                let id = TaskId { run, index: next };
                adding.before.push((id, self.names.insert(id, name.clone())));
                self.takes.extend(text.takes.map(|takes| (id, takes)));
                next += 1;
            }
        }
        Ok((addition, adding))
    }

    /// Lets what was added be called by its name, and forgets the names of what was refused.
    fn note_added(&mut self, adding: Adding) {
        let is_added = self.task_count(adding.run) > adding.first;
        for (id, before) in adding.before {
            if is_added {
                let name = self.names[&id].clone();
                let run = self.run_ids.iter().find(|(_, run)| **run == adding.run);
                if let Some((run, _)) = run {
                    self.tasks.insert(format!("{run}.{name}"), id);
                }
                self.tasks.insert(name, id);
            } else if let Some(before) = before {
                self.names.insert(id, before);
            }
        }
    }

    fn task_count(&self, run: RunId) -> u32 {
        self.store.rows().runs.get(&run).map_or(0, |run| run.task_count())
    }

    fn indices(&self, listed: &[String], names: &[String]) -> Result<Vec<u32>> {
        listed.iter().map(|task| self.index(task, names)).collect()
    }

    /// The index of a task of the run, or of one that is added with others; `none` is not there.
    fn index(&self, task: &str, names: &[String]) -> Result<u32> {
        match names.iter().position(|name| name == task) {
            Some(place) => Ok(Addition::FIRST + place as u32),
            None if task == "none" => Ok(u32::MAX),
            None => Ok(self.task_id(task)?.index),
        }
    }
}

/// The tasks listed behind `word`, if it comes.
fn listed(word: &str, words: &mut Words) -> Result<Vec<String>> {
    let mut listed = Vec::new();
    let mut is_more = words.accept(word);
    while is_more {
        listed.push(words.word("a task")?);
        is_more = words.accept(",");
    }
    Ok(listed)
}
