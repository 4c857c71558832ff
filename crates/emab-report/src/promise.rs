//! Promises and how often they were broken, as a table.

use emab::{Kept, Promise};

use crate::table::{number, table};

/// Promises as a table for a terminal, and what is missing where some cannot be decided.
pub fn promises_table(promises: &[Promise], width: usize) -> String {
    let percent = |share: f64| {
        let text = format!("{:.3}", 100.0 * share);
        let text = text.trim_end_matches('0').trim_end_matches('.');
        format!("{text} %")
    };
    let rows: Vec<Vec<String>> = promises
        .iter()
        .map(|promise| {
            vec![
                promise.statement.clone(),
                promise.says.clone(),
                percent(promise.promised),
                percent(promise.share),
                format!(
                    "{} to {}",
                    percent(promise.interval.0),
                    percent(promise.interval.1)
                ),
                match promise.verdict {
                    Kept::NotDecidable => "not decidable".into(),
                    verdict => verdict.words().into(),
                },
            ]
        })
        .collect();
    let header = [
        "promise",
        "what it says",
        "may fail",
        "failed",
        "95 % interval",
        "verdict",
    ];
    let mut text = table(&header, &rows, width);
    let open = promises.iter().find(|p| p.verdict == Kept::NotDecidable);
    if let Some(promise) = open {
        text += &format!(
            "\nNot decidable with so few runs: it takes {} without a failure to show that a chance of {} is kept.",
            number(Promise::runs_needed(promise.promised)),
            percent(promise.promised)
        );
    }
    text
}
