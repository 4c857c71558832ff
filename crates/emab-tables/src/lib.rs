//! Writes and reads tables as CSV and Parquet, row by row; writing takes bounded memory.
//!
//! ```
//! use emab_tables::{Cell, Format, Kind, TableWriter};
//! let columns = [("episode", Kind::Text), ("cost", Kind::Number)];
//! let mut table = TableWriter::new(Format::Csv, &columns, Vec::new())?;
//! table.row([Cell::text("p1"), Cell::Number(0.5)])?;
//! table.row([Cell::text("a, b"), Cell::Missing])?;
//! assert_eq!(table.finish()?, b"episode,cost\np1,0.5\n\"a, b\",\n");
//! # Ok::<(), emab_tables::TableError>(())
//! ```
#![forbid(unsafe_code)]

mod csv;
mod parquet;
mod read;

use std::borrow::Cow;
use std::io::{self, Write};

use thiserror::Error;

pub use csv::in_quotes;
pub use read::{read_csv, read_parquet};

/// The form of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Comma-separated values (RFC 4180) in UTF-8, with a header; lines end with a line feed.
    Csv,
    /// Parquet: 64-bit counts, doubles, booleans and UTF-8 texts, all optional, in groups of rows.
    Parquet,
}

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A whole number from 0 on.
    Count,
    /// A number in double precision.
    Number,
    /// `true` or `false`.
    Boolean,
    /// A text.
    Text,
}

impl Kind {
    /// The name, as in a codebook.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Count => "count",
            Kind::Number => "number",
            Kind::Boolean => "boolean",
            Kind::Text => "text",
        }
    }
}

/// A value of a row.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell<'a> {
    /// No value: empty in CSV, null in Parquet.
    Missing,
    /// A whole number.
    Count(u64),
    /// A number; CSV has the shortest form that reads back to the same bits.
    Number(f64),
    /// `true` or `false`.
    Boolean(bool),
    /// A text; an empty one is quoted in CSV.
    Text(Cow<'a, str>),
}

impl<'a> Cell<'a> {
    /// A text.
    pub fn text(text: impl Into<Cow<'a, str>>) -> Cell<'a> {
        Cell::Text(text.into())
    }

    /// The cell of an optional value.
    pub fn of<T>(value: Option<T>, cell: impl FnOnce(T) -> Cell<'a>) -> Cell<'a> {
        value.map_or(Cell::Missing, cell)
    }
}

/// Why a table cannot be written or read.
#[derive(Debug, Error)]
pub enum TableError {
    /// The output or the input failed.
    #[error("the table cannot be written: {0}")]
    Output(#[from] io::Error),
    /// The Parquet library failed.
    #[error("the table cannot be written as Parquet: {0}")]
    Parquet(#[from] ::parquet::errors::ParquetError),
    /// The input is not a table.
    #[error("the table cannot be read: {0}")]
    Input(String),
    /// A row does not have the columns of the table.
    #[error("row {row} does not have the columns of the table: {what}")]
    Row {
        /// The number of the row, from 1.
        row: u64,
        /// What differs.
        what: String,
    },
}

/// Writes a table row by row. A Parquet file is written in groups of rows of a few megabytes; CSV at once.
pub struct TableWriter<W: Write + Send> {
    kinds: Vec<Kind>,
    rows: u64,
    form: Form<W>,
}

enum Form<W: Write + Send> {
    Csv(csv::CsvRows<W>),
    Parquet(Box<parquet::ParquetRows<W>>),
}

impl<W: Write + Send> TableWriter<W> {
    /// Writes the header.
    pub fn new<N: AsRef<str>>(
        format: Format,
        columns: &[(N, Kind)],
        out: W,
    ) -> Result<TableWriter<W>, TableError> {
        let names: Vec<&str> = columns.iter().map(|(name, _)| name.as_ref()).collect();
        let kinds: Vec<Kind> = columns.iter().map(|(_, kind)| *kind).collect();
        let form = match format {
            Format::Csv => Form::Csv(csv::CsvRows::new(&names, out)?),
            Format::Parquet => {
                Form::Parquet(Box::new(parquet::ParquetRows::new(&names, &kinds, out)?))
            }
        };
        Ok(TableWriter {
            kinds,
            rows: 0,
            form,
        })
    }

    /// Precedes texts that a spreadsheet would take for a formula with an apostrophe, in CSV: those that begin with `=`, `+`, `-`,
    /// `@`, a tab or a carriage return; and those that begin with an apostrophe, so that removing one restores every text.
    ///
    /// ```
    /// use emab_tables::{Cell, Format, Kind, TableWriter};
    /// let table = TableWriter::new(Format::Csv, &[("reason", Kind::Text)], Vec::new())?;
    /// let mut table = table.without_formulas();
    /// for text in ["=1+1", "'tis", "fine = ok"] {
    ///     table.row([Cell::text(text)])?;
    /// }
    /// assert_eq!(table.finish()?, b"reason\n'=1+1\n''tis\nfine = ok\n");
    /// # Ok::<(), emab_tables::TableError>(())
    /// ```
    #[must_use]
    pub fn without_formulas(mut self) -> TableWriter<W> {
        if let Form::Csv(rows) = &mut self.form {
            rows.without_formulas = true;
        }
        self
    }

    /// Writes a row: a cell of the type of its column, or a missing one, for each column.
    pub fn row<'a>(&mut self, cells: impl IntoIterator<Item = Cell<'a>>) -> Result<(), TableError> {
        self.rows += 1;
        let mut columns = 0;
        for cell in cells {
            let kind = self.kinds.get(columns).copied();
            if !kind.is_some_and(|kind| fits(&cell, kind)) {
                let what = format!("cell {} is {cell:?}, the column is {kind:?}", columns + 1);
                return Err(self.wrong_row(what));
            }
            match &mut self.form {
                Form::Csv(rows) => rows.cell(columns, &cell)?,
                Form::Parquet(rows) => rows.cell(columns, cell),
            }
            columns += 1;
        }
        if columns != self.kinds.len() {
            let what = format!("{columns} cells, {} columns", self.kinds.len());
            return Err(self.wrong_row(what));
        }
        match &mut self.form {
            Form::Csv(rows) => Ok(rows.end_row()?),
            Form::Parquet(rows) => Ok(rows.end_row()?),
        }
    }

    fn wrong_row(&self, what: String) -> TableError {
        TableError::Row {
            row: self.rows,
            what,
        }
    }

    /// The number of rows written.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Writes the end of the table and returns the output.
    pub fn finish(self) -> Result<W, TableError> {
        match self.form {
            Form::Csv(rows) => Ok(rows.finish()?),
            Form::Parquet(rows) => Ok(rows.finish()?),
        }
    }
}

fn fits(cell: &Cell<'_>, kind: Kind) -> bool {
    match cell {
        Cell::Missing => true,
        Cell::Count(_) => kind == Kind::Count,
        Cell::Number(_) => kind == Kind::Number,
        Cell::Boolean(_) => kind == Kind::Boolean,
        Cell::Text(_) => kind == Kind::Text,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn rejects_rows_of_other_columns() {
        for format in [Format::Csv, Format::Parquet] {
            let table = || TableWriter::new(format, &[("n", Kind::Count)], Vec::new()).unwrap();
            let error = table().row([Cell::Number(1.0)]).unwrap_err().to_string();
            assert!(
                error.contains("row 1") && error.contains("Count"),
                "{error}"
            );
            assert!(table().row([]).is_err());
            assert!(table().row([Cell::Count(1), Cell::Count(2)]).is_err());
        }
    }
}
