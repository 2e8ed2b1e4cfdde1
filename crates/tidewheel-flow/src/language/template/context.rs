//! What a template is filled in with.
//!
//! The values themselves are in [`super::value`].

use std::fmt;
use std::sync::Arc;

use super::print;
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

    /// What a name with keys behind it stands for, where it is there.
    pub fn value_at(&self, path: &[String]) -> Option<serde_json::Value> {
        let (name, keys) = path.split_first()?;
        let mut value = self.get(name)?.clone();
        for key in keys {
            let index = key.parse().ok().filter(|_| matches!(value, Value::List(_)));
            value = value.member(&index.map_or_else(|| Value::text(key), Value::Integer))?;
        }
        let mut bytes_left = usize::MAX;
        print::to_json(&value, &mut bytes_left).ok()
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
