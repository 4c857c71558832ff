//! Memory measurement.

use std::alloc::System;

use cap::Cap;

/// The system allocator with a count of allocated bytes: one atomic addition per allocation.
#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, usize::MAX);

/// The bytes that a value owns: those freed when it is dropped.
pub fn held_by<T>(thing: T) -> u64 {
    let before = ALLOCATOR.allocated();
    drop(thing);
    before.saturating_sub(ALLOCATOR.allocated()) as u64
}
