//! The limit of learning on a problem: lower bounds of Graves and Lai (1997) and of Burnetas and Katehakis (1996) for
//! episodic bandits, in the limit and after a number of episodes.
//!
//! An alternative changes the feedback distribution and the expected cost of one triplet, so that its action becomes the
//! benchmark's choice and not playing it costs something. A learner can tell the alternative from the model only by
//! choosing the triplet. `docs/theory.md` has the statements and their proofs.

mod alternative;
mod finite;

use std::sync::Arc;

use serde::Serialize;

pub use finite::least_choices;

use self::alternative::{Alternative, Observed};
use super::TripletAt;
use crate::divergence::CostFamily;
use crate::model::Problem;
use crate::oracle::{Benchmark, Optimal, OracleError, Pair};
use crate::spec::Action;

/// The lower bound on the regret of every consistent learner on a problem.
///
/// ```
/// use std::sync::Arc;
/// use emab::{Model, Names, Noise, Problem, Spec, theory::LowerBound};
/// // One step of a choice: stopping earns 0, the action 0.2 less. Its cost is observed with variance 0.1.
/// let spec = Spec::new(2, Names::Count(1, ""), Names::List(vec!["pay".into()]), Names::Count(1, "")).unwrap();
/// let model = Model::new(|_t, _x, _a, _f| 1.0, |_t, _x, _a, _f| 0.0)
///     .cost(|_t, _x, _a, _f| 0.2)
///     .noise(Noise::normal(0.1).unwrap(), Noise::None);
/// let bound = LowerBound::new(Arc::new(Problem::new("pay", spec, model)), f64::NEG_INFINITY).unwrap();
/// // 2 v / gap, as for a normal bandit with a known second arm.
/// assert!((bound.constant().unwrap() - 1.0).abs() < 1e-9);
/// ```
#[derive(Clone, Debug)]
pub struct LowerBound {
    triplets: Vec<LimitingTriplet>,
    better_than_benchmark: Vec<TripletAt>,
}

/// A triplet that every consistent learner chooses again and again.
#[derive(Clone, Debug)]
pub struct LimitingTriplet {
    /// The triplet.
    pub place: TripletAt,
    /// The probability that the benchmark passes the pair in an episode.
    pub visits: f64,
    /// `V - Q`: what choosing it costs.
    pub loss: f64,
    /// Whether the benchmark is an optimal policy of the alternative of least divergence: then its regret is never negative
    /// there.
    pub benchmark_is_optimal: bool,
    alternatives: Vec<Alternative>,
}

impl LimitingTriplet {
    /// The least divergence per observation from the model to an alternative; infinite if there is none.
    pub fn information(&self) -> f64 {
        (self.alternatives.first()).map_or(f64::INFINITY, |least| least.information)
    }

    /// What it adds to the constant.
    pub fn constant(&self) -> f64 {
        self.loss / self.information()
    }

    /// The least expected number of choices in so many episodes of a learner whose regret in every alternative is at most
    /// `regret`.
    fn least_choices(&self, episodes: f64, regret: f64) -> f64 {
        let visits = self.visits * episodes;
        let least = |alternative: &Alternative| {
            least_choices(visits, alternative.information, alternative.surplus, regret)
        };
        self.alternatives.iter().map(least).fold(0.0, f64::max)
    }
}

impl LowerBound {
    /// The bound of a problem. Alternatives have expected costs of at least `least_cost`; minus infinity allows any.
    pub fn new(problem: Arc<Problem>, least_cost: f64) -> Result<LowerBound, OracleError> {
        let mut benchmark = Benchmark::new(problem.clone())?;
        (benchmark.pairs_mut()).expand_all(Optimal::LIMIT, "the lower bound")?;
        let table = Table::new(&mut benchmark)?;
        let place = |pair: Pair, a: usize| {
            let (pairs, spec) = (&table.pairs, problem.spec());
            TripletAt::at(
                spec,
                pairs.step(pair),
                pairs.state(pair),
                Action::Continue(a),
            )
        };
        let mut better = Vec::new();
        let mut triplets = Vec::new();
        for pair in table.forwards() {
            for a in table.pairs.allowed(pair) {
                let loss = table.loss(pair, a);
                if loss < 0.0 {
                    better.push(place(pair, a));
                }
                let visits = table.visits[pair.index()];
                if loss <= 0.0 || visits <= 0.0 {
                    continue;
                }
                let alternatives = table.observed(pair, a, least_cost).alternatives();
                let surplus = alternatives.first().map_or(0.0, |least| least.surplus);
                triplets.push(LimitingTriplet {
                    place: place(pair, a),
                    visits,
                    loss,
                    benchmark_is_optimal: table.benchmark_stays_optimal(pair, surplus),
                    alternatives,
                });
            }
        }
        Ok(LowerBound {
            triplets,
            better_than_benchmark: better,
        })
    }

