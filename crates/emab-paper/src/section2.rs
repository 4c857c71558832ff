//! Section 2: the benchmark against the optimum and against fixed sequences.

use std::collections::BTreeMap;

use emab::Action;
use emab::oracle::{Benchmark, Pair, best_repeated};
use emab_report::{Claim, Verdict, number};

use crate::instances;
use crate::measurement::{claim, exact, runs_of};
use crate::runner::{LedgerError, Runner, Solved, builtin};

pub(crate) fn claims(runner: &mut Runner<'_>) -> Result<Vec<Claim>, LedgerError> {
    let mut claims = submodular(runner)?;
    claims.extend(parity()?);
    claims.push(sequences(runner)?);
    Ok(claims)
}

/// Generated instances of stochastic coverage: how near the benchmark comes to the optimum, and when it stops.
fn submodular(runner: &Runner<'_>) -> Result<Vec<Claim>, LedgerError> {
    let instances = runner.settings.scaled(2000, 200);
    let (mut least, mut sum) = (f64::INFINITY, 0.0);
    let (mut optimal_too, mut control_below) = (0, 0);
    let (mut too_short, mut long_enough, mut early) = (0, 0, 0);
    let guaranteed = 1.0 - (-1.0_f64).exp();
    for number in 0..instances {
        let mut solved = Solved::new(instances::coverage(runner.settings.seed, number)?)?;
        let Solved { value, best, .. } = solved;
        // Nothing can be covered: every choice is optimal.
        let ratio = if best > 0.0 { value / best } else { 1.0 };
        least = least.min(ratio);
        sum += ratio;
        optimal_too += u64::from(ratio > 1.0 - 1e-12);
        control_below += u64::from(least_gains(&solved.benchmark) < guaranteed * best);
        let spec = solved.benchmark.pairs().problem().spec();
        let (steps, items) = (spec.horizon(), spec.actions().len());
        match steps > items {
            false => too_short += 1,
            true => {
                long_enough += 1;
                let stops = stopping_pairs(&mut solved.benchmark)?;
                let pairs = solved.benchmark.pairs();
                // An item is picked at every step before the last.
                let left = |&(pair, _): &(Pair, f64)| pairs.step(pair) <= items;
                early += u64::from(stops.iter().any(left));
            }
        }
    }
    let mean = sum / instances as f64;
    let how = format!("{instances} generated instances of stochastic coverage");
    Ok(vec![
        claim(
            "Section 2.3, Appendix A",
            "the benchmark earns at least 1 - 1/e of the optimum in adaptive monotone submodular problems",
            format!("{how}, both values exact; control: always the item with the least gain"),
            format!(
                "the least ratio is {least:.4} (guaranteed {guaranteed:.4}), the mean {mean:.4}; optimal in {optimal_too}; the control \
                 earns less than guaranteed in {control_below}"
            ),
            exact(least >= guaranteed).with_control(exact(control_below == 0)),
        ),
        claim(
            "Appendix A",
            "where actions cost nothing, the benchmark stops only after it has taken every action once",
            format!("{how}, every pair in which the benchmark stops, exactly"),
            format!(
                "in {too_short} instances l_max is at most the number of actions, so that it cannot take all; of the {long_enough} others \
                 it stops earlier in {early}, where no action is left with a gain above 0"
            ),
            exact(too_short + early == 0),
        ),
    ])
}

/// The value of always picking the item with the least gain, until the last step.
fn least_gains(benchmark: &Benchmark) -> f64 {
    let pairs = benchmark.pairs();
    let mut value = vec![0.0; pairs.len()];
    for pair in pairs.backwards() {
        let gains = pairs.allowed(pair).map(|a| (a, pairs.ex_ante(pair, a)));
        let least = gains.min_by(|(_, one), (_, other)| one.total_cmp(other));
        value[pair.index()] = match least {
            Some((a, _)) => pairs.expected_value(pair, a, |next| value[next.index()]),
            None => pairs.reward(pair),
        };
    }
    pairs.start_value(|start| value[start.index()])
}

