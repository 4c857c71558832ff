//! The wall clock. It may be wrong: the order of events is that of the log, so a wrong date must not stop the service.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The last second of the year 9999.
const LAST: Duration = Duration::from_secs(253_402_300_799);

/// The time of this machine, clamped to the years 1970 to 9999, which RFC 3339 can represent.
pub fn now() -> SystemTime {
    within(SystemTime::now())
}

/// The present time, to the second, as RFC 3339.
pub fn now_text() -> String {
    humantime::format_rfc3339_seconds(now()).to_string()
}

/// The present time in seconds since 1970.
pub fn now_seconds() -> u64 {
    now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |it| it.as_secs())
}

/// The time after a duration, clamped as [`now`].
pub fn after(duration: Duration) -> SystemTime {
    let last = UNIX_EPOCH + LAST;
    within(now().checked_add(duration).unwrap_or(last))
}

fn within(time: SystemTime) -> SystemTime {
    time.clamp(UNIX_EPOCH, UNIX_EPOCH + LAST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clamps_the_clock_to_the_years_of_rfc_3339() {
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
