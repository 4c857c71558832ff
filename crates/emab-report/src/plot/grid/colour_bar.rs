//! Colour bar of a map.

use kuva::render::render::TextAnchor;

use super::canvas::Canvas;
use super::colour::{ColourScale, Tick};
use super::text::width;

const TICKS: u32 = 11;
const BAR_HEIGHT: f64 = 11.0;
/// Texts at the ends of the bar may extend this far beyond it.
const OVERHANG: f64 = 14.0;

/// Draws a colour bar of this width, with its ticks below, from its upper left corner.
pub(crate) fn draw_colour_bar(
    canvas: &mut Canvas,
    scale: &ColourScale,
    (left, top): (f64, f64),
    wide: f64,
) {
    const STEP: f64 = 2.0;
    let parts = (wide / STEP) as usize;
    // Each part reaches to the end, so that there are no seams.
    for part in 0..parts {
        let from = STEP * part as f64;
        let colour = scale.colour_at(part as f64 / (parts - 1).max(1) as f64);
        canvas.rect([left + from, top, wide - from, BAR_HEIGHT], colour);
    }
    let ticks = scale.ticks();
    let middles: Vec<f64> = ticks
        .iter()
        .map(|tick| {
            let half = width(&tick.label, TICKS) / 2.0;
            let (first, last) = (half - OVERHANG, wide - half + OVERHANG);
            (tick.place * wide).min(last).max(first)
        })
        .collect();
    let bottom = top + BAR_HEIGHT;
    for tick in &ticks {
        let x = left + tick.place * wide;
        canvas.line((x, bottom), (x, bottom + 3.0));
    }
    for i in labelled(&ticks, &middles) {
        let at = (left + middles[i], bottom + 15.0);
        canvas.text(at, TICKS, TextAnchor::Middle, &ticks[i].label);
    }
}

/// Ticks whose labels fit: all, or else every n-th of the main ticks, or of all if there are fewer than two main ones.
fn labelled(ticks: &[Tick], middles: &[f64]) -> Vec<usize> {
    let half = |i: usize| width(&ticks[i].label, TICKS) / 2.0;
    let clear = |kept: &Vec<usize>| {
        kept.windows(2).all(|pair| {
            let (a, b) = (pair[0], pair[1]);
            middles[b] - half(b) >= middles[a] + half(a) + 6.0
        })
    };
    let all: Vec<usize> = (0..ticks.len()).collect();
    if clear(&all) {
        return all;
    }
    let mut main = all.clone();
    main.retain(|i| ticks[*i].main);
    let some = if main.len() < 2 { all } else { main };
    (1..=some.len())
        .map(|every| some.iter().copied().step_by(every).collect())
        .find(clear)
        .unwrap_or_default()
}
