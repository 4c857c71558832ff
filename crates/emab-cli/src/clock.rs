//! The processor's time.

/// Seconds that all threads of this program have been running, if the system says so: whoever else is busy on the
/// machine does not count, as on a clock on the wall.
#[cfg(unix)]
pub fn processor_seconds() -> Option<f64> {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Some(time.tv_sec as f64 + 1e-9 * time.tv_nsec as f64)
}

/// Not known here.
#[cfg(not(unix))]
pub fn processor_seconds() -> Option<f64> {
    None
}
