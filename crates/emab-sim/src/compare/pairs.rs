//! Pairwise comparison of learners after every round of runs, until every pair is decided.
//!
//! The differences of two learners, run by run, are independent and identically distributed: a run's random numbers depend on (seed, run,
//! role) alone. Each pair has a [`ConfidenceSequence`], whose intervals hold after all rounds at once, so that the number of runs may
//! depend on what they show. The intervals of all pairs hold together except with probability [`PairDecisions::ERROR`] (Bonferroni).

use emab::stats::ConfidenceSequence;

use super::ranking::difference;
use crate::results::{ArenaCellResult, ArenaPairs, Interval, LearnerPair, Measured, PairVerdict};

/// The pairs of the ranked learners of one problem.
///
/// ```
/// use emab_sim::compare::PairDecisions;
/// use emab_sim::results::PairVerdict;
/// let mut pairs = PairDecisions::new(3, 0.5, 3, 1000);
/// let good: Vec<f64> = (0..100).map(|i| f64::from(i % 3)).collect();
/// let bad: Vec<f64> = (0..100).map(|i| f64::from(9 + i % 4)).collect();
/// pairs.add(100, &[&good, &bad, &good]);
/// assert_eq!(pairs.open(), 0);
/// let verdicts: Vec<PairVerdict> = pairs.results(&["one", "two", "three"]).pairs.iter().map(|pair| pair.verdict).collect();
/// assert_eq!(verdicts, [PairVerdict::Better, PairVerdict::Equivalent, PairVerdict::Worse]);
/// ```
#[derive(Clone, Debug)]
pub struct PairDecisions {
    margin: f64,
    /// The number of pairs that share the error probability.
    of: u64,
    most_runs: u64,
    runs: u64,
    pairs: Vec<(usize, usize, ConfidenceSequence)>,
}

impl PairDecisions {
    /// Runs that are added before the pairs are looked at again.
    pub const ROUND: u64 = 50;
    /// Runs before the first look. The intervals are asymptotic for differences that are not normal, and rare runs must have a
    /// chance to be seen.
    pub const BURN_IN: u64 = 100;
    /// The probability that an interval of any pair misses after any round.
    pub const ERROR: f64 = 0.05;
    /// Runs at which the intervals are tightest for their number.
    const TIGHTEST: u64 = 400;

    /// All pairs of this many learners, with runs up to `most_runs`; `of` pairs, of this problem and others, share the error
    /// probability.
    pub fn new(learners: usize, margin: f64, of: u64, most_runs: u64) -> PairDecisions {
        let error = PairDecisions::ERROR / of.max(1) as f64;
        let empty = ConfidenceSequence::new(error, PairDecisions::TIGHTEST);
        let pairs = (0..learners).flat_map(|i| (i + 1..learners).map(move |j| (i, j, empty)));
        PairDecisions {
            margin,
            of,
            most_runs,
            runs: 0,
            pairs: pairs.collect(),
        }
    }

    /// Adds a round of this many runs: the regret of each learner in them.
    pub fn add(&mut self, runs: u64, regret: &[&[f64]]) {
        for (i, j, sequence) in &mut self.pairs {
            let of = |learner: &usize| regret.get(*learner).copied().unwrap_or_default();
            for (one, other) in of(i).iter().zip(of(j)) {
                sequence.add(difference(*one, *other));
            }
        }
        self.runs += runs;
    }

    fn verdict(&self, sequence: &ConfidenceSequence) -> PairVerdict {
        let (mean, half) = (sequence.mean(), sequence.half_width());
        match (mean - half, mean + half) {
            _ if self.runs < PairDecisions::BURN_IN => PairVerdict::Undecided,
            (_, high) if high < 0.0 => PairVerdict::Better,
            (low, _) if low > 0.0 => PairVerdict::Worse,
            (low, high) if -self.margin <= low && high <= self.margin => PairVerdict::Equivalent,
            _ => PairVerdict::Undecided,
        }
    }

    /// The runs so far.
    pub fn runs(&self) -> u64 {
        self.runs
    }

    /// Whether no more runs are added: every pair is decided, or the most runs are reached.
    pub fn is_finished(&self) -> bool {
        self.runs >= self.most_runs || (self.runs >= PairDecisions::BURN_IN && self.open() == 0)
    }

    /// The number of pairs that are not decided.
    pub fn open(&self) -> usize {
        let open = |(_, _, it): &&(usize, usize, ConfidenceSequence)| {
            self.verdict(it) == PairVerdict::Undecided
        };
        self.pairs.iter().filter(open).count()
    }

    /// The comparisons of learners with these labels.
    pub fn results(&self, labels: &[&str]) -> ArenaPairs {
        let label = |i: &usize| String::from(labels.get(*i).copied().unwrap_or_default());
        let result = |(i, j, sequence): &(usize, usize, ConfidenceSequence)| {
            let (mean, half) = (sequence.mean(), sequence.half_width());
            LearnerPair {
                first: label(i),
                second: label(j),
                difference: Interval {
                    value: mean,
                    ends: half.is_finite().then_some((mean - half, mean + half)),
                },
                verdict: self.verdict(sequence),
            }
        };
        ArenaPairs {
            margin: self.margin,
            error: PairDecisions::ERROR,
            of: self.of,
            most_runs: self.most_runs,
            pairs: self.pairs.iter().map(result).collect(),
        }
    }
}

