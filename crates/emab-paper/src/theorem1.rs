//! Theorem 1, its relation to Equation 1, and the counter-example to its width.

use emab::Environment;
use emab::learners::Policy;
use emab::theory::Bounds;
use emab_report::{Claim, Picture, Verdict, number, regret_series};
use emab_sim::results::{Guarantee, Power, ViolationCount};
use emab_sim::{SimError, VerificationResult};

use crate::figures::picture;
use crate::measurement::{
    Estimate, claim, guarantee_verdict, last, regret_at, runs_of, violation_text,
};
use crate::runner::{Job, LedgerError, Runner, builtin, learner_of};
use crate::theorems::{Verified, guarantee};

pub(crate) fn theorem1(vacuous: &str, verified: &Verified) -> Vec<Claim> {
    let Verified {
        section5,
        how5,
        printed,
        sound,
        how_gap,
    } = verified;
    let says = "the regret stays below the bound (probability 1 - delta)";
    let both = |verified: &VerificationResult| {
        ["Theorem 1, printed", "Theorem 1, derived"].map(|statement| guarantee(verified, statement))
    };
    let row = |place: &str, says: String, how: &str, verified: &VerificationResult, note: &str| {
        let [as_printed, as_derived] = both(verified);
        // All three runs are of FeedBAL.
        let bound = verified.theorem1.unwrap_or_default();
        let measured = format!(
            "bound {} as printed ({}): {}; {} as derived ({}): {}{note}",
            number(bound.printed),
            as_printed.verdict.words(),
            violation_text(&as_printed),
            number(bound.derived),
            as_derived.verdict.words(),
            violation_text(&as_derived)
        );
        let verdict = Verdict::all([&as_printed, &as_derived].map(guarantee_verdict));
        claim(place, says, how, measured, verdict)
    };
    let most = number(section5.max_regret);
    let note = format!("; the largest regret of a run is {most}. {vacuous}");
    let repaired = "Theorem 1, repaired";
    vec![
        row(
            "Theorem 1",
            format!("in Section 5, {says}"),
            how5,
            section5,
            &note,
        ),
        row(
            "Theorem 1",
            format!("in every problem, {says}"),
            how_gap,
            printed,
            "",
        ),
        row(
            repaired,
            format!("with width=sound, {says}"),
            how_gap,
            sound,
            "",
        ),
    ]
}

/// Whether Theorem 1 is informative in Section 5.
pub(crate) fn vacuous(runner: &Runner<'_>) -> Result<String, LedgerError> {
    let file = builtin("resource")?;
    let parameters = learner_of(&file, "feedbal")?.feedbal_parameters()?;
    let bounds = Bounds::new(file.problem()?, &parameters, runner.settings.episodes)?;
    let most = number(bounds.largest_regret);
    let says = if bounds.theorem1.derived < bounds.largest_regret {
        "and the bound as derived is smaller"
    } else {
        "so the bound is not informative yet"
    };
    let from = match bounds.informative_from_episode {
        Some(n) => format!("only from episode {} on", number(n as f64)),
        None => "never".into(),
    };
    Ok(format!(
        "No learner's regret exceeds {most} in {} episodes, except with probability {}, {says}; as derived it is less than what could be \
         lost {from}",
        number(runner.settings.episodes as f64),
        number(bounds.delta)
    ))
}

