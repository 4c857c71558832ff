//! Section 6: what the paper says of other methods without running them, and the learners of our own that it invites.

use emab::Mdp;
use emab::learners::{LearnerError, MAX_FIXED_OUTCOMES};
use emab::oracle::{Benchmark, Optimal, Pairs, PolicyIteration, ValueIteration, best_fixed};
use emab_problem::{BUILTIN, ProblemFile};
use emab_report::{Claim, Verdict, number};
use emab_sim::Verified;
use emab_sim::results::LearnerResult;

use crate::instances;
use crate::runner::{Job, LedgerError, Runner, builtin, learner_of};
use crate::theorems::promise;
use crate::wording::{broken, exactly, kept, last, show};

/// The rivals that plan on an estimated process, or learn its values: those that are optimistic, and those that sample.
/// Each is played in two forms: seeing what it earned, and seeing all that eMAB reveals.
const OPTIMISTIC: [&str; 4] = ["ucbvi", "ucrl2", "olp", "q-learning"];
const SAMPLING: [&str; 2] = ["psrl", "opsrl"];
/// Episodes of each run of the comparison.
const EPISODES: u64 = 2000;

pub(crate) fn claims(runner: &mut Runner<'_>) -> Result<Vec<Claim>, LedgerError> {
    let mut claims = vec![submodular(runner)?, translation()?];
    let fields = run_all(runner)?;
    claims.extend(learning(&fields));
    claims.push(computation(&fields)?);
    claims.extend(moderate()?);
    claims.push(revealed(&fields));
    claims.extend(ours(runner)?);
    Ok(claims)
}

/// What everybody did on one problem.
struct Field {
    file: ProblemFile,
    runs: u64,
    feedbal: LearnerResult,
    /// One a rival: seeing only what it earned, and seeing all that is revealed.
    rivals: Vec<[LearnerResult; 2]>,
    /// What the optimum earns more than the benchmark, in all episodes.
    ahead: f64,
}

impl Field {
    /// FeedBAL's regret, against the benchmark: the goal it has.
    fn own(&self) -> (f64, f64) {
        last(&self.feedbal, self.runs)
    }

    /// A rival's, against the optimum: the goal it has.
    fn theirs(&self, result: &LearnerResult) -> (f64, f64) {
        let (regret, stderr) = last(result, self.runs);
        (regret + self.ahead, stderr)
    }
}

