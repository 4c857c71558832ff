//! O-REPS: Zimin, Neu, *Online Learning in Episodic Markovian Decision Processes by Relative Entropy Policy Search* (NIPS
//! 2013), the bandit form.
//!
//! The transition probabilities are known; losses are not, and can change from episode to episode. States form `L` layers,
//! one per step. A policy is its occupancy measure `q`, the probability that an episode passes `(x,a)`, and is played as
//! `pi(a|x) = q(x,a) / sum_b q(x,b)`. With `D(q||w) = sum q ln(q/w) - q + w`:
//!
//! - `q_1` minimises `sum q ln q - q` over all occupancy measures;
//! - after episode `k` the loss is estimated by `l̂(x,a) = l(x,a) / q_k(x,a)` where it was observed, and 0 elsewhere;
//! - `q_{k+1}` minimises `eta <q, l̂> + D(q || q_k)` over all occupancy measures. It is
//!   `q_k(x,a) exp(v(x) - eta l̂(x,a) - sum_y P(y|x,a) v(y))`, up to a factor per layer, with the `v` that minimises the
//!   dual: see [`OccupancyGraph::project`]. `v` is not the value of a soft Bellman recursion, since `D` is that
//!   of the joint measure, in which rare states have little weight;
//! - `eta = sqrt(L ln(|X||A|/L) / (T |X||A|))` for `T` episodes, and the regret is at most
//!   `2 sqrt(L |X||A| T ln(|X||A|/L))`, for all losses in `[0, 1]`.
//!
//! Adaptations:
//! - A state is a reachable step-state pair, and `|X||A|` is the number of actions in all pairs, `stop` included.
//! - Episodes begin in one of several states: the probabilities of the start states are known like those of feedback.
//! - An episode that has stopped is in no layer, so layers need not have mass 1: the factors per layer disappear, and `D`
//!   can be larger by 1 per layer. So `eta` is not the published one: it has `L (1 + ln(|X||A|/L))` in place of
//!   `L ln(|X||A|/L)`. The rest of the proof does not need full layers.
//! - The loss of continuing is the cost, that of stopping `reward_most` less the terminal reward, both divided by
//!   `reward_most - reward_least`: their sum over an episode is minus its gain, shifted and scaled. Noise can move a loss
//!   out of `[0, 1]`. It is not clipped, which would bias means; but `eta l̂` is limited to at least -1, as the proof
//!   requires.
//! - The number of episodes is unknown: by default (`eta=doubling`) the learner restarts after 1, 2, 4, … episodes, each
//!   time with this `eta` for the next stage (the doubling trick: 1/(1 - 1/sqrt 2), or 3.4, times the bound).
//! - With `reveal=true` the reward of every passed pair is used: its loss is divided by the probability of the pair.
//! - An episode with an unknown cost or reward is skipped: a missing value would count as no loss.
//! - A projection takes some hundred passes over the process after every episode, so the size is limited.

use super::prelude::*;
use crate::learners::registry::parameter::ParameterValue;
use crate::learners::support::tabular::{
    LEAST, MOST, OccupancyGraph, REVEAL, TabularParameters, TransitionGraph,
};

pub(crate) static ENTRY: LearnerEntry = LearnerEntry {
    name: "o-reps",
    title: "O-REPS",
    about: "mirror descent on occupancy measures, with the feedback distribution known",
    reference: "Zimin, Neu 2013, Online Learning in Episodic Markovian Decision Processes by Relative Entropy Policy Search",
    access: Access::Feedback,
    choice_basis: ChoiceBasis::Draws,
    parameters: &[
        Parameter::new("eta", "doubling").about(
            "learning rate, above 0; `doubling`: about the published rate, with the doubling trick",
        ),
        LEAST,
        MOST,
        REVEAL,
    ],
    build: |with| {
        let problem = with.problem()?;
        let graph = TransitionGraph::new(with.learner, with.spec)?;
        let occupancy =
            OccupancyGraph::new(&graph, &problem).map_err(|error| with.oracle(error))?;
        if occupancy.choice_count() > MAX_CHOICES {
            let why = format!(
                "it solves a problem in all actions of all step-state pairs after every episode, and there are {}, \
                 more than {MAX_CHOICES}; a coarser state, fewer actions or a shorter horizon helps",
                occupancy.choice_count()
            );
            return Err(LearnerError::DoesNotApply(with.learner, why));
        }
        let parameters = TabularParameters::new(with)?;
        BuiltLearner::other(OReps::new(graph, occupancy, parameters, eta(with)?))
    },
    ..LearnerEntry::DEFAULT
};

