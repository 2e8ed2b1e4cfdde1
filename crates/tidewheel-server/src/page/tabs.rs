//! [`Tabs`]: the parts of a page of which one is shown.
//!
//! Which parts a page has, and what is in them, is in its own file.

/// The parts of a page, each with its address, in their order.
pub(super) struct Tabs {
    pub all: Vec<Tab>,
}

/// A part of a page.
pub(super) struct Tab {
    pub word: &'static str,
    pub to: String,
    pub is_here: bool,
}

impl Tabs {
    /// Parts by their words, of which one is shown.
    pub fn new(
        address: &str,
        key: &str,
        words: &'static [&'static str],
        here: &'static str,
    ) -> Self {
        let tab = |word: &&'static str| Tab {
            word,
            to: format!("{address}?{key}={word}"),
            is_here: *word == here,
        };
        Self { all: words.iter().map(tab).collect() }
    }
}
