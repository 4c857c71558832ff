//! The numbers in the cells.

use super::super::colour::{Rgb, ink_on};
use super::super::pen::Pen;
use super::super::words::width;
use super::{HeatCell, HeatMap};
use crate::table::fixed;

/// The sizes that the numbers may have, the best first.
const SIZES: [u32; 4] = [12, 11, 10, 9];
/// Free room on either side of a number.
const SIDE: f64 = 3.0;
/// How much higher a line is than its letters.
const LEADING: f64 = 3.0;

/// How numbers are written.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Form {
    /// With at least so many digits; whole numbers keep all of theirs.
    Digits(i32),
    /// With two digits and a unit: `12k`, `1.2M`.
    Short,
}

/// One way of writing numbers for all cells of a figure, so that they can be compared.
pub(super) struct Numbers {
    form: Form,
    size: u32,
    /// Whether half the 95 % intervals have room below.
    arms: bool,
}

impl Numbers {
    /// None where the cells are too small.
    pub(super) fn fit(maps: &[HeatMap], (wide, high): (f64, f64)) -> Option<Self> {
        let cells: Vec<&HeatCell> = maps.iter().flat_map(HeatMap::results).collect();
        let fits = |text: String, size| width(&text, size) + 2.0 * SIDE <= wide;
        let lines = |count: f64, size| count * (f64::from(size) + LEADING) <= high;
        let forms = [
            Form::Digits(telling_digits(&cells)),
            Form::Digits(3),
            Form::Digits(2),
            Form::Short,
        ];
        let (form, size) = forms
            .into_iter()
            .flat_map(|form| SIZES.map(|size| (form, size)))
            .find(|(form, size)| {
                let fits = |cell: &&HeatCell| fits(shown(cell.mean, *form), *size);
                lines(1.0, *size) && cells.iter().all(fits)
            })?;
        let arms = cells.iter().any(|cell| cell.stderr > 0.0)
            && lines(2.0, size)
            && cells.iter().all(|cell| fits(arm(cell, form), below(size)));
        Some(Self { form, size, arms })
    }

    /// Whether half the 95 % intervals are shown.
    pub(super) fn arms(&self) -> bool {
        self.arms
    }

    /// Writes the numbers of a cell of this colour.
    pub(super) fn write(
        &self,
        pen: &mut Pen,
        cell: &HeatCell,
        [x, y, wide, high]: [f64; 4],
        colour: Rgb,
    ) {
        let ink = ink_on(colour);
        let size = f64::from(self.size);
        let (x, middle) = (x + wide / 2.0, y + high / 2.0 + 0.36 * size);
        let shift = if self.arms { 0.6 * size } else { 0.0 };
        let mean = shown(cell.mean, self.form);
        pen.inked_text((x, middle - shift), self.size, ink, &mean);
        if self.arms {
            let at = (x, middle + shift);
            pen.inked_text(at, below(self.size), ink, &arm(cell, self.form));
        }
    }
}

/// The size of the second line: smaller where that can still be read.
fn below(size: u32) -> u32 {
    (size - 1).max(SIZES[SIZES.len() - 1])
}

/// Half a 95 % interval, with two digits.
fn arm(cell: &HeatCell, form: Form) -> String {
    let form = match form {
        Form::Digits(_) => Form::Digits(2),
        Form::Short => Form::Short,
    };
    format!("±{}", shown(cell.arm(), form))
}

/// How many digits show that the least and the greatest mean differ, but at least three.
fn telling_digits(cells: &[&HeatCell]) -> i32 {
    let means = || cells.iter().map(|cell| cell.mean);
    let (lo, hi) = (
        means().fold(f64::INFINITY, f64::min),
        means().fold(f64::NEG_INFINITY, f64::max),
    );
    // Each part for itself: the difference of the largest numbers would overflow.
    let greatest = hi.max(-lo);
    let apart = hi / greatest - lo / greatest;
    if apart > 0.0 {
        ((1.0 / apart).log10().ceil() as i32 + 2).clamp(3, 6)
    } else {
        3
    }
}

/// A number as a cell shows it.
fn shown(value: f64, form: Form) -> String {
    let size = value.abs();
    let digits = match form {
        Form::Digits(digits) => digits,
        Form::Short => 2,
    };
    let decimals = |size: f64| (digits - 1 - size.log10().floor() as i32).max(0) as usize;
    let text = if value == 0.0 {
        "0".to_owned()
    } else if form == Form::Short && (1e4..1e9).contains(&size) {
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
    fn numbers_keep_what_can_be_read() {
        for (value, form, text) in [
            (1573.4, Form::Digits(3), "1,573"),
            (366.5, Form::Digits(3), "366"),
            (36.65, Form::Digits(3), "36.6"),
            (0.012_345, Form::Digits(3), "0.0123"),
            (-1_234_567.0, Form::Digits(3), "−1,234,567"),
            (1_234_567.0, Form::Short, "1.2M"),
            (-12_345.0, Form::Short, "−12k"),
            (1e9, Form::Short, "1.0e9"),
            (1e-300, Form::Digits(2), "1.0e−300"),
            (0.0, Form::Digits(6), "0"),
            (-0.0, Form::Short, "0"),
        ] {
            assert_eq!(shown(value, form), text, "{value}");
        }
    }

    #[test]
    fn close_numbers_get_more_digits() {
        let digits = |means: &[f64]| {
            let cells: Vec<HeatCell> = means
                .iter()
                .map(|mean| HeatCell {
                    mean: *mean,
                    stderr: 0.0,
                })
                .collect();
            telling_digits(&cells.iter().collect::<Vec<_>>())
        };
        assert_eq!(digits(&[]), 3);
        assert_eq!(digits(&[5.0, 5.0]), 3);
        assert_eq!(digits(&[0.0]), 3);
        assert_eq!(digits(&[1.0, 1000.0]), 3);
        assert_eq!(digits(&[0.6265, 0.6315]), 5);
        assert_eq!(digits(&[1e305, -1e305]), 3);
    }
}
