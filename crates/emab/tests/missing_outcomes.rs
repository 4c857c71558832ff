//! Episodes of which something is not known: what is learned of them is what is known, and nothing else.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[allow(dead_code)]
mod common;

use std::sync::Arc;

use common::{Tables, small_problem};
use emab::learners::{CATALOGUE, LearnerConfig, LearnerDefaults};
use emab::{Action, Delta, Episode, Learner, Role, Stream, Width};
use proptest::prelude::*;

const TOLD: &str = "sigma2=0.02,delta=0.1,feedback_spread=0.5";

/// FeedBAL and its relatives, however they are set: they learn from single observations.
const RELATIVES: &[&str] = &[
    "feedbal:sigma2=0.02",
    "feedbal:sigma2=0.02,window=5",
    "feedbal:sigma2=0.02,gamma=0.7",
    "feedbal:sigma2=0.02,width=bernstein,feedback_spread=0.5",
    "feedbal-pooled:sigma2=0.02",
    "feedbal-pooled:sigma2=0.02,target=benchmark",
    "feedbal-model:sigma2=0.02",
    "feedbal-model:sigma2=0.02,width=bernstein",
    "feedbal-lookahead:sigma2=0.02",
    "feedbal-lookahead:sigma2=0.02,depth=2",
];

type Built = Box<dyn Learner + Send>;

fn build(p: &Tables, text: &str) -> Option<Built> {
    let problem = Arc::new(p.problem());
    let config = LearnerConfig::parse(text, &LearnerDefaults::default()).unwrap();
    match config.build(problem.spec(), Some(&problem)) {
        Err(error) if error.does_not_apply() => None,
        built => Some(built.unwrap()),
    }
}

/// Complete episodes with random actions.
fn episodes(p: &Tables, n: usize, stream: &mut Stream) -> Vec<Episode> {
    let one = |stream: &mut Stream| {
        let mut episode = Episode::default();
        episode.begin(0);
        loop {
            let (t, x) = (episode.steps(), *episode.states.last().unwrap());
            episode.rewards.push(stream.uniform());
            let a = stream.below(p.actions + 1);
            if t == p.horizon || a == p.actions || !p.allowed(t, x, a) {
                return episode;
            }
            episode.costs.push(0.3 * stream.uniform());
            let f = stream.below(p.feedbacks);
            episode.advance(a, f, p.next(t, x, a, f));
        }
    };
    (0..n).map(|_| one(stream)).collect()
}

fn blot_out(episode: &mut Episode, stream: &mut Stream) {
    for value in episode.costs.iter_mut().chain(&mut episode.rewards) {
        if stream.below(3) == 0 {
            *value = f64::NAN;
        }
    }
}

fn actions(p: &Tables) -> impl Iterator<Item = Action> {
    (0..p.actions).map(Action::Continue).chain([Action::Stop])
}

fn pairs(p: &Tables) -> impl Iterator<Item = (usize, usize)> {
    let states = p.states;
    (1..=p.horizon).flat_map(move |t| (0..states).map(move |x| (t, x)))
}

/// Both answer every question alike.
fn same(p: &Tables, text: &str, one: &mut Built, other: &mut Built) -> Result<(), TestCaseError> {
    for (t, x) in pairs(p) {
        prop_assert_eq!(
            one.choose(t, x),
            other.choose(t, x),
            "{} at {}, {}",
            text,
            t,
            x
        );
        for action in actions(p) {
            let (one, other) = (one.estimate(t, x, action), other.estimate(t, x, action));
            prop_assert_eq!(one, other, "{} at {}, {}", text, t, x);
        }
    }
    Ok(())
}

#[test]
fn feedbal_by_hand() {
    // Of R = (?, 2, ?) and C = (0.5, ?) two things are known: a gain of 2 - 0.5 at step 1, a reward of 2 at step 2.
    let spec = emab::Spec::numbered(3, 1, 1, 1).unwrap();
    let config = LearnerConfig::parse("feedbal", &LearnerDefaults::default()).unwrap();
    let mut learner = config.build(&Arc::new(spec), None).unwrap();
    learner.learn(&Episode {
        states: vec![0; 3],
        actions: vec![0; 2],
        feedbacks: vec![0; 2],
        costs: vec![0.5, f64::NAN],
        rewards: vec![f64::NAN, 2.0, f64::NAN],
    });
    let mut known = |t, action| {
        let estimate = learner.estimate(t, 0, action).unwrap();
        (estimate.count, estimate.mean)
    };
    let (go, stop) = (Action::Continue(0), Action::Stop);
    let seen = [(1, go), (1, stop), (2, go), (2, stop), (3, stop)].map(|(t, a)| known(t, a));
    assert_eq!(seen, [(1, 1.5), (0, 0.0), (0, 0.0), (1, 2.0), (0, 0.0)]);
}

