//! Processor time.

/// Processor seconds of all threads of this program, where the system reports them; other programs do not count.
#[cfg(unix)]
pub fn processor_seconds() -> Option<f64> {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Some(time.tv_sec as f64 + 1e-9 * time.tv_nsec as f64)
}

/// Not available on this system.
#[cfg(not(unix))]
pub fn processor_seconds() -> Option<f64> {
    None
}
