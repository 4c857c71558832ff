//! Learners compared on the same runs.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::number;
use super::pairs::{ArenaPairs, PairVerdict};
use super::run::ReferenceValues;

use emab::Conditions;
use emab::learners::ParameterValue;
use emab::stats::{Quantiles, TwoGroups, half_width};
use emab::theory::Target;

/// The reference of the comparison.
pub const REFERENCE: &str = "feedbal";

/// A mean and its standard error over the runs.
///
/// With common random numbers two learners are compared run by run, which cancels the randomness they share.
///
/// ```
/// let measured = emab_sim::results::Measured::paired(&[3.0, 5.0, 7.0], &[1.0, 4.0, 4.0]);
/// assert_eq!((measured.mean, measured.stderr), (2.0, (1.0_f64 / 3.0).sqrt()));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// The mean.
    pub mean: f64,
    /// Its standard error.
    pub stderr: f64,
}

impl Measured {
    /// Whether the 95 % interval over this many runs contains 0; it does for a difference of exactly 0.
    pub fn is_within_noise(&self, runs: u64) -> bool {
        self.mean.abs() <= half_width(self.stderr, runs)
    }
}

/// The rank of a learner on a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ranking {
    /// The least mean regret of the learners that see only episodes, or the same regret in every run.
    Best,
    /// Its paired difference to the best is within noise.
    WithinNoise,
    /// It is worse than the best.
    Worse,
    /// It sees more than episodes; it is shown but not ranked.
    Informed,
}

impl Ranking {
    /// As text; empty for [`Ranking::Worse`].
    pub fn words(self) -> &'static str {
        match self {
            Ranking::Best => "best",
            Ranking::WithinNoise => "within noise",
            Ranking::Worse => "",
            Ranking::Informed => "informed",
        }
    }
}

/// The measurements of one cell: a learner on a problem.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ArenaCellResult {
    /// Its name in the catalogue.
    pub learner: String,
    /// Its label: the text it was requested by.
    pub label: String,
    /// All its parameters.
    pub parameters: BTreeMap<String, ParameterValue>,
    /// The regret against the benchmark at the episode that is ranked, the last one by default, by run.
    pub finals: Vec<f64>,
    /// The regret at half as many episodes, by run; empty in files of earlier versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub halves: Vec<f64>,
    /// The number of stuck runs, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stuck: Option<u64>,
    /// Realised gain per episode.
    pub gain: Measured,
    /// Steps of all runs together.
    pub steps: u64,
    /// Processor time per step, which differs between measurements.
    pub nanoseconds: f64,
    /// Bytes of memory after the measured episodes.
    pub memory: Option<u64>,
}

/// One learner on one problem, compared with the others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ArenaEntry {
    /// Its label: the text it was requested by.
    pub label: String,
    /// Its name in the catalogue.
    pub learner: String,
    /// All its parameters.
    pub parameters: BTreeMap<String, ParameterValue>,
    /// What it sees, as text.
    pub sees: String,
    /// Regret against the benchmark.
    pub regret: Measured,
    /// Regret against the optimal policy, with the same standard error; none where it is unknown.
    pub regret_optimal: Option<f64>,
    /// Its regret less that of FeedBAL, run by run.
    pub minus_feedbal: Option<Measured>,
    /// Its regret less that of the best, run by run.
    pub minus_best: Option<Measured>,
    /// Its loss divided by FeedBAL's, run by run; none where FeedBAL lost nothing. The loss is the regret against the optimal
    /// policy, or against the benchmark where that is unknown.
    pub over_feedbal: Option<Measured>,
    /// Realised gain per episode.
    pub gain: Measured,
    /// Steps of all runs together.
    pub steps: u64,
    /// Processor time per step, which differs between measurements.
    pub nanoseconds: f64,
    /// Bytes of memory.
    pub memory: Option<u64>,
    /// Its rank.
    pub standing: Ranking,
    /// Regret against the benchmark at half as many episodes; none in files of earlier versions, as the fields below.
    #[serde(default)]
    pub half: Option<Measured>,
    /// Regret per episode of the second half divided by that of the first half, run by run; none where the first half has no
    /// regret, or none beyond four standard errors.
    #[serde(default)]
    pub growth: Option<Measured>,
    /// Whether it has not begun to learn: it has regret, and an episode of the second half costs at least 0.9 times as much as one of the
    /// first half, both by 95 % intervals. False for learners that see more than episodes.
    #[serde(default)]
    pub not_learning: bool,
    /// Quantiles of the regret over the runs.
    #[serde(default)]
    pub quantiles: Option<Quantiles>,
    /// The share of stuck runs, where that is known.
    #[serde(default)]
    pub stuck: Option<f64>,
    /// Two groups of runs by regret, if the runs fall into two; the interval of the mean is then unreliable.
    #[serde(default)]
    pub groups: Option<TwoGroups>,
}

