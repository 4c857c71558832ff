//! A solved problem as flat tables, for the loop that has no time to ask.
//!
//! Everything is found by one offset: the row of a step-state pair. A row has three words for each continuation
//! action and three for `stop`, and a learner that keeps three words for each of them finds its own at the same
//! offset. Rows stand in the order of the pairs.

use emab::oracle::OracleError;
use emab::{Action, Causes, Environment, Estimator, Noise};

/// Words of an action, here and in a learner's own table.
pub(crate) const WORDS: usize = 3;
/// The offset of what was taken before the first step: no action, but with words of its own. Constants, both of
/// them, because registers are few.
pub(crate) const NONE: usize = 0;
/// The row of the first step.
pub(crate) const START: usize = NONE + WORDS;

/// The number of an action, from that of the first row's first action on.
pub(crate) fn cell(at: usize) -> usize {
    (at - START) / WORDS
}

/// The tables of a problem whose regret is exact.
pub(crate) struct Tables {
    /// Continuation actions.
    pub(crate) actions: usize,
    /// Feedbacks.
    pub(crate) feedbacks: usize,
    /// Words in a row.
    pub(crate) row: usize,
    /// The offset behind the last row.
    pub(crate) end: usize,
    /// Of a continuation action: what it is paid, its expected cost with the other sign; then, with two feedbacks, the bound below which a uniform draw
    /// is feedback 0 and both next rows in one word, else where in `bounds` and `nexts` it begins. Of `stop`: the
    /// expected reward, and step and state in one word.
    pub(crate) words: Vec<f64>,
    /// With other than two feedbacks: a draw is the feedback whose bound is the first above it.
    pub(crate) bounds: Vec<f64>,
    /// And this is the row it leads to.
    pub(crate) nexts: Vec<u32>,
    pub(crate) reward_noise: Noise,
    pub(crate) cost_noise: Noise,
    /// What a choice loses and under which cause it is booked, by number of the action.
    loss: Vec<(f64, Action)>,
    /// The benchmark's choice, by pair.
    best: Vec<Action>,
    /// Whether an action may be taken, by its offset; `stop` always.
    pub(crate) allowed: Vec<bool>,
}

impl Tables {
    /// The most actions of all pairs together: 24 MiB here and as much for each learner.
    const MOST: usize = 1 << 20;

    /// The tables of an environment's problem; none where regret is not exact, or where they would be too large.
    pub(crate) fn new(environment: &mut Environment) -> Result<Option<Tables>, OracleError> {
        let spec = environment.pairs().problem().spec().clone();
        let (actions, feedbacks) = (spec.actions().len(), spec.feedbacks().len());
        let pairs: Vec<_> = environment.pairs().iter().collect();
        let cells = pairs.len().saturating_mul(actions + 1);
        if environment.estimator() != Estimator::Exact || cells > Self::MOST {
            return Ok(None);
        }
        let row = WORDS * (actions + 1);
        let model = environment.pairs().problem().model();
        let mut tables = Tables {
            actions,
            feedbacks,
            row,
            end: START + pairs.len() * row,
            words: vec![0.0; START + pairs.len() * row],
            bounds: Vec::new(),
            nexts: Vec::new(),
            reward_noise: model.reward_noise,
            cost_noise: model.cost_noise,
            loss: Vec::with_capacity(cells),
            best: Vec::with_capacity(pairs.len()),
            allowed: vec![false; START + pairs.len() * row],
        };
        for pair in pairs {
            let first = START + pair.index() * row;
            for a in 0..actions {
                let allowed = environment.pairs().allows(pair, a);
                tables.allowed[first + WORDS * a] = allowed;
                let loss = if allowed {
                    tables.add_action(environment, pair, a, first + WORDS * a);
                    environment.oracle().regret(pair, Action::Continue(a))?
                } else {
                    0.0
                };
                tables.loss.push((loss, Action::Continue(a)));
            }
            let stop = first + WORDS * actions;
            let (t, x) = (
                environment.pairs().step(pair),
                environment.pairs().state(pair),
            );
            tables.words[stop] = environment.pairs().reward(pair);
            tables.words[stop + 1] = two_in_one(t as u32, x as u32);
            tables.allowed[stop] = true;
            let loss = environment.oracle().regret(pair, Action::Stop)?;
            tables.loss.push((loss, Action::Stop));
            tables.best.push(environment.oracle().choice(pair)?);
        }
        Ok(Some(tables))
    }

    fn add_action(
        &mut self,
        environment: &Environment,
        pair: emab::oracle::Pair,
        a: usize,
        at: usize,
    ) {
        let pairs = environment.pairs();
        self.words[at] = -pairs.cost(pair, a);
        let outcomes: Vec<(f64, u32)> = pairs
            .outcomes_of(pair, a)
            .map(|(bound, next)| {
                (
                    bound,
                    next.map_or(START, |next| START + next.index() * self.row) as u32,
                )
            })
            .collect();
        if let [(bound, zero), (_, one)] = outcomes[..] {
            self.words[at + 1] = bound;
            self.words[at + 2] = two_in_one(zero, one);
        } else {
            self.words[at + 1] = f64::from_bits(self.bounds.len() as u64);
            self.bounds.extend(outcomes.iter().map(|(bound, _)| bound));
            self.nexts.extend(outcomes.iter().map(|(_, next)| next));
        }
    }

    /// Whether an action may be taken in a row.
    #[inline]
    pub(crate) fn allows(&self, row: usize, a: usize) -> bool {
        a < self.actions && self.allowed[row + WORDS * a]
    }

    /// The step and the state of the row whose `stop` has this offset.
    #[inline]
    pub(crate) fn place(&self, stop: usize) -> (usize, usize) {
        let [a, b, c, d, e, f, g, h] = self.words[stop + 1].to_ne_bytes();
        let (t, x) = ([a, b, c, d], [e, f, g, h]);
        (
            u32::from_ne_bytes(t) as usize,
            u32::from_ne_bytes(x) as usize,
        )
    }

    /// What was lost, and why, if each action was taken so often in the rows that were visited.
    ///
    /// `taken` is asked for the offset of an action; of `stop`, for the visits to the row.
    pub(crate) fn causes(&self, visited: &[u32], taken: impl Fn(usize) -> u64) -> Causes {
        let mut causes = Causes::default();
        for &row in visited {
            let first = row as usize;
            let cell = cell(first);
            let best = self.best[(first - START) / self.row];
            let mut stopped = taken(first + WORDS * self.actions);
            for a in 0..self.actions {
                let count = taken(first + WORDS * a);
                stopped -= count;
                let (loss, action) = self.loss[cell + a];
                causes.add(best, action, count as f64 * loss);
            }
            let (loss, action) = self.loss[cell + self.actions];
            causes.add(best, action, stopped as f64 * loss);
        }
        causes
    }
}

/// Two rows in one word, in the order in which they stand in memory.
fn two_in_one(zero: u32, one: u32) -> f64 {
    let (zero, one) = (zero.to_ne_bytes(), one.to_ne_bytes());
    let [a, b, c, d] = zero;
    let [e, f, g, h] = one;
    f64::from_ne_bytes([a, b, c, d, e, f, g, h])
}
