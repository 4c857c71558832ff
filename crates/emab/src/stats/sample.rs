//! The distribution of a quantity over many runs, in bounded memory: quantiles, and whether the runs form two groups.

use serde::{Deserialize, Serialize};

/// Numbers with their counts. Up to [`Sample::EXACT`] different numbers are kept exactly; with more of them, every number is
/// rounded to a relative error of at most 1/512.
///
/// Whether numbers are rounded depends on the whole set alone, so the order of additions and merges does not change a sample.
///
/// ```
/// use emab::stats::Sample;
/// let mut sample = Sample::default();
/// (1..=101).rev().for_each(|i| sample.add(f64::from(i)));
/// let quantiles = sample.quantiles().unwrap();
/// assert_eq!((quantiles.q05, quantiles.q50, quantiles.q95), (6.0, 51.0, 96.0));
/// ```
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Sample {
    /// Keys of the numbers, in increasing order, and their counts.
    counts: Vec<(i64, u64)>,
    /// Whether the numbers are rounded.
    rounded: bool,
    /// Counts that are not joined yet.
    #[serde(skip)]
    pending: Vec<(i64, u64)>,
}

/// Quantiles of a sample, with linear interpolation between neighbours (the default of NumPy and R).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Quantiles {
    /// The 5 % quantile.
    pub q05: f64,
    /// The lower quartile.
    pub q25: f64,
    /// The median.
    pub q50: f64,
    /// The upper quartile.
    pub q75: f64,
    /// The 95 % quantile.
    pub q95: f64,
}

/// Two groups of runs, far from each other: the mean of all runs describes neither.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct TwoGroups {
    /// The mean of the lower group.
    pub lower: f64,
    /// The mean of the upper group.
    pub upper: f64,
    /// The share of the runs in the upper group.
    pub upper_share: f64,
}

/// An integer whose order is that of the numbers.
fn key(value: f64) -> i64 {
    // Negative zero counts as zero.
    let bits = (value + 0.0).to_bits() as i64;
    bits ^ ((bits >> 63) as u64 >> 1) as i64
}

fn value(key: i64) -> f64 {
    f64::from_bits((key ^ ((key >> 63) as u64 >> 1) as i64) as u64)
}

/// The middle of the numbers that share sign, exponent and the first eight bits of the mantissa.
fn round(number: i64) -> i64 {
    const DROPPED: u64 = (1 << 44) - 1;
    let exact = value(number);
    if exact == 0.0 || !exact.is_finite() {
        return number;
    }
    key(f64::from_bits((exact.to_bits() & !DROPPED) | (1 << 43)))
}

/// Sorts a list and joins the counts of equal keys.
fn join(mut counts: Vec<(i64, u64)>) -> Vec<(i64, u64)> {
    // The stable sort merges parts that are sorted already.
    counts.sort_by_key(|(key, _)| *key);
    counts.dedup_by(|next, kept| {
        let equal = next.0 == kept.0;
        if equal {
            kept.1 += next.1;
        }
        equal
    });
    counts
}

impl Sample {
    /// The most different numbers that are kept exactly.
    pub const EXACT: usize = 4096;
    /// Runs below which [`Sample::two_groups`] makes no statement.
    pub const LEAST_FOR_GROUPS: u64 = 20;
    /// The share of the variance that two groups must explain. The best split explains 64 % for a normal distribution, 75 % for a uniform and
    /// 65 % for an exponential one.
    pub const GROUPS_EXPLAIN: f64 = 0.9;

    /// Adds a number.
    pub fn add(&mut self, value: f64) {
        self.pending.push((key(value), 1));
        self.settle_if_many();
    }

    /// Adds the numbers of another sample.
    pub fn merge(&mut self, other: &Sample) {
        self.rounded |= other.rounded;
        for &(key, count) in other.counts.iter().chain(&other.pending) {
            let key = if self.rounded { round(key) } else { key };
            match self.pending.last_mut() {
                Some((last, sum)) if *last == key => *sum += count,
                _ => self.pending.push((key, count)),
            }
        }
        self.settle_if_many();
    }

    fn settle_if_many(&mut self) {
        if self.pending.len() >= Sample::EXACT {
            self.settle();
        }
    }

