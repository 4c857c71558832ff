//! The bounds of the paper's theorems for a problem, as tables and notes.

use emab::theory::{Bound, Bounds, Lower, LowerTriplet, Onset, TripletAt, TripletBound};

use crate::text_table::{number, table};
use emab_sim::soundness::coefficient_words;

/// Number of triplets in the table: those that add the most to Theorem 1.
const SHOWN: usize = 10;

/// The bounds as a table, the triplets that add the most, and notes.
pub fn bounds_text(bounds: &Bounds, width: usize) -> String {
    let (header, rows) = bounds_rows(bounds);
    let mut text = table(&header, &rows, width) + "\n";
    if !bounds.triplets.is_empty() {
        text += &format!("\n{}\n", triplets(bounds, width));
    }
    for sentence in bounds_notes(bounds) {
        text += &format!("\n- {sentence}");
    }
    if let Some(lower) = &bounds.lower {
        text += &format!("\n\n{}", lower_text(lower, bounds.episodes, width));
    }
    text
}

/// The lower bound: its values, the triplets that add the most, and notes.
fn lower_text(lower: &Lower, episodes: u64, width: usize) -> String {
    let (header, rows) = lower_rows(lower, episodes);
    let mut text = String::new();
    if !rows.is_empty() {
        text += &format!("{}\n", table(&header, &rows, width));
    }
    let (header, rows) = lower_triplet_rows(lower);
    if !rows.is_empty() {
        let all = lower
            .triplets
            .iter()
            .filter(|one| one.constant > 0.0)
            .count();
        if all > SHOWN {
            text += &format!(
                "\nThe {SHOWN} of {all} triplets that add the most to C (--json has all):"
            );
        }
        text += &format!("\n{}\n", table(&header, &rows, width));
    }
    for sentence in lower_notes(lower, episodes) {
        text += &format!("\n- {sentence}");
    }
    text
}

/// The header and rows of the table of the lower bound; no rows if there is no bound.
pub(crate) fn lower_rows(lower: &Lower, episodes: u64) -> (Vec<&'static str>, Vec<Vec<String>>) {
    let n = number(episodes as f64);
    let rows = match (lower.constant, lower.at_n) {
        (Some(constant), Some(at_n)) => vec![
            vec![
                "C: no consistent learner's regret grows slower than C log n".into(),
                number(constant),
            ],
            vec![
                format!("C log n at n = {n}, which is no bound there"),
                number(constant * (episodes as f64).ln()),
            ],
            vec![
                format!("what every learner loses in {n} episodes, here or in an alternative"),
                number(at_n),
            ],
        ],
        _ => Vec::new(),
    };
    (vec!["lower bound", "regret"], rows)
}

/// The triplets that add the most to the constant.
fn lower_triplet_rows(lower: &Lower) -> (Vec<&'static str>, Vec<Vec<String>>) {
    let mut most: Vec<&LowerTriplet> = lower.triplets.iter().collect();
    most.retain(|triplet| lower.constant.is_some() && triplet.constant > 0.0);
    most.sort_by(|a, b| b.constant.total_cmp(&a.constant));
    let row = |triplet: &&LowerTriplet| {
        let TripletAt { t, state, a, .. } = &triplet.place;
        let LowerTriplet {
            visits,
            loss,
            information,
            constant,
            ..
        } = **triplet;
        let numbers = [visits, loss, information, constant].map(number);
        [t.to_string(), state.clone(), a.clone()]
            .into_iter()
            .chain(numbers)
            .collect()
    };
    let header = vec!["t", "x", "a", "visits", "V - Q", "information", "adds to C"];
    (header, most.iter().take(SHOWN).map(row).collect())
}

