//! The last use of each token. It is written once a minute, not with every request.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The time between two writes.
pub(super) const EVERY: Duration = Duration::from_secs(60);

/// The last uses of tokens by their ids, RFC 3339.
pub(super) type LastUses = BTreeMap<String, String>;

/// The uses that this process has seen.
#[derive(Debug, Default)]
pub(super) struct Uses {
    /// The minute of the last use of each token.
    minutes: BTreeMap<String, u64>,
    /// What is not written yet.
    pending: LastUses,
}

impl Uses {
    /// Records a use.
    pub(super) fn record(&mut self, id: &str, now: SystemTime) {
        let minute = now.duration_since(UNIX_EPOCH).map_or(0, |it| it.as_secs()) / 60;
        if self.minutes.get(id) != Some(&minute) {
            self.minutes.insert(id.into(), minute);
            let time = humantime::format_rfc3339_seconds(now).to_string();
            self.pending.insert(id.into(), time);
        }
    }

    /// What is not written yet.
    pub(super) fn take(&mut self) -> LastUses {
        std::mem::take(&mut self.pending)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_use_is_known_to_the_minute() {
        let mut uses = Uses::default();
        let at = |seconds| UNIX_EPOCH + Duration::from_secs(seconds);
        for seconds in 61..200 {
            uses.record("a", at(seconds));
        }
        uses.record("b", at(61));
        let new = uses.take();
        assert_eq!(new["a"], "1970-01-01T00:03:00Z");
        assert_eq!(new.len(), 2);
        // The same minute is not written again.
        uses.record("a", at(201));
        assert!(uses.take().is_empty());
    }
}
