//! [`Masker`]: finds secrets in output and replaces them, however the output is cut.
//!
//! The forms a secret takes are in `variants.rs`; `sieve.rs` keeps the search fast.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use aho_corasick::{AhoCorasick, Input, MatchKind};

use super::sieve::Sieve;
use super::variants;

/// What stands in place of a secret.
const MASK: &[u8] = b"***";

const SECRET_MIN: usize = 4;

/// Replaces secrets by `***`: as they are, in base64, in hexadecimal, percent-encoded, escaped for
/// JSON, quoted for a shell; and so each line of one, and each field of one that is JSON.
///
/// It is a net, no wall: what a program encodes in a way of its own goes through.
pub struct Masker {
    search: AhoCorasick,
    sieve: Sieve,
    /// In order, so that those which start with a text stand together.
    forms: Vec<Vec<u8>>,
    starts: [bool; 256],
    longest: usize,
}

/// Why a text cannot be masked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MaskError {
    /// Masking it would destroy the output, and give it away.
    #[error("a secret has {bytes} bytes; {SECRET_MIN} is the least that can be masked")]
    TooShort {
        /// How many it has.
        bytes: usize,
    },
    /// There are too many or too long ones.
    #[error("too many secrets to search for")]
    TooMany,
}

impl Masker {
    /// Masks these secrets.
    ///
    /// # Errors
    ///
    /// If one has less than four bytes.
    pub fn new(secrets: impl IntoIterator<Item = impl AsRef<[u8]>>) -> Result<Self, MaskError> {
        let mut forms = BTreeSet::new();
        for secret in secrets {
            let secret = secret.as_ref();
            if secret.len() < SECRET_MIN {
                return Err(MaskError::TooShort { bytes: secret.len() });
            }
            variants::add(&mut forms, secret);
        }
        let forms: Vec<Vec<u8>> = forms.into_iter().collect();
        let search = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .build(&forms)
            // The cause would print patterns.
            .map_err(|_| MaskError::TooMany)?;
        let mut starts = [false; 256];
        for form in &forms {
            starts[usize::from(form[0])] = true;
        }
        let longest = forms.iter().map(Vec::len).max().unwrap_or(0);
        let sieve = Sieve::new(&forms);
        Ok(Self { search, sieve, forms, starts, longest })
    }

    /// A whole text without its secrets.
    #[must_use]
    pub fn mask<'a>(&self, text: &'a [u8]) -> Cow<'a, [u8]> {
        if self.find(text, 0).is_none() {
            return Cow::Borrowed(text);
        }
        let mut masked = Vec::with_capacity(text.len());
        self.replace(text, true, &mut masked);
        Cow::Owned(masked)
    }

    /// Appends the masked text, up to what could be the beginning of a secret that goes on behind
    /// the end; that is decided only by what follows. Gives how many bytes were used.
    fn replace(&self, text: &[u8], is_last: bool, masked: &mut Vec<u8>) -> usize {
        let mut place = 0;
        let mut open = if is_last { text.len() } else { self.open_end(text, 0) };
        while let Some(Range { start, end }) = self.find(text, place) {
            if start >= open {
                break;
            }
            masked.extend_from_slice(&text[place..start]);
            masked.extend_from_slice(MASK);
            place = end;
            if end > open {
                open = self.open_end(text, end);
            }
        }
        masked.extend_from_slice(&text[place..open]);
        open
    }

    /// The first secret from a place on, and the longest that begins there.
    fn find(&self, text: &[u8], from: usize) -> Option<Range<usize>> {
        let mut from = from;
        while let Some(place) = self.sieve.next(text, from) {
            // Twice as far as one can reach: so half of what is searched in vain is done with, and
            // no text takes long.
            let end = text.len().min(place + 2 * self.longest);
            let found = self.search.find(Input::new(text).span(place..end));
            // What begins later may go on behind the end.
            let sure = if end == text.len() { end } else { end - self.longest };
            match found {
                Some(found) if found.start() <= sure => return Some(found.range()),
                _ => from = sure + 1,
            }
        }
        None
    }

    /// Where the longest end of the text begins that is also the beginning of a form, but not a
    /// whole one.
    fn open_end(&self, text: &[u8], from: usize) -> usize {
        let first = from.max((text.len() + 1).saturating_sub(self.longest));
        (first..text.len()).find(|start| self.is_beginning(&text[*start..])).unwrap_or(text.len())
    }

    fn is_beginning(&self, end: &[u8]) -> bool {
        if !self.starts[usize::from(end[0])] || !self.sieve.may_begin(end) {
            return false;
        }
        // Forms that start with it come right behind it in the order; it itself is not open.
        let next = self.forms.partition_point(|form| form.as_slice() <= end);
        self.forms.get(next).is_some_and(|form| form.starts_with(end))
    }
}