/// The maximum number of actions in all pairs, `stop` included.
const MAX_CHOICES: usize = 2_000;

/// The learning rate; none with the doubling trick.
fn eta(with: &Build<'_>) -> Result<Option<f64>, LearnerError> {
    match with.value("eta") {
        None => Ok(None),
        Some(ParameterValue::Word(word)) if word == "doubling" => Ok(None),
        Some(ParameterValue::Number(eta)) if *eta > 0.0 && eta.is_finite() => Ok(Some(*eta)),
        Some(other) => with.reject("eta", "be a finite number above 0, or `doubling`", other),
    }
}

#[derive(Clone, Debug)]
struct OReps {
    graph: TransitionGraph,
    occupancy: OccupancyGraph,
    parameters: TabularParameters,
    /// As it was set; none for the doubling trick.
    fixed: Option<f64>,
    /// `pi_1`, by way.
    first: Vec<f64>,
    /// `pi` and `q`, by way.
    policy: Vec<f64>,
    q: Vec<f64>,
    /// Episodes that the present `eta` is for, and how many of them are over.
    epoch: u64,
    over: u64,
    stream: Stream,
    /// `ln` of the weights, for want of a place.
    log_weight: Vec<f64>,
}

impl OReps {
    fn new(
        graph: TransitionGraph,
        occupancy: OccupancyGraph,
        parameters: TabularParameters,
        fixed: Option<f64>,
    ) -> OReps {
        let choices = occupancy.choice_count();
        let nodes = (0..graph.pairs()).filter_map(|pair| occupancy.node(pair));
        let mut even = vec![0.0; choices];
        for node in nodes {
            let chance = 1.0 / occupancy.choices(node).len() as f64;
            even[occupancy.choices(node)].fill(chance);
        }
        let first = occupancy.project(&vec![0.0; choices], &occupancy.occupancy(&even));
        OReps {
            q: occupancy.occupancy(&first),
            policy: first.clone(),
            first,
            epoch: 1,
            over: 0,
            stream: Stream::new(0, 0, Role::Learner),
            log_weight: vec![0.0; choices],
            graph,
            occupancy,
            parameters,
            fixed,
        }
    }

    /// `eta`.
    fn eta(&self) -> f64 {
        self.fixed.unwrap_or_else(|| {
            let (layers, _) = self.graph.step_state(self.graph.pairs() - 1);
            let (layers, choices) = (layers as f64, self.occupancy.choice_count() as f64);
            let divergence = layers * (1.0 + libm::log(choices / layers));
            (divergence / (self.epoch as f64 * choices)).sqrt()
        })
    }

    /// Visits the observed losses of an episode, each with its choice and its probability of observation.
    fn losses(&self, episode: &Episode, mut show: impl FnMut(usize, f64, f64)) {
        let span = self.parameters.span();
        let unit = if span > 0.0 { 1.0 / span } else { 1.0 };
        for (i, &x) in episode.states.iter().enumerate() {
            let pair = self.graph.find(i + 1, x);
            let Some(node) = pair.and_then(|pair| self.occupancy.node(pair)) else {
                return;
            };
            let choices = self.occupancy.choices(node);
            let stop = choices.end - 1;
            if let Some(&reward) = episode.rewards.get(i) {
                let loss = (self.parameters.most - reward) * unit;
                if self.parameters.reveal {
                    show(stop, loss, self.q[choices.clone()].iter().sum());
                } else if i + 1 == episode.states.len() {
                    show(stop, loss, self.q[stop]);
                }
            }
            if let (Some(&a), Some(&cost)) = (episode.actions.get(i), episode.costs.get(i))
                && let Some(choice) = choices
                    .clone()
                    .find(|&choice| self.occupancy.action(choice) == Some(a))
            {
                show(choice, cost * unit, self.q[choice]);
            }
        }
    }

