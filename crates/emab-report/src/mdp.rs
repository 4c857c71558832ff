//! A solved Markov decision process as JSON, as NumPy arrays and as a table. The JSON document is sparse: it lists only
//! transitions that can happen.

use std::borrow::Cow;

use emab::Mdp;
use emab::oracle::SolvedMdp;
use serde::ser::Error as _;
use serde::{Serialize, Serializer};
use serde_json::value::to_raw_value;
use thiserror::Error;

use crate::npz::{BOOL, FLOAT, INTEGER, Npz};
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

/// A value on one line of an otherwise indented document.
struct OneLine<T>(T);

impl<T: Serialize> Serialize for OneLine<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        to_raw_value(&self.0)
            .map_err(S::Error::custom)?
            .serialize(serializer)
    }
}

/// The document; lists are serialized entry by entry, one per line: there may be millions.
#[derive(Serialize)]
struct MdpDocument<'a> {
    problem: &'a str,
    problem_hash: &'a str,
    horizon: usize,
    #[serde(serialize_with = "states")]
    states: &'a Mdp,
    actions: OneLine<Vec<Cow<'a, str>>>,
    start: OneLine<Start>,
    #[serde(skip_serializing_if = "Option::is_none")]
    start_probabilities: Option<OneLine<Vec<f64>>>,
    end: usize,
    #[serde(serialize_with = "transitions")]
    transitions: &'a Mdp,
    #[serde(serialize_with = "rewards")]
    rewards: &'a Mdp,
    optimal: Best<'a>,
    value_iteration: Option<Found>,
    policy_iteration: Option<Found>,
    benchmark: Found,
}

/// The state that episodes begin in, or a list where there are several.
#[derive(Serialize)]
#[serde(untagged)]
enum Start {
    One(usize),
    Several(Vec<usize>),
}

#[derive(Serialize)]
struct Best<'a> {
    value: f64,
    values: OneLine<&'a [f64]>,
    policy: OneLine<&'a [usize]>,
}

/// The expected value of an episode, and the work of the method that found it.
#[derive(Serialize)]
struct Found {
    value: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    sweeps: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rounds: Option<usize>,
}

impl<'a> MdpDocument<'a> {
    fn new(solved: &'a SolvedMdp, problem: &'a str, problem_hash: &'a str) -> Self {
        let mdp = &solved.mdp;
        let found = |value, sweeps, rounds| Found {
            value,
            sweeps,
            rounds,
        };
        let value_iteration = solved.value_iteration.as_ref();
        let policy_iteration = solved.policy_iteration.as_ref();
        Self {
            problem,
            problem_hash,
            horizon: mdp.problem().spec().horizon(),
            states: mdp,
            actions: OneLine((0..mdp.actions()).map(|a| mdp.action_name(a)).collect()),
            start: OneLine(match mdp.starts() {
                [(start, _)] => Start::One(*start),
                several => Start::Several(several.iter().map(|&(start, _)| start).collect()),
            }),
            start_probabilities: match mdp.starts() {
                [_] => None,
                several => Some(OneLine(several.iter().map(|&(_, p)| p).collect())),
            },
            end: mdp.end(),
            transitions: mdp,
            rewards: mdp,
            optimal: Best {
                value: mdp.start_value(&solved.values),
                values: OneLine(&solved.values),
                policy: OneLine(&solved.policy),
            },
            value_iteration: value_iteration
                .map(|by| found(mdp.start_value(&by.values), Some(by.rounds), None)),
            policy_iteration: policy_iteration
                .map(|by| found(mdp.start_value(&by.values), None, Some(by.rounds))),
            benchmark: found(solved.benchmark, None, None),
        }
    }
}

fn states<S: Serializer>(mdp: &Mdp, serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct State<'a> {
        index: usize,
        t: Option<usize>,
        x: Option<usize>,
        name: Cow<'a, str>,
    }
    serializer.collect_seq((0..mdp.len()).map(|index| {
        let (t, x) = mdp.pair(index).unzip();
        let name = mdp.state_name(index);
        OneLine(State { index, t, x, name })
    }))
}

fn transitions<S: Serializer>(mdp: &Mdp, serializer: S) -> Result<S::Ok, S::Error> {
    let from = (0..mdp.len()).flat_map(|s| mdp.allowed(s).map(move |a| (s, a)));
    serializer.collect_seq(from.flat_map(|(s, a)| {
        let next = mdp.transitions(s, a);
        next.map(move |(next, p)| OneLine((s, a, next, p)))
    }))
}

fn rewards<S: Serializer>(mdp: &Mdp, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq((0..mdp.len()).map(|s| {
        let row: Vec<_> = (0..mdp.actions()).map(|a| mdp.reward(s, a)).collect();
        OneLine(row)
    }))
}

/// Largest content of a `.npz` file, in bytes.
const MAX_BYTES: u128 = 512_000_000;

