//! The visited step-state pairs of a problem, with their rewards, costs and transition probabilities.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::ops::Range;
use std::sync::Arc;

use thiserror::Error;

use crate::model::Problem;
use crate::slots::FoldHasher;
use crate::spec::PointError;

/// A visited step-state pair: an index into [`Pairs`]. The default is the first start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Pair(pub(crate) u32);

impl Pair {
    /// Its number, from 0 in the order of first visits.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Why a problem cannot be solved.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum OracleError {
    /// A quantity of the problem is invalid at a reachable pair.
    #[error(transparent)]
    Point(Box<PointError>),
    /// Too many reachable pairs.
    #[error(
        "more than {limit} step-state pairs or {} outcomes (pair, action, feedback) can be reached, too many for \
         {what}; a coarser state, fewer actions or a shorter horizon helps", 10 * limit
    )]
    TooMany {
        /// The maximum number of pairs.
        limit: usize,
        /// What was to be computed.
        what: &'static str,
    },
}

impl From<PointError> for OracleError {
    fn from(error: PointError) -> OracleError {
        OracleError::Point(Box::new(error))
    }
}

/// Visited pairs: rewards, and for each allowed action its cost, feedback distribution and next pairs.
#[derive(Clone, Debug)]
pub struct Pairs {
    problem: Arc<Problem>,
    actions: usize,
    feedbacks: usize,
    /// The probability of a dropout after a step, if it is the same after each.
    dropout: Option<f64>,
    /// By start: the bound below which a uniform draw is this one or one before it, and its probability.
    starts: Vec<(f64, f64)>,
    index: HashMap<u64, u32, BuildHasherDefault<FoldHasher>>,
    /// By pair.
    known: Vec<VisitedPair>,
    rows: usize,
    /// By row and action: the edge, or FORBIDDEN.
    edge: Vec<u32>,
    /// By edge.
    cost: Vec<f64>,
    /// By edge and feedback.
    probability: Vec<f64>,
    up_to: Vec<f64>,
    next: Vec<u32>,
    /// By edge and feedback, where the probability of a dropout varies; otherwise empty.
    dropouts: Vec<f64>,
}

/// A visited pair.
#[derive(Clone, Copy, Debug)]
struct VisitedPair {
    t: u32,
    x: u32,
    /// The row of an expanded pair, or UNEXPANDED: pairs that are not expanded need no row of actions.
    row: u32,
    reward: f64,
}

const UNEXPANDED: u32 = u32::MAX;
const FORBIDDEN: u32 = u32::MAX;
/// Feedback of probability 0 has no next pair.
const NOWHERE: u32 = u32::MAX;

impl Pairs {
    /// The maximum number of pairs.
    pub const LIMIT: usize = 20_000_000;

    /// Begins with the start states at step 1.
    pub fn new(problem: Arc<Problem>) -> Result<Pairs, OracleError> {
        let spec = problem.spec().clone();
        let probabilities = problem.start_distribution()?;
        let starts = bounds(probabilities).zip(probabilities.iter().copied());
        let starts = starts.collect();
        let mut pairs = Pairs {
            actions: spec.actions().len(),
            feedbacks: spec.feedbacks().len(),
            dropout: problem.dropout().constant(),
            starts,
            problem,
            index: HashMap::default(),
            known: Vec::new(),
            rows: 0,
            edge: Vec::new(),
            cost: Vec::new(),
            probability: Vec::new(),
            up_to: Vec::new(),
            next: Vec::new(),
            dropouts: Vec::new(),
        };
        for &x in spec.starts() {
            pairs.find_or_add(1, x)?;
        }
        Ok(pairs)
    }

    /// The problem.
    pub fn problem(&self) -> &Arc<Problem> {
        &self.problem
    }

    /// The number of visited pairs.
    #[allow(clippy::len_without_is_empty)] // the starts are always there
    pub fn len(&self) -> usize {
        self.known.len()
    }

