//! `emab reproduce`: the paper's two figures, and a verdict on each thing it says about them.

use std::time::Instant;

use emab::learners::{FIXED_WORK, LearnerConfig};
use emab::oracle::{Benchmark, Optimal, best_fixed, best_repeated};
use emab::{LearnerResult, Problem};
use emab_problem::ProblemFile;
use emab_report::{
    Claim, Folder, Picture, PlotOptions, Verdict, claims_markdown, claims_table, confidence, draw,
    number, regret_markdown, regret_series,
};
use emab_sim::{Experiment, Finish, check_checkpoints};
use serde_json::json;

use super::run::simulate;
use crate::args::Reproduce;
use crate::failure::Failure;
use crate::{load, terminal};

/// The learners of both figures: as they are asked for, and as the figures call them.
const LEARNERS: [(&str, &str); 6] = [
    ("feedbal", "FeedBAL, σ² = 0.2"),
    ("ucb1", "UCB1"),
    ("ucb1v", "UCB1-V"),
    ("feedbal:sigma2=0.02", "FeedBAL, σ² = 0.02"),
    ("feedbal:sigma2=0.05", "FeedBAL, σ² = 0.05"),
    ("feedbal:sigma2=0.4", "FeedBAL, σ² = 0.4"),
];

/// Expected regret from 400,000 runs of a separate program, at `REFERENCE_AT`, in the order of `LEARNERS`.
const REFERENCE: [[f64; 5]; 6] = [
    [17.17, 67.10, 174.96, 256.34, 366.51],
    [20.56, 132.09, 506.88, 918.60, 1680.42],
    [13.78, 98.47, 415.73, 775.61, 1455.88],
    [26.04, 120.51, 366.31, 610.50, 1046.30],
    [20.31, 70.40, 151.23, 203.55, 269.98],
    [16.88, 75.21, 218.71, 334.56, 497.93],
];
/// How many episodes the paper has.
const PAPER_EPISODES: u64 = 20_000;
const REFERENCE_AT: [u64; 5] = [100, 1000, 5000, 10_000, 20_000];

pub fn reproduce(args: &Reproduce, json: bool) -> Result<(), Failure> {
    let folder = Folder::create(&args.out)?;
    let began = Instant::now();
    let file = load::problem("resource")?;
    let experiment = experiment(args, &file)?;
    let mut state = experiment.state();
    let threads = args.threads.unwrap_or(0).into();
    let finish = simulate(&experiment, &mut state, threads, "reproducing", &mut |_| {})
        .map_err(|error| Failure::simulation(&file, error))?;
    if finish == Finish::Stopped {
        return Err(Failure::Work(
            "stopped; `emab reproduce` writes nothing before its end".into(),
        ));
    }
    let results = experiment.results(&state);
    let mut claims = figure_claims(&results, args.runs);
    claims.push(optimality_claim(&file)?);
    claims.extend(parity_claims()?);
    claims.extend(reference_claim(&results));

    let figure1 = figure(&results[..3], 0, "Section 5's problem", args)?;
    let sweep = [&results[3], &results[4], &results[0], &results[5]].map(Clone::clone);
    let figure2 = figure(&sweep, 3, "FeedBAL by the σ² it is told", args)?;
    let steps: u64 = results.iter().map(|result| result.steps).sum();
    let report = report(args, &results, &claims, steps);
    for (name, picture) in [("figure1", &figure1), ("figure2", &figure2)] {
        folder.write(format!("{name}.svg"), picture.svg.as_bytes())?;
        folder.write(format!("{name}.png"), &picture.png)?;
    }
    folder.write("report.md", report.as_bytes())?;

    let seconds = began.elapsed().as_secs_f64();
    if json {
        return terminal::print_json(&json!({
            "version": env!("CARGO_PKG_VERSION"),
            "seed": args.seed,
            "runs": args.runs,
            "episodes": args.episodes,
            "claims": claims,
            "learners": results,
            "folder": folder.path().display().to_string(),
            "seconds": seconds,
        }));
    }
    let mut text = claims_table(&claims, terminal::width());
    if args.episodes < PAPER_EPISODES {
        text += &format!(
            "\nThe paper has {PAPER_EPISODES} episodes; what it says need not hold after {}.",
            args.episodes
        );
    }
    text += &format!(
        "\n{} runs of {} episodes for each of {} learners, {} steps in {seconds:.1} s.",
        args.runs,
        args.episodes,
        results.len(),
        number(steps as f64)
    );
    text += &format!(
        "\nLook at {0}/figure1.png and {0}/figure2.png; {0}/report.md says all of this again.",
        folder.path().display()
    );
    terminal::print(&text)
}

