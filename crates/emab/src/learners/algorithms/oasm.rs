//! OASM: Gabillon, Kveton, Wen, Eriksson, Muthukrishnan, *Adaptive Submodular Maximization in Bandit Setting* (NIPS
//! 2013), Algorithm 1.
//!
//! Items have states that are drawn for each episode independently; item `i` works with an unknown probability `p_i`.
//! Choosing an item reveals its state, and up to `K` items are chosen in an episode. The value of the chosen items with their
//! states `y` is known, and an item has a gain only if it works, on average `ḡ_i(y)`. After each item was observed once, the
//! next item in episode `t` is, until there are `K`,
//!
//! `argmax_i (p̂_i + c_{t-1,T_i}) ḡ_i(y)`, with `c_{t,s} = sqrt(2 ln t / s)`,
//!
//! over the items not chosen yet; `T_i` is the number of earlier observations of `i` and `p̂_i` the share in which it worked.
//! Regret is against the greedy policy with known `p`, which is the benchmark of eMAB.
//!
//! Adaptations:
//! - Items are continuation actions and an item's state is the feedback: 0 fails, 1 works. The learner reads the
//!   expected rewards, since the published function is known. It ignores probabilities, costs (assumed 0) and observed
//!   rewards.
//! - The reward is that of a pair, so the states of other items do not matter, and `ḡ_i(y)` needs no mean: it is the
//!   reward after `i` has worked less the reward before.
//! - There is no initialisation round: an unobserved item has an infinite index if its gain is positive.
//! - It stops where no allowed item has a positive gain. In such problems gains never rise again; the publication has no
//!   `stop`.
//! - [`gains`] checks that the problem has this form in all reachable pairs. Independence of the items and equal
//!   probabilities at every step cannot be checked without the feedback distribution; they are assumptions.

use super::prelude::*;
use std::collections::HashMap;

use crate::learners::support::tabular::{SCALE, TabularParameters, TransitionGraph};
use crate::model::Problem;
use crate::oracle::OracleError;

pub(crate) static ENTRY: LearnerEntry = LearnerEntry {
    name: "oasm",
    title: "OASM",
    about: "for items that work or fail and known rewards: greedy with optimistic success probabilities pooled over steps",
    reference: "Gabillon, Kveton, Wen, Eriksson, Muthukrishnan 2013, Adaptive Submodular Maximization in Bandit Setting",
    access: Access::Rewards,
    choice_basis: ChoiceBasis::Tables,
    parameters: &[SCALE],
    build: |with| {
        let problem = with.problem()?;
        let graph = TransitionGraph::new(with.learner, with.spec)?;
        let gain = gains(&graph, &problem)?;
        let scale = TabularParameters::new(with)?.scale;
        BuiltLearner::other(Oasm::new(graph, gain, scale))
    },
    ..LearnerEntry::DEFAULT
};

const FAILS: usize = 0;
const WORKS: usize = 1;

fn inapplicable(why: String) -> LearnerError {
    LearnerError::DoesNotApply(ENTRY.name, why)
}