    /// The triplets that add to the bound, by step, state and action.
    pub fn triplets(&self) -> &[LimitingTriplet] {
        &self.triplets
    }

    /// Triplets after which the benchmark earns more than by its own choice. If there is one, a learner can have a regret
    /// below 0, and there is no bound.
    pub fn better_than_benchmark(&self) -> &[TripletAt] {
        &self.better_than_benchmark
    }

    /// `C`: no consistent learner's regret grows slower than `C log n`.
    pub fn constant(&self) -> Option<f64> {
        let sum = || self.triplets.iter().map(LimitingTriplet::constant).sum();
        self.better_than_benchmark.is_empty().then(sum)
    }

    /// The bound after `n` episodes: every learner has at least this expected regret on the problem or on one of the
    /// alternatives.
    ///
    /// In alternatives in which the benchmark is not optimal, regret is the expectation of the positive part.
    pub fn at(&self, episodes: u64) -> Option<f64> {
        self.constant()?;
        let n = episodes as f64;
        let least = |regret: f64| -> f64 {
            let choices = |triplet: &LimitingTriplet| triplet.least_choices(n, regret);
            self.triplets
                .iter()
                .map(|triplet| triplet.loss * choices(triplet))
                .sum()
        };
        Some(finite::fixed_point(least(0.0), least))
    }
}

/// A [`LowerBound`] at a number of episodes: the part `lower` of `emab bounds --lower --json`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Lower {
    /// `C`: no consistent learner's regret grows slower than `C log n`; none if there is no bound.
    pub constant: Option<f64>,
    /// The part of it whose alternatives have the benchmark as an optimal policy: there a consistent learner needs no more
    /// than an expected regret that grows slower than any power.
    pub constant_of_optimal: Option<f64>,
    /// The bound after the number of episodes.
    pub at_n: Option<f64>,
    /// The triplets that add to the bound.
    pub triplets: Vec<LowerTriplet>,
    /// Triplets after which the benchmark earns more than by its own choice: if there is one, there is no bound.
    pub better_than_benchmark: Vec<TripletAt>,
}

/// A triplet of a [`Lower`].
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LowerTriplet {
    /// The triplet.
    #[serde(flatten)]
    pub place: TripletAt,
    /// The probability that the benchmark passes the pair.
    pub visits: f64,
    /// `V - Q`.
    pub loss: f64,
    /// The least divergence to an alternative; infinite (`null` in JSON) if there is none.
    pub information: f64,
    /// What it adds to the constant.
    pub constant: f64,
    /// Whether the benchmark is an optimal policy of this alternative.
    pub benchmark_is_optimal: bool,
}

impl LowerBound {
    /// All of it at a number of episodes.
    pub fn evaluate(&self, episodes: u64) -> Lower {
        let constant = self.constant();
        let of_optimal = || {
            let optimal = self
                .triplets
                .iter()
                .filter(|triplet| triplet.benchmark_is_optimal);
            optimal.map(LimitingTriplet::constant).sum()
        };
        Lower {
            constant,
            constant_of_optimal: constant.map(|_| of_optimal()),
            at_n: self.at(episodes),
            triplets: (self.triplets.iter())
                .map(|triplet| LowerTriplet {
                    place: triplet.place.clone(),
                    visits: triplet.visits,
                    loss: triplet.loss,
                    information: triplet.information(),
                    constant: triplet.constant(),
                    benchmark_is_optimal: triplet.benchmark_is_optimal,
                })
                .collect(),
            better_than_benchmark: self.better_than_benchmark.clone(),
        }
    }
}

/// The expanded pairs of a problem with values of the benchmark.
struct Table {
    pairs: crate::oracle::Pairs,
    /// By pair.
    choice: Vec<Action>,
    value: Vec<f64>,
    /// The probability that the benchmark passes the pair.
    visits: Vec<f64>,
    /// Later steps first.
    order: Vec<Pair>,
}

