//! [`Sieve`]: passes quickly over text in which no form of a secret can begin.
//!
//! It may be wrong in one direction only. What it does not pass over is searched in `masker.rs`.
//!
//! ```text
//! form    correct-horse-battery    eight bytes, from each of the first `stride` places of a form
//!         correct-                 on, are known
//!          orrect-h
//!           rrect-ho
//! text    ...|...|...|...|...|     only the eight bytes from every `stride`-th place on are looked
//!                  correct-horse   up: they meet a form that begins anywhere
//! ```
//!
//! Where a form is short, it is four bytes instead of eight, and steps are small.

/// How many bytes are looked up at once. Four may well be in a text by chance: hexadecimal forms of
/// secrets have many that look like numbers.
const LONG: usize = 8;
const SHORT: usize = 4;
/// How long every form must be for the longer ones to be worth it.
const LONG_FORM: usize = 12;
/// The most bytes to go forward at once. More would make the table larger than a near cache.
const STRIDE_MAX: usize = 32;
/// Known texts for each word of the table. Four bits are set for each, so that one of a thousand other
/// texts is taken for known.
const EACH: usize = 3;
const WORDS_MAX: usize = 1 << 16;

/// Knows where no secret begins.
pub(super) struct Sieve {
    table: Vec<u64>,
    is_long: bool,
    stride: usize,
}

impl Sieve {
    /// A sieve for forms of four bytes or more each.
    pub(super) fn new(forms: &[Vec<u8>]) -> Self {
        let shortest = forms.iter().map(Vec::len).min().unwrap_or(SHORT);
        let is_long = shortest >= LONG_FORM;
        let bytes = if is_long { LONG } else { SHORT };
        let stride = (shortest - bytes + 1).min(STRIDE_MAX);
        let words = (forms.len() * stride / EACH).clamp(1, WORDS_MAX).next_power_of_two();
        let mut sieve = Self { table: vec![0; words], is_long, stride };
        for form in forms {
            match is_long {
                true => sieve.learn::<LONG>(form),
                false => sieve.learn::<SHORT>(form),
            }
        }
        sieve
    }

    fn learn<const BYTES: usize>(&mut self, form: &[u8]) {
        for start in 0..self.stride {
            let Some(bytes) = form[start..].first_chunk::<BYTES>() else { return };
            let (place, bits) = self.spot(bytes);
            self.table[place] |= bits;
        }
    }

    /// The first place from which on a form may begin.
    pub(super) fn next(&self, text: &[u8], from: usize) -> Option<usize> {
        if self.is_long { self.step::<LONG>(text, from) } else { self.step::<SHORT>(text, from) }
    }

    fn step<const BYTES: usize>(&self, text: &[u8], from: usize) -> Option<usize> {
        // What is looked up here belongs to any form that begins in the stride before.
        let mut place = from + self.stride - 1;
        while let Some(bytes) = text.get(place..).and_then(|rest| rest.first_chunk::<BYTES>()) {
            if self.is_known(bytes) {
                return Some(place + 1 - self.stride);
            }
            place += self.stride;
        }
        None
    }

    /// Whether a form may begin like this.
    pub(super) fn may_begin(&self, text: &[u8]) -> bool {
        match self.is_long {
            true => text.first_chunk::<LONG>().is_none_or(|bytes| self.is_known(bytes)),
            false => text.first_chunk::<SHORT>().is_none_or(|bytes| self.is_known(bytes)),
        }
    }

    fn is_known<const BYTES: usize>(&self, bytes: &[u8; BYTES]) -> bool {
        let (place, bits) = self.spot(bytes);
        self.table[place] & bits == bits
    }

    /// Which bits of which word stand for a text.
    fn spot<const BYTES: usize>(&self, bytes: &[u8; BYTES]) -> (usize, u64) {
        let mut padded = [0; LONG];
        padded[..BYTES].copy_from_slice(bytes);
        let number = u64::from_le_bytes(padded);
        // The upper half of a product depends on all of the lower half of a number.
        let mixed = (number ^ number >> 32).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let bit = |shift: u32| 1 << (mixed >> shift & 63);
        let place = (mixed >> 40) as usize & (self.table.len() - 1);
        (place, bit(34) | bit(28) | bit(22) | bit(16))
    }
}
