//! The results of `emab solve`: policies, values, the best fixed sequence.

use std::sync::Arc;

use serde::{Serialize, Serializer};

use super::{Benchmark, FixedSequence, Optimal, OracleError, Pair, best_fixed, best_repeated};
use crate::model::Problem;
use crate::spec::{Action, Spec};

/// The choices of the benchmark and of the optimal policy in one step-state pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PolicyRow {
    /// The step.
    pub t: usize,
    /// The state.
    pub x: usize,
    /// The benchmark's choice.
    pub benchmark: Action,
    /// The optimal policy's choice.
    pub optimal: Action,
}

/// A solved problem.
///
/// ```
/// use std::sync::Arc;
/// use emab::{Model, Problem, Spec, oracle::Solution};
/// let spec = Spec::numbered(3, 1, 1, 1).unwrap();
/// let model = Model::new(|_t, _x, _a, _f| 1.0, |t, _x, _a, _f| t as f64);
/// let solution = Solution::of(Arc::new(Problem::new("wait", spec, model)), 1000).unwrap();
/// assert_eq!((solution.benchmark_value, solution.optimal_value), (3.0, 3.0));
/// ```
#[derive(Clone, Debug)]
pub struct Solution {
    spec: Arc<Spec>,
    /// The value of the benchmark.
    pub benchmark_value: f64,
    /// The value of the optimal policy.
    pub optimal_value: f64,
    /// Both policies in all reachable pairs, by step and then state.
    pub rows: Vec<PolicyRow>,
    /// The best fixed sequence; none where the search exceeds its limit.
    pub best_fixed: Option<FixedSequence>,
    /// The best sequence that repeats one action.
    pub best_repeated: FixedSequence,
}

impl Solution {
    /// Solves a problem; `work` bounds the search for the best fixed sequence.
    pub fn of(problem: Arc<Problem>, work: usize) -> Result<Solution, OracleError> {
        let spec = problem.spec().clone();
        let mut benchmark = Benchmark::new(problem)?;
        let optimal = Optimal::new(benchmark.pairs_mut())?;
        Ok(Solution {
            spec,
            benchmark_value: benchmark.start_value()?,
            optimal_value: optimal.start_value(benchmark.pairs()),
            best_fixed: best_fixed(benchmark.pairs(), &optimal, work),
            best_repeated: best_repeated(benchmark.pairs_mut())?,
            rows: policy(&mut benchmark, &optimal)?,
        })
    }
}

impl Serialize for Solution {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let policy = |choice| Policy {
            spec: &self.spec,
            rows: &self.rows,
            choice,
        };
        let sequence = |fixed: &FixedSequence| Sequence {
            value: fixed.value,
            sequence: fixed.names(&self.spec),
        };
        Document {
            reachable_pairs: self.rows.len(),
            benchmark: Solved {
                value: self.benchmark_value,
                policy: policy(|row| row.benchmark),
            },
            optimal: Solved {
                value: self.optimal_value,
                policy: policy(|row| row.optimal),
            },
            best_fixed: self.best_fixed.as_ref().map(sequence),
            best_repeated: sequence(&self.best_repeated),
        }
        .serialize(serializer)
    }
}

/// Both policies in all pairs, by step and then state.
fn policy(benchmark: &mut Benchmark, optimal: &Optimal) -> Result<Vec<PolicyRow>, OracleError> {
    let all: Vec<Pair> = benchmark.pairs().iter().collect();
    let mut rows = Vec::with_capacity(all.len());
    for pair in all {
        rows.push(PolicyRow {
            t: benchmark.pairs().step(pair),
            x: benchmark.pairs().state(pair),
            benchmark: benchmark.choice(pair)?,
            optimal: optimal.choice(pair),
        });
    }
    rows.sort_unstable();
    Ok(rows)
}

/// `policy[t-1][x]`: a name, or null where the pair is unreachable. Serialised as a stream, because most of a large state
/// space is null.
struct Policy<'a> {
    spec: &'a Spec,
    rows: &'a [PolicyRow],
    choice: fn(&PolicyRow) -> Action,
}

impl Serialize for Policy<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut steps = self.rows.chunk_by(|a, b| a.t == b.t).peekable();
        serializer.collect_seq((1..=self.spec.horizon()).map(|t| PolicyStep {
            policy: self,
            rows: steps.next_if(|rows| rows[0].t == t).unwrap_or_default(),
        }))
    }
}

/// One step of a policy.
struct PolicyStep<'a> {
    policy: &'a Policy<'a>,
    rows: &'a [PolicyRow],
}

impl Serialize for PolicyStep<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut rows = self.rows.iter().peekable();
        serializer.collect_seq((0..self.policy.spec.states().len()).map(|x| {
            let row = rows.next_if(|row| row.x == x)?;
            Some(self.policy.spec.action_name((self.policy.choice)(row)))
        }))
    }
}

#[derive(Serialize)]
struct Document<'a> {
    reachable_pairs: usize,
    benchmark: Solved<'a>,
    optimal: Solved<'a>,
    best_fixed: Option<Sequence>,
    best_repeated: Sequence,
}

#[derive(Serialize)]
struct Solved<'a> {
    value: f64,
    policy: Policy<'a>,
}

#[derive(Serialize)]
struct Sequence {
    value: f64,
    sequence: Vec<String>,
}
