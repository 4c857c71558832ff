//! Regret curves as tables, CSV and plot series.

use emab::stats::half_width;
use emab::theory::{Bounds, Target};
use emab_sim::LowerBoundCurve;
use emab_sim::results::{LearnerResult, RunResult};

use crate::plot::{Series, SeriesPoint};
use crate::runs_table::final_regret;
use crate::text_table::{fixed, number, table};
use emab_tables::in_quotes;

/// A mean over some runs with its 95 % interval ([`half_width`]), with as many digits as the interval supports.
///
/// ```
/// use emab_report::confidence;
/// assert_eq!(confidence(366.51, 0.15, 1000), "366.51 ± 0.29");
/// assert_eq!(confidence(366.51, 0.15, 5), "366.51 ± 0.42");
/// assert_eq!(confidence(1050.3, 56.9, 100), "1,050 ± 112");
/// assert_eq!(confidence(0.0, 0.0, 100), "0 ± 0");
/// assert_eq!(confidence(1.5, 0.0, 1), "1.5000 (one run)");
/// ```
pub fn confidence(mean: f64, stderr: f64, runs: u64) -> String {
    if runs < 2 {
        return format!("{} (one run)", number(mean));
    }
    // A standard error within rounding counts as 0.
    let stderr = Some(stderr).filter(|stderr| *stderr > 1e-12 * mean.abs());
    let stderr = stderr.unwrap_or(0.0);
    let half = half_width(stderr, runs);
    match decimals(half) {
        Some(decimals) => format!("{} ± {}", fixed(mean, decimals), fixed(half, decimals)),
        None => format!("{} ± {}", number(mean), number(half)),
    }
}

/// Decimals that show two digits of half a 95 % interval; none for very large or small ones.
pub(crate) fn decimals(half: f64) -> Option<usize> {
    const LEAST: [f64; 6] = [9.95, 0.995, 0.0995, 0.00995, 0.000995, 0.0000995];
    let decimals = LEAST.iter().position(|least| half >= *least);
    decimals.filter(|_| half < 1e9)
}

/// The final regret of each learner as a table that fits a terminal.
pub fn regret_table(result: &RunResult, width: usize) -> String {
    let (header, rows) = regret_rows(result);
    table(&header, &rows, width)
}

/// The header and rows of [`regret_table`]: one row per learner, with its regret against the optimal policy where that
/// differs from the regret against the benchmark.
pub fn regret_rows(result: &RunResult) -> (Vec<&'static str>, Vec<Vec<String>>) {
    let shown = |mean: f64, stderr: f64| confidence(mean, stderr, result.runs);
    let two = result.learners.iter().any(|learner| {
        let last = learner.curve.last();
        last.is_some_and(|p| p.regret_optimal.is_some_and(|regret| regret != p.regret))
    });
    let rows: Vec<Vec<String>> = result
        .learners
        .iter()
        .filter_map(|learner| {
            let last = learner.curve.last()?;
            let part = |share: f64| {
                decimals(half_width(last.stderr, result.runs))
                    .map_or_else(|| number(share), |d| fixed(share, d))
            };
            let mut row = vec![learner.label.clone(), final_regret(learner, result.runs)];
            if two {
                let regret = last.regret_optimal.map(|mean| shown(mean, last.stderr));
                row.push(regret.unwrap_or_default());
            }
            let causes = learner.causes;
            row.extend([causes.early_stop, causes.late_stop, causes.wrong_action].map(part));
            row.push(number(last.gain / last.episode.max(1) as f64));
            Some(row)
        })
        .collect();
    let mut header = vec!["learner", "regret (95 %)"];
    if two {
        header.push("vs optimum");
    }
    header.extend(["by early stop", "late stop", "wrong action", "gain/episode"]);
    (header, rows)
}

/// Regret at chosen episodes over some runs: the header and the rows of a table.
pub fn regret_cells(
    learners: &[(String, LearnerResult)],
    episodes: &[u64],
    runs: u64,
) -> (Vec<String>, Vec<Vec<String>>) {
    let at = episodes.iter().map(|episode| format!("n = {episode}"));
    let header = ["learner".to_owned()].into_iter().chain(at).collect();
    let row = |(title, learner): &(String, LearnerResult)| {
        let cell = |episode: &u64| {
            let point = learner.curve.iter().find(|point| point.episode == *episode);
            point.map_or(String::new(), |p| confidence(p.regret, p.stderr, runs))
        };
        let cells = episodes.iter().map(cell);
        [title.clone()].into_iter().chain(cells).collect()
    };
    (header, learners.iter().map(row).collect())
}

