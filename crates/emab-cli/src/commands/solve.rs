//! `emab solve`: the values of the benchmark, the optimal policy and fixed sequences.

use emab::learners::MAX_FIXED_OUTCOMES;
use emab::oracle::Solution;
use emab_problem::ProblemFile;
use emab_report::{number, policy_table, sequence_text};
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
    let solution = Solution::of(problem, MAX_FIXED_OUTCOMES).map_err(CommandError::of(&file))?;
    let document = Document {
        problem: file.name(),
        problem_hash: file.hash(),
        solution: &solution,
    };
    terminal::show(json, &document, || text(&file, &solution))
}

fn text(file: &ProblemFile, solution: &Solution) -> String {
    let spec = file.spec();
    let (best, what) = match &solution.best_fixed {
        Some(fixed) => (number(fixed.value), sequence_text(&fixed.names(spec))),
        None => ("?".into(), "too many sequences to compare".into()),
    };
    let (benchmark, optimal) = (solution.benchmark_value, solution.optimal_value);
    let repeated = &solution.best_repeated;
    let table = [
        (
            "benchmark",
            number(benchmark),
            "best next step, by state".into(),
        ),
        ("optimal", number(optimal), "best of all policies".into()),
        ("best fixed", best, what),
        (
            "best repeated",
            number(repeated.value),
            sequence_text(&repeated.names(spec)),
        ),
    ]
    .map(|(name, value, what)| vec![name.into(), value, what]);
    let width = terminal::width();
    let mut text = emab_report::table(&[file.name(), "value", ""], &table, width);
    text += "\n\n";
    text += &policy_table(spec, &solution.rows, width).unwrap_or_else(|| {
        format!(
            "The policies cover {} pairs, too many to show here; --json prints them.",
            solution.rows.len()
        )
    });
    text
}
