//! How times are written in documents: instants as RFC 3339 in UTC, spans as whole milliseconds.
//!
//! What an instant is belongs to the core, which writes nothing down itself.

/// An instant.
pub(crate) mod instant {
    use serde::de::Error as _;
    use serde::{Deserialize as _, Deserializer, Serializer};
    use tidewheel::Timestamp;

    pub(crate) fn serialize<S: Serializer>(at: &Timestamp, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(at)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Timestamp, D::Error> {
        String::deserialize(from)?.parse().map_err(D::Error::custom)
    }
}

/// An instant that may not have come, or is not known.
pub(crate) mod instant_if_any {
    use serde::de::Error as _;
    use serde::{Deserialize as _, Deserializer, Serializer};
    use tidewheel::Timestamp;

    pub(crate) fn serialize<S: Serializer>(
        at: &Option<Timestamp>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        match at {
            Some(at) => to.collect_str(at),
            None => to.serialize_none(),
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<Timestamp>, D::Error> {
        let text = Option::<String>::deserialize(from)?;
        text.map(|text| text.parse().map_err(D::Error::custom)).transpose()
    }
}

/// A span.
pub(crate) mod millis {
    use std::time::Duration;

    use serde::{Deserialize as _, Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(time: &Duration, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u64(u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
        u64::deserialize(from).map(Duration::from_millis)
    }
}

/// A span that may not be known.
pub(crate) mod millis_if_any {
    use std::time::Duration;

    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};

    pub(crate) fn serialize<S: Serializer>(
        time: &Option<Duration>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        let millis = time.map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
        millis.serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<Duration>, D::Error> {
        Ok(Option::<u64>::deserialize(from)?.map(Duration::from_millis))
    }
}
