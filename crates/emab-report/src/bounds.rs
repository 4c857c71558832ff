//! The bounds of the paper's theorems for a problem, as tables and notes.

use emab::theory::{Bound, Bounds, Onset, TripletAt, TripletBound};

use crate::text_table::{number, table};
use emab_sim::soundness::coefficient_words;

/// Number of triplets in the table: those that add the most to Theorem 1.
const SHOWN: usize = 10;

/// The bounds as a table, the triplets that add the most, and notes.
pub fn bounds_text(bounds: &Bounds, width: usize) -> String {
    let mut text = format!("{}\n", summary(bounds, width));
    if !bounds.triplets.is_empty() {
        text += &format!("\n{}\n", triplets(bounds, width));
    }
    for sentence in bounds_notes(bounds) {
        text += &format!("\n- {sentence}");
    }
    text
}

fn summary(bounds: &Bounds, width: usize) -> String {
    let (header, rows) = bounds_rows(bounds);
    table(&header, &rows, width)
}

/// The header and rows of the table of bounds: one row per theorem, and one for the trivial bound.
pub fn bounds_rows(bounds: &Bounds) -> (Vec<&str>, Vec<Vec<String>>) {
    let show = |n: Option<u64>| n.map_or("never".into(), |n| number(n as f64));
    let row = |name: String, bound: Bound, says: Onset| {
        vec![
            name,
            number(bound.printed),
            number(bound.derived),
            number(bound.tight),
            show(says.derived),
            show(says.tight),
        ]
    };
    let n = number(bounds.episodes as f64);
    let informative = bounds.informative_from;
    let trivial = number(bounds.trivial);
    (
        vec![
            &bounds.problem,
            "as printed",
            "as derived",
            "tight",
            "informative from",
            "tight from",
        ],
        vec![
            row(
                format!("Theorem 1, delta = {}", plain_delta(bounds.delta)),
                bounds.theorem1,
                informative.theorem1,
            ),
            row(
                format!("Theorem 2, delta = 1/{n}"),
                bounds.theorem2,
                informative.theorem2,
            ),
            row(
                format!("Corollary 2, delta = 1/{n}"),
                bounds.corollary2,
                informative.corollary2,
            ),
            vec![
                "no theorem, n * Omega_max".into(),
                trivial.clone(),
                trivial.clone(),
                trivial,
                "1".into(),
                "1".into(),
            ],
        ],
    )
}

fn triplets(bounds: &Bounds, width: usize) -> String {
    let mut most: Vec<_> = bounds.triplets.iter().collect();
    let adds = |triplet: &TripletBound| triplet.omega * triplet.lemma2.derived;
    most.sort_by(|a, b| adds(b).total_cmp(&adds(a)));
    let rows: Vec<Vec<String>> = most
        .iter()
        .take(SHOWN)
        .map(|triplet| {
            vec![
                triplet.place.t.to_string(),
                triplet.place.x.to_string(),
                triplet.place.a.clone(),
                number(triplet.delta_gap),
                number(triplet.omega),
                number(triplet.lemma2.printed),
                number(triplet.lemma2.derived),
                number(triplet.lemma2.tight),
                number(adds(triplet)),
            ]
        })
        .collect();
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
pub fn bounds_notes(bounds: &Bounds) -> Vec<String> {
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
    if [bounds.theorem1.derived, bounds.theorem2.derived]
        .iter()
        .any(|bound| bound.is_infinite())
    {
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
        notes.push(unsound(bounds));
    }
    notes.extend(assumptions(bounds));
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
    let notes = |name: &str, bound: Bound, onset: Onset| {
        let trivial = bounds.trivial;
        let state = if bound.derived < trivial {
            "says something"
        } else if bound.tight < trivial {
            "says something at its tightest only"
        } else {
            "is vacuous"
        };
        let from = |n: Option<u64>| n.map_or("never".into(), |n| number(n as f64));
        format!(
            "{name} {state}: {} as derived and {} at its tightest (informative from episode {} and {} on)",
            number(bound.derived),
            number(bound.tight),
            from(onset.derived),
            from(onset.tight)
        )
    };
    format!(
        "At n = {n} no learner's expected regret can exceed n * Omega_max = {}. {}; {}.",
        number(bounds.trivial),
        notes(
            "Theorem 1",
            bounds.theorem1,
            bounds.informative_from.theorem1
        ),
        notes(
            "Theorem 2",
            bounds.theorem2,
            bounds.informative_from.theorem2
        )
    )
}

fn unsound(bounds: &Bounds) -> String {
    let which = if bounds.is_paper() {
        "The paper's width is not sound here"
    } else {
        "The width is not sound here, the problem varies more than the parameters state"
    };
    format!(
        "{which}: {} for Lemma 1, on which all bounds rest.",
        coefficient_words(bounds.coefficients, bounds.needed)
    )
}

fn assumptions(bounds: &Bounds) -> Vec<String> {
    let mut notes = Vec::new();
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
    notes
}

/// Number of triplets, and the first of them.
fn first(triplets: &[TripletAt]) -> String {
    triplets.first().map_or(String::new(), |at| {
        format!(
            "{} triplet{}, the first at t = {}, x = {}, a = {}",
            triplets.len(),
            if triplets.len() == 1 { "" } else { "s" },
            at.t,
            at.x,
            at.a
        )
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
