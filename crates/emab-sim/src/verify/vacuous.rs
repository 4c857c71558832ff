//! Whether no learner can violate a guarantee on this problem in this many episodes.

use emab::oracle::{Optimal, OracleError, Pairs, Variation};
use emab::theory::{Bound, Premises, corollary1};
use emab::{Action, Delta, Width};

use super::triplets::TripletTable;
use super::{PerStatement, Verification};

/// Which statements are vacuous.
///
/// - Lemma 1 where neither noise nor feedback varies an observation, so that every mean is its gain. Values under the
///   optimal policy may be wrong even then.
/// - Lemma 2 where every count is at least the number of episodes, since a triplet is chosen at most once in each.
/// - Corollary 1 where two widths are at least the gap, even after an observation in every earlier episode.
/// - Theorem 1 where the bound is at least the regret that no learner exceeds but with probability `delta`.
pub(super) fn statements(
    verification: &Verification,
    table: &TripletTable,
    premises: Option<&Premises<'_>>,
    delta: Delta,
    largest_regret: f64,
) -> Result<PerStatement<bool>, OracleError> {
    let mut pairs = Pairs::new(verification.problem.clone())?;
    let needed = Variation::of(&mut pairs, Optimal::LIMIT)?.needed;
    let certain = needed.action == 0.0 && needed.stop == 0.0 && !table.values;
    let mut vacuous = PerStatement {
        lemma1: certain,
        ..PerStatement::default()
    };
    let Some(premises) = premises else {
        return Ok(vacuous);
    };
    let n = verification.episodes;
    let counts = |of: fn(&Bound) -> f64| {
        let mut counts = table.triplets.iter().filter_map(|t| t.counts.as_ref());
        counts.all(|counts| of(counts) >= n as f64)
    };
    vacuous.lemma2 = Bound {
        printed: counts(|bound| bound.printed),
        derived: counts(|bound| bound.derived),
        tight: counts(|bound| bound.tight),
    };
    vacuous.corollary1 = premises.gaps.suboptimal().all(|triplet| {
        let w = match triplet.action {
            Action::Continue(_) => premises.coefficients.action,
            Action::Stop => premises.coefficients.stop,
        };
        let least = Width::new(w, premises.gaps.k, delta).at(n.saturating_sub(1));
        corollary1(least) >= triplet.delta
    });
    if let Some(bound) = table.theorem1 {
        vacuous.theorem1 = bound.map(|bound| bound >= largest_regret);
    }
    Ok(vacuous)
}
