//! Tables that fit a terminal: cells wrap between words, and a table that is still too wide continues below with the same rows.

use std::collections::HashSet;

use unicode_width::UnicodeWidthStr;

pub(crate) use emab_sim::results::fixed;
pub use emab_sim::results::number;

/// Blanks on both sides of a cell, and one between cells.
const PADDING: usize = 3;
/// A word of at most this width is never broken.
const SHORT: usize = 20;
/// A column is at least this wide, however narrow the terminal.
const NARROWEST: usize = 6;

/// A table with a header; columns whose every entry is a number stand to the right.
///
/// Cells wrap between words if the table is wider than `width`. If it is too wide even then, it is divided: the columns that do
/// not fit follow below, after the columns that identify a row, or after the number of the row where these leave no room.
///
/// ```
/// let table = emab_report::table(&["learner", "regret"], &[vec!["feedbal".into(), "366.5".into()]], 80);
/// assert_eq!(table, " learner   regret\n──────────────────\n feedbal    366.5");
/// ```
pub fn table(header: &[&str], rows: &[Vec<String>], width: usize) -> String {
    let columns: Vec<Column<'_>> = (0..header.len())
        .map(|i| Column::new(header[i], rows, i))
        .collect();
    let Some(groups) = groups(&columns, width) else {
        let header: Vec<&str> = ["#"].iter().chain(header).copied().collect();
        let numbered = rows.iter().enumerate().map(|(i, row)| {
            let number = [(i + 1).to_string()];
            number.into_iter().chain(row.iter().cloned()).collect()
        });
        return table(&header, &numbered.collect::<Vec<_>>(), width);
    };
    let text = groups.iter().map(|group| render(group, rows.len(), width));
    text.collect::<Vec<_>>().join("\n\n")
}

