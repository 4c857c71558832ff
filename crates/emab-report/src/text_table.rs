//! Tables that fit a terminal.

use comfy_table::{
    Cell, CellAlignment, ColumnConstraint, ContentArrangement, LineStyle, Table, TableStyle, Width,
};

pub(crate) use emab_sim::results::fixed;
pub use emab_sim::results::number;

/// A line under the header and no others.
const PLAIN: TableStyle =
    TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));
/// With lines between rows, for wrapped cells.
const RULED: TableStyle = PLAIN
    .row_separator(LineStyle::none().fill('╌').junction('╌'))
    .header_separator(LineStyle::none().fill('━').junction('━'));

/// A table with a header; columns whose every entry is a number stand to the right.
///
/// ```
/// let table = emab_report::table(&["learner", "regret"], &[vec!["feedbal".into(), "366.5".into()]], 80);
/// assert!(table.contains("feedbal"));
/// ```
pub fn table(header: &[&str], rows: &[Vec<String>], width: usize) -> String {
    let mut table = Table::new();
    table
        .load_style(if fits(header, rows, width) {
            PLAIN
        } else {
            RULED
        })
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(width.clamp(20, 1000) as u16);
    let numeric: Vec<bool> = (0..header.len())
        .map(|i| {
            rows.iter()
                .all(|row| row.get(i).is_none_or(|cell| is_number(cell)))
        })
        .collect();
    let aligned = |i: usize, text: &str| {
        let right = numeric.get(i).copied().unwrap_or(false);
        let side = if right {
            CellAlignment::Right
        } else {
            CellAlignment::Left
        };
        Cell::new(text).set_alignment(side)
    };
    table.set_header(header.iter().enumerate().map(|(i, text)| aligned(i, text)));
    for row in rows {
        table.add_row(row.iter().enumerate().map(|(i, text)| aligned(i, text)));
    }
    // What a row is called is not broken within a word: a learner's name with its settings is one.
    let names = rows.iter().filter_map(|row| row.first());
    let words = names.flat_map(|name| name.split(' ').map(|word| word.chars().count()));
    let longest = words.max().unwrap_or(0).min(width / 2) + 2;
    if let Some(column) = table.column_mut(0) {
        column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(
            longest as u16,
        )));
    }
    // Trailing blanks only make lines wrap.
    let lines: Vec<String> = table
        .to_string()
        .lines()
        .map(|line| line.trim_end().to_owned())
        .collect();
    lines.join("\n")
}

/// Whether a table fits without wrapping its cells.
pub(crate) fn fits(header: &[&str], rows: &[Vec<String>], width: usize) -> bool {
    let longest = |i: usize| {
        let cells = rows.iter().filter_map(|row| row.get(i)).map(String::as_str);
        cells
            .chain([header[i]])
            .map(|cell| cell.chars().count() + 3)
            .max()
            .unwrap_or(0)
    };
    (0..header.len()).map(longest).sum::<usize>() <= width
}

fn is_number(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == '+')
        && text.chars().all(|c| !c.is_alphabetic() || c == 'e')
}
