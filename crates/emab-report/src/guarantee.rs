//! Guarantees, how often the runs violate them, and what the test could show, as a table.

use emab_sim::results::{Guarantee, GuaranteeVerdict};

use crate::text_table::{number, table};

/// Guarantees as a table for a terminal, with notes on the control and on verdicts other than `holds` and `violated`.
pub fn guarantees_table(guarantees: &[Guarantee], width: usize) -> String {
    let rows: Vec<Vec<String>> = guarantees
        .iter()
        .map(|guarantee| {
            let (low, high) = guarantee.interval;
            vec![
                format!("{}: {}", guarantee.statement, guarantee.says),
                percent(guarantee.share),
                format!("{} to {}", percent(low), percent(high)),
                match guarantee.control.runs {
                    0 => "none".into(),
                    _ => percent(guarantee.control.share()),
                },
                guarantee.verdict.words().into(),
            ]
        })
        .collect();
    let header = ["guarantee", "failed", "95 % interval", "control", "verdict"];
    let mut text = table(&header, &rows, width);
    let of = |wanted: GuaranteeVerdict| guarantees.iter().filter(move |g| g.verdict == wanted);
    let consistent = || of(GuaranteeVerdict::Consistent);
    let few = |guarantee: &&Guarantee| guarantee.interval.1 > guarantee.delta;
    let mut note = |line: &str| text += &format!("\n{line}");
    note(CONTROL);
    if of(GuaranteeVerdict::Vacuous).next().is_some() {
        note("Vacuous: no learner can violate it on this problem in so many episodes.");
    }
    if let Some(guarantee) = consistent().find(few) {
        note(&format!(
            "Consistent: {} runs without a failure are needed to show that the probability is at most {}.",
            number(Guarantee::runs_needed(guarantee.delta)),
            percent(guarantee.delta)
        ));
    }
    let passes = |guarantee: &&Guarantee| guarantee.control.interval().0 <= guarantee.delta;
    let mut weak = consistent().filter(passes).peekable();
    if weak.peek().is_some() {
        let rarely = |guarantee: &Guarantee| guarantee.control.share() <= guarantee.delta;
        let always = match weak.all(rarely) {
            true => ", which more runs do not change",
            false => "",
        };
        note(&format!(
            "Consistent: not violated, but the control passes as well: the test has little power{always}."
        ));
    }
    if let Some(guarantee) = of(GuaranteeVerdict::NotDecidable).next() {
        note(&format!(
            "Not decidable with so few runs: some fail, and the interval contains {}.",
            percent(guarantee.delta)
        ));
    }
    text
}

const CONTROL: &str = "Control: the test with half of each width (Lemma 1, Coverage) or with random choices (the others).";

/// A share in percent, with at most two decimals.
pub fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    let decimals = match percent {
        p if p == 0.0 || p >= 99.995 => 0,
        p if p >= 10.0 => 1,
        _ => 2,
    };
    let text = format!("{percent:.decimals$}");
    match text.contains('.') {
        true => format!("{} %", text.trim_end_matches('0').trim_end_matches('.')),
        false => format!("{text} %"),
    }
}