/// Shows how much is masked, not what.
impl fmt::Debug for Masker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Masker").field("forms", &self.forms.len()).finish_non_exhaustive()
    }
}

/// Masks a stream that comes in pieces. It holds back only what may be the beginning of a secret.
pub struct MaskStream {
    masker: Arc<Masker>,
    held: Vec<u8>,
    masked: Vec<u8>,
}

impl MaskStream {
    /// A stream that has not begun.
    #[must_use]
    pub fn new(masker: Arc<Masker>) -> Self {
        Self { masker, held: Vec::new(), masked: Vec::new() }
    }

    /// Takes the next piece, and gives what can be shown by now.
    pub fn push<'a>(&'a mut self, piece: &'a [u8]) -> &'a [u8] {
        self.masked.clear();
        if !self.held.is_empty() {
            self.held.extend_from_slice(piece);
            let used = self.masker.replace(&self.held, false, &mut self.masked);
            self.held.drain(..used);
            return &self.masked;
        }
        // Nearly always there is nothing in it, and nothing to copy.
        let open = match self.masker.find(piece, 0) {
            None => self.masker.open_end(piece, 0),
            Some(_) => self.masker.replace(piece, false, &mut self.masked),
        };
        self.held.extend_from_slice(&piece[open..]);
        if self.masked.is_empty() { &piece[..open] } else { &self.masked }
    }

    /// Gives what was held back: nothing more follows.
    pub fn finish(&mut self) -> &[u8] {
        self.masked.clear();
        self.masker.replace(&self.held, true, &mut self.masked);
        self.held.clear();
        &self.masked
    }
}

