//! Flow files made from what others have: crontabs, flows of flowtoy and Dagu, workflows of GitHub Actions.
//!
//! Files are neither read nor written here; that is the business of the command.

mod document;
mod imported;
mod scalar;
mod shell;
mod step_names;
mod text;
mod variables;
mod warning;

pub(crate) mod crontab;
pub(crate) mod dagu;
pub(crate) mod flowtoy;
pub(crate) mod github;
pub(crate) mod machine;

pub(crate) use imported::Imported;
pub(crate) use warning::Warning;
