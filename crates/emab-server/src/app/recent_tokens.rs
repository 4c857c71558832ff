//! Whether several tokens are in use.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long a token counts as in use after a request.
pub const IN_USE: Duration = Duration::from_millis(100);

/// The tokens of the last requests.
#[derive(Debug, Default)]
pub struct RecentTokens(Mutex<Recent>);

#[derive(Debug, Default)]
struct Recent {
    last: Option<(Arc<str>, Instant)>,
    /// The last request of another token than that one.
    other: Option<Instant>,
}

impl RecentTokens {
    /// Records a request of a token. Returns whether another token is in use.
    pub fn record(&self, token: &Arc<str>) -> bool {
        self.record_at(token, Instant::now())
    }

    fn record_at(&self, token: &Arc<str>, now: Instant) -> bool {
        let mut recent = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut recent.last {
            Some((last, at)) if last == token => *at = now,
            last => {
                let before = last.replace((token.clone(), now));
                recent.other = before.map(|(_, at)| at);
            }
        }
        let since = recent.other.map(|at| now.saturating_duration_since(at));
        since.is_some_and(|time| time < IN_USE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_token_is_in_use_for_a_while_after_its_request() {
        let recent = RecentTokens::default();
        let start = Instant::now();
        let [a, b]: [Arc<str>; 2] = ["a".into(), "b".into()];
        let cases = [
            (&a, 0, false),
            (&a, 1, false),
            (&b, 2, true),
            (&b, 90, true),
            (&b, 150, false),
            (&a, 151, true),
            (&b, 400, false),
        ];
        for (token, after, expected) in cases {
            let now = start + Duration::from_millis(after);
            assert_eq!(recent.record_at(token, now), expected, "{after}");
        }
    }
}
