//! What a story expects, and whether it is so.
//!
//! Nothing happens here.

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value as Json;
use tidewheel::TaskState;

use super::player::Player;
use super::words::Words;

impl Player {
    /// Everything after `expect`.
    pub(super) fn expect(&mut self, words: &mut Words<'_>) -> Result<()> {
        if words.accept("run") {
            return self.expect_run(words);
        }
        if words.accept("began") {
            return self.expect_began(words);
        }
        if words.accept("nothing") {
            words.expect("began")?;
            let began = std::mem::take(&mut self.stage.world.staged().began);
            ensure!(began.is_empty(), "began: {}", began.join(", "));
            return words.end();
        }
        if words.accept("refused") {
            let refusal = self.refusal.take().context("nothing was refused")?;
            let text = words.text()?;
            ensure!(refusal.contains(&text), "it was refused otherwise: {refusal}");
            return words.end();
        }
        if words.accept("took") {
            let (time, report) = (words.duration()?, self.stage.report());
            let took = report.context("the run has not ended")?.elapsed();
            ensure!(took.as_secs() == time.as_secs(), "it took {took:?}");
            return words.end();
        }
        loop {
            let task = words.word("a task")?;
            self.expect_task(&task, words)?;
            if !words.accept(",") {
                return words.end();
            }
        }
    }

    fn expect_run(&mut self, words: &mut Words<'_>) -> Result<()> {
        let word = words.word("a result")?;
        let is = self.stage.report().map_or("open", |report| report.result().word());
        ensure!(is == word, "it is {is}: {:?}", self.stage.report());
        words.end()
    }

    /// The tasks whose work began since the last look, in this order.
    fn expect_began(&mut self, words: &mut Words<'_>) -> Result<()> {
        let began = std::mem::take(&mut self.stage.world.staged().began);
        let mut expected = Vec::new();
        while !words.is_empty() {
            expected.push(words.word("a task")?);
            if !words.accept(",") {
                break;
            }
        }
        ensure!(began == expected, "began: {}", began.join(", "));
        words.end()
    }

    fn expect_task(&self, task: &str, words: &mut Words<'_>) -> Result<()> {
        let stage = &self.stage;
        match words.word("how it stands")?.as_str() {
            "left" => {
                let expected: Json = serde_json::from_str(words.rest())?;
                let left = stage.outputs(task)?;
                ensure!(left == expected, "`{task}` left {left}");
            }
            "began" => {
                let count: usize = words.number()?;
                words.expect("times")?;
                let done = stage.world.staged().done.get(task).copied().unwrap_or_default();
                ensure!(done == count, "`{task}` began {done} times");
            }
            "error" => {
                let text = words.text()?;
                let error = stage.standing(task)?.error.unwrap_or_default();
                ensure!(error.contains(&text), "the error of `{task}`: {error}");
            }
            "attempt" => {
                let (number, id): (u32, _) = (words.number()?, stage.id_of(task)?);
                words.expect("error")?;
                let text = words.text()?;
                let staged = stage.world.staged();
                let mut records = staged.records.iter().rev();
                let record = records.find(|it| it.task == id && it.attempt == number);
                let error = record.and_then(|record| record.error.as_deref()).unwrap_or_default();
                ensure!(error.contains(&text), "of attempt {number} of `{task}`: {record:?}");
            }
            "warned" => {
                let (text, id) = (words.text()?, stage.id_of(task)?);
                let staged = stage.world.staged();
                let of_task = staged.records.iter().filter(|record| record.task == id);
                let warnings: Vec<_> = of_task.flat_map(|record| &record.warnings).collect();
                let is_told = warnings.iter().any(|warning| warning.contains(&text));
                ensure!(is_told, "`{task}` warned of {warnings:?}");
            }
            "wrote" => {
                words.expect("nothing")?;
                let path = self.asked(task)?.path("$TIDEWHEEL_OUTPUT");
                ensure!(!path.exists(), "`{task}` wrote {}", path.display());
            }
            "kept" => {
                let (text, kept) = (words.text()?, stage.kept(task)?);
                ensure!(kept == text, "`{task}` kept {kept}");
            }
            "recorded" => {
                let (word, id) = (words.word("a word")?, stage.id_of(task)?);
                let staged = stage.world.staged();
                let mut records = staged.records.iter().rev();
                let record = records.find(|record| record.task == id);
                let is = record.and_then(|record| record.outcome).map_or("nothing", |it| it.word());
                ensure!(is == word, "recorded of `{task}`: {is}");
            }
            "ran" => {
                let (text, asked) = (words.text()?, self.asked(task)?.command);
                ensure!(asked.contains(&text), "`{task}` ran {asked}");
            }
            "read" => {
                let (text, asked) = (words.text()?, self.asked(task)?.stdin);
                ensure!(asked == text, "`{task}` read {asked:?}");
            }
            "given" => {
                let (name, text) = (words.word("a variable")?, words.text()?);
                let value = self.asked(task)?.variables.get(&name).cloned();
                ensure!(value.as_ref() == Some(&text), "`{task}` was given {name} = {value:?}");
            }
            state => self.expect_state(task, state, words)?,
        }
        Ok(())
    }

    fn expect_state(&self, task: &str, state: &str, words: &mut Words<'_>) -> Result<()> {
        if state == "missing" {
            ensure!(self.stage.standing(task).is_err(), "`{task}` is there");
            return Ok(());
        }
        if !TaskState::ALL.iter().any(|known| known.word() == state) {
            bail!("`{state}` is nothing that a task can be");
        }
        let standing = self.stage.standing(task)?;
        ensure!(standing.state.word() == state, "`{task}` is {standing:?}");
        if words.accept("(") {
            let reason = words.word("a reason")?;
            ensure!(standing.reason == reason, "`{task}` is {standing:?}");
            if !words.accept(")") {
                let cause = words.word("a task")?;
                ensure!(standing.cause.as_ref() == Some(&cause), "`{task}` is {standing:?}");
                words.expect(")")?;
            }
        }
        Ok(())
    }

    fn asked(&self, task: &str) -> Result<super::world::Asked> {
        let asked = self.stage.world.staged().asked.get(task).cloned();
        asked.with_context(|| format!("`{task}` was not begun"))
    }
}
