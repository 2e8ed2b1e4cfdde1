//! Which letters are dangerous, and how wide texts are.
//!
//! What formats make of dangerous letters is tried in [`super::formats`].

use crate::letters::{Hidden, columns, hidden, is_hidden};

#[test]
fn what_steers_turns_or_hides_is_known_for_what_it_is() {
    let cases = [
        (Hidden::Break, "\t\n\u{b}\u{c}\r\u{85}\u{2028}\u{2029}"),
        (Hidden::Direction, "\u{61c}\u{200e}\u{200f}\u{202a}\u{202e}\u{2066}\u{2069}\u{206f}"),
        (Hidden::Empty, "\u{ad}\u{34f}\u{17b4}\u{180b}\u{180e}\u{200b}\u{200c}\u{200d}\u{2060}"),
        (Hidden::Empty, "\u{2064}\u{feff}\u{1bca0}\u{1d173}"),
        (Hidden::Blank, "\u{115f}\u{1160}\u{3164}\u{ffa0}"),
        (Hidden::Control, "\0\u{7}\u{8}\u{1b}\u{7f}\u{80}\u{9b}\u{9d}\u{fff0}\u{fffb}\u{e0001}"),
        (Hidden::Control, "\u{e0041}\u{e01ef}\u{fffe}\u{ffff}\u{1fffe}\u{10ffff}\u{fdd0}"),
    ];
    for (kind, letters) in cases {
        for letter in letters.chars() {
            assert_eq!(hidden(letter), Some(kind), "{letter:?}");
        }
    }
}

#[test]
fn every_control_character_is_hidden_and_no_sign_is() {
    for letter in (0..=0x9f).filter_map(char::from_u32) {
        assert_eq!(is_hidden(letter), letter.is_control(), "{letter:?}");
    }
    for letter in "aZ09 ~\u{a0}äß東京اλ…—→○│❤\u{fe0f}e\u{301}\u{fffd}🦀\u{1f3fd}".chars()
    {
        assert!(!is_hidden(letter), "{letter:?}");
    }
}

#[test]
fn widths_are_those_of_terminals() {
    for (text, width) in [
        ("", 0),
        ("plain", 5),
        ("grün", 4),
        ("東京", 4),
        ("e\u{301}\u{301}", 1),
        ("❤", 1),
        ("❤\u{fe0f}", 2),
        ("🦀!", 3),
    ] {
        assert_eq!(columns(text), width, "{text:?}");
    }
}
