//! Counts the steps of searches: months and segments between clock changes that were examined.
//!
//! Tests bound this count. A bound on the time would say more about the machine.

use std::cell::Cell;

thread_local! {
    static STEPS: Cell<u64> = const { Cell::new(0) };
}

/// Counts one step.
pub(super) fn add() {
    STEPS.set(STEPS.get() + 1);
}

/// Returns the number of steps that `search` takes on this thread, and its result.
pub(crate) fn counted<T>(search: impl FnOnce() -> T) -> (u64, T) {
    let before = STEPS.get();
    let result = search();
    (STEPS.get() - before, result)
}
