//! What stands below the panels: the meaning of the marks, and what is not drawn.

use kuva::render::render::TextAnchor;

use super::super::legend::{LINE, SIZE, flow};
use super::super::pen::Pen;
use super::panel::Panel;

use super::{Grid, StateRegret, differs};

/// What the key explains.
#[derive(Clone, Copy)]
enum Mark {
    Unvisited,
    Differs,
}

/// Draws the key, as far as it is needed, and the notes; returns where the picture ends.
pub(super) fn key(
    pen: &mut Pen,
    grid: &Grid,
    choices: &Panel,
    (left, mut top): (f64, f64),
    right: f64,
) -> f64 {
    let entries = entries(grid, choices);
    top = flow(
        pen,
        &entries,
        (left, top),
        right,
        |pen, mark, rect| match mark {
            Mark::Unvisited => pen.hatched(&[rect]),
            Mark::Differs => choices.draw_differing(pen, rect),
        },
    );
    for note in notes(grid) {
        pen.text((left, top + 12.0), SIZE, TextAnchor::Start, &note);
        top += LINE;
    }
    top
}

fn entries(grid: &Grid, choices: &Panel) -> Vec<(Option<Mark>, &'static str)> {
    let any = |what: fn(&StateRegret) -> bool| grid.cells.iter().any(|(_, _, place)| what(place));
    let mut entries = Vec::new();
    if any(|place| place.visits == 0.0 || place.learned.is_none()) {
        entries.push((Some(Mark::Unvisited), "can be reached, never visited"));
    }
    if any(differs) {
        let text = if choices.names_below() {
            "most runs ended with the upper action, the benchmark takes the lower"
        } else {
            "most runs ended with another action than the benchmark's"
        };
        entries.push((Some(Mark::Differs), text));
    }
    if grid.cells.len() < grid.steps.len() * grid.states.len() {
        entries.push((None, "blank: cannot be reached"));
    }
    entries
}

/// Says what is not drawn.
fn notes(grid: &Grid) -> Vec<String> {
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