fn parity() -> Result<Vec<Claim>, LedgerError> {
    let file = builtin("parity")?;
    let mut solved = Solved::new(file.problem()?)?;
    let fixed = solved.best_fixed();
    let repeated = best_repeated(solved.benchmark.pairs_mut())?.value;
    let all = fixed.as_ref().map_or("?".into(), |fixed| {
        format!("{} ({})", fixed.value, fixed.names(file.spec()).join(", "))
    });
    let Solved { value, best, .. } = solved;
    // The same action adds more to the reward where less was collected before, and later.
    let pairs = solved.benchmark.pairs();
    let adds = |t, x| {
        let pair = pairs.find(t, x)?;
        Some(pairs.ex_ante(pair, 0) - pairs.reward(pair))
    };
    let (early, late) = (adds(1, 0), adds(2, 0));
    let [first, second] = [early, late].map(|adds| adds.map_or("?".into(), number));
    let place = "Section 2.3, example";
    Ok(vec![
        claim(
            place,
            "the benchmark earns 7, which is optimal",
            "solved exactly",
            format!("benchmark {value}, optimum {best}"),
            exact(value == 7.0 && best == 7.0),
        ),
        claim(
            place,
            "the example's rewards do not diminish, so that it is not adaptive submodular",
            "what a0 adds to the reward at step 1, and after a1 at step 2, exactly",
            format!("{first} at step 1, {second} at step 2"),
            exact(late > early && early.is_some()),
        ),
        claim(
            place,
            "the best fixed sequence earns 3",
            "all fixed sequences, exactly",
            format!(
                "{repeated} among sequences that repeat one action, which are all the paper lists; {all} among all"
            ),
            match fixed.map(|fixed| fixed.value) {
                Some(3.0) => Verdict::Holds,
                _ if repeated == 3.0 => Verdict::HoldsInPart,
                _ => Verdict::Fails,
            },
        ),
    ])
}

/// There are exponentially many sequences, and only polynomially many triplets.
fn sequences(runner: &mut Runner<'_>) -> Result<Claim, LedgerError> {
    let file = builtin("treatment")?;
    let (episodes, runs) = (runner.settings.episodes, runner.settings.scaled(20, 10));
    let learners = ["feedbal", "ucb1"];
    let [feedbal, ucb1] =
        runner.final_regrets("sequences or steps", &file, learners, episodes, runs)?;
    let spec = file.spec();
    let actions = spec.actions().len() as f64;
    let arms: f64 = (0..spec.horizon()).map(|t| actions.powi(t as i32)).sum();
    Ok(claim(
        "Section 2.3",
        "estimating the gain of each sequence is inefficient, there being exponentially many; the benchmark is learned quickly",
        format!(
            "problem `treatment` ({} sequences, K = {}), {}",
            number(arms),
            number(spec.k()),
            runs_of(runs, episodes)
        ),
        format!("regret of UCB1 over sequences {ucb1}, of FeedBAL {feedbal}"),
        feedbal.less(ucb1),
    ))
}

/// The expected step at which the benchmark stops.
pub(crate) fn expected_stop(benchmark: &mut Benchmark) -> Result<f64, LedgerError> {
    let stops = stopping_pairs(benchmark)?;
    let pairs = benchmark.pairs();
    let steps = stops.iter().map(|&(pair, p)| p * pairs.step(pair) as f64);
    Ok(steps.sum())
}

/// The pairs in which the benchmark stops, each with its probability.
fn stopping_pairs(benchmark: &mut Benchmark) -> Result<Vec<(Pair, f64)>, LedgerError> {
    let mut here: BTreeMap<Pair, f64> = benchmark.pairs().starts().collect();
    let mut stops = Vec::new();
    while !here.is_empty() {
        let mut next = BTreeMap::new();
        for (pair, probability) in here {
            match benchmark.choice(pair)? {
                Action::Stop => stops.push((pair, probability)),
                Action::Continue(a) => {
                    for (to, p) in benchmark.pairs().follow(pair, a) {
                        *next.entry(to).or_insert(0.0) += probability * p;
                    }
                }
            }
        }
        here = next;
    }
    Ok(stops)
}
