//! A problem as a Markov decision process, for other programs (JSON, NumPy) and for people.

mod arrays;
mod document;

use std::sync::Arc;

use emab::oracle::{Benchmark, Optimal, OracleError, PolicyIteration, ValueIteration};
use emab::{Action, Mdp, Problem};
use serde::Serialize;

pub use self::arrays::TooLarge;
use self::document::Document;
use crate::table::{number, table};

/// The most transitions that value iteration and policy iteration look at: a second or two.
const WORK: usize = 100_000_000;

/// A problem as a Markov decision process, solved: by backward induction, and twice more to compare.
///
/// ```
/// use std::sync::Arc;
/// use emab::{Model, Names, Problem, Spec};
/// use emab_report::SolvedMdp;
/// // 0.5 now, nothing at step 2, 1 at step 3: the benchmark stops at once, the optimal policy does not.
/// let spec = Spec::new(3, Names::Count(1, ""), Names::Count(1, "a"), Names::Count(1, "")).unwrap();
/// let model = Model::new(|_t, _x, _a, _f| 1.0, |t, _x, _a, _f| [0.5, 0.0, 1.0][t - 1]);
/// let solved = SolvedMdp::new(Arc::new(Problem::new("patience", spec, model))).unwrap();
/// let json = serde_json::to_value(solved.document("patience", "")).unwrap();
/// assert_eq!(json["optimal"]["value"], 1.0);
/// assert_eq!(json["benchmark"]["value"], 0.5);
/// assert_eq!(json["transitions"][0], serde_json::json!([0, 0, 1, 1.0]));
/// assert!(solved.npz().unwrap().starts_with(b"PK"));
/// ```
pub struct SolvedMdp {
    mdp: Mdp,
    /// What the benchmark earns.
    benchmark: f64,
    /// By state.
    values: Vec<f64>,
    policy: Vec<usize>,
    value_iteration: Option<ValueIteration>,
    policy_iteration: Option<PolicyIteration>,
}

impl SolvedMdp {
    /// Translates a problem and solves it.
    pub fn new(problem: Arc<Problem>) -> Result<SolvedMdp, OracleError> {
        let mut benchmark = Benchmark::new(problem)?;
        let optimal = Optimal::new(benchmark.pairs_mut())?;
        let mdp = Mdp::new(benchmark.pairs_mut())?;
        let pairs = benchmark.pairs();
        // The end is worth nothing, and whoever is there may as well stop.
        let mut values = vec![0.0; mdp.len()];
        let mut policy = vec![mdp.stop(); mdp.len()];
        for pair in pairs.iter() {
            if let Some(state) = mdp.find(pairs.step(pair), pairs.state(pair)) {
                values[state] = optimal.value(pair);
                if let Action::Continue(a) = optimal.choice(pair) {
                    policy[state] = a;
                }
            }
        }
        let start = pairs.start();
        Ok(SolvedMdp {
            benchmark: benchmark.value(start)?,
            value_iteration: ValueIteration::new(&mdp, WORK),
            policy_iteration: PolicyIteration::new(&mdp, WORK),
            mdp,
            values,
            policy,
        })
    }

    /// As a JSON document; the name and the hash are those of the problem's file.
    pub fn document<'a>(&'a self, problem: &'a str, hash: &'a str) -> impl Serialize + 'a {
        Document {
            solved: self,
            problem,
            hash,
        }
    }

    /// How large it is and what it is worth, in each way it was solved.
    pub fn table(&self, problem: &str, width: usize) -> String {
        let mdp = &self.mdp;
        let optimal = self.values[mdp.start()];
        let count = |n: usize| number(n as f64);
        let times = |n: usize, what: &str| match n {
            1 => format!("1 {what}"),
            _ => format!("{} {what}s", count(n)),
        };
        let solved = |found: Option<(f64, String)>| match found {
            Some((value, how)) => (number(value), how),
            None => ("?".into(), "too many transitions to look at".into()),
        };
        let sweeps = self.value_iteration.as_ref().map(|by| {
            let value = by.values()[mdp.start()];
            (value, times(by.sweeps(), "sweep"))
        });
        let rounds = self.policy_iteration.as_ref().map(|by| {
            let value = by.values()[mdp.start()];
            (value, times(by.rounds(), "round"))
        });
        let short = optimal - self.benchmark;
        let myopic = if short > 1e-9 * optimal.abs() {
            format!("myopic: {} short of the optimum", number(short))
        } else {
            "optimal here".into()
        };
        let [sweeps, rounds] = [sweeps, rounds].map(solved);
        let rows = [
            (
                "states",
                count(mdp.len()),
                "reachable step-state pairs, and `end`".into(),
            ),
            ("actions", count(mdp.actions()), "`stop` among them".into()),
            (
                "transitions",
                count(mdp.transition_count()),
                "of non-zero probability".into(),
            ),
            (
                "backward induction",
                number(optimal),
                "optimal value".into(),
            ),
            ("value iteration", sweeps.0, sweeps.1),
            ("policy iteration", rounds.0, rounds.1),
            ("benchmark", number(self.benchmark), myopic),
        ];
        let rows = rows.map(|(what, value, words): (&str, String, String)| {
            vec![what.to_owned(), value, words]
        });
        table(&[problem, "", ""], &rows, width)
    }
}
