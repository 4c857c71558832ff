//! Ranks the learners of an arena: paired differences, and which of them are within the error of the runs.

use std::collections::BTreeMap;

use emab::learners::Access;
use emab::stats::{Moments, Sample};

use super::halves::Halves;
use super::ratios::{loss_ratio, regret_ratio};
use crate::results::{
    ArenaCellResult, ArenaEntry, ArenaPairs, ArenaProblem, ArenaResult, ArenaSetting, ArenaSummary,
    ExcludedLearner, LearnerPair, Measured, PairVerdict, REFERENCE, Ranking, RegretOverProblems,
};

/// Relative differences below this are rounding.
const ROUNDING: f64 = 1e-9;

/// The difference of two numbers; 0 within rounding.
pub(super) fn difference(a: f64, b: f64) -> f64 {
    match a - b {
        rounding if rounding.abs() <= ROUNDING * (a.abs() + b.abs()) => 0.0,
        difference => difference,
    }
}

impl Measured {
    /// The mean of these numbers.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Measured {
        let mut moments = Moments::default();
        values.into_iter().for_each(|value| moments.add(value));
        Measured {
            mean: moments.mean(),
            stderr: moments.stderr(),
        }
    }

    /// The mean difference, run by run; a difference within rounding counts as 0.
    pub fn paired(one: &[f64], other: &[f64]) -> Measured {
        let pairs = one.iter().zip(other);
        Measured::of(pairs.map(|(a, b)| difference(*a, *b)))
    }

    fn is_tie(&self) -> bool {
        self.mean == 0.0 && self.stderr == 0.0
    }
}

impl ArenaProblem {
    /// Compares learners on the same runs of this many episodes.
    pub fn judge(
        ground: ArenaSetting,
        episodes: u64,
        cells: &[(Access, ArenaCellResult)],
        left_out: Vec<ExcludedLearner>,
    ) -> ArenaProblem {
        let gap = ground.values.gap().map(|gap| gap * episodes as f64);
        let runs = cells
            .first()
            .map_or(0, |(_, cell)| cell.finals.len() as u64);
        let mean = |cell: &ArenaCellResult| Measured::of(cell.finals.iter().copied()).mean;
        let reference = cells.iter().find(|(_, cell)| cell.label == REFERENCE);
        let best = cells
            .iter()
            .filter(|(sees, _)| *sees == Access::Spec)
            .min_by(|(_, a), (_, b)| mean(a).total_cmp(&mean(b)));
        let mut learners: Vec<ArenaEntry> = cells
            .iter()
            .map(|(sees, cell)| {
                let minus = |other: Option<&(Access, ArenaCellResult)>| {
                    other.map(|(_, other)| Measured::paired(&cell.finals, &other.finals))
                };
                let regret = Measured::of(cell.finals.iter().copied());
                let minus_best = minus(best);
                let halves = Halves::of(cell, episodes);
                let mut sample = Sample::default();
                cell.finals.iter().for_each(|regret| sample.add(*regret));
                let standing = match minus_best {
                    _ if *sees != Access::Spec => Ranking::Informed,
                    Some(difference) if difference.is_tie() => Ranking::Best,
                    Some(difference) if difference.is_within_noise(runs) => Ranking::WithinNoise,
                    _ => Ranking::Worse,
                };
                ArenaEntry {
                    label: cell.label.clone(),
                    learner: cell.learner.clone(),
                    parameters: cell.parameters.clone(),
                    sees: sees.recorded_name().into(),
                    regret,
                    regret_optimal: gap.map(|gap| regret.mean + gap),
                    minus_feedbal: minus(reference),
                    minus_best,
                    over_feedbal: reference.and_then(|(_, other)| {
                        ratio(&cell.finals, &other.finals, gap.unwrap_or(0.0))
                    }),
                    gain: cell.gain,
                    steps: cell.steps,
                    nanoseconds: cell.nanoseconds,
                    memory: cell.memory,
                    standing,
                    half: halves.as_ref().map(|halves| halves.regret),
                    growth: halves.as_ref().and_then(Halves::growth),
                    not_learning: *sees == Access::Spec
                        && halves.is_some_and(|halves| halves.not_learning(regret)),
                    quantiles: sample.quantiles(),
                    stuck: cell.stuck.map(|stuck| stuck as f64 / runs.max(1) as f64),
                    groups: sample.two_groups(),
                }
            })
            .collect();
        learners.sort_by(|a, b| a.regret.mean.total_cmp(&b.regret.mean));
        ArenaProblem {
            ground,
            learners,
            left_out,
            runs: Some(runs),
            ranked_at: Some(episodes),
            pairs: None,
        }
    }

