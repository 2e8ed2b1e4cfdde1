//! Flow files made from what others have: crontabs and flows of flowtoy.
//!
//! Files are neither read nor written here; that is the business of the command.

mod document;
mod scalar;
mod text;
mod warning;

pub(crate) mod crontab;
pub(crate) mod flowtoy;
pub(crate) mod machine;

pub(crate) use warning::Warning;
