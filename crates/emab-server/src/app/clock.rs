//! The clock on the wall, which may stand anywhere: order is that of the log, so a wrong date must not stop anybody.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The last second of the year 9999.
const LAST: Duration = Duration::from_secs(253_402_300_799);

/// Now, by this machine's clock. One that stands before 1970 or after 9999 is read as the first or last moment of those
/// years, since other dates cannot be written down (RFC 3339).
pub fn now() -> SystemTime {
    within(SystemTime::now())
}

fn within(time: SystemTime) -> SystemTime {
    time.clamp(UNIX_EPOCH, UNIX_EPOCH + LAST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_clock_can_be_written_down() {
        let hour = Duration::from_secs(3600);
        for (time, text) in [
            (UNIX_EPOCH - hour, "1970-01-01T00:00:00.000000Z"),
            (UNIX_EPOCH + hour, "1970-01-01T01:00:00.000000Z"),
            (UNIX_EPOCH + LAST + hour, "9999-12-31T23:59:59.000000Z"),
        ] {
            let written = humantime::format_rfc3339_micros(within(time)).to_string();
            assert_eq!(written, text);
        }
    }
}