/// The arrays would be too large.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "{states} states and {actions} actions make dense arrays of {} MB, and at most {} MB are written; \
     .json is sparse: it lists only transitions that can happen",
    bytes / 1_000_000,
    MAX_BYTES / 1_000_000
)]
pub struct TooLarge {
    states: usize,
    actions: usize,
    bytes: u128,
}

/// Dense arrays as a `.npz` file. Fails if they are too large.
pub fn mdp_npz(solved: &SolvedMdp) -> Result<Vec<u8>, TooLarge> {
    let mdp = &solved.mdp;
    let (states, actions) = (mdp.len(), mdp.actions());
    // Eight bytes per transition and reward, one for the mask, four columns by state; headers are negligible.
    let (s, a) = (states as u128, actions as u128);
    let bytes = s * a * s * 8 + s * a * 9 + s * 32;
    if bytes > MAX_BYTES {
        return Err(TooLarge {
            states,
            actions,
            bytes,
        });
    }
    let all = || (0..states).flat_map(|s| (0..actions).map(move |a| (s, a)));
    let rows = all().flat_map(|(s, a)| {
        let mut row = vec![0.0; states];
        for (next, p) in mdp.transitions(s, a) {
            row[next] = p;
        }
        row.into_iter().map(f64::to_le_bytes)
    });
    let rewards = all().map(|(s, a)| mdp.reward(s, a).unwrap_or(0.0).to_le_bytes());
    let allowed = all().map(|(s, a)| [u8::from(mdp.reward(s, a).is_some())]);
    // The terminal state has neither step nor state.
    let number = |of: fn((usize, usize)) -> usize| {
        let number = move |s| mdp.pair(s).map_or(-1, |pair| of(pair) as i64);
        (0..states).map(move |s| number(s).to_le_bytes())
    };
    let index = |state: usize| (state as i64).to_le_bytes();
    let values = solved.values.iter().map(|value| value.to_le_bytes());
    let policy = solved.policy.iter().map(|&action| index(action));
    let mut npz = Npz::default();
    npz.add("transition", FLOAT, &[states, actions, states], rows);
    npz.add("reward", FLOAT, &[states, actions], rewards);
    npz.add("allowed", BOOL, &[states, actions], allowed);
    npz.add("step", INTEGER, &[states], number(|(t, _)| t));
    npz.add("state", INTEGER, &[states], number(|(_, x)| x));
    if let [(start, _)] = mdp.starts() {
        npz.add("start", INTEGER, &[], [index(*start)]);
    } else {
        let starts = mdp.starts().iter();
        let probabilities = starts.clone().map(|(_, p)| p.to_le_bytes());
        let shape = &[starts.len()];
        npz.add("start", INTEGER, shape, starts.map(|(s, _)| index(*s)));
        npz.add("start_probabilities", FLOAT, shape, probabilities);
    }
    npz.add("end", INTEGER, &[], [index(mdp.end())]);
    npz.add("optimal_value", FLOAT, &[states], values);
    npz.add("optimal_policy", INTEGER, &[states], policy);
    Ok(npz.finish())
}

