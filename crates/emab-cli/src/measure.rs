//! Measurement of processor time and memory.

use std::sync::OnceLock;

/// Returns the number of bytes that the program has allocated and not freed.
pub type Allocated = fn() -> usize;

static ALLOCATED: OnceLock<Allocated> = OnceLock::new();

/// Sets the count of the program's allocator.
pub fn set_allocated(allocated: Allocated) {
    let _ = ALLOCATED.set(allocated);
}

/// The bytes that a value owns: those freed when it is dropped. None if the program's allocator does not count.
pub fn held_by<T>(thing: T) -> Option<u64> {
    let allocated = ALLOCATED.get()?;
    let before = allocated();
    drop(thing);
    Some(before.saturating_sub(allocated()) as u64)
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