/// `ḡ` by edge; fails where the problem does not have the required form.
fn gains(graph: &TransitionGraph, problem: &Problem) -> Result<Vec<f64>, LearnerError> {
    let spec = problem.spec();
    if spec.feedbacks().len() != 2 {
        let feedbacks = spec.feedbacks().len();
        return Err(inapplicable(format!(
            "its items fail (feedback 0) or work (feedback 1), and there are {feedbacks} feedbacks"
        )));
    }
    let taken = items(graph, problem)?;
    let reward = (0..graph.pairs()).map(|pair| {
        let (t, x) = graph.step_state(pair);
        let reward = problem.reward(t, x).map_err(OracleError::from);
        reward.map_err(|error| LearnerError::Oracle(ENTRY.name, error))
    });
    let reward: Vec<f64> = reward.collect::<Result<_, _>>()?;
    let same =
        |one: f64, other: f64| (one - other).abs() <= 1e-9 * (1.0 + one.abs().max(other.abs()));
    let step_state = |pair| {
        let (t, x) = graph.step_state(pair);
        format!("t = {t}, x = {}", spec.states().name(x))
    };

    let mut worth: HashMap<&[usize], usize> = HashMap::new();
    for pair in 0..graph.pairs() {
        let first = *worth.entry(&taken[pair]).or_insert(pair);
        if !same(reward[first], reward[pair]) {
            let [one, other] =
                [first, pair].map(|pair| format!("{} at {}", reward[pair], step_state(pair)));
            return Err(inapplicable(format!(
                "the order of the items must not matter, and the reward is {one} and {other} after the same ones"
            )));
        }
    }

    let mut gain = vec![0.0; graph.edge_count()];
    // By item: its gain in the pair that is looked at; infinite where it may not be taken.
    let mut here = vec![f64::INFINITY; graph.actions()];
    for pair in (0..graph.pairs()).rev() {
        for edge in graph.edges(pair) {
            let item = || {
                let name = spec.actions().name(graph.action(edge));
                format!("`{name}` at {}", step_state(pair))
            };
            let after = |f| Some(graph.next(graph.transition(edge, f)?));
            let before = reward[pair];
            if let Some(failed) = after(FAILS)
                && !same(reward[failed], before)
            {
                return Err(inapplicable(format!(
                    "an item that fails must leave the reward as it is, and {} changes it from {before} to {}",
                    item(),
                    reward[failed]
                )));
            }
            let worked = after(WORKS).map_or(before, |pair| reward[pair]);
            if worked < before && !same(worked, before) {
                return Err(inapplicable(format!(
                    "an item that works must not lower the reward, and {} does, from {before} to {worked}",
                    item()
                )));
            }
            gain[edge] = match same(worked, before) {
                true => 0.0,
                false => worked - before,
            };
        }
        // Pairs that follow have higher numbers, so their gains are known by now.
        here.fill(f64::INFINITY);
        for edge in graph.edges(pair) {
            here[graph.action(edge)] = gain[edge];
        }
        let transitions = graph.edges(pair).flat_map(|edge| graph.transitions(edge));
        for next in transitions.map(|transition| graph.next(transition)) {
            for later in graph.edges(next) {
                let item = graph.action(later);
                if gain[later] > here[item] && !same(gain[later], here[item]) {
                    return Err(inapplicable(format!(
                        "the reward is not submodular: `{}` gains {} at {} and more, {}, after another item at {}",
                        spec.actions().name(item),
                        here[item],
                        step_state(pair),
                        gain[later],
                        step_state(next)
                    )));
                }
            }
        }
    }
    Ok(gain)
}

/// By pair: the items taken before it with their states, in order; the state must tell them, and none comes twice.
fn items(graph: &TransitionGraph, problem: &Problem) -> Result<Vec<Vec<usize>>, LearnerError> {
    let mut taken: Vec<Option<Vec<usize>>> = vec![None; graph.pairs()];
    // The first pairs are the starts.
    taken[..problem.spec().starts().len()].fill(Some(Vec::new()));
    for pair in 0..graph.pairs() {
        // Every pair but the starts is the next of an earlier one.
        let known = taken[pair].clone().unwrap_or_default();
        let (t, x) = graph.step_state(pair);
        for edge in graph.edges(pair) {
            let item = graph.action(edge);
            if known.iter().any(|taken| taken / 2 == item) {
                let name = problem.spec().actions().name(item);
                let x = problem.spec().states().name(x);
                return Err(inapplicable(format!(
                    "an item is taken once at most, and `{name}` may be taken again at t = {t}, x = {x} (a mask \
                     `allowed` can forbid it)"
                )));
            }
            for f in [FAILS, WORKS] {
                let Some(transition) = graph.transition(edge, f) else {
                    continue;
                };
                let mut after = known.clone();
                after.push(2 * item + f);
                after.sort_unstable();
                let next = graph.next(transition);
                match &taken[next] {
                    None => taken[next] = Some(after),
                    Some(other) if *other == after => {}
                    Some(_) => {
                        let (t, x) = graph.step_state(next);
                        let x = problem.spec().states().name(x);
                        return Err(inapplicable(format!(
                            "the state must tell which items were taken and which of them work, and t = {t}, \
                             x = {x} can be reached with different ones"
                        )));
                    }
                }
            }
        }
    }
    Ok(taken.into_iter().map(Option::unwrap_or_default).collect())
}

/// What was seen of an item.
#[derive(Clone, Copy, Debug, Default)]
struct Item {
    seen: u64,
    worked: u64,
}

