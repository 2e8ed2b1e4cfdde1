//! [`Deed`]: what a step does in one attempt, as a test says it.
//!
//! Doing it is in `world`.

use std::time::Duration;

use anyhow::{Result, bail};

use super::words::Words;

/// What a step does in one attempt. Unless something else is said, it succeeds at once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Deed {
    /// How long it takes.
    pub takes: Duration,
    /// What it writes to its standard output; for a request, what is answered.
    pub prints: Printed,
    /// What it writes to the file for its outputs.
    pub writes: Option<String>,
    /// Files it makes, in its folder or in that of the run.
    pub makes: Vec<(String, String)>,
    /// What it writes to its standard error, or the message of a request that fails.
    pub says: String,
    /// How it ends.
    pub ends: End,
}

/// Where printed text comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Printed {
    /// This text.
    Text(String),
    /// The value of a variable that the step was given.
    Variable(String),
    /// What it read from its standard input.
    Input,
    /// What is in a file, in its folder or in that of the run.
    File(String),
}

/// How a deed ends.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum End {
    /// With this exit code, or status 200 if it is zero.
    Code(i32),
    /// With this status of an answer.
    Status(u16),
    /// When it is told to stop.
    Hangs,
    /// Nobody knows how.
    Lost,
    /// There is no such program, or nobody at that address.
    NotThere,
    /// It printed more than may become outputs.
    TooMuch,
    /// The system has no room for another process.
    NoRoom,
    #[default]
    Well,
}

impl Default for Printed {
    fn default() -> Self {
        Self::Text(String::new())
    }
}

impl Deed {
    /// It fails with exit code 1.
    pub fn fails() -> Self {
        Self { ends: End::Code(1), ..Self::default() }
    }

    /// It goes on until it is told to stop.
    pub fn hangs() -> Self {
        Self { ends: End::Hangs, ..Self::default() }
    }

    /// It prints this.
    pub fn prints(text: &str) -> Self {
        Self { prints: Printed::Text(text.to_owned()), ..Self::default() }
    }

    /// It takes so long.
    pub fn takes(takes: Duration) -> Self {
        Self { takes, ..Self::default() }
    }

    /// Reads what a step does, attempt by attempt: `fails 3 then prints "x" takes 5s`.
    pub fn read_all(words: &mut Words<'_>) -> Result<Vec<Self>> {
        let mut deeds = vec![Self::default()];
        while !words.is_empty() {
            match words.accept("then") {
                true => deeds.push(Self::default()),
                false => deeds.last_mut().expect("there is always one").read(words)?,
            }
        }
        Ok(deeds)
    }

    fn read(&mut self, words: &mut Words<'_>) -> Result<()> {
        match words.word("a deed")?.as_str() {
            "succeeds" => self.ends = End::Well,
            "fails" => {
                let code = words.peek_number().unwrap_or(1);
                self.ends = End::Code(code as i32);
            }
            "answers" => self.ends = End::Status(words.number()?),
            "hangs" => self.ends = End::Hangs,
            "is-lost" => self.ends = End::Lost,
            "is-not-there" => self.ends = End::NotThere,
            "prints-too-much" => self.ends = End::TooMuch,
            "finds-no-room" => self.ends = End::NoRoom,
            "takes" => self.takes = words.duration()?,
            "prints" => self.prints = Printed::Text(words.text()?),
            "writes" => self.writes = Some(words.text()?),
            "makes" => self.makes.push((words.word("a file")?, words.text()?)),
            "reads" => self.prints = Printed::File(words.word("a file")?),
            "says" => self.says = words.text()?,
            "echoes" => {
                self.prints = match words.accept("input") {
                    true => Printed::Input,
                    false => Printed::Variable(words.word("a variable")?),
                }
            }
            other => bail!("`{other}` is nothing that a step does"),
        }
        Ok(())
    }
}