fn experiment(args: &Reproduce, file: &ProblemFile) -> Result<Experiment, Failure> {
    let mut learners = Vec::new();
    for (text, _) in LEARNERS {
        learners.push(
            LearnerConfig::parse(text, file.learning())
                .map_err(|error| Failure::learner(file, error))?,
        );
    }
    // A hundred points along a linear axis, and those of the reference.
    let mut at: Vec<u64> = (1..=100)
        .map(|i| (u128::from(args.episodes) * i / 100).max(1) as u64)
        .collect();
    at.extend([1, 10, 50].iter().filter(|&&n| n <= args.episodes));
    at.extend(REFERENCE_AT.iter().filter(|&&n| n <= args.episodes));
    Ok(Experiment {
        problem: file.problem()?,
        learners,
        episodes: args.episodes,
        runs: args.runs,
        seed: args.seed,
        checkpoints: check_checkpoints(at, args.episodes)?,
        places: false,
    })
}

fn figure(
    results: &[LearnerResult],
    first: usize,
    title: &str,
    args: &Reproduce,
) -> Result<Picture, Failure> {
    let series: Vec<_> = results
        .iter()
        .map(|result| {
            let known = LEARNERS.iter().find(|(text, _)| *text == result.label);
            let label = known.map_or(result.label.as_str(), |(_, title)| title);
            // The first figure calls FeedBAL by its name alone, as the paper does.
            regret_series(
                if first == 0 {
                    label.split(',').next().unwrap_or(label)
                } else {
                    label
                },
                result,
            )
        })
        .collect();
    let options = PlotOptions {
        title: format!("{title} ({} runs, 95 % bands)", args.runs),
        x_label: "episodes".into(),
        y_label: "cumulative regret".into(),
        ..PlotOptions::default()
    };
    Ok(draw(&series, &options)?)
}

/// Regret and its standard error at the end; a single run has no error that could be known.
fn last(result: &LearnerResult, runs: u64) -> (f64, f64) {
    let (regret, stderr) = result
        .curve
        .last()
        .map_or((0.0, 0.0), |point| (point.regret, point.stderr));
    (regret, if runs < 2 { f64::INFINITY } else { stderr })
}

fn figure_claims(results: &[LearnerResult], runs: u64) -> Vec<Claim> {
    let [feedbal, ucb1, ucb1v, low, small, large] = results else {
        return Vec::new();
    };
    let episodes = feedbal.curve.last().map_or(0, |point| point.episode);
    let last = |result: &LearnerResult| last(result, runs);
    let show = |result: &LearnerResult| confidence(last(result).0, last(result).1);
    let below = |a: &LearnerResult, b: &LearnerResult| Verdict::less(last(a), last(b));
    let claim = |place: &str, says: &str, measured: String, verdict| Claim {
        place: place.into(),
        says: says.into(),
        measured,
        verdict,
    };
    let share = |of: &LearnerResult| 100.0 * last(feedbal).0 / last(of).0;
    let sweep = format!(
        "0.02: {}; 0.05: {}; 0.2: {}; 0.4: {}",
        show(low),
        show(small),
        show(feedbal),
        show(large)
    );
    vec![
        claim(
            "Section 5",
            "FeedBAL has far less regret than UCB1 and UCB1-V",
            format!(
                "at n = {episodes}: FeedBAL {}, which is {:.0} % of UCB1-V's {} and {:.0} % of UCB1's {}",
                show(feedbal),
                share(ucb1v),
                show(ucb1v),
                share(ucb1),
                show(ucb1)
            ),
            Verdict::all([below(feedbal, ucb1v), below(feedbal, ucb1)]),
        ),
        claim(
            "Section 5, figure",
            "UCB1-V, which updates every prefix, lies below UCB1",
            format!("UCB1-V {}, UCB1 {}", show(ucb1v), show(ucb1)),
            below(ucb1v, ucb1),
        ),
        claim(
            "Additional results",
            "of σ² = 0.02, 0.05, 0.2, 0.4 the regret is smallest at 0.05",
            sweep.clone(),
            Verdict::all([low, feedbal, large].map(|other| below(small, other))),
        ),
        claim(
            "Additional results",
            "and largest at 0.02: widths too narrow cost dearly",
            sweep.clone(),
            Verdict::all([small, feedbal, large].map(|other| below(other, low))),
        ),
        claim(
            "Additional results",
            "0.4 is worse than 0.2 and better than 0.02",
            sweep,
            Verdict::all([below(feedbal, large), below(large, low)]),
        ),
    ]
}

fn solved(
    file: &ProblemFile,
    problem: std::sync::Arc<Problem>,
) -> Result<(Benchmark, Optimal), Failure> {
    let wrong = |error| Failure::oracle(file, error);
    let mut benchmark = Benchmark::new(problem).map_err(wrong)?;
    let optimal = Optimal::new(benchmark.pairs_mut()).map_err(wrong)?;
    let start = benchmark.pairs().start();
    benchmark.value(start).map_err(wrong)?;
    Ok((benchmark, optimal))
}

