//! How the allocator of the system keeps memory that is free.
//!
//! The only `unsafe` code there is; what needs memory, and how much, is each command's own business.

/// Keeps little: one heap for all threads, given back once it is not needed. For a process that waits for people and
/// has few threads; elsewhere threads are better off with heaps of their own.
///
/// To be called before other threads are started: whichever has a heap by then keeps it.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(
    unsafe_code,
    reason = "no crate has a safe form of it, and it is a number for the allocator"
)]
pub(crate) fn keep_little() {
    /// What is free at the end of the heap, and what is a mapping of its own. Without a word both grow to what was
    /// once freed, up to 32 MiB.
    const FREE_BYTES: i32 = 128 * 1024;
    let settings = [
        (libc::M_ARENA_MAX, 1),
        (libc::M_TRIM_THRESHOLD, FREE_BYTES),
        (libc::M_MMAP_THRESHOLD, FREE_BYTES),
    ];
    for (setting, value) in settings {
        // SAFETY: it takes two numbers, touches nothing but the allocator's own settings, under its lock, and refuses what
        // it does not know.
        unsafe { libc::mallopt(setting, value) };
    }
}

/// Gives back what is free between what is in use, of whole pages.
///
/// To be called when much was put together and taken apart again.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(unsafe_code, reason = "no crate has a safe form of it, and it is a word to the allocator")]
pub(crate) fn give_back() {
    // SAFETY: it takes a number, touches nothing but memory that the allocator has and nobody else, under its lock.
    unsafe { libc::malloc_trim(0) };
}

/// Other allocators do by themselves.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(crate) fn give_back() {}

/// Other allocators do by themselves.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(crate) fn keep_little() {}
