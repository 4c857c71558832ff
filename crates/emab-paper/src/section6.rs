//! Section 6: statements of the paper about other methods, and learners of this project.

use emab::Mdp;
use emab::learners::{LearnerError, MAX_FIXED_OUTCOMES};
use emab::oracle::{Benchmark, Iteration, Optimal, Pairs, best_fixed};
use emab_problem::{BUILTIN, ProblemFile};
use emab_report::{Claim, Verdict, number};
use emab_sim::VerificationResult;
use emab_sim::results::LearnerResult;

use crate::instances;
use crate::measurement::{exact, guarantee_verdict, last, measured_text, violation_text};
use crate::runner::{Job, LedgerError, Runner, builtin, learner_of};
use crate::theorems::guarantee;

/// Baselines that plan on an estimated process or learn its values: optimistic ones, and ones that sample from a
/// posterior. Each plays in two forms: with its own gain only, and with all rewards that eMAB reveals.
const OPTIMISTIC: [&str; 4] = ["ucbvi", "ucrl2", "olp", "q-learning"];
const SAMPLING: [&str; 2] = ["psrl", "opsrl"];
/// Episodes of each run of the comparison.
const EPISODES: u64 = 2000;

pub(crate) fn claims(runner: &mut Runner<'_>) -> Result<Vec<Claim>, LedgerError> {
    let mut claims = vec![submodular(runner)?, translation()?];
    let problems = run_all(runner)?;
    claims.extend(learning(&problems));
    claims.push(computation(&problems)?);
    claims.extend(moderate()?);
    claims.push(revealed(&problems));
    claims.extend(ours(runner)?);
    Ok(claims)
}

/// Results of all learners on one problem.
struct ProblemResults {
    file: ProblemFile,
    runs: u64,
    feedbal: LearnerResult,
    /// By baseline: with its own gain only, and with all revealed rewards.
    baselines: Vec<[LearnerResult; 2]>,
    /// Expected gain of the optimum above the benchmark, over all episodes.
    ahead: f64,
}

impl ProblemResults {
    /// FeedBAL's regret, against the benchmark, which it learns.
    fn feedbal_regret(&self) -> (f64, f64) {
        last(&self.feedbal, self.runs)
    }

    /// A baseline's regret, against the optimum, which it learns.
    fn baseline_regret(&self, result: &LearnerResult) -> (f64, f64) {
        let (regret, stderr) = last(result, self.runs);
        (regret + self.ahead, stderr)
    }
}

fn run_all(runner: &mut Runner<'_>) -> Result<Vec<ProblemResults>, LedgerError> {
    let runs = runner.settings.scaled(40, 10);
    let mut problems = Vec::new();
    for problem in BUILTIN {
        let file = builtin(problem.name)?;
        let mut learners = vec![learner_of(&file, "feedbal")?];
        for baseline in OPTIMISTIC.into_iter().chain(SAMPLING) {
            learners.push(learner_of(&file, baseline)?);
            learners.push(learner_of(&file, &format!("{baseline}:reveal=true"))?);
        }
        let outcome = runner.run(Job {
            what: "baselines of Section 6",
            problem: file.problem()?,
            learners,
            episodes: EPISODES,
            runs,
            checkpoints: Vec::new(),
        })?;
        let mut benchmark = Benchmark::new(file.problem()?)?;
        let optimal = Optimal::new(benchmark.pairs_mut())?;
        let start = benchmark.pairs().start();
        let ahead = (optimal.value(start) - benchmark.value(start)?) * EPISODES as f64;
        let mut results = outcome.results.into_iter();
        let Some(feedbal) = results.next() else {
            continue;
        };
        let mut baselines = Vec::new();
        while let (Some(earned), Some(revealed)) = (results.next(), results.next()) {
            baselines.push([earned, revealed]);
        }
        problems.push(ProblemResults {
            file,
            runs,
            feedbal,
            baselines,
            ahead,
        });
    }
    Ok(problems)
}