/// Wraps the lines of a text between words; lines that fit are kept as they are, and so are words that are too long: a path or a
/// secret is copied as a whole.
///
/// ```
/// assert_eq!(emab_report::wrap("- a note on widths", 10), "- a note\n  on\n  widths");
/// assert_eq!(emab_report::wrap("in /a/long/path", 8), "in\n/a/long/path");
/// ```
pub fn wrap(text: &str, width: usize) -> String {
    let lines = text.split('\n').map(|line| {
        if line.width() <= width {
            return line.to_owned();
        }
        let body = line.trim_start();
        let indent = line.len() - body.len();
        // Further lines of an item stand under its first word.
        let hanging = indent + if body.starts_with("- ") { 2 } else { 0 };
        let room = width.saturating_sub(hanging).max(NARROWEST);
        let (mark, body) = body.split_at(hanging - indent);
        let wrapped = wrapped(body, room, false);
        let first = format!("{}{mark}", " ".repeat(indent));
        first + &wrapped.join(&format!("\n{}", " ".repeat(hanging)))
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Whether a table fits without wrapping its cells.
pub(crate) fn fits(header: &[&str], rows: &[Vec<String>], width: usize) -> bool {
    let columns = (0..header.len()).map(|i| Column::new(header[i], rows, i));
    total(columns.map(|column| column.natural.max(column.header.width()))) <= width
}

/// The width of a line with columns of these widths.
fn total(columns: impl Iterator<Item = usize>) -> usize {
    let sum: usize = columns.map(|column| column + PADDING).sum();
    sum.saturating_sub(1)
}

/// A column with the widths that it may have.
struct Column<'a> {
    header: &'a str,
    cells: Vec<&'a str>,
    /// The width of its widest cell, and of the longest word of its header.
    natural: usize,
    /// The width of its longest unbreakable part.
    least: usize,
    is_numeric: bool,
}

impl<'a> Column<'a> {
    fn new(header: &'a str, rows: &'a [Vec<String>], i: usize) -> Column<'a> {
        let cell = |row: &'a Vec<String>| row.get(i).map_or("", String::as_str);
        let cells: Vec<&str> = rows.iter().map(cell).collect();
        let longest = |text: &str| words(text).iter().map(|word| unbroken(word)).max();
        let of_header = longest(header).unwrap_or(0);
        let of_cells = cells.iter().filter_map(|cell| longest(cell)).max();
        let natural = cells.iter().map(|cell| cell.width()).max().unwrap_or(0);
        Column {
            header,
            natural: natural.max(of_header),
            least: of_cells.unwrap_or(0).max(of_header),
            is_numeric: cells.iter().all(|cell| is_number(cell)),
            cells,
        }
    }
}

/// The number of leading columns that identify a row; none if they leave no room for others.
fn keys(columns: &[Column<'_>], width: usize) -> Option<usize> {
    let rows = columns.first().map_or(0, |column| column.cells.len());
    let identify = |count: &usize| {
        let row = |i: usize| {
            let of_row = columns[..*count].iter().map(|column| column.cells[i]);
            of_row.collect::<Vec<_>>()
        };
        (0..rows).map(row).collect::<HashSet<_>>().len() == rows
    };
    let count = (1..columns.len()).find(identify)?;
    let least = total(columns.iter().take(count).map(|column| column.least));
    // One column is enough, however wide it is.
    (count == 1 || least <= width / 2).then_some(count)
}

/// Divides the columns so that each part fits; every part begins with the columns that identify a row. None if these leave no
/// room for others.
fn groups<'a, 'b>(columns: &'b [Column<'a>], width: usize) -> Option<Vec<Vec<&'b Column<'a>>>> {
    if columns.is_empty() {
        return Some(Vec::new());
    }
    if columns.len() == 1 || total(columns.iter().map(|column| column.least)) <= width {
        return Some(vec![columns.iter().collect()]);
    }
    let (first, others) = columns.split_at(keys(columns, width)?);
    let first: Vec<&Column<'_>> = first.iter().collect();
    let mut groups = vec![first.clone()];
    for column in others {
        let last = groups.len() - 1;
        let group = &groups[last];
        let least = group
            .iter()
            .map(|column| column.least)
            .chain([column.least]);
        if group.len() > first.len() && total(least) > width {
            let keys = first.iter().copied();
            groups.push(keys.chain([column]).collect());
        } else {
            groups[last].push(column);
        }
    }
    Some(groups)
}

/// The widths of the columns: their natural ones if these fit, otherwise the widest are narrowed.
fn widths(columns: &[&Column<'_>], width: usize) -> Vec<usize> {
    let natural = |column: &&&Column<'_>| column.natural;
    if total(columns.iter().map(|column| column.natural)) <= width {
        // What is left goes to the headers, from the left.
        let mut left = width - total(columns.iter().map(|column| column.natural));
        let widen = |column: &&Column<'_>| {
            let more = column.header.width().saturating_sub(column.natural);
            // A header is shown on one line or not widened at all.
            let more = if more <= left { more } else { 0 };
            left -= more;
            column.natural + more
        };
        return columns.iter().map(widen).collect();
    }
    // The largest limit with which the columns fit.
    let limited = |limit: usize| {
        let each = columns.iter().map(move |column| {
            let least = column.least.min(width / 2).max(NARROWEST);
            column.natural.min(limit.max(least))
        });
        each.collect::<Vec<usize>>()
    };
    let most = columns.iter().map(|column| natural(&column)).max();
    let fitting = (NARROWEST..most.unwrap_or(0)).rev();
    let mut fitting = fitting.map(limited).filter(|widths| {
        let all = total(widths.iter().copied());
        all <= width
    });
    fitting.next().unwrap_or_else(|| limited(NARROWEST))
}

fn render(columns: &[&Column<'_>], rows: usize, width: usize) -> String {
    let widths = widths(columns, width);
    let line = |cells: Vec<Vec<String>>| {
        let height = cells.iter().map(Vec::len).max().unwrap_or(1);
        let row = |i: usize| {
            let mut text = String::new();
            for ((cell, column), width) in cells.iter().zip(columns).zip(&widths) {
                let part = cell.get(i).map_or("", String::as_str);
                let blank = " ".repeat(width.saturating_sub(part.width()));
                text += &match column.is_numeric {
                    true => format!(" {blank}{part}  "),
                    false => format!(" {part}{blank}  "),
                };
            }
            // Trailing blanks only make lines wrap.
            text.trim_end().to_owned()
        };
        (0..height.max(1)).map(row).collect::<Vec<_>>()
    };
    let cells = |of: &dyn Fn(&Column<'_>) -> String| {
        let pairs = columns.iter().zip(&widths);
        pairs
            .map(|(column, width)| wrapped(&of(column), *width, true))
            .collect()
    };
    let header = line(cells(&|column| column.header.into()));
    let body: Vec<Vec<String>> = (0..rows)
        .map(|i| line(cells(&|column| column.cells[i].into())))
        .collect();
    let rule = |mark: &str| mark.repeat(total(widths.iter().copied()));
    // Lines between rows separate wrapped cells.
    let is_wrapped = body.iter().any(|row| row.len() > 1);
    let mut lines = header;
    lines.push(rule(if is_wrapped { "━" } else { "─" }));
    for (i, row) in body.into_iter().enumerate() {
        if is_wrapped && i > 0 {
            lines.push(rule("╌"));
        }
        lines.extend(row);
    }
    lines.join("\n")
}

/// The words of a text; a number and its interval or unit are one.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut joins = false;
    for part in text.split(' ').filter(|part| !part.is_empty()) {
        let sign = part == "±" || part.starts_with(['%', '†']);
        match words.last_mut() {
            Some(last) if sign || joins => *last = format!("{last} {part}"),
            _ => words.push(part.into()),
        }
        joins = part == "±";
    }
    words
}

/// The parts between which a long word may be broken, such as a learner with many parameters.
fn parts(word: &str) -> Vec<&str> {
    match word.width() > SHORT {
        true => word.split_inclusive([',', ':', ';', '/', '|']).collect(),
        false => vec![word],
    }
}

fn unbroken(word: &str) -> usize {
    parts(word)
        .iter()
        .map(|part| part.width())
        .max()
        .unwrap_or(0)
}

/// The lines of a text that is wrapped to a width; words that are wider are broken, or kept.
fn wrapped(text: &str, width: usize, breaks: bool) -> Vec<String> {
    if text.width() <= width {
        return vec![text.to_owned()];
    }
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    for word in words(text) {
        let blank = usize::from(!line.is_empty());
        if line.width() + blank + word.width() <= width {
            line += &" ".repeat(blank);
            line += &word;
            continue;
        }
        if !line.is_empty() {
            lines.push(std::mem::take(&mut line));
        }
        if word.width() <= width || !breaks {
            line = word;
            continue;
        }
        for part in parts(&word) {
            if line.width() + part.width() > width && !line.is_empty() {
                lines.push(std::mem::take(&mut line));
            }
            for c in part.chars() {
                if line.width() >= width {
                    lines.push(std::mem::take(&mut line));
                }
                line.push(c);
            }
        }
    }
    if !line.is_empty() {
        lines.push(line);
    }
    lines
}

pub(crate) fn is_number(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == '+')
        && text.chars().all(|c| !c.is_alphabetic() || c == 'e')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(cells: &[&[&str]]) -> Vec<Vec<String>> {
        let row = |row: &&[&str]| row.iter().map(|cell| (*cell).to_owned()).collect();
        cells.iter().map(row).collect()
    }

    #[test]
    fn every_width_is_kept_and_no_word_is_broken() {
        let header = [
            "learner",
            "regret (95 %)",
            "less feedbal's",
            "gain",
            "standing",
        ];
        let rows = rows(&[
            &["feedbal", "759 ± 119", "0 ± 0", "3.47", "best"],
            &[
                "feedbal:ties=random,stop_bias=0.1,width=sound",
                "1,805.3 ± 120.4",
                "+1,046 ± 12",
                "3.41",
                "worse than the best one, and than all others by a margin",
            ],
            &["日本語の学習者", "1 ± 2", "3 ± 4", "1", "有効"],
        ]);
        for width in [40, 60, 80, 100, 200] {
            let text = table(&header, &rows, width);
            for line in text.lines() {
                assert!(line.width() <= width, "{width}: {line}\n{text}");
            }
            for part in [
                "1,805.3 ± 120.4",
                "feedbal's",
                "standing",
                "stop_bias=0.1",
                "margin",
            ] {
                assert!(text.contains(part), "{width}: {part}\n{text}");
            }
        }
        assert_eq!(table(&header, &rows, 200).lines().count(), 5);
    }

    #[test]
    fn a_divided_table_repeats_its_first_column() {
        let header = ["name", "first_long_column", "second_long_column"];
        let text = table(&header, &rows(&[&["a", "1", "2"]]), 30);
        assert_eq!(
            text,
            " name   first_long_column\n──────────────────────────\n a                      1\n\n \
             name   second_long_column\n───────────────────────────\n a                       2"
        );
    }

    #[test]
    fn a_divided_table_repeats_the_columns_that_identify_a_row() {
        let header = ["t", "x", "first_long_column", "second_long_column"];
        let rows = rows(&[&["1", "a", "3", "4"], &["1", "b", "5", "6"]]);
        let text = table(&header, &rows, 30);
        assert_eq!(text.matches(" t   x ").count(), 2, "{text}");
    }

    #[test]
    fn a_divided_table_numbers_rows_that_its_columns_do_not_identify() {
        let header = ["first_learner", "second_learner", "difference_of_regret"];
        let rows = rows(&[&["feedbal-pooled", "a", "3"], &["feedbal-pooled", "b", "5"]]);
        let text = table(&header, &rows, 36);
        assert!(text.starts_with(" #   first_learner\n"), "{text}");
        assert!(text.contains(" #   difference_of_regret"), "{text}");
    }

    #[test]
    fn an_empty_table_is_its_header() {
        assert!(table(&["a", "b"], &[], 80).starts_with(" a   b\n"));
        assert_eq!(table(&[], &[], 80), "");
        assert_eq!(table(&[], &[], 0), "");
    }
}
