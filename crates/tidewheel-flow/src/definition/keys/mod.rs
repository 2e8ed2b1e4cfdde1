//! Every key of a flow file: its kind, and what it is for.
//!
//! How a value is checked against its kind is in `shape`, what is made of it in `decode`.

mod common;
mod flow;
mod rules;
mod step;
mod work;

pub(crate) use flow::FLOW;
pub(crate) use rules::{CAPS, FORMS, ORIGINS, RULES, Rule, TRIGGERS, TYPES, WAITS, WORKS};
pub(crate) use step::STEP;

#[cfg(test)]
pub(crate) use flow::{
    BREAKER, CONCURRENCY, EVENTS, EXCLUSION, LIMIT, PARAM, QUEUE, RUNNER, SCHEDULE, SECRET, WEBHOOK,
};
#[cfg(test)]
pub(crate) use step::{
    ARTIFACT, CACHE, DEFAULTS, DEPENDENCY, FOREACH, REPEAT, RETRY, RLIMITS, TIMEOUT,
};
#[cfg(test)]
pub(crate) use work::{
    CONTAINER, ENV, FILE, HTTP, OUTPUT, OVERRIDE, PROCESS, REMOTE, SOURCE, WAIT,
};