/// Size and value of a Markov decision process by each solution method.
pub fn mdp_table(solved: &SolvedMdp, problem: &str, width: usize) -> String {
    let mdp = &solved.mdp;
    let count = |n: usize| number(n as f64);
    let found = |found: Option<(f64, usize)>, what: &str| match found {
        Some((value, 1)) => (number(value), format!("1 {what}")),
        Some((value, n)) => (number(value), format!("{} {what}s", count(n))),
        None => ("?".into(), "too many transitions to look at".into()),
    };
    let value_iteration = solved.value_iteration.as_ref();
    let sweeps = value_iteration.map(|by| (mdp.start_value(&by.values), by.rounds));
    let policy_iteration = solved.policy_iteration.as_ref();
    let rounds = policy_iteration.map(|by| (mdp.start_value(&by.values), by.rounds));
    let optimal = mdp.start_value(&solved.values);
    let short = optimal - solved.benchmark;
    let myopic = if short > 1e-9 * optimal.abs() {
        format!("myopic: {} short of the optimum", number(short))
    } else {
        "optimal here".into()
    };
    let states = "reachable step-state pairs, and `end`".into();
    let transitions = "of non-zero probability".into();
    let rows = [
        ("states", (count(mdp.len()), states)),
        (
            "actions",
            (count(mdp.actions()), "`stop` among them".into()),
        ),
        ("transitions", (count(mdp.transition_count()), transitions)),
        (
            "backward induction",
            (number(optimal), "optimal value".into()),
        ),
        ("value iteration", found(sweeps, "sweep")),
        ("policy iteration", found(rounds, "round")),
        ("benchmark", (number(solved.benchmark), myopic)),
    ];
    let rows = rows.map(|(what, (value, words))| vec![what.to_owned(), value, words]);
    table(&[problem, "", ""], &rows, width)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::sync::Arc;

    use emab::{Model, Names, Problem, Spec};

    use super::*;
    use crate::npz::tests::read;

    fn numbers<T>(bytes: &[u8], from: fn([u8; 8]) -> T) -> Vec<T> {
        let each = bytes.chunks_exact(8);
        each.map(|bytes| from(bytes.try_into().unwrap())).collect()
    }

    /// Two steps from state 1: `a` costs 0.25 and leads to either state, `b` is not allowed.
    fn coin(states: usize) -> SolvedMdp {
        let spec = Spec::new(
            2,
            Names::Count(states, ""),
            Names::List(vec!["a".into(), "b".into()]),
            Names::Count(states, ""),
        )
        .unwrap()
        .start_at(1)
        .unwrap()
        .transition(|_t, _x, _a, f| f as f64)
        .allowed(|_t, _x, a, _f| f64::from(a == 0));
        let model = Model::new(
            move |_t, _x, _a, _f| 1.0 / states as f64,
            |t, x, _a, _f| if t == 1 { 0.125 } else { x as f64 },
        )
        .cost(|_t, _x, _a, _f| 0.25);
        SolvedMdp::new(Arc::new(Problem::new("coin", spec, model))).unwrap()
    }

    #[test]
    fn arrays_describe_the_process() {
        let arrays = read(&mdp_npz(&coin(2)).unwrap());
        let floats = |name: &str| numbers(&arrays[name].2, f64::from_le_bytes);
        let integers = |name: &str| numbers(&arrays[name].2, i64::from_le_bytes);
        let shape = |name: &str| (arrays[name].0.as_str(), arrays[name].1.as_str());
        assert_eq!(shape("transition"), ("<f8", "(4,3,4,)"));
        assert_eq!(shape("reward"), ("<f8", "(4,3,)"));
        assert_eq!(shape("allowed"), ("|b1", "(4,3,)"));
        assert_eq!(shape("start"), ("<i8", "()"));
        let never = [0.0; 4];
        let end = [0.0, 0.0, 0.0, 1.0];
        let expected = [
            [[0.0, 0.5, 0.5, 0.0], never, end],
            [never, never, end],
            [never, never, end],
            [end, end, end],
        ];
        let expected = expected.concat().concat();
        assert_eq!(floats("transition"), expected);
        let expected = [[-0.25, 0.0, 0.125], [0.0; 3], [0.0, 0.0, 1.0], [0.0; 3]];
        assert_eq!(floats("reward"), expected.concat());
        let expected = [[1, 0, 1], [0, 0, 1], [0, 0, 1], [1, 1, 1]];
        assert_eq!(arrays["allowed"].2, expected.concat());
        assert_eq!(integers("step"), [1, 2, 2, -1]);
        assert_eq!(integers("state"), [1, 0, 1, -1]);
        assert_eq!(integers("start"), [0]);
        assert_eq!(integers("end"), [3]);
        assert_eq!(floats("optimal_value"), [0.25, 0.0, 1.0, 0.0]);
        assert_eq!(integers("optimal_policy"), [0, 2, 2, 2]);
        assert_eq!(arrays.len(), 9);
    }

    #[test]
    fn several_starts_are_a_list_with_probabilities() {
        let one = coin(2);
        let json = serde_json::to_value(mdp_document(&one, "coin", "")).unwrap();
        assert_eq!(json["start"], 0);
        assert!(json.get("start_probabilities").is_none());
        let problem = one.mdp.problem();
        let spec = problem.spec().as_ref().clone().start_in([1, 0]);
        let model = problem.model().clone().start([0.75, 0.25]);
        let problem = Problem::new("coins", spec.unwrap(), model);
        let solved = SolvedMdp::new(Arc::new(problem)).unwrap();
        let json = serde_json::to_value(mdp_document(&solved, "coins", "")).unwrap();
        assert_eq!(json["start"], serde_json::json!([1, 0]));
        assert_eq!(json["start_probabilities"], serde_json::json!([0.75, 0.25]));
        let value = 0.75 * solved.values[1] + 0.25 * solved.values[0];
        assert_eq!(json["optimal"]["value"], value);
        let arrays = read(&mdp_npz(&solved).unwrap());
        assert_eq!(arrays["start"].1, "(2,)");
        let starts = numbers(&arrays["start"].2, i64::from_le_bytes);
        let probabilities = numbers(&arrays["start_probabilities"].2, f64::from_le_bytes);
        assert_eq!((starts, probabilities), (vec![1, 0], vec![0.75, 0.25]));
    }

    #[test]
    fn rejects_arrays_that_are_too_large() {
        // 5002 states and 3 actions: 5002 * 3 * 5002 * 8 bytes and some more.
        let error = mdp_npz(&coin(5000)).unwrap_err();
        assert_eq!((error.states, error.actions), (5002, 3));
        let text = error.to_string();
        assert!(
            text.contains("600 MB") && text.contains(".json is sparse"),
            "{text}"
        );
    }
}
