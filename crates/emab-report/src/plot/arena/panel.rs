//! One problem: its rows, its axis, and a mark a learner.

use emab_sim::results::{ArenaEntry, ArenaProblem, Ranking};
use kuva::render::render::TextAnchor;

use super::super::BAND;
use super::super::colour::Rgb;
use super::super::pen::Pen;
use super::super::words::{cut, wrap};
use super::range::{Range, Spot};
use super::sheet::Row;

pub(super) const WIDE: f64 = 200.0;
pub(super) const HIGH: f64 = 16.0;
/// The title above the rows, and the axis below them.
pub(super) const ABOVE: f64 = 24.0;
pub(super) const BELOW: f64 = 30.0;
/// Between the learners and those that know more.
pub(super) const APART: f64 = 8.0;
/// Between the frame and the ends of the axis: arrows stand there.
const EDGE: f64 = 14.0;

const TITLE: u32 = 13;
const TICKS: u32 = 11;
const SMALL: u32 = 10;

const GRID: Rgb = [0xe4; 3];
const STRIPE: Rgb = [0xf6; 3];
const ONE: Rgb = [0x55; 3];
const FAINT: Rgb = [0x77; 3];

/// What a mark says.
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
    fn of(entry: &ArenaEntry) -> Mark {
        match entry.against_feedbal() {
            _ if entry.standing == Ranking::Informed => Mark::Informed,
            -1 => Mark::Better,
            1 => Mark::Worse,
            _ => Mark::Same,
        }
    }

    /// Okabe and Ito's blue and vermilion, which colour-blind readers can tell apart, and greys.
    fn colour(self) -> Rgb {
        match self {
            Mark::Better => [0x00, 0x72, 0xb2],
            Mark::Worse => [0xd5, 0x5e, 0x00],
            Mark::Same | Mark::Arrow => [0x80; 3],
            Mark::Informed | Mark::Best => [0x1a; 3],
        }
    }

    /// Draws it around a place.
    pub(super) fn draw(self, pen: &mut Pen, at: (f64, f64)) {
        match self {
            Mark::Best => pen.ring(at, 6.0, self.colour()),
            Mark::Informed => pen.diamond(at, 4.5, self.colour()),
            Mark::Arrow => pen.arrow(at, -1.0, self.colour()),
            _ => pen.dot(at, 3.6, self.colour()),
        }
    }
}

/// Draws a problem; its rows begin below the title.
pub(super) fn draw(pen: &mut Pen, problem: &ArenaProblem, rows: &[Row], (left, top): (f64, f64)) {
    let rivals = problem.learners.iter();
    let rivals = rivals.filter(|entry| entry.standing != Ranking::Informed);
    let range = Range::of(rivals.filter_map(|entry| entry.over_feedbal));
    let title = cut(&problem.ground.problem, WIDE, TITLE);
    pen.text((left, top + 13.0), TITLE, TextAnchor::Start, &title);
    let first = top + ABOVE;
    let high = rows.last().map_or(0.0, |row| row.top + HIGH);
    let x = |share: f64| left + EDGE + share * (WIDE - 2.0 * EDGE);

    for (i, row) in rows.iter().enumerate() {
        if i % 2 == 0 {
            pen.rect(
                [left, first + row.top, WIDE, HIGH],
                super::super::colour::paint(STRIPE),
            );
        }
    }
    for (share, text) in range.ticks() {
        pen.thin((x(share), first), (x(share), first + high), GRID, 1.0);
        pen.line((x(share), first + high), (x(share), first + high + 3.0));
        let at = (x(share), first + high + 15.0);
        pen.text(at, TICKS, TextAnchor::Middle, &text);
    }
    let one = x(range.held(1.0));
    pen.thin((one, first), (one, first + high), ONE, 1.2);
    pen.thin((left, first + high), (left + WIDE, first + high), ONE, 1.0);

    let mut without = 0;
    for row in rows {
        let middle = first + row.top + HIGH / 2.0;
        let entry = problem
            .learners
            .iter()
            .find(|entry| entry.label == row.label);
        let Some(entry) = entry else {
            let left_out = problem.left_out.iter().any(|left| left.label == row.label);
            if left_out {
                let at = (left + WIDE / 2.0, middle + 3.5);
                pen.inked_text(at, SMALL, FAINT, "does not apply");
            }
            continue;
        };
        let Some(ratio) = entry.over_feedbal else {
            without += 1;
            continue;
        };
        let mark = Mark::of(entry);
        let colour = mark.colour();
        match range.spot(ratio.mean) {
            Spot::On(share) => {
                let arm = BAND * ratio.stderr;
                let ends = (range.held(ratio.mean - arm), range.held(ratio.mean + arm));
                pen.thin((x(ends.0), middle), (x(ends.1), middle), colour, 1.8);
                let at = (x(share), middle);
                mark.draw(pen, at);
                if entry.standing == Ranking::Best {
                    Mark::Best.draw(pen, at);
                }
            }
            Spot::Below => pen.arrow((left + 7.0, middle), -1.0, colour),
            Spot::Above => pen.arrow((left + WIDE - 7.0, middle), 1.0, colour),
        }
    }
    if without > 0 && without == problem.learners.len() {
        let why = "FeedBAL lost nothing here, or was not played: there is no ratio";
        for (i, line) in wrap(why, WIDE - 20.0, TICKS, 4).iter().enumerate() {
            let at = (left + WIDE / 2.0, first + 20.0 + 14.0 * i as f64);
            pen.inked_text(at, TICKS, FAINT, line);
        }
    }
}