#[derive(Clone, Debug)]
struct Oasm {
    graph: TransitionGraph,
    /// By edge.
    gain: Vec<f64>,
    scale: f64,
    items: Vec<Item>,
    episodes: u64,
}

impl Oasm {
    fn new(graph: TransitionGraph, gain: Vec<f64>, scale: f64) -> Oasm {
        Oasm {
            items: vec![Item::default(); graph.actions()],
            episodes: 0,
            graph,
            gain,
            scale,
        }
    }

    /// What an edge could gain: `(p̂ + c) ḡ`.
    fn index(&self, edge: usize) -> f64 {
        let (gain, Item { seen, worked }) = (self.gain[edge], self.items[self.graph.action(edge)]);
        if seen == 0 {
            return f64::INFINITY;
        }
        let log = libm::log(self.episodes.max(1) as f64);
        let wide = self.scale * (2.0 * log / seen as f64).sqrt();
        (worked as f64 / seen as f64 + wide) * gain
    }
}

impl Learner for Oasm {
    fn choose(&mut self, t: usize, x: usize) -> Action {
        let Some(pair) = self.graph.find(t, x) else {
            return Action::Stop;
        };
        let mut best = (None, f64::NEG_INFINITY);
        for edge in self.graph.edges(pair).filter(|&edge| self.gain[edge] > 0.0) {
            let index = self.index(edge);
            if index > best.1 {
                best = (Some(edge), index);
            }
        }
        best.0.map_or(Action::Stop, |edge| {
            Action::Continue(self.graph.action(edge))
        })
    }

    fn learn(&mut self, episode: &Episode) {
        self.episodes += 1;
        for (&a, &f) in episode.actions.iter().zip(&episode.feedbacks) {
            if let Some(item) = self.items.get_mut(a) {
                item.seen += 1;
                item.worked += u64::from(f == WORKS);
            }
        }
    }

