//! Templates: texts and expressions in the language of Jinja, filled in with the data of a run.
//!
//! This is an engine of our own, because what it is given is not trusted: every operation and
//! every byte is paid for from a budget, nothing it reads can exhaust the stack, and using a name
//! that is not there is always an error. Nothing in a template reaches files, clocks or the
//! environment, and what comes out is never read as a template again.
//!
//! Which names a template can use, and when it is filled in, is not decided here.

mod arguments;
mod budget;
mod checks;
mod context;
mod engine;
mod error;
mod evaluate;
mod expression;
mod filters;
mod functions;
mod lexer;
mod methods;
mod operators;
mod parser;
mod print;
mod references;
mod run;
mod shell;
mod statements;
mod value;

#[cfg(test)]
mod tests;

pub use budget::Limits;
pub use context::Context;
pub use engine::{Engine, Template};
pub use error::TemplateError;
pub use lexer::has_syntax;
pub use references::Reference;
pub use shell::ShellText;
pub use value::{Data, Lookup};