    /// Sorts what was added: a merge of sorted numbers takes less time.
    pub fn settle(&mut self) {
        let mut counts = std::mem::take(&mut self.counts);
        counts.append(&mut self.pending);
        let mut counts = join(counts);
        if self.rounded || counts.len() > Sample::EXACT {
            self.rounded = true;
            counts.iter_mut().for_each(|(key, _)| *key = round(*key));
            counts = join(counts);
        }
        self.counts = counts;
    }

    fn settled(&self) -> Sample {
        let mut sample = self.clone();
        sample.settle();
        sample
    }

    /// The count of numbers.
    pub fn count(&self) -> u64 {
        let counts = self.counts.iter().chain(&self.pending);
        counts.map(|(_, n)| n).sum()
    }

    /// The quantiles; none of an empty sample.
    pub fn quantiles(&self) -> Option<Quantiles> {
        let settled = self.settled();
        let n = settled.count();
        if n == 0 {
            return None;
        }
        let at = |rank: u64| {
            let mut passed = 0;
            let found = settled.counts.iter().find(|(_, count)| {
                passed += count;
                passed > rank
            });
            found.map_or(f64::NAN, |(key, _)| value(*key))
        };
        let quantile = |percent: u64| {
            let place = (n - 1) * percent;
            let (low, rest) = (place / 100, place % 100);
            let below = at(low);
            match rest {
                0 => below,
                rest => below + (at(low + 1) - below) * (rest as f64 / 100.0),
            }
        };
        Some(Quantiles {
            q05: quantile(5),
            q25: quantile(25),
            q50: quantile(50),
            q75: quantile(75),
            q95: quantile(95),
        })
    }

    /// Whether the numbers form two groups: the split into lower and upper numbers that leaves the least variance within both
    /// (Otsu's method) explains at least [`Sample::GROUPS_EXPLAIN`] of the variance. None for fewer than
    /// [`Sample::LEAST_FOR_GROUPS`] numbers.
    ///
    /// ```
    /// let mut sample = emab::stats::Sample::default();
    /// (0..90).for_each(|i| sample.add(f64::from(i % 10)));
    /// assert_eq!(sample.two_groups(), None);
    /// (0..10).for_each(|i| sample.add(100.0 + f64::from(i)));
    /// assert_eq!(sample.two_groups().unwrap().upper_share, 0.1);
    /// ```
    pub fn two_groups(&self) -> Option<TwoGroups> {
        let settled = self.settled();
        let n = settled.count();
        let numbers: Vec<(f64, f64)> = settled
            .counts
            .iter()
            .map(|(key, n)| (value(*key), *n as f64))
            .collect();
        if n < Sample::LEAST_FOR_GROUPS || numbers.iter().any(|(v, _)| !v.is_finite()) {
            return None;
        }
        let n = n as f64;
        let mean = numbers.iter().map(|(v, count)| v * count).sum::<f64>() / n;
        let variance = numbers
            .iter()
            .map(|(v, count)| count * (v - mean) * (v - mean))
            .sum::<f64>()
            / n;
        // Equal numbers, up to rounding.
        if variance <= 1e-24 * mean * mean {
            return None;
        }
        let (mut below, mut sum) = (0.0, 0.0);
        let mut best: Option<(f64, TwoGroups)> = None;
        for (v, count) in numbers.iter().take(numbers.len() - 1) {
            below += count;
            sum += count * (v - mean);
            let (lower, upper) = (sum / below, -sum / (n - below));
            let between = below * (n - below) / (n * n) * (upper - lower) * (upper - lower);
            if best.is_none_or(|(most, _)| between > most) {
                let upper_share = (n - below) / n;
                let groups = TwoGroups {
                    lower: mean + lower,
                    upper: mean + upper,
                    upper_share,
                };
                best = Some((between, groups));
            }
        }
        let explains = |between: &f64| *between >= Sample::GROUPS_EXPLAIN * variance;
        best.filter(|(between, _)| explains(between))
            .map(|(_, groups)| groups)
    }
}

impl PartialEq for Sample {
    fn eq(&self, other: &Sample) -> bool {
        let (one, two) = (self.settled(), other.settled());
        (one.rounded, one.counts) == (two.rounded, two.counts)
    }
}

impl Eq for Sample {}

