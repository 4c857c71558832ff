//! Regret curves as tables, CSV and series to draw.

use emab::{LearnerResult, RunResult};

use crate::plot::{Series, SeriesPoint};
use crate::table::{fixed, number, table};

/// Half the width of a 95 % interval, in standard errors.
pub const TWO_SIDED_95: f64 = 1.959_963_984_540_054;

/// A mean with its 95 % interval, for people: as many digits as the interval bears out.
///
/// ```
/// use emab_report::confidence;
/// assert_eq!(confidence(366.51, 0.15), "366.51 ± 0.29");
/// assert_eq!(confidence(1050.3, 56.9), "1,050 ± 112");
/// assert_eq!(confidence(0.0, 0.0), "0 ± 0");
/// ```
pub fn confidence(mean: f64, stderr: f64) -> String {
    let half = TWO_SIDED_95 * stderr;
    match decimals(stderr) {
        Some(decimals) => format!("{} ± {}", fixed(mean, decimals), fixed(half, decimals)),
        None => format!("{} ± {}", number(mean), number(half)),
    }
}

/// How many decimals show two digits of a 95 % interval; none where an ordinary number would be clearer.
fn decimals(stderr: f64) -> Option<usize> {
    let half = TWO_SIDED_95 * stderr;
    match half {
        h if h >= 1e9 => None,
        h if h >= 9.95 => Some(0),
        h if h >= 0.995 => Some(1),
        h if h >= 0.0995 => Some(2),
        h if h >= 0.00995 => Some(3),
        h if h >= 0.000995 => Some(4),
        _ => None,
    }
}

/// What each learner came to, a row a learner.
pub fn regret_table(result: &RunResult, width: usize) -> String {
    let rows: Vec<Vec<String>> = result
        .learners
        .iter()
        .filter_map(|learner| {
            let last = learner.curve.last()?;
            let part = |share: f64| {
                decimals(last.stderr).map_or_else(|| number(share), |d| fixed(share, d))
            };
            Some(vec![
                learner.label.clone(),
                if result.runs < 2 {
                    format!("{} (one run)", number(last.regret))
                } else {
                    confidence(last.regret, last.stderr)
                },
                part(learner.causes.early_stop),
                part(learner.causes.late_stop),
                part(learner.causes.wrong_action),
                number(last.gain / last.episode.max(1) as f64),
            ])
        })
        .collect();
    let header = [
        "learner",
        "regret (95 %)",
        "by early stop",
        "late stop",
        "wrong action",
        "gain/episode",
    ];
    table(&header, &rows, width)
}

/// Regret at chosen episodes, as a Markdown table.
pub fn regret_markdown(learners: &[(&str, &LearnerResult)], episodes: &[u64]) -> String {
    let mut out = String::from("| learner |");
    for episode in episodes {
        out += &format!(" n = {episode} |");
    }
    out += "\n|---|";
    out += &"---:|".repeat(episodes.len());
    out.push('\n');
    for (title, learner) in learners {
        out += &format!("| {title} |");
        for episode in episodes {
            let point = learner.curve.iter().find(|point| point.episode == *episode);
            out += &point.map_or(" |".into(), |p| {
                format!(" {} |", confidence(p.regret, p.stderr))
            });
        }
        out.push('\n');
    }
    out
}

/// All curves, one row a learner and checkpoint.
pub fn curve_csv(result: &RunResult) -> String {
    let mut out = String::from("learner,episode,regret,stderr,gain,gain_stderr\n");
    for learner in &result.learners {
        // A label holds commas where several parameters are set.
        let label = format!("\"{}\"", learner.label.replace('"', "\"\""));
        for p in &learner.curve {
            out += &format!(
                "{label},{},{},{},{},{}\n",
                p.episode, p.regret, p.stderr, p.gain, p.gain_stderr
            );
        }
    }
    out
}

/// A curve to draw.
pub fn regret_series(label: &str, learner: &LearnerResult) -> Series {
    let points = learner.curve.iter().map(|point| SeriesPoint {
        x: point.episode as f64,
        mean: point.regret,
        stderr: point.stderr,
    });
    Series {
        label: label.into(),
        points: points.collect(),
    }
}
