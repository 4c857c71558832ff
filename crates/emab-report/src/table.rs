//! Tables that fit a terminal.

use comfy_table::{
    Cell, CellAlignment, ColumnConstraint, ContentArrangement, LineStyle, Table, TableStyle, Width,
};

/// A line under the header and no others.
const PLAIN: TableStyle =
    TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));
/// Where cells wrap, rows are told apart by a line.
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

/// A number for people: enough digits to compare, thousands apart, no long tails.
///
/// ```
/// use emab_report::number;
/// assert_eq!(number(1680.4211), "1,680.4");
/// assert_eq!(number(17.1749), "17.17");
/// assert_eq!(number(1.605673568), "1.6057");
/// assert_eq!(number(7.0), "7");
/// assert_eq!(number(0.0), "0");
/// assert_eq!(number(-0.00001234), "-1.23e-5");
/// ```
pub fn number(value: f64) -> String {
    let size = value.abs();
    if value == 0.0 {
        return "0".into();
    }
    if !(1e-3..1e9).contains(&size) {
        return format!("{value:.2e}");
    }
    let decimals = match size {
        s if s.fract() == 0.0 => 0,
        s if s >= 10_000.0 => 0,
        s if s >= 100.0 => 1,
        s if s >= 10.0 => 2,
        _ => 4,
    };
    fixed(value, decimals)
}

/// A number with so many decimals, thousands apart.
pub(crate) fn fixed(value: f64, decimals: usize) -> String {
    let text = format!("{:.decimals$}", value.abs());
    let (whole, rest) = text
        .split_once('.')
        .map_or((text.as_str(), None), |(w, r)| (w, Some(r)));
    let zero = text.chars().all(|c| c == '0' || c == '.');
    let mut out = String::from(if value < 0.0 && !zero { "-" } else { "" });
    for (i, digit) in whole.chars().enumerate() {
        if i > 0 && (whole.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    if let Some(rest) = rest {
        out.push('.');
        out.push_str(rest);
    }
    out
}
