//! Counters of a study for its health: recent reports, and the outcomes that are awaited.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The last 64 answers to a question of yes or no, the latest in the lowest bit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Recent(u64);

impl Recent {
    /// The number of answers that are kept.
    pub const KEPT: u64 = u64::BITS as u64;

    /// Adds an answer.
    pub fn add(&mut self, yes: bool) {
        self.0 = self.0 << 1 | u64::from(yes);
    }

    /// The number of times that it was yes.
    pub fn yes(self) -> u64 {
        u64::from(self.0.count_ones())
    }
}

/// The number of awaited outcomes, by the time at which their episodes ended: for every interval of a sixteenth of the expected
/// delay, counted from 1970.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Awaited(BTreeMap<u64, u64>);

/// The expected delay of a study that states none: intervals are then hours.
const DEFAULT_DELAY: Duration = Duration::from_secs(16 * 3_600);

/// The length of an interval in seconds.
fn interval(delay: Option<Duration>) -> u64 {
    (delay.unwrap_or(DEFAULT_DELAY).as_secs() / 16).max(1)
}

/// Whether an outcome whose episode ended at this time, in seconds, is overdue: it has been awaited for longer than the expected delay,
/// by up to a sixteenth of it.
pub fn is_overdue(ended: u64, delay: Duration, now: u64) -> bool {
    is_late(ended / interval(Some(delay)), delay, now)
}

/// Whether the outcomes of an interval are overdue.
fn is_late(place: u64, delay: Duration, now: u64) -> bool {
    let end = place
        .saturating_add(1)
        .saturating_mul(interval(Some(delay)));
    end.saturating_add(delay.as_secs()) <= now
}

impl Awaited {
    /// The largest number of intervals. The two oldest are merged beyond it, into the younger one.
    const INTERVALS: usize = 64;

    /// Adds an outcome whose episode ended at this time, in seconds.
    pub fn add(&mut self, ended: u64, delay: Option<Duration>) {
        *self.0.entry(ended / interval(delay)).or_default() += 1;
        if self.0.len() > Self::INTERVALS
            && let Some((_, oldest)) = self.0.pop_first()
            && let Some(mut next) = self.0.first_entry()
        {
            *next.get_mut() += oldest;
        }
    }

    /// Removes an outcome that has come.
    pub fn remove(&mut self, ended: u64, delay: Option<Duration>) {
        // Its interval, or the one into which that was merged.
        let place = self.0.range(ended / interval(delay)..).next();
        let Some((&place, &count)) = place else {
            return;
        };
        match count {
            0 | 1 => self.0.remove(&place),
            _ => self.0.insert(place, count - 1),
        };
    }

    /// The number of awaited outcomes.
    pub fn total(&self) -> u64 {
        self.0.values().sum()
    }

    /// The number of outcomes that are overdue.
    pub fn overdue(&self, delay: Duration, now: u64) -> u64 {
        let intervals = self.0.iter();
        let late = intervals.take_while(|(place, _)| is_late(**place, delay, now));
        late.map(|(_, count)| count).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recent_answers_replace_old_ones() {
        let mut recent = Recent::default();
        recent.add(true);
        for _ in 0..63 {
            recent.add(false);
        }
        assert_eq!(recent.yes(), 1);
        recent.add(false);
        assert_eq!(recent.yes(), 0);
    }

    #[test]
    fn an_outcome_is_overdue_after_the_expected_delay() {
        let delay = Duration::from_secs(1_600);
        let mut awaited = Awaited::default();
        for ended in [50, 150, 1_000] {
            awaited.add(ended, Some(delay));
        }
        assert_eq!(awaited.overdue(delay, 1_650), 0);
        assert_eq!(awaited.overdue(delay, 1_700), 1);
        assert_eq!(awaited.overdue(delay, 1_800), 2);
        assert!(is_overdue(50, delay, 1_700) && !is_overdue(50, delay, 1_699));
        awaited.remove(150, Some(delay));
        assert_eq!((awaited.overdue(delay, 10_000), awaited.total()), (2, 2));
        awaited.remove(50, Some(delay));
        awaited.remove(1_000, Some(delay));
        assert_eq!(awaited, Awaited::default());
        awaited.remove(1_000, Some(delay));
    }

    #[test]
    fn many_intervals_are_merged_and_none_is_lost() {
        let mut awaited = Awaited::default();
        for hour in 0..1_000 {
            awaited.add(hour * 3_600, None);
        }
        assert_eq!((awaited.total(), awaited.0.len()), (1_000, 64));
        for hour in 0..1_000 {
            awaited.remove(hour * 3_600, None);
        }
        assert_eq!(awaited, Awaited::default());
    }
}
