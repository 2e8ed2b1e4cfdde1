//! What others leave for the wheel on a [`Memory`]: commands, questions, and answers to its tasks.
//!
//! What becomes of it is the driver's business.

use std::error::Error;
use std::thread;
use std::time::{Duration, Instant};

use tidewheel_core::id::{RunId, TaskId};
use tidewheel_core::policy::Priority;

use super::store::{Memory, Rows};
use crate::store::{
    Answer, CommandSource, Outbox, Previewed, Question, RunCommand, Sent, SentCommand, StoreError,
    TaskAnswer, WhatIf,
};

/// How often it is looked whether an answer is there.
const LOOK: Duration = Duration::from_millis(1);

/// Everything that was left and is not done with.
#[derive(Debug, Default)]
pub(super) struct Post {
    /// Somebody may leave something; else nobody need look.
    pub is_used: bool,
    /// The newest number that was given.
    newest: i64,
    commands: Vec<SentCommand>,
    questions: Vec<(Question, Option<Vec<TaskAnswer>>)>,
    what_ifs: Vec<(WhatIf, Option<Previewed>)>,
}

impl Memory {
    /// Where something can be left for the wheel on this store. A wheel that was started before the first
    /// of them was made does not look for what is left.
    #[must_use]
    pub fn outbox(&self) -> impl Outbox + Clone + use<> {
        self.rows().post.is_used = true;
        Counter { memory: self.clone() }
    }
}

#[derive(Debug, Clone)]
struct Counter {
    memory: Memory,
}

impl Outbox for Counter {
    fn send(&self, run: RunId, command: RunCommand) -> Result<Sent, StoreError> {
        let mut rows = self.memory.rows();
        if !rows.is_live(run) {
            let is_past = rows.history.iter().any(|past| past.id() == run);
            return Ok(if is_past { Sent::Ended } else { Sent::Unknown });
        }
        let id = rows.post.number();
        rows.post.commands.push(SentCommand { id, run, command });
        Ok(Sent::Left)
    }

    fn ask(
        &self,
        run: RunId,
        tasks: &[u32],
        patience: Duration,
    ) -> Result<Option<Vec<TaskAnswer>>, StoreError> {
        let mut rows = self.memory.rows();
        if !rows.is_live(run) {
            return Ok(None);
        }
        let id = rows.post.number();
        rows.post.questions.push((Question { id, run, tasks: tasks.to_vec() }, None));
        drop(rows);
        Ok(self.wait(patience, |post| {
            let place = post.questions.iter().position(|(asked, _)| asked.id == id)?;
            Some((&mut post.questions, place))
        }))
    }

    fn preview(
        &self,
        run: RunId,
        task: Option<u32>,
        priority: Priority,
        patience: Duration,
    ) -> Result<Option<Previewed>, StoreError> {
        let mut rows = self.memory.rows();
        if !rows.is_live(run) {
            return Ok(None);
        }
        let id = rows.post.number();
        rows.post.what_ifs.push((WhatIf { id, run, task, priority }, None));
        drop(rows);
        Ok(self.wait(patience, |post| {
            let place = post.what_ifs.iter().position(|(asked, _)| asked.id == id)?;
            Some((&mut post.what_ifs, place))
        }))
    }

    fn answer(&self, task: TaskId, answer: &Answer) -> Result<bool, StoreError> {
        let mut rows = self.memory.rows();
        let answers = &mut rows.known.entry(task.run).or_default().answers;
        let is_first = !answers.contains_key(&task.index);
        answers.entry(task.index).or_insert_with(|| answer.clone());
        Ok(is_first)
    }
}

impl Counter {
    /// Waits until the question that `find` finds has an answer, and takes it back with that or without.
    fn wait<Q, A>(
        &self,
        patience: Duration,
        find: impl Fn(&mut Post) -> Option<(&mut Vec<(Q, Option<A>)>, usize)>,
    ) -> Option<A> {
        let deadline = Instant::now() + patience;
        loop {
            let mut rows = self.memory.rows();
            let (questions, place) = find(&mut rows.post)?;
            if questions[place].1.is_some() || Instant::now() >= deadline {
                return questions.remove(place).1;
            }
            drop(rows);
            thread::sleep(LOOK);
        }
    }
}

impl Rows {
    fn is_live(&self, run: RunId) -> bool {
        self.runs.contains_key(&run) || self.submissions.contains_key(&run)
    }
}

impl Post {
    fn number(&mut self) -> i64 {
        self.newest += 1;
        self.newest
    }
}

/// What was left, as the owner finds it.
pub(super) struct Letters {
    memory: Memory,
    /// The newest command that was handed out.
    newest: i64,
}

impl Letters {
    pub fn new(memory: &Memory) -> Self {
        Self { memory: memory.clone(), newest: 0 }
    }
}

impl CommandSource for Letters {
    fn take(&mut self) -> Result<Vec<SentCommand>, Box<dyn Error + Send + Sync>> {
        let rows = self.memory.rows();
        let news = rows.post.commands.iter().filter(|sent| sent.id > self.newest);
        let news: Vec<SentCommand> = news.copied().collect();
        drop(rows);
        self.newest = news.last().map_or(self.newest, |sent| sent.id);
        Ok(news)
    }

    fn acknowledge(
        &mut self,
        commands: &[SentCommand],
    ) -> Result<(), Box<dyn Error + Send + Sync>> {
        let is_done = |sent: &SentCommand| commands.iter().any(|done| done.id == sent.id);
        self.memory.rows().post.commands.retain(|sent| !is_done(sent));
        Ok(())
    }

    fn questions(&mut self) -> Result<Vec<Question>, Box<dyn Error + Send + Sync>> {
        let rows = self.memory.rows();
        let open = rows.post.questions.iter().filter(|(_, answer)| answer.is_none());
        Ok(open.map(|(question, _)| question.clone()).collect())
    }

    fn answer(
        &mut self,
        question: i64,
        answer: &Vec<TaskAnswer>,
    ) -> Result<(), Box<dyn Error + Send + Sync>> {
        let mut rows = self.memory.rows();
        let asked = rows.post.questions.iter_mut().find(|(asked, _)| asked.id == question);
        if let Some((_, kept)) = asked {
            *kept = Some(answer.clone());
        }
        Ok(())
    }

    fn what_ifs(&mut self) -> Result<Vec<WhatIf>, Box<dyn Error + Send + Sync>> {
        let rows = self.memory.rows();
        let open = rows.post.what_ifs.iter().filter(|(_, answer)| answer.is_none());
        Ok(open.map(|(question, _)| *question).collect())
    }

    fn answer_what_if(
        &mut self,
        question: i64,
        answer: &Previewed,
    ) -> Result<(), Box<dyn Error + Send + Sync>> {
        let mut rows = self.memory.rows();
        let asked = rows.post.what_ifs.iter_mut().find(|(asked, _)| asked.id == question);
        if let Some((_, kept)) = asked {
            *kept = Some(answer.clone());
        }
        Ok(())
    }
}
