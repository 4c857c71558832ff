//! Tables of results as CSV and Parquet.

use emab_sim::results::{Column, Values};
use emab_tables::{Cell, Format, Kind, TableError, TableWriter};

/// The table as CSV: a header, numbers in the shortest form that reads back exactly, empty cells for missing values.
///
/// ```
/// use emab_sim::results::{Column, Values};
/// let name = Column { name: "learner".into(), values: Values::Texts(vec![Some("a, b".into()), None]) };
/// let regret = Column { name: "regret".into(), values: Values::Numbers(vec![Some(1.5), Some(2.0)]) };
/// assert_eq!(emab_report::table_csv(&[name, regret]), "learner,regret\n\"a, b\",1.5\n,2\n");
/// ```
pub fn table_csv(columns: &[Column]) -> String {
    // Rows of the columns themselves, written to memory: nothing can fail.
    let bytes = written(Format::Csv, columns).unwrap_or_default();
    String::from_utf8(bytes).unwrap_or_default()
}

/// The table as a Parquet file: 64-bit counts, doubles and UTF-8 texts, all optional.
pub fn table_parquet(columns: &[Column]) -> Result<Vec<u8>, TableError> {
    written(Format::Parquet, columns)
}

fn written(format: Format, columns: &[Column]) -> Result<Vec<u8>, TableError> {
    let kinds = columns.iter().map(|column| {
        let kind = match column.values {
            Values::Counts(_) => Kind::Count,
            Values::Numbers(_) => Kind::Number,
            Values::Texts(_) => Kind::Text,
        };
        (column.name.as_str(), kind)
    });
    let mut table = TableWriter::new(format, &kinds.collect::<Vec<_>>(), Vec::new())?;
    let rows = columns.first().map_or(0, |column| column.values.len());
    for row in 0..rows {
        table.row(columns.iter().map(|column| match &column.values {
            Values::Counts(values) => Cell::of(values.get(row).copied().flatten(), Cell::Count),
            Values::Numbers(values) => Cell::of(values.get(row).copied().flatten(), Cell::Number),
            Values::Texts(values) => {
                let text = values.get(row).and_then(Option::as_deref);
                Cell::of(text, Cell::text)
            }
        }))?;
    }
    table.finish()
}
