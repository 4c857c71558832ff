//! Pairs of learners compared by a confidence sequence.

use serde::{Deserialize, Serialize};

use super::Interval;

/// The comparison of two learners, given a margin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PairVerdict {
    /// The first has less regret.
    Better,
    /// The first has more regret.
    Worse,
    /// Neither, and the difference is at most the margin in either direction.
    Equivalent,
    /// None of these, so far.
    Undecided,
}

impl PairVerdict {
    /// As text.
    pub fn words(self) -> &'static str {
        match self {
            PairVerdict::Better => "better",
            PairVerdict::Worse => "worse",
            PairVerdict::Equivalent => "equivalent",
            PairVerdict::Undecided => "undecided",
        }
    }

    /// The same comparison with the other learner as the first.
    #[must_use]
    pub fn reversed(self) -> PairVerdict {
        match self {
            PairVerdict::Better => PairVerdict::Worse,
            PairVerdict::Worse => PairVerdict::Better,
            same => same,
        }
    }
}

/// Two learners on the same runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LearnerPair {
    /// The label of the first.
    pub first: String,
    /// The label of the second.
    pub second: String,
    /// The mean regret of the first less that of the second, with the interval of the confidence sequence.
    pub difference: Interval,
    /// The comparison.
    pub verdict: PairVerdict,
}

impl LearnerPair {
    /// The same with the other learner as the first.
    #[must_use]
    pub fn reversed(&self) -> LearnerPair {
        LearnerPair {
            first: self.second.clone(),
            second: self.first.clone(),
            difference: Interval {
                value: 0.0 - self.difference.value,
                ends: self
                    .difference
                    .ends
                    .map(|(low, high)| (0.0 - high, 0.0 - low)),
            },
            verdict: self.verdict.reversed(),
        }
    }
}

/// All pairs of ranked learners on a problem: the result of `emab arena --until-decided`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ArenaPairs {
    /// Differences of at most this much regret are equivalent.
    pub margin: f64,
    /// The probability that any interval, of any pair on any problem of the arena and after any round, misses the difference.
    pub error: f64,
    /// The number of pairs on all problems, which share `error` equally.
    pub of: u64,
    /// The runs after which no more are added.
    pub most_runs: u64,
    /// The pairs, in the order of the ranking.
    pub pairs: Vec<LearnerPair>,
}

impl ArenaPairs {
    /// The comparison of two learners; none if they are not a pair.
    pub fn verdict(&self, first: &str, second: &str) -> Option<PairVerdict> {
        self.pairs
            .iter()
            .find_map(|pair| match (pair.first.as_str(), pair.second.as_str()) {
                pair_is if pair_is == (first, second) => Some(pair.verdict),
                pair_is if pair_is == (second, first) => Some(pair.verdict.reversed()),
                _ => None,
            })
    }

    /// The number of pairs with this verdict.
    pub fn count(&self, verdict: PairVerdict) -> usize {
        let same = |pair: &&LearnerPair| pair.verdict == verdict;
        self.pairs.iter().filter(same).count()
    }
}
