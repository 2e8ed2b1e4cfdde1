//! [`Style`]: how letters look, as far as a process may say: sixteen colours and a few marks.
//!
//! Where the words for it come from in a line is in [`super::signs`]; which colours those are on a screen is the
//! surface's business, so that they can be read on every ground.

/// No colour: that of the surface.
const NONE: u8 = 16;

const BOLD: u8 = 1;
const DIM: u8 = 1 << 1;
const ITALIC: u8 = 1 << 2;
const UNDERLINED: u8 = 1 << 3;
const STRUCK: u8 = 1 << 4;
const INVERSE: u8 = 1 << 5;

/// The letters that stand for marks.
const MARKS: [(u8, &str); 5] =
    [(BOLD, "b"), (DIM, "d"), (ITALIC, "i"), (UNDERLINED, "u"), (STRUCK, "s")];

/// Words of a sequence that are looked at.
const WORDS_MAX: usize = 32;

/// The sixteen colours, as terminals have them, to find the one that is nearest.
const COLOURS: [[u8; 3]; 16] = [
    [0, 0, 0],
    [205, 0, 0],
    [0, 205, 0],
    [205, 205, 0],
    [0, 0, 238],
    [205, 0, 205],
    [0, 205, 205],
    [229, 229, 229],
    [127, 127, 127],
    [255, 0, 0],
    [0, 255, 0],
    [255, 255, 0],
    [92, 92, 255],
    [255, 0, 255],
    [0, 255, 255],
    [255, 255, 255],
];

/// How letters look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Style {
    letters: u8,
    ground: u8,
    marks: u8,
}

impl Default for Style {
    fn default() -> Self {
        Self { letters: NONE, ground: NONE, marks: 0 }
    }
}

impl Style {
    /// Its words, of which there are few: `f0` to `f15` for the colour of letters, `g0` to `g15` for that of the ground, and `b`,
    /// `d`, `i`, `u`, `s` for bold, dim, italic, underlined and struck out. None of it comes from a log.
    #[must_use]
    pub fn words(self) -> String {
        let (mut letters, mut ground) = (self.letters, self.ground);
        if self.marks & INVERSE != 0 {
            // What had no colour of its own has that of the other side then.
            letters = if self.ground == NONE { 0 } else { self.ground };
            ground = if self.letters == NONE { 7 } else { self.letters };
        }
        let mut words = String::new();
        let mut say = |word: &str| {
            if !words.is_empty() {
                words.push(' ');
            }
            words.push_str(word);
        };
        for (side, colour) in [('f', letters), ('g', ground)] {
            if colour != NONE {
                say(&format!("{side}{colour}"));
            }
        }
        for (mark, word) in MARKS {
            if self.marks & mark != 0 {
                say(word);
            }
        }
        words
    }

    /// Takes in what stands between `ESC [` and `m`; says whether everything before it is undone by it.
    pub(super) fn take(&mut self, parameters: &[u8]) -> bool {
        let mut is_reset = false;
        let mut words = parameters.split(|byte| *byte == b';').take(WORDS_MAX);
        while let Some(word) = words.next() {
            let mut parts = word.split(|byte| *byte == b':').map(number);
            let code = parts.next().unwrap_or_default();
            let rest: Vec<u16> = parts.take(WORDS_MAX).collect();
            match code {
                38 | 48 | 58 if rest.is_empty() => {
                    let kind = words.next().map(number);
                    let count = match kind {
                        Some(5) => 1,
                        Some(2) => 3,
                        _ => 0,
                    };
                    let values: Vec<u16> = words.by_ref().take(count).map(number).collect();
                    self.colour(code, kind, &values);
                }
                // Between the kind and the values there may stand a number for a space of colours.
                38 | 48 | 58 => {
                    let values = if rest.len() > 4 { &rest[2..] } else { &rest[1..] };
                    self.colour(code, rest.first().copied(), values);
                }
                4 if rest.first() == Some(&0) => self.marks &= !UNDERLINED,
                code => is_reset |= self.plain(code),
            }
        }
        is_reset
    }

