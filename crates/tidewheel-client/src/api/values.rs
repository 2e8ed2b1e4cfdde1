//! [`Values`]: what a step left, by name.
//!
//! What may be left is the business of whoever carries the step out.

use std::ops::Deref;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value as Json};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{AdditionalProperties, ObjectBuilder, Schema};
use utoipa::{PartialSchema, ToSchema};

/// What a step left, by name. A result has it in two places, so clones share it: outputs may be long.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Values(Arc<Map<String, Json>>);

impl Deref for Values {
    type Target = Map<String, Json>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl From<Map<String, Json>> for Values {
    fn from(values: Map<String, Json>) -> Self {
        Self(Arc::new(values))
    }
}

impl Serialize for Values {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Values {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Map::deserialize(deserializer).map(Self::from)
    }
}

impl PartialSchema for Values {
    fn schema() -> RefOr<Schema> {
        let anything = Some(AdditionalProperties::FreeForm(true));
        ObjectBuilder::new().additional_properties(anything).into()
    }
}

impl ToSchema for Values {}
