//! A problem as flat tables, for the fast loop.
//!
//! One offset finds everything: the row of a step-state pair. A row has three words for each continuation action and
//! three for `stop`; a learner with three words for each uses the same offsets.
//!
//! For a small problem all threads share [`Tables`] of all pairs. For a large one each thread has [`Growing`] tables: a
//! pair gets its row at its first visit, so memory depends on the pairs visited.

use emab::environment::RegretEstimator;
use emab::oracle::{Benchmark, OracleError, Pair};
use emab::{Action, Environment, Noise, RegretBreakdown};

/// Words of an action, here and in a player's table.
pub(crate) const WORDS: usize = 3;
/// The offset that stands for the action before the first step; it has words too. As the row after an action it means
/// that the row does not exist yet. Both offsets are constants because registers are few.
pub(crate) const NONE: usize = 0;
/// The row of the first start; those of the other starts follow it.
pub(crate) const START: usize = NONE + WORDS;

/// The tables of the pairs that have a row.
pub(crate) struct Tables {
    /// Continuation actions.
    pub(crate) actions: usize,
    /// Feedbacks.
    pub(crate) feedbacks: usize,
    /// Words in a row.
    pub(crate) row: usize,
    /// The offset after the last row.
    pub(crate) end: usize,
    /// The offset after the rows of the starts.
    pub(crate) starts_end: usize,
    /// By start: a uniform draw means the start whose bound is the first above it.
    starts: Vec<f64>,
    /// Whether rows are added during play.
    pub(crate) grows: bool,
    /// Whether the regret of a choice is known; otherwise the benchmark is played beside the learner.
    pub(crate) exact: bool,
    /// For a continuation action: its payment (the negated expected cost); then, with two feedbacks, the bound below which
    /// a uniform draw is feedback 0 and both next rows in one word, otherwise its start in `bounds` and `nexts`. For
    /// `stop`: the expected reward, step and state in one word, and the offset of the benchmark's choice.
    pub(crate) words: Vec<f64>,
    /// Unless there are two feedbacks: a draw means the feedback whose bound is the first above it.
    pub(crate) bounds: Vec<f64>,
    /// The row that feedback leads to.
    pub(crate) nexts: Vec<u32>,
    pub(crate) reward_noise: Noise,
    pub(crate) cost_noise: Noise,
    /// The regret of a choice, where known, by number of the action.
    loss: Vec<f64>,
    /// Whether an action is allowed, by number; `stop` always is.
    allowed: Vec<bool>,
    /// The pair of each row.
    pairs: Vec<Pair>,
    /// The row of each pair, or [`NONE`].
    rows: Vec<u32>,
}

impl Tables {
    /// The most actions of all pairs together: about 35 MiB here and 25 MiB for each learner. Enough for every problem of
    /// at most [`Environment::EXACT_PAIRS`] pairs where most actions are allowed.
    const MOST: usize = 1_200_000;

    /// The tables of all pairs of an environment's problem; none where regret is not exact, or where they would be too
    /// large.
    pub(crate) fn whole(environment: &mut Environment) -> Result<Option<Tables>, OracleError> {
        let exact = environment.estimator() == RegretEstimator::Exact;
        let oracle = environment.oracle();
        let mut tables = Tables::empty(oracle, exact, false);
        let all = oracle.pairs().len();
        if !exact || all.saturating_mul(tables.actions + 1) > Self::MOST {
            return Ok(None);
        }
        // Rows are assigned before they are filled, because actions refer to later rows.
        let row = tables.row;
        tables.rows = (0..all).map(|i| (START + i * row) as u32).collect();
        for pair in oracle.pairs().iter() {
            tables.add(oracle, pair)?;
        }
        Ok(Some(tables))
    }

    fn empty(oracle: &Benchmark, exact: bool, grows: bool) -> Tables {
        let problem = oracle.pairs().problem();
        let (spec, model) = (problem.spec(), problem.model());
        let actions = spec.actions().len();
        let row = WORDS * (actions + 1);
        let starts: Vec<f64> = oracle.pairs().start_bounds().collect();
        Tables {
            actions,
            feedbacks: spec.feedbacks().len(),
            row,
            end: START,
            // The starts are the first pairs, in this order, and so have the first rows.
            starts_end: START + starts.len() * row,
            starts,
            grows,
            exact,
            words: vec![0.0; START],
            bounds: Vec::new(),
            nexts: Vec::new(),
            reward_noise: model.reward_noise,
            cost_noise: model.cost_noise,
            loss: Vec::new(),
            allowed: Vec::new(),
            pairs: Vec::new(),
            rows: Vec::new(),
        }
    }

