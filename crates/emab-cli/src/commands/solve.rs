//! `emab solve`: what could be earned if the truth were known.

use emab::learners::FIXED_WORK;
use emab::oracle::{Benchmark, FixedSequence, Optimal, Pair, best_fixed, best_repeated};
use emab::{Action, Spec};
use emab_report::{PolicyRow, number, policy_table};
use serde::{Serialize, Serializer};

use crate::failure::Failure;
use crate::{load, terminal};

pub fn solve(name: &str, json: bool) -> Result<(), Failure> {
    let file = load::problem(name)?;
    let problem = file.problem()?;
    load::note_conditions(&file);
    let spec = problem.spec().clone();
    let wrong = |error| Failure::oracle(&file, error);
    let mut benchmark = Benchmark::new(problem).map_err(wrong)?;
    let optimal = Optimal::new(benchmark.pairs_mut()).map_err(wrong)?;
    let start = benchmark.pairs().start();
    let value = benchmark.value(start).map_err(wrong)?;
    let fixed = best_fixed(benchmark.pairs(), &optimal, FIXED_WORK);
    let repeated = best_repeated(benchmark.pairs_mut()).map_err(wrong)?;
    let rows = policy(&mut benchmark, &optimal).map_err(wrong)?;
    if json {
        let policy = |choice| Policy {
            spec: &spec,
            rows: &rows,
            choice,
        };
        return terminal::print_json(&Solution {
            problem: file.name(),
            problem_hash: file.hash(),
            reachable_pairs: rows.len(),
            benchmark: Solved {
                value,
                policy: policy(|row| row.benchmark),
            },
            optimal: Solved {
                value: optimal.value(start),
                policy: policy(|row| row.optimal),
            },
            best_fixed: fixed.as_ref().map(|fixed| Sequence::new(&spec, fixed)),
            best_repeated: Sequence::new(&spec, &repeated),
        });
    }
    let (best, what) = match &fixed {
        Some(fixed) => (number(fixed.value), shorten(&fixed.names(&spec))),
        None => ("?".into(), "too many sequences to look at".into()),
    };
    let table = [
        vec![
            "benchmark".into(),
            number(value),
            "best next step, by state".into(),
        ],
        vec![
            "optimal".into(),
            number(optimal.value(start)),
            "best of all policies".into(),
        ],
        vec!["best fixed".into(), best, what],
        vec![
            "best repeated".into(),
            number(repeated.value),
            shorten(&repeated.names(&spec)),
        ],
    ];
    let width = terminal::width();
    let mut text = emab_report::table(&[file.name(), "value", ""], &table, width);
    text += "\n\n";
    text += &policy_table(&spec, &rows, width).unwrap_or_else(|| {
        format!(
            "The policies cover {} pairs, too many to show here; --json prints them.",
            rows.len()
        )
    });
    terminal::print(&text)
}

/// Both policies in all pairs, by step and then state.
fn policy(
    benchmark: &mut Benchmark,
    optimal: &Optimal,
) -> Result<Vec<PolicyRow>, emab::oracle::OracleError> {
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

/// `policy[t-1][x]`: a name, or null where the pair cannot be reached. Written as it is printed: most of a large state
/// space is null, and none of that is kept.
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
struct Solution<'a> {
    problem: &'a str,
    problem_hash: &'a str,
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

impl Sequence {
    fn new(spec: &Spec, fixed: &FixedSequence) -> Sequence {
        Sequence {
            value: fixed.value,
            sequence: fixed.names(spec),
        }
    }
}

/// A long run of one action as a count.
fn shorten(names: &[String]) -> String {
    let runs = names.chunk_by(|a, b| a == b);
    let runs: Vec<String> = runs
        .map(|run| {
            if run.len() > 2 {
                format!("{} × {}", run.len(), run[0])
            } else {
                run.join(", ")
            }
        })
        .collect();
    runs.join(", ")
}
