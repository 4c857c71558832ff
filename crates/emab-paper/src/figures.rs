//! The runs behind the paper's two figures.

use std::sync::Arc;

use emab::Problem;
use emab_report::{Picture, PlotOptions, draw_curves, interval_note, regret_series};
use emab_sim::log_spaced;
use emab_sim::results::{LearnerResult, StateRegret};

use crate::reference::{AT, LEARNERS};
use crate::runner::{Job, LedgerError, Runner, builtin, learner_of};

/// As the figures call them.
pub(crate) const TITLES: [&str; 6] = [
    "FeedBAL, σ² = 0.2",
    "UCB1",
    "UCB1-V",
    "FeedBAL, σ² = 0.02",
    "FeedBAL, σ² = 0.05",
    "FeedBAL, σ² = 0.4",
];

/// Section 5's problem and what the learners of the figures did on it.
pub(crate) struct Figures {
    pub(crate) problem: Arc<Problem>,
    /// In the order of `TITLES`.
    pub(crate) results: Vec<LearnerResult>,
    /// Where FeedBAL's regret came from.
    pub(crate) places: Vec<StateRegret>,
}

impl Figures {
    pub(crate) fn run(runner: &mut Runner<'_>) -> Result<Figures, LedgerError> {
        let file = builtin("resource")?;
        let episodes = runner.settings.episodes;
        // A hundred points along a linear axis, and those of the reference.
        let mut checkpoints: Vec<u64> = (1..=100)
            .map(|i| (u128::from(episodes) * i / 100).max(1) as u64)
            .collect();
        let more = [1, 10, 50, episodes - episodes / 4, (episodes / 10).max(1)];
        checkpoints.extend(more.iter().filter(|&&n| n <= episodes));
        // For log axes.
        checkpoints.extend(log_spaced(episodes));
        checkpoints.extend(AT.iter().filter(|&&n| n <= episodes));
        let learners: Result<_, _> = LEARNERS
            .iter()
            .map(|text| learner_of(&file, text))
            .collect();
        let problem = file.problem()?;
        let outcome = runner.run(Job {
            what: "the figures",
            problem: problem.clone(),
            learners: learners?,
            episodes,
            runs: runner.settings.runs,
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
            .map(|(title, result)| regret_series(title, result, runs))
            .collect();
        picture(
            &curves,
            &format!("Section 5's problem ({runs} runs, 95 % intervals)"),
        )
    }

    pub(crate) fn second(&self, runs: u64) -> Result<Picture, LedgerError> {
        let curves: Vec<_> = [3, 4, 0, 5]
            .iter()
            .filter_map(|&i| Some(regret_series(TITLES[i], self.results.get(i)?, runs)))
            .collect();
        let title = format!("FeedBAL for several values of σ² ({runs} runs, 95 % intervals)");
        picture(&curves, &title)
    }
}

pub(crate) fn picture(curves: &[emab_report::Series], title: &str) -> Result<Picture, LedgerError> {
    let options = PlotOptions {
        title: title.into(),
        x_label: "episodes".into(),
        y_label: "cumulative regret".into(),
        caption: interval_note(curves),
        ..PlotOptions::default()
    };
    Ok(options.for_page(|options| draw_curves(curves, options))?)
}
