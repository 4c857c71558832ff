//! Whether the states of a log contain what the future depends on.
//!
//! The model says that feedback, costs and rewards depend on step, state and action alone. If so, the observations at a step-state
//! pair have the same mean whatever led there. Here they are grouped by the state and the action before, each group has a
//! time-uniform interval, and two intervals that do not meet contradict the model. The error is divided over all groups.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::Serialize;

use crate::assumptions::Assumptions;
use crate::interval::width;
use crate::log::DecisionLog;

/// A group of observations.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Group {
    /// The state before.
    pub state: String,
    /// The action before.
    pub action: String,
    /// The number of observations.
    pub count: u64,
    /// Their mean.
    pub mean: f64,
    /// Its width.
    pub width: f64,
}

/// Two groups of observations at one step-state pair whose means differ.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Contradiction {
    /// The step.
    pub t: usize,
    /// The state.
    pub x: usize,
    /// The state's name.
    pub state: String,
    /// What was observed: `the reward`, or how often a feedback follows an action.
    pub what: String,
    /// The group with the smaller mean.
    pub less: Group,
    /// The group with the larger mean.
    pub more: Group,
}

/// What is observed at a pair: the reward, or a feedback of an action.
type Observed = Option<(usize, usize)>;
/// The state and the action before.
type Before = (usize, usize);

/// How often each feedback followed, by what came before.
type FeedbackGroups = BTreeMap<Before, BTreeMap<usize, u64>>;

#[derive(Default)]
struct Count {
    count: u64,
    sum: f64,
}

/// The contradictions, at most one for each observed quantity of a pair. Fails to be empty with probability at most `error` if the
/// model is right.
pub fn contradictions(
    log: &DecisionLog,
    assumptions: &Assumptions,
    error: f64,
) -> Vec<Contradiction> {
    let spec = log.spec();
    let mut rewards: BTreeMap<(usize, usize), BTreeMap<Before, Count>> = BTreeMap::new();
    let mut feedbacks: BTreeMap<(usize, usize, usize), FeedbackGroups> = BTreeMap::new();
    for it in log.learned() {
        let episode = &it.episode;
        for (i, &x) in episode.states.iter().enumerate().skip(1) {
            let before = (episode.states[i - 1], episode.actions[i - 1]);
            if let Some(reward) = episode.known_reward(i + 1) {
                let group = rewards.entry((i + 1, x)).or_default();
                let group = group.entry(before).or_default();
                group.count += 1;
                group.sum += reward;
            }
            if let (Some(&a), Some(&f)) = (episode.actions.get(i), episode.feedbacks.get(i)) {
                let group = feedbacks.entry((i + 1, x, a)).or_default();
                *group.entry(before).or_default().entry(f).or_default() += 1;
            }
        }
    }
    let (states, actions) = (spec.states().len() as f64, spec.actions().len() as f64);
    let observed = 1.0 + actions * spec.feedbacks().len() as f64;
    let groups = spec.horizon() as f64 * states * observed * states * actions;
    let log_error = libm::log(groups.max(1.0)) - libm::log(error);
    let group = |before: &Before, count: u64, mean: f64, proxy: f64| Group {
        state: spec.states().name(before.0).into_owned(),
        action: spec.actions().name(before.1).into_owned(),
        count,
        mean,
        width: width(log_error, proxy, count),
    };
    let mut found = Vec::new();
    let mut compare = |(t, x): (usize, usize), what: Observed, groups: Vec<Group>| {
        let lower = |group: &Group| group.mean - group.width;
        let upper = |group: &Group| group.mean + group.width;
        let more = groups.iter().max_by(|a, b| lower(a).total_cmp(&lower(b)));
        let less = groups.iter().min_by(|a, b| upper(a).total_cmp(&upper(b)));
        if let (Some(less), Some(more)) = (less, more)
            // Sums of equal values differ by rounding.
            && lower(more) - upper(less) > 1e-9 * less.mean.abs().max(more.mean.abs())
        {
            found.push(Contradiction {
                t,
                x,
                state: spec.states().name(x).into_owned(),
                what: match what {
                    None => "the reward".into(),
                    Some((a, f)) => {
                        let (a, f) = (spec.actions().name(a), spec.feedbacks().name(f));
                        format!("the share of feedback `{f}` to `{a}`")
                    }
                },
                less: less.clone(),
                more: more.clone(),
            });
        }
    };
    for (&pair, groups) in &rewards {
        let of = |(before, it): (&Before, &Count)| {
            let mean = it.sum / it.count as f64;
            group(before, it.count, mean, assumptions.reward_noise)
        };
        compare(pair, None, groups.iter().map(of).collect());
    }
    for (&(t, x, a), groups) in &feedbacks {
        let seen: BTreeSet<usize> = groups.values().flat_map(|it| it.keys().copied()).collect();
        for f in seen {
            let of = |(before, it): (&Before, &BTreeMap<usize, u64>)| {
                let count: u64 = it.values().sum();
                let share = it.get(&f).copied().unwrap_or(0) as f64 / count as f64;
                group(before, count, share, 0.25)
            };
            compare((t, x), Some((a, f)), groups.iter().map(of).collect());
        }
    }
    found
}

impl fmt::Display for Contradiction {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Contradiction {
            t,
            state,
            what,
            less,
            more,
            ..
        } = self;
        let group = |it: &Group| {
            format!(
                "{:.4} ± {:.4} after `{}` in `{}` ({} times)",
                it.mean, it.width, it.action, it.state, it.count
            )
        };
        let (less, more) = (group(less), group(more));
        write!(
            out,
            "step {t}, state `{state}`: {what} is {less} and {more}"
        )
    }
}