    /// The same with the pairs of its ranked learners, which then decide who is within noise of the best.
    #[must_use]
    pub fn with_pairs(mut self, mut pairs: ArenaPairs) -> ArenaProblem {
        let labels = self.learners.iter().map(|entry| entry.label.clone());
        let ranks: BTreeMap<String, usize> = labels.zip(0..).collect();
        let rank = |label: &String| ranks.get(label).copied();
        for pair in &mut pairs.pairs {
            if rank(&pair.first) > rank(&pair.second) {
                *pair = pair.reversed();
            }
        }
        let order = |pair: &LearnerPair| (rank(&pair.first), rank(&pair.second));
        pairs.pairs.sort_by_key(order);
        let ranked = self.learners.iter();
        let best = ranked.filter(|entry| entry.standing == Ranking::Best);
        let best: Option<String> = best.map(|entry| entry.label.clone()).next();
        for entry in &mut self.learners {
            let verdict = best
                .as_ref()
                .and_then(|best| pairs.verdict(&entry.label, best));
            entry.standing = match (entry.standing, verdict) {
                (Ranking::WithinNoise, Some(PairVerdict::Worse)) => Ranking::Worse,
                (Ranking::Worse, Some(verdict)) if verdict != PairVerdict::Worse => {
                    Ranking::WithinNoise
                }
                (standing, _) => standing,
            };
        }
        self.pairs = Some(pairs);
        self
    }
}

/// The loss of one learner divided by that of another, where `gap` is added to the regret of both. The standard error
/// is that of the delta method on paired runs. None where the other lost nothing.
pub(super) fn ratio(one: &[f64], other: &[f64], gap: f64) -> Option<Measured> {
    let loss = |regret: &[f64]| Measured::of(regret.iter().map(|regret| regret + gap)).mean;
    let (above, below) = (loss(one), loss(other));
    if below <= ROUNDING * (gap.abs() + (below - gap).abs()) {
        return None;
    }
    let mean = above / below;
    let pairs = one.iter().zip(other);
    let residuals = pairs.map(|(a, b)| (a + gap) - mean * (b + gap));
    let stderr = Measured::of(residuals).stderr / below;
    (mean.is_finite() && stderr.is_finite()).then_some(Measured { mean, stderr })
}

/// The regret of a learner over the problems that it was played on.
fn regret_over(problems: &[ArenaProblem], label: &str) -> Option<RegretOverProblems> {
    let entry = |problem: &ArenaProblem| {
        let entry = problem.learners.iter().find(|entry| entry.label == label)?;
        Some((entry.regret.mean, problem.ground.problem.clone()))
    };
    let played: Vec<(f64, String)> = problems.iter().filter_map(entry).collect();
    let over = Measured::of(played.iter().map(|(regret, _)| *regret));
    let (worst, worst_problem) = played.into_iter().max_by(|a, b| a.0.total_cmp(&b.0))?;
    Some(RegretOverProblems {
        over,
        worst,
        worst_problem,
    })
}

