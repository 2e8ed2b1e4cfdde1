//! [`Decoder`]: keys, the mouse and pasted text, found in the bytes that a terminal sends.
//!
//! It is pure: reading the bytes, and noticing that none follow an escape, is up to the caller.

use ratatui::crossterm::event::{
    Event, KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind,
};

/// Begins a sequence, and is the key of that name if nothing follows it.
const ESCAPE: u8 = 0x1b;

/// Ends pasted text.
const PASTE_END: &[u8] = b"\x1b[201~";

/// Bytes of pasted text that are kept, and of the parameters of a sequence.
const PASTE_MAX: usize = 64 * 1024;
const PARAMETERS_MAX: usize = 64;

/// Decodes bytes, which may come in pieces. Unknown sequences are dropped whole, so that their letters are not taken for
/// keys.
#[derive(Debug, Default)]
pub struct Decoder {
    state: State,
    /// Bytes of an unfinished sequence, letter or paste.
    kept: Vec<u8>,
}

#[derive(Debug, Default, Clone, Copy)]
enum State {
    #[default]
    Ground,
    /// After an escape.
    Escape,
    /// In a letter that has more than one byte, with the number of those that are missing.
    Letter(u8),
    /// In a sequence with parameters.
    Sequence,
    /// After `ESC O`.
    Single,
    /// Before the last byte of a function key of the Linux console.
    Console,
    /// In a report of the mouse as of old, with the number of missing bytes.
    Mouse(u8),
    /// In a text that the terminal sends, such as an answer; the flag says that the last byte was an escape.
    Text(bool),
    /// In pasted text, with so many bytes of its end.
    Pasted(usize),
}

impl Decoder {
    /// Whether an escape came last, which is a key unless more follows soon.
    #[must_use]
    pub fn is_escaped(&self) -> bool {
        matches!(self.state, State::Escape)
    }

    /// Returns the escape key if nothing followed the last escape in time.
    pub fn settle(&mut self) -> Option<Event> {
        let is_escaped = self.is_escaped();
        if is_escaped {
            self.state = State::Ground;
        }
        is_escaped.then(|| key(KeyCode::Esc))
    }

    /// Takes a byte and returns the event that it completes.
    pub fn push(&mut self, byte: u8) -> Option<Event> {
        let (state, event) = match (self.state, byte) {
            (State::Pasted(matched), byte) => self.pasted(matched, byte),
            (State::Text(true), b'\\') | (State::Text(_), 0x07) => (State::Ground, None),
            (State::Text(_), byte) => (State::Text(byte == ESCAPE), None),
            (State::Mouse(missing), byte) => self.old_mouse(missing, byte),
            (State::Letter(missing), 0x80..=0xbf) => self.letter(missing, byte),
            // The one before was the key.
            (State::Escape, ESCAPE) => (State::Escape, Some(key(KeyCode::Esc))),
            (_, ESCAPE) => (State::Escape, None),
            (State::Ground | State::Letter(_), byte) => self.first(byte),
            (State::Escape, b'[') => {
                self.kept.clear();
                (State::Sequence, None)
            }
            (State::Escape, b'O') => (State::Single, None),
            (State::Escape, b']' | b'P' | b'X' | b'^' | b'_') => (State::Text(false), None),
            // Alt with a letter is no key of ours.
            (State::Escape | State::Console, _) => (State::Ground, None),
            (State::Single, byte) => (State::Ground, arrow(byte).map(key)),
            (State::Sequence, b' '..=b'?') => {
                self.keep(byte, PARAMETERS_MAX);
                (State::Sequence, None)
            }
            (State::Sequence, b'[') if self.kept.is_empty() => (State::Console, None),
            (State::Sequence, b'M') if self.kept.is_empty() => (State::Mouse(3), None),
            (State::Sequence, b'~') if self.kept == b"200" => {
                self.kept.clear();
                (State::Pasted(0), None)
            }
            (State::Sequence, byte) => (State::Ground, sequence(&self.kept, byte)),
        };
        self.state = state;
        event
    }

    fn keep(&mut self, byte: u8, most: usize) {
        if self.kept.len() < most {
            self.kept.push(byte);
        }
    }

