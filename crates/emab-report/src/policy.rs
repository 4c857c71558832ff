//! The benchmark and the optimal policy as a table.

use emab::Spec;
use emab::oracle::PolicyRow;

use crate::text_table::{fits, table, wrap};

/// Most lines of a table.
const MAX_LINES: usize = 60;

/// Both policies as a table by step and state, by state and step, or by pair, whichever fits first.
///
/// `rows` must be sorted. None if no layout fits.
pub fn policy_table(spec: &Spec, rows: &[PolicyRow], width: usize) -> Option<String> {
    let mut steps: Vec<usize> = rows.iter().map(|row| row.t).collect();
    steps.dedup();
    let mut states: Vec<usize> = rows.iter().map(|row| row.x).collect();
    states.sort_unstable();
    states.dedup();
    if rows.len() > MAX_LINES * MAX_LINES {
        return None;
    }
    let choice = |row: &PolicyRow| {
        let name = spec.action_name(row.benchmark);
        if row.benchmark == row.optimal {
            name.into_owned()
        } else {
            format!("{name} | {}", spec.action_name(row.optimal))
        }
    };
    let cell = |t: usize, x: usize| {
        let found = rows.binary_search_by_key(&(t, x), |row| (row.t, row.x));
        found.map_or("·".to_owned(), |i| choice(&rows[i]))
    };
    let state_name = |x: &usize| spec.states().name(*x).into_owned();

    let with = |first: String, others: &mut dyn Iterator<Item = String>| -> Vec<String> {
        [first].into_iter().chain(others).collect()
    };
    let of_step = |t: &usize| with(t.to_string(), &mut states.iter().map(|&x| cell(*t, x)));
    let of_state = |x: &usize| with(state_name(x), &mut steps.iter().map(|&t| cell(t, *x)));
    let of_pair = |row: &PolicyRow| vec![row.t.to_string(), state_name(&row.x), choice(row)];
    let layouts: [(Vec<String>, Vec<Vec<String>>); 3] = [
        (
            with("step".into(), &mut states.iter().map(state_name)),
            steps.iter().map(of_step).collect(),
        ),
        (
            with(
                "state \\ step".into(),
                &mut steps.iter().map(usize::to_string),
            ),
            states.iter().map(of_state).collect(),
        ),
        (
            ["step", "state", "choice"].map(str::to_owned).to_vec(),
            rows.iter().map(of_pair).collect(),
        ),
    ];
    let (header, cells) = layouts.iter().find_map(|(header, cells)| {
        let header: Vec<&str> = header.iter().map(String::as_str).collect();
        let fits = cells.len() <= MAX_LINES && fits(&header, cells, width);
        fits.then_some((header, cells))
    })?;
    let title = if rows.iter().all(|row| row.benchmark == row.optimal) {
        "The benchmark's choice by step and state, optimal everywhere (· cannot be reached):"
    } else {
        "The benchmark's choice by step and state; after a bar the optimal policy's where it differs (· cannot be reached):"
    };
    let title = wrap(title, width);
    Some(format!("{title}\n{}", table(&header, cells, width)))
}

/// The names of a sequence as text, a long run of one action as a count.
///
/// ```
/// let names = ["hill", "hill", "hill", "stop"].map(str::to_owned);
/// assert_eq!(emab_report::sequence_text(&names), "3 × hill, stop");
/// ```
pub fn sequence_text(names: &[String]) -> String {
    let runs = names.chunk_by(|a, b| a == b);
    let runs: Vec<String> = runs
        .map(|run| match run.len() {
            0..=2 => run.join(", "),
            count => format!("{count} × {}", run[0]),
        })
        .collect();
    runs.join(", ")
}
