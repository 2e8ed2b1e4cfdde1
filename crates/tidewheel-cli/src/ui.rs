//! What is written where: results to standard output, everything else to standard error.
//!
//! Nothing else in this crate touches the standard streams.

use std::io::{self, IsTerminal as _, Write as _};
use std::sync::{Mutex, PoisonError};

use clap::ColorChoice;
use tidewheel_client::text::{block, harmless};

use crate::cli::{Format, WideFormat};
use crate::config::Config;
use crate::error::{CommandError, ErrorKind};

/// The two streams, and how to write to them.
#[derive(Debug)]
pub(crate) struct Ui {
    format: Option<WideFormat>,
    config: Result<Config, Mutex<Option<CommandError>>>,
    defaults: Config,
}

/// Columns where nobody says how many there are.
const WIDTH_DEFAULT: usize = 80;

impl Ui {
    pub fn new(format: Option<WideFormat>, config: Result<Config, CommandError>) -> Self {
        let said = config.as_ref().ok().and_then(Config::format);
        let config = config.map_err(|error| Mutex::new(Some(error)));
        Self { format: format.or(said), config, defaults: Config::default() }
    }

    /// The settings; those that hold by default if they could not be read.
    pub fn config(&self) -> &Config {
        self.config.as_ref().unwrap_or(&self.defaults)
    }

    /// Fails if the settings could not be read.
    pub fn check_config(&self) -> Result<(), CommandError> {
        let Err(error) = &self.config else { return Ok(()) };
        let error = error.lock().unwrap_or_else(PoisonError::into_inner).take();
        error.map_or(Ok(()), Err)
    }

    /// The format asked for, or else the command's own: text for people or JSON.
    pub fn format(&self, default: Format) -> Format {
        match self.format {
            Some(WideFormat::Json) => Format::Json,
            Some(_) => Format::Human,
            None => default,
        }
    }

    /// The format asked for, of those in which pictures are written too.
    pub fn picture_format(&self) -> WideFormat {
        self.format.unwrap_or(WideFormat::Text)
    }

    /// Refuses the formats of pictures.
    pub fn check_format(&self) -> Result<(), CommandError> {
        match self.format {
            None | Some(WideFormat::Human | WideFormat::Json) => Ok(()),
            Some(_) => {
                let error = anyhow::anyhow!("only `graph` writes this format");
                Err(CommandError::usage(error).hint("use --format human or --format json"))
            }
        }
    }

    /// Writes a result. A line end is added where there is none.
    pub fn print(&self, text: &str) -> Result<(), CommandError> {
        let mut out = io::stdout().lock();
        out.write_all(text.as_bytes())?;
        if !text.ends_with('\n') {
            out.write_all(b"\n")?;
        }
        out.flush()?;
        Ok(())
    }

    /// Writes a result as JSON in one line, piece by piece.
    pub fn print_json(&self, value: &impl serde::Serialize) -> Result<(), CommandError> {
        let mut text = in_plain_letters(serde_json::to_string(value).map_err(io::Error::from)?);
        text.push('\n');
        let mut out = io::stdout().lock();
        out.write_all(text.as_bytes())?;
        out.flush()?;
        Ok(())
    }

    /// Writes an error, for people or as JSON, as was asked for.
    pub fn report(&self, error: &CommandError) {
        if error.kind == ErrorKind::BrokenPipe {
            return;
        }
        let text =
            if self.format == Some(WideFormat::Json) { as_json(error) } else { as_text(error) };
        // There is nobody left to tell when standard error is gone.
        let _ = io::stderr().lock().write_all(text.as_bytes());
    }

    /// Tells how things go, in one line.
    pub fn note(&self, line: &str) {
        let clear = if io::stderr().is_terminal() { "\r\x1b[K" } else { "" };
        // Nobody has to listen.
        let _ = writeln!(io::stderr().lock(), "{clear}{line}");
    }

    /// The same in a line that the next one replaces, if somebody watches.
    pub fn live(&self, line: &str) {
        let mut stream = io::stderr().lock();
        if stream.is_terminal() {
            let _ = write!(stream, "\r\x1b[K{line}").and_then(|()| stream.flush());
        }
    }