    /// A word without values; whether it undoes everything.
    fn plain(&mut self, code: u16) -> bool {
        // It is at most 107 in each of these arms.
        let at = |first: u16| (code - first) as u8;
        match code {
            0 => *self = Self::default(),
            1 => self.marks |= BOLD,
            2 => self.marks |= DIM,
            3 => self.marks |= ITALIC,
            4 | 21 => self.marks |= UNDERLINED,
            7 => self.marks |= INVERSE,
            9 => self.marks |= STRUCK,
            22 => self.marks &= !(BOLD | DIM),
            23 => self.marks &= !ITALIC,
            24 => self.marks &= !UNDERLINED,
            27 => self.marks &= !INVERSE,
            29 => self.marks &= !STRUCK,
            30..=37 => self.letters = at(30),
            39 => self.letters = NONE,
            40..=47 => self.ground = at(40),
            49 => self.ground = NONE,
            90..=97 => self.letters = at(90) + 8,
            100..=107 => self.ground = at(100) + 8,
            _ => {}
        }
        code == 0
    }

    /// A colour of 256, or of millions: the nearest of the sixteen.
    fn colour(&mut self, side: u16, kind: Option<u16>, values: &[u16]) {
        let byte = |value: u16| u8::try_from(value).unwrap_or(u8::MAX);
        let colour = match (kind, values) {
            (Some(5), [number]) => of_256(byte(*number)),
            (Some(2), [red, green, blue]) => nearest([byte(*red), byte(*green), byte(*blue)]),
            _ => return,
        };
        match side {
            38 => self.letters = colour,
            48 => self.ground = colour,
            _ => {}
        }
    }
}

/// A number of a sequence; nothing stands for 0, and what is too large for itself.
fn number(digits: &[u8]) -> u16 {
    digits.iter().fold(0, |number: u16, digit| {
        number.saturating_mul(10).saturating_add(u16::from(digit.saturating_sub(b'0')))
    })
}

/// Sixteen colours, a cube of 216, and greys.
fn of_256(number: u8) -> u8 {
    let step = |part: u8| if part == 0 { 0 } else { 55 + 40 * part };
    match number {
        0..=15 => number,
        16..=231 => {
            let place = number - 16;
            nearest([step(place / 36), step(place / 6 % 6), step(place % 6)])
        }
        232.. => nearest([8 + 10 * (number - 232); 3]),
    }
}

fn nearest(colour: [u8; 3]) -> u8 {
    let far = |other: &[u8; 3]| -> u32 {
        colour.iter().zip(other).map(|(one, two)| u32::from(one.abs_diff(*two)).pow(2)).sum()
    };
    let found = COLOURS.iter().enumerate().min_by_key(|(_, other)| far(other));
    // There are sixteen.
    found.map_or(NONE, |(place, _)| place as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_and_marks_have_few_words() {
        let cases: [(&[&str], &str); 22] = [
            (&["31"], "f1"),
            (&["1;31"], "f1 b"),
            (&["31", "1", "22"], "f1"),
            (&["31", "0"], ""),
            (&["31", ""], ""),
            (&["97;104"], "f15 g12"),
            (&["31;42", "39"], "g2"),
            (&["31;42", "49"], "f1"),
            (&["38;5;9"], "f9"),
            (&["38;5;196"], "f9"),
            (&["38;5;232"], "f0"),
            (&["38;2;255;165;0;4"], "f3 u"),
            (&["38:2::255:0:0"], "f9"),
            (&["38:2:255:0:0"], "f9"),
            (&["48:5:4"], "g4"),
            (&["58:5:4;3"], "i"),
            (&["4:3"], "u"),
            (&["4", "4:0"], ""),
            (&["7"], "f0 g7"),
            (&["31;7"], "f0 g1"),
            (&["99999999999999;38;5"], ""),
            (&["38;2;1;2", "9"], "s"),
        ];
        for (sequences, words) in cases {
            let mut style = Style::default();
            for sequence in sequences {
                style.take(sequence.as_bytes());
            }
            assert_eq!(style.words(), words, "{sequences:?}");
        }
    }
}
