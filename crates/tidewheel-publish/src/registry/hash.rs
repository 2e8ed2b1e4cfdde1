//! [`Digest`]: the content of a file, as registries say it.
//!
//! Digests of our own files are made where these are packed.

use std::fmt;

/// How a digest is made. Each registry has its own; the strongest it offers counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Algorithm {
    /// Of old npm registries. Two contents can be made to have one digest, so equality alone shows nothing.
    Sha1,
    /// Of crates and Python.
    Sha256,
    /// Of npm.
    Sha512,
}

impl Algorithm {
    /// The word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Sha1 => "sha1",
            Self::Sha256 => "sha256",
            Self::Sha512 => "sha512",
        }
    }

    /// Bytes of a digest.
    #[must_use]
    pub fn bytes(self) -> usize {
        match self {
            Self::Sha1 => 20,
            Self::Sha256 => 32,
            Self::Sha512 => 64,
        }
    }

    /// Whether equal digests mean equal contents.
    #[must_use]
    pub fn is_strong(self) -> bool {
        self != Self::Sha1
    }
}

/// The digest of a content.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest {
    algorithm: Algorithm,
    bytes: Vec<u8>,
}

impl Digest {
    /// A digest; `None` if it has not as many bytes as those of its algorithm have.
    #[must_use]
    pub fn new(algorithm: Algorithm, bytes: &[u8]) -> Option<Self> {
        (bytes.len() == algorithm.bytes()).then(|| Self { algorithm, bytes: bytes.to_vec() })
    }

    /// A digest in hexadecimal digits, small or large.
    #[must_use]
    pub fn from_hex(algorithm: Algorithm, text: &str) -> Option<Self> {
        let digits: Option<Vec<u8>> = text
            .chars()
            .map(|digit| digit.to_digit(16).and_then(|it| u8::try_from(it).ok()))
            .collect();
        let digits = digits.filter(|digits| digits.len().is_multiple_of(2))?;
        let bytes: Vec<u8> = digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect();
        Self::new(algorithm, &bytes)
    }

    /// How it was made.
    #[must_use]
    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.algorithm.word())?;
        self.bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