impl Table {
    fn new(benchmark: &mut Benchmark) -> Result<Table, OracleError> {
        let order = benchmark.pairs().backwards();
        let mut choice = vec![Action::Stop; order.len()];
        let mut value = vec![0.0; order.len()];
        for &pair in &order {
            choice[pair.index()] = benchmark.choice(pair)?;
            value[pair.index()] = benchmark.value(pair)?;
        }
        let pairs = benchmark.pairs().clone();
        let mut visits = vec![0.0; order.len()];
        for (start, p) in pairs.starts() {
            visits[start.index()] += p;
        }
        let stays = 1.0 - pairs.problem().dropout().get();
        for &pair in order.iter().rev() {
            if let Action::Continue(a) = choice[pair.index()] {
                for (next, p) in pairs.follow(pair, a) {
                    visits[next.index()] += visits[pair.index()] * p * stays;
                }
            }
        }
        Ok(Table {
            pairs,
            choice,
            value,
            visits,
            order,
        })
    }

    fn forwards(&self) -> impl Iterator<Item = Pair> + '_ {
        let mut pairs: Vec<Pair> = self.pairs.iter().collect();
        pairs.sort_by_key(|&pair| (self.pairs.step(pair), self.pairs.state(pair)));
        pairs.into_iter()
    }

    fn arrival_value(&self, next: Pair) -> f64 {
        self.pairs.arrival_value(next, self.value[next.index()])
    }

    /// `V - Q`; 0 within rounding.
    fn loss(&self, pair: Pair, a: usize) -> f64 {
        if self.choice[pair.index()] == Action::Continue(a) {
            return 0.0;
        }
        let value = self.value[pair.index()];
        let (after, size) =
            (self.pairs).expected_value_with_size(pair, a, |next| self.arrival_value(next));
        if crate::oracle::exceeds(value, after, size) || crate::oracle::exceeds(after, value, size)
        {
            value - after
        } else {
            0.0
        }
    }

    fn observed(&self, pair: Pair, a: usize, least_cost: f64) -> Observed {
        let pairs = &self.pairs;
        let mut after: Vec<(Pair, f64)> = pairs.follow(pair, a).collect();
        // An alternative may give a probability to feedback that never comes in the model, where the model has what follows.
        let (t, x) = (pairs.step(pair), pairs.state(pair));
        let spec = pairs.problem().spec();
        let next = (0..spec.feedbacks().len())
            .filter_map(|f| pairs.find(t + 1, spec.next(t, x, a, f).ok()?));
        for next in next {
            if after.iter().all(|&(known, _)| known != next) {
                after.push((next, 0.0));
            }
        }
        let gains = pairs.allowed(pair).map(|a| pairs.gain(pair, a));
        let best = gains.fold(pairs.reward(pair), f64::max);
        Observed {
            probability: after.iter().map(|&(_, p)| p).collect(),
            reward: after.iter().map(|&(next, _)| pairs.reward(next)).collect(),
            value: (after.iter())
                .map(|&(next, _)| self.arrival_value(next))
                .collect(),
            cost: CostFamily::new(
                pairs.problem().model().cost_noise,
                pairs.cost(pair, a),
                least_cost,
            ),
            gap: (best - pairs.gain(pair, a)).max(0.0),
            loss: self.loss(pair, a),
        }
    }

    /// Whether the benchmark is optimal if playing a certain action in this pair earns `surplus` more than the benchmark of
    /// the model does there: no policy gains more by passing the pair more often than it loses on the way.
    fn benchmark_stays_optimal(&self, pair: Pair, surplus: f64) -> bool {
        let last = self.pairs.step(pair);
        let mut best = vec![0.0; self.value.len()];
        let mut own = vec![0.0; self.value.len()];
        (best[pair.index()], own[pair.index()]) = (surplus, surplus);
        let stays = 1.0 - self.pairs.problem().dropout().get();
        for &from in &self.order {
            if self.pairs.step(from) >= last {
                continue;
            }
            let ahead = |a: usize, of: &[f64]| -> f64 {
                let follow = self.pairs.follow(from, a);
                follow.map(|(next, p)| stays * p * of[next.index()]).sum()
            };
            if let Action::Continue(a) = self.choice[from.index()] {
                own[from.index()] = ahead(a, &own);
            }
            let through = self.pairs.allowed(from);
            best[from.index()] = through
                .map(|a| ahead(a, &best) - self.loss(from, a))
                .fold(own[from.index()], f64::max);
        }
        let starts = || self.pairs.starts();
        !starts().any(|(start, _)| {
            crate::oracle::exceeds(best[start.index()], own[start.index()], surplus)
        })
    }
}
