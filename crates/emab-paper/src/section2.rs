//! Section 2: the benchmark against the optimum and against fixed sequences.

use emab::Action;
use emab::learners::MAX_FIXED_OUTCOMES;
use emab::oracle::{Benchmark, Optimal, best_fixed, best_repeated};
use emab_report::{Claim, Verdict, number};

use crate::instances;
use crate::measurement::{exact, last, measured_text};
use crate::runner::{Job, LedgerError, Runner, builtin, learner_of};

pub(crate) fn claims(runner: &mut Runner<'_>) -> Result<Vec<Claim>, LedgerError> {
    let mut claims = vec![submodular(runner)?];
    claims.extend(parity()?);
    claims.push(sequences(runner)?);
    Ok(claims)
}

fn submodular(runner: &Runner<'_>) -> Result<Claim, LedgerError> {
    let instances = runner.settings.scaled(2000, 200);
    let (mut least, mut sum) = (f64::INFINITY, 0.0);
    let mut optimal_too = 0;
    for number in 0..instances {
        let problem = instances::coverage(runner.settings.seed, number)?;
        let mut benchmark = Benchmark::new(problem)?;
        let optimal = Optimal::new(benchmark.pairs_mut())?;
        let start = benchmark.pairs().start();
        let (value, best) = (benchmark.value(start)?, optimal.value(start));
        // Nothing can be covered: every choice is optimal.
        let ratio = if best > 0.0 { value / best } else { 1.0 };
        least = least.min(ratio);
        sum += ratio;
        optimal_too += u64::from(ratio > 1.0 - 1e-12);
    }
    let guaranteed = 1.0 - (-1.0_f64).exp();
    Ok(Claim {
        ours: false,
        place: "Section 2.3, Appendix A".into(),
        says: "the benchmark earns at least 1 - 1/e of the optimum in adaptive monotone submodular problems".into(),
        how: format!("{instances} generated instances of stochastic coverage, both values exact"),
        measured: format!(
            "the least ratio is {least:.4} (guaranteed {guaranteed:.4}), the mean {:.4}; optimal in {optimal_too}",
            sum / instances as f64
        ),
        verdict: exact(least >= guaranteed),
    })
}

fn parity() -> Result<Vec<Claim>, LedgerError> {
    let file = builtin("parity")?;
    let mut benchmark = Benchmark::new(file.problem()?)?;
    let optimal = Optimal::new(benchmark.pairs_mut())?;
    let start = benchmark.pairs().start();
    let value = benchmark.value(start)?;
    let repeated = best_repeated(benchmark.pairs_mut())?.value;
    let fixed = best_fixed(benchmark.pairs(), &optimal, MAX_FIXED_OUTCOMES);
    let all = fixed.as_ref().map_or("?".into(), |fixed| {
        format!("{} ({})", fixed.value, fixed.names(file.spec()).join(", "))
    });
    let best = optimal.value(start);
    // The same action adds more to the reward where less was collected before, and later.
    let pairs = benchmark.pairs_mut();
    let adds = |pairs: &emab::oracle::Pairs, t, x| {
        let pair = pairs.find(t, x)?;
        Some(pairs.ex_ante(pair, 0) - pairs.reward(pair))
    };
    let (early, late) = (adds(pairs, 1, 0), adds(pairs, 2, 0));
    Ok(vec![
        Claim {
            ours: false,
            place: "Section 2.3, example".into(),
            says: "the benchmark earns 7, which is optimal".into(),
            how: "solved exactly".into(),
            measured: format!("benchmark {value}, optimum {best}"),
            verdict: exact(value == 7.0 && best == 7.0),
        },
        Claim {
            ours: false,
            place: "Section 2.3, example".into(),
            says: "the example's rewards do not diminish, so that it is not adaptive submodular"
                .into(),
            how: "what a0 adds to the reward at step 1, and after a1 at step 2, exactly".into(),
            measured: format!(
                "{} at step 1, {} at step 2",
                early.map_or("?".into(), number),
                late.map_or("?".into(), number)
            ),
            verdict: exact(late > early && early.is_some()),
        },
        Claim {
            ours: false,
            place: "Section 2.3, example".into(),
            says: "the best fixed sequence earns 3".into(),
            how: "all fixed sequences, exactly".into(),
            measured: format!(
                "{repeated} among sequences that repeat one action, which are all the paper lists; {all} among all"
            ),
            verdict: match fixed.map(|fixed| fixed.value) {
                Some(3.0) => Verdict::Holds,
                _ if repeated == 3.0 => Verdict::HoldsInPart,
                _ => Verdict::Fails,
            },
        },
    ])
}

/// There are exponentially many sequences, and only polynomially many triplets.
fn sequences(runner: &mut Runner<'_>) -> Result<Claim, LedgerError> {
    let file = builtin("treatment")?;
    let (episodes, runs) = (runner.settings.episodes, runner.settings.scaled(20, 10));
    let outcome = runner.run(Job {
        what: "sequences or steps",
        problem: file.problem()?,
        learners: vec![learner_of(&file, "feedbal")?, learner_of(&file, "ucb1")?],
        episodes,
        runs,
        checkpoints: Vec::new(),
    })?;
    let [feedbal, ucb1] = [0, 1].map(|i| last(&outcome.results[i], runs));
    let spec = file.spec();
    let actions = spec.actions().len() as f64;
    let arms: f64 = (0..spec.horizon()).map(|t| actions.powi(t as i32)).sum();
    Ok(Claim {
        ours: false,
        place: "Section 2.3".into(),
        says: "estimating the gain of each sequence is inefficient, there being exponentially many; the benchmark is learned quickly".into(),
        how: format!(
            "problem `treatment` ({} sequences, K = {}), {runs} runs of {} episodes",
            number(arms),
            number(spec.k()),
            number(episodes as f64)
        ),
        measured: format!("regret of UCB1 over sequences {}, of FeedBAL {}", measured_text(ucb1), measured_text(feedbal)),
        verdict: Verdict::less(feedbal, ucb1),
    })
}

/// The expected step at which the benchmark stops.
pub(crate) fn expected_stop(benchmark: &mut Benchmark) -> Result<f64, LedgerError> {
    let mut here = std::collections::BTreeMap::from([(benchmark.pairs().start(), 1.0)]);
    let mut expected = 0.0;
    while !here.is_empty() {
        let mut next = std::collections::BTreeMap::new();
        for (pair, probability) in here {
            match benchmark.choice(pair)? {
                Action::Stop => expected += probability * benchmark.pairs().step(pair) as f64,
                Action::Continue(a) => {
                    for (to, p) in benchmark.pairs().follow(pair, a) {
                        *next.entry(to).or_insert(0.0) += probability * p;
                    }
                }
            }
        }
        here = next;
    }
    Ok(expected)
}
