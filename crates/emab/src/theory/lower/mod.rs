//! The limit of learning on a problem: lower bounds of Graves and Lai (1997) and of Burnetas and Katehakis (1997) for
//! episodic bandits, in the limit and after a number of episodes.
//!
//! An alternative changes the feedback distribution and the expected cost of one triplet, so that its action becomes the
//! benchmark's choice and not playing it costs something. A learner can tell the alternative from the model only by
//! choosing the triplet. `docs/theory.md` has the statements and their proofs.

mod alternative;
mod finite;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use finite::least_choices;

use self::alternative::{Alternative, Observed};
use super::TripletAt;
use crate::divergence::CostFamily;
use crate::model::Problem;
use crate::oracle::{Benchmark, Optimal, OracleError, Pair, Pairs, exceeds};
use crate::spec::Action;

/// The lower bound on the regret of every consistent learner on a problem.
///
/// ```
/// use std::sync::Arc;
/// use emab::{Model, Names, Noise, Problem, Spec, theory::{LowerBound, Target}};
/// // One step of a choice: stopping earns 0, the action 0.2 less. Its cost is observed with variance 0.1.
/// let spec = Spec::new(2, Names::Count(1, ""), Names::List(vec!["pay".into()]), Names::Count(1, "")).unwrap();
/// let model = Model::new(|_t, _x, _a, _f| 1.0, |_t, _x, _a, _f| 0.0)
///     .cost(|_t, _x, _a, _f| 0.2)
///     .noise(Noise::normal(0.1).unwrap(), Noise::None);
/// let bound = LowerBound::new(Arc::new(Problem::new("pay", spec, model)), Target::Benchmark, f64::NEG_INFINITY).unwrap();
/// // 2 v / gap, as for a normal bandit with a known second arm.
/// assert!((bound.constant().unwrap() - 1.0).abs() < 1e-9);
/// ```
#[derive(Clone, Debug)]
pub struct LowerBound {
    table: Table,
    triplets: Vec<LimitingTriplet>,
    better_than_benchmark: Vec<TripletAt>,
}

/// What regret is measured against.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Target {
    /// The benchmark. There is no bound where another policy earns more.
    #[default]
    Benchmark,
    /// The optimal policy.
    Optimal,
}

/// A triplet that every consistent learner chooses again and again.
#[derive(Clone, Debug)]
pub struct LimitingTriplet {
    /// The triplet.
    pub place: TripletAt,
    /// The probability that the target passes the pair in an episode.
    pub visits: f64,
    /// `V - Q`: what choosing it costs.
    pub loss: f64,
    pair: Pair,
    least: Option<Alternative>,
    by_surplus: Vec<Alternative>,
}

impl LimitingTriplet {
    /// The least divergence per observation from the model to an alternative; infinite if there is none.
    pub fn information(&self) -> f64 {
        self.least.map_or(f64::INFINITY, |least| least.information)
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
        self.by_surplus.iter().map(least).fold(0.0, f64::max)
    }
}

impl LowerBound {
    /// The bound of a problem. Alternatives have expected costs of at least `least_cost`; minus infinity allows any.
    pub fn new(
        problem: Arc<Problem>,
        target: Target,
        least_cost: f64,
    ) -> Result<LowerBound, OracleError> {
        let table = Table::new(problem.clone(), target)?;
        let place = |pair: Pair, a: usize| {
            let (t, x) = (table.pairs.step(pair), table.pairs.state(pair));
            TripletAt::at(problem.spec(), t, x, Action::Continue(a))
        };
        let triplets = || {
            let each = table.forwards();
            each.flat_map(|pair| table.pairs.allowed(pair).map(move |a| (pair, a)))
        };
        let better = triplets().filter(|&(pair, a)| table.loss(pair, a) < 0.0);
        let better: Vec<TripletAt> = better.map(|(pair, a)| place(pair, a)).collect();
        let mut limiting = Vec::new();
        for (pair, a) in triplets().filter(|_| better.is_empty()) {
            let (loss, visits) = (table.loss(pair, a), table.visits[pair.index()]);
            if loss <= 0.0 || visits <= 0.0 {
                continue;
            }
            let observed = table.observed(pair, a, least_cost)?;
            limiting.push(LimitingTriplet {
                place: place(pair, a),
                visits,
                loss,
                pair,
                least: observed.least(),
                by_surplus: observed.by_surplus(),
            });
        }
        Ok(LowerBound {
            triplets: limiting,
            better_than_benchmark: better,
            table,
        })
    }