impl Serialize for Sample {
    fn serialize<S: serde::Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Settled<'a> {
            counts: &'a [(i64, u64)],
            rounded: bool,
        }
        let settled = self.settled();
        let settled = Settled {
            counts: &settled.counts,
            rounded: settled.rounded,
        };
        settled.serialize(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Role, Stream};

    fn sample(values: impl IntoIterator<Item = f64>) -> Sample {
        let mut sample = Sample::default();
        values.into_iter().for_each(|value| sample.add(value));
        sample
    }

    #[test]
    fn quantiles_interpolate_as_numpy_does() {
        // np.quantile([1, 2, 4, -1], [0.05, 0.25, 0.5, 0.75, 0.95])
        let quantiles = sample([1.0, 2.0, 4.0, -1.0]).quantiles().unwrap();
        let Quantiles {
            q05,
            q25,
            q50,
            q75,
            q95,
        } = quantiles;
        let expected = [-0.7, 0.5, 1.5, 2.5, 3.7];
        for (got, expected) in [q05, q25, q50, q75, q95].iter().zip(expected) {
            assert!((got - expected).abs() < 1e-12, "{got} {expected}");
        }
        assert_eq!(Sample::default().quantiles(), None);
    }

    #[test]
    fn order_and_grouping_of_additions_do_not_matter() {
        for n in [10, Sample::EXACT as u32, 3 * Sample::EXACT as u32] {
            let values: Vec<f64> = (0..n).map(|i| (f64::from(i) - 500.0) * 0.37).collect();
            let whole = sample(values.iter().copied());
            let mut parts = Sample::default();
            for part in values.rchunks(1000) {
                parts.merge(&sample(part.iter().copied()));
            }
            assert_eq!(whole, parts);
            let text = serde_json::to_string(&parts).unwrap();
            assert_eq!(text, serde_json::to_string(&whole).unwrap());
            assert_eq!(serde_json::from_str::<Sample>(&text).unwrap(), whole);
            assert_eq!(whole.count(), u64::from(n));
            let exact = |p: f64| (p * f64::from(n - 1) - 500.0) * 0.37;
            let median = whole.quantiles().unwrap().q50;
            let error = (median - exact(0.5)).abs();
            let allowed = if n as usize > Sample::EXACT {
                exact(0.5).abs() / 512.0
            } else {
                1e-9
            };
            assert!(error <= allowed + 0.37, "{n}: {median}");
        }
    }

    #[test]
    fn rounding_keeps_zero_sign_and_infinity() {
        let many = (0..2 * Sample::EXACT).map(|i| i as f64);
        let rounded = sample(many.clone().map(|v| -v).chain(many));
        assert!(rounded.rounded);
        assert_eq!(rounded.quantiles().unwrap().q50, 0.0);
        for v in [0.0, 1.0, -1.0, 3.7, -1e300, 1e-310, f64::INFINITY] {
            let once = round(key(v));
            assert_eq!(round(once), once);
            if v != 0.0 && v.is_normal() {
                assert!((value(once) / v - 1.0).abs() <= 1.0 / 512.0, "{v}");
            }
        }
    }

    #[test]
    fn one_group_is_seldom_taken_for_two() {
        let mut stream = Stream::new(1, 0, Role::Learner);
        let mut taken = [0; 3];
        let trials = 2000;
        for _ in 0..trials {
            for n in [20, 100] {
                let normal = sample((0..n).map(|_| stream.normal()));
                let exponential = sample((0..n).map(|_| -libm::log(1.0 - stream.uniform())));
                let uniform = sample((0..n).map(|_| stream.uniform()));
                for (count, one) in taken.iter_mut().zip([normal, exponential, uniform]) {
                    *count += u32::from(one.two_groups().is_some());
                }
            }
        }
        // Of 2 x 2000 samples each.
        assert!(taken.iter().all(|&count| count <= 40), "{taken:?}");
    }

    #[test]
    fn stuck_runs_are_a_second_group() {
        let mut stream = Stream::new(2, 0, Role::Learner);
        let runs = (0..1000).map(|i| if i % 4 == 0 { 2.0 } else { 100.0 } + stream.normal());
        let groups = sample(runs).two_groups().unwrap();
        assert!((groups.upper_share - 0.75).abs() < 1e-12);
        assert!((groups.lower - 2.0).abs() < 0.3 && (groups.upper - 100.0).abs() < 0.3);
        assert_eq!(sample([0.0; 100]).two_groups(), None);
    }
}
