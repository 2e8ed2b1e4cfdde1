//! [`Secret`]: a text that nobody is shown.
//!
//! Where it comes from is in the files beside; it is only ever put into the header of a request.

use std::fmt;
use std::sync::Arc;

/// A text that nobody is shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Arc<str>);

impl Secret {
    /// The secret, without the line end that files have; `None` if there is nothing in it.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        (!text.is_empty()).then(|| Self(Arc::from(text)))
    }

    /// What is in it.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }

    /// Whether there is nothing in it that no token has.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.0.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ')
    }

    /// The same text without it, wherever it stands.
    #[must_use]
    pub fn masked_in(&self, text: &str) -> String {
        text.replace(&*self.0, "***")
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}
