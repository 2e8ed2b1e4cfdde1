//! Steps whose program runs elsewhere: in a container, or on another host.
//!
//! Each is a command of this machine that carries the step's own.

use std::collections::BTreeMap;
use std::ffi::OsString;

use tidewheel::Attempt;
use tidewheel::executor::process::{ProcessCommand, Program};

use super::container::LeftContainer;
use super::context::Position;
use super::end::Trouble;
use super::runner::FlowRunner;
use crate::definition::Elsewhere;
use crate::language::template::Context;

/// A command that carries another one.
pub(super) struct Carried {
    pub command: ProcessCommand,
    /// What it leaves behind if it is ended.
    pub container: Option<LeftContainer>,
}

impl FlowRunner {
    /// The command that is started here for one that may run elsewhere.
    pub(super) fn carried(
        &self,
        command: ProcessCommand,
        position: &Position,
        context: &Context,
        attempt: &Attempt,
    ) -> Result<Carried, Trouble> {
        match &position.step.surroundings.elsewhere {
            None => Ok(Carried { command, container: None }),
            Some(Elsewhere::Container(container)) => {
                self.in_container(container, command, position, context, attempt)
            }
            Some(Elsewhere::Remote(remote)) => self.on_host(remote, command, position, context),
        }
    }

    /// The variables of a command that mean something elsewhere too.
    pub(super) fn for_the_program(&self, command: &ProcessCommand) -> BTreeMap<OsString, OsString> {
        let ours =
            |name: &OsString| self.means.variables.iter().any(|(own, _)| own.as_str() == name);
        let variables = command.parts().variables.iter();
        let meant = variables.filter(|(name, _)| !ours(name));
        meant.map(|(name, value)| (name.clone(), value.clone())).collect()
    }

    /// The variables of our own environment that a step asks for, by name.
    pub(super) fn inherited_names(&self, position: &Position) -> Vec<String> {
        let Some(names) = &position.step.surroundings.inherit else { return Vec::new() };
        self.inherited(names).into_keys().collect()
    }
}

/// The program of a command and its arguments, the shell included.
pub(super) fn inner_words(command: &ProcessCommand) -> Vec<OsString> {
    let parts = command.parts();
    match parts.program {
        Program::Argv(words) => words.clone(),
        Program::Shell(text) => parts.shell.iter().cloned().chain([text.into()]).collect(),
    }
}
