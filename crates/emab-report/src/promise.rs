//! Promises and how often they were broken, as a table.

use emab_sim::results::{Guarantee, GuaranteeVerdict};

use crate::table::{number, table};

/// Promises as a table for a terminal, and what is missing where some cannot be decided.
pub fn promises_table(promises: &[Guarantee], width: usize) -> String {
    let rows: Vec<Vec<String>> = promises
        .iter()
        .map(|promise| {
            let (low, high) = promise.interval;
            vec![
                format!("{}: {}", promise.statement, promise.says),
                percent(promise.promised),
                percent(promise.share),
                format!("{} to {}", percent(low), percent(high)),
                match promise.verdict {
                    GuaranteeVerdict::NotDecidable => "not decidable".into(),
                    verdict => verdict.words().into(),
                },
            ]
        })
        .collect();
    let header = ["promise", "may fail", "failed", "95 % interval", "verdict"];
    let mut text = table(&header, &rows, width);
    let open = promises
        .iter()
        .find(|p| p.verdict == GuaranteeVerdict::NotDecidable);
    if let Some(promise) = open {
        let needed = number(Guarantee::runs_needed(promise.promised));
        let kept = percent(promise.promised);
        text += &match promise.broken {
            0 => format!(
                "\nNot decidable with so few runs: it takes {needed} without a failure to show that a chance of {kept} is kept."
            ),
            _ => format!(
                "\nNot decidable with so few runs: the interval has {kept} in it, and with a failure it takes more than the \
                 {needed} that would be enough without one."
            ),
        };
    }
    text
}

/// A share with as many digits as are worth reading.
fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    let decimals = match percent {
        p if p == 0.0 || p >= 99.995 => 0,
        p if p >= 10.0 => 1,
        _ => 2,
    };
    let text = format!("{percent:.decimals$}");
    let text = if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.')
    } else {
        &text
    };
    format!("{text} %")
}
