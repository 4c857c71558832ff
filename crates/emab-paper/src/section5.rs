//! Section 5 and the additional results: what the figures show.

use emab::learners::MAX_FIXED_OUTCOMES;
use emab::oracle::{Benchmark, Optimal, best_fixed};
use emab::{Role, Stream};
use emab_report::{Claim, Verdict, number};
use emab_sim::results::LearnerResult;

use crate::figures::{Figures, TITLES};
use crate::instances;
use crate::measurement::{MIN_RUNS, exact, last, measured_text, regret_at};
use crate::reference::{AT, REGRET};
use crate::runner::{LedgerError, Runner};

pub(crate) fn claims(runner: &Runner<'_>, figures: &Figures) -> Result<Vec<Claim>, LedgerError> {
    let mut claims = vec![optimality(runner)?];
    claims.extend(baselines(runner, figures)?);
    claims.extend(sigma2(runner, &figures.results));
    claims.extend(reference(&figures.results, runner.settings.runs));
    Ok(claims)
}

/// The benchmark is the optimal policy, for every discount and every decreasing sequence of probabilities.
fn optimality(runner: &Runner<'_>) -> Result<Claim, LedgerError> {
    let mut problems = Vec::new();
    for i in 1..=20 {
        for j in 1..=20 {
            let (beta, p) = (f64::from(i) / 20.0, f64::from(j) / 20.0);
            problems.push(instances::resource(10, beta, move |t| {
                p / (t as f64).sqrt()
            })?);
        }
    }
    let laws = runner.settings.scaled(1000, 200);
    for law in 0..laws {
        let mut stream = Stream::new(runner.settings.seed, law, Role::Learner);
        let beta = stream.uniform();
        let mut p: Vec<f64> = (0..10).map(|_| stream.uniform()).collect();
        p.sort_by(|a, b| b.total_cmp(a));
        problems.push(instances::resource(10, beta, move |t| p[t - 1])?);
    }
    let all = problems.len();
    let mut worst = 0.0_f64;
    for problem in problems {
        let mut benchmark = Benchmark::new(problem)?;
        let optimal = Optimal::new(benchmark.pairs_mut())?;
        let start = benchmark.pairs().start();
        let best = optimal.value(start);
        worst = worst.max((best - benchmark.value(start)?) / best.abs().max(f64::MIN_POSITIVE));
    }
    Ok(Claim {
        ours: false,
        place: "Section 5".into(),
        says: "the benchmark is the optimal policy".into(),
        how: format!(
            "{all} problems solved exactly: beta and p from 0.05 to 1 in steps of 0.05, and {laws} random falling p_t"
        ),
        measured: if worst > 0.0 {
            format!("it falls short of the optimum by at most {worst:.0e} of it")
        } else {
            "it never falls short of the optimum".into()
        },
        verdict: exact(worst <= 1e-12),
    })
}

fn baselines(runner: &Runner<'_>, figures: &Figures) -> Result<Vec<Claim>, LedgerError> {
    let [feedbal, ucb1, ucb1v, ..] = figures.results.as_slice() else {
        return Ok(Vec::new());
    };
    let (runs, n) = (runner.settings.runs, runner.settings.episodes);
    let last = |result: &LearnerResult| last(result, runs);
    let show_last = |result: &LearnerResult| measured_text(last(result));
    let below = |a: &LearnerResult, b: &LearnerResult| Verdict::less(last(a), last(b));
    let share = |of: &LearnerResult| 100.0 * last(feedbal).0 / last(of).0;
    let how = || format!("{runs} runs of {} episodes", number(n as f64));

    let mut benchmark = Benchmark::new(figures.problem.clone())?;
    let optimal = Optimal::new(benchmark.pairs_mut())?;
    let fixed = best_fixed(benchmark.pairs(), &optimal, MAX_FIXED_OUTCOMES);
    let fixed = fixed.map_or(f64::NAN, |fixed| fixed.value);
    let start = benchmark.pairs().start();
    let value = benchmark.value(start)?;
    // The last quarter, in which little is left to learn. Both sums share most of their runs' noise, so that the
    // error of their difference is, if anything, smaller than this.
    let gain = |n: u64| feedbal.curve.iter().find(|point| point.episode == n);
    let quarter = n - n / 4;
    let late = match (gain(quarter), gain(n)) {
        (Some(before), Some(after)) if n > quarter && runs >= MIN_RUNS => {
            let span = (n - quarter) as f64;
            let mean = (after.gain - before.gain) / span;
            (mean, after.gain_stderr.hypot(before.gain_stderr) / span)
        }
        _ => (f64::NAN, f64::INFINITY),
    };
    Ok(vec![
        Claim {
            ours: false,
            place: "Section 5".into(),
            says: "FeedBAL has far less regret than UCB1 and UCB1-V".into(),
            how: how(),
            measured: format!(
                "FeedBAL {}: {:.0} % of UCB1-V's {} and {:.0} % of UCB1's {}",
                show_last(feedbal),
                share(ucb1v),
                show_last(ucb1v),
                share(ucb1),
                show_last(ucb1)
            ),
            verdict: Verdict::all([below(feedbal, ucb1v), below(feedbal, ucb1)]),
        },
        Claim {
            ours: false,
            place: "Section 5, figure".into(),
            says: "UCB1-V, which updates every prefix, lies below UCB1".into(),
            how: how(),
            measured: format!("UCB1-V {}, UCB1 {}", show_last(ucb1v), show_last(ucb1)),
            verdict: below(ucb1v, ucb1),
        },
        Claim {
            ours: false,
            place: "Section 5".into(),
            says: "FeedBAL does better because it adapts to the feedback within an episode".into(),
            how: format!(
                "what it earns in the last quarter of {} episodes, against the best sequence that does not adapt (exact)",
                number(n as f64)
            ),
            measured: format!(
                "FeedBAL {} per episode, the best fixed sequence {}, the benchmark {}",
                measured_text(late),
                number(fixed),
                number(value)
            ),
            verdict: Verdict::less((fixed, 0.0), late),
        },
    ])
}