    /// Asks a question that is answered with yes or no; `None` if there is nobody to answer.
    pub fn ask(&self, question: &str) -> Result<Option<bool>, CommandError> {
        if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
            return Ok(None);
        }
        let mut stream = io::stderr().lock();
        write!(stream, "{question} [y/N] ")?;
        stream.flush()?;
        let mut answer = String::new();
        io::stdin().read_line(&mut answer)?;
        Ok(Some(matches!(answer.trim(), "y" | "Y" | "yes")))
    }

    /// Asks somebody at a terminal for a line; `None` if there is nobody, or nothing is said.
    pub fn ask_for(&self, what: &str) -> Result<Option<String>, CommandError> {
        if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
            return Ok(None);
        }
        let mut stream = io::stderr().lock();
        write!(stream, "{what} ")?;
        stream.flush()?;
        let mut answer = String::new();
        io::stdin().read_line(&mut answer)?;
        Ok(Some(answer.trim().to_owned()).filter(|answer| !answer.is_empty()))
    }

    /// One line of standard input; at a terminal it is asked for.
    pub fn line(&self, what: &str) -> Result<String, CommandError> {
        if io::stdin().is_terminal() && io::stderr().is_terminal() {
            let mut stream = io::stderr().lock();
            write!(stream, "{what} ")?;
            stream.flush()?;
        }
        let mut line = String::new();
        io::stdin().read_line(&mut line)?;
        Ok(line.trim().to_owned())
    }

    /// Writes what people should know although the command goes on.
    pub fn warn(&self, text: &str) {
        warn(text);
    }

    /// Writes a longer text that explains what is wrong.
    pub fn explain(&self, text: &str) {
        let end = if text.ends_with('\n') { "" } else { "\n" };
        // There is nobody left to tell when standard error is gone.
        let _ = write!(io::stderr().lock(), "{text}{end}");
    }

    /// Whether what is said about errors may be coloured.
    pub fn is_colourful_for_errors(&self) -> bool {
        may_be_colourful(self.config().color(), io::stderr().is_terminal())
    }

    /// Whether results may be coloured.
    pub fn is_colourful(&self) -> bool {
        may_be_colourful(self.config().color(), io::stdout().is_terminal())
    }

    /// Columns of the terminal.
    pub fn width(&self) -> usize {
        let asked = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
        asked.or_else(terminal_width).unwrap_or(WIDTH_DEFAULT).clamp(40, 400)
    }
}

/// Writes what people should know although the command goes on.
pub(crate) fn warn(text: &str) {
    // There is nobody left to tell when standard error is gone.
    let _ = writeln!(io::stderr().lock(), "warning: {text}");
}

fn may_be_colourful(choice: ColorChoice, is_terminal: bool) -> bool {
    let is_refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    match choice {
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        ColorChoice::Auto => !is_refused && is_terminal,
    }
}

fn terminal_width() -> Option<usize> {
    let (width, _) = terminal_size::terminal_size_of(io::stdout())?;
    (width.0 > 0).then_some(usize::from(width.0))
}

fn as_text(error: &CommandError) -> String {
    // Whatever became of it on its way here, nothing in it is obeyed.
    let mut text = format!("error: {}\n", block(&format!("{:#}", error.error)));
    if let Some(excerpt) = &error.excerpt {
        for line in excerpt.lines() {
            text.push_str("  ");
            text.push_str(&harmless(line));
            text.push('\n');
        }
    }
    for hint in &error.hints {
        text.push_str(&format!("hint: {}\n", harmless(hint)));
    }
    text
}

fn as_json(error: &CommandError) -> String {
    // There is nothing in it that could not be written.
    let text = serde_json::to_string(&error.refused()).unwrap_or_default();
    format!("{}\n", in_plain_letters(text))
}

/// JSON in which nothing is left that a terminal would obey: those control characters are escaped as well that it lets through, from
/// U+007F to U+009F. They stand in texts only, where that means the same.
pub(crate) fn in_plain_letters(json: String) -> String {
    let is_left = |letter: char| matches!(letter, '\u{7f}'..='\u{9f}');
    if !json.contains(is_left) {
        return json;
    }
    let mut plain = String::with_capacity(json.len() + 64);
    for letter in json.chars() {
        match is_left(letter) {
            true => plain.push_str(&format!("\\u{:04x}", u32::from(letter))),
            false => plain.push(letter),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_an_error_is_obeyed_by_a_terminal() {
        let error = CommandError::input(anyhow::anyhow!("no \u{1b}[2J such\nrun \u{202e}x"))
            .excerpt("a\u{9b}31m\n^")
            .hint("did you mean `\u{200b}`?");
        assert_eq!(
            as_text(&error),
            "error: no \\u{1b}[2J such\nrun \\u{202e}x\n  a\\u{9b}31m\n  ^\n\
             hint: did you mean `\\u{200b}`?\n"
        );
    }

    #[test]
    fn nothing_in_a_document_is_obeyed_by_a_terminal() {
        let error = CommandError::input(anyhow::anyhow!("\u{1b}[2J \u{9b}31m \u{7f}\u{85} ü"));
        let text = as_json(&error);
        assert!(text.contains("\\u001b[2J \\u009b31m \\u007f\\u0085 ü"), "{text}");
        assert!(serde_json::from_str::<serde_json::Value>(&text).is_ok(), "{text}");
    }

    #[test]
    fn an_error_is_a_sentence_a_drawing_and_hints() {
        let error = CommandError::input(anyhow::anyhow!("minute 61 is out of range"))
            .excerpt("61 * * * *\n^^")
            .position(0)
            .hint("minutes go from 0 to 59");
        assert_eq!(
            as_text(&error),
            "error: minute 61 is out of range\n  61 * * * *\n  ^^\nhint: minutes go from 0 to 59\n"
        );
        assert_eq!(
            as_json(&error),
            "{\"error\":{\"kind\":\"input\",\"exit_code\":3,\"message\":\"minute 61 is out of range\",\
             \"hints\":[\"minutes go from 0 to 59\"],\"position\":0}}\n"
        );
    }
}