/// A learner that does not apply to a problem, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExcludedLearner {
    /// Its label: the text it was requested by.
    pub label: String,
    /// The reason.
    pub why: String,
}

/// A problem of an arena, and its reference values.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ArenaSetting {
    /// The problem's name.
    pub problem: String,
    /// The hash of the problem file.
    pub problem_hash: String,
    /// The values of its benchmark and of its optimal policy.
    #[serde(flatten)]
    pub values: ReferenceValues,
    /// The conditions.
    #[serde(default, skip_serializing_if = "Conditions::is_none")]
    pub conditions: Conditions,
    /// The lower bound on the regret at the episode that is ranked; none where there is none, and in files of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lower_bound: Option<ArenaLowerBound>,
}

/// A lower bound on the regret of every learner on a problem.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ArenaLowerBound {
    /// What regret is measured against.
    pub target: Target,
    /// The factor of `log n` in the limit.
    pub constant: f64,
    /// The bound at the episode that is ranked.
    pub at_n: f64,
}

/// All learners on one problem, the least regret first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ArenaProblem {
    /// The problem.
    #[serde(flatten)]
    pub ground: ArenaSetting,
    /// The learners, the least regret first.
    pub learners: Vec<ArenaEntry>,
    /// The learners that do not apply.
    pub left_out: Vec<ExcludedLearner>,
    /// The number of runs, the same for all learners; none in files of earlier versions, where it is that of the arena.
    #[serde(default)]
    pub runs: Option<u64>,
    /// The episode at which the learners are compared; none in files of earlier versions, where it is the last one.
    #[serde(default)]
    pub ranked_at: Option<u64>,
    /// All pairs of ranked learners, if runs were added until they were decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pairs: Option<ArenaPairs>,
}

impl ArenaProblem {
    /// The regret of a learner, against the policy of the lower bound, as a multiple of the bound; none where there is no bound
    /// above 0.
    pub fn times_the_bound(&self, entry: &ArenaEntry) -> Option<Measured> {
        let bound = self.ground.lower_bound.filter(|bound| bound.at_n > 0.0)?;
        let regret = match bound.target {
            Target::Benchmark => entry.regret.mean,
            Target::Optimal => entry.regret_optimal?,
        };
        Some(Measured {
            mean: regret / bound.at_n,
            stderr: entry.regret.stderr / bound.at_n,
        })
    }

    /// Whether a learner is better (-1) or worse (1) than FeedBAL, or within noise (0): by its pair if there are pairs, otherwise by the
    /// 95 % interval of the difference (with the normal distribution in files of earlier versions).
    pub fn against_feedbal(&self, entry: &ArenaEntry) -> i8 {
        let runs = self.runs.unwrap_or(u64::MAX);
        let pairs = self.pairs.as_ref();
        let verdict = pairs.and_then(|pairs| pairs.verdict(&entry.label, REFERENCE));
        match (verdict, entry.minus_feedbal) {
            (Some(PairVerdict::Better), _) => -1,
            (Some(PairVerdict::Worse), _) => 1,
            (Some(_), _) | (None, None) => 0,
            (None, Some(difference)) if difference.is_within_noise(runs) => 0,
            (None, Some(difference)) if difference.mean < 0.0 => -1,
            (None, Some(_)) => 1,
        }
    }
}

