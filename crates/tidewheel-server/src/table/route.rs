//! [`Route`]: one entry of the table.
//!
//! It has no default for anything: who adds a route and does not say who may use it gets no program.

use std::fmt;
use std::pin::Pin;

use axum::http::Method;
use axum::response::Response;

use super::Form;
use crate::door::Call;
use crate::identity::Role;
use crate::problem::Problem;

/// One thing that can be asked for.
#[derive(Clone, Copy)]
pub struct Route {
    /// What it is called, in the OpenAPI document and in the audit log.
    pub name: &'static str,
    /// What it does, in one sentence.
    pub about: &'static str,
    /// How it is asked for.
    pub verb: Verb,
    /// Where; what is in braces is any name.
    pub path: &'static str,
    /// Who may.
    pub permission: Permission,
    /// What may stand behind the question mark.
    pub query: Option<Form>,
    /// What comes along.
    pub takes: Takes,
    /// What comes back.
    pub gives: Gives,
    /// Whether anything is other than before: then it is written down.
    pub changes: bool,
    /// What is done.
    pub(crate) answer: Handler,
}

/// What a route does.
pub(crate) type Handler =
    fn(Call) -> Pin<Box<dyn Future<Output = Result<Response, Problem>> + Send>>;

/// How something is asked for. Those that change nothing are asked for by `Get`, with few exceptions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verb {
    /// To look, also without the answer itself (`HEAD`).
    Get,
    /// To do.
    Post,
    /// To remove.
    Delete,
}

/// Who may use a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Permission {
    /// Everybody.
    Public,
    /// Whoever signs what they send with the secret of the webhook they send it to.
    Signature,
    /// Viewers, and whoever asks from this machine unless the settings say otherwise.
    Figures,
    /// Viewers, and whoever asks from this machine if the settings say so.
    Flowtoy,
    /// Whoever may look.
    Viewer,
    /// Whoever may start, end and answer.
    Operator,
    /// Whoever may change flows.
    Author,
    /// Whoever may do everything.
    Admin,
}

/// What comes along with a request.
#[derive(Debug, Clone, Copy)]
pub enum Takes {
    /// Nothing.
    Nothing,
    /// A document of this form, of at most so many bytes.
    Document(Form, usize),
    /// The same, or nothing.
    MaybeDocument(Form, usize),
    /// What a browser sends of a form, of at most so many bytes.
    Fields(usize),
    /// Anything, of at most so many bytes, which a signature is for.
    Signed(usize),
}

/// The type of documents that come one a line.
pub(crate) const NDJSON: &str = "application/x-ndjson";

/// What comes back.
#[derive(Debug, Clone, Copy)]
pub enum Gives {
    /// A document of this form.
    Document(Form),
    /// Text of this type.
    Text(&'static str),
    /// Bytes that nobody looks into.
    Bytes,
    /// Documents of this form, one a line, as they come.
    Lines(Form),
    /// Events, as they happen, each a document of this form.
    Events(Form),
    /// A page for people.
    Page,
    /// A way to somewhere else.
    Elsewhere,
}

impl Verb {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Get, Self::Post, Self::Delete];

    /// The word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Delete => "DELETE",
        }
    }

    /// Whether this is how a request asks.
    pub(crate) fn is(self, method: &Method) -> bool {
        method.as_str() == self.word() || (self == Self::Get && method == Method::HEAD)
    }
}

impl Permission {
    /// The least role that has it; `None`: no role has, or nobody needs one.
    #[must_use]
    pub fn role(self) -> Option<Role> {
        match self {
            Self::Public | Self::Signature => None,
            Self::Figures | Self::Flowtoy | Self::Viewer => Some(Role::Viewer),
            Self::Operator => Some(Role::Operator),
            Self::Author => Some(Role::Author),
            Self::Admin => Some(Role::Admin),
        }
    }
}

impl fmt::Debug for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.verb.word(), self.path)
    }
}