/// Count and mean.
fn summary(values: &[f64]) -> (u64, f64) {
    let n = values.len() as f64;
    (
        values.len() as u64,
        if n == 0.0 {
            0.0
        } else {
            values.iter().sum::<f64>() / n
        },
    )
}

/// The steps `t` of episodes that were in `x` there.
fn visits(list: &[Episode], t: usize, x: usize) -> impl Iterator<Item = &Episode> {
    let there = move |e: &&Episode| e.states.get(t - 1) == Some(&x);
    list.iter().filter(there)
}

fn took(e: &Episode, t: usize, a: usize) -> bool {
    e.actions.get(t - 1) == Some(&a)
}

/// The rewards known of a pair.
fn rewards(list: &[Episode], t: usize, x: usize) -> Vec<f64> {
    let seen = visits(list, t, x).map(|e| e.rewards[t - 1]);
    seen.filter(|r| !r.is_nan()).collect()
}

/// FeedBAL's observations of an action in a pair, from the list.
fn gains(list: &[Episode], t: usize, x: usize, a: usize) -> Vec<f64> {
    let taken = visits(list, t, x).filter(|e| took(e, t, a));
    let known = taken.filter(|e| !e.rewards[t].is_nan() && !e.costs[t - 1].is_nan());
    known.map(|e| e.rewards[t] - e.costs[t - 1]).collect()
}

