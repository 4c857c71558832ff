//! Stuck runs: at a pair that the benchmark visits, the learner no longer chooses anything as good as the benchmark's action.
//!
//! A run is stuck if, in its last half, such a pair is visited at least [`VISITS`] times and every choice there costs something.

use emab::environment::RegretEstimator;
use emab::oracle::{OracleError, Pair};
use emab::{Action, ConditionedEnvironment, Environment};

use crate::engine::tables::{Tables, WORDS};

/// The visits from which a pair tells whether a run is stuck.
const VISITS: u64 = 100;

/// Losses up to this size are rounding.
const TIE: f64 = 1e-12;

/// The last episode of the first half of a run; none where a pair cannot be visited often enough in the second half.
pub(crate) fn half(episodes: u64) -> Option<u64> {
    let half = episodes / 2;
    (half > 0 && episodes - half >= VISITS).then_some(half)
}

/// Whether stuck runs can be told: the cost of each choice is known and the same in all episodes.
pub(crate) fn is_known(environment: &ConditionedEnvironment) -> bool {
    let exact = environment.environment().estimator() == RegretEstimator::Exact;
    exact && environment.phases() == 1
}

/// The pairs that the benchmark visits, and the actions there that are as good as its own.
pub(crate) struct BenchmarkPairs {
    columns: usize,
    /// By pair and action, `stop` last; false at pairs that the benchmark does not visit.
    good: Vec<bool>,
    /// By pair.
    visited: Vec<bool>,
}

/// Visits to a pair, and the choices there that were as good as the benchmark's.
#[derive(Clone, Copy, Default)]
pub(crate) struct PairCounts {
    visits: u64,
    good: u64,
}

impl PairCounts {
    fn is_stuck(self) -> bool {
        self.visits >= VISITS && self.good == 0
    }
}

impl BenchmarkPairs {
    /// Follows the benchmark from every start.
    pub(crate) fn new(environment: &mut Environment) -> Result<BenchmarkPairs, OracleError> {
        let oracle = environment.oracle();
        let actions = oracle.pairs().problem().spec().actions().len();
        let columns = actions + 1;
        let pairs = oracle.pairs().len();
        let mut found = BenchmarkPairs {
            columns,
            good: vec![false; pairs * columns],
            visited: vec![false; pairs],
        };
        let starts = oracle.pairs().starts();
        let mut open: Vec<Pair> = starts
            .filter(|(_, p)| *p > 0.0)
            .map(|(start, _)| start)
            .collect();
        while let Some(pair) = open.pop() {
            if std::mem::replace(&mut found.visited[pair.index()], true) {
                continue;
            }
            let best = oracle.choice(pair)?;
            for column in 0..columns {
                let action = match column < actions {
                    true => Action::Continue(column),
                    false => Action::Stop,
                };
                let allowed = column == actions || oracle.pairs().allows(pair, column);
                let good = allowed && oracle.regret(pair, action)? <= TIE;
                found.good[pair.index() * columns + column] = good;
            }
            if let Action::Continue(a) = best {
                let next = oracle.pairs().follow(pair, a);
                open.extend(next.filter(|(_, p)| *p > 0.0).map(|(next, _)| next));
            }
        }
        Ok(found)
    }

    /// Which choices in a row are as good as the benchmark's, `stop` last; none if the benchmark does not visit it.
    pub(crate) fn good_choices(&self, tables: &Tables, row: usize) -> Option<&[bool]> {
        let first = tables.entry(row);
        let visited = self.visited[first / self.columns];
        visited.then(|| &self.good[first..first + self.columns])
    }

    /// The counts of the visited rows of a run so far, by pair. `taken` gives the count of an action by its offset; for `stop`, the
    /// visits to the row.
    fn counts(
        &self,
        tables: &Tables,
        visited: &[u32],
        taken: impl Fn(usize) -> u64,
        mut each: impl FnMut(usize, PairCounts),
    ) {
        for &row in visited {
            let row = row as usize;
            let first = tables.entry(row);
            let pair = first / self.columns;
            if !self.visited[pair] {
                continue;
            }
            let stop = self.columns - 1;
            let visits = taken(row + WORDS * stop);
            let (mut stopped, mut good) = (visits, 0);
            for a in 0..stop {
                let count = taken(row + WORDS * a);
                stopped -= count;
                good += if self.good[first + a] { count } else { 0 };
            }
            good += if self.good[first + stop] { stopped } else { 0 };
            each(pair, PairCounts { visits, good });
        }
    }
}

/// Tells at the end of a run of the fast loop whether it is stuck, from its counts at half and full length.
#[derive(Default)]
pub(crate) struct HalfCounts {
    /// By pair.
    half: Vec<PairCounts>,
}

impl HalfCounts {
    /// Keeps the counts of the first half.
    pub(crate) fn keep(
        &mut self,
        pairs: &BenchmarkPairs,
        tables: &Tables,
        visited: &[u32],
        taken: impl Fn(usize) -> u64,
    ) {
        self.half.clear();
        self.half.resize(pairs.visited.len(), PairCounts::default());
        pairs.counts(tables, visited, taken, |pair, counts| {
            self.half[pair] = counts
        });
    }

    /// Whether the run is stuck.
    pub(crate) fn is_stuck(
        &self,
        pairs: &BenchmarkPairs,
        tables: &Tables,
        visited: &[u32],
        taken: impl Fn(usize) -> u64,
    ) -> bool {
        let mut stuck = false;
        pairs.counts(tables, visited, taken, |pair, counts| {
            let before = self.half.get(pair).copied().unwrap_or_default();
            let late = PairCounts {
                visits: counts.visits - before.visits,
                good: counts.good - before.good,
            };
            stuck |= late.is_stuck();
        });
        stuck
    }
}

/// Counts the choices of the last half of a run in the reference loop.
pub(crate) struct LateCounts<'a> {
    pairs: &'a BenchmarkPairs,
    /// By pair.
    late: Vec<PairCounts>,
}

impl<'a> LateCounts<'a> {
    pub(crate) fn new(pairs: &'a BenchmarkPairs) -> LateCounts<'a> {
        LateCounts {
            pairs,
            late: vec![PairCounts::default(); pairs.visited.len()],
        }
    }

    /// Adds the recommendations of the last episode.
    pub(crate) fn episode(&mut self, environment: &Environment) {
        for (pair, advised) in environment.path().iter().zip(environment.recommendations()) {
            let column = match *advised {
                Action::Continue(a) => a,
                Action::Stop => self.pairs.columns - 1,
            };
            if self.pairs.visited[pair.index()] {
                let counts = &mut self.late[pair.index()];
                counts.visits += 1;
                counts.good +=
                    u64::from(self.pairs.good[pair.index() * self.pairs.columns + column]);
            }
        }
    }

    /// Whether the run is stuck; starts the next one.
    pub(crate) fn end_run(&mut self) -> bool {
        let stuck = self.late.iter().any(|counts| counts.is_stuck());
        self.late.fill(PairCounts::default());
        stuck
    }
}