impl ArenaCellResult {
    /// Adds the next runs of the same cell.
    pub fn append(&mut self, next: ArenaCellResult) {
        let [before, after] = [&self.finals, &next.finals].map(|runs| runs.len() as f64);
        self.gain = together(self.gain, before, next.gain, after);
        self.finals.extend(next.finals);
        self.halves.extend(next.halves);
        self.stuck = self.stuck.zip(next.stuck).map(|(one, other)| one + other);
        let steps = self.steps + next.steps;
        let time = |nanoseconds: f64, of: u64| nanoseconds * of as f64 / steps.max(1) as f64;
        self.nanoseconds = time(self.nanoseconds, self.steps) + time(next.nanoseconds, next.steps);
        self.steps = steps;
    }
}

/// The mean of `n` and `m` numbers together, from the means of both.
fn together(one: Measured, n: f64, other: Measured, m: f64) -> Measured {
    let all = n + m;
    if all < 2.0 {
        return if n > 0.0 { one } else { other };
    }
    let apart = other.mean - one.mean;
    // Squared deviations from the mean of each, and of the means from each other.
    let squares = |it: Measured, n: f64| it.stderr * it.stderr * n * (n - 1.0).max(0.0);
    let squares = squares(one, n) + squares(other, m) + apart * apart * n * m / all;
    Measured {
        mean: one.mean + apart * m / all,
        stderr: (squares / (all * (all - 1.0))).sqrt(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use emab::{Role, Stream};

    fn pairs(margin: f64, one: impl Fn(f64) -> f64, runs: u64) -> PairDecisions {
        let mut stream = Stream::new(1, 0, Role::Learner);
        let noise: Vec<f64> = (0..runs).map(|_| stream.normal()).collect();
        let other: Vec<f64> = noise.iter().map(|z| 10.0 + z).collect();
        let one: Vec<f64> = noise.into_iter().map(one).collect();
        let mut pairs = PairDecisions::new(2, margin, 1, 1000);
        pairs.add(runs, &[&one, &other]);
        pairs
    }

    #[test]
    fn verdicts_by_hand() {
        let verdict = |pairs: PairDecisions| {
            let pair = pairs.results(&["a", "b"]).pairs.remove(0);
            pair.verdict
        };
        // The difference is -z - 10, of standard deviation 1: decided, also where it is within the margin.
        assert_eq!(verdict(pairs(1.0, |_| 0.0, 100)), PairVerdict::Better);
        assert_eq!(verdict(pairs(11.0, |_| 0.0, 100)), PairVerdict::Better);
        // Here it is z, whose mean is 0.
        let equal = pairs(1.0, |z| 10.0 + 2.0 * z, 100);
        assert_eq!(verdict(equal), PairVerdict::Equivalent);
        assert_eq!(
            verdict(pairs(1.0, |z| 12.0 + 2.0 * z, 100)),
            PairVerdict::Worse
        );
        assert_eq!(
            verdict(pairs(0.1, |z| 10.0 + 2.0 * z, 100)),
            PairVerdict::Undecided
        );
        // Nothing is decided before the burn-in, and no difference at all is equivalent with any margin.
        assert_eq!(verdict(pairs(1.0, |_| 0.0, 99)), PairVerdict::Undecided);
        assert_eq!(
            verdict(pairs(0.0, |z| 10.0 + z, 100)),
            PairVerdict::Equivalent
        );
    }

    #[test]
    fn without_pairs_it_is_finished_after_the_burn_in() {
        let mut pairs = PairDecisions::new(1, 1.0, 0, 1000);
        assert!(!pairs.is_finished());
        pairs.add(100, &[&[0.0; 100]]);
        assert!(pairs.is_finished() && pairs.results(&["alone"]).pairs.is_empty());
    }

    #[test]
    fn a_cell_of_two_rounds_is_that_of_all_runs() {
        let cell = |runs: &[f64]| ArenaCellResult {
            finals: runs.to_vec(),
            halves: runs.iter().map(|regret| regret / 2.0).collect(),
            stuck: Some(1),
            gain: Measured::of(runs.iter().copied()),
            steps: 10 * runs.len() as u64,
            nanoseconds: runs.len() as f64,
            ..ArenaCellResult::default()
        };
        let all = [1.0, 4.0, -2.0, 8.0, 5.0];
        let mut joined = cell(&all[..2]);
        joined.append(cell(&all[2..]));
        let whole = cell(&all);
        assert_eq!(
            (&joined.finals, &joined.halves),
            (&whole.finals, &whole.halves)
        );
        assert_eq!((joined.stuck, joined.steps), (Some(2), 50));
        assert!((joined.gain.mean - whole.gain.mean).abs() < 1e-12);
        assert!((joined.gain.stderr - whole.gain.stderr).abs() < 1e-12);
        // Steps and times per step are 20 x 2 and 30 x 3.
        assert!((joined.nanoseconds - 2.6).abs() < 1e-12);
    }

    #[test]
    fn rounds_add_up_to_the_same_bits() {
        let [one, other]: [Vec<f64>; 2] = [0, 1].map(|run| {
            let mut stream = Stream::new(2, run, Role::Learner);
            (0..200).map(|_| stream.normal()).collect()
        });
        let mut whole = PairDecisions::new(2, 0.5, 1, 200);
        whole.add(200, &[&one, &other]);
        let mut rounds = PairDecisions::new(2, 0.5, 1, 200);
        for first in (0..200).step_by(50) {
            rounds.add(50, &[&one[first..first + 50], &other[first..first + 50]]);
        }
        assert_eq!(whole.results(&["a", "b"]), rounds.results(&["a", "b"]));
    }
}