/// Notes on the lower bound, one sentence each.
pub(crate) fn lower_notes(lower: &Lower, episodes: u64) -> Vec<String> {
    let mut notes = Vec::new();
    let (Some(constant), Some(optimal)) = (lower.constant, lower.constant_of_optimal) else {
        notes.push(format!(
            "There is no lower bound: the benchmark is not optimal, and a choice can earn more than its own ({}). A learner that \
             makes it has a regret below 0.",
            first(&lower.better_than_benchmark)
        ));
        return notes;
    };
    if constant == 0.0 {
        notes.push(
            "C is 0: no model with the same noise and the same feedback makes another action the benchmark's choice, so that \
             a learner need not repeat it."
                .into(),
        );
    }
    if optimal < constant {
        notes.push(format!(
            "{} of C needs a learner that is consistent run by run: in the alternatives of the other triplets the benchmark is \
             not optimal.",
            number(constant - optimal)
        ));
    }
    notes.push(format!(
        "C describes n without end. In {} episodes a learner can lose less on this problem, but then it loses more on an alternative \
         (docs/theory.md, \"The limit of learning\").",
        number(episodes as f64)
    ));
    notes
}

/// The header and rows of the table of bounds: one row per theorem, and one for the trivial bound.
pub fn bounds_rows(bounds: &Bounds) -> (Vec<&str>, Vec<Vec<String>>) {
    let row = |name: String,
               Bound {
                   printed,
                   derived,
                   tight,
               }: Bound,
               onset: Onset| {
        let numbers = [printed, derived, tight].map(number);
        let from = [onset.derived, onset.tight].map(episode_or_never);
        [name].into_iter().chain(numbers).chain(from).collect()
    };
    let n = number(bounds.episodes as f64);
    let from = bounds.informative_from;
    let trivial = Bound {
        printed: bounds.trivial,
        derived: bounds.trivial,
        tight: bounds.trivial,
    };
    let at_once = Onset {
        printed: Some(1),
        derived: Some(1),
        tight: Some(1),
    };
    let delta = plain_delta(bounds.delta);
    let rows = vec![
        row(
            format!("Theorem 1, delta = {delta}"),
            bounds.theorem1,
            from.theorem1,
        ),
        row(
            format!("Theorem 2, delta = 1/{n}"),
            bounds.theorem2,
            from.theorem2,
        ),
        row(
            format!("Corollary 2, delta = 1/{n}"),
            bounds.corollary2,
            from.corollary2,
        ),
        row("no theorem, n * Omega_max".into(), trivial, at_once),
    ];
    let mut header = vec![bounds.problem.as_str()];
    header.extend([
        "as printed",
        "as derived",
        "tight",
        "informative from",
        "tight from",
    ]);
    (header, rows)
}

fn episode_or_never(from: Option<u64>) -> String {
    from.map_or("never".into(), |n| number(n as f64))
}

fn triplets(bounds: &Bounds, width: usize) -> String {
    let mut most: Vec<_> = bounds.triplets.iter().collect();
    let adds = |triplet: &TripletBound| triplet.omega * triplet.lemma2.derived;
    most.sort_by(|a, b| adds(b).total_cmp(&adds(a)));
    let row = |triplet: &&TripletBound| {
        let TripletAt { t, state, a, .. } = &triplet.place;
        let Bound {
            printed,
            derived,
            tight,
        } = triplet.lemma2;
        let gaps = [triplet.delta_gap, triplet.omega];
        let numbers = gaps
            .into_iter()
            .chain([printed, derived, tight, adds(triplet)]);
        let place = [t.to_string(), state.clone(), a.clone()];
        place.into_iter().chain(numbers.map(number)).collect()
    };
    let rows: Vec<Vec<String>> = most.iter().take(SHOWN).map(row).collect();
    let all = bounds.triplets.len();
    let head = if all > SHOWN {
        format!("The {SHOWN} of {all} triplets that add the most to Theorem 1 (--json has all):\n")
    } else {
        String::new()
    };
    let header = [
        "t",
        "x",
        "a",
        "Delta",
        "Omega",
        "Lemma 2 printed",
        "derived",
        "tight",
        "adds to Theorem 1",
    ];
    head + &table(&header, &rows, width)
}

