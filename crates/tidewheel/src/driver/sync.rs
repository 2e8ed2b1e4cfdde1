//! The standard library's means of synchronisation, as [`super::turnstile`] uses them.
//!
//! Tests that run the turnstile under every schedule they can think of put others in their place.

pub(super) use std::hint::spin_loop;
pub(super) use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
pub(super) use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
pub(super) use std::thread::panicking;
