//! The benchmark and the optimal policy as a table.

use emab::Spec;
use emab::oracle::PolicyRow;

use crate::text_table::{fits, table};

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

    let row = |t: &usize| {
        let cells = states.iter().map(|&x| cell(*t, x));
        std::iter::once(t.to_string()).chain(cells).collect()
    };
    let by_step: Vec<Vec<String>> = steps.iter().map(row).collect();
    let by_step_header: Vec<String> = std::iter::once("step".to_owned())
        .chain(states.iter().map(state_name))
        .collect();

    let row = |x: &usize| {
        let cells = steps.iter().map(|&t| cell(t, *x));
        std::iter::once(state_name(x)).chain(cells).collect()
    };
    let by_state: Vec<Vec<String>> = states.iter().map(row).collect();
    let by_state_header: Vec<String> = std::iter::once("state \\ step".to_owned())
        .chain(steps.iter().map(usize::to_string))
        .collect();

    let row = |row: &PolicyRow| vec![row.t.to_string(), state_name(&row.x), choice(row)];
    let by_pair: Vec<Vec<String>> = rows.iter().map(row).collect();
    let by_pair_header = ["step", "state", "choice"].map(str::to_owned).to_vec();

    let layouts = [
        (by_step_header, by_step),
        (by_state_header, by_state),
        (by_pair_header, by_pair),
    ];
    let (header, cells) = layouts.iter().find(|(header, cells)| {
        let header: Vec<&str> = header.iter().map(String::as_str).collect();
        cells.len() <= MAX_LINES && fits(&header, cells, width)
    })?;
    let header: Vec<&str> = header.iter().map(String::as_str).collect();
    let title = if rows.iter().all(|row| row.benchmark == row.optimal) {
        "The benchmark's choice by step and state, optimal everywhere (· cannot be reached):"
    } else {
        "The benchmark's choice by step and state; after a bar the optimal policy's where it differs (· cannot be\nreached):"
    };
    Some(format!("{title}\n{}", table(&header, cells, width)))
}
