//! Keys of the live view of `tidewheel run`, as they come in bytes from a terminal.
//!
//! What they mean is in [`crate::keys`]. Reading them is up to whoever has the terminal; Ctrl-C and Ctrl-Z are signals there,
//! never keys.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::keys::{Action, action};
use crate::model::Screen;

/// What a key does where a run is watched and nothing else, if it does anything there.
#[must_use]
pub fn pressed(key: KeyEvent) -> Option<Action> {
    use Action::{All, Bottom, Down, Failed, Log, PageDown, PageUp, Pause, Quit};
    use Action::{Resume, Top, Up, Window};
    let lower = match key.code {
        KeyCode::Char(letter) => KeyCode::Char(letter.to_ascii_lowercase()),
        code => code,
    };
    // Letters are keys in either case, unless both mean something.
    let meant = action(Screen::Run, key);
    let meant = meant.or_else(|| action(Screen::Run, KeyEvent::new(lower, key.modifiers)))?;
    let known =
        [Pause, Resume, Quit, All, Window, Failed, Log, Up, Down, PageUp, PageDown, Top, Bottom];
    known.contains(&meant).then_some(meant)
}

/// Finds keys in bytes, which may come in pieces. Sequences it does not know are passed over whole,
/// so that their letters are not taken for keys.
#[derive(Debug, Default)]
pub struct Decoder {
    state: State,
}

#[derive(Debug, Default, Clone, Copy)]
enum State {
    #[default]
    Ground,
    /// After an escape.
    Escape,
    /// In a sequence with parameters; the first number is kept.
    Sequence(u16),
    /// After `ESC O`.
    Single,
    /// In a text that the terminal sends, such as an answer; the flag says that the last byte was
    /// an escape.
    Text(bool),
    /// In pasted text.
    Pasted,
    /// In a sequence within pasted text, with its number.
    PastedSequence(u16),
}

/// Begins and ends pasted text.
const PASTE_BEGIN: u16 = 200;
const PASTE_END: u16 = 201;

impl Decoder {
    /// Time has passed: an escape that nothing followed was the key of that name.
    pub fn settle(&mut self) {
        if matches!(self.state, State::Escape) {
            self.state = State::Ground;
        }
    }

    /// Takes in a byte and gives the key that it completes.
    pub fn push(&mut self, byte: u8) -> Option<KeyEvent> {
        let mut key = None;
        self.state = match (self.state, byte) {
            (State::Text(true), b'\\') | (State::Text(_), 0x07) => State::Ground,
            (State::Text(_), byte) => State::Text(byte == 0x1b),
            (State::Pasted | State::PastedSequence(_), 0x1b) => State::PastedSequence(0),
            (State::PastedSequence(number), b'[') => State::PastedSequence(number),
            (State::PastedSequence(number), b'0'..=b'9') => {
                State::PastedSequence(append(number, byte))
            }
            (State::PastedSequence(PASTE_END), b'~') => State::Ground,
            (State::Pasted | State::PastedSequence(_), _) => State::Pasted,
            (_, 0x1b) => State::Escape,
            (State::Ground, byte) => {
                key = letter(byte);
                State::Ground
            }
            (State::Escape, b'[') => State::Sequence(0),
            (State::Escape, b'O') => State::Single,
            (State::Escape, b']' | b'P' | b'X' | b'^' | b'_') => State::Text(false),
            // Alt with a letter is no key of ours.
            (State::Escape, _) => State::Ground,
            (State::Single, byte) => {
                key = arrow(byte);
                State::Ground
            }
            (State::Sequence(number), b'0'..=b'9') => State::Sequence(append(number, byte)),
            (State::Sequence(number), b' '..=b'?') => State::Sequence(number),
            (State::Sequence(PASTE_BEGIN), b'~') => State::Pasted,
            (State::Sequence(number), byte) => {
                key = if byte == b'~' { numbered(number) } else { arrow(byte) };
                State::Ground
            }
        };
        key
    }
}

fn append(number: u16, digit: u8) -> u16 {
    number.saturating_mul(10).saturating_add(u16::from(digit - b'0'))
}

fn letter(byte: u8) -> Option<KeyEvent> {
    let control = |letter: u8| KeyEvent::new(char_of(letter), KeyModifiers::CONTROL);
    Some(match byte {
        0x01..=0x1a => control(byte + b'a' - 1),
        b' '..=b'~' => KeyEvent::from(char_of(byte)),
        _ => return None,
    })
}

fn char_of(byte: u8) -> KeyCode {
    KeyCode::Char(char::from(byte))
}

fn arrow(byte: u8) -> Option<KeyEvent> {
    Some(KeyEvent::from(match byte {
        b'A' => KeyCode::Up,
        b'B' => KeyCode::Down,
        b'H' => KeyCode::Home,
        b'F' => KeyCode::End,
        _ => return None,
    }))
}

fn numbered(number: u16) -> Option<KeyEvent> {
    Some(KeyEvent::from(match number {
        1 | 7 => KeyCode::Home,
        4 | 8 => KeyCode::End,
        5 => KeyCode::PageUp,
        6 => KeyCode::PageDown,
        _ => return None,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(bytes: &[u8]) -> Vec<Action> {
        let mut decoder = Decoder::default();
        bytes.iter().filter_map(|&byte| pressed(decoder.push(byte)?)).collect()
    }

    #[test]
    fn letters_are_keys_in_either_case() {
        use Action::{All, Failed, Log, Pause, Quit, Resume, Window};
        let all = [Pause, Resume, Quit, All, Window, Failed, Log];
        assert_eq!(keys(b"prqawfl"), all);
        assert_eq!(keys(b"PRQAWFL"), all);
        assert_eq!(keys(b"xyz123\x03\x1a"), []);
    }

    #[test]
    fn arrows_and_pages_scroll() {
        use Action::{Bottom, Down, PageDown, PageUp, Top, Up};
        assert_eq!(keys(b"\x1b[A\x1b[B\x1bOA\x1bOB\x1b[1;5A"), [Up, Down, Up, Down, Up]);
        assert_eq!(
            keys(b"\x1b[5~\x1b[6~\x1b[H\x1b[F\x1b[1~"),
            [PageUp, PageDown, Top, Bottom, Top]
        );
        assert_eq!(keys(b"gGkj \x02\x06"), [Top, Bottom, Up, Down, PageDown, PageUp, PageDown]);
    }

    #[test]
    fn letters_in_sequences_are_no_keys() {
        assert_eq!(keys(b"\x1bp\x1b[15~\x1b[?1;2c\x1b[200p\x1bOq\x1b[I"), []);
        assert_eq!(keys(b"\x1b]11;rgb:ffff/aaaa/pppp\x07q"), [Action::Quit]);
        assert_eq!(keys(b"\x1bP1$r0q\x1b\\q"), [Action::Quit]);
    }

    #[test]
    fn pasted_text_is_no_keys() {
        assert_eq!(keys(b"\x1b[200~quit all \x1b[Aapp\x1b[201~q"), [Action::Quit]);
    }

    #[test]
    fn a_lone_escape_swallows_no_more_than_one_letter() {
        assert_eq!(keys(b"\x1b\x1bxq"), [Action::Quit]);
        let mut decoder = Decoder::default();
        assert_eq!(decoder.push(0x1b), None);
        decoder.settle();
        assert_eq!(decoder.push(b'q').and_then(pressed), Some(Action::Quit));
    }
}
