//! Results of a sweep over two parameters as heat maps: colours, and numbers in large cells, on one scale for all maps
//! of a figure.

mod cell_numbers;
mod layout;

use kuva::render::render::Scene;

use super::options::PlotOptions;
use super::{LIMIT, Picture, PlotError};

/// Most values on an axis.
const MAX_VALUES: usize = 100;

/// Most maps of a figure.
const MAX_MAPS: usize = 12;

/// A heat map: the result for each pair of values of two parameters.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HeatMap {
    /// The title above the map; none when empty.
    pub title: String,
    /// The columns, from left to right.
    pub x: HeatAxis,
    /// The rows, from the bottom up.
    pub y: HeatAxis,
    /// Results by row and column; `None` where there is none.
    pub cells: Vec<Vec<Option<HeatCell>>>,
    /// Meaning of the colours, such as `regret after 20,000 episodes`.
    pub label: String,
}

/// One axis of a heat map.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HeatAxis {
    /// The name of the parameter; none when empty.
    pub name: String,
    /// Values, as shown.
    pub values: Vec<String>,
}

/// One result of a heat map.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct HeatCell {
    /// The mean or the median over the runs.
    pub centre: f64,
    /// Half the 95 % interval of a mean; intervals are shown if any is above 0.
    pub half_width: f64,
    /// Whether the interval is unreliable, because the runs form two groups: the value is marked with a dagger.
    pub unreliable: bool,
}

impl HeatCell {
    fn is_valid(&self) -> bool {
        self.centre.abs() <= LIMIT && (0.0..=LIMIT).contains(&self.half_width)
    }
}

impl HeatMap {
    fn results(&self) -> impl Iterator<Item = &HeatCell> {
        self.cells.iter().flatten().flatten()
    }

    /// The lowest value; none if all are equal.
    fn lowest(&self) -> Option<f64> {
        let values = || self.results().map(|cell| cell.centre);
        let least = values().fold(f64::INFINITY, f64::min);
        values().any(|value| value > least).then_some(least)
    }

    /// The rule that the map violates, if any.
    fn violated_rule(&self) -> Option<String> {
        for HeatAxis { name, values } in [&self.x, &self.y] {
            let count = values.len();
            if !(1..=MAX_VALUES).contains(&count) {
                return Some(format!(
                    "`{name}` must have 1 to {MAX_VALUES} values, got {count}"
                ));
            }
        }
        let (columns, rows, got) = (self.x.values.len(), self.y.values.len(), self.cells.len());
        if got != rows {
            return Some(format!("there must be {rows} rows of cells, got {got}"));
        }
        for (row, cells) in self.cells.iter().enumerate() {
            if cells.len() != columns {
                let got = cells.len();
                return Some(format!("row {row} must have {columns} cells, got {got}"));
            }
            let results = cells.iter().enumerate();
            let mut results = results.filter_map(|(column, cell)| Some((column, (*cell)?)));
            let wrong = results.find(|(_, cell)| !cell.is_valid());
            if let Some((
                column,
                HeatCell {
                    centre, half_width, ..
                },
            )) = wrong
            {
                return Some(format!(
                    "row {row}, column {column}: the value must be finite (at most 1e305) and \
                     the half width not negative, got {centre} and {half_width}"
                ));
            }
        }
        None
    }
}

/// Draws heat maps, such as one per learner, as one figure with one colour scale.
///
/// Darker is more, from the least result to the greatest, on a log scale if all are positive and span more than a
/// factor of 30. Large cells show their values, with as many digits as fit, and half the 95 % intervals if these fit.
/// In each map the lowest cells are framed, and cells without a result are hatched. All cells have the same size; maps
/// with the same rows share their labels.
///
/// ```
/// use emab_report::{HeatAxis, HeatCell, HeatMap, PlotOptions, draw_heat_maps};
///
/// let map = |learner: &str, centre| HeatMap {
///     title: learner.into(),
///     x: HeatAxis { name: "delta".into(), values: vec!["0.01".into(), "0.1".into()] },
///     y: HeatAxis { name: "p".into(), values: vec!["0.5".into()] },
///     // One row, for p = 0.5.
///     cells: vec![vec![Some(HeatCell { centre, ..HeatCell::default() }), None]],
///     label: "regret".into(),
/// };
/// let picture = draw_heat_maps(&[map("feedbal", 366.0), map("ucb1", 1680.0)], &PlotOptions::default())?;
/// assert!(picture.svg.contains(">1,680</text>") && picture.svg.contains(">no result</text>"));
/// # Ok::<(), emab_report::PlotError>(())
/// ```
///
/// # Errors
///
/// When there are no maps or more than 12, their labels differ, an axis has no values or more than 100, the number of
/// cells does not match the axes, a value is not finite, a half width is negative, or an option is invalid.
pub fn draw_heat_maps(maps: &[HeatMap], options: &PlotOptions) -> Result<Picture, PlotError> {
    let scene = scene(maps, options)?;
    let scale = options.map_scale(scene.width, scene.height)?;
    Ok(Picture::new(scene, scale))
}

fn scene(maps: &[HeatMap], options: &PlotOptions) -> Result<Scene, PlotError> {
    options.check()?;
    check(&options.title, maps)?;
    Ok(layout::scene(maps, options))
}

fn check(title: &str, maps: &[HeatMap]) -> Result<(), PlotError> {
    let Some(first) = maps.first() else {
        return Err(PlotError::NoSeries);
    };
    let bad = |map: &str, rule| {
        let place = format!("map `{}`", if map.is_empty() { title } else { map });
        Err(PlotError::Invalid(place, rule))
    };
    if maps.len() > MAX_MAPS {
        let rule = format!("at most {MAX_MAPS} fit one figure, got {}", maps.len());
        return bad(title, rule);
    }
    for map in maps {
        if let Some(rule) = map.violated_rule() {
            return bad(&map.title, rule);
        }
        if map.label != first.label {
            let (one, other) = (&map.label, &first.label);
            let rule = format!("maps on one scale must have one label, got `{one}` and `{other}`");
            return bad(&map.title, rule);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
