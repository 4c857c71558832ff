//! The rest of Section 4, and the end of Section 2: regret by gap, cost and horizon.

use emab::oracle::Benchmark;
use emab_report::{Claim, Verdict, number};

use crate::fit::Line;
use crate::instances;
use crate::measurement::{exact, measured_text};
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
    let errors: Vec<(f64, f64)> = gaps
        .iter()
        .zip(&regrets)
        .map(|(gap, regret)| (regret.0 / gap, regret.1 / gap))
        .collect();
    let list = |values: &[(f64, f64)]| {
        let each = gaps.iter().zip(values);
        let each: Vec<String> = each
            .map(|(gap, v)| format!("{gap}: {}", measured_text(*v)))
            .collect();
        each.join("; ")
    };
    let points: Vec<(f64, f64, f64)> = gaps
        .iter()
        .zip(&regrets)
        .map(|(gap, (mean, stderr))| (f64::ln(*gap), mean.ln(), stderr / mean))
        .collect();
    let (slope, stderr) =
        Line::through(&points).map_or((f64::NAN, f64::INFINITY), |line| (line.slope, line.stderr));
    let how = format!(
        "two steps with gaps of 0.05 to 0.4, {runs} runs of {} episodes each",
        number(episodes as f64)
    );
    Ok(vec![
        Claim {
            ours: false,
            place: "Section 4".into(),
            says: "the smaller the gap, the more often the wrong action is chosen".into(),
            how: how.clone(),
            measured: format!("wrong choices by gap: {}", list(&errors)),
            verdict: Verdict::all(
                errors
                    .windows(2)
                    .map(|pair| Verdict::less(pair[1], pair[0])),
            ),
        },
        Claim {
            ours: false,
            place: "Section 4".into(),
            says: "regret scales with Omega / Delta^2, the hardness of the problem".into(),
            how: format!(
                "{how}; here Omega = Delta, so that the power of Delta should be -1 (to within 0.2), by a line through the logarithms"
            ),
            measured: format!(
                "regret by gap: {}; power {}",
                list(&regrets),
                measured_text((slope, stderr))
            ),
            // Small gaps are not fully learned after so many episodes, which makes the line a little less steep.
            verdict: match (slope + 1.0).abs() {
                _ if !stderr.is_finite() => Verdict::Undecided,
                away if away <= 0.2 + 3.0 * stderr => Verdict::Holds,
                _ => Verdict::Fails,
            },
        },
    ])
}

fn costs() -> Result<Claim, LedgerError> {
    let costs: Vec<f64> = (0..=20).map(|i| f64::from(i) * 0.04).collect();
    let mut steps = Vec::new();
    for &cost in &costs {
        steps.push(expected_stop(&mut Benchmark::new(
            instances::resource_at_cost(cost)?,
        )?)?);
    }
    let falls = steps.windows(2).all(|pair| pair[1] <= pair[0] + 1e-12);
    Ok(Claim {
        ours: false,
        place: "Section 4, Remark 1".into(),
        says: "the higher the costs, the earlier the benchmark stops".into(),
        how: format!(
            "Section 5's problem with {} costs from 0 to 0.8 per step, exactly",
            costs.len()
        ),
        measured: format!(
            "it stops at step {} on average without costs, {} at 0.2, {} at 0.8; {}",
            number(steps[0]),
            number(steps[5]),
            number(steps[steps.len() - 1]),
            if falls {
                "never later at a higher cost"
            } else {
                "later at some higher cost"
            }
        ),
        verdict: exact(falls && steps[0] > steps[steps.len() - 1]),
    })
}

/// Polynomial in the number of steps and states: the power does not grow with them.
pub(crate) fn horizon(runner: &mut Runner<'_>) -> Result<Claim, LedgerError> {
    let (episodes, runs) = (2000, runner.settings.scaled(400, 100));
    let steps = [8, 16, 32, 64];
    let mut regrets = Vec::new();
    for horizon in steps {
        regrets.push(runner.final_regret(
            "longer horizons",
            instances::resource(horizon, 0.9, |t| 0.8 / (t as f64).sqrt())?,
            learner("feedbal:sigma2=0.2,delta=0.01")?,
            episodes,
            runs,
        )?);
    }
    let powers: Vec<(f64, f64)> = regrets
        .windows(2)
        .map(|pair| {
            let [(a, ea), (b, eb)] = [pair[0], pair[1]];
            (
                (b / a).log2(),
                (ea / a).hypot(eb / b) / std::f64::consts::LN_2,
            )
        })
        .collect();
    let all: Vec<String> = steps
        .iter()
        .zip(&regrets)
        .map(|(steps, regret)| format!("{steps}: {}", measured_text(*regret)))
        .collect();
    let (first, end) = (powers[0], powers[powers.len() - 1]);
    Ok(Claim {
        ours: false,
        place: "Section 2.4, abstract".into(),
        says: "regret grows at most polynomially with steps and states".into(),
        how: format!(
            "Section 5's problem with 8 to 64 steps and as many states, {runs} runs of {episodes} episodes; the power between doublings, which an exponential would double and which must not grow by half"
        ),
        measured: format!(
            "regret by steps: {}; power {} from 8 to 16, {} from 32 to 64",
            all.join("; "),
            measured_text(first),
            measured_text(end)
        ),
        // An exponential's power would double each time; a polynomial's does not grow.
        verdict: Verdict::less(end, (1.5 * first.0, 1.5 * first.1)),
    })
}
