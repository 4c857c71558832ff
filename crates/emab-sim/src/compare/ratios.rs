//! Ratios to FeedBAL over many problems: a learner on a family, not on one problem.

use emab::stats::{clopper_pearson, half_width};

use crate::results::{
    ArenaEntry, ArenaProblem, Interval, LossRatio, Measured, REFERENCE, RegretRatio,
};

/// A ratio needs a denominator that differs from 0: FeedBAL's must exceed this many standard errors.
pub(super) const STANDARD_ERRORS: f64 = 4.0;
/// A loss below this share of FeedBAL's counts as this share: the logarithm of the rest is noise.
const LEAST_LOSS: f64 = 0.01;

/// The entries of a learner and of FeedBAL on each problem, where both were played.
fn both<'a>(problems: &'a [ArenaProblem], label: &str) -> Vec<(&'a ArenaEntry, &'a ArenaEntry)> {
    let of = |problem: &'a ArenaProblem, label: &str| {
        problem.learners.iter().find(|entry| entry.label == label)
    };
    let both = |problem| Some((of(problem, label)?, of(problem, REFERENCE)?));
    problems.iter().filter_map(both).collect()
}

/// The regret of a learner against the benchmark divided by FeedBAL's, over the problems where FeedBAL's exceeds four
/// standard errors; none where that is no problem.
pub(super) fn regret_ratio(problems: &[ArenaProblem], label: &str) -> Option<RegretRatio> {
    let mut ratios: Vec<f64> = both(problems, label)
        .into_iter()
        .filter(|(_, other)| other.regret.mean > STANDARD_ERRORS * other.regret.stderr)
        .filter(|(_, other)| other.regret.mean > 0.0)
        .map(|(entry, other)| entry.regret.mean / other.regret.mean)
        .collect();
    ratios.sort_by(f64::total_cmp);
    let count = ratios.len() as u64;
    let most = *ratios.last()?;
    let at_most_one = ratios.iter().filter(|ratio| **ratio <= 1.0).count() as u64;
    Some(RegretRatio {
        problems: count,
        median: median(&ratios),
        quantile_95: quantile(&ratios, 0.95),
        most,
        at_most_one: Interval {
            value: at_most_one as f64 / count as f64,
            ends: Some(clopper_pearson(at_most_one, count, 0.95)),
        },
    })
}

/// The geometric mean of the loss against the optimal policy divided by FeedBAL's, over the problems where FeedBAL's
/// exceeds four standard errors.
pub(super) fn loss_ratio(problems: &[ArenaProblem], label: &str) -> Option<LossRatio> {
    let loss = |entry: &ArenaEntry| entry.regret_optimal;
    let logs: Vec<f64> = both(problems, label)
        .into_iter()
        .filter_map(|(entry, other)| Some((loss(entry)?, loss(other)?, other.regret.stderr)))
        .filter(|(_, below, stderr)| *below > STANDARD_ERRORS * stderr && *below > 0.0)
        .map(|(above, below, _)| libm::log((above / below).max(LEAST_LOSS)))
        .collect();
    let measured = Measured::of(logs.iter().copied());
    let half = half_width(measured.stderr, logs.len() as u64);
    let at = |offset: f64| libm::exp(measured.mean + offset);
    (!logs.is_empty()).then(|| LossRatio {
        problems: logs.len() as u64,
        geometric_mean: Interval {
            value: at(0.0),
            ends: Some((at(-half), at(half))).filter(|_| logs.len() > 1),
        },
    })
}

/// The value of rank `ceil(q n)`.
fn quantile(sorted: &[f64], q: f64) -> f64 {
    let rank = (q * sorted.len() as f64).ceil() as usize;
    sorted[rank.clamp(1, sorted.len()) - 1]
}

/// The median with a distribution-free interval of at least 95 %: two order statistics, with ranks from the quantiles of
/// Binomial(n, 1/2).
fn median(sorted: &[f64]) -> Interval {
    let n = sorted.len();
    // The largest rank r for which P(Binomial(n, 1/2) < r) <= 2.5 %.
    let (mut below, mut rank) = (0.0, 0);
    // The logarithm of P(Binomial(n, 1/2) = rank), which does not underflow.
    let mut log = -(n as f64) * std::f64::consts::LN_2;
    while rank < n / 2 && below + libm::exp(log) <= 0.025 {
        below += libm::exp(log);
        log += libm::log((n - rank) as f64 / (rank + 1) as f64);
        rank += 1;
    }
    Interval {
        value: (sorted[(n - 1) / 2] + sorted[n / 2]) / 2.0,
        ends: (rank > 0).then(|| (sorted[rank - 1], sorted[n - rank])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_by_hand() {
        let sorted: Vec<f64> = (1..=20).map(f64::from).collect();
        assert_eq!(quantile(&sorted, 0.95), 19.0);
        assert_eq!(quantile(&sorted[..1], 0.95), 1.0);
        // P(Binomial(20, 1/2) < 6) = 2.07 %, and < 7 it is 5.8 %.
        let middle = median(&sorted);
        assert_eq!((middle.value, middle.ends), (10.5, Some((6.0, 15.0))));
        let few = median(&sorted[..3]);
        assert_eq!((few.value, few.ends), (2.0, None));
        // P(Binomial(2000, 1/2) < 956) = 2.33 %, and < 957 it is 2.59 %.
        let many: Vec<f64> = (1..=2000).map(f64::from).collect();
        assert_eq!(median(&many).ends, Some((956.0, 1045.0)));
    }
}
