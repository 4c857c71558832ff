//! Learners on many problems as small multiples: one panel a problem, one row a learner, the same rows in all.
//!
//! [`draw_arena`] is the way in. The same input gives the same bytes.

mod panel;
mod range;
mod sheet;

use emab_sim::results::ArenaResult;
use kuva::backend::svg::SvgBackend;

use super::{Picture, PlotError, png};

/// More panels, and more rows, than this are not drawn.
const MOST_PANELS: usize = 24;
const MOST_ROWS: usize = 80;

/// Draws how much each learner lost, as a multiple of what FeedBAL lost, on log axes.
///
/// What is lost is regret against the optimal policy, which cannot be negative but by chance and so has a place on a
/// log axis, or against the benchmark where the optimal policy is not known. The axes are
/// those of the learners that see episodes alone; whoever lost nothing, or is off the axis, is an arrow at its end. Bars are 95 % intervals of the ratio on paired runs, and a colour says whether
/// the paired difference to FeedBAL is noise.
///
/// ```
/// # use emab::{ArenaGround, ArenaProblem, ArenaResult, LeftOut};
/// let left = LeftOut { label: "ucb1".into(), why: "too many sequences".into() };
/// let problem = ArenaProblem::judge(ArenaGround::default(), 10, &[], vec![left]);
/// let result = ArenaResult { version: "".into(), seed: 1, runs: 2, episodes: 10, problems: vec![problem] };
/// let picture = emab_report::draw_arena(&result).unwrap();
/// assert!(picture.svg.contains(">does not apply</text>"));
/// ```
///
/// # Errors
///
/// When there is no problem or no learner, or the PNG cannot be written.
pub fn draw_arena(result: &ArenaResult) -> Result<Picture, PlotError> {
    let rows = sheet::rows(result);
    if result.problems.is_empty() || rows.is_empty() {
        return Err(PlotError::NoSeries);
    }
    let scene = sheet::scene(result, &rows);
    let svg = SvgBackend::new().render_scene(&scene);
    let png = png::render(&scene).map_err(PlotError::Png)?;
    Ok(Picture { svg, png })
}

#[cfg(test)]
mod tests;
