//! The last use of each token. It is written once a minute, not with every request.

use std::collections::BTreeMap;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The shortest time between two writes.
const EVERY: Duration = Duration::from_secs(60);

/// The last uses of tokens by their ids, RFC 3339.
pub(super) type LastUses = BTreeMap<String, String>;

/// The uses that this process has seen.
#[derive(Debug, Default)]
pub(super) struct Uses {
    /// The minute of the last use of each token.
    minutes: BTreeMap<String, u64>,
    /// What is not written yet.
    pending: LastUses,
    written: Option<Instant>,
}

impl Uses {
    /// Records a use; returns what is to be written now, if it is time.
    pub(super) fn record(&mut self, id: &str, now: SystemTime) -> Option<LastUses> {
        let minute = now.duration_since(UNIX_EPOCH).map_or(0, |it| it.as_secs()) / 60;
        if self.minutes.get(id) != Some(&minute) {
            self.minutes.insert(id.into(), minute);
            let time = humantime::format_rfc3339_seconds(now).to_string();
            self.pending.insert(id.into(), time);
        }
        let is_time = self.written.is_none_or(|at| at.elapsed() >= EVERY);
        if !is_time || self.pending.is_empty() {
            return None;
        }
        self.written = Some(Instant::now());
        Some(self.take())
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
    fn the_first_use_is_written_at_once_and_later_ones_together() {
        let mut uses = Uses::default();
        let at = |seconds| UNIX_EPOCH + Duration::from_secs(seconds);
        let first = uses.record("a", at(60)).unwrap();
        assert_eq!(first["a"], "1970-01-01T00:01:00Z");
        for seconds in 61..200 {
            assert_eq!(uses.record("a", at(seconds)), None);
            assert_eq!(uses.record("b", at(seconds)), None);
        }
        let rest = uses.take();
        assert_eq!(rest["a"], "1970-01-01T00:03:00Z");
        assert_eq!(rest.len(), 2);
        assert!(uses.take().is_empty());
    }
}
