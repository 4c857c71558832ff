//! Problems that test one sentence of the paper each, stated in code.

use std::sync::Arc;

use emab::{Model, Names, Noise, Problem, Role, Spec, Stream};

use crate::LedgerError;

fn names(n: usize) -> Names {
    Names::Count(n, "")
}

fn normal(variance: f64) -> Noise {
    Noise::normal(variance).unwrap_or(Noise::None)
}

/// Section 5's problem with another discount, another sequence of probabilities, another horizon, and a cost per step.
pub fn resource(
    horizon: usize,
    beta: f64,
    cost: f64,
    p: impl Fn(usize) -> f64 + Send + Sync + 'static,
) -> Result<Arc<Problem>, LedgerError> {
    let actions = Names::List(vec!["cont".into()]);
    let spec = Spec::new(horizon, names(horizon), actions, names(2))?
        .transition(|_t, x, _a, f| (x + f) as f64);
    let model = Model::new(
        move |t, _x, _a, f| if f == 1 { p(t) } else { 1.0 - p(t) },
        move |t, x, _a, _f| beta.powi(t as i32 - 1) * x as f64,
    );
    let model = model.cost(move |_t, _x, _a, _f| cost);
    let model = model.noise(normal(0.1), normal(0.1));
    Ok(Arc::new(Problem::new("resource", spec, model)))
}

/// A problem with one action and uninformative feedback, given by its rewards at steps 1, 2, ….
///
/// The noise has variance 0.05 on cost and on reward, so that `4 sigma^2 = 0.2` is a sound width.
fn one_path<const STEPS: usize>(
    name: &str,
    rewards: [f64; STEPS],
) -> Result<Arc<Problem>, LedgerError> {
    let spec = Spec::new(STEPS, names(1), Names::List(vec!["on".into()]), names(1))?;
    let model = Model::new(|_t, _x, _a, _f| 1.0, move |t, _x, _a, _f| rewards[t - 1]);
    let model = model.noise(normal(0.05), normal(0.05));
    Ok(Arc::new(Problem::new(name, spec, model)))
}

/// Three steps: a little at once, nothing at step 2, and 1 at step 3.
pub fn patience() -> Result<Arc<Problem>, LedgerError> {
    one_path("patience", [0.1, 0.0, 1.0])
}

/// Two steps: stopping is worth 1, continuing `1 - gap`.
pub fn gap(gap: f64) -> Result<Arc<Problem>, LedgerError> {
    one_path("gap", [1.0, 1.0 - gap])
}

/// Three steps: stopping at once and continuing are worth the same, and one step further the reward is 0.
pub fn stop_tie() -> Result<Arc<Problem>, LedgerError> {
    one_path("stop tie", [0.5, 0.5, 0.0])
}

/// Three steps: two actions look the same one step ahead, and only the first leads to something better after it.
pub fn action_tie() -> Result<Arc<Problem>, LedgerError> {
    let actions = Names::List(vec!["road".into(), "dead end".into()]);
    // The state records the action taken.
    let spec = Spec::new(3, names(2), actions, names(1))?
        .transition(|t, x, a, _f| if t == 1 { a as f64 } else { x as f64 });
    let reward = |t, x, _a, _f| match (t, x) {
        (1, _) => 0.0,
        (3, 0) => 2.0,
        (3, _) => 0.0,
        _ => 1.0,
    };
    let model = Model::new(|_t, _x, _a, _f| 1.0, reward).noise(normal(0.05), normal(0.05));
    Ok(Arc::new(Problem::new("action tie", spec, model)))
}

/// Three steps and two actions at the first: the second falls short by `gap` one step ahead and ends there. The first leads on
/// to `more` at step 3, so that the second loses `gap + more` in all, which is also its `Omega`.
pub fn lost_later(gap: f64, more: f64) -> Result<Arc<Problem>, LedgerError> {
    two_ways("lost later", gap, move |t, x| match (t, x) {
        (3, 0) => Some(1.0 + more),
        _ => None,
    })
}

/// The same, but the second action leads on to a loss of `more`, which the benchmark avoids: `Omega` counts it as the
/// worst continuation, and choosing the second action loses `gap` only.
pub fn worst_continuation(gap: f64, more: f64) -> Result<Arc<Problem>, LedgerError> {
    two_ways("worst continuation", gap, move |t, x| match (t, x) {
        (3, 1) => Some(1.0 - gap - more),
        _ => None,
    })
}

/// Rewards of 0 at step 1 and of 1 and `1 - gap` at step 2, by the action taken; at step 3 where there is one.
fn two_ways(
    name: &str,
    gap: f64,
    third: impl Fn(usize, usize) -> Option<f64> + Copy + Send + Sync + 'static,
) -> Result<Arc<Problem>, LedgerError> {
    let spec = Spec::new(3, names(2), names(2), names(1))?
        .transition(|t, x, a, _f| if t == 1 { a as f64 } else { x as f64 })
        // At step 2 one action at most goes on.
        .allowed(move |t, x, a, _f| {
            let on = t == 1 || (a == 0 && third(3, x).is_some());
            f64::from(u8::from(on))
        });
    let reward = move |t: usize, x: usize, _a, _f| match t {
        1 => 0.0,
        2 => 1.0 - gap * x as f64,
        _ => third(t, x).unwrap_or(0.0),
    };
    let model = Model::new(|_t, _x, _a, _f| 1.0, reward).noise(normal(0.05), normal(0.05));
    Ok(Arc::new(Problem::new(name, spec, model)))
}

