//! Keys of the live view of `tidewheel run`.
//!
//! What they mean is in [`crate::keys`], and how they are decoded in [`crate::input`]. Ctrl-C and Ctrl-Z are signals there,
//! never keys.

use ratatui::crossterm::event::{Event, KeyCode, KeyEvent};

use crate::keys::{Action, action};
use crate::model::Screen;

/// What a key does where a run is watched and nothing else, if it does anything there.
#[must_use]
pub fn pressed(event: &Event) -> Option<Action> {
    let &Event::Key(key) = event else { return None };
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::Decoder;

    fn keys(bytes: &[u8]) -> Vec<Action> {
        let mut decoder = Decoder::default();
        bytes.iter().filter_map(|&byte| pressed(&decoder.push(byte)?)).collect()
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
        assert_eq!(decoder.push(b'q').as_ref().and_then(pressed), Some(Action::Quit));
    }
}