    /// Adds the row of a pair, at the end.
    fn add(&mut self, oracle: &mut Benchmark, pair: Pair) -> Result<(), OracleError> {
        let best = oracle.choice(pair)?;
        let row = self.end;
        self.end += self.row;
        self.words.resize(self.end, 0.0);
        self.pairs.push(pair);
        for a in 0..self.actions {
            let allowed = oracle.pairs().allows(pair, a);
            self.allowed.push(allowed);
            if allowed {
                self.add_action(oracle, pair, a, row + WORDS * a);
            }
            self.add_loss(oracle, pair, Action::Continue(a), allowed)?;
        }
        self.allowed.push(true);
        self.add_loss(oracle, pair, Action::Stop, true)?;
        let stop = row + WORDS * self.actions;
        let (t, x) = (oracle.pairs().step(pair), oracle.pairs().state(pair));
        self.words[stop] = oracle.pairs().reward(pair);
        self.words[stop + 1] = two_in_one(t as u32, x as u32);
        self.words[stop + 2] = f64::from_bits(self.offset(row, best) as u64);
        Ok(())
    }

    fn add_action(&mut self, oracle: &Benchmark, pair: Pair, a: usize, at: usize) {
        self.words[at] = -oracle.pairs().cost(pair, a);
        let rows = &self.rows;
        let row_of = |next: Pair| rows.get(next.index()).copied().unwrap_or(NONE as u32);
        // A feedback of probability 0 has an empty range of draws.
        let mut outcomes = oracle
            .pairs()
            .outcomes_of(pair, a)
            .map(|(bound, next)| (bound, next.map_or(START as u32, row_of)));
        if self.feedbacks == 2
            && let (Some((bound, zero)), Some((_, one))) = (outcomes.next(), outcomes.next())
        {
            self.words[at + 1] = bound;
            self.words[at + 2] = two_in_one(zero, one);
        } else {
            self.words[at + 1] = f64::from_bits(self.bounds.len() as u64);
            for (bound, next) in outcomes {
                self.bounds.push(bound);
                self.nexts.push(next);
            }
        }
    }

    fn add_loss(
        &mut self,
        oracle: &mut Benchmark,
        pair: Pair,
        action: Action,
        allowed: bool,
    ) -> Result<(), OracleError> {
        if self.exact {
            self.loss.push(match allowed {
                true => oracle.regret(pair, action)?,
                false => 0.0,
            });
        }
        Ok(())
    }

    /// The regret of the action at this offset; 0 where it is not known.
    pub(crate) fn loss(&self, at: usize) -> f64 {
        let loss = self.loss.get((at - START) / WORDS);
        loss.copied().unwrap_or(0.0)
    }

    /// With two feedbacks, the rows that they lead to after the action at this offset.
    pub(crate) fn two_next_rows(&self, at: usize) -> Option<[usize; 2]> {
        let (zero, one) = one_in_two(self.words[at + 2]);
        (self.feedbacks == 2).then_some([zero as usize, one as usize])
    }

    /// By start: a uniform draw means the start whose bound is the first above it.
    pub(crate) fn start_bounds(&self) -> &[f64] {
        &self.starts
    }

    fn offset(&self, row: usize, action: Action) -> usize {
        match action {
            Action::Continue(a) => row + WORDS * a,
            Action::Stop => row + WORDS * self.actions,
        }
    }

    /// Whether episodes begin in one of several rows.
    pub(crate) fn several_starts(&self) -> bool {
        self.starts.len() > 1
    }

    /// The row of an episode's start for the uniform draw `u`.
    #[inline]
    pub(crate) fn start(&self, u: f64) -> usize {
        let passed = self.starts.iter().map(|&bound| usize::from(bound <= u));
        START + passed.sum::<usize>() * self.row
    }

    /// The action at this offset of a row.
    pub(crate) fn action(&self, row: usize, at: usize) -> Action {
        match (at - row) / WORDS {
            a if a < self.actions => Action::Continue(a),
            _ => Action::Stop,
        }
    }

    /// The row of an offset.
    fn row_of(&self, at: usize) -> usize {
        at - (at - START) % self.row
    }

    fn pair(&self, row: usize) -> Pair {
        self.pairs[(row - START) / self.row]
    }

    /// The number of an action among those of all pairs, in the order of the pairs.
    pub(crate) fn entry(&self, at: usize) -> usize {
        let row = self.row_of(at);
        self.pair(row).index() * (self.actions + 1) + (at - row) / WORDS
    }

    /// Whether the action at this offset is allowed.
    pub(crate) fn allows_at(&self, at: usize) -> bool {
        self.allowed[(at - START) / WORDS]
    }

    /// Whether an action is allowed in a row.
    #[inline]
    pub(crate) fn allows(&self, row: usize, a: usize) -> bool {
        a < self.actions && self.allows_at(row + WORDS * a)
    }

    /// The step and the state of the row whose `stop` has this offset.
    #[inline]
    pub(crate) fn step_and_state(&self, stop: usize) -> (usize, usize) {
        let (t, x) = one_in_two(self.words[stop + 1]);
        (t as usize, x as usize)
    }

