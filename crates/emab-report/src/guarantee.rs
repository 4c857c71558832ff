//! Guarantees and how often the runs violate them, as a table.

use emab_sim::results::{Guarantee, GuaranteeVerdict};

use crate::text_table::{number, table};

/// Guarantees as a table for a terminal, with a note if some are undecided.
pub fn guarantees_table(guarantees: &[Guarantee], width: usize) -> String {
    let rows: Vec<Vec<String>> = guarantees
        .iter()
        .map(|guarantee| {
            let (low, high) = guarantee.interval;
            vec![
                format!("{}: {}", guarantee.statement, guarantee.says),
                percent(guarantee.delta),
                percent(guarantee.share),
                format!("{} to {}", percent(low), percent(high)),
                guarantee.verdict.words().into(),
            ]
        })
        .collect();
    let header = [
        "guarantee",
        "may fail",
        "failed",
        "95 % interval",
        "verdict",
    ];
    let mut text = table(&header, &rows, width);
    let open = |guarantee: &&Guarantee| guarantee.verdict == GuaranteeVerdict::NotDecidable;
    if let Some(guarantee) = guarantees.iter().find(open) {
        let needed = number(Guarantee::runs_needed(guarantee.delta));
        let allowed = percent(guarantee.delta);
        text += &match guarantee.violated {
            0 => format!(
                "\nNot decidable with so few runs: {needed} runs without a failure show that the probability is at most {allowed}."
            ),
            _ => format!(
                "\nNot decidable with so few runs: the interval contains {allowed}; after a failure, more than the {needed} runs \
                 that suffice without one are needed."
            ),
        };
    }
    text
}

/// A share in percent, with at most two decimals.
fn percent(share: f64) -> String {
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
