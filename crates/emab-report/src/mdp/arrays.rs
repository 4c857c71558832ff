//! A Markov decision process as dense arrays for NumPy.

use emab::oracle::SolvedMdp;
use thiserror::Error;

use crate::npz::{BOOL, Beyond, FLOAT, INTEGER, Npz};

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
    /// Number of states.
    pub states: usize,
    /// Number of actions.
    pub actions: usize,
    /// Their size.
    pub bytes: u128,
}

/// Dense arrays as a `.npz` file. Fails if they are too large.
pub fn mdp_npz(solved: &SolvedMdp) -> Result<Vec<u8>, TooLarge> {
    let mdp = &solved.mdp;
    let (states, actions) = (mdp.len(), mdp.actions());
    // Eight bytes per transition and reward, one for the mask, four columns by state; headers are negligible.
    let (s, a) = (states as u128, actions as u128);
    let bytes = s * a * s * 8 + s * a * 9 + s * 32;
    let too_large = TooLarge {
        states,
        actions,
        bytes,
    };
    if bytes > MAX_BYTES {
        return Err(too_large);
    }
    arrays(solved).map_err(|Beyond| too_large)
}

fn arrays(solved: &SolvedMdp) -> Result<Vec<u8>, Beyond> {
    let mdp = &solved.mdp;
    let (states, actions) = (mdp.len(), mdp.actions());
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
    npz.add("transition", FLOAT, &[states, actions, states], rows)?;
    npz.add("reward", FLOAT, &[states, actions], rewards)?;
    npz.add("allowed", BOOL, &[states, actions], allowed)?;
    npz.add("step", INTEGER, &[states], number(|(t, _)| t))?;
    npz.add("state", INTEGER, &[states], number(|(_, x)| x))?;
    npz.add("start", INTEGER, &[], [index(mdp.start())])?;
    npz.add("end", INTEGER, &[], [index(mdp.end())])?;
    npz.add("optimal_value", FLOAT, &[states], values)?;
    npz.add("optimal_policy", INTEGER, &[states], policy)?;
    npz.finish()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::sync::Arc;

    use emab::{Model, Names, Problem, Spec};

    use super::*;
    use crate::npz::tests::read;

    fn floats(bytes: &[u8]) -> Vec<f64> {
        let each = bytes.chunks_exact(8);
        each.map(|bytes| f64::from_le_bytes(bytes.try_into().unwrap()))
            .collect()
    }

    fn integers(bytes: &[u8]) -> Vec<i64> {
        let each = bytes.chunks_exact(8);
        each.map(|bytes| i64::from_le_bytes(bytes.try_into().unwrap()))
            .collect()
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
        assert_eq!(floats(&arrays["transition"].2), expected);
        let expected = [[-0.25, 0.0, 0.125], [0.0; 3], [0.0, 0.0, 1.0], [0.0; 3]];
        assert_eq!(floats(&arrays["reward"].2), expected.concat());
        let expected = [[1, 0, 1], [0, 0, 1], [0, 0, 1], [1, 1, 1]];
        assert_eq!(arrays["allowed"].2, expected.concat());
        assert_eq!(integers(&arrays["step"].2), [1, 2, 2, -1]);
        assert_eq!(integers(&arrays["state"].2), [1, 0, 1, -1]);
        assert_eq!(integers(&arrays["start"].2), [0]);
        assert_eq!(integers(&arrays["end"].2), [3]);
        assert_eq!(floats(&arrays["optimal_value"].2), [0.25, 0.0, 1.0, 0.0]);
        assert_eq!(integers(&arrays["optimal_policy"].2), [0, 2, 2, 2]);
        assert_eq!(arrays.len(), 9);
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
