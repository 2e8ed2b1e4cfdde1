//! [`Protocol`]: which language a registry speaks, and [`Asked`]: what a request in it is about.
//!
//! How each is answered is in the file of its protocol.

use super::http::Head;
use super::{cargo, npm, python};

/// Whose registry it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    Cargo,
    Npm,
    Python,
}

/// What somebody wants of a registry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum What {
    /// That it keeps a version, or a file of one.
    Upload,
    /// What is out of a package, as those who resolve see it.
    Look,
    /// The file of a version.
    Download,
    /// That a tag points to a version (npm).
    Tag,
    /// That a version is taken back, or is again good: yanked, deprecated.
    TakeBack,
    /// Anything else: settings, who one is, answers of an API beside the index.
    Other,
}

/// What a request is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    pub what: What,
    /// The package, as it is on the shelf.
    pub package: Option<String>,
}

impl Asked {
    pub fn new(what: What, package: Option<String>) -> Self {
        Self { what, package }
    }

    /// What is asked, as far as the beginning of a request says it. Of uploads to cargo's and Python's registries only
    /// their bodies say for which package they are.
    pub fn of(protocol: Protocol, head: &Head) -> Self {
        match protocol {
            Protocol::Cargo => cargo::asked(head),
            Protocol::Npm => npm::asked(head),
            Protocol::Python => python::asked(head),
        }
    }

    /// The same, with what the body said so far.
    pub fn with_body(mut self, protocol: Protocol, head: &Head, body: &[u8]) -> Self {
        match protocol {
            Protocol::Cargo if self.what == What::Upload => self.package = cargo::named(body),
            Protocol::Python if self.what == What::Upload => {
                self.package = python::named(head, body)
            }
            Protocol::Npm if self.what == What::Upload && npm::is_change(body) => {
                self.what = What::TakeBack;
            }
            _ => {}
        }
        self
    }
}