/// All curves as CSV, one row per learner and checkpoint.
pub fn curve_csv(result: &RunResult) -> String {
    let mut out = String::from(
        "learner,episode,regret,stderr,gain,gain_stderr,regret_optimal,q05,q25,q50,q75,q95",
    );
    // A constant column, for files that are concatenated.
    let mut conditions = String::new();
    if !result.conditions.is_none() {
        out += ",conditions";
        conditions = format!(",\"{}\"", result.conditions);
    }
    out.push('\n');
    for learner in &result.learners {
        // A label contains commas if several parameters are set.
        let label = in_quotes(&learner.label);
        for p in &learner.curve {
            let quantiles = p
                .quantiles
                .map(|q| [q.q05, q.q25, q.q50, q.q75, q.q95].map(Some));
            let known = [p.regret, p.stderr, p.gain, p.gain_stderr].map(Some);
            let values = known.into_iter().chain([p.regret_optimal]);
            out += &format!("{label},{}", p.episode);
            for value in values.chain(quantiles.unwrap_or_default()) {
                out += &value.map_or(",".into(), |value| format!(",{value}"));
            }
            out += &format!("{conditions}\n");
        }
    }
    out
}

/// The mean regret of a learner over some runs, with its 95 % interval, as a plot series.
pub fn regret_series(label: &str, learner: &LearnerResult, runs: u64) -> Series {
    let points = learner.curve.iter();
    let points = points.map(|p| SeriesPoint::of_mean(p.episode as f64, learner, p, runs));
    Series {
        label: label.into(),
        points: points.collect(),
        bound: false,
    }
}

/// The median regret of a learner, with quartiles and 5 % and 95 % quantiles, as a plot series; none if the result has no quantiles, as those of
/// earlier versions.
pub fn quantile_series(label: &str, learner: &LearnerResult) -> Option<Series> {
    let points = learner.curve.iter().map(|point| {
        let quantiles = point.quantiles.as_ref()?;
        Some(SeriesPoint::quantiles(point.episode as f64, quantiles))
    });
    Some(Series {
        label: label.into(),
        points: points.collect::<Option<_>>()?,
        bound: false,
    })
}

/// The bounds of Theorem 1 and the trivial bound at the checkpoints of a learner.
///
/// `named` adds the learner's label. Infinite bounds are omitted.
pub fn bound_series(bounds: &Bounds, learner: &LearnerResult, named: bool) -> Vec<Series> {
    let line = |label: String, value: &dyn Fn(f64) -> f64| {
        let point = |x| SeriesPoint::exact(x, value(x));
        let episodes = learner.curve.iter().map(|point| point.episode as f64);
        Series {
            label,
            points: episodes.map(point).collect(),
            bound: true,
        }
    };
    let name = |line: &str| match named {
        true => format!("{line}: {}", learner.label),
        false => line.to_owned(),
    };
    let theorem1 = bounds.theorem1;
    let mut series = vec![
        line(name("Theorem 1, printed"), &|_| theorem1.printed),
        line(name("Theorem 1, derived"), &|_| theorem1.derived),
        line(name("Theorem 1, tight"), &|_| theorem1.tight),
        line("n Ω_max, no theorem".into(), &|n| n * bounds.omega_max),
    ];
    series.retain(|line| line.points.iter().all(|point| point.centre.is_finite()));
    series
}

/// The lower bound beside curves of regret against the benchmark; none if it is on another regret.
pub fn lower_bound_series(curve: &LowerBoundCurve) -> Option<Series> {
    let point = |&(n, bound): &(u64, f64)| SeriesPoint::exact(n as f64, bound);
    (curve.lower.target == Target::Benchmark).then(|| Series {
        label: "lower bound".into(),
        points: curve.points.iter().map(point).collect(),
        bound: true,
    })
}

/// Caption for these bounds: from which episode they are informative, by learner.
pub fn bound_note(bounded: &[(&str, &Bounds)]) -> String {
    let each: Vec<String> = bounded
        .iter()
        .map(|(label, bounds)| {
            let onset = bounds.informative_from.theorem1.map(|from| match from {
                Some(n) => format!("from episode {} on", number(n as f64)),
                None => "never".into(),
            });
            let caveat = match (bounds.uncovered.is_empty(), bounds.sound) {
                (false, _) => " (it does not cover this problem)",
                (true, false) => " (it rests on a width that is not sound here)",
                (true, true) => "",
            };
            let whose = match bounded.len() {
                1 => String::new(),
                _ => format!("for {label} "),
            };
            let (derived, tight) = (onset.derived, onset.tight);
            format!("{whose}{derived} as derived, {tight} at its tightest{caveat}")
        })
        .collect();
    format!(
        "Theorem 1 bounds the sum of V - Q, not the realised difference of two paths; it says something {}",
        each.join("; ")
    )
}
