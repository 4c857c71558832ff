//! Reads the rows of a table.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};

use ::csv::{ErrorKind, Position, ReaderBuilder, StringRecord};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Field, RowAccessor};
use parquet::schema::types::Type;

use crate::csv::may_be_formula;
use crate::{Cell, TableError};

fn wrong(what: impl std::fmt::Display) -> TableError {
    TableError::Input(what.to_string())
}

fn not_csv(error: ::csv::Error) -> TableError {
    match error.kind() {
        ErrorKind::Utf8 { pos, .. } => wrong(format!(
            "line {} is not UTF-8: save the table as CSV in UTF-8, or as Parquet",
            pos.as_ref().map_or(1, Position::line)
        )),
        _ => wrong(error),
    }
}

/// Reads columns of a table in CSV with a header (separated by commas, semicolons or tabs), and calls `row` with the line in which each
/// row begins, and its cells in the order of `columns`. All cells are texts; an empty one, and one of a column that the table does not have, is missing. An apostrophe before a
/// text that a spreadsheet would take for a formula is removed. Returns which of the columns the table has. No column may occur twice.
///
/// ```
/// use emab_tables::{Cell, TableError, read_csv};
/// let table = "cost,episode\n0.5,p1\n,'=p2\n";
/// let has = read_csv(table.as_bytes(), &["episode", "cost", "reward"], |number, cells| {
///     match number {
///         2 => assert_eq!(cells, [Cell::text("p1"), Cell::text("0.5"), Cell::Missing]),
///         _ => assert_eq!(cells, [Cell::text("=p2"), Cell::Missing, Cell::Missing]),
///     }
///     Ok::<(), TableError>(())
/// })?;
/// assert_eq!(has, [true, true, false]);
/// # Ok::<(), emab_tables::TableError>(())
/// ```
pub fn read_csv<E: From<TableError>>(
    from: impl Read,
    columns: &[&str],
    mut row: impl FnMut(u64, &[Cell<'_>]) -> Result<(), E>,
) -> Result<Vec<bool>, E> {
    let mut from = BufReader::new(from);
    let delimiter = delimiter(from.fill_buf().map_err(wrong)?);
    let mut reader = ReaderBuilder::new().delimiter(delimiter).from_reader(from);
    let header = reader.headers().map_err(not_csv)?.clone();
    let mut places = Vec::with_capacity(columns.len());
    for name in columns {
        let header = header.iter().enumerate();
        // A spreadsheet may put a byte order mark before the first name.
        let mut found = header.filter(|(_, it)| it.trim_start_matches('\u{feff}').trim() == *name);
        places.push(found.next().map(|(i, _)| i));
        if found.next().is_some() {
            return Err(wrong(format!("several columns are called `{name}`")).into());
        }
    }
    let mut record = StringRecord::new();
    while reader.read_record(&mut record).map_err(not_csv)? {
        let number = record.position().map_or(0, Position::line);
        let cell = |place: &Option<usize>| match place.and_then(|i| record.get(i)) {
            None | Some("") => Cell::Missing,
            Some(text) => match text.strip_prefix('\'') {
                Some(rest) if may_be_formula(rest) => Cell::text(rest),
                _ => Cell::text(text),
            },
        };
        let cells: Vec<Cell<'_>> = places.iter().map(cell).collect();
        row(number, &cells)?;
    }
    Ok(places.iter().map(Option::is_some).collect())
}

/// What separates the names in the first line: a comma, or what spreadsheets write in some countries.
fn delimiter(begin: &[u8]) -> u8 {
    let line = begin
        .split(|byte| *byte == b'\n')
        .next()
        .unwrap_or_default();
    let count = |delimiter: &u8| line.iter().filter(|byte| *byte == delimiter).count();
    // Of equals the last one: a comma.
    let candidates = [b'\t', b';', b','];
    let found = candidates.into_iter().max_by_key(|it| count(it));
    found.unwrap_or(b',')
}

/// The same for a table in Parquet, whose cells have types, and whose rows are numbered from 1. Columns that are not asked for are not read.
pub fn read_parquet<E: From<TableError>>(
    from: File,
    columns: &[&str],
    mut row: impl FnMut(u64, &[Cell<'_>]) -> Result<(), E>,
) -> Result<Vec<bool>, E> {
    let unsupported = |error: parquet::errors::ParquetError| {
        wrong(format!(
            "{error} (Parquet files are read uncompressed, with Snappy, or with Zstandard: pandas and Polars write these by default)"
        ))
    };
    let reader = SerializedFileReader::new(from).map_err(unsupported)?;
    let schema = reader.metadata().file_metadata().schema().clone();
    let fields = schema.get_fields().iter();
    let wanted = fields.filter(|field| columns.contains(&field.name()));
    let wanted: Vec<_> = wanted.cloned().collect();
    if let Some(field) = wanted.iter().find(|field| !field.is_primitive()) {
        return Err(wrong(format!("column `{}` is not a plain one", field.name())).into());
    }
    let names: Vec<String> = wanted.iter().map(|field| field.name().to_owned()).collect();
    let projection = Type::group_type_builder(schema.name())
        .with_fields(wanted)
        .build()
        .map_err(unsupported)?;
    let rows = reader.get_row_iter(Some(projection)).map_err(unsupported)?;
    let places: Vec<Option<usize>> = columns
        .iter()
        .map(|name| names.iter().position(|it| it == name))
        .collect();
    for (number, record) in (1..).zip(rows) {
        let record = record.map_err(unsupported)?;
        let mut cells = Vec::with_capacity(places.len());
        for place in &places {
            cells.push(match place {
                None => Cell::Missing,
                Some(i) => {
                    cell(&record, *i).map_err(|what| TableError::Row { row: number, what })?
                }
            });
        }
        row(number, &cells)?;
    }
    Ok(places.iter().map(Option::is_some).collect())
}

fn cell<'a>(record: &'a parquet::record::Row, i: usize) -> Result<Cell<'a>, String> {
    let (name, field) = record
        .get_column_iter()
        .nth(i)
        .ok_or_else(|| format!("there is no column {}", i + 1))?;
    let whole = |value: i64| match u64::try_from(value) {
        Ok(value) => Cell::Count(value),
        Err(_) => Cell::Number(value as f64),
    };
    Ok(match field {
        Field::Null => Cell::Missing,
        Field::Bool(value) => Cell::Boolean(*value),
        Field::Byte(value) => whole((*value).into()),
        Field::Short(value) => whole((*value).into()),
        Field::Int(value) => whole((*value).into()),
        Field::Long(value) => whole(*value),
        Field::UByte(value) => Cell::Count((*value).into()),
        Field::UShort(value) => Cell::Count((*value).into()),
        Field::UInt(value) => Cell::Count((*value).into()),
        Field::ULong(value) => Cell::Count(*value),
        Field::Float(value) => Cell::Number((*value).into()),
        Field::Double(value) => Cell::Number(*value),
        Field::Str(text) => Cell::text(text.as_str()),
        Field::Bytes(_) => Cell::text(
            record
                .get_bytes(i)
                .ok()
                .and_then(|bytes| std::str::from_utf8(bytes.data()).ok())
                .ok_or_else(|| format!("column `{name}` is not UTF-8"))?,
        ),
        _ => {
            return Err(format!(
                "column `{name}` has a type that is not a number, a boolean or a text"
            ));
        }
    })
}
