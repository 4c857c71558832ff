//! What an interval rests on: the noise of costs and rewards, and the ranges of their expectations.

use std::fmt;

use emab::Episode;
use emab::spec::format_number;
use serde::Serialize;
use thiserror::Error;

use crate::log::DecisionLog;
use crate::statistics::{Statistics, observed_range};

/// A value that is not stated and was taken from the log: the interval holds only if it is true.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Assumed {
    /// What is assumed.
    pub what: &'static str,
    /// The assumed value.
    pub value: String,
    /// How to state it in a problem file, or in a call of the command, or what else to do.
    pub remedy: &'static str,
}

/// Values that a call states. Ranges replace those of the problem file; the smaller of `sigma2` and the proxy of a stated range of observed values is used.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Stated {
    /// Range of expected terminal rewards.
    pub reward_range: Option<(f64, f64)>,
    /// Range of expected costs.
    pub cost_range: Option<(f64, f64)>,
    /// Variance proxy of the noise on costs and rewards.
    pub sigma2: Option<f64>,
}

/// What an interval rests on.
#[derive(Clone, Debug, PartialEq)]
pub struct Assumptions {
    /// Variance proxy of a terminal reward, given its step and state.
    pub reward_noise: f64,
    /// Variance proxy of a cost, given its step, state and action.
    pub cost_noise: f64,
    /// Range of expected terminal rewards.
    pub reward_range: (f64, f64),
    /// Range of expected costs.
    pub cost_range: (f64, f64),
    /// Whether it is stated or the log shows it; a log without actions does not.
    costs_known: bool,
    /// What is not stated.
    pub assumed: Vec<Assumed>,
}

/// The part that two ranges share; the first one if they share nothing.
fn both(one: Option<(f64, f64)>, other: Option<(f64, f64)>) -> Option<(f64, f64)> {
    match (one, other) {
        (Some(one), Some(other)) => {
            let shared = (one.0.max(other.0), one.1.min(other.1));
            Some(if shared.0 <= shared.1 { shared } else { one })
        }
        (one, other) => one.or(other),
    }
}

/// The range that contains both.
fn hull(one: (f64, f64), other: Option<(f64, f64)>) -> Option<(f64, f64)> {
    let other = other?;
    Some((one.0.min(other.0), one.1.max(other.1)))
}

/// A reward or cost of a step, if it is known.
type KnownValue = fn(&Episode, usize) -> Option<f64>;

/// The first learned value outside a range of observed values, and where it is.
fn outlier(log: &DecisionLog, (least, most): (f64, f64), value: KnownValue) -> Option<String> {
    log.learned().find_map(|it| {
        (1..=it.episode.steps()).find_map(|t| {
            let value = value(&it.episode, t).filter(|it| !(least..=most).contains(it))?;
            let value = format_number(value);
            Some(format!("{value} at step {t} of episode `{}`", it.id))
        })
    })
}

/// The variance proxy of values in a range, by Hoeffding's lemma.
fn proxy_of_range((least, most): (f64, f64)) -> f64 {
    (most - least) * (most - least) / 4.0
}

/// Why there is no interval.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
pub enum AssumptionError {
    /// Nothing is stated, and the log does not show it.
    #[error("{what}, so that the log shows no range of them: {remedy}")]
    NotShown {
        /// What is missing.
        what: &'static str,
        /// How to state it.
        remedy: &'static str,
    },
    /// A stated range is not one.
    #[error("`{name}` must be two numbers, the first at most the second, got ({low}, {high})")]
    Range {
        /// Its name.
        name: &'static str,
        /// Its lower end.
        low: f64,
        /// Its upper end.
        high: f64,
    },
    /// The stated variance proxy is not one.
    #[error("`sigma2` must be a number from 0 on, got {0}")]
    Sigma2(f64),
}

const NO_COSTS: AssumptionError = AssumptionError::NotShown {
    what: "no range of costs is stated, and no cost is known",
    remedy: COST_REMEDY,
};

/// The largest stated number: squares of differences stay finite.
const LARGEST: f64 = 1e100;

impl Stated {
    fn check(&self) -> Result<(), AssumptionError> {
        for (name, range) in [
            ("reward_range", self.reward_range),
            ("cost_range", self.cost_range),
        ] {
            if let Some((low, high)) = range
                && !(low <= high && low >= -LARGEST && high <= LARGEST)
            {
                return Err(AssumptionError::Range { name, low, high });
            }
        }
        let valid = |it: &f64| (0.0..=LARGEST).contains(it);
        match self.sigma2.filter(|it| !valid(it)) {
            Some(sigma2) => Err(AssumptionError::Sigma2(sigma2)),
            None => Ok(()),
        }
    }
}

const REWARD_REMEDY: &str = "state it with `reward_range` in [learning], or --reward-range";
const COST_REMEDY: &str = "state it with `outcome_range` in [learning], or --cost-range";