fn sigma2(runner: &Runner<'_>, results: &[LearnerResult]) -> Vec<Claim> {
    let [feedbal, _, _, low, small, large] = results else {
        return Vec::new();
    };
    let runs = runner.settings.runs;
    let below = |a, b| Verdict::less(last(a, runs), last(b, runs));
    let sweep = format!(
        "0.02: {}; 0.05: {}; 0.2: {}; 0.4: {}",
        measured_text(last(low, runs)),
        measured_text(last(small, runs)),
        measured_text(last(feedbal, runs)),
        measured_text(last(large, runs))
    );
    let claim = |says: &str, verdict| Claim {
        ours: false,
        place: "Additional results".into(),
        says: says.into(),
        how: format!(
            "{runs} runs of {} episodes",
            number(runner.settings.episodes as f64)
        ),
        measured: sweep.clone(),
        verdict,
    };
    vec![
        claim(
            "of σ² = 0.02, 0.05, 0.2, 0.4 the regret is smallest at 0.05",
            Verdict::all([low, feedbal, large].map(|other| below(small, other))),
        ),
        claim(
            "the regret is largest at σ² = 0.02: widths that are too narrow cost dearly",
            Verdict::all([small, feedbal, large].map(|other| below(other, low))),
        ),
        claim(
            "σ² = 0.4 is worse than 0.2 and better than 0.02",
            Verdict::all([below(feedbal, large), below(large, low)]),
        ),
    ]
}

/// Section 2.4, on the runs of the figures.
pub(crate) fn definitions(
    runner: &Runner<'_>,
    figures: &Figures,
) -> Result<Vec<Claim>, LedgerError> {
    let (runs, n) = (runner.settings.runs, runner.settings.episodes);
    let mut benchmark = Benchmark::new(figures.problem.clone())?;
    let start = benchmark.pairs().start();
    let value = benchmark.value(start)?;
    let mut worst = (0.0, String::new());
    for (result, title) in figures.results.iter().zip(TITLES) {
        let Some(point) = result.curve.last() else {
            continue;
        };
        let realised = n as f64 * value - point.gain;
        let away = (realised - point.regret).abs() / point.stderr.hypot(point.gain_stderr);
        if away > worst.0 {
            let pair = format!(
                "{title}: {} against {}",
                measured_text((realised, point.gain_stderr)),
                measured_text((point.regret, point.stderr))
            );
            worst = (away, pair);
        }
    }
    let Some(feedbal) = figures.results.first() else {
        return Ok(Vec::new());
    };
    let tenth = (n / 10).max(1);
    let early = regret_at(feedbal, tenth, runs);
    let late = last(feedbal, runs);
    let per = |(mean, stderr): (f64, f64), n: u64| (mean / n as f64, stderr / n as f64);
    Ok(vec![
        Claim {
            ours: false,
            place: "Section 2.4".into(),
            says: "the regret of Equation 1 has the expectation of Equation 2".into(),
            how: "all learners of the figures: the benchmark's value times n less what was earned (Equation 2), against the sum of V - Q (the expectation of Equation 1); at most 4 standard errors apart".into(),
            measured: if runs < MIN_RUNS {
                "too few runs for an interval".into()
            } else {
                format!("at most {:.1} standard errors apart ({})", worst.0, worst.1)
            },
            verdict: match worst.0 {
                _ if runs < MIN_RUNS => Verdict::Undecided,
                away if away <= 4.0 => Verdict::Holds,
                _ => Verdict::Fails,
            },
        },
        Claim {
            ours: false,
            place: "Section 2.4".into(),
            says: "with sublinear regret the average reward tends to the benchmark's".into(),
            how: format!("FeedBAL's regret per episode after {} and after {} episodes, {runs} runs",
                number(tenth as f64),
                number(n as f64)),
            measured: format!("{}, then {}", measured_text(per(early, tenth)), measured_text(per(late, n))),
            verdict: Verdict::less(per(late, n), per(early, tenth)),
        },
    ])
}

/// Distance of the curves from those of an independent program, at common episodes.
fn reference(results: &[LearnerResult], runs: u64) -> Option<Claim> {
    let mut worst: Option<(f64, String)> = None;
    for ((result, reference), title) in results.iter().zip(REGRET).zip(TITLES) {
        for (n, expected) in AT.iter().zip(reference) {
            let Some(point) = result.curve.iter().find(|point| point.episode == *n) else {
                continue;
            };
            let away = (point.regret - expected).abs() / point.stderr;
            if point.stderr > 0.0 && worst.as_ref().is_none_or(|(most, _)| away > *most) {
                let what = format!(
                    "{title} at n = {}: {} against {}",
                    number(*n as f64),
                    number(point.regret),
                    number(expected)
                );
                worst = Some((away, what));
            }
        }
    }
    let (away, what) = worst?;
    Some(Claim {
        ours: true,
        place: "our own reference".into(),
        says: "the regret agrees with that of a separate program (400,000 runs)".into(),
        how: "every checkpoint in common, all learners of the figures; at most 4 standard errors"
            .into(),
        measured: format!("at most {away:.1} standard errors away ({what})"),
        verdict: match away {
            _ if runs < MIN_RUNS => Verdict::Undecided,
            away => exact(away <= 4.0),
        },
    })
}
