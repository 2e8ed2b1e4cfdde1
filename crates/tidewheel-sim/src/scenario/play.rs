//! [`play`]: the lines of a scenario, one after the other.
//!
//! What a line says is read by `words` and `attributes`, and done by the player.

use anyhow::{Context, Result, bail};

use super::attributes::RunText;
use super::player::Player;
use super::words::Words;

/// Plays a scenario; the error names the file and the line.
///
/// # Errors
///
/// When a line cannot be read, or an expectation is not met.
pub fn play(file: &str, text: &str) -> Result<()> {
    let mut player = Player::new();
    let mut run: Option<(String, RunText)> = None;
    for (number, line) in text.lines().enumerate() {
        let place = || format!("{file}:{}: {}", number + 1, line.trim());
        let mut words = Words::split(line).with_context(place)?;
        if words.is_empty() {
            continue;
        }
        if line.starts_with(char::is_whitespace) {
            let Some((_, text)) = &mut run else {
                bail!("{}: an indented line belongs to no run", place());
            };
            text.read(&mut words).with_context(place)?;
            continue;
        }
        if let Some((name, text)) = run.take() {
            player.describe(name, text);
        }
        if words.accept("run") {
            let mut text = RunText::default();
            let name = words.word("the name of the run").with_context(place)?;
            words.expect(":").with_context(place)?;
            text.read_edges(&mut words).with_context(place)?;
            run = Some((name, text));
            continue;
        }
        player.line(&mut words).with_context(place)?;
    }
    player.finish().with_context(|| format!("{file}: at the end"))
}
