//! The legend of a figure with lines: measured and wrapped before the figure is laid out, so that no label is cut.

use kuva::render::render::TextAnchor;

use super::super::clip::{Area, Point};
use super::super::grid::canvas::Canvas;
use super::super::grid::text::{longest_piece, width, wrap};
use super::super::options::{BODY, LegendPlace, PlotOptions};
use super::content::Line;

/// Length of the line of an entry, and the space after it.
const SAMPLE: f64 = 34.0;
const GAP: f64 = 7.0;
/// Height of a line of text, and the space between entries.
const LINE: f64 = 16.0;
const BETWEEN: f64 = 4.0;
/// Space between columns.
const COLUMN_GAP: f64 = 22.0;
/// Space around the entries of a legend between the axes, and between it and the axes.
const PAD: f64 = 7.0;
const INSET: f64 = 5.0;
/// Most of the plot area that a legend between the axes covers.
const MOST_COVERED: f64 = 0.5;

/// Most columns below the axes.
const MOST_COLUMNS: usize = 6;

/// Most characters of a label.
const MAX_LABEL: usize = 240;
/// Most width of a label, without a size of the figure.
const WIDEST: f64 = 270.0;

/// An entry of the legend; a heading has no line.
pub(super) struct Entry<'a> {
    pub(super) line: Option<&'a Line<'a>>,
    pub(super) text: String,
}

/// A legend in a place.
pub(super) struct LegendBox<'a> {
    entries: Vec<Entry<'a>>,
    pub(super) place: LegendPlace,
}

/// Entries in columns of equal width.
pub(super) struct LegendColumns {
    /// The lines of each entry.
    texts: Vec<Vec<String>>,
    /// The entries of each column.
    per_column: usize,
    column_width: f64,
    pub(super) width: f64,
    pub(super) height: f64,
}

impl<'a> LegendBox<'a> {
    pub(super) fn new(entries: Vec<Entry<'a>>, options: &PlotOptions) -> Self {
        let place = match options.legend {
            _ if entries.is_empty() => LegendPlace::None,
            LegendPlace::Auto => LegendPlace::Right,
            place => place,
        };
        Self { entries, place }
    }

    /// One column in a figure or between axes of this width; wider where a word needs it.
    pub(super) fn column(&self, wide: f64) -> LegendColumns {
        let room = 0.45 * wide - SAMPLE - GAP;
        self.columns(room.max(self.longest_piece()).clamp(70.0, WIDEST), 1)
    }

    fn longest_piece(&self) -> f64 {
        let texts = self.entries.iter().map(|entry| &entry.text);
        texts.fold(0.0, |most, text| longest_piece(text, BODY).max(most))
    }

    /// Whether the legend leaves enough of a plot area free to be inside.
    pub(super) fn fits_inside(&self, area: Area) -> bool {
        let (wide, high) = (area.right - area.left, area.bottom - area.top);
        let (own_wide, own_high) = outer(&self.column(wide));
        let inside = own_wide + 2.0 * INSET <= wide && own_high + 2.0 * INSET <= high;
        inside && own_wide * own_high <= MOST_COVERED * wide * high
    }

    /// Columns within this width: as many as give the lowest legend without breaking words.
    pub(super) fn columns_below(&self, wide: f64) -> LegendColumns {
        let most = self.entries.len().min(MOST_COLUMNS);
        let room = |n: usize| (wide + COLUMN_GAP) / n as f64 - COLUMN_GAP - SAMPLE - GAP;
        let longest = self.longest_piece();
        (2..=most)
            .filter(|n| room(*n) >= longest)
            .map(|n| self.columns(room(n), n))
            .fold(self.columns(room(1), 1), |best, other| {
                if other.height < best.height {
                    other
                } else {
                    best
                }
            })
    }

    fn columns(&self, room: f64, columns: usize) -> LegendColumns {
        let texts: Vec<Vec<String>> = self
            .entries
            .iter()
            .map(|entry| {
                let mut text: String = entry.text.chars().take(MAX_LABEL).collect();
                if text.len() < entry.text.len() {
                    text.push('…');
                }
                wrap(&text, room, BODY, usize::MAX)
            })
            .collect();
        let widths = texts.iter().flatten().map(|line| width(line, BODY));
        let column_width = (SAMPLE + GAP + widths.fold(0.0, f64::max)).ceil();
        let columns = columns.max(1);
        let per_column = texts.len().div_ceil(columns).max(1);
        let heights = texts
            .chunks(per_column)
            .map(|column| column.iter().map(|text| high(text)).sum());
        LegendColumns {
            per_column,
            column_width,
            width: column_width * columns as f64 + COLUMN_GAP * (columns - 1) as f64,
            height: heights.fold(0.0, f64::max),
            texts,
        }
    }

    /// Draws the columns with this upper left corner.
    pub(super) fn draw(&self, canvas: &mut Canvas, columns: &LegendColumns, (left, top): Point) {
        let entries = self.entries.iter().zip(&columns.texts);
        let entries: Vec<_> = entries.collect();
        for (i, column) in entries.chunks(columns.per_column).enumerate() {
            let x = left + (columns.column_width + COLUMN_GAP) * i as f64;
            let mut y = top;
            for (entry, text) in column {
                if let Some(line) = entry.line {
                    let middle = y + LINE / 2.0;
                    canvas.polyline(vec![(x, middle), (x + SAMPLE, middle)], &line.stroke);
                    if let Some(marker) = line.marker {
                        canvas.marker((x + SAMPLE / 2.0, middle), marker, line.stroke.ink);
                    }
                }
                for (row, text) in text.iter().enumerate() {
                    let indent = if entry.line.is_some() {
                        SAMPLE + GAP
                    } else {
                        0.0
                    };
                    let at = (x + indent, y + LINE * row as f64 + 12.5);
                    canvas.text(at, BODY, TextAnchor::Start, text);
                }
                y += high(text);
            }
        }
    }

    /// Draws the legend in the corner of the plot area that covers the fewest places of the curves.
    pub(super) fn draw_inside(&self, canvas: &mut Canvas, area: Area, places: &[Point]) {
        let column = self.column(area.right - area.left);
        let (wide, high) = outer(&column);
        let corner = |right: bool, bottom: bool| Area {
            left: if right {
                area.right - INSET - wide
            } else {
                area.left + INSET
            },
            top: if bottom {
                area.bottom - INSET - high
            } else {
                area.top + INSET
            },
            right: if right {
                area.right - INSET
            } else {
                area.left + INSET + wide
            },
            bottom: if bottom {
                area.bottom - INSET
            } else {
                area.top + INSET + high
            },
        };
        let corners = [(false, false), (true, true), (true, false), (false, true)];
        let corners = corners.map(|(right, bottom)| corner(right, bottom));
        let covered = |corner: &Area| {
            places
                .iter()
                .filter(|place| corner.contains(**place))
                .count()
        };
        let Some(least) = corners.iter().min_by_key(|corner| covered(corner)) else {
            return;
        };
        let Area {
            left,
            top,
            right,
            bottom,
        } = *least;
        let around = [(left, top), (right, top), (right, bottom), (left, bottom)];
        canvas.area(&around, [0xff; 3], 0.85);
        self.draw(canvas, &column, (left + PAD, top + PAD));
    }
}

/// Width and height of a legend between the axes.
fn outer(column: &LegendColumns) -> (f64, f64) {
    (column.width + 2.0 * PAD, column.height + 2.0 * PAD)
}

fn high(text: &[String]) -> f64 {
    LINE * text.len() as f64 + BETWEEN
}