    /// Back to `q_1`.
    fn begin(&mut self) {
        self.policy.clone_from(&self.first);
        self.q = self.occupancy.occupancy(&self.policy);
        self.over = 0;
    }
}

impl Learner for OReps {
    fn choose(&mut self, t: usize, x: usize) -> Action {
        let pair = self.graph.find(t, x);
        let Some(node) = pair.and_then(|pair| self.occupancy.node(pair)) else {
            return Action::Stop;
        };
        let mut draw = self.stream.uniform();
        for choice in self.occupancy.choices(node) {
            draw -= self.policy[choice];
            if draw < 0.0 {
                let action = self.occupancy.action(choice);
                return action.map_or(Action::Stop, Action::Continue);
            }
        }
        Action::Stop
    }

    fn learn(&mut self, episode: &Episode) {
        if !episode.is_known() {
            return;
        }
        let eta = self.eta();
        let mut log_weight = std::mem::take(&mut self.log_weight);
        for (log, q) in log_weight.iter_mut().zip(&self.q) {
            *log = libm::log(*q);
        }
        self.losses(episode, |choice, loss, chance| {
            // Actions of probability 0 come from overrides and are skipped.
            if chance > 0.0 {
                log_weight[choice] -= (eta * loss / chance).max(-1.0);
            }
        });
        self.policy = self.occupancy.project(&log_weight, &self.q);
        self.q = self.occupancy.occupancy(&self.policy);
        self.log_weight = log_weight;
        self.over += 1;
        if self.fixed.is_none() && self.over == self.epoch {
            self.epoch *= 2;
            self.begin();
        }
    }

