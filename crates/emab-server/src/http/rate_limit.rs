//! Token-bucket rate limiter with one bucket per key, in bounded memory.
//!
//! A bucket is stored as the instant at which it is full again (generic cell rate algorithm). A request moves the instant
//! forward, and is rejected if it is too far ahead. Full buckets are dropped.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The largest number of buckets, about 100 bytes each.
const MAX_BUCKETS: usize = 65_536;
/// The shortest time between two searches for full buckets, which visit all.
const SWEEP: Duration = Duration::from_secs(1);

/// A rate limit for each key, such as a token id or a network.
#[derive(Debug)]
pub struct RateLimiter<K> {
    /// The cost of a request; none without a limit.
    cost: Option<Duration>,
    /// How far ahead an instant may be.
    slack: Duration,
    buckets: Mutex<Buckets<K>>,
}

#[derive(Debug)]
struct Buckets<K> {
    full_at: HashMap<K, Instant>,
    most: usize,
    /// The bucket that all keys beyond the capacity share.
    shared: Option<Instant>,
    swept: Option<Instant>,
}

impl<K: Hash + Eq> RateLimiter<K> {
    /// Allows `per_second` requests per second and bursts of up to `burst` (at least 1). A rate of 0 is no limit.
    pub fn new(per_second: u32, burst: u32) -> RateLimiter<K> {
        RateLimiter::with_capacity(per_second, burst, MAX_BUCKETS)
    }

    fn with_capacity(per_second: u32, burst: u32, most: usize) -> RateLimiter<K> {
        let cost = (per_second > 0).then(|| Duration::from_secs(1) / per_second);
        RateLimiter {
            cost,
            slack: cost
                .unwrap_or_default()
                .saturating_mul(burst.saturating_sub(1)),
            buckets: Mutex::new(Buckets {
                full_at: HashMap::new(),
                most,
                shared: None,
                swept: None,
            }),
        }
    }

    /// Takes one request from the bucket; an error is the number of seconds to wait (for `Retry-After`).
    pub fn check(&self, key: K) -> Result<(), u64> {
        self.check_at(key, Instant::now())
    }

    fn check_at(&self, key: K, now: Instant) -> Result<(), u64> {
        let Some(cost) = self.cost else { return Ok(()) };
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        let known = buckets.full_at.get(&key).copied();
        let room = known.is_some() || buckets.has_room(now);
        let full_at = if room { known } else { buckets.shared };
        let full_at = full_at.map_or(now, |at| at.max(now));
        let ahead = full_at - now;
        if ahead > self.slack {
            let wait = ahead - self.slack;
            return Err(wait.as_secs() + u64::from(wait.subsec_nanos() > 0));
        }
        if room {
            buckets.full_at.insert(key, full_at + cost);
        } else {
            buckets.shared = Some(full_at + cost);
        }
        Ok(())
    }
}

impl<K: Hash + Eq> Buckets<K> {
    /// Whether a bucket can be added, after dropping full ones.
    fn has_room(&mut self, now: Instant) -> bool {
        if self.full_at.len() < self.most {
            return true;
        }
        let due = self.swept.is_none_or(|at| now.duration_since(at) >= SWEEP);
        if due {
            self.swept = Some(now);
            self.full_at.retain(|_, full_at| *full_at > now);
        }
        self.full_at.len() < self.most
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn allows_a_burst_and_then_the_rate() {
        let rate = RateLimiter::new(10, 5);
        let now = Instant::now();
        let passed = |at| {
            (0..100)
                .take_while(|_| rate.check_at("a", at).is_ok())
                .count()
        };
        assert_eq!(passed(now), 5);
        assert_eq!(rate.check_at("a", now), Err(1));
        // Other keys have their own bucket.
        assert_eq!(rate.check_at("b", now), Ok(()));
        assert_eq!(passed(now + SECOND / 10), 1);
        assert_eq!(passed(now + SECOND / 2), 4);
        assert_eq!(passed(now + 100 * SECOND), 5);
    }

    #[test]
    fn accepts_a_request_after_the_stated_wait() {
        let rate = RateLimiter::new(1, 1);
        let now = Instant::now();
        assert_eq!(rate.check_at((), now), Ok(()));
        for _ in 0..3 {
            // A rejected request costs nothing.
            assert_eq!(rate.check_at((), now), Err(1));
        }
        assert_eq!(rate.check_at((), now + SECOND), Ok(()));
    }

    #[test]
    fn a_rate_of_zero_is_no_limit_and_uses_no_memory() {
        let rate = RateLimiter::new(0, 0);
        for i in 0..1000 {
            assert_eq!(rate.check(i % 7), Ok(()));
        }
        assert!(rate.buckets.lock().unwrap().full_at.is_empty());
        // The largest values do not overflow.
        assert_eq!(RateLimiter::new(u32::MAX, u32::MAX).check(()), Ok(()));
        assert_eq!(RateLimiter::new(1, u32::MAX).check(()), Ok(()));
    }

    #[test]
    fn keys_beyond_the_capacity_share_one_bucket() {
        let rate = RateLimiter::with_capacity(1, 2, 10);
        let now = Instant::now();
        let passed = (0..1000).filter(|key| rate.check_at(*key, now).is_ok());
        assert_eq!(passed.count(), 10 + 2);
        // Known keys keep their bucket.
        assert_eq!(rate.check_at(0, now), Ok(()));
        assert_eq!(rate.buckets.lock().unwrap().full_at.len(), 10);
        // Full buckets make room.
        let later = now + 5 * SECOND;
        assert_eq!(rate.check_at(2000, later), Ok(()));
        assert_eq!(rate.buckets.lock().unwrap().full_at.len(), 1);
    }

    proptest! {
        /// In any period, at most the burst and the rate times its length.
        #[test]
        fn never_exceeds_the_limit(
            per_second in 1u32..50,
            burst in 1u32..20,
            gaps in prop::collection::vec(0u64..400, 1..200),
        ) {
            let rate = RateLimiter::new(per_second, burst);
            let start = Instant::now();
            let mut now = start;
            let mut passed = Vec::new();
            for gap in gaps {
                now += Duration::from_millis(gap);
                if rate.check_at((), now).is_ok() {
                    passed.push(now);
                }
            }
            for (i, from) in passed.iter().enumerate() {
                for (j, to) in passed.iter().enumerate().skip(i) {
                    let allowed = f64::from(burst) + (*to - *from).as_secs_f64() * f64::from(per_second);
                    prop_assert!((j - i + 1) as f64 <= allowed + 1e-3);
                }
            }
        }
    }
}
