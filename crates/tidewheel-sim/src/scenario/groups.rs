//! What a scenario says about groups and conditions.
//!
//! Nothing is done here; the names are resolved where the run or task is made.

use anyhow::{Result, anyhow, bail};
use tidewheel_core::condition::{Clause, Condition, Ends, Quantifier, Standing};
use tidewheel_core::group::{GroupKind, GroupSpec};

use super::words::Words;

/// A condition by the names of tasks.
#[derive(Debug, Clone)]
pub enum WhenText {
    /// Over tasks.
    Tasks(Vec<(Quantifier, Vec<String>, Ends)>),
    /// Over the run or group.
    Whole(Standing),
}

impl WhenText {
    /// Reads `all a b succeeded or declined and any c failed`, or `whole failed`.
    ///
    /// # Errors
    ///
    /// When it makes no sense.
    pub fn read(words: &mut Words) -> Result<Self> {
        if words.accept("whole") {
            return Ok(Self::Whole(match words.word("a standing")?.as_str() {
                "succeeded" => Standing::Succeeded,
                "failed" => Standing::Failed,
                "ended" => Standing::Ended,
                other => bail!("`{other}` is not a standing"),
            }));
        }
        let mut clauses = Vec::new();
        loop {
            let quantifier = match words.word("all or any")?.as_str() {
                "all" => Quantifier::All,
                "any" => Quantifier::Any,
                other => bail!("`{other}` is neither all nor any"),
            };
            let mut tasks = Vec::new();
            let mut ends: Ends = loop {
                let word = words.word("a task, or how tasks end")?;
                match word.parse() {
                    Ok(ends) => break ends,
                    Err(_) => tasks.push(word),
                }
            };
            while words.accept("or") {
                ends = ends.or(words.word("how tasks end")?.parse()?);
            }
            clauses.push((quantifier, tasks, ends));
            if !words.accept("and") {
                return Ok(Self::Tasks(clauses));
            }
        }
    }

    /// The condition by indices.
    ///
    /// # Errors
    ///
    /// When a task is not there.
    pub fn condition(&self, find: impl Fn(&str) -> Option<u32>) -> Result<Condition> {
        let clauses = match self {
            Self::Whole(standing) => return Ok(Condition::OfWhole(*standing)),
            Self::Tasks(clauses) => clauses,
        };
        let clause = |(quantifier, tasks, ends): &(Quantifier, Vec<String>, Ends)| {
            let tasks = indices(tasks, &find)?;
            Ok(Clause { quantifier: *quantifier, tasks, ends: *ends })
        };
        Ok(Condition::OfTasks(clauses.iter().map(clause).collect::<Result<_>>()?))
    }
}

/// A group by the names of tasks.
#[derive(Debug, Clone)]
pub struct GroupText {
    end: String,
    members: Vec<String>,
    opener: Option<String>,
    kind: GroupKind,
    at_once: Option<u32>,
}

impl GroupText {
    /// Reads `END of a, b: parts`, `END of a: call fail skip`, with `, at-once 2` and `, opener a` behind.
    ///
    /// # Errors
    ///
    /// When it makes no sense.
    pub fn read(words: &mut Words) -> Result<Self> {
        let end = words.word("the end of the group")?;
        let mut members = Vec::new();
        if words.accept("of") {
            members.push(words.word("a task")?);
            while words.accept(",") {
                members.push(words.word("a task")?);
            }
        }
        words.expect(":")?;
        let kind = group_kind(words)?;
        let (mut opener, mut at_once) = (None, None);
        while words.accept(",") {
            if words.accept("at-once") {
                at_once = Some(words.number()?);
            } else {
                words.expect("opener")?;
                opener = Some(words.word("a task")?);
            }
        }
        Ok(Self { end, members, opener, kind, at_once })
    }

    /// The group by indices, and its end.
    ///
    /// # Errors
    ///
    /// When a task is not there.
    pub fn spec(&self, find: impl Fn(&str) -> Option<u32>) -> Result<(u32, GroupSpec)> {
        let end = indices(std::slice::from_ref(&self.end), &find)?[0];
        let members = indices(&self.members, &find)?;
        let opener = match &self.opener {
            Some(opener) => Some(indices(std::slice::from_ref(opener), &find)?[0]),
            None => None,
        };
        Ok((end, GroupSpec { kind: self.kind, at_once: self.at_once, opener, members }))
    }
}

/// Reads `parts`, or `call` and its word for failures and, if it is not `continue`, for skips.
pub fn group_kind(words: &mut Words) -> Result<GroupKind> {
    Ok(match words.word("the kind of group")?.as_str() {
        "parts" => GroupKind::Parts,
        "call" => GroupKind::Call {
            on_error: words.word("a word")?.parse()?,
            on_skip: match words.peek() {
                Some(word) if word != "," => words.word("a word")?.parse()?,
                _ => tidewheel_core::policy::OnSkip::Continue,
            },
        },
        other => bail!("`{other}` is not a kind of group"),
    })
}

fn indices(tasks: &[String], find: impl Fn(&str) -> Option<u32>) -> Result<Vec<u32>> {
    let index = |task: &String| find(task).ok_or_else(|| anyhow!("there is no task `{task}`"));
    tasks.iter().map(index).collect()
}
