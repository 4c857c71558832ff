//! Figures of regret over episodes, for wide and for narrow screens.

use emab_sim::results::{LearnerResult, RunResult};

use super::Figure;
use crate::document::Block;
use crate::plot::{PlotOptions, Series, draw_curves};
use crate::run_table::{confidence, quantile_series, regret_series};
use crate::runs_table::interval_note;
use crate::text_table::number;

/// A learner with its label and its number of runs.
pub(super) type Labelled<'a> = (String, &'a LearnerResult, u64);

/// Mean regret with 95 % bands, and a bound.
pub(super) fn means(title: &str, learners: &[Labelled<'_>], bound: Option<Series>) -> Vec<Block> {
    let series = learners.iter();
    let series = series.map(|(label, learner, runs)| regret_series(label, learner, *runs));
    let rows = learners.iter().flat_map(|(label, learner, runs)| {
        learner.curve.iter().map(move |point| {
            vec![
                label.clone(),
                number(point.episode as f64),
                confidence(point.regret, point.stderr, *runs),
                number(point.gain / point.episode.max(1) as f64),
            ]
        })
    });
    let mut series: Vec<Series> = series.collect();
    let limit = match bound {
        Some(_) => "The lower bound is what every learner loses, here or in an alternative. ",
        None => "",
    };
    let caption = format!(
        "Mean cumulative regret over the episodes. The bands are 95 % intervals of the mean. {limit}{}",
        interval_note(&series)
    );
    series.extend(bound);
    let header = vec!["learner", "episode", "regret (95 %)", "gain/episode"];
    figure(title, &series, caption.trim_end(), header, rows.collect())
}

/// Medians with quartiles and 5 % and 95 % quantiles; nothing where a learner has none.
pub(super) fn quantiles(result: &RunResult) -> Vec<Block> {
    let series = result.learners.iter();
    let series = series.map(|learner| quantile_series(&learner.label, learner));
    let Some(series) = series.collect::<Option<Vec<Series>>>() else {
        return Vec::new();
    };
    let rows = result.learners.iter().flat_map(|learner| {
        learner.curve.iter().filter_map(|point| {
            let q = point.quantiles?;
            let quantiles = [q.q05, q.q25, q.q50, q.q75, q.q95].map(number);
            let place = [learner.label.clone(), number(point.episode as f64)];
            Some(place.into_iter().chain(quantiles).collect())
        })
    });
    let title = format!("{}: quantiles over {} runs", result.problem, result.runs);
    let caption = "Median of the cumulative regret over the runs. The bands reach from the lower to the upper quartile and from the 5 % to the \
                   95 % quantile.";
    let header = vec![
        "learner", "episode", "5 %", "25 %", "median", "75 %", "95 %",
    ];
    figure(&title, &series, caption, header, rows.collect())
}

fn figure(
    title: &str,
    series: &[Series],
    caption: &str,
    header: Vec<&'static str>,
    rows: Vec<Vec<String>>,
) -> Vec<Block> {
    let options = PlotOptions {
        title: title.into(),
        x_label: "episodes".into(),
        y_label: "cumulative regret".into(),
        ..PlotOptions::default()
    };
    Figure {
        picture: options.for_page(|options| draw_curves(series, options)),
        caption: caption.into(),
        header,
        rows,
    }
    .blocks()
}