    /// What regret is measured against.
    pub fn target(&self) -> Target {
        self.table.target
    }

    /// The triplets that add to the bound, by step, state and action; none if there is no bound.
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
        let constants = || self.triplets.iter().map(LimitingTriplet::constant);
        let sum = || constants().fold(0.0, |sum, constant| sum + constant); // an empty sum is -0
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
    /// What regret is measured against.
    pub target: Target,
    /// `C`: no consistent learner's regret grows slower than `C log n`; none if there is no bound.
    pub constant: Option<f64>,
    /// The part of it whose alternatives have the benchmark as an optimal policy: there a consistent learner needs no more
    /// than an expected regret that grows slower than any power.
    pub constant_of_optimal: Option<f64>,
    /// The bound after the number of episodes.
    pub at_n: Option<f64>,
    /// The triplets that add to the bound; none if there is no bound.
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
        let row = |triplet: &LimitingTriplet| {
            let surplus = triplet.least.map_or(0.0, |least| least.surplus);
            LowerTriplet {
                place: triplet.place.clone(),
                visits: triplet.visits,
                loss: triplet.loss,
                information: triplet.information(),
                constant: triplet.constant(),
                benchmark_is_optimal: self.table.stays_optimal(triplet.pair, surplus),
            }
        };
        let triplets: Vec<LowerTriplet> = self.triplets.iter().map(row).collect();
        let of_optimal = || {
            let optimal = triplets
                .iter()
                .filter(|triplet| triplet.benchmark_is_optimal);
            optimal.fold(0.0, |sum, triplet| sum + triplet.constant)
        };
        let constant = self.constant();
        Lower {
            target: self.target(),
            constant,
            constant_of_optimal: constant.map(|_| of_optimal()),
            at_n: self.at(episodes),
            triplets,
            better_than_benchmark: self.better_than_benchmark.clone(),
        }
    }
}

/// The expanded pairs of a problem with values of the target.
#[derive(Clone, Debug)]
struct Table {
    pairs: Pairs,
    target: Target,
    /// By pair.
    choice: Vec<Action>,
    value: Vec<f64>,
    /// The probability that the target passes the pair.
    visits: Vec<f64>,
    /// Later steps first.
    order: Vec<Pair>,
}

