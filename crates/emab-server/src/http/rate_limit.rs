//! So much a second and no more, for each token or each peer, in bounded memory.
//!
//! A bucket is one instant, the one at which it will be full again (the generic cell rate algorithm): a call moves it
//! on, and is refused if it lies too far ahead. A full bucket is worth forgetting.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Some 100 bytes each.
const BUCKETS: usize = 65_536;
/// Looking for full buckets takes a walk through all of them.
const SWEEP: Duration = Duration::from_secs(1);

/// A limit for each key, such as a token's id or [`network`] of a peer.
#[derive(Debug)]
pub struct Rate<K> {
    /// What one call costs; none when there is no limit.
    cost: Option<Duration>,
    /// How far ahead an instant may lie.
    slack: Duration,
    buckets: Mutex<Buckets<K>>,
}

#[derive(Debug)]
struct Buckets<K> {
    full_at: HashMap<K, Instant>,
    most: usize,
    /// What those share who find no room.
    shared: Option<Instant>,
    swept: Option<Instant>,
}

impl<K: Hash + Eq> Rate<K> {
    /// So many calls a second, and up to `burst` at once (at least 1). A rate of 0 limits nothing.
    pub fn new(per_second: u32, burst: u32) -> Rate<K> {
        Rate::with_room(per_second, burst, BUCKETS)
    }

    fn with_room(per_second: u32, burst: u32, most: usize) -> Rate<K> {
        let cost = (per_second > 0).then(|| Duration::from_secs(1) / per_second);
        Rate {
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

    /// Takes one call from the bucket, or says after how many seconds to come again (for `Retry-After`).
    pub fn check(&self, key: K) -> Result<(), u64> {
        self.check_at(key, Instant::now())
    }

    fn check_at(&self, key: K, now: Instant) -> Result<(), u64> {
        let Some(cost) = self.cost else { return Ok(()) };
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        let known = buckets.full_at.get(&key).copied();
        let room = known.is_some() || buckets.room(now);
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
    /// Whether there is room for one more, after a look for those that nobody needs any more.
    fn room(&mut self, now: Instant) -> bool {
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

/// What a peer is known by: its address, or the network of an IPv6 one, of which a single household has 2^64 addresses.
pub fn network(peer: SocketAddr) -> IpAddr {
    match peer.ip().to_canonical() {
        IpAddr::V6(address) => {
            let prefix = address.to_bits() & !u128::from(u64::MAX);
            IpAddr::V6(Ipv6Addr::from_bits(prefix))
        }
        v4 => v4,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_burst_passes_and_then_the_rate() {
        let rate = Rate::new(10, 5);
        let now = Instant::now();
        let passed = |at| {
            (0..100)
                .take_while(|_| rate.check_at("a", at).is_ok())
                .count()
        };
        assert_eq!(passed(now), 5);
        assert_eq!(rate.check_at("a", now), Err(1));
        // Others have their own.
        assert_eq!(rate.check_at("b", now), Ok(()));
        assert_eq!(passed(now + SECOND / 10), 1);
        assert_eq!(passed(now + SECOND / 2), 4);
        assert_eq!(passed(now + 100 * SECOND), 5);
    }

    #[test]
    fn whoever_comes_again_when_told_to_passes() {
        let rate = Rate::new(1, 1);
        let now = Instant::now();
        assert_eq!(rate.check_at((), now), Ok(()));
        for _ in 0..3 {
            // Being refused costs nothing.
            assert_eq!(rate.check_at((), now), Err(1));
        }
        assert_eq!(rate.check_at((), now + SECOND), Ok(()));
    }

    #[test]
    fn no_rate_is_no_limit_and_no_memory() {
        let rate = Rate::new(0, 0);
        for i in 0..1000 {
            assert_eq!(rate.check(i % 7), Ok(()));
        }
        assert!(rate.buckets.lock().unwrap().full_at.is_empty());
        // And the largest of everything is no overflow.
        assert_eq!(Rate::new(u32::MAX, u32::MAX).check(()), Ok(()));
        assert_eq!(Rate::new(1, u32::MAX).check(()), Ok(()));
    }

    #[test]
    fn more_keys_than_room_share_one_bucket() {
        let rate = Rate::with_room(1, 2, 10);
        let now = Instant::now();
        let passed = (0..1000).filter(|key| rate.check_at(*key, now).is_ok());
        assert_eq!(passed.count(), 10 + 2);
        // Those that were there keep theirs.
        assert_eq!(rate.check_at(0, now), Ok(()));
        assert_eq!(rate.buckets.lock().unwrap().full_at.len(), 10);
        // And when they are full again there is room.
        let later = now + 5 * SECOND;
        assert_eq!(rate.check_at(2000, later), Ok(()));
        assert_eq!(rate.buckets.lock().unwrap().full_at.len(), 1);
    }

    #[test]
    fn peers_are_known_by_their_network() {
        let of = |text: &str| network(text.parse().unwrap()).to_string();
        assert_eq!(of("10.1.2.3:4"), "10.1.2.3");
        assert_eq!(of("[::ffff:10.1.2.3]:4"), "10.1.2.3");
        assert_eq!(of("[2001:db8:1:2:3:4:5:6]:7"), "2001:db8:1:2::");
    }

    proptest! {
        /// In any span of time, at most the burst and what the rate gives in it.
        #[test]
        fn never_more_than_allowed(
            per_second in 1u32..50,
            burst in 1u32..20,
            gaps in prop::collection::vec(0u64..400, 1..200),
        ) {
            let rate = Rate::new(per_second, burst);
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
