//! The commands, one file each: what they take, and what they do with it.
//!
//! Rules are in the crates below; what several commands share is beside this folder.

pub(crate) mod again;
pub(crate) mod artifacts;
pub(crate) mod audit;
pub(crate) mod backup;
pub(crate) mod bench;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod explain;
pub(crate) mod flows;
pub(crate) mod import;
pub(crate) mod init;
pub(crate) mod login;
pub(crate) mod logs;
pub(crate) mod mail;
pub(crate) mod man;
pub(crate) mod plan;
pub(crate) mod priority;
pub(crate) mod prune;
pub(crate) mod publish;
pub(crate) mod run;
pub(crate) mod runs;
pub(crate) mod schedule;
pub(crate) mod serve;
pub(crate) mod simulate;
pub(crate) mod steer;
pub(crate) mod there;
pub(crate) mod token;
pub(crate) mod torture;
pub(crate) mod tui;
pub(crate) mod validate;
