//! Lemmas, theorems and corollaries of Section 4: shared runs and the order of the claims.

use emab_report::{Claim, Picture};
use emab_sim::VerificationResult;
use emab_sim::results::{Guarantee, Power, ViolationCount};

use crate::figures::Figures;
use crate::lemmas::{lemma1, lemma2_claims};
use crate::measurement::{guarantee_claim, runs_of};
use crate::runner::{LedgerError, Runner, builtin};
use crate::theorem1::{counterexample, realised, theorem1, vacuous};
use crate::theorem2::{assumption2, logarithm, theorem2};

/// Claims and figures on the theorems.
pub(crate) struct TheoremResults {
    pub(crate) claims: Vec<Claim>,
    pub(crate) counterexample: Picture,
    pub(crate) logarithm: Picture,
}

/// Verifications of FeedBAL, and how each was run: in Section 5, and in the counter-example with the printed and with the
/// sound width.
pub(crate) struct Verified {
    pub(crate) section5: VerificationResult,
    pub(crate) how5: String,
    pub(crate) printed: VerificationResult,
    pub(crate) sound: VerificationResult,
    pub(crate) how_gap: String,
}

pub(crate) fn claims(
    runner: &mut Runner<'_>,
    figures: &Figures,
) -> Result<TheoremResults, LedgerError> {
    let mut claims = Vec::new();
    // Deciding a probability of 0.01 takes at least 368 runs.
    let runs = runner.settings.scaled(1000, 400);
    let most = runner.settings.episodes;
    let episodes = runner.settings.scaled(20_000, 2000).min(most);
    let file = builtin("resource")?;
    let section5 = runner.verify("Section 5's guarantees", &file, "feedbal", episodes, runs)?;
    let how5 = format!(
        "Section 5's problem, {}, every triplet after every episode",
        runs_of(runs, episodes)
    );

    let gap = builtin("feedback-gap")?;
    let gap_runs = runner.settings.scaled(2000, 1000);
    let gap_episodes = runner.settings.scaled(10_000, 2000);
    let mut on_gap = |text: &str| runner.verify("feedback gap", &gap, text, gap_episodes, gap_runs);
    let verified = Verified {
        printed: on_gap("feedbal")?,
        sound: on_gap("feedbal:width=sound")?,
        how_gap: format!(
            "problem `feedback-gap`, {}",
            runs_of(gap_runs, gap_episodes)
        ),
        section5,
        how5,
    };

    claims.extend(lemma1(runner, &verified)?);
    claims.extend(lemma2_claims(&verified, episodes)?);
    let says = "no chosen action falls short of the best by more than twice its confidence number";
    for (place, says, how, verified) in [
        (
            "Corollary 1",
            format!("in Section 5, {says}"),
            &verified.how5,
            &verified.section5,
        ),
        (
            "Corollary 1",
            format!("in every problem, {says}"),
            &verified.how_gap,
            &verified.printed,
        ),
        (
            "Corollary 1, repaired",
            format!("with width=sound, {says}"),
            &verified.how_gap,
            &verified.sound,
        ),
    ] {
        let guarantee = guarantee(verified, "Corollary 1");
        claims.push(guarantee_claim(place, says, how, &guarantee));
    }
    claims.extend(theorem1(&vacuous(runner)?, &verified));
    claims.push(realised(runner)?);
    let (more, counterexample) = counterexample(runner)?;
    claims.extend(more);
    claims.extend(theorem2(runner)?);
    let (more, logarithm) = logarithm(runner, figures)?;
    claims.push(more);
    claims.push(assumption2()?);
    Ok(TheoremResults {
        claims,
        counterexample,
        logarithm,
    })
}

pub(crate) fn guarantee(verified: &VerificationResult, statement: &str) -> Guarantee {
    let all = verified.guarantees();
    let found = all.into_iter().find(|p| p.statement == statement);
    found.unwrap_or_else(|| {
        let (none, unknown) = (ViolationCount::default(), Power::default());
        Guarantee::new(statement, "", 0.0, none, unknown)
    })
}
