//! The trace of a world: a hash of everything that went in and came out, and lines on request.
//!
//! Two runs of a seed must give the same hash.

use std::fmt::Write as _;

/// Collects what happened.
#[derive(Debug, Default)]
pub struct Trace {
    hash: u64,
    lines: Option<Vec<String>>,
    buffer: String,
}

impl Trace {
    /// A trace that keeps its lines, or only the hash.
    #[must_use]
    pub fn new(readable: bool) -> Self {
        Self { hash: 0xCBF2_9CE4_8422_2325, lines: readable.then(Vec::new), buffer: String::new() }
    }

    /// Adds one fact.
    pub fn add(&mut self, fact: std::fmt::Arguments<'_>) {
        self.buffer.clear();
        // Writing into a string cannot fail.
        let _ = self.buffer.write_fmt(fact);
        for byte in self.buffer.bytes() {
            self.hash = (self.hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3);
        }
        if let Some(lines) = &mut self.lines {
            lines.push(self.buffer.clone());
        }
    }

    /// Whether lines are kept.
    #[must_use]
    pub fn is_readable(&self) -> bool {
        self.lines.is_some()
    }

    /// Adds what another one has collected, which forgets its lines.
    pub fn append(&mut self, other: &mut Self) {
        self.hash = (self.hash ^ other.hash).wrapping_mul(0x0000_0100_0000_01B3);
        if let (Some(lines), Some(others)) = (&mut self.lines, &mut other.lines) {
            lines.extend(others.drain(..).map(|line| format!("| {line}")));
        }
    }

    /// The hash of everything so far.
    #[must_use]
    pub fn hash(&self) -> u64 {
        self.hash
    }

    /// The lines, where they were kept.
    #[must_use]
    pub fn lines(&self) -> &[String] {
        self.lines.as_deref().unwrap_or(&[])
    }
}
