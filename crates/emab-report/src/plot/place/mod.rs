//! Where the regret comes from: three maps of one learner over the steps and the states of a
//! problem, one of its visits, one of the regret it paid and one of what it learned to do.
//!
//! [`draw_places`] and [`places_csv`] are the ways in. The same input gives the same bytes.

mod key;
mod names;
mod panel;
mod sheet;

use std::collections::{BTreeMap, BTreeSet};

use emab_sim::results::StateRegret;
use kuva::backend::svg::SvgBackend;

use super::{LIMIT, Picture, PlotError, png};

/// More states than this are not drawn.
const MOST_STATES: usize = 60;

/// More steps than this are not drawn.
const MOST_STEPS: usize = 60;

/// Whether most runs ended with another action than the benchmark's.
fn differs(place: &StateRegret) -> bool {
    matches!(&place.learned, Some(learned) if *learned != place.benchmark)
}

/// The rule that a place breaks, if it breaks one.
fn fault(place: &StateRegret) -> Option<String> {
    let StateRegret {
        visits,
        regret,
        agree,
        ..
    } = place;
    if place.t == 0 {
        Some("steps count from 1".into())
    } else if !(0.0..=LIMIT).contains(visits) {
        Some(format!("visits must lie in [0, 1e305], got {visits}"))
    } else if !(-LIMIT..=LIMIT).contains(regret) {
        Some(format!("regret must lie in [-1e305, 1e305], got {regret}"))
    } else if !(0.0..=1.0).contains(agree) {
        Some(format!("agree must lie in [0, 1], got {agree}"))
    } else {
        None
    }
}

/// The part of the places that is drawn.
struct Grid<'a> {
    /// The steps, a column each.
    steps: Vec<usize>,
    /// Indices and names of the states, a row each, the lowest first.
    states: Vec<(usize, &'a str)>,
    /// Column, row and place of each cell.
    cells: Vec<(usize, usize, &'a StateRegret)>,
    /// How many steps and states there are, drawn or not.
    all: (usize, usize),
}

impl<'a> Grid<'a> {
    /// The first steps, and of the states those that pay the most regret in these steps.
    fn of(places: &'a [StateRegret]) -> Self {
        let mut steps: Vec<usize> = places.iter().map(|place| place.t).collect();
        steps.sort_unstable();
        steps.dedup();
        let all_steps = steps.len();
        steps.truncate(MOST_STEPS);

        let mut sums: BTreeMap<usize, (f64, f64, &str)> = BTreeMap::new();
        for place in places {
            let (regret, visits, _) = sums.entry(place.x).or_insert((0.0, 0.0, &place.state));
            if steps.binary_search(&place.t).is_ok() {
                *regret += place.regret.abs();
                *visits += place.visits;
            }
        }
        let all_states = sums.len();
        let mut states: Vec<_> = sums.into_iter().collect();
        states.sort_by(|(_, a), (_, b)| b.0.total_cmp(&a.0).then(b.1.total_cmp(&a.1)));
        states.truncate(MOST_STATES);
        states.sort_unstable_by_key(|(x, _)| *x);

        let cells = places.iter().filter_map(|place| {
            let column = steps.binary_search(&place.t).ok()?;
            let row = states.binary_search_by_key(&place.x, |(x, _)| *x).ok()?;
            Some((column, row, place))
        });
        let mut cells: Vec<_> = cells.collect();
        cells.sort_unstable_by_key(|(column, row, _)| (*row, *column));
        Self {
            cells,
            states: states.iter().map(|(x, (.., name))| (*x, *name)).collect(),
            steps,
            all: (all_steps, all_states),
        }
    }
}

/// Draws where the regret comes from: over steps and states, the visits of one learner (on a
/// log scale), the regret it paid, and what it chose in the end.
///
/// Pairs that are not given stay blank, and pairs without a visit are hatched. In the third
/// map, cells with room for it name the action that most runs ended with; where that is not
/// the benchmark's, the cell is outlined and names the benchmark's below.
///
/// At most 60 steps are drawn, the first ones, and at most 60 states, those with the most
/// regret; a line below the picture then says so.
///
/// # Errors
///
/// When there are no places, a number is not finite or out of its range, a pair is given
/// twice, or the PNG cannot be written.
pub fn draw_places(places: &[StateRegret], title: &str) -> Result<Picture, PlotError> {
    if places.is_empty() {
        let series = title.to_owned();
        return Err(PlotError::NoPoints { series });
    }
    let mut seen = BTreeSet::new();
    for place in places {
        let (t, x) = (place.t, place.x);
        let twice = !seen.insert((t, x));
        let fault = fault(place);
        if let Some(rule) = fault.or_else(|| twice.then(|| "given twice".into())) {
            return Err(PlotError::BadPlace { t, x, rule });
        }
    }
    let scene = sheet::scene(&Grid::of(places), title);
    let svg = SvgBackend::new().render_scene(&scene);
    let png = png::render(&scene).map_err(PlotError::Png)?;
    Ok(Picture { svg, png })
}

/// The places of all learners, one row a learner and pair; `learned` and `agree` are empty
/// where no run came.
pub fn places_csv(learners: &[(String, Vec<StateRegret>)]) -> String {
    // Names are anybody's: they may hold commas, quotes and line ends.
    let quoted = |name: &str| format!("\"{}\"", name.replace('"', "\"\""));
    let mut out = String::from("learner,t,x,state,visits,regret,benchmark,learned,agree\n");
    for (label, places) in learners {
        let label = quoted(label);
        for place in places {
            let (learned, agree) = match &place.learned {
                Some(learned) => (quoted(learned), place.agree.to_string()),
                None => Default::default(),
            };
            out += &format!(
                "{label},{},{},{},{},{},{},{learned},{agree}\n",
                place.t,
                place.x,
                quoted(&place.state),
                place.visits,
                place.regret,
                quoted(&place.benchmark),
            );
        }
    }
    out
}

#[cfg(test)]
mod tests;
