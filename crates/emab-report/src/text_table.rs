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
    let style = if fits(header, rows, width) {
        PLAIN
    } else {
        RULED
    };
    let mut table = Table::new();
    table
        .load_style(style)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(width.clamp(20, 1000) as u16);
    let numeric = |i: usize| {
        rows.iter()
            .all(|row| row.get(i).is_none_or(|cell| is_number(cell)))
    };
    let alignment = |i: usize| match numeric(i) {
        true => CellAlignment::Right,
        false => CellAlignment::Left,
    };
    let alignments: Vec<CellAlignment> = (0..header.len()).map(alignment).collect();
    let aligned = |(text, side): (&str, &CellAlignment)| Cell::new(text).set_alignment(*side);
    table.set_header(header.iter().copied().zip(&alignments).map(aligned));
    for row in rows {
        table.add_row(row.iter().map(String::as_str).zip(&alignments).map(aligned));
    }
    // What a row is called is not broken within a word: a learner's name with its settings is one.
    let names = rows.iter().filter_map(|row| row.first());
    let words = names.flat_map(|name| name.split(' ').map(|word| word.chars().count()));
    let longest = words.max().unwrap_or(0).min(width / 2) + 2;
    if let Some(column) = table.column_mut(0) {
        let least = Width::Fixed(longest as u16);
        column.set_constraint(ColumnConstraint::LowerBoundary(least));
    }
    // Trailing blanks only make lines wrap.
    let text = table.to_string();
    text.lines()
        .map(str::trim_end)
        .collect::<Vec<_>>()
        .join("\n")
}

/// Whether a table fits without wrapping its cells.
pub(crate) fn fits(header: &[&str], rows: &[Vec<String>], width: usize) -> bool {
    let longest = |i: usize| {
        let cells = rows.iter().filter_map(|row| row.get(i)).map(String::as_str);
        let widths = cells
            .chain([header[i]])
            .map(|cell| cell.chars().count() + 3);
        widths.max().unwrap_or(0)
    };
    (0..header.len()).map(longest).sum::<usize>() <= width
}

pub(crate) fn is_number(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == '+')
        && text.chars().all(|c| !c.is_alphabetic() || c == 'e')
}
