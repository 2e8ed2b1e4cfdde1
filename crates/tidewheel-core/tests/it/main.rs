//! Tests of `tidewheel-core`, in one program: each is linked once.

mod cron_properties;
mod cron_vectors;
mod forecast;
mod scale;
#[cfg(feature = "serde")]
mod serialised;
