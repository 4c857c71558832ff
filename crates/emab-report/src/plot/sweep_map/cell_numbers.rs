//! Numbers in the cells.

use super::super::grid::Canvas;
use super::super::grid::colour::{Rgb, text_colour_on};
use super::super::grid::text::width;
use super::{HeatCell, HeatMap};
use crate::runs_table::UNRELIABLE;
use crate::text_table::fixed;

/// Font sizes, preferred ones first.
const SIZES: [u32; 4] = [12, 11, 10, 9];
/// Free space on either side of a number.
const SIDE: f64 = 3.0;
/// Line height above the font size.
const LEADING: f64 = 3.0;

/// Number format.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Format {
    /// With at least this many digits; integer digits are all kept.
    Digits(i32),
    /// With two digits and a unit: `12k`, `1.2M`.
    Short,
}

/// Format of the numbers, the same in all cells of a figure.
pub(super) struct CellNumbers {
    format: Format,
    size: u32,
    /// Whether half the 95 % intervals fit below the means.
    pub(super) intervals: bool,
}

impl CellNumbers {
    /// None if the cells are too small.
    pub(super) fn fit(maps: &[HeatMap], (wide, high): (f64, f64)) -> Option<Self> {
        let cells: Vec<&HeatCell> = maps.iter().flat_map(HeatMap::results).collect();
        let fits = |text: String, size| width(&text, size) + 2.0 * SIDE <= wide;
        let lines = |count: f64, size| count * (f64::from(size) + LEADING) <= high;
        let formats = [
            Format::Digits(needed_digits(&cells)),
            Format::Digits(3),
            Format::Digits(2),
            Format::Short,
        ];
        let (format, size) = formats
            .into_iter()
            .flat_map(|format| SIZES.map(|size| (format, size)))
            .find(|(format, size)| {
                let fits = |cell: &&HeatCell| fits(value(cell, *format), *size);
                lines(1.0, *size) && cells.iter().all(fits)
            })?;
        let intervals = cells.iter().any(|cell| cell.half_width > 0.0)
            && lines(2.0, size)
            && cells
                .iter()
                .all(|cell| fits(interval(cell, format), second_line(size)));
        Some(Self {
            format,
            size,
            intervals,
        })
    }

    /// Writes the numbers of a cell of this colour.
    pub(super) fn write(
        &self,
        canvas: &mut Canvas,
        cell: &HeatCell,
        [x, y, wide, high]: [f64; 4],
        colour: Rgb,
    ) {
        let ink = text_colour_on(colour);
        let size = f64::from(self.size);
        let (x, middle) = (x + wide / 2.0, y + high / 2.0 + 0.36 * size);
        let shift = if self.intervals { 0.6 * size } else { 0.0 };
        let mean = value(cell, self.format);
        canvas.inked_text((x, middle - shift), self.size, ink, &mean);
        if self.intervals {
            let (at, size) = ((x, middle + shift), second_line(self.size));
            canvas.inked_text(at, size, ink, &interval(cell, self.format));
        }
    }
}

/// Font size of the second line.
fn second_line(size: u32) -> u32 {
    (size - 1).max(SIZES[SIZES.len() - 1])
}

/// The value of a cell, marked where its interval is unreliable.
fn value(cell: &HeatCell, format: Format) -> String {
    let number = format_number(cell.centre, format);
    match cell.unreliable {
        true => format!("{number} {UNRELIABLE}"),
        false => number,
    }
}

/// Half a 95 % interval, with two digits.
fn interval(cell: &HeatCell, format: Format) -> String {
    let format = match format {
        Format::Digits(_) => Format::Digits(2),
        Format::Short => Format::Short,
    };
    format!("±{}", format_number(cell.half_width, format))
}

/// Number of digits that distinguish the least from the greatest mean, at least three.
fn needed_digits(cells: &[&HeatCell]) -> i32 {
    let values = || cells.iter().map(|cell| cell.centre);
    let (lo, hi) = (
        values().fold(f64::INFINITY, f64::min),
        values().fold(f64::NEG_INFINITY, f64::max),
    );
    // Divided first: the difference of the largest numbers would overflow.
    let greatest = hi.max(-lo);
    let apart = hi / greatest - lo / greatest;
    if apart > 0.0 {
        ((1.0 / apart).log10().ceil() as i32 + 2).clamp(3, 6)
    } else {
        3
    }
}

/// Formats a number for a cell.
fn format_number(value: f64, format: Format) -> String {
    let size = value.abs();
    let digits = match format {
        Format::Digits(digits) => digits,
        Format::Short => 2,
    };
    let decimals = |size: f64| (digits - 1 - size.log10().floor() as i32).max(0) as usize;
    let text = if value == 0.0 {
        "0".to_owned()
    } else if format == Format::Short && (1e4..1e9).contains(&size) {
        let (unit, name) = if size < 1e6 { (1e3, "k") } else { (1e6, "M") };
        format!("{}{name}", fixed(value / unit, decimals(size / unit)))
    } else if (1e-3..1e7).contains(&size) {
        fixed(value, decimals(size))
    } else {
        format!("{value:.*e}", (digits - 1).clamp(1, 3) as usize)
    };
    text.replace('-', "\u{2212}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_numbers_with_readable_digits() {
        for (value, format, text) in [
            (1573.4, Format::Digits(3), "1,573"),
            (366.5, Format::Digits(3), "366"),
            (36.65, Format::Digits(3), "36.6"),
            (0.012_345, Format::Digits(3), "0.0123"),
            (-1_234_567.0, Format::Digits(3), "−1,234,567"),
            (1_234_567.0, Format::Short, "1.2M"),
            (-12_345.0, Format::Short, "−12k"),
            (1e9, Format::Short, "1.0e9"),
            (1e-300, Format::Digits(2), "1.0e−300"),
            (0.0, Format::Digits(6), "0"),
            (-0.0, Format::Short, "0"),
        ] {
            assert_eq!(format_number(value, format), text, "{value}");
        }
    }

    #[test]
    fn close_numbers_need_more_digits() {
        let digits = |means: &[f64]| {
            let cells: Vec<HeatCell> = means
                .iter()
                .map(|mean| HeatCell {
                    centre: *mean,
                    ..HeatCell::default()
                })
                .collect();
            needed_digits(&cells.iter().collect::<Vec<_>>())
        };
        assert_eq!(digits(&[]), 3);
        assert_eq!(digits(&[5.0, 5.0]), 3);
        assert_eq!(digits(&[0.0]), 3);
        assert_eq!(digits(&[1.0, 1000.0]), 3);
        assert_eq!(digits(&[0.6265, 0.6315]), 5);
        assert_eq!(digits(&[1e305, -1e305]), 3);
    }
}