/// Every state follows with equal probability at every step, so that all pairs after step 1 are reachable. Every step is worth
/// 0.5, which continues to the last one; all actions but the first cost 0.5.
pub fn all_pairs(steps: usize, states: usize, actions: usize) -> Result<Arc<Problem>, LedgerError> {
    let spec = Spec::new(steps, names(states), names(actions), names(states))?
        .transition(|_t, _x, _a, f| f as f64);
    let model = Model::new(
        move |_t, _x, _a, _f| 1.0 / states as f64,
        |t, _x, _a, _f| 0.5 * (t as f64 - 1.0),
    );
    let model = model.cost(|_t, _x, a, _f| if a == 0 { 0.0 } else { 0.5 });
    let model = model.noise(normal(0.05), normal(0.05));
    Ok(Arc::new(Problem::new("all pairs", spec, model)))
}

/// A random instance of adaptive monotone submodular maximisation: stochastic coverage.
///
/// Every item has a hidden state of its own, drawn anew in each episode, and covers one set of weighted elements or
/// another by it. An episode picks a few items, none twice, and is worth what they cover.
pub fn coverage(seed: u64, number: u64) -> Result<Arc<Problem>, LedgerError> {
    let mut stream = Stream::new(seed, number, Role::Learner);
    let items = 2 + stream.below(4);
    let horizon = 2 + stream.below(items); // at most all items, then stop
    let elements = 3 + stream.below(6);
    let weights: Vec<f64> = (0..elements).map(|_| stream.uniform()).collect();
    let chances: Vec<f64> = (0..items).map(|_| stream.uniform()).collect();
    // By item and state: the elements covered, a bit each.
    let covers: Vec<[u32; 2]> = (0..items)
        .map(|_| [(); 2].map(|()| stream.below(1 << elements) as u32))
        .collect();
    // The state of the problem: one digit an item, 0 not picked, else 1 + its state.
    let digit = |x: usize, a: usize| x / 3_usize.pow(a as u32) % 3;
    let spec = Spec::new(
        horizon,
        names(3_usize.pow(items as u32)),
        names(items),
        names(2),
    )?
    .transition(move |_t, x, a, f| (x + (f + 1) * 3_usize.pow(a as u32)) as f64)
    .allowed(move |_t, x, a, _f| f64::from(u8::from(digit(x, a) == 0)));
    let model = Model::new(
        move |_t, _x, a, f| if f == 1 { chances[a] } else { 1.0 - chances[a] },
        move |_t, x, _a, _f| {
            let picked = (0..items).filter(|&a| digit(x, a) > 0);
            let covered = picked.fold(0, |all, a| all | covers[a][digit(x, a) - 1]);
            let weight = |i: usize| f64::from(covered >> i & 1) * weights[i];
            (0..elements).map(weight).sum()
        },
    );
    Ok(Arc::new(Problem::new("coverage", spec, model)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use emab::oracle::Pairs;

    /// What an item adds in expectation never grows with what is known, and is never negative: what "adaptive monotone
    /// submodular" means, pair by pair.
    #[test]
    fn generated_coverage_is_adaptive_monotone_submodular() {
        let mut compared = 0;
        for number in 0..40 {
            let mut pairs = Pairs::new(coverage(7, number).unwrap()).unwrap();
            pairs.expand_all(100_000, "a test").unwrap();
            let adds = |pair, a| pairs.ex_ante(pair, a) - pairs.reward(pair);
            for pair in pairs.iter() {
                for b in pairs.allowed(pair) {
                    assert!(adds(pair, b) >= -1e-12);
                    for (next, _) in pairs.follow(pair, b) {
                        for a in pairs.allowed(next) {
                            assert!(adds(next, a) <= adds(pair, a) + 1e-12, "instance {number}");
                            compared += 1;
                        }
                    }
                }
            }
        }
        assert!(compared > 1000);
    }

    #[test]
    fn omega_grows_at_the_same_gap() {
        use emab::Action;
        use emab::oracle::Gaps;
        let second = |problem| {
            let gaps = Gaps::new(problem, 0.0).unwrap();
            let second = |t: &&emab::oracle::Triplet| t.t == 1 && t.action == Action::Continue(1);
            *gaps.triplets.iter().find(second).unwrap()
        };
        for more in [0.2, 3.0] {
            let later = second(lost_later(0.2, more).unwrap());
            let worst = second(worst_continuation(0.2, more).unwrap());
            for (triplet, regret) in [(later, 0.2 + more), (worst, 0.2)] {
                assert!((triplet.delta - 0.2).abs() < 1e-12);
                assert!((triplet.omega - 0.2 - more).abs() < 1e-12);
                assert!((triplet.regret - regret).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn all_pairs_are_reachable() {
        let mut pairs = Pairs::new(all_pairs(5, 3, 2).unwrap()).unwrap();
        pairs.expand_all(1000, "a test").unwrap();
        assert_eq!(pairs.len(), 1 + 4 * 3);
    }

    #[test]
    fn instances_differ() {
        let values: std::collections::BTreeSet<String> = (0..20)
            .map(|number| {
                let mut pairs = Pairs::new(coverage(1, number).unwrap()).unwrap();
                let optimal = emab::oracle::Optimal::new(&mut pairs).unwrap();
                format!("{:.12}", optimal.start_value(&pairs))
            })
            .collect();
        assert!(values.len() >= 19);
    }
}