fn run_all(runner: &mut Runner<'_>) -> Result<Vec<Field>, LedgerError> {
    let runs = runner.settings.scaled(40, 10);
    let mut fields = Vec::new();
    for problem in BUILTIN {
        let file = builtin(problem.name)?;
        let mut learners = vec![learner_of(&file, "feedbal")?];
        for rival in OPTIMISTIC.into_iter().chain(SAMPLING) {
            learners.push(learner_of(&file, rival)?);
            learners.push(learner_of(&file, &format!("{rival}:reveal=true"))?);
        }
        let outcome = runner.run(Job {
            what: "rivals of Section 6",
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
        let mut rivals = Vec::new();
        while let (Some(earned), Some(revealed)) = (results.next(), results.next()) {
            rivals.push([earned, revealed]);
        }
        fields.push(Field {
            file,
            runs,
            feedbal,
            rivals,
            ahead,
        });
    }
    Ok(fields)
}

fn how(fields: &[Field]) -> String {
    format!(
        "{} runs of {} episodes on each of the {} shipped problems",
        fields.first().map_or(0, |field| field.runs),
        number(EPISODES as f64),
        fields.len()
    )
}

/// Adaptive submodular maximisation is a special case: where it applies, and what knowing it is worth.
fn submodular(runner: &mut Runner<'_>) -> Result<Claim, LedgerError> {
    let mut applies = Vec::new();
    for problem in BUILTIN {
        let file = builtin(problem.name)?;
        match learner_of(&file, "oasm")?.build(file.spec(), Some(&file.problem()?)) {
            Ok(_) => applies.push(problem.name),
            Err(LearnerError::DoesNotApply { .. }) => {}
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
            show(oasm),
            show(feedbal)
        ),
        verdict: Verdict::all([
            exactly(applies.contains(&"coverage") && applies.len() < BUILTIN.len()),
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
        let values = ValueIteration::new(&mdp, limit).map(|it| it.values()[mdp.start()]);
        let policies = PolicyIteration::new(&mdp, limit).map(|it| it.values()[mdp.start()]);
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
        verdict: exactly(agree),
    })
}

/// Competing with the benchmark is easier than finding the optimum: optimistic rivals, and those that sample.
fn learning(fields: &[Field]) -> Vec<Claim> {
    let sampling = |rival: &LearnerResult| SAMPLING.contains(&rival.learner.as_str());
    let claim = |says: &str, of: &dyn Fn(&LearnerResult) -> bool| {
        let (mut ahead, mut behind, mut open) = (0, 0, 0);
        let mut lost: Vec<String> = Vec::new();
        for field in fields {
            for rival in field.rivals.iter().flatten().filter(|rival| of(rival)) {
                match Verdict::less(field.own(), field.theirs(rival)) {
                    Verdict::Holds => ahead += 1,
                    Verdict::Fails => {
                        behind += 1;
                        let on = format!("{} on {}", rival.label, field.file.name());
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
                "{}: FeedBAL's regret against the benchmark beside each rival's against the optimum",
                how(fields)
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
            "learning the optimal policy is slower than learning the benchmark: rivals that are optimistic",
            &|rival| !sampling(rival),
        ),
        claim(
            "learning the optimal policy is slower than learning the benchmark: rivals that sample from a posterior",
            &sampling,
        ),
    ]
}

/// What a plan costs an episode, counted and not timed.
fn computation(fields: &[Field]) -> Result<Claim, LedgerError> {
    let (mut least, mut most) = (f64::INFINITY, 0.0_f64);
    for field in fields {
        let mut pairs = Pairs::new(field.file.problem()?)?;
        pairs.expand_all(Optimal::LIMIT, "a count")?;
        let plan: usize = pairs
            .iter()
            .map(|pair| pairs.allowed(pair).count() + 1)
            .sum();
        let played = (EPISODES * field.runs) as f64;
        let steps = field.feedbal.steps as f64 / played;
        // FeedBAL updates the cell of `stop` at every step and that of the action at every step but the last.
        let ratio = plan as f64 / (2.0 * steps - 1.0);
        (least, most) = (least.min(ratio), most.max(ratio));
    }
    Ok(Claim {
        ours: false,
        place: "Section 6".into(),
        says: "rivals that solve the estimated process by value iteration or linear programs cost more computation".into(),
        how: format!(
            "{}: triplets that a plan looks at (UCBVI, PSRL once an episode, OLP too) for each one that FeedBAL updates",
            how(fields)
        ),
        measured: format!(
            "{} to {} times as many (`emab arena` has nanoseconds, and rivals that plan seldom or never)",
            number(least),
            number(most)
        ),
        verdict: exactly(least > 1.0),
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
            "the shipped problems, solved exactly",
            format!(
                "it earns less than the best fixed sequence on {} of {} problems ({unknown} unknown), and at least {least:.4} of the \
                 optimum",
                below.len(),
                BUILTIN.len()
            ),
            if unknown > 0 {
                Verdict::Undecided
            } else {
                exactly(below.is_empty() && least > 0.9)
            },
        ),
        claim(
            "it may not always be optimal",
            "three steps: 0.1 at once, nothing at step 2, 1 at step 3; solved exactly",
            format!("the benchmark earns {poor}, the optimum {best}"),
            exactly(poor < best),
        ),
    ])
}

/// What eMAB reveals, told to rivals that do not ask for it.
fn revealed(fields: &[Field]) -> Claim {
    let (mut better, mut worse, mut open) = (0, 0, 0);
    for field in fields {
        for [earned, revealed] in &field.rivals {
            match Verdict::less(last(revealed, field.runs), last(earned, field.runs)) {
                Verdict::Holds => better += 1,
                Verdict::Fails => worse += 1,
                _ => open += 1,
            }
        }
    }
    Claim {
        ours: true,
        place: "Section 6".into(),
        says: "seeing the rewards of all steps that were passed makes the rivals learn faster"
            .into(),
        how: format!("{}: each rival with reveal=true and without", how(fields)),
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

/// The learner of ours: less regret in Section 5, with its confidence kept.
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
    let coverage = promise(&verified, Verified::COVERAGE);
    Ok(vec![
        Claim {
            ours: true,
            place: "Section 5".into(),
            says:
                "a learner through the estimated law, feedbal-model, has less regret than FeedBAL"
                    .into(),
            how: format!("{runs} runs of {} episodes", number(episodes as f64)),
            measured: format!("feedbal-model {}, FeedBAL {}", show(model), show(feedbal)),
            verdict: Verdict::less(model, feedbal),
        },
        Claim {
            ours: true,
            place: "Section 5".into(),
            says:
                "with probability 1 - delta all estimates of feedbal-model stay within their widths"
                    .into(),
            how: format!("{watched} runs of {} episodes", number(EPISODES as f64)),
            measured: broken(&coverage),
            verdict: kept(&coverage),
        },
    ])
}
