//! Single runs: their table, and how the regret is distributed over them.

use std::io::Write;

use emab::stats::clopper_pearson;
use emab_sim::results::{LearnerResult, RunRecord, RunResult};
use emab_tables::{Cell, Format, Kind, TableError, TableWriter};

use crate::plot::Series;
use crate::run_table::confidence;
use crate::text_table::{number, table};

/// Writes a table of single runs, row by row: one for each learner, run and recorded episode. `stuck` stands at the last episode.
///
/// `runs` are pairs of the position of a learner in `labels` and a record of these episodes.
pub fn write_runs<W: Write + Send, E: From<TableError>>(
    format: Format,
    labels: &[&str],
    episodes: &[u64],
    runs: impl Iterator<Item = Result<(usize, RunRecord), E>>,
    out: W,
) -> Result<W, E> {
    let columns = [
        ("learner", Kind::Text),
        ("run", Kind::Count),
        ("episode", Kind::Count),
        ("regret", Kind::Number),
        ("gain", Kind::Number),
        ("stuck", Kind::Boolean),
    ];
    let mut rows = TableWriter::new(format, &columns, out)?;
    for record in runs {
        let (learner, record) = record?;
        let label = labels.get(learner).copied().unwrap_or_default();
        for (i, (episode, (regret, gain))) in episodes.iter().zip(&record.at).enumerate() {
            let stuck = record.stuck.filter(|_| i + 1 == episodes.len());
            rows.row([
                Cell::text(label),
                Cell::Count(record.run),
                Cell::Count(*episode),
                Cell::Number(*regret),
                Cell::Number(*gain),
                Cell::of(stuck, Cell::Boolean),
            ])?;
        }
    }
    Ok(rows.finish()?)
}

/// The mark of an interval that is unreliable.
pub(crate) const UNRELIABLE: &str = "†";

/// What the mark means, for a table or figure with several results.
pub const UNRELIABLE_NOTE: &str = "† the runs form two groups: the interval is unreliable";

/// The caption of a figure with lines: what the mark means, if there is one.
pub fn interval_note(series: &[Series]) -> String {
    match series.iter().any(Series::is_unreliable) {
        true => format!("{UNRELIABLE_NOTE}."),
        false => String::new(),
    }
}

/// The final regret with its 95 % interval, which is marked where the runs form two groups.
pub fn final_regret(learner: &LearnerResult, runs: u64) -> String {
    let Some(last) = learner.curve.last() else {
        return String::new();
    };
    let regret = confidence(last.regret, last.stderr, runs);
    match learner.groups {
        Some(_) => format!("{regret} {UNRELIABLE}"),
        None => regret,
    }
}

/// The share of stuck runs with its 95 % interval; empty where it is not known.
pub(crate) fn stuck_share(learner: &LearnerResult, runs: u64) -> String {
    let Some(share) = learner.stuck else {
        return String::new();
    };
    let stuck = (share * runs as f64).round() as u64;
    let (low, high) = clopper_pearson(stuck, runs, 0.95);
    let percent = |share: f64| format!("{:.1}", 100.0 * share);
    format!(
        "{} % ({} to {})",
        percent(share),
        percent(low),
        percent(high)
    )
}

/// The distribution of the final regret over the runs: the header and one row per learner. None where no learner has quantiles, as in
/// results of earlier versions, or there is one run.
pub fn distribution_rows(result: &RunResult) -> Option<(Vec<&'static str>, Vec<Vec<String>>)> {
    let header = vec![
        "learner",
        "5 %",
        "25 %",
        "median",
        "75 %",
        "95 %",
        "stuck runs (95 %)",
    ];
    let row = |learner: &LearnerResult| {
        let q = learner.curve.last()?.quantiles?;
        let quantiles = [q.q05, q.q25, q.q50, q.q75, q.q95].map(number);
        let label = [learner.label.clone()].into_iter();
        Some(
            label
                .chain(quantiles)
                .chain([stuck_share(learner, result.runs)])
                .collect(),
        )
    };
    let rows: Vec<Vec<String>> = result.learners.iter().filter_map(row).collect();
    (result.runs > 1 && !rows.is_empty()).then_some((header, rows))
}

/// [`distribution_rows`] as text with a heading; empty where there are none.
pub fn distribution_table(result: &RunResult, width: usize) -> String {
    distribution_rows(result).map_or(String::new(), |(header, rows)| {
        let heading = format!(
            "Quantiles of the final regret over the {} runs:",
            result.runs
        );
        format!("{heading}\n{}", table(&header, &rows, width))
    })
}

/// A sentence for each learner whose runs form two groups.
pub fn group_notes(result: &RunResult) -> Vec<String> {
    let note = |learner: &LearnerResult| {
        let groups = learner.groups?;
        let percent = |share: f64| format!("{:.1} %", 100.0 * share);
        Some(format!(
            "{UNRELIABLE} {}: the runs form two groups, {} near {} and {} near {}; the interval of the mean is unreliable",
            learner.label,
            percent(1.0 - groups.upper_share),
            number(groups.lower),
            percent(groups.upper_share),
            number(groups.upper),
        ))
    };
    result.learners.iter().filter_map(note).collect()
}
