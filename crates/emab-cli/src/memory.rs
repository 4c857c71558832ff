//! How much memory something holds.

use std::alloc::System;

use cap::Cap;

/// The system's allocator, with a count of the bytes that are out: one atomic addition for each of them.
#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, usize::MAX);

/// The bytes that something holds alone: those that come back when it is dropped.
pub fn held_by<T>(thing: T) -> u64 {
    let before = ALLOCATOR.allocated();
    drop(thing);
    before.saturating_sub(ALLOCATOR.allocated()) as u64
}
