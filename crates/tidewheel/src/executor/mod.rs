//! Executors: one attempt in, one outcome out.
//!
//! None of them retries, orders or skips anything: that is decided in the core.

#[cfg(feature = "http")]
pub mod http;
#[cfg(all(feature = "process", target_os = "linux"))]
pub mod process;
