//! Theorem 2, its logarithm, and Corollary 2.

use emab::theory::Bounds;
use emab_report::{Claim, Picture, PlotOptions, Series, SeriesPoint, Verdict, draw_curves, number};

use crate::figures::Figures;
use crate::fit::slope;
use crate::instances;
use crate::measurement::{Estimate, claim, exact, regret_at};
use crate::runner::{LedgerError, Runner, builtin, learner, learner_of};

pub(crate) fn theorem2(runner: &mut Runner<'_>) -> Result<Claim, LedgerError> {
    let runs = runner.settings.scaled(200, 50);
    let mut verdicts = Vec::new();
    let mut seen = Vec::new();
    for (name, text) in [
        ("resource", "feedbal:delta=1/n"),
        ("parity", "feedbal:delta=1/n"),
        ("feedback-gap", "feedbal:delta=1/n,width=sound"),
    ] {
        let file = builtin(name)?;
        for episodes in [200, 2000] {
            let config = learner_of(&file, text)?.for_episodes(episodes)?;
            let bound =
                Bounds::new(file.problem()?, &config.feedbal_parameters()?, episodes)?.theorem2;
            let regret =
                runner.final_regret("Theorem 2", file.problem()?, config, episodes, runs)?;
            verdicts.push(regret.below(bound.printed.min(bound.derived)));
            seen.push(format!(
                "{name}, n = {episodes}: {regret} (bound {} as printed, {} as derived)",
                number(bound.printed),
                number(bound.derived)
            ));
        }
    }
    Ok(claim(
        "Theorem 2",
        "with delta = 1/n the expected regret is below its bound",
        format!("three problems, {runs} runs each; feedback-gap with width=sound"),
        seen.join("; "),
        Verdict::all(verdicts),
    ))
}

/// Theorem 2's O(log n), where gaps are wide enough for it to be seen.
pub(crate) fn logarithm(
    runner: &mut Runner<'_>,
    figures: &Figures,
) -> Result<(Claim, Picture), LedgerError> {
    let runs = runner.settings.scaled(400, 100);
    let mut points = Vec::new();
    let mut bound = Vec::new();
    let sizes: Vec<u64> = (8..=16).map(|i| 1 << i).collect();
    for &episodes in &sizes {
        let problem = instances::gap(0.3)?;
        let config = learner("feedbal:sigma2=0.05,delta=1/n")?.for_episodes(episodes)?;
        bound.push(Bounds::new(problem.clone(), &config.feedbal_parameters()?, episodes)?.theorem2);
        let regret = runner.final_regret("the logarithm", problem, config, episodes, runs)?;
        points.push(((episodes as f64).ln(), regret));
    }
    let half = points.len() / 2;
    let [all, early, late] = [&points[..], &points[..=half], &points[half..]].map(slope);
    // A logarithm has the same slope everywhere; a power of n doubles it with every few doublings of n.
    let verdict = match early.less(late) {
        Verdict::Holds => Verdict::Fails,
        _ if all.1.is_finite() && all.0 > 3.0 * all.1 => Verdict::Holds,
        _ => Verdict::Undecided,
    };
    let n = runner.settings.episodes;
    let exponent = figures.results.first().map(|result| {
        let at = |n| regret_at(result, n, runner.settings.runs).0;
        (at(n) / at(n / 2)).log2()
    });
    let section5 = match exponent.filter(|exponent| exponent.is_finite()) {
        Some(exponent) => format!(
            ". In Section 5's problem, whose gaps are small, regret grows like n^{exponent:.2} from n = {} to {}: no logarithm yet",
            number((n / 2) as f64),
            number(n as f64)
        ),
        None => String::new(),
    };
    let claim = claim(
        "Theorem 2",
        "with delta = 1/n the expected regret grows like log n",
        format!(
            "two steps, gap 0.3: n from {} to {} by doubling, {runs} runs each; line through regret over ln n, which must be as steep in the lower half as in the upper",
            sizes[0],
            sizes[sizes.len() - 1]
        ),
        format!(
            "slope {all} per unit of ln n, {early} in the lower half and {late} in the upper{section5}"
        ),
        verdict,
    );
    let line = |label: &str, bound, value: &dyn Fn(usize) -> Estimate| {
        let points = sizes.iter().enumerate().map(|(i, &n)| {
            let Estimate(mean, stderr) = value(i);
            SeriesPoint::mean(n as f64, mean, stderr, runs)
        });
        Series {
            label: label.into(),
            points: points.collect(),
            bound,
        }
    };
    let known = |value: f64| Estimate(value, 0.0);
    let curves = [
        line("FeedBAL, delta = 1/n", false, &|i| points[i].1),
        line("Theorem 2, printed", true, &|i| known(bound[i].printed)),
        line("Theorem 2, derived", true, &|i| known(bound[i].derived)),
        line("Theorem 2, tight", true, &|i| known(bound[i].tight)),
    ];
    let options = PlotOptions {
        title: format!("Expected regret where gaps are wide ({runs} runs per point)"),
        x_label: "n, the number of episodes".into(),
        y_label: "expected regret at n".into(),
        log_x: true,
        ..PlotOptions::default()
    };
    Ok((claim, draw_curves(&curves, &options)?))
}

pub(crate) fn corollary2(runner: &mut Runner<'_>) -> Result<Vec<Claim>, LedgerError> {
    let (runs, episodes) = (runner.settings.scaled(400, 50), 2000);
    let file = builtin("feedback-gap")?;
    let config = learner_of(&file, "feedbal:delta=1/n,width=sound")?.for_episodes(episodes)?;
    let bounds = Bounds::new(file.problem()?, &config.feedbal_parameters()?, episodes)?;
    let regret = runner.final_regret("Corollary 2", file.problem()?, config, episodes, runs)?;
    let bound = bounds.corollary2;
    let resource = builtin("resource")?;
    let parameters = learner_of(&resource, "feedbal")?.feedbal_parameters()?;
    let section5 = Bounds::new(resource.problem()?, &parameters, episodes)?;
    Ok(vec![
        claim(
            "Corollary 2",
            "where Assumption 2 holds, the expected regret with delta = 1/n is below its bound",
            format!(
                "problem `feedback-gap` with width=sound, {runs} runs of {episodes} episodes; Assumption 2 checked exactly"
            ),
            format!(
                "Assumption 2 {}; regret {regret}, bound {} as printed and {} as derived",
                exact(bounds.assumption2.holds).text(),
                number(bound.printed),
                number(bound.derived)
            ),
            Verdict::all([
                regret.below(bound.printed.min(bound.derived)),
                exact(bounds.assumption2.holds),
            ]),
        ),
        claim(
            "Assumption 2",
            "Section 5's problem meets it (the paper does not say so; Corollary 2 needs it)",
            "all triplets, exactly",
            format!(
                "{} of {} triplets break it: Corollary 2 does not apply there",
                section5.assumption2.violations.len(),
                section5.triplets.len()
            ),
            exact(section5.assumption2.holds),
        ),
    ])
}
