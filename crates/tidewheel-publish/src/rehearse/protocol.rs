//! [`Protocol`]: which language a registry speaks, and [`Asked`]: what a request in it is about.
//!
//! How each is answered is in the file of its protocol.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::http::{Answer, Head};
use super::shelf::{Brought, Delivery, Shelf};
use super::{cargo, npm, python};

/// Whose registry it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    Cargo,
    Npm,
    Python,
}

impl Protocol {
    /// Whether somebody shows the token, as this language does.
    pub fn is_authorised(self, head: &Head, token: &str) -> bool {
        let shown = head.header("authorization").unwrap_or_default();
        match self {
            Self::Cargo => shown == token,
            Self::Npm => shown.strip_prefix("Bearer ") == Some(token),
            Self::Python => shown
                .strip_prefix("Basic ")
                .and_then(|it| STANDARD.decode(it).ok())
                .and_then(|it| String::from_utf8(it).ok())
                .is_some_and(|it| it.split_once(':').map(|it| it.1) == Some(token)),
        }
    }

    pub fn unauthorised(self) -> Answer {
        match self {
            Self::Cargo => cargo::error(403, "this action requires authentication"),
            Self::Npm => npm::error(401, "unauthorized"),
            Self::Python => {
                python::error(403, "Invalid or non-existent authentication information.")
            }
        }
    }

    pub fn delivery(self, head: &Head, body: &[u8]) -> Result<Delivery, Answer> {
        match self {
            Self::Cargo => cargo::delivery(body),
            Self::Npm => npm::delivery(body),
            Self::Python => python::delivery(head, body),
        }
    }

    /// Keeps what was brought, unless there is such a thing already.
    pub fn keep(self, shelf: &mut Shelf, delivery: &Delivery) -> Brought {
        let Delivery { package, version, told, file, tags } = delivery;
        // Of a crate and of an npm package there is one file a version, whatever its name.
        if self != Self::Python && shelf.version(package, version).is_some() {
            return Brought::Other;
        }
        let brought = shelf.bring(package, version, told.clone(), file.clone());
        if brought == Brought::Stored {
            let known = shelf.packages.entry(package.clone()).or_default();
            known.tags.extend(tags.iter().cloned());
        }
        brought
    }

    /// What is said of a file that was brought.
    pub fn brought(self, brought: Brought, delivery: &Delivery) -> Answer {
        match (self, brought) {
            (Self::Cargo, Brought::Stored) => cargo::accepted(),
            (Self::Cargo, _) => cargo::is_there(delivery),
            (Self::Npm, Brought::Stored) => npm::accepted(delivery),
            (Self::Npm, _) => npm::is_there(delivery),
            (Self::Python, Brought::Other) => python::is_there(delivery),
            (Self::Python, _) => python::accepted(),
        }
    }
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
