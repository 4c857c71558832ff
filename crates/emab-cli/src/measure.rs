//! Measurement of processor time and memory.

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

/// Processor seconds of all threads of this program, where the system reports them; other programs do not count.
pub fn processor_seconds() -> Option<f64> {
    #[cfg(unix)]
    {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
        Some(time.tv_sec as f64 + 1e-9 * time.tv_nsec as f64)
    }
    #[cfg(not(unix))]
    None
}
