//! The rest of Section 4, and the end of Section 2: regret by gap, cost and size.

use std::sync::Arc;

use emab::Problem;
use emab::oracle::{Benchmark, Optimal, Pairs};
use emab_report::{Claim, Verdict, number};

use crate::fit::slope;
use crate::instances;
use crate::measurement::{Estimate, claim, exact, power_verdict, runs_of};
use crate::runner::{LedgerError, Runner, learner};
use crate::section2::expected_stop;

/// FeedBAL with the variance proxy of the instances' noise.
const LEARNER: &str = "feedbal:sigma2=0.05,delta=0.01";

pub(crate) fn claims(runner: &mut Runner<'_>) -> Result<Vec<Claim>, LedgerError> {
    let mut claims = hardness(runner)?;
    claims.push(costs()?);
    Ok(claims)
}

/// Regret by one quantity of a family of problems.
struct Family {
    sizes: Vec<f64>,
    regrets: Vec<Estimate>,
}

impl Family {
    fn run(
        runner: &mut Runner<'_>,
        what: &str,
        sizes: &[f64],
        problem: impl Fn(f64) -> Result<Arc<Problem>, LedgerError>,
        (runs, episodes): (u64, u64),
    ) -> Result<Family, LedgerError> {
        let mut regrets = Vec::new();
        for &size in sizes {
            let learner = learner(LEARNER)?;
            let problem = problem(size)?;
            regrets.push(runner.final_regret(what, problem, learner, episodes, runs)?);
        }
        let sizes = sizes.to_vec();
        Ok(Family { sizes, regrets })
    }

    /// The slope of a line through the logarithms.
    fn power(&self) -> Estimate {
        let points = self.sizes.iter().zip(&self.regrets);
        let points = points
            .map(|(size, Estimate(mean, stderr))| (size.ln(), Estimate(mean.ln(), stderr / mean)));
        slope(&points.collect::<Vec<_>>())
    }
}

fn list(sizes: &[f64], values: &[Estimate]) -> String {
    let each = sizes.iter().zip(values);
    let each: Vec<String> = each.map(|(size, v)| format!("{size}: {v}")).collect();
    each.join("; ")
}