    fn reset(&mut self, _stream: Stream) {
        self.items.fill(Item::default());
        self.episodes = 0;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::learners::support::tabular::testing::{patience, play};
    use crate::model::{Model, Noise};
    use crate::spec::Spec;

    /// The state of an item in a state of the problem: 0 not taken, 1 failed, 2 works.
    fn item(x: usize, i: usize) -> usize {
        x / [1, 3, 9, 27][i] % 3
    }

    fn spec() -> Spec {
        Spec::numbered(3, 81, 4, 2)
            .unwrap()
            .transition(|_t, x, a, f| (x + (f + 1) * [1, 3, 9, 27][a]) as f64)
            .allowed(|_t, x, a, _f| f64::from(u8::from(item(x, a) == 0)))
    }

    /// Two of four sensors. 0 and 1 cover the valley (4) and something of their own (1), 2 and 3 only of their own (3, 2).
    fn worth(x: usize) -> f64 {
        let works = |i| f64::from(u8::from(item(x, i) == 2));
        let valley = works(0).max(works(1));
        4.0 * valley + works(0) + works(1) + 3.0 * works(2) + 2.0 * works(3)
    }

    const CHANCES: [f64; 4] = [0.5, 0.8, 0.6, 0.3];

    fn coverage(reward: impl Fn(usize, usize) -> f64 + Send + Sync + 'static) -> Arc<Problem> {
        let chance = |_t: usize, _x: usize, a: usize, f: usize| match f {
            WORKS => CHANCES[a],
            _ => 1.0 - CHANCES[a],
        };
        let model = Model::new(chance, move |t, x, _a, _f| reward(t, x))
            .noise(Noise::None, Noise::normal(0.1).unwrap());
        Arc::new(Problem::new("coverage", spec(), model))
    }

    fn learner(problem: &Problem) -> Result<Oasm, LearnerError> {
        let graph = TransitionGraph::new("oasm", problem.spec())?;
        let gain = gains(&graph, problem)?;
        Ok(Oasm::new(graph, gain, 1.0))
    }

    /// Fails unless the learner does not apply, for a reason that contains `part`.
    #[track_caller]
    fn rejects(problem: &Problem, part: &str) {
        let error = learner(problem).unwrap_err();
        assert!(
            error.does_not_apply() && error.to_string().contains(part),
            "{error}"
        );
    }

    #[test]
    fn the_index_by_hand() {
        let mut learner = learner(&coverage(|_, x| worth(x))).unwrap();
        // The first of the unseen.
        assert_eq!(learner.choose(1, 0), Action::Continue(0));
        for (a, f) in [(0, 1), (0, 0), (1, 1), (2, 0), (0, 0), (3, 1)] {
            let mut episode = Episode::default();
            episode.begin(0);
            episode.advance(a, f, (f + 1) * [1, 3, 9, 27][a]);
            learner.learn(&episode);
        }
        let log = 6.0_f64.ln();
        let by_hand = [
            (1.0 / 3.0 + (2.0 * log / 3.0).sqrt()) * 5.0,
            (1.0 + (2.0 * log).sqrt()) * 5.0,
            (2.0 * log).sqrt() * 3.0,
            (1.0 + (2.0 * log).sqrt()) * 2.0,
        ];
        for (edge, by_hand) in by_hand.into_iter().enumerate() {
            assert!((learner.index(edge) - by_hand).abs() < 1e-12, "item {edge}");
        }
        assert_eq!(learner.choose(1, 0), Action::Continue(1));
        // Item 1 works: item 0 now gains 1 alone, and item 3 has the largest index.
        let pair = learner.graph.find(2, 6).unwrap();
        let edge = learner.graph.edge(pair, 0).unwrap();
        assert!((learner.index(edge) - by_hand[0] / 5.0).abs() < 1e-12);
        assert_eq!(learner.choose(2, 6), Action::Continue(3));
        assert_eq!(learner.choose(3, 6 + 54), Action::Stop);
    }

    #[test]
    fn regret_against_the_greedy_policy_flattens() {
        let problem = coverage(|_, x| worth(x));
        let mut learner = learner(&problem).unwrap();
        let played = play(&problem, &mut learner, 20_000, |_| 0.0);
        let late = played.benchmark - played.late_gain;
        assert!(late < 0.002 * played.benchmark, "{late}");
        for (item, chance) in learner.items.iter().zip(CHANCES) {
            let seen = item.seen as f64;
            let error = item.worked as f64 / seen - chance;
            assert!(error.abs() < 4.0 * (0.25 / seen).sqrt());
        }
    }

    #[test]
    fn errors_say_why_it_does_not_apply() {
        rejects(&patience(), "may be taken again at t = 2");
        let falling = coverage(|t, x| worth(x) - 0.1 * t as f64);
        rejects(&falling, "leave the reward as it is");
        rejects(&coverage(|_, x| -worth(x)), "must not lower");
        let both = |x| f64::from(u8::from(item(x, 0) == 2 && item(x, 1) == 2));
        let both = coverage(move |_, x| both(x));
        rejects(&both, "not submodular");
        rejects(&both, "gains 0 at t = 1, x = 0");

        // Three feedbacks; and a state that forgets which item it was.
        let model = Model::new(|_t, _x, _a, _f| 0.5, |_t, _x, _a, _f| 0.0);
        let three = Spec::numbered(2, 1, 1, 3).unwrap();
        let three = Problem::new("three", three, model.clone());
        rejects(&three, "there are 3 feedbacks");
        let forgets = Spec::numbered(2, 1, 2, 2).unwrap();
        let forgets = Problem::new("forgets", forgets, model);
        rejects(&forgets, "t = 2, x = 0 can be reached with different ones");
    }

    #[test]
    fn the_order_of_items_must_not_matter() {
        // Two items; the state is the step's history: 0, then 1 to 4 for (item, feedback), then 5 + what came before.
        let spec = Spec::numbered(3, 15, 2, 2)
            .unwrap()
            .transition(|t, x, a, f| match t {
                1 => (1 + 2 * a + f) as f64,
                _ => (5 + 2 * (x - 1) + f) as f64,
            })
            .allowed(|_t, x, a, _f| f64::from(u8::from(x == 0 || (x - 1) / 2 != a)));
        // Item 0 working is worth 2 if it came first, and 1 if it came second.
        let reward = |t: usize, x: usize, _a: usize, _f: usize| match (t, x) {
            (2, 2) | (3, 7 | 8) => 2.0,
            (3, 10 | 12) => 1.0,
            _ => 0.0,
        };
        let model = Model::new(|_t, _x, _a, _f| 0.5, reward);
        rejects(&Problem::new("order", spec, model), "order of the items");
    }
}