/// Learners on problems: the document that `emab arena --json` prints.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ArenaResult {
    /// The version of emab.
    pub version: String,
    /// The seed.
    pub seed: u64,
    /// The number of runs, the same for all learners; the most on any problem, if runs were added until pairs were decided.
    pub runs: u64,
    /// Episodes of a run.
    pub episodes: u64,
    /// The problems, in the order requested.
    pub problems: Vec<ArenaProblem>,
}

impl ArenaResult {
    /// The number of runs as text: one number, or the least and the most of the problems.
    pub fn runs_text(&self) -> String {
        let runs = self.problems.iter();
        let least = runs.map(|problem| problem.runs.unwrap_or(self.runs)).min();
        match least {
            Some(least) if least < self.runs => {
                format!("{} to {}", number(least as f64), number(self.runs as f64))
            }
            _ => number(self.runs as f64),
        }
    }
}

/// The results of a learner over all problems.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ArenaSummary {
    /// Its label: the text it was requested by.
    pub label: String,
    /// Whether it sees more than episodes.
    pub informed: bool,
    /// The number of problems it was played on.
    pub played: u64,
    /// Its mean rank among the learners that see only episodes, from 0 (always first) to 1 (always last).
    pub place: f64,
    /// The number of problems where it was best.
    pub best: u64,
    /// The number of further problems where it was within noise of the best.
    pub within_noise: u64,
    /// The number of problems where it was better than FeedBAL (see [`ArenaProblem::against_feedbal`]).
    pub better: u64,
    /// The number of problems where it was worse than FeedBAL.
    pub worse: u64,
    /// The number of problems where it had not begun to learn.
    #[serde(default)]
    pub not_learning: u64,
    /// Its regret against the benchmark divided by FeedBAL's.
    pub regret_ratio: Option<RegretRatio>,
    /// Its loss against the optimal policy divided by FeedBAL's.
    pub loss_ratio: Option<LossRatio>,
    /// Its regret against the benchmark over the problems; none in files of earlier versions.
    #[serde(default)]
    pub regret: Option<RegretOverProblems>,
}

/// The regret of a learner against the benchmark over all problems, which is an expectation if they are draws from a posterior.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RegretOverProblems {
    /// The mean over the problems, and its standard error.
    #[serde(flatten)]
    pub over: Measured,
    /// The largest.
    pub worst: f64,
    /// The problem that has it.
    pub worst_problem: String,
}

/// A number with its 95 % interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// The number.
    pub value: f64,
    /// Its ends; none with too few problems for an interval.
    pub ends: Option<(f64, f64)>,
}

/// The regret against the benchmark divided by FeedBAL's, over the problems where FeedBAL's exceeds four standard errors.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RegretRatio {
    /// The number of these problems.
    pub problems: u64,
    /// The median over the problems.
    pub median: Interval,
    /// The 95 % quantile.
    pub quantile_95: f64,
    /// The largest.
    pub most: f64,
    /// The share of problems on which the ratio is at most 1.
    pub at_most_one: Interval,
}

/// The loss against the optimal policy divided by FeedBAL's, over the problems where FeedBAL's exceeds four standard errors.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LossRatio {
    /// The number of these problems.
    pub problems: u64,
    /// The geometric mean over the problems. A ratio below 0.01 counts as 0.01.
    pub geometric_mean: Interval,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_an_earlier_version_is_read() {
        let text = include_str!("../../../../tests/fixtures/arena/arena.json");
        let result: ArenaResult = serde_json::from_str(text).unwrap();
        let problem = &result.problems[0];
        assert_eq!((problem.runs, problem.ranked_at), (None, None));
        let ucb1 = problem.learners.iter().find(|entry| entry.label == "ucb1");
        let ucb1 = ucb1.unwrap();
        assert_eq!((ucb1.half, ucb1.growth, ucb1.stuck), (None, None, None));
        assert!(!ucb1.not_learning);
        assert_eq!(problem.against_feedbal(ucb1), 1);
    }
}
