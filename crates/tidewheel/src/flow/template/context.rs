//! What a template is filled in with.
//!
//! The values themselves are in [`super::value`].

use std::fmt;
use std::sync::Arc;

use super::value::{Data, Lookup, Value};

/// The names a template can use, with their values; cheap to build for every rendering.
#[derive(Clone, Default)]
pub struct Context {
    names: Vec<(Arc<str>, Value)>,
}

impl Context {
    /// A context without names.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a name. The same name again replaces what it stood for.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Data>) -> Self {
        self.names.retain(|(known, _)| **known != *name);
        self.names.push((name.into(), value.into().0));
        self
    }

    /// Adds a name whose parts are looked up only when a template asks for them.
    #[must_use]
    pub fn with_lookup(self, name: &str, lookup: Arc<dyn Lookup>) -> Self {
        self.with(name, lookup)
    }

    pub(super) fn get(&self, name: &str) -> Option<&Value> {
        self.names.iter().find(|(known, _)| **known == *name).map(|(_, value)| value)
    }

    pub(super) fn names(&self) -> Vec<Arc<str>> {
        self.names.iter().map(|(name, _)| name.clone()).collect()
    }
}

/// Without the values, which may be secrets.
impl fmt::Debug for Context {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_list().entries(self.names()).finish()
    }
}
