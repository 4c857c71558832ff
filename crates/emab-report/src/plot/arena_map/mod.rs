//! Comparison of learners as small multiples: one panel per problem, one row per learner, the same rows in all panels.

mod layout;
mod panel;
mod ratio_axis;

use emab_sim::results::ArenaResult;
use kuva::render::render::Scene;

use super::options::PlotOptions;
use super::{Picture, PlotError};

pub use self::layout::arena_options;

/// Most panels and rows of a figure.
const MAX_PANELS: usize = 24;
const MAX_ROWS: usize = 80;

/// Draws the regret of each learner as a multiple of the regret of FeedBAL, on log axes.
///
/// Regret is against the optimal policy, where it is negative only by noise and so fits a log axis, or against the
/// benchmark if the optimal policy is unknown. The axes cover the learners that see episodes only; an arrow at the end
/// of the axis marks a learner beyond it or without regret. Bars are 95 % intervals of the ratio on paired runs, and the
/// colour shows whether the paired difference to FeedBAL is significant.
///
/// ```
/// # use emab_sim::results::{ArenaSetting, ArenaProblem, ArenaResult, ExcludedLearner};
/// let left = ExcludedLearner { label: "ucb1".into(), why: "too many sequences".into() };
/// let problem = ArenaProblem::judge(ArenaSetting::default(), 10, &[], vec![left]);
/// let result = ArenaResult { version: "".into(), seed: 1, runs: 2, episodes: 10, problems: vec![problem] };
/// let picture = emab_report::draw_arena(&result, &emab_report::arena_options(&result)).unwrap();
/// assert!(picture.svg.contains(">does not apply</text>"));
/// ```
///
/// # Errors
///
/// When there is no problem or no learner, or an option is invalid.
pub fn draw_arena(result: &ArenaResult, options: &PlotOptions) -> Result<Picture, PlotError> {
    let scene = scene(result, options)?;
    let scale = options.map_scale(scene.width, scene.height)?;
    Ok(Picture::new(scene, scale))
}

fn scene(result: &ArenaResult, options: &PlotOptions) -> Result<Scene, PlotError> {
    options.check()?;
    let rows = layout::rows(result);
    if result.problems.is_empty() || rows.is_empty() {
        return Err(PlotError::NoSeries);
    }
    Ok(layout::scene(result, &rows, options))
}

#[cfg(test)]
mod tests;