    /// All visited pairs, in the order of first visits.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = Pair> + use<> {
        (0..self.known.len() as u32).map(Pair)
    }

    /// Step 1 in each start state, with its probability: the first pairs.
    pub fn starts(&self) -> impl ExactSizeIterator<Item = (Pair, f64)> + '_ {
        let numbered = self.starts.iter().enumerate();
        numbered.map(|(i, &(_, p))| (Pair(i as u32), p))
    }

    /// The start when a uniform draw is `u`.
    #[inline]
    pub fn draw_start(&self, u: f64) -> Pair {
        let passed = self.starts.iter().map(|&(bound, _)| u32::from(bound <= u));
        Pair(passed.sum())
    }

    /// The bounds of [`Pairs::draw_start`], one for each start; the last one is infinite.
    pub fn start_bounds(&self) -> impl ExactSizeIterator<Item = f64> + '_ {
        self.starts.iter().map(|&(bound, _)| bound)
    }

    /// The expected value of an episode, given the value of each start.
    pub fn start_value(&self, value: impl Fn(Pair) -> f64) -> f64 {
        let values = self.starts().map(|(start, p)| p * value(start));
        // One start has its value to the bit, the sign of 0 included.
        values.reduce(|sum, value| sum + value).unwrap_or(0.0)
    }

    /// The pair `(t, x)`, if it was visited.
    pub fn find(&self, t: usize, x: usize) -> Option<Pair> {
        self.index.get(&self.key(t, x)).copied().map(Pair)
    }

    /// The pair `(t, x)`, added if it is new.
    pub fn find_or_add(&mut self, t: usize, x: usize) -> Result<Pair, OracleError> {
        let key = self.key(t, x);
        if let Some(&pair) = self.index.get(&key) {
            return Ok(Pair(pair));
        }
        if self.known.len() >= Self::LIMIT {
            return Err(OracleError::TooMany {
                limit: Self::LIMIT,
                what: "this simulation",
            });
        }
        let reward = self.problem.reward(t, x)?;
        let pair = self.known.len() as u32;
        self.index.insert(key, pair);
        self.known.push(VisitedPair {
            t: t as u32,
            x: x as u32,
            row: UNEXPANDED,
            reward,
        });
        Ok(Pair(pair))
    }

    fn key(&self, t: usize, x: usize) -> u64 {
        (t - 1) as u64 * self.problem.spec().states().len() as u64 + x as u64
    }

    /// The step of a pair.
    #[inline]
    pub fn step(&self, pair: Pair) -> usize {
        self.known[pair.index()].t as usize
    }

    /// The state of a pair.
    #[inline]
    pub fn state(&self, pair: Pair) -> usize {
        self.known[pair.index()].x as usize
    }

    /// `r_{t,x}`.
    #[inline]
    pub fn reward(&self, pair: Pair) -> f64 {
        self.known[pair.index()].reward
    }

    /// Computes costs, probabilities and next pairs of every allowed action in this pair.
    #[inline]
    pub fn expand(&mut self, pair: Pair) -> Result<(), OracleError> {
        if self.known[pair.index()].row != UNEXPANDED {
            Ok(())
        } else {
            self.expand_now(pair)
        }
    }

    #[cold]
    fn expand_now(&mut self, pair: Pair) -> Result<(), OracleError> {
        let problem = self.problem.clone();
        let spec = problem.spec();
        let (t, x) = (self.step(pair), self.state(pair));
        let mut probabilities = vec![0.0; self.feedbacks];
        let mut edges = Vec::with_capacity(self.actions);
        for a in 0..self.actions {
            if !spec.check_allowed(t, x, a)? {
                edges.push(FORBIDDEN);
                continue;
            }
            problem.feedback_distribution(t, x, a, &mut probabilities)?;
            let cost = problem.cost(t, x, a)?;
            let mut next = Vec::with_capacity(self.feedbacks);
            let mut dropouts = Vec::new();
            for (f, &p) in probabilities.iter().enumerate() {
                next.push(if p > 0.0 {
                    self.find_or_add(t + 1, spec.next(t, x, a, f)?)?.0
                } else {
                    NOWHERE
                });
                if self.dropout.is_none() {
                    dropouts.push(match p > 0.0 {
                        true => problem.dropout_at(t, x, a, f)?,
                        false => 0.0,
                    });
                }
            }
            edges.push(self.cost.len() as u32);
            self.cost.push(cost);
            self.probability.extend_from_slice(&probabilities);
            self.up_to.extend(bounds(&probabilities));
            self.next.extend(next);
            self.dropouts.extend(dropouts);
        }
        self.known[pair.index()].row = self.rows as u32;
        self.rows += 1;
        self.edge.extend(edges);
        Ok(())
    }

    /// The row of a pair, if it was expanded.
    #[inline]
    pub(crate) fn row(&self, pair: Pair) -> Option<usize> {
        let row = self.known[pair.index()].row;
        (row != UNEXPANDED).then_some(row as usize)
    }

    /// The number of expanded pairs.
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    #[inline]
    fn edge(&self, pair: Pair, a: usize) -> Option<usize> {
        let row = self.row(pair)?;
        if a >= self.actions {
            return None;
        }
        let edge = self.edge[row * self.actions + a];
        (edge != FORBIDDEN).then_some(edge as usize)
    }

    /// Whether an expanded pair allows action `a`.
    #[inline]
    pub fn allows(&self, pair: Pair, a: usize) -> bool {
        self.edge(pair, a).is_some()
    }

    /// The allowed actions of an expanded pair.
    pub fn allowed(&self, pair: Pair) -> impl Iterator<Item = usize> + '_ {
        (0..self.actions).filter(move |&a| self.edge(pair, a).is_some())
    }

    /// `c_{t,x,a}` of an allowed action of an expanded pair; 0 of any other.
    #[inline]
    pub fn cost(&self, pair: Pair, a: usize) -> f64 {
        self.edge(pair, a).map_or(0.0, |edge| self.cost[edge])
    }

    /// The pairs that can follow an allowed action of an expanded pair, with their probabilities, one per feedback.
    pub fn follow(&self, pair: Pair, a: usize) -> impl Iterator<Item = (Pair, f64)> + '_ {
        self.outcome_range(pair, a)
            .filter(|&i| self.next[i] != NOWHERE)
            .map(|i| (Pair(self.next[i]), self.probability[i]))
    }

    /// By feedback, of an allowed action of an expanded pair: the bound below which a uniform draw is this one or one
    /// before it, infinite for the last, and the pair it leads to, if it can come.
    pub fn outcomes_of(&self, pair: Pair, a: usize) -> impl Iterator<Item = (f64, Option<Pair>)> {
        self.outcome_range(pair, a).map(|i| {
            let next = self.next[i];
            (self.up_to[i], (next != NOWHERE).then_some(Pair(next)))
        })
    }

    /// The outcomes of an action, by feedback; none where it is not allowed.
    #[inline]
    fn outcome_range(&self, pair: Pair, a: usize) -> Range<usize> {
        self.edge(pair, a).map_or(0..0, |edge| {
            edge * self.feedbacks..(edge + 1) * self.feedbacks
        })
    }

    /// The feedback, the pair that follows and the expected cost, when a uniform draw is `u`; none where the action is
    /// not allowed.
    #[inline]
    pub fn draw(&self, pair: Pair, a: usize, u: f64) -> Option<(usize, Pair, f64)> {
        let edge = self.edge(pair, a)?;
        let first = edge * self.feedbacks;
        let bounds = &self.up_to[first..first + self.feedbacks];
        // Counting the bounds passed has no branch that a random number could mispredict.
        let f: usize = bounds.iter().map(|&bound| usize::from(bound <= u)).sum();
        Some((f, Pair(self.next[first + f]), self.cost[edge]))
    }

    /// The probability of a dropout after an outcome.
    #[inline]
    fn dropout_of(&self, outcome: usize) -> f64 {
        self.dropout.unwrap_or_else(|| self.dropouts[outcome])
    }

    /// The probability of a dropout after feedback `f` on an allowed action of an expanded pair; 0 of any other.
    #[inline]
    pub fn dropout(&self, pair: Pair, a: usize, f: usize) -> f64 {
        match self.dropout {
            Some(dropout) => dropout,
            None => self
                .outcome_range(pair, a)
                .nth(f)
                .map_or(0.0, |outcome| self.dropouts[outcome]),
        }
    }

    /// The same as [`Pairs::follow`], each with the probability that a dropout ends the episode there.
    pub fn follow_or_drop_out(
        &self,
        pair: Pair,
        a: usize,
    ) -> impl Iterator<Item = (Pair, f64, f64)> + '_ {
        self.outcome_range(pair, a)
            .filter(|&i| self.next[i] != NOWHERE)
            .map(|i| (Pair(self.next[i]), self.probability[i], self.dropout_of(i)))
    }

    /// `sum_f P(f) * value(next)` less the cost of `a`.
    #[inline]
    pub fn expected_value(&self, pair: Pair, a: usize, value: impl Fn(Pair) -> f64) -> f64 {
        let mut sum = 0.0;
        for (next, p) in self.follow(pair, a) {
            sum += p * value(next);
        }
        sum - self.cost(pair, a)
    }

    /// The same, and the size of its terms, which bounds the rounding error.
    pub(crate) fn expected_value_with_size(
        &self,
        pair: Pair,
        a: usize,
        value: impl Fn(Pair) -> f64,
    ) -> (f64, f64) {
        let sizes = self.follow(pair, a).map(|(next, p)| p * value(next).abs());
        let size = sizes.sum::<f64>() + self.cost(pair, a).abs();
        (self.expected_value(pair, a, value), size)
    }

    /// The value of `a`, given the value of continuing from each pair: [`Pairs::expected_value`], except that a dropout
    /// earns the terminal reward of the pair that it leads to.
    #[inline]
    pub fn action_value(&self, pair: Pair, a: usize, value: impl Fn(Pair) -> f64) -> f64 {
        let mut sum = 0.0;
        for (next, p, dropout) in self.follow_or_drop_out(pair, a) {
            sum += p * self.arrival_value(next, dropout, value(next));
        }
        sum - self.cost(pair, a)
    }

    /// The same, and the size of its terms, which bounds the rounding error.
    pub(crate) fn action_value_with_size(
        &self,
        pair: Pair,
        a: usize,
        value: impl Fn(Pair) -> f64,
    ) -> (f64, f64) {
        let sizes = self
            .follow_or_drop_out(pair, a)
            .map(|(next, p, dropout)| p * self.arrival_value(next, dropout, value(next)).abs());
        let size = sizes.sum::<f64>() + self.cost(pair, a).abs();
        (self.action_value(pair, a, value), size)
    }

    /// The value on arrival in a pair with this probability of a dropout, given the value of continuing from it.
    #[inline]
    fn arrival_value(&self, pair: Pair, dropout: f64, value: f64) -> f64 {
        if dropout == 0.0 {
            return value;
        }
        dropout * self.reward(pair) + (1.0 - dropout) * value
    }

    /// The ex-ante terminal reward `y_{t,x,a}` of an allowed action of an expanded pair.
    pub fn ex_ante(&self, pair: Pair, a: usize) -> f64 {
        self.gain(pair, a) + self.cost(pair, a)
    }

    /// The gain `g_{t,x,a} = y_{t,x,a} - c_{t,x,a}` of an allowed action of an expanded pair.
    pub fn gain(&self, pair: Pair, a: usize) -> f64 {
        self.expected_value(pair, a, |next| self.reward(next))
    }

    /// The number of stored outcomes (pair, action, feedback).
    pub(crate) fn outcomes(&self) -> usize {
        self.next.len()
    }

    /// Expands every pair that can be reached from the visited ones. Fails above `limit` pairs or ten times as many
    /// outcomes.
    pub fn expand_all(&mut self, limit: usize, what: &'static str) -> Result<(), OracleError> {
        let mut i = 0;
        while i < self.known.len() {
            if i >= limit || self.outcomes() + self.actions * self.feedbacks > 10 * limit {
                return Err(OracleError::TooMany { limit, what });
            }
            self.expand(Pair(i as u32))?;
            i += 1;
        }
        Ok(())
    }

    /// The pairs, later steps first: the order of backward induction.
    pub fn backwards(&self) -> Vec<Pair> {
        let mut order: Vec<Pair> = self.iter().collect();
        order.sort_by_key(|&pair| (std::cmp::Reverse(self.step(pair)), pair));
        order
    }
}