impl Assumptions {
    /// From the call, the problem file and the ranges of the study; what none of them states is taken from the log and listed in
    /// [`Assumptions::assumed`].
    ///
    /// A range of observed values also bounds their expectation, and half its length squared is a variance proxy. One that the log has
    /// values outside of, such as outliers that the service accepted, counts as not stated.
    pub fn of(
        log: &DecisionLog,
        statistics: &Statistics,
        stated: &Stated,
    ) -> Result<Assumptions, AssumptionError> {
        stated.check()?;
        let learning = log.file.learning();
        let observed = |range: Option<[f64; 2]>| range.map(|[least, most]| (least, most));
        let outcome = [log.outcome_range, log.file.outcome_range()];
        let seen_rewards = observed_range(statistics.rewards());
        let seen_costs = observed_range(statistics.costs());
        let mut assumed = Vec::new();
        let mut without_outliers = |range: Option<(f64, f64)>, what, value: KnownValue| {
            let range = range?;
            let outlier = outlier(log, range, value);
            assumed.extend(outlier.clone().map(|value| Assumed {
                what,
                value,
                remedy: "correct the value, or state a range that contains it",
            }));
            outlier.is_none().then_some(range)
        };
        let rewards = without_outliers(
            outcome.iter().find_map(|range| observed(range.reward)),
            "rewards outside their `outcome_range` are right, which is not used",
            |episode, t| episode.known_reward(t),
        );
        let costs = without_outliers(
            outcome.iter().find_map(|range| observed(range.cost)),
            "costs outside their `outcome_range` are right, which is not used",
            |episode, t| episode.known_cost(t),
        );
        let reward_stated = stated.reward_range.or(both(learning.reward_range, rewards));
        let cost_stated = stated.cost_range.or(costs);
        if reward_stated.is_none() && seen_rewards.is_none_or(|(least, most)| least == most) {
            return Err(AssumptionError::NotShown {
                what: "no reward range is stated, and the known rewards are all equal, or none is known",
                remedy: REWARD_REMEDY,
            });
        }
        let costs_known = cost_stated.or(seen_costs).is_some();
        if !costs_known && statistics.nodes.iter().any(|node| !node.actions.is_empty()) {
            return Err(NO_COSTS);
        }
        let mut range = |stated, what, seen: Option<(f64, f64)>, remedy| match stated {
            Some(range) => range,
            None => {
                let (least, most) = seen.unwrap_or((0.0, 0.0));
                let value = format!("{} to {}", format_number(least), format_number(most));
                assumed.push(Assumed {
                    what,
                    value,
                    remedy,
                });
                (least, most)
            }
        };
        let reward_range = range(
            reward_stated,
            "expected rewards lie within the observed ones",
            seen_rewards,
            REWARD_REMEDY,
        );
        let cost_range = match costs_known {
            false => (0.0, 0.0),
            true => range(
                cost_stated,
                "expected costs lie within the observed ones",
                seen_costs,
                COST_REMEDY,
            ),
        };
        let mut noise =
            |given: Option<f64>, values: Option<(f64, f64)>, what, seen: f64, remedy| {
                let values = values.map(proxy_of_range);
                match (stated.sigma2.or(given), values) {
                    (Some(given), Some(values)) => given.min(values),
                    (Some(one), None) | (None, Some(one)) => one,
                    (None, None) => {
                        let value = format_number(seen);
                        assumed.push(Assumed {
                            what,
                            value,
                            remedy,
                        });
                        seen
                    }
                }
            };
        let all = learning.sigma2;
        let remedy = "state it with `sigma2` or `outcome_range` in [learning], or --sigma2";
        // A variance is no variance proxy: of rare values it is far smaller. The largest proxy of values in the range is one.
        let largest = |range, seen| hull(range, seen).map_or(0.0, proxy_of_range);
        let reward_noise = noise(
            learning.sigma2_reward.or(all).map(|it| it.get()),
            rewards,
            "the variance proxy of rewards is the largest of values in their range",
            largest(reward_range, seen_rewards),
            remedy,
        );
        let cost_noise = match costs_known {
            false => 0.0,
            true => noise(
                learning.sigma2_cost.or(all).map(|it| it.get()),
                costs,
                "the variance proxy of costs is the largest of values in their range",
                largest(cost_range, seen_costs),
                remedy,
            ),
        };
        Ok(Assumptions {
            reward_noise,
            cost_noise,
            reward_range,
            cost_range,
            costs_known,
            assumed,
        })
    }

    /// Fails if nothing is known of the costs of actions.
    pub fn require_costs(&self) -> Result<(), AssumptionError> {
        match self.costs_known {
            true => Ok(()),
            false => Err(NO_COSTS),
        }
    }

    /// What the value of a policy can be with at most this many further actions.
    pub fn value_range(&self, actions: usize) -> (f64, f64) {
        let actions = actions as f64;
        let (cheapest, dearest) = (self.cost_range.0.min(0.0), self.cost_range.1.max(0.0));
        (
            self.reward_range.0 - actions * dearest,
            self.reward_range.1 - actions * cheapest,
        )
    }
}

impl Assumed {
    /// The assumption without its remedy.
    pub fn statement(&self) -> String {
        format!("{} ({})", self.what, self.value)
    }
}

impl fmt::Display for Assumed {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}; {}", self.statement(), self.remedy)
    }
}
