//! The rest of Section 4, and the end of Section 2: regret by gap, cost and horizon.

use emab::oracle::Benchmark;
use emab_report::{Claim, Verdict, number};

use crate::fit::slope;
use crate::instances;
use crate::measurement::{Estimate, claim, exact, runs_of};
use crate::runner::{LedgerError, Runner, learner};
use crate::section2::expected_stop;

pub(crate) fn claims(runner: &mut Runner<'_>) -> Result<Vec<Claim>, LedgerError> {
    let mut claims = hardness(runner)?;
    claims.push(costs()?);
    Ok(claims)
}

/// `Omega / Delta^2` as the hardness of a problem: here `Omega = Delta`, so that regret should be proportional to `1 / Delta`.
fn hardness(runner: &mut Runner<'_>) -> Result<Vec<Claim>, LedgerError> {
    let (episodes, runs) = (200_000, runner.settings.scaled(100, 20));
    let gaps = [0.05, 0.1, 0.2, 0.4];
    let mut regrets = Vec::new();
    for gap in gaps {
        regrets.push(runner.final_regret(
            "hardness",
            instances::gap(gap)?,
            learner("feedbal:sigma2=0.05,delta=0.01")?,
            episodes,
            runs,
        )?);
    }
    let errors: Vec<Estimate> = gaps
        .iter()
        .zip(&regrets)
        .map(|(gap, regret)| regret.divided_by(*gap))
        .collect();
    let list = |values: &[Estimate]| {
        let each = gaps.iter().zip(values);
        let each: Vec<String> = each.map(|(gap, v)| format!("{gap}: {v}")).collect();
        each.join("; ")
    };
    let points: Vec<(f64, Estimate)> = gaps
        .iter()
        .zip(&regrets)
        .map(|(gap, Estimate(mean, stderr))| (f64::ln(*gap), Estimate(mean.ln(), stderr / mean)))
        .collect();
    let power = slope(&points);
    let how = format!(
        "two steps with gaps of 0.05 to 0.4, {} each",
        runs_of(runs, episodes)
    );
    Ok(vec![
        claim(
            "Section 4",
            "the smaller the gap, the more often the wrong action is chosen",
            how.clone(),
            format!("wrong choices by gap: {}", list(&errors)),
            Verdict::all(errors.windows(2).map(|pair| pair[1].less(pair[0]))),
        ),
        claim(
            "Section 4",
            "regret scales with Omega / Delta^2, the hardness of the problem",
            format!(
                "{how}; here Omega = Delta, so that the power of Delta should be -1 (to within 0.2), by a line through the logarithms"
            ),
            format!("regret by gap: {}; power {power}", list(&regrets)),
            // Small gaps are not fully learned after so many episodes, which makes the line a little less steep.
            match (power.0 + 1.0).abs() {
                _ if !power.1.is_finite() => Verdict::Undecided,
                away => exact(away <= 0.2 + 3.0 * power.1),
            },
        ),
    ])
}

fn costs() -> Result<Claim, LedgerError> {
    let costs: Vec<f64> = (0..=20).map(|i| f64::from(i) * 0.04).collect();
    let mut steps = Vec::new();
    for &cost in &costs {
        let problem = instances::resource(10, 0.9, cost, |t| 0.8 / (t as f64).sqrt())?;
        steps.push(expected_stop(&mut Benchmark::new(problem)?)?);
    }
    let falls = steps.windows(2).all(|pair| pair[1] <= pair[0] + 1e-12);
    let [free, some, most] = [steps[0], steps[5], steps[steps.len() - 1]].map(number);
    let order = match falls {
        true => "never later at a higher cost",
        false => "later at some higher cost",
    };
    Ok(claim(
        "Section 4, Remark 1",
        "the higher the costs, the earlier the benchmark stops",
        format!(
            "Section 5's problem with {} costs from 0 to 0.8 per step, exactly",
            costs.len()
        ),
        format!(
            "it stops at step {free} on average without costs, {some} at 0.2, {most} at 0.8; {order}"
        ),
        exact(falls && steps[0] > steps[steps.len() - 1]),
    ))
}

/// Polynomial in the number of steps and states: the power does not grow with them.
pub(crate) fn horizon(runner: &mut Runner<'_>) -> Result<Claim, LedgerError> {
    let (episodes, runs) = (2000, runner.settings.scaled(400, 100));
    let steps = [8, 16, 32, 64];
    let mut regrets = Vec::new();
    for horizon in steps {
        regrets.push(runner.final_regret(
            "longer horizons",
            instances::resource(horizon, 0.9, 0.0, |t| 0.8 / (t as f64).sqrt())?,
            learner("feedbal:sigma2=0.2,delta=0.01")?,
            episodes,
            runs,
        )?);
    }
    let power = |pair: &[Estimate]| {
        let [Estimate(a, ea), Estimate(b, eb)] = [pair[0], pair[1]];
        let error = (ea / a).hypot(eb / b) / std::f64::consts::LN_2;
        Estimate((b / a).log2(), error)
    };
    let all: Vec<String> = steps
        .iter()
        .zip(&regrets)
        .map(|(steps, regret)| format!("{steps}: {regret}"))
        .collect();
    let (first, end) = (power(&regrets[..2]), power(&regrets[2..]));
    Ok(claim(
        "Section 2.4, abstract",
        "regret grows at most polynomially with steps and states",
        format!(
            "Section 5's problem with 8 to 64 steps and as many states, {runs} runs of {episodes} episodes; the power between doublings, which an exponential would double and which must not grow by half"
        ),
        format!(
            "regret by steps: {}; power {first} from 8 to 16, {end} from 32 to 64",
            all.join("; ")
        ),
        // An exponential's power would double each time; a polynomial's does not grow.
        end.less(Estimate(1.5 * first.0, 1.5 * first.1)),
    ))
}