/// The bounds of a distribution: a draw selects the first entry with a bound above it. An entry of probability 0 repeats the
/// previous bound; the last possible one covers the rest up to 1.
fn bounds(probabilities: &[f64]) -> impl Iterator<Item = f64> + '_ {
    let last = probabilities.iter().rposition(|&p| p > 0.0).unwrap_or(0);
    let mut up_to = 0.0;
    probabilities.iter().enumerate().map(move |(i, p)| {
        up_to += p;
        if i < last { up_to } else { f64::INFINITY }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Model;
    use crate::spec::Spec;

    #[test]
    fn unexpanded_pairs_have_no_row_of_actions() {
        let spec = Spec::numbered(3, 100_000, 1000, 10)
            .unwrap()
            .transition(|_t, x, a, f| ((10 * a + f + x) % 100_000) as f64);
        let model = Model::new(|_t, _x, _a, _f| 0.1, |_t, x, _a, _f| x as f64);
        let mut pairs = Pairs::new(Arc::new(Problem::new("wide", spec, model))).unwrap();
        pairs.expand(Pair::default()).unwrap();
        assert_eq!(pairs.len(), 1 + 10_000);
        assert_eq!((pairs.edge.len(), pairs.outcomes()), (1000, 10_000));
        // One more pair has ten thousand more outcomes: within the limit of pairs, above that of outcomes.
        let error = pairs.expand_all(1500, "this test").unwrap_err();
        assert!(
            error
                .to_string()
                .contains("1500 step-state pairs or 15000 outcomes"),
            "{error}"
        );
        assert_eq!(pairs.rows(), 1);
    }
}
