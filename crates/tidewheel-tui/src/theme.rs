//! [`Theme`]: how tones look on this terminal.
//!
//! What has which tone is decided by whoever writes a line. No colour ever says more than the words do.

use ratatui::backend::IntoCrossterm as _;
use ratatui::crossterm::style::{PrintStyledContent, StyledContent};
use ratatui::style::{Color, Modifier, Style};

use crate::run::{ASCII, Line, Look, Signs, Tone, UNICODE, push_ascii};

/// How tones look.
#[derive(Debug, Clone, Copy)]
pub struct Theme {
    /// Whether there are colours; without them there are bold, faint and reversed letters.
    pub is_colourful: bool,
    /// Whether there is more than ASCII.
    pub is_unicode: bool,
    /// The signs.
    pub signs: &'static Signs,
}

impl Theme {
    /// As a terminal allows it.
    #[must_use]
    pub fn new(look: Look) -> Self {
        let signs = if look.is_unicode { &UNICODE } else { &ASCII };
        Self { is_colourful: look.is_colourful, is_unicode: look.is_unicode, signs }
    }

    /// The style of a tone. Only the sixteen colours that people choose themselves are used.
    #[must_use]
    pub fn style(&self, tone: Tone) -> Style {
        let style = Style::new();
        let colour = |colour| if self.is_colourful { style.fg(colour) } else { style };
        match tone {
            Tone::Plain => style,
            Tone::Strong => style.add_modifier(Modifier::BOLD),
            Tone::Faint => style.add_modifier(Modifier::DIM),
            Tone::Good => colour(Color::Green),
            Tone::Bad => colour(Color::Red).add_modifier(Modifier::BOLD),
            Tone::Doubtful => colour(Color::Yellow),
            Tone::Active => colour(Color::Cyan),
        }
    }

    /// A line as bytes for a terminal or a log, without spaces at the end.
    #[must_use]
    pub fn paint(&self, line: &Line) -> String {
        let pieces: Vec<(&str, Tone)> = line.pieces().collect();
        let end = pieces.iter().rposition(|(text, _)| !text.trim_end().is_empty());
        let shown = end.map_or(&pieces[..0], |last| &pieces[..=last]);
        let mut painted = String::new();
        for (place, (text, tone)) in shown.iter().enumerate() {
            let text = if place + 1 == shown.len() { text.trim_end() } else { text };
            let text = self.shown(text);
            let style = if text.trim().is_empty() { Style::new() } else { self.style(*tone) };
            match style == Style::new() || !self.is_colourful {
                true => painted.push_str(&text),
                false => {
                    let content = StyledContent::new(style.into_crossterm(), text);
                    painted.push_str(&PrintStyledContent(content).to_string());
                }
            }
        }
        painted
    }

    /// A text as this terminal can show it.
    #[must_use]
    pub fn shown(&self, text: &str) -> String {
        if self.is_unicode {
            return text.to_owned();
        }
        let mut ascii = String::new();
        push_ascii(&mut ascii, &plain(text));
        ascii
    }

    /// The style of the selected row, in place of all others.
    #[must_use]
    pub fn selected(&self) -> Style {
        match self.is_colourful {
            true => Style::new().fg(Color::Black).bg(Color::Cyan),
            false => Style::new().add_modifier(Modifier::REVERSED),
        }
    }

    /// The style of a place in which something was found.
    #[must_use]
    pub fn found(&self) -> Style {
        match self.is_colourful {
            true => Style::new().fg(Color::Black).bg(Color::Yellow),
            false => Style::new().add_modifier(Modifier::REVERSED),
        }
    }

    /// The style of letters in a log, from words such as `f1 b`: colours and marks that a program wrote.
    #[must_use]
    pub fn written(&self, words: &str) -> Style {
        let mut style = Style::new();
        for word in words.split(' ') {
            let number = || word.get(1..)?.parse::<u8>().ok().filter(|number| *number < 16);
            style = match word.as_bytes().first() {
                Some(b'f') if self.is_colourful => {
                    number().map_or(style, |number| style.fg(Color::Indexed(number)))
                }
                Some(b'g') if self.is_colourful => {
                    number().map_or(style, |number| style.bg(Color::Indexed(number)))
                }
                Some(b'b') => style.add_modifier(Modifier::BOLD),
                Some(b'd') => style.add_modifier(Modifier::DIM),
                Some(b'i') => style.add_modifier(Modifier::ITALIC),
                Some(b'u') => style.add_modifier(Modifier::UNDERLINED),
                _ => style,
            };
        }
        style
    }
}

/// Lines and corners in ASCII.
fn plain(text: &str) -> String {
    let letter = |letter| match letter {
        '─' | '━' | '—' => '-',
        '│' | '┃' => '|',
        '\u{2500}'..='\u{257f}' => '+',
        '▁'..='▇' | '█' | '▓' => '#',
        '░' => '.',
        '·' => '.',
        '→' => '>',
        '←' => '<',
        '↑' => '^',
        '↓' => 'v',
        '–' => '-',
        '⊘' => '/',
        '✓' => '+',
        '✗' => 'x',
        '▶' => '>',
        '○' => 'o',
        '●' => '*',
        '…' => '~',
        other => other,
    };
    text.chars().map(letter).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paint_is_plain_where_asked() {
        let line = Line::new().with(Tone::Good, "✓").with(Tone::Plain, " 東  ");
        let paint = |is_colourful, is_unicode| {
            Theme::new(Look { is_live: true, is_colourful, is_unicode }).paint(&line)
        };
        assert_eq!(paint(true, true), "\x1b[38;5;2m✓\x1b[39m 東");
        assert_eq!(paint(false, true), "✓ 東");
        assert_eq!(paint(false, false), "+ ??");
    }
}
