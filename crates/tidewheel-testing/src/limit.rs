//! [`limit_address_space`]: a bound on the memory of a test.
//!
//! Limits of steps are set by the product, and tested there.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Limits the address space of this process: a test that allocates more aborts.
///
/// Other tests of the same process have the limit too, so it must be far above what they need.
pub fn limit_address_space(bytes: u64) {
    let maximum = getrlimit(Resource::As).maximum;
    setrlimit(Resource::As, Rlimit { current: Some(bytes), maximum }).unwrap();
}
