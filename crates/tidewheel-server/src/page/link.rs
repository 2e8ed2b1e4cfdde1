//! [`Link`]: a name that leads somewhere.
//!
//! Where things are is in [`super::words`].

use std::fmt::{self, Display};

use askama::filters::HtmlSafe;
use tidewheel_client::api::RunLine;
use tidewheel_client::text::short_id;

use super::words::{escaped, in_address, named, run_address, step_address};

/// A name that leads somewhere.
#[derive(Debug, Clone)]
pub(crate) struct Link {
    pub to: String,
    pub name: String,
}

impl Link {
    pub fn of(to: String, name: &str) -> Self {
        Self { to, name: name.to_owned() }
    }

    /// A run by its short id.
    pub fn of_run(run: &str) -> Self {
        Self::of(run_address(run), &short_id(run))
    }

    /// A run by the name of its flow.
    pub fn of_named_run(run: &RunLine) -> Self {
        let name = run.flow.clone().unwrap_or_else(|| short_id(&run.run_id));
        Self::of(run_address(&run.run_id), &name)
    }

    pub fn of_flow(flow: &str) -> Self {
        Self::of(format!("/flows/{}", in_address(flow)), flow)
    }

    pub fn of_step(run: &str, step: &str) -> Self {
        Self::of(step_address(run, step), step)
    }

    pub fn of_schedule(schedule: &str) -> Self {
        Self::of(format!("/schedules/{}", in_address(schedule)), schedule)
    }
}

impl Display for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<a href=\"{}\">{}</a>", escaped(&self.to), named(&self.name))
    }
}

impl HtmlSafe for Link {}
