//! [`Form`]: the form of a document, for the OpenAPI document.
//!
//! The documents themselves are in `tidewheel_client::api`.

use std::borrow::Cow;
use std::fmt;

use utoipa::ToSchema;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::Schema;

/// The form of a document, known by its type.
#[derive(Clone, Copy)]
pub struct Form {
    name: fn() -> Cow<'static, str>,
    schema: fn() -> RefOr<Schema>,
    parts: fn(&mut Vec<(String, RefOr<Schema>)>),
}

impl Form {
    /// The form of a type.
    #[must_use]
    pub const fn of<T: ToSchema>() -> Self {
        Self { name: T::name, schema: T::schema, parts: T::schemas }
    }

    /// Its name in the OpenAPI document.
    #[must_use]
    pub fn name(&self) -> String {
        (self.name)().into_owned()
    }

    /// Its schema and those of its parts, by name.
    #[must_use]
    pub fn schemas(&self) -> Vec<(String, RefOr<Schema>)> {
        let mut schemas = vec![(self.name(), (self.schema)())];
        (self.parts)(&mut schemas);
        schemas
    }
}

impl fmt::Debug for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Form").field(&self.name()).finish()
    }
}