/// `Omega / Delta^2` as the hardness of a problem: by the gap, where `Omega = Delta`, so that regret should be proportional to
/// `1 / Delta`, and by `Omega` at one gap.
fn hardness(runner: &mut Runner<'_>) -> Result<Vec<Claim>, LedgerError> {
    let (episodes, runs) = (200_000, runner.settings.scaled(100, 40));
    let gaps = [0.05, 0.1, 0.2, 0.4];
    let by_gap = Family::run(runner, "hardness", &gaps, instances::gap, (runs, episodes))?;
    let each = gaps.iter().zip(&by_gap.regrets);
    let errors: Vec<Estimate> = each.map(|(gap, regret)| regret.divided_by(*gap)).collect();
    let power = by_gap.power();
    let how = format!(
        "two steps with gaps of 0.05 to 0.4, {} each",
        runs_of(runs, episodes)
    );
    let mut claims = vec![
        claim(
            "Section 4",
            "the smaller the gap, the more often the wrong action is chosen",
            how.clone(),
            format!("wrong choices by gap: {}", list(&gaps, &errors)),
            Verdict::all(errors.windows(2).map(|pair| pair[1].less(pair[0]))),
        ),
        // Small gaps are not fully learned after so many episodes, which makes the line a little less steep.
        claim(
            "Section 4",
            "regret scales linearly with Omega / Delta^2, the hardness of the problem: by Delta",
            format!(
                "{how}; here Omega = Delta, so that the power of Delta should be -1 (to within 0.2), by a line through the logarithms"
            ),
            format!(
                "regret by gap: {}; power {power}",
                list(&gaps, &by_gap.regrets)
            ),
            power_verdict(power, -1.0),
        ),
    ];
    let (gap, omegas) = (0.2, [0.4, 0.8, 1.6, 3.2]);
    let (episodes, runs) = (20_000, runner.settings.scaled(200, 40));
    type Instance = fn(f64, f64) -> Result<Arc<Problem>, LedgerError>;
    let families: [(&str, Instance); 2] = [
        (
            "where the wrong action loses what the benchmark earns after the right one",
            instances::lost_later,
        ),
        (
            "where Omega is a worst continuation that the benchmark avoids",
            instances::worst_continuation,
        ),
    ];
    for (which, instance) in families {
        let problem = |omega: f64| instance(gap, omega - gap);
        let family = Family::run(runner, "Omega", &omegas, problem, (runs, episodes))?;
        let power = family.power();
        claims.push(claim(
            "Section 4",
            format!("regret scales linearly with Omega at the same Delta, {which}"),
            format!(
                "three steps, Delta = {gap}, Omega from 0.4 to 3.2, {} each; the power of Omega should be 1 (to within 0.2)",
                runs_of(runs, episodes)
            ),
            format!(
                "regret by Omega: {}; power {power}",
                list(&omegas, &family.regrets)
            ),
            power_verdict(power, 1.0),
        ));
    }
    Ok(claims)
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

/// Polynomial in the numbers of steps, states and actions: the power does not grow with them.
pub(crate) fn polynomial(runner: &mut Runner<'_>) -> Result<Vec<Claim>, LedgerError> {
    type Instance = fn(usize) -> Result<Arc<Problem>, LedgerError>;
    let families: [(&str, Instance); 3] = [
        ("steps", |n| instances::all_pairs(n, 4, 2)),
        ("states", |n| instances::all_pairs(4, n, 2)),
        ("actions", |n| instances::all_pairs(4, 4, n)),
    ];
    let mut claims = Vec::new();
    for (of, instance) in families {
        claims.push(growth(runner, of, instance)?);
    }
    Ok(claims)
}

fn growth(
    runner: &mut Runner<'_>,
    of: &str,
    instance: fn(usize) -> Result<Arc<Problem>, LedgerError>,
) -> Result<Claim, LedgerError> {
    let (episodes, runs) = (4000, runner.settings.scaled(200, 50));
    let sizes = [4.0, 8.0, 16.0, 32.0];
    let problem = |size: f64| instance(size as usize);
    let Family { regrets, .. } = Family::run(runner, of, &sizes, problem, (runs, episodes))?;
    // What does not learn at the largest size must not pass.
    let largest = problem(sizes[3])?;
    let random = runner.final_regret(of, largest, learner("random")?, episodes, runs)?;
    let power = |a: Estimate, b: Estimate| {
        let error = (a.1 / a.0).hypot(b.1 / b.0) / std::f64::consts::LN_2;
        Estimate((b.0 / a.0).log2(), error)
    };
    let first = power(regrets[0], regrets[1]);
    let (end, control) = (power(regrets[2], regrets[3]), power(regrets[2], random));
    // An exponential's power doubles with every doubling; a polynomial's does not grow.
    let limit = Estimate(1.5 * first.0.max(1.0), 1.5 * first.1);
    let reachable = |size: f64| -> Result<String, LedgerError> {
        let mut pairs = Pairs::new(problem(size)?)?;
        pairs.expand_all(Optimal::LIMIT, "a count")?;
        let choices = |pair| pairs.allowed(pair).count() + 1;
        let triplets: usize = pairs.iter().map(choices).sum();
        Ok(format!("{} pairs and {triplets} triplets", pairs.len()))
    };
    Ok(claim(
        "Abstract, Section 2.4",
        format!("regret grows at most polynomially with the number of {of}"),
        format!(
            "4 to 32 {of}, with {} to {} that can be reached, all pairs by the benchmark; {}; the power from 16 to 32 must be less than \
             1.5 times that from 4 to 8, or than 1.5; control: choices at random with 32",
            reachable(sizes[0])?,
            reachable(sizes[3])?,
            runs_of(runs, episodes)
        ),
        format!(
            "regret: {}; power {first} from 4 to 8, {end} from 16 to 32, {control} with the control",
            list(&sizes, &regrets)
        ),
        end.less(limit).with_control(control.less(limit)),
    ))
}