/// Shows nothing of the stream.
impl fmt::Debug for MaskStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MaskStream").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn masked(masker: &Arc<Masker>, pieces: &[&[u8]]) -> Vec<u8> {
        let mut stream = MaskStream::new(Arc::clone(masker));
        let mut all = Vec::new();
        for piece in pieces {
            all.extend_from_slice(stream.push(piece));
        }
        all.extend_from_slice(stream.finish());
        all
    }

    #[test]
    fn short_secrets_are_refused() {
        assert!(matches!(Masker::new(["abc"]), Err(MaskError::TooShort { bytes: 3 })));
        assert!(Masker::new(["abcd"]).is_ok());
        assert!(Masker::new([""; 0]).is_ok());
    }

    #[test]
    fn a_secret_cut_anywhere_is_found() {
        let masker = Arc::new(Masker::new(["hunter2hunter3", "hunter2", "2hunt-x"]).unwrap());
        let text = b"a hunter2hunter3 b hunter2 c hunter2hunt-x hunter2hunter";
        let whole = masker.mask(text).into_owned();
        assert_eq!(whole, b"a *** b *** c ***hunt-x ***hunter");
        for one in 0..=text.len() {
            for other in one..=text.len() {
                let pieces = [&text[..one], &text[one..other], &text[other..]];
                assert_eq!(masked(&masker, &pieces), whole, "{one} {other}");
            }
        }
        let bytes: Vec<&[u8]> = text.chunks(1).collect();
        assert_eq!(masked(&masker, &bytes), whole);
    }

    /// Texts of few letters, in which secrets and their beginnings are everywhere.
    #[test]
    fn nothing_is_passed_over_in_haste() {
        let mut state = 1_u64;
        let mut next = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % below
        };
        for round in 0..100 {
            let (shortest, most) = (4 + round % 19, 1 + next(30));
            let letters = 2 + next(3);
            let mut text = |length: u64| -> Vec<u8> {
                (0..length).map(|_| b'a' + u8::try_from(next(letters)).unwrap()).collect()
            };
            let secrets: Vec<Vec<u8>> = (0..3).map(|more| text(shortest + more * most)).collect();
            let mut written = text(2_000);
            for (place, secret) in secrets.iter().enumerate() {
                written.splice(place * 500..place * 500, secret.iter().copied());
            }
            let masker = Masker::new(&secrets).unwrap();
            let mut from = 0;
            while let Some(found) = masker.search.find(&written[from..]) {
                let range = from + found.start()..from + found.end();
                assert_eq!(masker.find(&written, from), Some(range.clone()));
                from = range.end;
            }
            assert!(from > 0 && masker.find(&written, from).is_none());
        }
    }

    #[test]
    fn what_is_no_beginning_is_not_held_back() {
        let masker = Arc::new(Masker::new(["correct horse"]).unwrap());
        let mut stream = MaskStream::new(masker);
        assert_eq!(stream.push(b"progress 10%"), b"progress 10%");
        assert_eq!(stream.push(b" corr"), b" ");
        assert_eq!(stream.push(b"upt"), b"corrupt");
        assert_eq!(stream.push(b" correct horse"), b" ***");
        assert_eq!(stream.push(b"correct"), b"");
        assert_eq!(stream.finish(), b"correct");
    }

    #[test]
    fn encoded_secrets_are_found() {
        let masker = Masker::new(["p@ss \"wörd\"/'x"]).unwrap();
        let forms: [&[u8]; 14] = [
            "p@ss \"wörd\"/'x".as_bytes(),
            b"cEBzcyAid8O2cmQiLyd4",
            b"Y3BAc3MgInfDtnJkIi8neA==",
            b"NjZwQHNzICJ3w7ZyZCIvJ3g=",
            b"70407373202277c3b6726422 2f2778",
            b"70407373202277C3B67264222F2778",
            b"p%40ss%20%22w%C3%B6rd%22%2F%27x",
            b"p%40ss+%22w%c3%b6rd%22%2f%27x",
            "p@ss \\\"wörd\\\"/'x".as_bytes(),
            b"p@ss \\\"w\\u00f6rd\\\"\\/'x",
            "p@ss \"wörd\"/'\\''x".as_bytes(),
            "p@ss \\\"wörd\\\"/'x".as_bytes(),
            "p@ss\\ \\\"wörd\\\"/\\'x".as_bytes(),
            "p@ss \"wörd\"/\\'x".as_bytes(),
        ];
        for (place, form) in forms.iter().enumerate() {
            let text = [b"before ", *form, b" after"].concat();
            let masked = masker.mask(&text);
            let is_broken_on_purpose = place == 4;
            assert_eq!(
                masked.windows(3).any(|window| window == b"***"),
                !is_broken_on_purpose,
                "{}",
                String::from_utf8_lossy(&masked)
            );
        }
    }

    #[test]
    fn base64_is_found_at_every_alignment() {
        let secret = b"s3cr3t-t0ken-value";
        let masker = Masker::new([secret]).unwrap();
        for (text, rest) in [
            (&b"czNjcjN0LXQwa2VuLXZhbHVl"[..], 0),
            (b"OnMzY3IzdC10MGtlbi12YWx1ZQ==", 2),
            (b"YTpzM2NyM3QtdDBrZW4tdmFsdWU6Yg==", 3),
        ] {
            let masked = masker.mask(text).into_owned();
            assert!(masked.windows(3).any(|window| window == b"***"), "{rest}");
            assert!(masked.len() <= 3 + 12, "{}", String::from_utf8_lossy(&masked));
        }
    }

    #[test]
    fn lines_of_a_secret_are_secrets_unless_short() {
        let masker = Masker::new(["{\n  \"key\": \"0123456789abcdef\"\n}\n"]).unwrap();
        assert_eq!(&*masker.mask(b"{ } \"key\": \"0123456789abcdef\" }"), b"{ } *** }");
        assert_eq!(&*masker.mask(b"fn main() {\n}\n"), b"fn main() {\n}\n");
    }

    #[test]
    fn fields_of_a_json_secret_are_secrets_unless_short() {
        let secret = r#"{"user": "prod", "port": 5432, "account": 123456789012, "ok": true,
            "all": [{"key": "Zm9v/YmFy+w=="}, ["first line\nsecond line"], 1.25e9, null]}"#;
        let masker = Masker::new([secret]).unwrap();
        let masked =
            |text: &str| String::from_utf8_lossy(&masker.mask(text.as_bytes())).into_owned();
        assert_eq!(masked("key Zm9v/YmFy+w== of 123456789012"), "key *** of ***");
        // Encoded like any other secret, and line by line.
        assert_eq!(masked("Zm9v%2FYmFy%2Bw%3D%3D Zm9v\\/YmFy+w=="), "*** ***");
        assert_eq!(masked("a second line, the first line"), "a ***, the ***");
        let plain = "user prod, port 5432, true, account, 1.25e9";
        assert_eq!(masked(plain), plain);
        assert_eq!(masked(secret), "***");
        // A text that happens to be one word of JSON has no fields.
        let masker = Masker::new(["\"quoted text\""]).unwrap();
        assert_eq!(&*masker.mask(b"quoted text"), b"quoted text");
    }

    #[test]
    fn debug_shows_nothing() {
        let masker = Arc::new(Masker::new(["topsecret"]).unwrap());
        let mut stream = MaskStream::new(Arc::clone(&masker));
        stream.push(b"topsec");
        assert!(!format!("{masker:?}{stream:?}").contains("topsec"));
    }
}
