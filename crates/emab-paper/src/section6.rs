//! Section 6: statements of the paper about other methods, and learners of this project.

use emab::Mdp;
use emab::learners::LearnerError;
use emab::oracle::{Iteration, Optimal, Pairs};
use emab_problem::ProblemFile;
use emab_report::{Claim, Verdict, number};
use emab_sim::VerificationResult;
use emab_sim::results::LearnerResult;

use crate::instances;
use crate::measurement::{Estimate, claim, exact, guarantee_claim, last, not_in_paper, runs_of};
use crate::runner::{Job, LedgerError, Runner, Solved, builtin, builtins, learner_of};
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
    fn feedbal_regret(&self) -> Estimate {
        last(&self.feedbal, self.runs)
    }

    /// A baseline's regret, against the optimum, which it learns.
    fn baseline_regret(&self, result: &LearnerResult) -> Estimate {
        let Estimate(regret, stderr) = last(result, self.runs);
        Estimate(regret + self.ahead, stderr)
    }
}

fn run_all(runner: &mut Runner<'_>) -> Result<Vec<ProblemResults>, LedgerError> {
    let runs = runner.settings.scaled(40, 10);
    let mut problems = Vec::new();
    for (_, file) in builtins()? {
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
        let Solved { value, best, .. } = Solved::new(file.problem()?)?;
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
            ahead: (best - value) * EPISODES as f64,
        });
    }
    Ok(problems)
}

fn how(problems: &[ProblemResults]) -> String {
    let runs = problems.first().map_or(0, |problem| problem.runs);
    format!(
        "{} on each of the {} built-in problems",
        runs_of(runs, EPISODES),
        problems.len()
    )
}

