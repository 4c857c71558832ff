//! The runs behind the paper's two figures.

use std::sync::Arc;

use emab::{LearnerResult, Place, Problem};
use emab_report::{Picture, PlotOptions, draw, regret_series};

use crate::desk::{Desk, Job, LedgerError, builtin, learner_of};

/// The learners of both figures, as they are asked for.
const LEARNERS: [&str; 6] = [
    "feedbal",
    "ucb1",
    "ucb1v",
    "feedbal:sigma2=0.02",
    "feedbal:sigma2=0.05",
    "feedbal:sigma2=0.4",
];

/// As the figures call them.
pub(crate) const TITLES: [&str; 6] = [
    "FeedBAL, σ² = 0.2",
    "UCB1",
    "UCB1-V",
    "FeedBAL, σ² = 0.02",
    "FeedBAL, σ² = 0.05",
    "FeedBAL, σ² = 0.4",
];

/// Expected regret from 400,000 runs of a separate program, at `REFERENCE_AT`, in the order of `LEARNERS`.
pub(crate) const REFERENCE: [[f64; 5]; 6] = [
    [17.17, 67.10, 174.96, 256.34, 366.51],
    [20.56, 132.09, 506.88, 918.60, 1680.42],
    [13.78, 98.47, 415.73, 775.61, 1455.88],
    [26.04, 120.51, 366.31, 610.50, 1046.30],
    [20.31, 70.40, 151.23, 203.55, 269.98],
    [16.88, 75.21, 218.71, 334.56, 497.93],
];
pub(crate) const REFERENCE_AT: [u64; 5] = [100, 1000, 5000, 10_000, 20_000];

/// Section 5's problem and what the learners of the figures did on it.
pub(crate) struct Figures {
    pub(crate) problem: Arc<Problem>,
    /// In the order of `TITLES`.
    pub(crate) results: Vec<LearnerResult>,
    /// Where FeedBAL's regret came from.
    pub(crate) places: Vec<Place>,
}

impl Figures {
    pub(crate) fn run(desk: &mut Desk<'_>) -> Result<Figures, LedgerError> {
        let file = builtin("resource")?;
        let episodes = desk.settings.episodes;
        // A hundred points along a linear axis, and those of the reference.
        let mut checkpoints: Vec<u64> = (1..=100)
            .map(|i| (u128::from(episodes) * i / 100).max(1) as u64)
            .collect();
        let more = [1, 10, 50, episodes - episodes / 4, (episodes / 10).max(1)];
        checkpoints.extend(more.iter().filter(|&&n| n <= episodes));
        checkpoints.extend(REFERENCE_AT.iter().filter(|&&n| n <= episodes));
        let learners: Result<_, _> = LEARNERS
            .iter()
            .map(|text| learner_of(&file, text))
            .collect();
        let problem = file.problem()?;
        let outcome = desk.run(Job {
            what: "the figures",
            problem: problem.clone(),
            learners: learners?,
            episodes,
            runs: desk.settings.runs,
            checkpoints,
        })?;
        Ok(Figures {
            problem,
            results: outcome.results,
            places: outcome.places.into_iter().next().unwrap_or_default(),
        })
    }

    pub(crate) fn first(&self, runs: u64) -> Result<Picture, LedgerError> {
        // The first figure calls FeedBAL by its name alone, as the paper does.
        let curves: Vec<_> = ["FeedBAL", "UCB1", "UCB1-V"]
            .iter()
            .zip(&self.results)
            .map(|(title, result)| regret_series(title, result))
            .collect();
        picture(
            &curves,
            &format!("Section 5's problem ({runs} runs, 95 % bands)"),
        )
    }

    pub(crate) fn second(&self, runs: u64) -> Result<Picture, LedgerError> {
        let curves: Vec<_> = [3, 4, 0, 5]
            .iter()
            .filter_map(|&i| Some(regret_series(TITLES[i], self.results.get(i)?)))
            .collect();
        let title = format!("FeedBAL by the σ² it is told ({runs} runs, 95 % bands)");
        picture(&curves, &title)
    }
}

fn picture(curves: &[emab_report::Series], title: &str) -> Result<Picture, LedgerError> {
    let options = PlotOptions {
        title: title.into(),
        x_label: "episodes".into(),
        y_label: "cumulative regret".into(),
        ..PlotOptions::default()
    };
    Ok(draw(curves, &options)?)
}
