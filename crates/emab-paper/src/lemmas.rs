//! Lemmas 1 and 2: coverage of the confidence numbers, and counts of suboptimal actions.

use std::sync::Arc;

use emab::learners::{FeedBal, FeedBalParameters, LearnerError};
use emab::theory::{Bounds, TripletBound, lemma2};
use emab::{Action, Episode, Learner, Names, Spec, Width};
use emab_report::{Claim, Verdict, number};

use crate::measurement::{
    claim, exact, guarantee_claim, guarantee_verdict, runs_of, violation_text,
};
use crate::runner::{LedgerError, Runner, builtin, builtins, learner_of};
use crate::theorems::{Verified, guarantee};

pub(crate) fn lemma1(
    runner: &mut Runner<'_>,
    verified: &Verified,
) -> Result<Vec<Claim>, LedgerError> {
    let (how5, how_gap) = (&verified.how5, &verified.how_gap);
    let [section5, printed, sound] = [&verified.section5, &verified.printed, &verified.sound]
        .map(|verified| guarantee(verified, "Lemma 1"));
    let says = "no sample mean is ever further from its gain than its confidence number (probability 1 - delta)";
    let mut claims = vec![
        guarantee_claim("Lemma 1", format!("in Section 5, {says}"), how5, &section5),
        guarantee_claim(
            "Lemma 1",
            format!("in every problem, {says}"),
            how_gap,
            &printed,
        ),
        guarantee_claim(
            "Lemma 1, repaired",
            "Lemma 1 holds with width=sound, which covers the randomness of the feedback",
            how_gap,
            &sound,
        ),
    ];
    let (runs, episodes) = (1000, 200);
    let mut verdicts = Vec::new();
    let mut seen = Vec::new();
    let problems = builtins()?;
    for (name, file) in &problems {
        let verified =
            runner.verify("sound widths", file, "feedbal:width=sound", episodes, runs)?;
        let guarantee = guarantee(&verified, "Lemma 1");
        verdicts.push(guarantee_verdict(&guarantee));
        seen.push(format!(
            "{name} {} ({})",
            guarantee.counted.violated,
            guarantee.verdict.words()
        ));
    }
    claims.push(claim(
        "Lemma 1, repaired",
        "Lemma 1 holds with width=sound on every built-in problem",
        format!(
            "{} problems, {} each",
            problems.len(),
            runs_of(runs, episodes)
        ),
        format!("runs that violate it: {}", seen.join(", ")),
        Verdict::all(verdicts),
    ));
    Ok(claims)
}

pub(crate) fn lemma2_claims(verified: &Verified, episodes: u64) -> Result<Vec<Claim>, LedgerError> {
    let can_fail = within_reach(episodes)?;
    let says = "on the event of Lemma 1 no suboptimal action is chosen more often than its count";
    let [printed, derived] =
        ["Lemma 2, printed", "Lemma 2, derived"].map(|of| guarantee(&verified.section5, of));
    let path = WorstCasePath::simulate()?;
    // x = 4w / gap^2 and K / delta over what occurs; `tight` is the most that the lemma's own argument allows.
    let (mut cells, mut below, mut above_derived) = (0, 0, 0);
    for i in 0..200 {
        for j in 1..40 {
            let x = 0.01 * 1.08_f64.powi(i);
            let bound = lemma2(1.0, x / 4.0, 0.5 * f64::from(j) + 0.2);
            cells += 1;
            below += u32::from(bound.printed < bound.tight);
            above_derived += u32::from(bound.derived < bound.tight);
        }
    }
    Ok(vec![
        claim(
            "Lemma 2",
            format!("in Section 5, {says}"),
            &verified.how5,
            format!(
                "as printed: {}; as derived: {}. {can_fail}",
                violation_text(&printed),
                violation_text(&derived)
            ),
            Verdict::all([guarantee_verdict(&printed), guarantee_verdict(&derived)]),
        ),
        claim(
            "Lemma 2, as printed",
            format!("on every path, {says}"),
            "FeedBAL with the most misleading observations that Lemma 1's event allows, 100,000 episodes of a two-step problem",
            format!(
                "chosen {} times, the printed count is {:.2} and the derived {:.2}; no observation is further than {:.1} sigma from its mean",
                path.chosen, path.printed, path.derived, path.furthest
            ),
            exact(path.chosen as f64 <= path.printed),
        ),
        claim(
            "Lemma 2, as derived",
            format!("on every path, {says}"),
            format!(
                "the largest count that its inequality allows, over {cells} pairs of gap and K/delta, and the path above"
            ),
            format!(
                "more than the derived count in {above_derived} pairs, more than the printed one in {below}"
            ),
            // The printed count is the control.
            exact(above_derived == 0 && path.chosen as f64 <= path.derived)
                .with_control(exact(below == 0 && path.chosen as f64 <= path.printed)),
        ),
    ])
}

