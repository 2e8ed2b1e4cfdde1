//! Plays a story: reads its lines, and has them done on a [`Stage`].
//!
//! ```text
//! flow
//!   flow:
//!     - { name: fetch, run: fetch, retry: 1, outputs: { n: "{{ json.n }}" } }
//!     - { name: use, run: use, env: { N: "{{ flows.fetch.n }}" } }
//! does fetch: fails then prints '{"n": 3}'
//! start
//! finish
//! expect run succeeded
//! expect began fetch, fetch, use
//! ```
//!
//! `scenarios/README.md` lists all that can be said; what is expected is read in `expect`.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::Value as Json;
use tidewheel::Cancel;
use tidewheel::store::Answer;
use tidewheel_flow::AgainWith;

use super::deed::Deed;
use super::stage::{Stage, Start};
use super::words::Words;

/// A stage, and what became of the last thing that was asked of it.
pub struct Player {
    pub stage: Stage,
    /// Why the last start was refused, until a line expects it.
    pub refusal: Option<String>,
}

/// Plays a story; the error names the file and the line.
pub fn play(file: &str, text: &str) -> Result<()> {
    let mut player = Player { stage: Stage::new(), refusal: None };
    let lines: Vec<&str> = text.lines().collect();
    let mut next = 0;
    while let Some(line) = lines.get(next) {
        next += 1;
        let number = next;
        let place = || format!("{file}:{number}: {line}");
        let inside = lines[next..].iter();
        let is_inside = |line: &&&str| line.starts_with(' ') || line.trim().is_empty();
        let inside: Vec<&str> = inside.take_while(is_inside).copied().collect();
        let mut words = Words::of(line);
        if words.is_empty() || line.starts_with('#') {
            continue;
        }
        if words.accept("flow") {
            next += inside.len();
            player.flow(&mut words, &inside).with_context(place)?;
            continue;
        }
        if !line.starts_with("expect refused") {
            player.check_refusal().with_context(place)?;
        }
        player.line(&mut words).with_context(place)?;
    }
    player.check_refusal().with_context(|| format!("{file}: at the end"))
}

impl Player {
    fn flow(&mut self, words: &mut Words<'_>, inside: &[&str]) -> Result<()> {
        let name = match words.is_empty() {
            true => "flow.yaml".to_owned(),
            false => words.word("a name")?,
        };
        self.stage.flow(&name, &inside.join("\n"));
        words.end()
    }

    fn check_refusal(&mut self) -> Result<()> {
        match self.refusal.take() {
            Some(refusal) => bail!("the start before was refused: {refusal}"),
            None => Ok(()),
        }
    }

    fn line(&mut self, words: &mut Words<'_>) -> Result<()> {
        match words.word("a line")?.as_str() {
            "expect" => self.expect(words)?,
            "does" => self.does(words)?,
            "file" => self.file(words)?,
            "variable" => {
                let variable = (words.word("a name")?.into(), words.text()?.into());
                self.stage.world.staged().variables.push(variable);
            }
            // `unreadable 2 times`: what steps left, when it is asked for after a crash.
            "unreadable" => {
                self.stage.world.staged().unreadable = words.number()?;
                words.expect("times")?;
            }
            "slots" => self.stage.slots = words.number()?,
            "start" => self.start(words)?,
            "after" => self.stage.pass(words.duration()?),
            "finish" => self.stage.finish().map(drop)?,
            "crash" => self.stage.crash(),
            "restart" => self.stage.restart()?,
            "pause" => {
                self.stage.run()?.pause();
            }
            "resume" => self.steer(|stage| Ok(stage.run()?.resume()))?,
            "cancel" => self.cancel(words)?,
            "approve" => self.answer(words, true)?,
            "reject" => self.answer(words, false)?,
            other => bail!("`{other}` begins no line"),
        }
        words.end()
    }

    fn does(&mut self, words: &mut Words<'_>) -> Result<()> {
        let task = words.word("a task")?;
        words.expect(":")?;
        let deeds = Deed::read_all(words)?;
        self.stage.does(&task, deeds);
        Ok(())
    }

    fn file(&mut self, words: &mut Words<'_>) -> Result<()> {
        let name = words.word("a file")?;
        match words.accept("is-gone") {
            true => self.stage.remove_file(&name),
            false => self.stage.file(&name, &words.text()?),
        }
    }

    /// `start [again [from a] [without b]] [only a] [with x=1 …]`
    fn start(&mut self, words: &mut Words<'_>) -> Result<()> {
        let mut start = Start::default();
        while !words.is_empty() {
            match words.word("how")?.as_str() {
                "again" => start.again = Some(again(words)?),
                "only" => start.only = Some(vec![words.word("a step")?]),
                "with" => {
                    for said in words.rest().split_whitespace() {
                        let (name, value) = said.split_once('=').context("a param is x=1")?;
                        let value = serde_json::from_str(value).unwrap_or(Json::from(value));
                        start.params.insert(name.to_owned(), value);
                    }
                }
                other => bail!("nothing starts `{other}`"),
            }
        }
        self.refusal = self.stage.start(&start).err().map(|error| format!("{error:#}"));
        Ok(())
    }

    fn cancel(&mut self, words: &mut Words<'_>) -> Result<()> {
        let cancel = match words.is_empty() {
            true => Cancel::Drain,
            false => match words.word("how")?.as_str() {
                "stop" => Cancel::after(words.duration()?),
                "everything" => Cancel::everything(words.duration()?),
                other => bail!("nothing is cancelled `{other}`"),
            },
        };
        self.steer(|stage| Ok(stage.run()?.cancel(cancel)))
    }

    /// Steers the run, and lets happen what happens at once.
    fn steer(&mut self, steer: impl FnOnce(&mut Stage) -> Result<bool>) -> Result<()> {
        if !steer(&mut self.stage)? {
            bail!("the run has ended");
        }
        self.stage.pass(Duration::from_millis(1));
        Ok(())
    }

    fn answer(&mut self, words: &mut Words<'_>, is_approved: bool) -> Result<()> {
        let task = words.word("a task")?;
        words.expect("by")?;
        let by = words.word("a name")?;
        let note = if words.is_empty() { None } else { Some(words.text()?) };
        self.stage.answer(&task, Answer { is_approved, by, note })
    }
}

fn again(words: &mut Words<'_>) -> Result<AgainWith> {
    let mut with = AgainWith::default();
    loop {
        if words.accept("from") {
            with.from = Some(words.word("a step")?);
        } else if words.accept("without") {
            with.skip = BTreeSet::from([words.word("a step")?]);
        } else if words.accept("changed") {
            with.changed = BTreeSet::from([words.word("a step")?]);
        } else {
            return Ok(with);
        }
    }
}
