//! [`Key`]: what the keys of the view mean, and how they come as bytes from a terminal.
//!
//! Reading them is up to `terminal` and `display`; Ctrl-C and Ctrl-Z are signals, never keys.

/// A key that means something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    /// `p`: start nothing new for now.
    Pause,
    /// `r`: go on.
    Resume,
    /// `q`: start nothing more, let what runs finish, and leave.
    Quit,
    /// `a`: show all steps.
    All,
    /// `w`: show the steps that matter now.
    Window,
    /// `f`: show failed steps.
    Failed,
    /// `l`: show the latest output.
    Log,
    /// A row up.
    Up,
    /// A row down.
    Down,
    /// A page up.
    PageUp,
    /// A page down.
    PageDown,
    /// To the first row.
    Top,
    /// To the last row.
    Bottom,
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
    pub fn push(&mut self, byte: u8) -> Option<Key> {
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

fn letter(byte: u8) -> Option<Key> {
    Some(match byte.to_ascii_lowercase() {
        b'p' => Key::Pause,
        b'r' => Key::Resume,
        b'q' => Key::Quit,
        b'a' => Key::All,
        b'w' => Key::Window,
        b'f' => Key::Failed,
        b'l' => Key::Log,
        b'k' => Key::Up,
        b'j' => Key::Down,
        b' ' => Key::PageDown,
        b'g' => {
            if byte == b'G' {
                Key::Bottom
            } else {
                Key::Top
            }
        }
        _ => return None,
    })
}

fn arrow(byte: u8) -> Option<Key> {
    Some(match byte {
        b'A' => Key::Up,
        b'B' => Key::Down,
        b'H' => Key::Top,
        b'F' => Key::Bottom,
        _ => return None,
    })
}

fn numbered(number: u16) -> Option<Key> {
    Some(match number {
        1 | 7 => Key::Top,
        4 | 8 => Key::Bottom,
        5 => Key::PageUp,
        6 => Key::PageDown,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(bytes: &[u8]) -> Vec<Key> {
        let mut decoder = Decoder::default();
        bytes.iter().filter_map(|&byte| decoder.push(byte)).collect()
    }

    #[test]
    fn letters_are_keys_in_either_case() {
        use Key::{All, Failed, Log, Pause, Quit, Resume, Window};
        let all = [Pause, Resume, Quit, All, Window, Failed, Log];
        assert_eq!(keys(b"prqawfl"), all);
        assert_eq!(keys(b"PRQAWFL"), all);
        assert_eq!(keys(b"xyz123\x03\x1a"), []);
    }

    #[test]
    fn arrows_and_pages_scroll() {
        use Key::{Bottom, Down, PageDown, PageUp, Top, Up};
        assert_eq!(keys(b"\x1b[A\x1b[B\x1bOA\x1bOB\x1b[1;5A"), [Up, Down, Up, Down, Up]);
        assert_eq!(
            keys(b"\x1b[5~\x1b[6~\x1b[H\x1b[F\x1b[1~"),
            [PageUp, PageDown, Top, Bottom, Top]
        );
        assert_eq!(keys(b"gG"), [Top, Bottom]);
    }

    #[test]
    fn letters_in_sequences_are_no_keys() {
        assert_eq!(keys(b"\x1bp\x1b[15~\x1b[?1;2c\x1b[200p\x1bOq\x1b[I"), []);
        assert_eq!(keys(b"\x1b]11;rgb:ffff/aaaa/pppp\x07q"), [Key::Quit]);
        assert_eq!(keys(b"\x1bP1$r0q\x1b\\q"), [Key::Quit]);
    }

    #[test]
    fn pasted_text_is_no_keys() {
        assert_eq!(keys(b"\x1b[200~quit all \x1b[Aapp\x1b[201~q"), [Key::Quit]);
    }

    #[test]
    fn a_lone_escape_swallows_no_more_than_one_letter() {
        assert_eq!(keys(b"\x1b\x1bxq"), [Key::Quit]);
        let mut decoder = Decoder::default();
        assert_eq!(decoder.push(0x1b), None);
        decoder.settle();
        assert_eq!(decoder.push(b'q'), Some(Key::Quit));
    }
}