fn optimality_claim(file: &ProblemFile) -> Result<Claim, Failure> {
    let wrong = |error| Failure::oracle(file, error);
    let (mut benchmark, optimal) = solved(file, file.problem()?)?;
    let start = benchmark.pairs().start();
    let value = benchmark.value(start).map_err(wrong)?;
    let best = optimal.value(start);
    let verdict = if (value - best).abs() <= 1e-12 * best.abs() {
        Verdict::Holds
    } else {
        Verdict::Fails
    };
    Ok(Claim {
        place: "Section 5".into(),
        says: "the benchmark is the optimal policy".into(),
        measured: format!("benchmark {value:.9}, optimum {best:.9} an episode, computed exactly"),
        verdict,
    })
}

fn parity_claims() -> Result<Vec<Claim>, Failure> {
    let file = load::problem("parity")?;
    let wrong = |error| Failure::oracle(&file, error);
    let (mut benchmark, optimal) = solved(&file, file.problem()?)?;
    let start = benchmark.pairs().start();
    let value = benchmark.value(start).map_err(wrong)?;
    let repeated = best_repeated(benchmark.pairs_mut()).map_err(wrong)?.value;
    let fixed = best_fixed(benchmark.pairs(), &optimal, FIXED_WORK);
    let all = fixed.as_ref().map_or("?".into(), |fixed| {
        format!("{} ({})", fixed.value, fixed.names(file.spec()).join(", "))
    });
    let holds = |holds| {
        if holds {
            Verdict::Holds
        } else {
            Verdict::Fails
        }
    };
    Ok(vec![
        Claim {
            place: "Section 2, example".into(),
            says: "the benchmark earns 7, which is optimal".into(),
            measured: format!(
                "benchmark {value}, optimum {}, computed exactly",
                optimal.value(start)
            ),
            verdict: holds(value == 7.0 && optimal.value(start) == 7.0),
        },
        Claim {
            place: "Section 2, example".into(),
            says: "the best fixed sequence earns 3".into(),
            measured: format!(
                "{repeated} among sequences that repeat one action, which are all the paper lists; \
                 {all} among all"
            ),
            verdict: match fixed.map(|fixed| fixed.value) {
                Some(3.0) => Verdict::Holds,
                _ if repeated == 3.0 => Verdict::HoldsInPart,
                _ => Verdict::Fails,
            },
        },
    ])
}

/// How far the curves are from those of the separate program, if they have an episode in common.
fn reference_claim(results: &[LearnerResult]) -> Option<Claim> {
    let mut worst: Option<(f64, String)> = None;
    for ((result, reference), (_, title)) in results.iter().zip(REFERENCE).zip(LEARNERS) {
        for (n, expected) in REFERENCE_AT.iter().zip(reference) {
            let Some(point) = result.curve.iter().find(|point| point.episode == *n) else {
                continue;
            };
            let away = (point.regret - expected).abs() / point.stderr;
            if point.stderr > 0.0 && worst.as_ref().is_none_or(|(most, _)| away > *most) {
                worst = Some((
                    away,
                    format!(
                        "{title} at n = {n}: {} for {expected}",
                        number(point.regret)
                    ),
                ));
            }
        }
    }
    let (away, what) = worst?;
    Some(Claim {
        place: "our own reference".into(),
        says:
            "the regret of a separate program, 400,000 runs, is met at every checkpoint in common"
                .into(),
        measured: format!("at most {away:.1} standard errors away ({what})"),
        verdict: if away <= 4.0 {
            Verdict::Holds
        } else {
            Verdict::Fails
        },
    })
}

fn report(args: &Reproduce, results: &[LearnerResult], claims: &[Claim], steps: u64) -> String {
    let titled: Vec<(&str, &LearnerResult)> = LEARNERS
        .iter()
        .map(|(_, title)| *title)
        .zip(results)
        .collect();
    let mut at: Vec<u64> = REFERENCE_AT
        .iter()
        .copied()
        .filter(|n| *n < args.episodes)
        .collect();
    at.push(args.episodes);
    format!(
        "# The paper, reproduced\n\n\
         *Episodic Multi-armed Bandits* (Tekin, van der Schaar), Section 5 and its additional results, by emab {}: \
         {} runs of {} episodes for each learner, seed {}, {steps} steps in all.\n\n\
         ![Figure 1](figure1.png)\n\n![Figure 2](figure2.png)\n\n\
         ## What the paper says, and what was measured\n\n{}\n\
         ## Cumulative regret, with 95 % intervals\n\n{}\n\
         A claim that one regret is less than another holds, or does not, if they are three standard errors apart; \
         otherwise it is undecided.\n\n\
         Regret is the sum of `V(t,x) - Q(t,x,a)` against the benchmark along the learner's own path, which has the \
         expectation of the paper's Equation 2 and less variance.\n",
        env!("CARGO_PKG_VERSION"),
        args.runs,
        args.episodes,
        args.seed,
        claims_markdown(claims),
        regret_markdown(&titled, &at)
    )
}
