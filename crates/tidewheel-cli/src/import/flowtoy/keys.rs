//! The keys that flowtoy looks at. What else stands in a file has no effect there.
//!
//! `name` of a flow and `description` are kept although flowtoy knows nothing of them: they say
//! something to people and change nothing.

pub(super) const FLOW: [&str; 5] = ["name", "description", "sources", "flow", "runner"];
pub(super) const RUNNER: [&str; 2] = ["max_workers", "on_error"];
pub(super) const STEP: [&str; 7] =
    ["name", "description", "source", "input", "output", "depends_on", "on_error"];
pub(super) const OUTPUT: [&str; 4] = ["name", "type", "value", "description"];
pub(super) const SOURCE: [&str; 4] = ["type", "configuration", "base", "override"];
pub(super) const PROCESS: [&str; 7] = [
    "command",
    "pass_to",
    "timeout",
    "template_strict",
    "log_full_command",
    "redact_args",
    "redact_patterns",
];
pub(super) const REST: [&str; 5] = ["url", "method", "headers", "input_mode", "param_name"];
pub(super) const ENV: [&str; 1] = ["vars"];
