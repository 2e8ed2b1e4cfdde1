//! [`Identities`]: how a pipeline says what it is, to registries that trust it.
//!
//! What they give for it is asked for in [`crate::exchange`].

use super::secret::Secret;
use super::surroundings::Surroundings;
use crate::package::Ecosystem;

/// What a pipeline says of itself, to whom.
#[derive(Debug, Clone, Default)]
pub(crate) struct Identities {
    asked: Option<Identity>,
    npm: Option<Identity>,
    python: Option<Identity>,
}

/// How it says it.
#[derive(Debug, Clone)]
pub(crate) enum Identity {
    /// It has said it, for one audience.
    Said(Secret),
    /// It says it to whoever asks there.
    Asked {
        /// Where.
        url: String,
        /// By whose leave.
        token: Secret,
    },
}

impl Identities {
    /// What the variables of a pipeline say.
    pub fn of_variables(around: &Surroundings) -> Self {
        let secret = |name: &str| around.variable(name).and_then(Secret::new);
        let asked = around.variable("ACTIONS_ID_TOKEN_REQUEST_URL").and_then(|url| {
            let token = secret("ACTIONS_ID_TOKEN_REQUEST_TOKEN")?;
            Some(Identity::Asked { url: url.to_owned(), token })
        });
        let said = |name: &str| secret(name).map(Identity::Said);
        Self { asked, npm: said("NPM_ID_TOKEN"), python: said("PYPI_ID_TOKEN") }
    }

    /// What it says to registries of this language.
    pub fn of(&self, ecosystem: Ecosystem) -> Option<Identity> {
        let said = match ecosystem {
            Ecosystem::Cargo => None,
            Ecosystem::Npm => self.npm.clone(),
            Ecosystem::Python => self.python.clone(),
        };
        said.or_else(|| self.asked.clone())
    }
}