    /// Takes the first byte of a key.
    fn first(&mut self, byte: u8) -> (State, Option<Event>) {
        let missing = match byte {
            0xc2..=0xdf => 1,
            0xe0..=0xef => 2,
            0xf0..=0xf4 => 3,
            byte => return (State::Ground, letter(byte)),
        };
        self.kept.clear();
        self.kept.push(byte);
        (State::Letter(missing), None)
    }

    /// Takes another byte of a letter.
    fn letter(&mut self, missing: u8, byte: u8) -> (State, Option<Event>) {
        self.kept.push(byte);
        if missing > 1 {
            return (State::Letter(missing - 1), None);
        }
        let letter = std::str::from_utf8(&self.kept).ok().and_then(|text| text.chars().next());
        (State::Ground, letter.map(|letter| key(KeyCode::Char(letter))))
    }

    fn pasted(&mut self, matched: usize, byte: u8) -> (State, Option<Event>) {
        if byte == PASTE_END[matched] {
            if matched + 1 < PASTE_END.len() {
                return (State::Pasted(matched + 1), None);
            }
            let text = String::from_utf8_lossy(&std::mem::take(&mut self.kept)).into_owned();
            return (State::Ground, Some(Event::Paste(text)));
        }
        // It was not the end.
        PASTE_END[..matched].iter().for_each(|&byte| self.keep(byte, PASTE_MAX));
        if byte == ESCAPE {
            return (State::Pasted(1), None);
        }
        self.keep(byte, PASTE_MAX);
        (State::Pasted(0), None)
    }

    /// Takes a byte of a mouse report of the form `ESC [ M` and three bytes.
    fn old_mouse(&mut self, missing: u8, byte: u8) -> (State, Option<Event>) {
        self.kept.push(byte);
        if missing > 1 {
            return (State::Mouse(missing - 1), None);
        }
        let part = |place: usize| u16::from(self.kept[place]).checked_sub(32);
        let parts = part(0).zip(part(1)).zip(part(2));
        (State::Ground, parts.and_then(|((button, column), row)| mouse(button, column, row)))
    }
}

/// Returns the event of a sequence with these parameters.
fn sequence(parameters: &[u8], last: u8) -> Option<Event> {
    let is_new_mouse = parameters.first() == Some(&b'<');
    let text = std::str::from_utf8(parameters).unwrap_or_default();
    let mut numbers = text.trim_start_matches('<').split(';').map(str::parse::<u16>);
    let mut number = || numbers.next()?.ok();
    match last {
        b'M' => {
            let (button, column, row) = (number()?, number()?, number()?);
            let button = if is_new_mouse { button } else { button.checked_sub(32)? };
            mouse(button, column, row)
        }
        b'~' => numbered(number()?).map(key),
        b'Z' => Some(key(KeyCode::BackTab)),
        last => arrow(last).map(key),
    }
}

/// Returns what the mouse did, of what the screens react to. Columns and rows are counted from 1.
fn mouse(button: u16, column: u16, row: u16) -> Option<Event> {
    // Without the bits of the modifier keys.
    let kind = match button & !0b1_1100 {
        0 => MouseEventKind::Down(MouseButton::Left),
        64 => MouseEventKind::ScrollUp,
        65 => MouseEventKind::ScrollDown,
        _ => return None,
    };
    let (column, row) = (column.checked_sub(1)?, row.checked_sub(1)?);
    Some(Event::Mouse(MouseEvent { kind, column, row, modifiers: KeyModifiers::NONE }))
}

fn key(code: KeyCode) -> Event {
    Event::Key(KeyEvent::from(code))
}

fn letter(byte: u8) -> Option<Event> {
    let char_of = |byte: u8| KeyCode::Char(char::from(byte));
    let control = |letter: u8| Event::Key(KeyEvent::new(char_of(letter), KeyModifiers::CONTROL));
    Some(match byte {
        b'\r' => key(KeyCode::Enter),
        b'\t' => key(KeyCode::Tab),
        0x7f => key(KeyCode::Backspace),
        0x01..=0x1a => control(byte + b'a' - 1),
        b' '..=b'~' => key(char_of(byte)),
        _ => return None,
    })
}