/// Theorem 1 is stated for Equation 1, the difference of two realised paths. The test compares the benchmark with itself
/// on two independent paths.
pub(crate) fn realised(runner: &Runner<'_>) -> Result<Claim, LedgerError> {
    let file = builtin("feedback-gap")?;
    let problem = file.problem()?;
    let parameters = learner_of(&file, "feedbal:width=sound")?.feedbal_parameters()?;
    let (runs, episodes) = (400, 2000);
    let bounds = Bounds::new(problem.clone(), &parameters, episodes)?;
    let mut environment = Environment::new(problem.clone())?;
    let mut policy = Policy::benchmark(problem)?;
    let mut earned = |seed: u64, run: u64| -> Result<f64, LedgerError> {
        environment.restart(seed, run);
        let mut sum = 0.0;
        for episode in 1..=episodes {
            let played = environment.play(&mut policy);
            played.map_err(SimError::in_episode("benchmark", run, episode))?;
            let (pairs, path) = (environment.pairs(), environment.path());
            let actions = &environment.episode().actions;
            let costs = path.iter().zip(actions);
            let costs: f64 = costs.map(|(&pair, &a)| pairs.cost(pair, a)).sum();
            sum += path.last().map_or(0.0, |&pair| pairs.reward(pair)) - costs;
        }
        Ok(sum)
    };
    let mut above = 0;
    for run in 0..runs {
        let seed = runner.settings.seed;
        let difference = earned(seed, run)? - earned(seed ^ (1 << 63), run)?;
        above += u64::from(difference > bounds.theorem1.derived);
    }
    let counted = ViolationCount {
        violated: above,
        runs,
    };
    let delta = parameters.delta.get();
    let guarantee = Guarantee::new("Theorem 1", "", delta, counted, Power::default());
    Ok(claim(
        "Theorem 1, Equation 1",
        "the regret as Equation 1 defines it, two realised paths subtracted, stays below the bound",
        format!(
            "the benchmark against itself on `feedback-gap`: {runs} runs of {episodes} episodes, independent paths, bound {}",
            number(bounds.theorem1.derived)
        ),
        format!(
            "{}; what is bounded is the conditional expectation, the sum of V - Q",
            violation_text(&guarantee)
        ),
        guarantee_verdict(&guarantee),
    ))
}

/// The counter-example `feedback-gap`: regret with the paper's width and with the sound width.
pub(crate) fn counterexample(
    runner: &mut Runner<'_>,
) -> Result<(Vec<Claim>, Picture), LedgerError> {
    let file = builtin("feedback-gap")?;
    let (episodes, runs) = (10_000, runner.settings.scaled(4000, 400));
    let outcome = runner.run(Job {
        what: "the counter-example",
        problem: file.problem()?,
        learners: vec![
            learner_of(&file, "feedbal")?,
            learner_of(&file, "feedbal:width=sound")?,
            // 4 sigma2 = 0.51 = 2v for the action, as sound, and for stop as well.
            learner_of(&file, "feedbal:sigma2=0.1275")?,
        ],
        episodes,
        runs,
        checkpoints: (1..100)
            .map(|i| i * episodes / 100)
            .chain([1, 10])
            .collect(),
    })?;
    let [paper, sound, both] = [0, 1, 2].map(|i| &outcome.results[i]);
    let stuck = |i: usize| {
        let start = outcome.places.get(i).and_then(|places| places.first());
        start.map_or(f64::NAN, |start| 1.0 - start.agree)
    };
    let how = format!(
        "problem `feedback-gap`, {}; bounded if it grows by less than 0.00005 per episode",
        runs_of(runs, episodes)
    );
    let row = |place: &str, says: &str, i: usize| {
        let (half, end) = (
            regret_at(&outcome.results[i], episodes / 2, runs),
            last(&outcome.results[i], runs),
        );
        let grown = Estimate(end.0 - half.0, (end.1 - half.1).abs());
        let grows = grown.divided_by((episodes / 2) as f64);
        let growth = match grows.0 {
            0.0 => "it no longer grows".into(),
            slope => format!("it still grows by {} per episode", number(slope)),
        };
        let stuck = 100.0 * stuck(i);
        let measured =
            format!("regret {end}; {growth}; {stuck:.0} % of the runs end by stopping at once");
        // Regret that no longer grows is regret of less than a thousandth of the gap an episode.
        claim(place, says, &how, measured, grows.below(0.05 / 1000.0))
    };
    let repaired = "Theorems 1 and 2, repaired";
    let claims = vec![
        row(
            "Theorems 1 and 2",
            "FeedBAL's regret is bounded, with the paper's width",
            0,
        ),
        row(repaired, "FeedBAL's regret is bounded, with width=sound", 1),
        row(
            repaired,
            "FeedBAL's regret is bounded, with the sound coefficient for stop too, which needs less",
            2,
        ),
    ];
    let curves = [
        regret_series("paper's width", paper, runs),
        regret_series("sound width", sound, runs),
        regret_series("sound width, for stop too", both, runs),
    ];
    let title = format!("Feedback gap ({runs} runs, 95 % intervals)");
    Ok((claims, picture(&curves, &title)?))
}