impl Table {
    fn new(problem: Arc<Problem>, target: Target) -> Result<Table, OracleError> {
        let mut benchmark = Benchmark::new(problem)?;
        (benchmark.pairs_mut()).expand_all(Optimal::LIMIT, "the lower bound")?;
        let order = benchmark.pairs().backwards();
        let mut choice = vec![Action::Stop; order.len()];
        let mut value = vec![0.0; order.len()];
        match target {
            Target::Benchmark => {
                for &pair in &order {
                    choice[pair.index()] = benchmark.choice(pair)?;
                    value[pair.index()] = benchmark.value(pair)?;
                }
            }
            Target::Optimal => {
                let optimal = Optimal::new(benchmark.pairs_mut())?;
                for &pair in &order {
                    choice[pair.index()] = optimal.choice(pair);
                    value[pair.index()] = optimal.value(pair);
                }
            }
        }
        let pairs = benchmark.pairs().clone();
        let mut visits = vec![0.0; order.len()];
        for (start, p) in pairs.starts() {
            visits[start.index()] += p;
        }
        for &pair in order.iter().rev() {
            if let Action::Continue(a) = choice[pair.index()] {
                for (next, p, dropout) in pairs.follow_or_drop_out(pair, a) {
                    visits[next.index()] += visits[pair.index()] * p * (1.0 - dropout);
                }
            }
        }
        Ok(Table {
            pairs,
            target,
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

    fn value(&self, pair: Pair) -> f64 {
        self.value[pair.index()]
    }

    /// `V - Q`; 0 within rounding.
    fn loss(&self, pair: Pair, a: usize) -> f64 {
        if self.choice[pair.index()] == Action::Continue(a) {
            return 0.0;
        }
        let value = self.value(pair);
        let (after, size) = (self.pairs).action_value_with_size(pair, a, |next| self.value(next));
        match exceeds(value, after, size) || exceeds(after, value, size) {
            true => value - after,
            false => 0.0,
        }
    }

    fn observed(&self, pair: Pair, a: usize, least_cost: f64) -> Result<Observed, OracleError> {
        let pairs = &self.pairs;
        let mut observed = Observed {
            probability: Vec::new(),
            reward: Vec::new(),
            value: Vec::new(),
            cost: CostFamily::new(
                pairs.problem().model().cost_noise,
                pairs.cost(pair, a),
                least_cost,
            ),
            gap: None,
            loss: self.loss(pair, a),
        };
        let mut add = |next: Pair, probability: f64, dropout: f64| {
            let reward = pairs.reward(next);
            observed.probability.push(probability);
            observed.reward.push(reward);
            let value = dropout * reward + (1.0 - dropout) * self.value(next);
            observed.value.push(value);
        };
        for (next, p, dropout) in pairs.follow_or_drop_out(pair, a) {
            add(next, p, dropout);
        }
        // An alternative may give a probability to feedback that never comes in the model, where the model has what follows.
        let (t, x) = (pairs.step(pair), pairs.state(pair));
        let problem = pairs.problem();
        let mut probabilities = vec![0.0; problem.spec().feedbacks().len()];
        problem.feedback_distribution(t, x, a, &mut probabilities)?;
        for (f, _) in probabilities.iter().enumerate().filter(|(_, p)| **p == 0.0) {
            // What the problem does not define there is no alternative.
            let next = problem.spec().next(t, x, a, f).ok();
            let next = next.and_then(|next| pairs.find(t + 1, next));
            if let (Some(next), Ok(dropout)) = (next, problem.dropout_at(t, x, a, f)) {
                add(next, 0.0, dropout);
            }
        }
        if self.target == Target::Benchmark {
            let gains = pairs.allowed(pair).map(|a| pairs.gain(pair, a));
            let best = gains.fold(pairs.reward(pair), f64::max);
            observed.gap = Some((best - pairs.gain(pair, a)).max(0.0));
        }
        Ok(observed)
    }

    /// Whether the target is optimal if playing a certain action in this pair earns a little more than `surplus` over the
    /// target of the model there: no policy that passes the pair more often loses as little on the way as it gains by that.
    fn stays_optimal(&self, pair: Pair, surplus: f64) -> bool {
        if self.target == Target::Optimal {
            return true;
        }
        let last = self.pairs.step(pair);
        // The surplus gained less what is lost on the way, and the probability of passing the pair.
        let mut best = vec![(0.0, 0.0); self.value.len()];
        let mut own = best.clone();
        (best[pair.index()], own[pair.index()]) = ((surplus, 1.0), (surplus, 1.0));
        for &from in self
            .order
            .iter()
            .filter(|&&from| self.pairs.step(from) < last)
        {
            let ahead = |a: usize, of: &[(f64, f64)]| {
                let follow = self.pairs.follow_or_drop_out(from, a);
                follow.fold((0.0, 0.0), |(gained, passes), (next, p, dropout)| {
                    let share = p * (1.0 - dropout);
                    let (after, passed) = of[next.index()];
                    (gained + share * after, passes + share * passed)
                })
            };
            if let Action::Continue(a) = self.choice[from.index()] {
                own[from.index()] = ahead(a, &own);
            }
            best[from.index()] = own[from.index()];
            for a in self.pairs.allowed(from) {
                let (gained, passes) = ahead(a, &best);
                let other = (gained - self.loss(from, a), passes);
                if self.is_more(other, best[from.index()], surplus) {
                    best[from.index()] = other;
                }
            }
        }
        let better = |start: Pair| self.is_more(best[start.index()], own[start.index()], surplus);
        !self
            .pairs
            .starts()
            .any(|(start, p)| p > 0.0 && better(start))
    }

    /// Whether something gains more, or as much and passes more often.
    fn is_more(&self, one: (f64, f64), other: (f64, f64), surplus: f64) -> bool {
        let size = surplus.max(one.0.abs()).max(other.0.abs());
        exceeds(one.0, other.0, size) || !exceeds(other.0, one.0, size) && one.1 > other.1 + 1e-12
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Model, Noise};
    use crate::rng::{Role, Stream};
    use crate::spec::Spec;

    const SIZE: usize = 3;

    /// Feedback leads to the state of its number. The triplet of `change` has these probabilities and this cost instead.
    #[derive(Clone)]
    struct Random {
        feedback: Vec<[f64; SIZE]>,
        cost: Vec<f64>,
        reward: Vec<f64>,
    }

    fn row(t: usize, x: usize, a: usize) -> usize {
        ((t - 1) * SIZE + x) * 2 + a
    }

    impl Random {
        fn draw(stream: &mut Stream) -> Random {
            let rows = row(SIZE + 1, 0, 0);
            let mut distribution = || {
                let weights: [f64; SIZE] = std::array::from_fn(|_| 0.05 + stream.uniform());
                weights.map(|weight| weight / weights.iter().sum::<f64>())
            };
            let feedback = (0..rows).map(|_| distribution()).collect();
            Random {
                feedback,
                cost: (0..rows).map(|_| 0.3 * stream.uniform()).collect(),
                reward: (0..rows).map(|_| stream.uniform()).collect(),
            }
        }

        fn problem(&self) -> Arc<Problem> {
            let spec = Spec::numbered(SIZE, SIZE, 2, SIZE).unwrap();
            let spec = spec.transition(|_t, _x, _a, f| f as f64);
            let Random {
                feedback,
                cost,
                reward,
            } = self.clone();
            let model = Model::new(
                move |t, x, a, f| feedback[row(t, x, a)][f],
                move |t, x, _a, _f| reward[row(t, x, 0)],
            )
            .cost(move |t, x, a, _f| cost[row(t, x, a)])
            .noise(Noise::normal(0.1).unwrap(), Noise::normal(0.1).unwrap());
            Arc::new(Problem::new("random", spec, model))
        }
    }

    /// The lemma of docs/theory.md in models that are built: what the benchmark earns in an alternative, whether it is optimal
    /// there, and that it plays the action.
    #[test]
    fn alternatives_are_what_the_proof_says() {
        let mut stream = Stream::new(3, 0, Role::Learner);
        let (mut built, mut optimal_ones, mut others) = (0, 0, 0);
        while built < 150 {
            let random = Random::draw(&mut stream);
            let table = Table::new(random.problem(), Target::Benchmark).unwrap();
            let bound =
                LowerBound::new(random.problem(), Target::Benchmark, f64::NEG_INFINITY).unwrap();
            let start = Pair::default();
            let optimum = Optimal::new(&mut table.pairs.clone()).unwrap();
            let all_optimal = bound.better_than_benchmark().is_empty();
            assert_eq!(
                all_optimal,
                table
                    .order
                    .iter()
                    .all(|&pair| optimum.value(pair) - table.value(pair) < 1e-12),
            );
            if !all_optimal {
                assert_eq!((bound.constant(), bound.at(1000)), (None, None));
                continue;
            }
            for triplet in bound.triplets() {
                let (t, x) = (triplet.place.t, triplet.place.x);
                let a = triplet
                    .place
                    .a
                    .trim_start_matches(|c: char| !c.is_ascii_digit());
                let a: usize = a.parse().unwrap();
                let pair = table.pairs.find(t, x).unwrap();
                let observed = table.observed(pair, a, f64::NEG_INFINITY).unwrap();
                let surplus = triplet.loss * [0.1, 8.0][built % 2];
                let mut alternative = random.clone();
                let (feedback, reduction, rises) = observed.alternative(surplus).unwrap(); // costs may have any mean
                alternative.feedback[row(t, x, a)] = feedback.try_into().unwrap();
                alternative.cost[row(t, x, a)] -= reduction + 1e-9;
                let mut benchmark = Benchmark::new(alternative.problem()).unwrap();
                benchmark.pairs_mut().expand_all(1000, "this test").unwrap();
                let changed = benchmark.pairs().find(t, x).unwrap();
                assert_eq!(benchmark.choice(changed).unwrap(), Action::Continue(a));
                let value = benchmark.start_value().unwrap();
                assert!((value - table.value(start) - triplet.visits * rises).abs() < 1e-7);
                assert!(rises >= surplus - 1e-9);
                let best = Optimal::new(benchmark.pairs_mut()).unwrap();
                let is_optimal = best.start_value(benchmark.pairs()) < value + 1e-7;
                assert_eq!(table.stays_optimal(pair, rises), is_optimal);
                built += 1;
                optimal_ones += usize::from(is_optimal);
                others += usize::from(!is_optimal);
            }
        }
        assert!(optimal_ones > 20 && others > 5, "{optimal_ones} {others}");
    }

    /// A review's example: without an alternative that the benchmark would not play, its regret shows less.
    #[test]
    fn a_benchmark_that_ties_is_not_optimal_in_alternatives() {
        // Step 1: action 0 leads to state 1 or 2, action 1 to state 1. There stopping earns 1, and going on 1 at a cost.
        let spec = Spec::numbered(3, 3, 2, 2).unwrap();
        let spec = spec
            .transition(|t, _x, a, f| {
                if t == 1 && a == 0 {
                    1.0 + f as f64
                } else {
                    1.0
                }
            })
            .allowed(|t, _x, a, _f| f64::from(u8::from(t == 1 || a == 0)));
        let model = Model::new(
            |_t, _x, _a, _f| 0.5,
            |t, _x, _a, _f| if t == 1 { 0.0 } else { 1.0 },
        )
        .cost(|t, _x, _a, _f| if t == 1 { 0.0 } else { 0.5 })
        .noise(Noise::normal(0.1).unwrap(), Noise::None);
        let problem = Arc::new(Problem::new("tie", spec, model));
        let bound = LowerBound::new(problem, Target::Benchmark, f64::NEG_INFINITY).unwrap();
        let lower = bound.evaluate(1000);
        let second: Vec<_> = (lower.triplets.iter())
            .filter(|one| one.place.t == 2)
            .collect();
        assert_eq!(second.len(), 2);
        assert!(!second[0].benchmark_is_optimal && second[1].benchmark_is_optimal);
        assert!(lower.constant_of_optimal < lower.constant);
    }

    #[test]
    fn the_bound_grows_towards_the_constant() {
        let spec = Spec::numbered(2, 1, 1, 1).unwrap();
        let model = Model::new(|_t, _x, _a, _f| 1.0, |_t, _x, _a, _f| 0.0)
            .cost(|_t, _x, _a, _f| 0.3)
            .noise(Noise::normal(0.1).unwrap(), Noise::None);
        let problem = Arc::new(Problem::new("pay", spec, model));
        let bound = LowerBound::new(problem.clone(), Target::Benchmark, f64::NEG_INFINITY).unwrap();
        // 2 v / gap.
        let constant = bound.constant().unwrap();
        assert!((constant - 2.0 / 3.0).abs() < 1e-12);
        let at = |n: u64| bound.at(n).unwrap();
        assert!(at(10) < 3.0 && at(100) < at(10_000));
        let slope = (at(1 << 60) - at(1 << 50)) / (10.0 * std::f64::consts::LN_2);
        assert!((0.9 * constant..constant).contains(&slope), "{slope}");
        // An action whose cost cannot be reduced below 0.3 needs no exploration.
        let known = LowerBound::new(problem, Target::Benchmark, 0.3).unwrap();
        assert_eq!((known.constant(), known.at(1000)), (Some(0.0), Some(0.0)));
    }
}