impl ArenaResult {
    /// A summary of every learner over all problems: learners that see only episodes by mean rank, then the others.
    pub fn tallied(&self) -> Vec<ArenaSummary> {
        let mut all: Vec<ArenaSummary> = Vec::new();
        for problem in &self.problems {
            let learners = problem.learners.iter();
            let ranked = learners.filter(|entry| entry.standing != Ranking::Informed);
            let regrets: Vec<f64> = ranked.map(|entry| entry.regret.mean).collect();
            for entry in &problem.learners {
                let known = all.iter().position(|tallied| tallied.label == entry.label);
                let at = known.unwrap_or(all.len());
                if known.is_none() {
                    let label = entry.label.clone();
                    all.push(ArenaSummary {
                        label,
                        ..ArenaSummary::default()
                    });
                }
                let tallied = &mut all[at];
                let less = |other: &&f64| **other < entry.regret.mean;
                let before = regrets.iter().filter(less).count();
                let last = regrets.len().saturating_sub(1).max(1);
                tallied.played += 1;
                tallied.place += before as f64 / last as f64;
                tallied.informed |= entry.standing == Ranking::Informed;
                tallied.best += u64::from(entry.standing == Ranking::Best);
                tallied.within_noise += u64::from(entry.standing == Ranking::WithinNoise);
                let against = problem.against_feedbal(entry);
                tallied.better += u64::from(against < 0);
                tallied.worse += u64::from(against > 0);
                tallied.not_learning += u64::from(entry.not_learning);
            }
        }
        for tallied in &mut all {
            tallied.place /= tallied.played as f64;
            tallied.regret_ratio = regret_ratio(&self.problems, &tallied.label);
            tallied.loss_ratio = loss_ratio(&self.problems, &tallied.label);
            tallied.regret = regret_over(&self.problems, &tallied.label);
        }
        all.sort_by(|a, b| {
            let informed = a.informed.cmp(&b.informed);
            informed.then(a.place.total_cmp(&b.place))
        });
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Interval;

    fn cell(label: &str, sees: Access, finals: [f64; 4]) -> (Access, ArenaCellResult) {
        let cell = ArenaCellResult {
            label: label.into(),
            finals: finals.to_vec(),
            ..ArenaCellResult::default()
        };
        (sees, cell)
    }

    fn judged(cells: &[(Access, ArenaCellResult)]) -> ArenaProblem {
        let mut ground = ArenaSetting::default();
        ground.values.benchmark_value = 1.0;
        ground.values.optimal_value = Some(1.5);
        ArenaProblem::judge(ground, 10, cells, Vec::new())
    }

    #[test]
    fn a_paired_difference_by_hand() {
        // 1, -1, 2, 2: mean 1, sample variance (0 + 4 + 1 + 1) / 3 = 2.
        let paired = Measured::paired(&[3.0, 3.0, 3.0, 10.0], &[2.0, 4.0, 1.0, 8.0]);
        assert_eq!(paired.mean, 1.0);
        assert!((paired.stderr - (2.0_f64 / 4.0).sqrt()).abs() < 1e-15);
        assert!(paired.is_within_noise(4)); // 1 against 2.25
        // Rounding is not a difference, and no error is no noise.
        assert!(Measured::paired(&[0.1 + 0.2, 1.0], &[0.3, 1.0]).is_tie());
        assert!(!Measured::paired(&[2.0, 3.0], &[1.0, 2.0]).is_within_noise(2));
        assert!(Measured::paired(&[], &[]).is_within_noise(0));
        // 2.5 standard errors are within the noise of four runs and not of thirty.
        let far = Measured {
            mean: 2.5,
            stderr: 1.0,
        };
        assert!(far.is_within_noise(4) && !far.is_within_noise(30));
    }

    #[test]
    fn verdicts() {
        let problem = judged(&[
            cell("optimal", Access::Problem, [-5.0; 4]),
            cell("worse", Access::Spec, [30.0, 31.0, 30.0, 33.0]),
            cell("feedbal", Access::Spec, [20.0, 10.0, 20.0, 10.0]),
            cell("twin", Access::Spec, [10.0, 10.0, 10.0, 10.0]),
            cell("first", Access::Spec, [10.0, 10.0, 10.0, 10.0]),
            cell("model", Access::Feedback, [1.0, 2.0, 3.0, 4.0]),
        ]);
        let shown: Vec<_> = problem
            .learners
            .iter()
            .map(|entry| (entry.label.as_str(), entry.standing))
            .collect();
        assert_eq!(
            shown,
            [
                ("optimal", Ranking::Informed),
                ("model", Ranking::Informed),
                ("twin", Ranking::Best),
                ("first", Ranking::Best),
                // 10, 0, 10, 0: mean 5, standard error 2.9.
                ("feedbal", Ranking::WithinNoise),
                ("worse", Ranking::Worse),
            ]
        );
        let of = |label: &str| {
            let found = problem.learners.iter().find(|entry| entry.label == label);
            found.unwrap()
        };
        assert_eq!(of("optimal").regret_optimal, Some(0.0));
        assert_eq!(of("optimal").over_feedbal.unwrap().mean, 0.0);
        let against = |label: &str| problem.against_feedbal(of(label));
        assert_eq!(
            (against("worse"), against("twin"), against("optimal")),
            (1, 0, -1)
        );
        let itself = of("feedbal").over_feedbal.unwrap();
        assert_eq!((itself.mean, itself.stderr), (1.0, 0.0));
        // (10 + 5) / (15 + 5), and residuals 15 - 0.75 * (25 or 15): -3.75, 3.75.
        let ratio = of("twin").over_feedbal.unwrap();
        assert_eq!(ratio.mean, 0.75);
        assert!((ratio.stderr - (4.0 * 3.75_f64.powi(2) / 3.0 / 4.0).sqrt() / 20.0).abs() < 1e-12);
    }

    #[test]
    fn pairs_decide_who_is_within_noise() {
        let problem = judged(&[
            cell("feedbal", Access::Spec, [20.0, 10.0, 20.0, 10.0]),
            cell("first", Access::Spec, [10.0, 10.0, 10.0, 11.0]),
            cell("near", Access::Spec, [11.0, 11.0, 11.0, 12.0]),
            cell("optimal", Access::Problem, [0.0; 4]),
        ]);
        let standing = |problem: &ArenaProblem, label: &str| {
            let found = problem.learners.iter().find(|entry| entry.label == label);
            found.unwrap().standing
        };
        assert_eq!(standing(&problem, "near"), Ranking::Worse);
        assert_eq!(standing(&problem, "feedbal"), Ranking::WithinNoise);
        let pair = |first: &str, second: &str, value: f64, verdict| LearnerPair {
            first: first.into(),
            second: second.into(),
            difference: Interval {
                value,
                ends: Some((value - 1.0, value + 1.5)),
            },
            verdict,
        };
        let pairs = ArenaPairs {
            margin: 3.0,
            pairs: vec![
                pair("feedbal", "first", 5.0, PairVerdict::Worse),
                pair("feedbal", "near", 4.0, PairVerdict::Worse),
                pair("first", "near", -1.0, PairVerdict::Equivalent),
            ],
            ..ArenaPairs::default()
        };
        let problem = problem.with_pairs(pairs);
        assert_eq!(standing(&problem, "near"), Ranking::WithinNoise);
        assert_eq!(standing(&problem, "feedbal"), Ranking::Worse);
        assert_eq!(standing(&problem, "optimal"), Ranking::Informed);
        let against: Vec<i8> = problem
            .learners
            .iter()
            .map(|entry| problem.against_feedbal(entry))
            .collect();
        // The optimal policy is no part of a pair and is compared by its interval.
        assert_eq!(against, [-1, -1, -1, 0]);
        let pairs = problem.pairs.unwrap().pairs;
        let shown: Vec<_> = pairs
            .iter()
            .map(|pair| (&*pair.first, pair.verdict, &*pair.second))
            .collect();
        assert_eq!(
            shown,
            [
                ("first", PairVerdict::Equivalent, "near"),
                ("first", PairVerdict::Better, "feedbal"),
                ("near", PairVerdict::Better, "feedbal"),
            ]
        );
        assert_eq!(pairs[1].difference.value, -5.0);
        assert_eq!(pairs[1].difference.ends, Some((-6.5, -4.0)));
    }

    #[test]
    fn a_reference_without_loss_has_no_ratio() {
        let problem = judged(&[
            cell("feedbal", Access::Spec, [-5.0; 4]),
            cell("random", Access::Spec, [3.0; 4]),
        ]);
        let mut ratios = problem.learners.iter().map(|entry| entry.over_feedbal);
        assert!(ratios.all(|ratio| ratio.is_none()));
        let alone = judged(&[cell("random", Access::Spec, [3.0; 4])]);
        assert_eq!(alone.learners[0].minus_feedbal, None);
        assert_eq!(alone.learners[0].standing, Ranking::Best);
    }

    #[test]
    fn over_all_problems() {
        let one = judged(&[
            cell("feedbal", Access::Spec, [1.0, 2.0, 1.0, 2.0]),
            cell("random", Access::Spec, [9.0, 8.0, 9.0, 8.0]),
            cell("optimal", Access::Problem, [0.0; 4]),
        ]);
        let other = judged(&[
            cell("feedbal", Access::Spec, [5.0; 4]),
            cell("random", Access::Spec, [4.0; 4]),
            cell("ucb1", Access::Spec, [5.0; 4]),
        ]);
        let result = ArenaResult {
            version: String::new(),
            seed: 1,
            runs: 4,
            episodes: 10,
            problems: vec![one, other],
        };
        let tallied = result.tallied();
        let labels: Vec<_> = tallied.iter().map(|one| one.label.as_str()).collect();
        assert_eq!(labels, ["feedbal", "random", "ucb1", "optimal"]);
        let random = &tallied[1];
        assert_eq!((random.place, random.played), (0.5, 2));
        assert_eq!((random.best, random.better, random.worse), (1, 1, 1));
        assert!(tallied[3].informed);
    }
}