fn how(problems: &[ProblemResults]) -> String {
    format!(
        "{} runs of {} episodes on each of the {} built-in problems",
        problems.first().map_or(0, |problem| problem.runs),
        number(EPISODES as f64),
        problems.len()
    )
}

/// Adaptive submodular maximisation is a special case: where it applies, and what knowing it is worth.
fn submodular(runner: &mut Runner<'_>) -> Result<Claim, LedgerError> {
    let mut applies = Vec::new();
    for problem in BUILTIN {
        let file = builtin(problem.name)?;
        match learner_of(&file, "oasm")?.build(file.spec(), Some(&file.problem()?)) {
            Ok(_) => applies.push(problem.name),
            Err(LearnerError::DoesNotApply(..)) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let file = builtin("coverage")?;
    let runs = runner.settings.scaled(40, 10);
    let outcome = runner.run(Job {
        what: "adaptive submodular",
        problem: file.problem()?,
        learners: vec![learner_of(&file, "oasm")?, learner_of(&file, "feedbal")?],
        episodes: EPISODES,
        runs,
        checkpoints: Vec::new(),
    })?;
    let [oasm, feedbal] = [0, 1].map(|i| last(&outcome.results[i], runs));
    Ok(Claim {
        ours: false,
        place: "Section 6".into(),
        says: "online adaptive submodular maximisation learns fast because item states are independent, and covers a special case of eMAB"
            .into(),
        how: format!(
            "whether OASM applies, on {} problems; {runs} runs of {} episodes on coverage",
            BUILTIN.len(),
            number(EPISODES as f64)
        ),
        measured: format!(
            "it applies to {} of {} ({}); there its regret is {} against FeedBAL's {}",
            applies.len(),
            BUILTIN.len(),
            applies.join(", "),
            measured_text(oasm),
            measured_text(feedbal)
        ),
        verdict: Verdict::all([
            exact(applies.contains(&"coverage") && applies.len() < BUILTIN.len()),
            Verdict::less(oasm, feedbal),
        ]),
    })
}

/// eMAB as a Markov decision process.
fn translation() -> Result<Claim, LedgerError> {
    let (mut agree, mut states, mut worst) = (true, Vec::new(), 0.0_f64);
    for problem in BUILTIN {
        let file = builtin(problem.name)?;
        let mut pairs = Pairs::new(file.problem()?)?;
        let optimal = Optimal::new(&mut pairs)?;
        let best = optimal.value(pairs.start());
        let mdp = Mdp::new(&mut pairs)?;
        let limit = 100_000_000;
        let values = Iteration::of_values(&mdp, limit).map(|it| it.values[mdp.start()]);
        let policies = Iteration::of_policies(&mdp, limit).map(|it| it.values[mdp.start()]);
        for value in [values, policies] {
            let away = value.map_or(f64::INFINITY, |value| (value - best).abs());
            agree &= away <= 1e-12 * best.abs().max(1.0);
            worst = worst.max(away);
        }
        states.push(mdp.len());
    }
    let (least, most) = (states.iter().min(), states.iter().max());
    Ok(Claim {
        ours: false,
        place: "Section 6".into(),
        says: "eMAB can be translated into a Markov decision process".into(),
        how: format!(
            "the translation of {} problems, solved by backward induction, value iteration and policy iteration",
            BUILTIN.len()
        ),
        measured: format!(
            "processes of {} to {} states; the three optimal values {}",
            least.copied().unwrap_or(0),
            most.copied().unwrap_or(0),
            if worst > 0.0 {
                format!("differ by at most {worst:.0e}")
            } else {
                "are the same".into()
            }
        ),
        verdict: exact(agree),
    })
}

/// Learning the benchmark against learning the optimum: optimistic baselines, and ones that sample.
fn learning(problems: &[ProblemResults]) -> Vec<Claim> {
    let sampling = |baseline: &LearnerResult| SAMPLING.contains(&baseline.learner.as_str());
    let claim = |says: &str, of: &dyn Fn(&LearnerResult) -> bool| {
        let (mut ahead, mut behind, mut open) = (0, 0, 0);
        let mut lost: Vec<String> = Vec::new();
        for problem in problems {
            for baseline in problem
                .baselines
                .iter()
                .flatten()
                .filter(|baseline| of(baseline))
            {
                match Verdict::less(problem.feedbal_regret(), problem.baseline_regret(baseline)) {
                    Verdict::Holds => ahead += 1,
                    Verdict::Fails => {
                        behind += 1;
                        let on = format!("{} on {}", baseline.label, problem.file.name());
                        lost.push(on);
                    }
                    _ => open += 1,
                }
            }
        }
        let named = match lost.as_slice() {
            [] => String::new(),
            few if few.len() <= 4 => format!(": {}", few.join(", ")),
            [first, second, third, ..] => format!(", such as {first}, {second} and {third}"),
            [..] => String::new(),
        };
        Claim {
            ours: false,
            place: "Section 6".into(),
            says: says.into(),
            how: format!(
                "{}: FeedBAL's regret against the benchmark and each baseline's against the optimum",
                how(problems)
            ),
            measured: format!(
                "FeedBAL's is smaller in {ahead} of {} comparisons, larger in {behind}{named}; {open} undecided",
                ahead + behind + open
            ),
            verdict: match (ahead, behind) {
                (0, 0) => Verdict::Undecided,
                (_, 0) => Verdict::Holds,
                (ahead, behind) if ahead > behind => Verdict::HoldsInPart,
                _ => Verdict::Fails,
            },
        }
    };
    vec![
        claim(
            "learning the optimal policy is slower than learning the benchmark: optimistic baselines",
            &|baseline| !sampling(baseline),
        ),
        claim(
            "learning the optimal policy is slower than learning the benchmark: baselines that sample from a posterior",
            &sampling,
        ),
    ]
}

/// Cost of planning per episode, counted and not timed.
fn computation(problems: &[ProblemResults]) -> Result<Claim, LedgerError> {
    let (mut least, mut most) = (f64::INFINITY, 0.0_f64);
    for problem in problems {
        let mut pairs = Pairs::new(problem.file.problem()?)?;
        pairs.expand_all(Optimal::LIMIT, "a count")?;
        let plan: usize = pairs
            .iter()
            .map(|pair| pairs.allowed(pair).count() + 1)
            .sum();
        let played = (EPISODES * problem.runs) as f64;
        let steps = problem.feedbal.steps as f64 / played;
        // FeedBAL updates the cell of `stop` at every step and that of the action at every step but the last.
        let ratio = plan as f64 / (2.0 * steps - 1.0);
        (least, most) = (least.min(ratio), most.max(ratio));
    }
    Ok(Claim {
        ours: false,
        place: "Section 6".into(),
        says: "baselines that solve the estimated process by value iteration or linear programs cost more computation".into(),
        how: format!(
            "{}: triplets that a plan looks at (UCBVI, PSRL once an episode, OLP too) for each one that FeedBAL updates",
            how(problems)
        ),
        measured: format!(
            "{} to {} times as many (`emab arena` has nanoseconds, and baselines that plan seldom or never)",
            number(least),
            number(most)
        ),
        verdict: exact(least > 1.0),
    })
}

/// The benchmark as a moderate goal.
fn moderate() -> Result<Vec<Claim>, LedgerError> {
    let (mut below, mut unknown, mut ratios) = (Vec::new(), 0, Vec::new());
    for problem in BUILTIN {
        let file = builtin(problem.name)?;
        let mut benchmark = Benchmark::new(file.problem()?)?;
        let optimal = Optimal::new(benchmark.pairs_mut())?;
        let start = benchmark.pairs().start();
        let value = benchmark.value(start)?;
        let best = optimal.value(start);
        match best_fixed(benchmark.pairs(), &optimal, MAX_FIXED_OUTCOMES) {
            Some(fixed) if value < fixed.value - 1e-12 * value.abs() => below.push(problem.name),
            Some(_) => {}
            None => unknown += 1,
        }
        ratios.push(value / best);
    }
    let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
    let mut patience = Benchmark::new(instances::patience()?)?;
    let optimal = Optimal::new(patience.pairs_mut())?;
    let start = patience.pairs().start();
    let (poor, best) = (patience.value(start)?, optimal.value(start));
    let claim = |says: &str, how: &str, measured: String, verdict| Claim {
        ours: false,
        place: "Section 6".into(),
        says: says.into(),
        how: how.into(),
        measured,
        verdict,
    };
    Ok(vec![
        claim(
            "the benchmark outperforms the best fixed sequence and works well in many settings",
            "the built-in problems, solved exactly",
            format!(
                "it earns less than the best fixed sequence on {} of {} problems ({unknown} unknown), and at least {least:.4} of the \
                 optimum",
                below.len(),
                BUILTIN.len()
            ),
            if unknown > 0 {
                Verdict::Undecided
            } else {
                exact(below.is_empty() && least > 0.9)
            },
        ),
        claim(
            "it may not always be optimal",
            "three steps: 0.1 at once, nothing at step 2, 1 at step 3; solved exactly",
            format!("the benchmark earns {poor}, the optimum {best}"),
            exact(poor < best),
        ),
    ])
}

/// Effect of the revealed rewards on baselines.
fn revealed(problems: &[ProblemResults]) -> Claim {
    let (mut better, mut worse, mut open) = (0, 0, 0);
    for problem in problems {
        for [earned, revealed] in &problem.baselines {
            match Verdict::less(last(revealed, problem.runs), last(earned, problem.runs)) {
                Verdict::Holds => better += 1,
                Verdict::Fails => worse += 1,
                _ => open += 1,
            }
        }
    }
    Claim {
        ours: true,
        place: "Section 6".into(),
        says: "seeing the rewards of all steps that were passed makes the baselines learn faster"
            .into(),
        how: format!(
            "{}: each baseline with reveal=true and without",
            how(problems)
        ),
        measured: format!(
            "less regret in {better} of {} comparisons, more in {worse}, undecided in {open}",
            better + worse + open
        ),
        verdict: match (better, worse) {
            (0, 0) => Verdict::Undecided,
            (_, 0) => Verdict::Holds,
            (better, worse) if better > worse => Verdict::HoldsInPart,
            _ => Verdict::Fails,
        },
    }
}

/// `feedbal-model`: less regret in Section 5, with valid confidence.
fn ours(runner: &mut Runner<'_>) -> Result<Vec<Claim>, LedgerError> {
    let file = builtin("resource")?;
    let (episodes, runs) = (runner.settings.episodes, runner.settings.scaled(200, 20));
    let outcome = runner.run(Job {
        what: "feedbal-model",
        problem: file.problem()?,
        learners: vec![
            learner_of(&file, "feedbal-model")?,
            learner_of(&file, "feedbal")?,
        ],
        episodes,
        runs,
        checkpoints: Vec::new(),
    })?;
    let [model, feedbal] = [0, 1].map(|i| last(&outcome.results[i], runs));
    let watched = runner.settings.scaled(1000, 100);
    let verified = runner.verify(
        "coverage of feedbal-model",
        file.problem()?,
        learner_of(&file, "feedbal-model")?,
        EPISODES,
        watched,
    )?;
    let coverage = guarantee(&verified, VerificationResult::COVERAGE);
    Ok(vec![
        Claim {
            ours: true,
            place: "Section 5".into(),
            says: "a learner on the estimated model, feedbal-model, has less regret than FeedBAL"
                .into(),
            how: format!("{runs} runs of {} episodes", number(episodes as f64)),
            measured: format!(
                "feedbal-model {}, FeedBAL {}",
                measured_text(model),
                measured_text(feedbal)
            ),
            verdict: Verdict::less(model, feedbal),
        },
        Claim {
            ours: true,
            place: "Section 5".into(),
            says:
                "with probability 1 - delta all estimates of feedbal-model stay within their widths"
                    .into(),
            how: format!("{watched} runs of {} episodes", number(EPISODES as f64)),
            measured: violation_text(&coverage),
            verdict: guarantee_verdict(&coverage),
        },
    ])
}
