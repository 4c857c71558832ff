//! Drift: whether terminal rewards or feedback have changed during a study, step-state pair by pair.
//!
//! Every pair of a step and a state has a test of its terminal rewards, every action there one of its feedback. The evidence of the
//! k-th test, in the order of first observations, has the weight `1/(k (k + 1))`: all tests together raise a false alarm with the
//! stated probability at most, at any time.

use std::collections::HashMap;

use emab::Episode;
use emab::stats::{FrequencyChange, MeanChange};

use crate::domain::Study;

/// The largest size of all tests together, in numbers. Pairs that are met first after it are not tested.
const MAX_NUMBERS: usize = 1 << 18;
/// The size of a test besides its frequencies.
const NUMBERS: usize = 16;
/// The largest number of feedbacks whose distribution is tested.
const MAX_FEEDBACKS: usize = 64;

/// What is observed again and again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Series {
    /// The terminal reward at a step, from 1, and state.
    Reward(usize, usize),
    /// The feedback to an action there.
    Feedback(usize, usize, usize),
}

impl Series {
    /// In words.
    pub fn describe(self, study: &Study) -> String {
        let spec = &study.spec;
        let (Series::Reward(t, x) | Series::Feedback(t, x, _)) = self;
        let place = format!("at step {t} in state `{}`", spec.states().name(x));
        match self {
            Series::Reward(..) => format!("the terminal reward {place}"),
            Series::Feedback(_, _, a) => {
                format!("the feedback to `{}` {place}", spec.actions().name(a))
            }
        }
    }
}

#[derive(Debug)]
enum Test {
    Reward(MeanChange),
    Feedback(FrequencyChange),
}

/// The variance proxy of terminal rewards, and what it rests on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RewardProxy {
    /// `sigma2` or `sigma2_reward` of the problem.
    Stated(f64),
    /// The range of observed rewards, which an accepted outlier contradicts.
    Range(f64),
}

/// The evidence of drift.
#[derive(Clone, Debug, PartialEq)]
pub struct Drift {
    /// If nothing changes, it falls to a value `p` at any time with probability at most `p`.
    pub p: f64,
    /// The number of tests.
    pub tests: usize,
    /// Where the evidence is strongest.
    pub strongest: Option<Series>,
    /// Whether rewards are tested.
    pub tests_rewards: bool,
}

/// The tests of a study.
#[derive(Debug, Default)]
pub struct DriftMonitor {
    proxy: Option<RewardProxy>,
    feedbacks: usize,
    tests: Vec<(Series, Test)>,
    places: HashMap<Series, usize>,
    /// The size of all tests.
    numbers: usize,
}

impl DriftMonitor {
    pub fn new(study: &Study) -> DriftMonitor {
        DriftMonitor {
            proxy: study.reward_proxy,
            feedbacks: study.spec.feedbacks().len(),
            ..DriftMonitor::default()
        }
    }

    /// Adds the observations of an episode. An unknown reward is not an observation.
    pub fn learn(&mut self, episode: &Episode) {
        // Step by step: the place of a test must not depend on what it is about to observe.
        for (i, &x) in episode.states.iter().enumerate() {
            let reward = episode.rewards.get(i).filter(|reward| !reward.is_nan());
            if let (Some(&reward), Some(proxy)) = (reward, self.proxy) {
                let (RewardProxy::Stated(proxy) | RewardProxy::Range(proxy)) = proxy;
                let new = || Test::Reward(MeanChange::new(proxy));
                if let Some(Test::Reward(test)) = self.test(Series::Reward(i + 1, x), new) {
                    test.add(reward);
                }
            }
            let step = episode.actions.get(i).zip(episode.feedbacks.get(i));
            if let Some((&a, &f)) = step
                && self.feedbacks <= MAX_FEEDBACKS
            {
                let feedbacks = self.feedbacks;
                let new = || Test::Feedback(FrequencyChange::new(feedbacks));
                if let Some(Test::Feedback(test)) = self.test(Series::Feedback(i + 1, x, a), new) {
                    test.add(f);
                }
            }
        }
    }

