//! [`Limits`]: how much a file may ask for before it is refused.
//!
//! They are checked while a file is read: what is refused has cost no more than they allow.

/// How much a file may ask for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a file; never more than 4 GiB.
    pub bytes_max: usize,
    /// Lists and mappings inside each other, those behind aliases included; never more than 256.
    pub depth_max: usize,
    /// Values, those that aliases repeat counted each time. Keys do not count.
    pub nodes_max: usize,
    /// Bytes of one text.
    pub scalar_bytes_max: usize,
    /// Bytes of all texts and keys, those that aliases repeat counted each time.
    pub text_bytes_max: usize,
}

impl Limits {
    /// The depth that is really allowed: whoever walks a tree may call itself so often.
    pub(super) fn depth(&self) -> usize {
        self.depth_max.min(256)
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            bytes_max: 4 << 20,
            depth_max: 64,
            nodes_max: 200_000,
            scalar_bytes_max: 1 << 20,
            text_bytes_max: 16 << 20,
        }
    }
}
