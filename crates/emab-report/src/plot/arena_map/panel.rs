//! One problem: rows, axis, and a mark per learner.

use emab::stats::half_width;
use emab_sim::results::{ArenaEntry, ArenaProblem, Ranking};
use kuva::render::render::TextAnchor;

use super::super::grid::Canvas;
use super::super::grid::colour::Rgb;
use super::super::grid::text::{shorten, wrap};
use super::layout::Row;
use super::ratio_axis::{Position, RatioAxis};

pub(super) const WIDE: f64 = 200.0;
pub(super) const HIGH: f64 = 16.0;
/// Space for the title above the rows and the axis below.
pub(super) const ABOVE: f64 = 24.0;
pub(super) const BELOW: f64 = 30.0;
/// Space between learners that see episodes only and informed ones.
pub(super) const APART: f64 = 8.0;
/// Space between the frame and the ends of the axis, for arrows.
const EDGE: f64 = 14.0;

const TITLE: u32 = 13;
const TICKS: u32 = 11;
const SMALL: u32 = 10;

const GRID: Rgb = [0xe4; 3];
const STRIPE: Rgb = [0xf6; 3];
const ONE: Rgb = [0x55; 3];
const FAINT: Rgb = [0x77; 3];

/// Meaning of a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    Better,
    Same,
    Worse,
    Informed,
    Best,
    Arrow,
}

impl Mark {
    fn of(problem: &ArenaProblem, entry: &ArenaEntry) -> Mark {
        match problem.against_feedbal(entry) {
            _ if entry.standing == Ranking::Informed => Mark::Informed,
            -1 => Mark::Better,
            1 => Mark::Worse,
            _ => Mark::Same,
        }
    }

    /// Blue and vermilion of Okabe and Ito, distinguishable for colour-blind readers, and greys.
    fn colour(self) -> Rgb {
        match self {
            Mark::Better => [0x00, 0x72, 0xb2],
            Mark::Worse => [0xd5, 0x5e, 0x00],
            Mark::Same | Mark::Arrow => [0x80; 3],
            Mark::Informed | Mark::Best => [0x1a; 3],
        }
    }

    /// Draws the mark around a point.
    pub(super) fn draw(self, canvas: &mut Canvas, at: (f64, f64)) {
        match self {
            Mark::Best => canvas.ring(at, 6.0, self.colour()),
            Mark::Informed => canvas.diamond(at, 4.5, self.colour()),
            Mark::Arrow => canvas.arrow(at, -1.0, self.colour()),
            _ => canvas.dot(at, 3.6, self.colour()),
        }
    }
}

/// The axis of a problem: it covers the learners that see episodes only.
fn axis(problem: &ArenaProblem, runs: u64) -> RatioAxis {
    let episodic = problem.learners.iter();
    let episodic = episodic.filter(|entry| entry.standing != Ranking::Informed);
    RatioAxis::new(episodic.filter_map(|entry| entry.over_feedbal), runs)
}

/// The marks in the panel of a problem.
pub(super) fn marks(problem: &ArenaProblem, runs: u64) -> Vec<Mark> {
    let axis = axis(problem, runs);
    let drawn = problem.learners.iter();
    let drawn = drawn.filter_map(|entry| Some((entry, axis.position(entry.over_feedbal?.mean))));
    drawn
        .flat_map(|(entry, position)| match position {
            Position::On(_) if entry.standing == Ranking::Best => {
                vec![Mark::of(problem, entry), Mark::Best]
            }
            Position::On(_) => vec![Mark::of(problem, entry)],
            _ => vec![Mark::Arrow],
        })
        .collect()
}

/// Draws a problem, played in this many runs; its rows begin below the title.
pub(super) fn draw(
    canvas: &mut Canvas,
    (problem, runs): (&ArenaProblem, u64),
    rows: &[Row],
    (left, top): (f64, f64),
) {
    let axis = axis(problem, runs);
    let title = shorten(&problem.ground.problem, WIDE, TITLE);
    canvas.text((left, top + 13.0), TITLE, TextAnchor::Start, &title);
    let first = top + ABOVE;
    let high = rows.last().map_or(0.0, |row| row.top + HIGH);
    let x = |share: f64| left + EDGE + share * (WIDE - 2.0 * EDGE);

    for (i, row) in rows.iter().enumerate() {
        if i % 2 == 0 {
            canvas.rect([left, first + row.top, WIDE, HIGH], STRIPE);
        }
    }
    for (share, text) in axis.ticks() {
        canvas.coloured_line((x(share), first), (x(share), first + high), GRID, 1.0);
        canvas.line((x(share), first + high), (x(share), first + high + 3.0));
        let at = (x(share), first + high + 15.0);
        canvas.text(at, TICKS, TextAnchor::Middle, &text);
    }
    let one = x(axis.clamped(1.0));
    canvas.coloured_line((one, first), (one, first + high), ONE, 1.2);
    canvas.coloured_line((left, first + high), (left + WIDE, first + high), ONE, 1.0);

    let mut without = 0;
    for row in rows {
        let middle = first + row.top + HIGH / 2.0;
        let mut entries = problem.learners.iter();
        let Some(entry) = entries.find(|entry| entry.label == row.label) else {
            if problem.left_out.iter().any(|left| left.label == row.label) {
                let at = (left + WIDE / 2.0, middle + 3.5);
                canvas.inked_text(at, SMALL, FAINT, "does not apply");
            }
            continue;
        };
        let Some(ratio) = entry.over_feedbal else {
            without += 1;
            continue;
        };
        let mark = Mark::of(problem, entry);
        let colour = mark.colour();
        match axis.position(ratio.mean) {
            Position::On(share) => {
                let arm = half_width(ratio.stderr, runs);
                let end = |value: f64| (x(axis.clamped(value)), middle);
                canvas.coloured_line(end(ratio.mean - arm), end(ratio.mean + arm), colour, 1.8);
                let at = (x(share), middle);
                mark.draw(canvas, at);
                if entry.standing == Ranking::Best {
                    Mark::Best.draw(canvas, at);
                }
            }
            Position::Below => canvas.arrow((left + 7.0, middle), -1.0, colour),
            Position::Above => canvas.arrow((left + WIDE - 7.0, middle), 1.0, colour),
        }
    }
    if without > 0 && without == problem.learners.len() {
        let why = "FeedBAL lost nothing here, or was not played: there is no ratio";
        for (i, line) in wrap(why, WIDE - 20.0, TICKS, 4).iter().enumerate() {
            let at = (left + WIDE / 2.0, first + 20.0 + 14.0 * i as f64);
            canvas.inked_text(at, TICKS, FAINT, line);
        }
    }
}