fn arrow(byte: u8) -> Option<KeyCode> {
    Some(match byte {
        b'A' => KeyCode::Up,
        b'B' => KeyCode::Down,
        b'C' => KeyCode::Right,
        b'D' => KeyCode::Left,
        b'H' => KeyCode::Home,
        b'F' => KeyCode::End,
        _ => return None,
    })
}

fn numbered(number: u16) -> Option<KeyCode> {
    Some(match number {
        1 | 7 => KeyCode::Home,
        3 => KeyCode::Delete,
        4 | 8 => KeyCode::End,
        5 => KeyCode::PageUp,
        6 => KeyCode::PageDown,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(bytes: &[u8]) -> Vec<Event> {
        let mut decoder = Decoder::default();
        let mut events: Vec<Event> = bytes.iter().filter_map(|&byte| decoder.push(byte)).collect();
        events.extend(decoder.settle());
        events
    }

    fn codes(bytes: &[u8]) -> Vec<KeyCode> {
        let code = |event| match event {
            Event::Key(key) => key.code,
            other => panic!("{other:?}"),
        };
        events(bytes).into_iter().map(code).collect()
    }

    #[test]
    fn keys_of_forms_and_lists_are_decoded() {
        use KeyCode::{BackTab, Backspace, Char, Delete, Down, End, Enter, Esc, Home};
        use KeyCode::{Left, PageDown, PageUp, Right, Tab, Up};
        assert_eq!(codes(b"a\r\t\x7f\x1b[Z"), [Char('a'), Enter, Tab, Backspace, BackTab]);
        assert_eq!(codes(b"\x1b[A\x1bOB\x1b[C\x1bOD"), [Up, Down, Right, Left]);
        assert_eq!(
            codes(b"\x1b[H\x1b[4~\x1b[3~\x1b[5~\x1b[6~"),
            [Home, End, Delete, PageUp, PageDown]
        );
        assert_eq!(codes("ä€🌊x".as_bytes()), ['ä', '€', '🌊', 'x'].map(Char));
        assert_eq!(codes(b"\xff\xc3x\x80y"), ['x', 'y'].map(Char), "no letters in no encoding");
        assert_eq!(codes(b"\x1b"), [Esc]);
        assert_eq!(codes(b"\x1b\x1b[A"), [Esc, Up]);
        assert_eq!(codes(b"\x1b[[Ax"), [Char('x')], "a function key of the Linux console");
        let control = KeyEvent::new(Char('z'), KeyModifiers::CONTROL);
        assert_eq!(events(b"\x1a"), [Event::Key(control)]);
    }

    #[test]
    fn the_mouse_is_decoded_in_each_encoding() {
        let at = |kind| {
            Event::Mouse(MouseEvent { kind, column: 9, row: 4, modifiers: KeyModifiers::NONE })
        };
        let press = || at(MouseEventKind::Down(MouseButton::Left));
        assert_eq!(events(b"\x1b[<0;10;5M\x1b[<0;10;5m"), [press()], "letting go is nothing");
        assert_eq!(events(b"\x1b[32;10;5M\x1b[35;10;5M"), [press()]);
        assert_eq!(events(b"\x1b[M\x20\x2a\x25\x1b[M\x23\x2a\x25"), [press()]);
        let wheel = [at(MouseEventKind::ScrollUp), at(MouseEventKind::ScrollDown)];
        assert_eq!(events(b"\x1b[<64;10;5M\x1b[<65;10;5M"), wheel);
        assert_eq!(events(b"\x1b[<35;10;5M\x1b[<0;0;0M\x1b[<0M\x1b[M\x00\x00\x00"), []);
    }

    #[test]
    fn pasted_text_comes_as_one() {
        let pasted = |text: &str| Event::Paste(text.to_owned());
        assert_eq!(events("\x1b[200~yes ö\r\x1b[201~".as_bytes()), [pasted("yes ö\r")]);
        let inner = events(b"\x1b[200~\x1b\x1b[A\x1b[20\x1b[201~");
        assert_eq!(inner, [pasted("\x1b\x1b[A\x1b[20")]);
        let long = [b"\x1b[200~".to_vec(), vec![b'x'; 2 * PASTE_MAX], PASTE_END.to_vec()].concat();
        assert_eq!(events(&long), [pasted(&"x".repeat(PASTE_MAX))]);
    }
}
