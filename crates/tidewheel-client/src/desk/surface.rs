//! [`Surface`]: to whom it is said what can be done, and in which words.
//!
//! What can be done about which refusal is in [`super::hints`].

/// Where somebody reads a hint: each has its own words for the same thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Surface {
    /// At the command: flags, and commands to type.
    #[default]
    Command,
    /// Over HTTP: fields of a body, and requests to send.
    Http,
}

impl Surface {
    /// How something is done with a run, from what is said of it on: `tidewheel retry 3f9a`.
    pub(super) fn of_run(self, what: &str, run: &str) -> String {
        match (self, what) {
            (Self::Command, _) => format!("tidewheel {what} {run}"),
            (Self::Http, "show") => format!("GET /api/v1/runs/{run}"),
            (Self::Http, _) => format!("POST /api/v1/runs/{run}/{what}"),
        }
    }

    /// The same, with something else said along: `--from STEP`, or `"from": "STEP"` in the body.
    pub(super) fn of_run_with(self, what: &str, run: &str, flag: &str, value: &str) -> String {
        let request = self.of_run(what, run);
        let field = flag.replace('-', "_");
        match (self, value) {
            (Self::Command, "") => format!("{request} --{flag}"),
            (Self::Command, value) => format!("{request} --{flag} {value}"),
            (Self::Http, "") => format!("{request} with \"{field}\": true"),
            (Self::Http, value) => format!("{request} with \"{field}\": \"{value}\""),
        }
    }

    /// What a flag is called: `--max`, or `max`.
    pub(super) fn flag(self, flag: &str) -> String {
        match self {
            Self::Command => format!("--{flag}"),
            Self::Http => format!("`{}`", flag.replace('-', "_")),
        }
    }
}
