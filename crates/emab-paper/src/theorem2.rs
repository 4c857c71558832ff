//! Theorem 2, its logarithm, and Corollary 2.

use emab::theory::Bounds;
use emab_report::{Claim, Picture, PlotOptions, Series, SeriesPoint, Verdict, draw_curves, number};

use crate::figures::Figures;
use crate::fit::Line;
use crate::instances;
use crate::measurement::{exact, measured_text, regret_at};
use crate::runner::{LedgerError, Runner, builtin, learner, learner_of};
use crate::theorems::claim;

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
            verdicts.push(Verdict::less(
                regret,
                (bound.printed.min(bound.derived), 0.0),
            ));
            seen.push(format!(
                "{name}, n = {episodes}: {} (bound {} as printed, {} as derived)",
                measured_text(regret),
                number(bound.printed),
                number(bound.derived)
            ));
        }
    }
    Ok(claim(
        "Theorem 2",
        "with delta = 1/n the expected regret is below its bound",
        &format!("three problems, {runs} runs each; feedback-gap with width=sound"),
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
        let (regret, stderr) =
            runner.final_regret("the logarithm", problem, config, episodes, runs)?;
        points.push(((episodes as f64).ln(), regret, stderr));
    }
    let (all, half) = (Line::through(&points), points.len() / 2);
    let (early, late) = (
        Line::through(&points[..=half]),
        Line::through(&points[half..]),
    );
    let slope = |line: Option<Line>| {
        line.map_or((f64::NAN, f64::INFINITY), |line| (line.slope, line.stderr))
    };
    let (all, early, late) = (slope(all), slope(early), slope(late));
    // A logarithm has the same slope everywhere; a power of n doubles it with every few doublings of n.
    let verdict = match Verdict::less(early, late) {
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
        &format!(
            "two steps, gap 0.3: n from {} to {} by doubling, {runs} runs each; line through regret over ln n, which must be as steep in the lower half as in the upper",
            sizes[0],
            sizes[sizes.len() - 1]
        ),
        format!(
            "slope {} per unit of ln n, {} in the lower half and {} in the upper{section5}",
            measured_text(all),
            measured_text(early),
            measured_text(late)
        ),
        verdict,
    );
    let line = |label: &str, dashed, values: Vec<(f64, f64)>| Series {
        label: label.into(),
        points: sizes
            .iter()
            .zip(values)
            .map(|(&n, (mean, stderr))| SeriesPoint {
                x: n as f64,
                mean,
                stderr,
            })
            .collect(),
        dashed,
    };
    let curves = [
        line(
            "FeedBAL, delta = 1/n",
            false,
            points.iter().map(|p| (p.1, p.2)).collect(),
        ),
        line(
            "Theorem 2, printed",
            true,
            bound.iter().map(|b| (b.printed, 0.0)).collect(),
        ),
        line(
            "Theorem 2, derived",
            true,
            bound.iter().map(|b| (b.derived, 0.0)).collect(),
        ),
        line(
            "Theorem 2, tight",
            true,
            bound.iter().map(|b| (b.tight, 0.0)).collect(),
        ),
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
            &format!(
                "problem `feedback-gap` with width=sound, {runs} runs of {episodes} episodes; Assumption 2 checked exactly"
            ),
            format!(
                "Assumption 2 {}; regret {}, bound {} as printed and {} as derived",
                if bounds.assumption2.holds {
                    "holds"
                } else {
                    "does not hold"
                },
                measured_text(regret),
                number(bound.printed),
                number(bound.derived)
            ),
            Verdict::all([
                Verdict::less(regret, (bound.printed.min(bound.derived), 0.0)),
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
