//! A solved Markov decision process as JSON, as NumPy arrays and as a table.

mod arrays;
mod document;

use emab::oracle::SolvedMdp;
use serde::Serialize;

pub use self::arrays::{TooLarge, mdp_npz};
use self::document::MdpDocument;
use crate::text_table::{number, table};

/// The JSON document; name and hash are those of the problem file.
///
/// ```
/// use std::sync::Arc;
/// use emab::oracle::SolvedMdp;
/// use emab::{Model, Names, Problem, Spec};
/// use emab_report::{mdp_document, mdp_npz};
/// // 0.5 now, nothing at step 2, 1 at step 3: the benchmark stops at once, the optimal policy does not.
/// let spec = Spec::new(3, Names::Count(1, ""), Names::Count(1, "a"), Names::Count(1, "")).unwrap();
/// let model = Model::new(|_t, _x, _a, _f| 1.0, |t, _x, _a, _f| [0.5, 0.0, 1.0][t - 1]);
/// let solved = SolvedMdp::new(Arc::new(Problem::new("patience", spec, model))).unwrap();
/// let json = serde_json::to_value(mdp_document(&solved, "patience", "")).unwrap();
/// assert_eq!(json["optimal"]["value"], 1.0);
/// assert_eq!(json["benchmark"]["value"], 0.5);
/// assert_eq!(json["transitions"][0], serde_json::json!([0, 0, 1, 1.0]));
/// assert!(mdp_npz(&solved).unwrap().starts_with(b"PK"));
/// ```
pub fn mdp_document<'a>(
    solved: &'a SolvedMdp,
    problem: &'a str,
    hash: &'a str,
) -> impl Serialize + 'a {
    MdpDocument::new(solved, problem, hash)
}

/// Size and value of a Markov decision process by each solution method.
pub fn mdp_table(solved: &SolvedMdp, problem: &str, width: usize) -> String {
    let mdp = &solved.mdp;
    let start = mdp.start();
    let count = |n: usize| number(n as f64);
    let found = |found: Option<(f64, usize)>, what: &str| match found {
        Some((value, 1)) => (number(value), format!("1 {what}")),
        Some((value, n)) => (number(value), format!("{} {what}s", count(n))),
        None => ("?".into(), "too many transitions to look at".into()),
    };
    let value_iteration = solved.value_iteration.as_ref();
    let sweeps = value_iteration.map(|by| (by.values[start], by.rounds));
    let policy_iteration = solved.policy_iteration.as_ref();
    let rounds = policy_iteration.map(|by| (by.values[start], by.rounds));
    let optimal = solved.values[start];
    let short = optimal - solved.benchmark;
    let myopic = if short > 1e-9 * optimal.abs() {
        format!("myopic: {} short of the optimum", number(short))
    } else {
        "optimal here".into()
    };
    let noted = |value: String, note: &str| (value, note.to_owned());
    let rows = [
        (
            "states",
            noted(count(mdp.len()), "reachable step-state pairs, and `end`"),
        ),
        ("actions", noted(count(mdp.actions()), "`stop` among them")),
        (
            "transitions",
            noted(count(mdp.transition_count()), "of non-zero probability"),
        ),
        (
            "backward induction",
            noted(number(optimal), "optimal value"),
        ),
        ("value iteration", found(sweeps, "sweep")),
        ("policy iteration", found(rounds, "round")),
        ("benchmark", (number(solved.benchmark), myopic)),
    ];
    let rows = rows.map(|(what, (value, words))| vec![what.to_owned(), value, words]);
    table(&[problem, "", ""], &rows, width)
}
