//! Assumption 1: the effect of ties.

use emab::theory::Bounds;
use emab_report::{Claim, Verdict, number};

use crate::instances;
use crate::measurement::{
    Estimate, claim, exact, guarantee_verdict, last, regret_at, runs_of, violation_text,
};
use crate::runner::{Job, LedgerError, Runner, learner};
use crate::theorems::guarantee;

pub(crate) fn claims(runner: &mut Runner<'_>) -> Result<Vec<Claim>, LedgerError> {
    let mut claims = stop_tie(runner)?;
    claims.push(action_tie(runner)?);
    Ok(claims)
}

/// `stop` ties with continuing, and continuing once more is a loss.
fn stop_tie(runner: &mut Runner<'_>) -> Result<Vec<Claim>, LedgerError> {
    let (episodes, runs) = (20_000, runner.settings.scaled(200, 40));
    let problem = instances::stop_tie()?;
    let texts = [
        "feedbal:sigma2=0.05,delta=0.01",
        "feedbal:sigma2=0.05,delta=0.01,stop_bias=0.1",
    ];
    let plain = learner(texts[0])?;
    let ties = Bounds::new(problem.clone(), &plain.feedbal_parameters()?, episodes)?
        .assumption1
        .violations
        .len();
    let outcome = runner.run(Job {
        what: "a tie of stop",
        problem,
        learners: vec![plain, learner(texts[1])?],
        episodes,
        runs,
        checkpoints: vec![episodes / 2],
    })?;
    // The share of episodes that continue at the tie: those that reach step 2.
    let went_on = |i: usize| {
        let places = outcome.places.get(i);
        let second = places.and_then(|places| places.iter().find(|place| place.t == 2));
        second.map_or(f64::NAN, |place| place.visits / episodes as f64)
    };
    let half = |i: usize| regret_at(&outcome.results[i], episodes / 2, runs);
    let end = |i: usize| last(&outcome.results[i], runs);
    // What linear regret of the tie would be: it loses 0.5 at most.
    let growth = |i: usize| {
        let (Estimate(a, ea), Estimate(b, eb)) = (half(i), end(i));
        Estimate(b - a, ea.hypot(eb)).divided_by((episodes / 2) as f64)
    };
    let how = format!(
        "three steps, stopping ties with going on ({ties} such tie, found exactly): {}; linear would be 0.01 per episode or more",
        runs_of(runs, episodes)
    );
    let figures = |i: usize| {
        let (half, end, share) = (half(i), end(i), 100.0 * went_on(i));
        format!("regret {half} at half, {end} at the end; goes on in {share:.1} % of the episodes")
    };
    Ok(vec![
        claim(
            "Section 4, Assumption 1",
            "where stop ties with another action, a learner may incur linear regret",
            how,
            format!(
                "{}. The choices never settle and cost nothing: in any problem the benchmark's value after the tied action is at least that of stopping",
                figures(0)
            ),
            // Linear regret would be at least a hundredth an episode here.
            match growth(0).below(0.01) {
                Verdict::Holds => Verdict::Fails,
                Verdict::Fails => Verdict::Holds,
                other => other,
            },
        ),
        claim(
            "Section 4, Assumption 1",
            "a small bias on stop makes the learner follow the benchmark in spite of the tie",
            format!(
                "the problem above with stop_bias=0.1, {runs} runs; less than 5 % and less than a tenth"
            ),
            figures(1),
            exact(ties > 0 && went_on(1) < 0.05 && went_on(1) < 0.1 * went_on(0)),
        ),
    ])
}

/// Two continuation actions tie, which Assumption 1 allows, and differ in what follows.
fn action_tie(runner: &mut Runner<'_>) -> Result<Claim, LedgerError> {
    let (episodes, runs) = (5000, runner.settings.scaled(400, 400));
    let problem = instances::action_tie()?;
    let config = learner("feedbal:sigma2=0.05,delta=0.01")?;
    let bounds = Bounds::new(problem.clone(), &config.feedbal_parameters()?, episodes)?;
    let verified = runner.verify_config("a tie of actions", problem, config, episodes, runs)?;
    let guarantee = guarantee(&verified, "Theorem 1, derived");
    let regret = Estimate(verified.regret.0, verified.regret.1);
    Ok(claim(
        "Theorem 1, ties",
        "Theorem 1 holds under Assumption 1, which allows ties among continuation actions",
        format!(
            "three steps, two actions equal one step ahead and different after: Assumption 1 {}, {}",
            exact(bounds.assumption1.holds).text(),
            runs_of(runs, episodes)
        ),
        format!(
            "regret {regret}, bound {}: {}",
            number(bounds.theorem1.derived),
            violation_text(&guarantee)
        ),
        guarantee_verdict(&guarantee),
    ))
}
