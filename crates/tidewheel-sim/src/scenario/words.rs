//! Splitting a line into words, and the few kinds of values a word can be.
//!
//! What the words mean is decided in the other files of this folder.

use std::time::Duration;

use anyhow::{Result, anyhow, bail};
use tidewheel_core::policy::Rate;

/// The words of one line, taken from the left.
#[derive(Debug, Clone)]
pub struct Words {
    words: Vec<String>,
    next: usize,
}

impl Words {
    /// Splits a line. Commas, colons and parentheses stand alone; text in quotes is one word.
    ///
    /// # Errors
    ///
    /// When a quote is not closed.
    pub fn split(line: &str) -> Result<Self> {
        let mut words = Vec::new();
        let mut word = String::new();
        let mut letters = line.chars();
        while let Some(letter) = letters.next() {
            match letter {
                '"' => {
                    let mut text = String::from("\"");
                    loop {
                        match letters.next() {
                            Some('"') => break,
                            Some(letter) => text.push(letter),
                            None => bail!("a quote is not closed"),
                        }
                    }
                    words.push(text);
                }
                '#' if word.is_empty() => break,
                ',' | ':' | '(' | ')' => {
                    if !word.is_empty() {
                        words.push(std::mem::take(&mut word));
                    }
                    words.push(letter.to_string());
                }
                letter if letter.is_whitespace() => {
                    if !word.is_empty() {
                        words.push(std::mem::take(&mut word));
                    }
                }
                letter => word.push(letter),
            }
        }
        if !word.is_empty() {
            words.push(word);
        }
        Ok(Self { words, next: 0 })
    }

    /// The next word, without taking it.
    #[must_use]
    pub fn peek(&self) -> Option<&str> {
        self.words.get(self.next).map(String::as_str)
    }

    /// Whether no word is left.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.peek().is_none()
    }

    /// Takes the next word.
    ///
    /// # Errors
    ///
    /// When there is none.
    pub fn word(&mut self, what: &str) -> Result<String> {
        let word = self.words.get(self.next).ok_or_else(|| anyhow!("{what} is missing"))?;
        self.next += 1;
        Ok(word.strip_prefix('"').unwrap_or(word).to_owned())
    }

    /// Takes the next word if it is this one.
    pub fn accept(&mut self, word: &str) -> bool {
        let found = self.peek() == Some(word);
        self.next += usize::from(found);
        found
    }

    /// Takes a word that must come.
    ///
    /// # Errors
    ///
    /// When another comes.
    pub fn expect(&mut self, word: &str) -> Result<()> {
        if self.accept(word) {
            return Ok(());
        }
        bail!("`{word}` was expected, not {}", self.peek().map_or("the end".into(), quoted))
    }

    /// Takes a duration such as `300ms`, `5s`, `2m`, `1h` or `3d`.
    ///
    /// # Errors
    ///
    /// When the word is none.
    pub fn duration(&mut self) -> Result<Duration> {
        let word = self.word("a duration")?;
        duration(&word).ok_or_else(|| anyhow!("`{word}` is not a duration such as 300ms or 5s"))
    }

    /// Takes a whole number.
    ///
    /// # Errors
    ///
    /// When the word is none.
    pub fn number<T: std::str::FromStr>(&mut self) -> Result<T> {
        let word = self.word("a number")?;
        word.parse().map_err(|_| anyhow!("`{word}` is not a number that fits here"))
    }

    /// Takes a rate such as `5/1s`.
    ///
    /// # Errors
    ///
    /// When the word is none.
    pub fn rate(&mut self) -> Result<Rate> {
        let word = self.word("a rate")?;
        let wrong = || anyhow!("`{word}` is not a rate such as 5/1s");
        let (count, per) = word.split_once('/').ok_or_else(wrong)?;
        let per = duration(per).ok_or_else(wrong)?;
        Ok(Rate::new(count.parse().map_err(|_| wrong())?, per)?)
    }

    /// Fails unless all words were taken.
    ///
    /// # Errors
    ///
    /// When a word is left.
    pub fn end(&self) -> Result<()> {
        match self.peek() {
            Some(word) => bail!("{} is too much", quoted(word)),
            None => Ok(()),
        }
    }
}

fn quoted(word: &str) -> String {
    format!("`{}`", word.strip_prefix('"').unwrap_or(word))
}

fn duration(word: &str) -> Option<Duration> {
    let split = word.find(|letter: char| !letter.is_ascii_digit())?;
    let (count, unit) = word.split_at(split);
    let count: u64 = count.parse().ok()?;
    let micros = match unit {
        "us" => 1,
        "ms" => 1_000,
        "s" => 1_000_000,
        "m" => 60_000_000,
        "h" => 3_600_000_000,
        "d" => 86_400_000_000,
        _ => return None,
    };
    Some(Duration::from_micros(count.checked_mul(micros)?))
}
