//! Regret over steps and states: three maps of one learner, of its visits, its regret and its learned choices.

mod action_names;
mod layout;
mod panel;
mod read;

use std::collections::{BTreeMap, BTreeSet};

use emab_sim::results::StateRegret;
use kuva::render::render::Scene;

pub use self::read::read_regret_map;

use super::options::PlotOptions;
use super::{LIMIT, Picture, PlotError};
use emab_tables::in_quotes;

/// Most states and steps of a map.
const MAX_STATES: usize = 60;

const MAX_STEPS: usize = 60;

/// Whether most runs ended with another action than the benchmark's.
fn differs(pair: &StateRegret) -> bool {
    matches!(&pair.learned, Some(learned) if *learned != pair.benchmark)
}

/// The rule that a pair violates, if any.
fn violated_rule(pair: &StateRegret) -> Option<String> {
    if pair.t == 0 {
        return Some("steps count from 1".into());
    }
    let ranges = [
        ("visits", pair.visits, 0.0..=LIMIT, "[0, 1e305]"),
        ("regret", pair.regret, -LIMIT..=LIMIT, "[-1e305, 1e305]"),
        ("agree", pair.agree, 0.0..=1.0, "[0, 1]"),
    ];
    let mut wrong = ranges
        .iter()
        .filter(|(_, value, range, _)| !range.contains(value));
    let (name, value, _, range) = wrong.next()?;
    Some(format!("{name} must lie in {range}, got {value}"))
}

/// The pairs that are drawn.
struct RegretGrid<'a> {
    /// Steps, one per column.
    steps: Vec<usize>,
    /// Indices and names of the states, one per row, from the bottom.
    states: Vec<(usize, &'a str)>,
    /// Column, row and pair of each cell.
    cells: Vec<(usize, usize, &'a StateRegret)>,
    /// Number of steps and states, drawn or not.
    all: (usize, usize),
}

impl<'a> RegretGrid<'a> {
    /// The first steps, and the states with the most regret in these steps.
    fn new(pairs: &'a [StateRegret]) -> Self {
        let mut steps: Vec<usize> = pairs.iter().map(|pair| pair.t).collect();
        steps.sort_unstable();
        steps.dedup();
        let all_steps = steps.len();
        steps.truncate(MAX_STEPS);

        let mut sums: BTreeMap<usize, (f64, f64, &str)> = BTreeMap::new();
        for pair in pairs {
            let (regret, visits, _) = sums.entry(pair.x).or_insert((0.0, 0.0, &pair.state));
            if steps.binary_search(&pair.t).is_ok() {
                *regret += pair.regret.abs();
                *visits += pair.visits;
            }
        }
        let all_states = sums.len();
        let mut states: Vec<_> = sums.into_iter().collect();
        states.sort_by(|(_, a), (_, b)| b.0.total_cmp(&a.0).then(b.1.total_cmp(&a.1)));
        states.truncate(MAX_STATES);
        states.sort_unstable_by_key(|(x, _)| *x);

        let cells = pairs.iter().filter_map(|pair| {
            let column = steps.binary_search(&pair.t).ok()?;
            let row = states.binary_search_by_key(&pair.x, |(x, _)| *x).ok()?;
            Some((column, row, pair))
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

/// Draws the visits of one learner (on a log scale), its regret and its final choices over steps and states.
///
/// Pairs that are not given stay blank, and pairs without a visit are hatched. In the third map, large cells name the
/// action that most runs ended with; if it is not the benchmark's, the cell is outlined and names the benchmark's below.
///
/// The map shows the first 60 steps and the 60 states with the most regret; a note says when it omits some.
///
/// # Errors
///
/// When there are no pairs, a number is not finite or out of range, a pair is given twice, or an option is invalid.
pub fn draw_regret_map(pairs: &[StateRegret], options: &PlotOptions) -> Result<Picture, PlotError> {
    let scene = scene(pairs, options)?;
    let scale = options.map_scale(scene.width, scene.height)?;
    Ok(Picture::new(scene, scale))
}

fn scene(pairs: &[StateRegret], options: &PlotOptions) -> Result<Scene, PlotError> {
    options.check()?;
    if pairs.is_empty() {
        return Err(PlotError::NoPoints(options.title.clone()));
    }
    let mut seen = BTreeSet::new();
    for pair in pairs {
        let (t, x) = (pair.t, pair.x);
        let twice = !seen.insert((t, x));
        let rule = violated_rule(pair);
        if let Some(rule) = rule.or_else(|| twice.then(|| "given twice".into())) {
            let place = format!("step {t}, state {x}");
            return Err(PlotError::Invalid(place, rule));
        }
    }
    Ok(layout::scene(&RegretGrid::new(pairs), options))
}

/// The pairs of all learners as CSV, one row per learner and pair; `learned` and `agree` are empty for pairs without a
/// visit.
pub fn regret_map_csv(learners: &[(String, Vec<StateRegret>)]) -> String {
    let mut out = String::from("learner,t,x,state,visits,regret,benchmark,learned,agree\n");
    for (label, pairs) in learners {
        let label = in_quotes(label);
        for pair in pairs {
            let (learned, agree) = match &pair.learned {
                Some(learned) => (in_quotes(learned), pair.agree.to_string()),
                None => Default::default(),
            };
            out += &format!(
                "{label},{},{},{},{},{},{},{learned},{agree}\n",
                pair.t,
                pair.x,
                in_quotes(&pair.state),
                pair.visits,
                pair.regret,
                in_quotes(&pair.benchmark),
            );
        }
    }
    out
}

#[cfg(test)]
mod tests;
