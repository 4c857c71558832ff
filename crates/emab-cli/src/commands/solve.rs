//! `emab solve`: the values of the benchmark, the optimal policy and fixed sequences.

use emab::learners::MAX_FIXED_OUTCOMES;
use emab::oracle::Solution;
use emab_report::{number, policy_table};
use serde::Serialize;

use crate::error::CommandError;
use crate::{load, terminal};

/// The document that `--json` prints.
#[derive(Serialize)]
struct Document<'a> {
    problem: &'a str,
    problem_hash: &'a str,
    #[serde(flatten)]
    solution: &'a Solution,
}

pub fn solve(name: &str, json: bool) -> Result<(), CommandError> {
    let file = load::problem(name)?;
    let problem = file.problem()?;
    load::note_conditions(&file);
    let spec = problem.spec().clone();
    let solution = Solution::of(problem, MAX_FIXED_OUTCOMES)
        .map_err(|error| CommandError::oracle(&file, error))?;
    if json {
        return terminal::print_json(&Document {
            problem: file.name(),
            problem_hash: file.hash(),
            solution: &solution,
        });
    }
    let (best, what) = match &solution.best_fixed {
        Some(fixed) => (number(fixed.value), shorten(&fixed.names(&spec))),
        None => ("?".into(), "too many sequences to compare".into()),
    };
    let table = [
        vec![
            "benchmark".into(),
            number(solution.benchmark_value),
            "best next step, by state".into(),
        ],
        vec![
            "optimal".into(),
            number(solution.optimal_value),
            "best of all policies".into(),
        ],
        vec!["best fixed".into(), best, what],
        vec![
            "best repeated".into(),
            number(solution.best_repeated.value),
            shorten(&solution.best_repeated.names(&spec)),
        ],
    ];
    let width = terminal::width();
    let mut text = emab_report::table(&[file.name(), "value", ""], &table, width);
    text += "\n\n";
    text += &policy_table(&spec, &solution.rows, width).unwrap_or_else(|| {
        format!(
            "The policies cover {} pairs, too many to show here; --json prints them.",
            solution.rows.len()
        )
    });
    terminal::print(&text)
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