/// Adaptive submodular maximisation is a special case: where it applies, and what knowing it is worth.
fn submodular(runner: &mut Runner<'_>) -> Result<Claim, LedgerError> {
    let mut applies = Vec::new();
    let all = builtins()?;
    for (name, file) in &all {
        match learner_of(file, "oasm")?.build(file.spec(), Some(&file.problem()?)) {
            Ok(_) => applies.push(*name),
            Err(LearnerError::DoesNotApply(..)) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let file = builtin("coverage")?;
    let runs = runner.settings.scaled(40, 10);
    let learners = ["oasm", "feedbal"];
    let [oasm, feedbal] =
        runner.final_regrets("adaptive submodular", &file, learners, EPISODES, runs)?;
    let (few, all) = (applies.len(), all.len());
    Ok(claim(
        "Section 6",
        "online adaptive submodular maximisation learns fast because item states are independent, and covers a special case of eMAB",
        format!(
            "whether OASM applies, on {all} problems; {} on coverage",
            runs_of(runs, EPISODES)
        ),
        format!(
            "it applies to {few} of {all} ({}); there its regret is {oasm} against FeedBAL's {feedbal}",
            applies.join(", ")
        ),
        Verdict::all([
            exact(applies.contains(&"coverage") && few < all),
            oasm.less(feedbal),
        ]),
    ))
}

/// eMAB as a Markov decision process.
fn translation() -> Result<Claim, LedgerError> {
    let (mut agree, mut states, mut worst) = (true, Vec::new(), 0.0_f64);
    for (_, file) in builtins()? {
        let mut pairs = Pairs::new(file.problem()?)?;
        let optimal = Optimal::new(&mut pairs)?;
        let best = optimal.start_value(&pairs);
        let mdp = Mdp::new(&mut pairs)?;
        let limit = 100_000_000;
        let values = Iteration::of_values(&mdp, limit).map(|it| mdp.start_value(&it.values));
        let policies = Iteration::of_policies(&mdp, limit).map(|it| mdp.start_value(&it.values));
        for value in [values, policies] {
            let away = value.map_or(f64::INFINITY, |value| (value - best).abs());
            agree &= away <= 1e-12 * best.abs().max(1.0);
            worst = worst.max(away);
        }
        states.push(mdp.len());
    }
    let [least, most] = [states.iter().min(), states.iter().max()].map(|n| n.map_or(0, |n| *n));
    let differ = match worst {
        0.0 => "are the same".into(),
        worst => format!("differ by at most {worst:.0e}"),
    };
    Ok(claim(
        "Section 6",
        "eMAB can be translated into a Markov decision process",
        format!(
            "the translation of {} problems, solved by backward induction, value iteration and policy iteration",
            states.len()
        ),
        format!("processes of {least} to {most} states; the three optimal values {differ}"),
        exact(agree),
    ))
}

/// Learning the benchmark against learning the optimum: optimistic baselines, and ones that sample.
fn learning(problems: &[ProblemResults]) -> Vec<Claim> {
    let sampling = |baseline: &LearnerResult| SAMPLING.contains(&baseline.learner.as_str());
    let claim = |says: &str, of: &dyn Fn(&LearnerResult) -> bool| {
        let mut count = Count::default();
        let mut lost: Vec<String> = Vec::new();
        for problem in problems {
            let baselines = problem.baselines.iter().flatten();
            for baseline in baselines.filter(|baseline| of(baseline)) {
                let baseline_regret = problem.baseline_regret(baseline);
                if count.add(problem.feedbal_regret().less(baseline_regret)) == Verdict::Fails {
                    lost.push(format!("{} on {}", baseline.label, problem.file.name()));
                }
            }
        }
        let named = match lost.as_slice() {
            [] => String::new(),
            [first, second, third, _, _, ..] => {
                format!(", such as {first}, {second} and {third}")
            }
            few => format!(": {}", few.join(", ")),
        };
        let Count { hold, fail, open } = count;
        claim(
            "Section 6",
            says,
            format!(
                "{}: FeedBAL's regret against the benchmark and each baseline's against the optimum",
                how(problems)
            ),
            format!(
                "FeedBAL's is smaller in {hold} of {} comparisons, larger in {fail}{named}; {open} undecided",
                count.all()
            ),
            count.verdict(),
        )
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

/// Verdicts on a claim, by comparison.
#[derive(Clone, Copy, Default)]
struct Count {
    hold: usize,
    fail: usize,
    open: usize,
}

impl Count {
    /// Counts a verdict and returns it.
    fn add(&mut self, verdict: Verdict) -> Verdict {
        match verdict {
            Verdict::Holds => self.hold += 1,
            Verdict::Fails => self.fail += 1,
            _ => self.open += 1,
        }
        verdict
    }

    fn all(self) -> usize {
        self.hold + self.fail + self.open
    }

    /// The verdict on the claim in general.
    fn verdict(self) -> Verdict {
        match (self.hold, self.fail) {
            (0, 0) => Verdict::Undecided,
            (_, 0) => Verdict::Holds,
            (hold, fail) if hold > fail => Verdict::HoldsInPart,
            _ => Verdict::Fails,
        }
    }
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
    Ok(claim(
        "Section 6",
        "baselines that solve the estimated process by value iteration or linear programs cost more computation",
        format!(
            "{}: triplets that a plan looks at (UCBVI, PSRL once an episode, OLP too) for each one that FeedBAL updates",
            how(problems)
        ),
        format!(
            "{} to {} times as many (`emab arena` has nanoseconds, and baselines that plan seldom or never)",
            number(least),
            number(most)
        ),
        exact(least > 1.0),
    ))
}

/// The benchmark as a moderate goal.
fn moderate() -> Result<Vec<Claim>, LedgerError> {
    let (mut below, mut unknown, mut least) = (0, 0, f64::INFINITY);
    let problems = builtins()?;
    for (_, file) in &problems {
        let solved = Solved::new(file.problem()?)?;
        let value = solved.value;
        match solved.best_fixed() {
            Some(fixed) if value < fixed.value - 1e-12 * value.abs() => below += 1,
            Some(_) => {}
            None => unknown += 1,
        }
        least = least.min(value / solved.best);
    }
    let Solved { value, best, .. } = Solved::new(instances::patience()?)?;
    Ok(vec![
        claim(
            "Section 6",
            "the benchmark outperforms the best fixed sequence and works well in many settings",
            "the built-in problems, solved exactly",
            format!(
                "it earns less than the best fixed sequence on {below} of {} problems ({unknown} unknown), and at least {least:.4} of the \
                 optimum",
                problems.len()
            ),
            match unknown {
                0 => exact(below == 0 && least > 0.9),
                _ => Verdict::Undecided,
            },
        ),
        claim(
            "Section 6",
            "it may not always be optimal",
            "three steps: 0.1 at once, nothing at step 2, 1 at step 3; solved exactly",
            format!("the benchmark earns {value}, the optimum {best}"),
            exact(value < best),
        ),
    ])
}

/// Effect of the revealed rewards on baselines.
fn revealed(problems: &[ProblemResults]) -> Claim {
    let mut count = Count::default();
    for problem in problems {
        for [earned, revealed] in &problem.baselines {
            count.add(last(revealed, problem.runs).less(last(earned, problem.runs)));
        }
    }
    let Count { hold, fail, open } = count;
    let claim = claim(
        "Section 6",
        "seeing the rewards of all steps that were passed makes the baselines learn faster",
        format!(
            "{}: each baseline with reveal=true and without",
            how(problems)
        ),
        format!(
            "less regret in {hold} of {} comparisons, more in {fail}, undecided in {open}",
            count.all()
        ),
        count.verdict(),
    );
    not_in_paper(claim)
}

/// `feedbal-model`: less regret in Section 5, with valid confidence.
fn ours(runner: &mut Runner<'_>) -> Result<[Claim; 2], LedgerError> {
    let file = builtin("resource")?;
    let (episodes, runs) = (runner.settings.episodes, runner.settings.scaled(200, 20));
    let learners = ["feedbal-model", "feedbal"];
    let [model, feedbal] =
        runner.final_regrets("feedbal-model", &file, learners, episodes, runs)?;
    let watched = runner.settings.scaled(1000, 100);
    let what = "coverage of feedbal-model";
    let verified = runner.verify(what, &file, "feedbal-model", EPISODES, watched)?;
    let claims = [
        claim(
            "Section 5",
            "a learner on the estimated model, feedbal-model, has less regret than FeedBAL",
            runs_of(runs, episodes),
            format!("feedbal-model {model}, FeedBAL {feedbal}"),
            model.less(feedbal),
        ),
        guarantee_claim(
            "Section 5",
            "with probability 1 - delta all estimates of feedbal-model stay within their widths",
            &runs_of(watched, EPISODES),
            &guarantee(&verified, VerificationResult::COVERAGE),
        ),
    ];
    Ok(claims.map(not_in_paper))
}
