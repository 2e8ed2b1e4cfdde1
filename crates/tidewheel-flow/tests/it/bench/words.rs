//! Splitting a line of a story into words, and the few kinds of values a word can be.
//!
//! What the words mean is decided in the other files of this folder.

use std::time::Duration;

use anyhow::{Result, anyhow, bail};
use tidewheel_flow::parse_duration;

/// What is left of a line, taken from the left.
#[derive(Debug, Clone)]
pub struct Words<'a>(&'a str);

impl<'a> Words<'a> {
    pub fn of(line: &'a str) -> Self {
        Self(line.trim())
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes the next word. Commas, colons and parentheses stand alone; text in quotes is one word.
    pub fn word(&mut self, what: &str) -> Result<String> {
        if self.0.starts_with(['"', '\'']) {
            return self.text();
        }
        let first = self.0.chars().next().ok_or_else(|| anyhow!("{what} is missing"))?;
        let end = match first {
            ',' | ':' | '(' | ')' => 1,
            _ => {
                let is_end = |it: char| it.is_whitespace() || matches!(it, ',' | ':' | '(' | ')');
                self.0.find(is_end).unwrap_or(self.0.len())
            }
        };
        Ok(self.take(end).to_owned())
    }

    /// Takes text in quotes of either kind, in which `\n` is a new line.
    pub fn text(&mut self) -> Result<String> {
        let Some(quote) = self.0.chars().next().filter(|it| matches!(it, '"' | '\'')) else {
            bail!("text in quotes is missing");
        };
        let inside = &self.0[1..];
        let end = inside.find(quote).ok_or_else(|| anyhow!("a quote is not closed"))?;
        let text = inside[..end].replace("\\n", "\n");
        self.take(end + 2);
        Ok(text)
    }

    /// Takes all that is left.
    pub fn rest(&mut self) -> &'a str {
        self.take(self.0.len())
    }

    /// Takes the next word if it is this one.
    pub fn accept(&mut self, word: &str) -> bool {
        let mut after = self.clone();
        let found = !self.0.starts_with(['"', '\'']) && after.word("").is_ok_and(|it| it == word);
        if found {
            *self = after;
        }
        found
    }

    pub fn expect(&mut self, word: &str) -> Result<()> {
        match self.accept(word) {
            true => Ok(()),
            false => bail!("`{word}` was expected, not `{}`", self.0),
        }
    }

    pub fn duration(&mut self) -> Result<Duration> {
        Ok(parse_duration(&self.word("a duration")?)?)
    }

    pub fn number<T: std::str::FromStr>(&mut self) -> Result<T> {
        let word = self.word("a number")?;
        word.parse().map_err(|_| anyhow!("`{word}` is not a number that fits here"))
    }

    /// Takes a whole number if one comes.
    pub fn peek_number(&mut self) -> Option<u32> {
        let mut after = self.clone();
        let number = after.number().ok()?;
        *self = after;
        Some(number)
    }

    pub fn end(&self) -> Result<()> {
        match self.is_empty() {
            true => Ok(()),
            false => bail!("`{}` is too much", self.0),
        }
    }

    fn take(&mut self, end: usize) -> &'a str {
        let (taken, left) = self.0.split_at(end);
        self.0 = left.trim_start();
        taken
    }
}