    fn reset(&mut self, stream: Stream) {
        self.stream = stream;
        self.epoch = 1;
        self.begin();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::learners::support::tabular::testing::{
        after, assert_close, patience, play, tabular,
    };
    use crate::learners::{LearnerConfig, LearnerDefaults};
    use crate::model::{Model, Problem};
    use crate::spec::Spec;

    fn learner(problem: &Problem, reveal: bool, eta: Option<f64>) -> OReps {
        let graph = TransitionGraph::new("o-reps", problem.spec()).unwrap();
        let occupancy = OccupancyGraph::new(&graph, problem).unwrap();
        OReps::new(graph, occupancy, tabular(1.0, reveal).parameters, eta)
    }

    /// Stop at once, or go on and stop then; the reward is never looked at.
    fn choice() -> Problem {
        let spec = Spec::numbered(2, 1, 1, 1);
        let model = Model::new(|_t, _x, _a, _f| 1.0, |_t, _x, _a, _f| f64::NAN);
        Problem::new("choice", spec.unwrap(), model)
    }

    #[test]
    fn the_published_learning_rate_by_hand() {
        // Ways: go and stop at the first step, stop at the second. L = 2 layers, |X||A| = 3.
        let mut learner = learner(&choice(), false, None);
        let by_hand = |t: f64| (2.0 * (1.0 + 1.5_f64.ln()) / (t * 3.0)).sqrt();
        let mut epochs = Vec::new();
        for _ in 0..15 {
            if learner.over == 0 {
                assert_eq!(learner.policy, learner.first);
                assert!((learner.eta() - by_hand(learner.epoch as f64)).abs() < 1e-15);
                epochs.push(learner.epoch);
            }
            learner.learn(&after(&[], &[], &[0.3]));
        }
        assert_eq!(epochs, [1, 2, 4, 8]);
    }

    #[test]
    fn one_update_by_hand() {
        let golden = (3.0 - 5.0_f64.sqrt()) / 2.0;
        let (eta, most) = (0.2, 1.0);
        for reveal in [false, true] {
            // It stops at once for 0.3.
            let mut learner = learner(&choice(), reveal, Some(eta));
            assert!((learner.q[1] - golden).abs() < 1e-12);
            learner.learn(&after(&[], &[], &[0.3]));
            let chance = if reveal { 1.0 } else { golden };
            let w = golden * (-eta * (most - 0.3) / chance).exp();
            // s minimises s ln(s/w) - s + 2 (1 - s) ln((1 - s)/A) - 2 (1 - s), A = 1 - golden: s A^2 = w (1 - s)^2.
            let s = learner.q[1];
            let a = 1.0 - golden;
            assert_close(s * a * a, w * (1.0 - s) * (1.0 - s));
            // It goes on at a cost of 0.1 and gets 0.6; what the first step would have paid is seen with `reveal` alone.
            let mut learner = self::learner(&choice(), reveal, Some(eta));
            learner.learn(&after(&[(0, 0)], &[0.1], &[0.3, 0.6]));
            let go = a * (-eta * 0.1 / a).exp();
            let end = a * (-eta * 0.4 / a).exp();
            let stop = match reveal {
                true => golden * (-eta * 0.7_f64).exp(),
                false => golden,
            };
            let s = learner.q[1];
            assert_close(s * go * end, stop * (1.0 - s) * (1.0 - s));
        }
    }

    #[test]
    fn estimates_are_unbiased() {
        // Over all episodes that its policy can lead to, weighted by their probability, the estimate of every loss is unbiased.
        for reveal in [false, true] {
            let problem = patience();
            let learner = learner(&problem, reveal, Some(0.1));
            let mut mean = vec![0.0; learner.occupancy.choice_count()];
            for paths in [vec![vec![]], paths(1), paths(2)] {
                for path in paths {
                    let (mut chance, mut node) = (1.0, 0);
                    for &(a, f) in &path {
                        let choice = learner.occupancy.choices(node).start + a;
                        chance *= 0.5 * learner.policy[choice];
                        let t = learner.graph.step_state(node).0;
                        node = learner.graph.find(t + 1, f).unwrap();
                    }
                    chance *= learner.policy[learner.occupancy.choices(node).end - 1];
                    let rewards: Vec<f64> = [0.5, 0.1, 0.9][..path.len() + 1].to_vec();
                    let costs: Vec<f64> = [0.2, 0.3][..path.len()].to_vec();
                    let episode = after(&path, &costs, &rewards);
                    learner.losses(&episode, |choice, loss, seen| {
                        mean[choice] += chance * loss / seen
                    });
                }
            }
            let truth = [0.2, 0.5, 0.3, 0.9, 0.3, 0.9, 0.1, 0.1];
            for (mean, truth) in mean.into_iter().zip(truth) {
                assert_close(mean, truth);
            }
        }
    }

    fn paths(steps: usize) -> Vec<Vec<(usize, usize)>> {
        match steps {
            0 => vec![vec![]],
            _ => paths(steps - 1)
                .into_iter()
                .flat_map(|path| [0, 1].map(|f| [&path[..], &[(0, f)]].concat()))
                .collect(),
        }
    }

    #[test]
    fn finds_the_optimal_policy_where_the_benchmark_does_not() {
        for (reveal, eta) in [(false, None), (false, Some(0.05)), (true, Some(0.05))] {
            let mut learner = learner(&patience(), reveal, eta);
            let played = play(&patience(), &mut learner, 4000, |_| 0.0);
            played.assert_optimal(0.04);
        }
    }

    #[test]
    fn an_unknown_outcome_changes_nothing() {
        let mut learner = learner(&patience(), false, Some(0.1));
        let before = learner.policy.clone();
        learner.learn(&after(&[(0, 1)], &[], &[]));
        assert_eq!(learner.policy, before);
    }

    #[test]
    fn rejects_problems_of_another_form() {
        let spec = Spec::numbered(60, 60, 1, 2)
            .unwrap()
            .transition(|_t, x, _a, f| (x + f) as f64);
        let model = Model::new(|_t, _x, _a, _f| 0.5, |_t, _x, _a, _f| 0.0);
        let problem = Arc::new(Problem::new("large", spec, model));
        let rejects = |text: &str, problem: &Arc<Problem>, part: &str| {
            let config = LearnerConfig::parse(text, &LearnerDefaults::default()).unwrap();
            let error = config.build(problem.spec(), Some(problem)).err().unwrap();
            assert!(error.to_string().contains(part), "{error}");
            error
        };
        let large = rejects("o-reps", &problem, "3600, more than 2000");
        assert!(large.does_not_apply());
        for eta in ["0", "inf", "-1", "published"] {
            let rule = "be a finite number above 0, or `doubling`";
            rejects(&format!("o-reps:eta={eta}"), &patience(), rule);
        }
    }
}
