//! [`Theme`]: how tones look on this terminal.
//!
//! What has which tone is decided by whoever writes a line. No colour ever says more than the words do.

use ratatui::style::{Color, Modifier, Style};

use crate::run::{ASCII, Look, Signs, Tone, UNICODE};

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

    /// The style of the selected row.
    #[must_use]
    pub fn selected(&self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
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