    /// The offset of the benchmark's choice in a row.
    pub(crate) fn best(&self, row: usize) -> usize {
        self.words[row + WORDS * self.actions + 2].to_bits() as usize
    }

    /// The row after the action at an offset for the uniform draw `u`; [`NONE`] if it does not exist yet.
    fn next(&self, at: usize, u: f64) -> usize {
        if self.feedbacks == 2 {
            let (zero, one) = one_in_two(self.words[at + 2]);
            return if self.words[at + 1] <= u { one } else { zero } as usize;
        }
        let first = self.words[at + 1].to_bits() as usize;
        let bounds = &self.bounds[first..first + self.feedbacks - 1];
        let f: usize = bounds.iter().map(|&bound| usize::from(bound <= u)).sum();
        self.nexts[first + f] as usize
    }

    /// The regret by cause, given how often each action was taken in the visited rows.
    ///
    /// `taken` gives the count of an action by its offset; for `stop`, the visits to the row.
    pub(crate) fn causes(&self, visited: &[u32], taken: impl Fn(usize) -> u64) -> RegretBreakdown {
        let mut causes = RegretBreakdown::default();
        for &row in visited {
            let row = row as usize;
            let best = self.action(row, self.best(row));
            let first = (row - START) / WORDS;
            let mut stopped = taken(row + WORDS * self.actions);
            for a in 0..self.actions {
                let count = taken(row + WORDS * a);
                stopped -= count;
                let loss = self.loss[first + a];
                causes.add(best, Action::Continue(a), count as f64 * loss);
            }
            let loss = self.loss[first + self.actions];
            causes.add(best, Action::Stop, stopped as f64 * loss);
        }
        causes
    }
}

/// Tables that add a row at the first visit of a pair.
pub(crate) struct Growing {
    pub(crate) tables: Tables,
    oracle: Benchmark,
}

impl Growing {
    /// Tables with the rows of the starts.
    pub(crate) fn new(environment: &Environment) -> Result<Growing, OracleError> {
        let oracle = environment.clone().into_oracle();
        let exact = environment.estimator() == RegretEstimator::Exact;
        let mut growing = Growing {
            tables: Tables::empty(&oracle, exact, true),
            oracle,
        };
        for start in environment.pairs().starts().map(|(start, _)| start) {
            growing.row(start)?;
        }
        Ok(growing)
    }

    /// The row of a pair, added if it does not exist.
    fn row(&mut self, pair: Pair) -> Result<usize, OracleError> {
        let tables = &mut self.tables;
        if let Some(&row) = tables.rows.get(pair.index())
            && row as usize != NONE
        {
            return Ok(row as usize);
        }
        let row = tables.end;
        if u32::try_from(row + tables.row).is_err() {
            return Err(OracleError::TooMany {
                limit: tables.pairs.len(),
                what: "this simulation",
            });
        }
        tables.add(&mut self.oracle, pair)?;
        let met = self.oracle.pairs().len();
        tables.rows.resize(met, NONE as u32);
        tables.rows[pair.index()] = row as u32;
        Ok(row)
    }

    /// The row after the action at an offset for the uniform draw `u`, added if it does not exist. None where the action
    /// is not allowed.
    pub(crate) fn next(&mut self, at: usize, u: f64) -> Result<Option<usize>, OracleError> {
        let row = self.tables.next(at, u);
        if row != NONE {
            return Ok(Some(row));
        }
        let a = (at - self.tables.row_of(at)) / WORDS;
        let pair = self.tables.pair(self.tables.row_of(at));
        let Some((f, next, _)) = self.oracle.pairs().draw(pair, a, u) else {
            return Ok(None);
        };
        let row = self.row(next)?;
        let tables = &mut self.tables;
        if tables.feedbacks == 2 {
            let mut both: [u32; 2] = one_in_two(tables.words[at + 2]).into();
            both[f] = row as u32;
            tables.words[at + 2] = two_in_one(both[0], both[1]);
        } else {
            let first = tables.words[at + 1].to_bits() as usize;
            tables.nexts[first + f] = row as u32;
        }
        Ok(Some(row))
    }
}

/// Two numbers in one word, in memory order.
fn two_in_one(zero: u32, one: u32) -> f64 {
    let ([a, b, c, d], [e, f, g, h]) = (zero.to_ne_bytes(), one.to_ne_bytes());
    f64::from_ne_bytes([a, b, c, d, e, f, g, h])
}

fn one_in_two(word: f64) -> (u32, u32) {
    let [a, b, c, d, e, f, g, h] = word.to_ne_bytes();
    (
        u32::from_ne_bytes([a, b, c, d]),
        u32::from_ne_bytes([e, f, g, h]),
    )
}
