//! What stands below the panels: the meaning of the marks, and what is not drawn.

use kuva::render::render::TextAnchor;

use super::panel::Panel;
use super::pen::Pen;
use super::words::width;
use super::{Grid, Place, differs};

const SIZE: u32 = 12;
const LINE: f64 = 19.0;

/// What the key explains.
#[derive(Clone, Copy, PartialEq)]
enum Mark {
    Unvisited,
    Differs,
    Blank,
}

/// Draws the key, as far as it is needed, and the notes; returns where the picture ends.
pub(super) fn key(
    pen: &mut Pen,
    grid: &Grid,
    choices: &Panel,
    (left, mut top): (f64, f64),
    right: f64,
) -> f64 {
    let mut x = left;
    for (mark, text) in entries(grid, choices) {
        let swatch = if mark == Mark::Blank { 0.0 } else { 22.0 };
        let wide = swatch + width(text, SIZE);
        if x > left && x + wide > right {
            (x, top) = (left, top + LINE);
        }
        let rect = [x, top + 1.0, 16.0, 13.0];
        match mark {
            Mark::Unvisited => pen.unvisited(&[rect]),
            Mark::Differs => choices.draw_differing(pen, rect),
            Mark::Blank => {}
        }
        pen.text((x + swatch, top + 12.0), SIZE, TextAnchor::Start, text);
        x += wide + 20.0;
    }
    if x > left {
        top += LINE;
    }
    for note in notes(grid) {
        pen.text((left, top + 12.0), SIZE, TextAnchor::Start, &note);
        top += LINE;
    }
    top
}

fn entries(grid: &Grid, choices: &Panel) -> Vec<(Mark, &'static str)> {
    let any = |what: fn(&Place) -> bool| grid.cells.iter().any(|(_, _, place)| what(place));
    let mut entries = Vec::new();
    if any(|place| place.visits == 0.0 || place.learned.is_none()) {
        entries.push((Mark::Unvisited, "can be reached, never visited"));
    }
    if any(differs) {
        let text = if choices.names_below() {
            "most runs ended with the upper action, the benchmark takes the lower"
        } else {
            "most runs ended with another action than the benchmark's"
        };
        entries.push((Mark::Differs, text));
    }
    if grid.cells.len() < grid.steps.len() * grid.states.len() {
        entries.push((Mark::Blank, "blank: cannot be reached"));
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