/// The number of triplets of Section 5 in which this many episodes can violate the lemma.
fn within_reach(episodes: u64) -> Result<String, LedgerError> {
    let file = builtin("resource")?;
    let parameters = learner_of(&file, "feedbal")?.feedbal_parameters()?;
    let bounds = Bounds::new(file.problem()?, &parameters, episodes)?;
    let reach = |triplet: &&TripletBound| triplet.lemma2.derived < episodes as f64;
    Ok(format!(
        "Only in {} of {} triplets is the derived count below {}, so that it can be violated",
        bounds.triplets.iter().filter(reach).count(),
        bounds.triplets.len(),
        number(episodes as f64)
    ))
}

/// Worst case of Lemma 2: FeedBAL with the most misleading observations that the event of Lemma 1 allows. A path on
/// which every mean stays within its confidence number and the wrong action looks as good as possible.
struct WorstCasePath {
    chosen: u64,
    printed: f64,
    derived: f64,
    /// The largest distance of an observation from its mean, in standard deviations of the noise.
    furthest: f64,
}

impl WorstCasePath {
    fn simulate() -> Result<WorstCasePath, LedgerError> {
        // 4w / gap^2 = 3.4 at K / delta = 400: in the narrow band in which the printed count is below the inequality's.
        let (sigma2, delta, gap) = (0.053125, 0.01, 0.5);
        let names = |n| Names::Count(n, "");
        let spec = Arc::new(Spec::new(2, names(1), names(1), names(1))?);
        let parameters = FeedBalParameters::new(sigma2, delta)
            .map_err(|error| LearnerError::Parameter("feedbal", error))?;
        let w = parameters.coefficients().action;
        let width = Width::new(w, spec.k(), parameters.delta);
        let mut learner = FeedBal::new(spec.clone(), parameters);
        let mut furthest = 0.0_f64;
        let mut chosen = 0;
        // The observation that brings the mean of `count` earlier ones to `target`.
        let next =
            |count: u64, mean: f64, target: f64| target * (count + 1) as f64 - mean * count as f64;
        let within = |n: u64| width.at(n) * (1.0 - 1e-9);
        for _ in 0..100_000 {
            let action = learner.choose(1, 0);
            let mut observed = |t: usize, action: Action, truth: f64, side: f64| {
                let known = learner.estimate(t, 0, action);
                let (count, mean) = known.map_or((0, 0.0), |known| (known.count, known.mean));
                let value = next(count, mean, truth + side * within(count + 1));
                furthest = furthest.max((value - truth).abs() / sigma2.sqrt());
                value
            };
            // Stopping is worth `gap` and continuing nothing; observations favour continuing as much as possible.
            let mut episode = Episode {
                states: vec![0],
                rewards: vec![observed(1, Action::Stop, gap, -1.0)],
                ..Episode::default()
            };
            if let Action::Continue(a) = action {
                let reward = observed(1, action, 0.0, 1.0);
                chosen += 1;
                episode.states.push(0);
                episode.actions.push(a);
                episode.feedbacks.push(0);
                episode.costs.push(0.0);
                episode.rewards.push(reward);
            }
            learner.learn(&episode);
        }
        let bound = lemma2(gap, w, (spec.k() / delta).ln());
        Ok(WorstCasePath {
            chosen,
            printed: bound.printed,
            derived: bound.derived,
            furthest,
        })
    }
}