/// Notes on the numbers, one sentence each.
pub(crate) fn bounds_notes(bounds: &Bounds) -> Vec<String> {
    let mut notes = Vec::new();
    let n = number(bounds.episodes as f64);
    if bounds.omega_max == 0.0 {
        notes.push(
            "No choice in any pair that can be reached costs anything: there is no regret to bound."
                .into(),
        );
    } else if bounds.uncovered.is_empty() {
        notes.push(vacuous(bounds, &n));
    } else {
        notes.push(format!(
            "No theorem covers this problem and this learner ({}): these choices are best one step ahead{}, so that no theorem \
             counts them, and lose in what follows. Regret may grow with n, whatever the bounds say.",
            first(&bounds.uncovered),
            if bounds.stop_bias == 0.0 { "" } else { ", the bias of stop included" }
        ));
    }
    if bounds.theorem1.derived.is_infinite() || bounds.theorem2.derived.is_infinite() {
        notes.push(
            "A gap is so small, or a width so large, that a bound is beyond the largest number: inf here, null in JSON.".into(),
        );
    }
    notes.push(
        "The bounds are on the sum of V - Q along the learner's path, the conditional expectation of Equation 1. \
         Equation 1 itself is the difference of two random paths and is bounded for no learner."
            .into(),
    );
    if !bounds.sound {
        let which = if bounds.is_paper() {
            "The paper's width is not sound here"
        } else {
            "The width is not sound here, the problem varies more than the parameters state"
        };
        let why = coefficient_words(bounds.coefficients, bounds.needed);
        notes.push(format!(
            "{which}: {why} for Lemma 1, on which all bounds rest."
        ));
    }
    if !bounds.assumption1.holds {
        notes.push(format!(
            "Assumption 1 does not hold ({}): stop ties with another action there. Such a tie costs no regret, but the \
             learner's choices need not become the benchmark's; a small stop_bias breaks it.",
            first(&bounds.assumption1.violations)
        ));
    }
    if !bounds.assumption2.holds {
        notes.push(format!(
            "Assumption 2 does not hold ({}): Corollary 2 does not apply, and what it gives as printed and as derived is no bound.",
            first(&bounds.assumption2.violations)
        ));
    }
    if bounds.sigma2 == 0.0 && bounds.sigma2_cost == 0.0 {
        notes.push(
            "sigma2 is 0: the learner assumes that observations have no noise, so that widths of 0 and a single look \
             at each action are enough where no feedback enters. True only if there is no noise."
                .into(),
        );
    }
    if bounds.episodes == 1 {
        notes.push(
            "At n = 1 the delta of Theorem 2 and Corollary 2 is 1: they guarantee nothing by confidence, and their bound \
             is larger than Omega_max, which one episode cannot exceed."
                .into(),
        );
    }
    notes
}

fn vacuous(bounds: &Bounds, n: &str) -> String {
    let notes = |name: &str, bound: Bound, most: f64, onset: Onset| {
        let state = if bound.derived < most {
            "says something"
        } else if bound.tight < most {
            "says something at its tightest only"
        } else {
            "is vacuous"
        };
        format!(
            "{name} {state}: {} as derived and {} at its tightest (informative from episode {} and {} on)",
            number(bound.derived),
            number(bound.tight),
            episode_or_never(onset.derived),
            episode_or_never(onset.tight)
        )
    };
    let from = bounds.informative_from;
    format!(
        "At n = {n} no learner's regret exceeds {}, except with probability {}: {}. No learner's expected regret exceeds \
         n * Omega_max = {}: {}.",
        number(bounds.largest_regret),
        plain_delta(bounds.delta),
        notes(
            "Theorem 1",
            bounds.theorem1,
            bounds.largest_regret,
            from.theorem1
        ),
        number(bounds.trivial),
        notes("Theorem 2", bounds.theorem2, bounds.trivial, from.theorem2)
    )
}

/// Number of triplets, and the first of them.
fn first(triplets: &[TripletAt]) -> String {
    let (count, s) = (triplets.len(), if triplets.len() == 1 { "" } else { "s" });
    triplets
        .first()
        .map_or(String::new(), |TripletAt { t, state, a, .. }| {
            format!("{count} triplet{s}, the first at t = {t}, x = {state}, a = {a}")
        })
}

/// In decimal notation, or with an exponent if it is small.
fn plain_delta(delta: f64) -> String {
    if delta >= 1e-6 {
        delta.to_string()
    } else {
        format!("{delta:e}")
    }
}
