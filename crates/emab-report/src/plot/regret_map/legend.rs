//! Legend and notes below the panels.

use kuva::render::render::TextAnchor;

use super::super::grid::{Canvas, LEGEND_LINE, LEGEND_SIZE, Mark, draw_legend};
use super::panel::Panel;
use super::{RegretGrid, StateRegret, differs};

/// Draws the legend of the marks in use and the notes; returns where the picture ends.
pub(super) fn draw_notes(
    canvas: &mut Canvas,
    grid: &RegretGrid,
    choices: &Panel,
    (left, top): (f64, f64),
    right: f64,
) -> f64 {
    let any = |what: fn(&StateRegret) -> bool| grid.cells.iter().any(|(_, _, pair)| what(pair));
    let unvisited: Mark = &|canvas, rect| canvas.hatched(&[rect]);
    let differing: Mark = &|canvas, rect| choices.draw_differing(canvas, rect);
    let mut entries = Vec::new();
    if any(|pair| pair.visits == 0.0 || pair.learned.is_none()) {
        entries.push((Some(unvisited), "can be reached, never visited"));
    }
    if any(differs) {
        let text = if choices.names_two_lines() {
            "most runs ended with the upper action, the benchmark takes the lower"
        } else {
            "most runs ended with another action than the benchmark's"
        };
        entries.push((Some(differing), text));
    }
    if grid.cells.len() < grid.steps.len() * grid.states.len() {
        entries.push((None, "blank: cannot be reached"));
    }
    let mut top = draw_legend(canvas, &entries, (left, top), right);
    for note in notes(grid) {
        canvas.text((left, top + 12.0), LEGEND_SIZE, TextAnchor::Start, &note);
        top += LEGEND_LINE;
    }
    top
}

/// What is not drawn.
fn notes(grid: &RegretGrid) -> Vec<String> {
    let (all_steps, all_states) = grid.all;
    let (steps, states) = (grid.steps.len(), grid.states.len());
    let mut notes = Vec::new();
    if states < all_states {
        let rest = "states shown, those with the most regret";
        notes.push(format!("{states} of {all_states} {rest}"));
    }
    if steps < all_steps {
        notes.push(format!(
            "{steps} of {all_steps} steps shown, the first ones"
        ));
    }
    notes
}