    fn test(&mut self, series: Series, new: impl FnOnce() -> Test) -> Option<&mut Test> {
        let place = match self.places.get(&series) {
            Some(&place) => place,
            None if self.numbers >= MAX_NUMBERS => return None,
            None => {
                self.numbers += NUMBERS
                    + match series {
                        Series::Reward(..) => 0,
                        Series::Feedback(..) => 4 * self.feedbacks,
                    };
                self.tests.push((series, new()));
                self.places.insert(series, self.tests.len() - 1);
                self.tests.len() - 1
            }
        };
        self.tests.get_mut(place).map(|(_, test)| test)
    }

    /// The evidence so far. A range that an accepted outlier contradicts says nothing of rewards.
    pub fn drift(&self, has_outliers: bool) -> Drift {
        let tests_rewards = match self.proxy {
            Some(RewardProxy::Stated(_)) => true,
            Some(RewardProxy::Range(_)) => !has_outliers,
            None => false,
        };
        let (mut sum, mut count) = (0.0, 0);
        let mut strongest: Option<(f64, Series)> = None;
        for (k, (series, test)) in (1..).map(f64::from).zip(&self.tests) {
            let evidence = match test {
                Test::Reward(_) if !tests_rewards => continue,
                Test::Reward(test) => test.log_evidence(),
                Test::Feedback(test) => test.log_evidence(),
            };
            // Values that are far too large for their proxy give infinite terms, whose difference says nothing.
            let evidence = match evidence.is_nan() {
                true => 0.0,
                false => (libm::exp(evidence) / (k * (k + 1.0))).min(f64::MAX),
            };
            count += 1;
            sum += evidence;
            if strongest.is_none_or(|(most, _)| evidence > most) {
                strongest = Some((evidence, *series));
            }
        }
        Drift {
            p: if sum > 1.0 { 1.0 / sum } else { 1.0 },
            tests: count,
            strongest: strongest.map(|(_, series)| series),
            tests_rewards,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STUDY: &str = r#"{
        "horizon": 2, "states": ["new", "well", "ill"], "actions": ["test"], "feedbacks": ["negative", "positive"],
        "transition": "1 + f", "learner": "feedbal", "learning": {"sigma2": 0.25}
    }"#;

    fn episode(feedback: usize, reward: f64) -> Episode {
        Episode {
            states: vec![0, 1 + feedback],
            actions: vec![0],
            feedbacks: vec![feedback],
            costs: vec![0.0],
            rewards: vec![f64::NAN, reward],
        }
    }

    #[test]
    fn names_what_has_changed() {
        let study = Study::read("s", STUDY.as_bytes()).unwrap();
        let mut monitor = DriftMonitor::new(&study);
        assert_eq!(monitor.drift(false).p, 1.0);
        for i in 0..300 {
            monitor.learn(&episode(i % 2, 0.5));
        }
        let quiet = monitor.drift(false);
        assert!(quiet.p > 0.2 && quiet.tests == 3, "{quiet:?}");
        for _ in 0..100 {
            monitor.learn(&episode(1, 0.5));
        }
        let drift = monitor.drift(false);
        assert!(drift.p < 1e-6, "{drift:?}");
        let what = drift.strongest.unwrap().describe(&study);
        assert_eq!(what, "the feedback to `test` at step 1 in state `new`");
    }

    #[test]
    fn values_without_measure_are_no_evidence() {
        let tiny = STUDY.replace("0.25", "1e-300");
        let study = Study::read("s", tiny.as_bytes()).unwrap();
        let mut monitor = DriftMonitor::new(&study);
        for i in 0..10 {
            monitor.learn(&episode(0, if i % 2 == 0 { 1e100 } else { -1e100 }));
        }
        let drift = monitor.drift(false);
        assert_eq!(drift.p, 1.0, "{drift:?}");
    }

    #[test]
    fn rewards_need_a_proxy_that_holds() {
        let ranged = STUDY.replace(
            "\"sigma2\": 0.25",
            "\"outcome_range\": {\"reward\": [0, 1]}",
        );
        let neither = STUDY.replace(", \"learning\": {\"sigma2\": 0.25}", "");
        for (study, outliers, tested) in [
            (STUDY, true, true),
            (&*ranged, false, true),
            (&*ranged, true, false),
            (&*neither, false, false),
        ] {
            let study = Study::read("s", study.as_bytes()).unwrap();
            let mut monitor = DriftMonitor::new(&study);
            for i in 0..200 {
                monitor.learn(&episode(0, f64::from(i / 100)));
            }
            let drift = monitor.drift(outliers);
            assert_eq!((drift.tests_rewards, drift.p < 1e-6), (tested, tested));
        }
    }
}