/// What `feedbal-model` estimates, from the list: the shares of the states that followed, the mean of all rewards known there,
/// and the costs, where the mean of those after the first unknown one stands for all of them. Observations from the first
/// unknown cost on are left out while the costs after it are less precise than those before. Nothing where a state that
/// followed has no reward.
fn pooled(list: &[Episode], t: usize, x: usize, a: usize) -> (u64, f64) {
    let taken: Vec<&Episode> = visits(list, t, x).filter(|e| took(e, t, a)).collect();
    let cost = |e: &Episode| e.costs[t - 1];
    let first_unknown = taken.iter().position(|e| cost(e).is_nan());
    let (before, since) = taken.split_at(first_unknown.unwrap_or(taken.len()));
    let known: Vec<f64> = since
        .iter()
        .map(|e| cost(e))
        .filter(|c| !c.is_nan())
        .collect();
    let (costs, later) = summary(&known);
    let imputed = since.len() as f64;
    // The variances of the mean cost, without its proxy.
    let (n, all) = (before.len() as f64, taken.len() as f64);
    let with_later = n / (all * all) + (imputed / all).powi(2) / costs as f64;
    let used = match costs > 0 && (before.is_empty() || with_later <= (1.0 + 1e-12) / n) {
        true => &taken[..],
        false => before,
    };
    let mut sum = 0.0;
    for (i, e) in used.iter().enumerate() {
        let (n, mean) = summary(&rewards(list, t + 1, e.states[t]));
        if n == 0 {
            return (0, 0.0);
        }
        sum += mean - if i < before.len() { cost(e) } else { later };
    }
    (used.len() as u64, sum / used.len().max(1) as f64)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Estimates are those of the known observations in a list of the episodes.
    #[test]
    fn learners_use_exactly_the_known_values(p in small_problem(4, 3, 3, 3), seed in any::<u64>()) {
        let mut stream = Stream::new(seed, 0, Role::Steps);
        let mut list = episodes(&p, 40, &mut stream);
        list.iter_mut().for_each(|episode| blot_out(episode, &mut stream));
        let k = (p.horizon * p.states * (p.actions + 1)) as f64;
        let sound = [2.0 * (0.04 + 0.25 / 4.0), 2.0 * 0.02];
        for (text, is_pooled) in [
            (format!("feedbal:width=sound,{TOLD}"), false),
            (format!("feedbal:width=bernstein,{TOLD}"), false),
            (format!("feedbal-model:{TOLD}"), true),
            (format!("feedbal-model:width=bernstein,{TOLD}"), true),
        ] {
            let mut learner = build(&p, &text).unwrap();
            list.iter().for_each(|episode| learner.learn(episode));
            for ((t, x), action) in pairs(&p).flat_map(|pair| actions(&p).map(move |action| (pair, action))) {
                // Learners with a table of reachable pairs have no estimate of others, nor of forbidden actions.
                let Some(estimate) = learner.estimate(t, x, action) else { continue };
                let (count, mean) = match action {
                    Action::Stop => summary(&rewards(&list, t, x)),
                    Action::Continue(a) if is_pooled => pooled(&list, t, x, a),
                    Action::Continue(a) => summary(&gains(&list, t, x, a)),
                };
                prop_assert_eq!(estimate.count, count, "{} at {}, {}: {:?}", text, t, x, action);
                prop_assert!((estimate.mean - mean).abs() < 1e-12, "{} at {}, {}: {:?}", text, t, x, action);
                prop_assert!(estimate.width > 0.0 && estimate.index > f64::NEG_INFINITY);
                prop_assert_eq!(estimate.width.is_finite(), count > 0);
                if text.contains("width=sound") {
                    let w = sound[usize::from(action == Action::Stop)];
                    let width = Width::new(w, k, Delta::new(0.1).unwrap()).at(count);
                    prop_assert_eq!(estimate.width, width);
                }
            }
        }
    }

    /// For learners of single observations, an episode that is unknown from a step on is one that ended there, unless they
    /// learn its feedback.
    #[test]
    fn values_unknown_from_a_step_on_end_the_episode_there(p in small_problem(4, 3, 3, 3), seed in any::<u64>()) {
        // `feedbal-pooled` computes the values of all visited pairs anew, those of unknown steps included.
        for text in RELATIVES.iter().filter(|text| **text != "feedbal-pooled:sigma2=0.02") {
            let text = &match text.starts_with("feedbal-") {
                true => format!("{text},unknown_costs=drop"),
                false => text.to_string(),
            };
            let mut stream = Stream::new(seed, 0, Role::Steps);
            let (mut blotted, mut ended) = (build(&p, text).unwrap(), build(&p, text).unwrap());
            for mut episode in episodes(&p, 30, &mut stream) {
                let known = 1 + stream.below(episode.steps());
                let mut end = episode.clone();
                end.states.truncate(known);
                end.rewards.truncate(known);
                end.actions.truncate(known - 1);
                end.feedbacks.truncate(known - 1);
                end.costs.truncate(known - 1);
                ended.learn(&end);
                episode.rewards[known..].fill(f64::NAN);
                episode.costs[known - 1..].fill(f64::NAN);
                blotted.learn(&episode);
            }
            same(&p, text, &mut blotted, &mut ended)?;
        }
    }

    /// To everybody, NaN everywhere is no value anywhere.
    #[test]
    fn unknown_outcomes_change_nothing(p in small_problem(4, 3, 3, 2), seed in any::<u64>(), costs in any::<bool>()) {
        for text in CATALOGUE.iter().map(|entry| entry.name).chain(RELATIVES.iter().copied()) {
            let (Some(mut one), Some(mut other)) = (build(&p, text), build(&p, text)) else { continue };
            for learner in [&mut one, &mut other] {
                learner.reset(Stream::new(seed, 0, Role::Learner));
            }
            let mut stream = Stream::new(seed, 0, Role::Steps);
            for (i, mut episode) in episodes(&p, 20, &mut stream).into_iter().enumerate() {
                let mut none = episode.clone();
                if i % 2 == 0 {
                    none.rewards.clear();
                    episode.rewards.fill(f64::NAN);
                    if costs {
                        none.costs.clear();
                        episode.costs.fill(f64::NAN);
                    }
                }
                one.learn(&episode);
                other.learn(&none);
            }
            same(&p, text, &mut one, &mut other)?;
        }
    }

    /// Choices stay allowed and estimates stay finite numbers or infinite.
    #[test]
    fn learners_accept_partly_unknown_outcomes(p in small_problem(4, 3, 3, 2), seed in any::<u64>()) {
        for text in CATALOGUE.iter().map(|entry| entry.name).chain(RELATIVES.iter().copied()) {
            let Some(mut learner) = build(&p, text) else { continue };
            learner.reset(Stream::new(seed, 0, Role::Learner));
            let mut stream = Stream::new(seed, 0, Role::Steps);
            for mut episode in episodes(&p, 20, &mut stream) {
                blot_out(&mut episode, &mut stream);
                learner.learn(&episode);
                for (t, x) in pairs(&p) {
                    if let Action::Continue(a) = learner.choose(t, x) {
                        prop_assert!(t < p.horizon && p.allowed(t, x, a), "{} at {}, {}", text, t, x);
                    }
                    for estimate in actions(&p).filter_map(|action| learner.estimate(t, x, action)) {
                        let values = [estimate.mean, estimate.width, estimate.index];
                        prop_assert!(!values.iter().any(|value| value.is_nan()), "{}", text);
                    }
                }
            }
        }
    }
}
