//! Rows as Parquet: cells are collected by column, and written as a group of rows when there are many.

use std::io::Write;
use std::sync::Arc;

use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::Type;

use crate::{Cell, Kind};

/// A group of rows is written when it has this many rows.
const GROUP_ROWS: usize = 1 << 16;
/// A group of rows is written when its cells have about this many bytes.
const GROUP_BYTES: usize = 16 << 20;

pub struct ParquetRows<W: Write + Send> {
    file: SerializedFileWriter<W>,
    columns: Vec<Buffer>,
    rows: usize,
    bytes: usize,
    groups: usize,
}

/// The cells of a column in the current group: the values, and for every row whether it has one.
struct Buffer {
    values: Values,
    levels: Vec<i16>,
}

enum Values {
    Counts(Vec<i64>),
    Numbers(Vec<f64>),
    Booleans(Vec<bool>),
    Texts(Vec<ByteArray>),
}

impl<W: Write + Send> ParquetRows<W> {
    pub fn new(names: &[&str], kinds: &[Kind], out: W) -> Result<ParquetRows<W>, ParquetError> {
        let fields = names.iter().zip(kinds).map(|(name, kind)| {
            let (physical, logical) = match kind {
                Kind::Count => (Physical::INT64, Some(LogicalType::integer(64, false))),
                Kind::Number => (Physical::DOUBLE, None),
                Kind::Boolean => (Physical::BOOLEAN, None),
                Kind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
            };
            let field = Type::primitive_type_builder(name, physical)
                .with_repetition(Repetition::OPTIONAL)
                .with_logical_type(logical)
                .build()?;
            Ok(Arc::new(field))
        });
        let fields = fields.collect::<Result<Vec<_>, ParquetError>>()?;
        let schema = Type::group_type_builder("table")
            .with_fields(fields)
            .build()?;
        let properties = Arc::new(WriterProperties::builder().build());
        let columns = kinds.iter().map(|kind| Buffer {
            values: match kind {
                Kind::Count => Values::Counts(Vec::new()),
                Kind::Number => Values::Numbers(Vec::new()),
                Kind::Boolean => Values::Booleans(Vec::new()),
                Kind::Text => Values::Texts(Vec::new()),
            },
            levels: Vec::new(),
        });
        Ok(ParquetRows {
            file: SerializedFileWriter::new(out, Arc::new(schema), properties)?,
            columns: columns.collect(),
            rows: 0,
            bytes: 0,
            groups: 0,
        })
    }

    /// Adds a cell to the current row. The caller has checked its type.
    pub fn cell(&mut self, column: usize, cell: Cell<'_>) {
        let Some(Buffer { values, levels }) = self.columns.get_mut(column) else {
            return;
        };
        levels.push(i16::from(cell != Cell::Missing));
        self.bytes += 8;
        match (values, cell) {
            (Values::Counts(values), Cell::Count(value)) => values.push(value.cast_signed()),
            (Values::Numbers(values), Cell::Number(value)) => values.push(value),
            (Values::Booleans(values), Cell::Boolean(value)) => values.push(value),
            (Values::Texts(values), Cell::Text(value)) => {
                self.bytes += value.len() + size_of::<ByteArray>();
                values.push(value.into_owned().into_bytes().into());
            }
            _ => {}
        }
    }

    pub fn end_row(&mut self) -> Result<(), ParquetError> {
        self.rows += 1;
        match self.rows >= GROUP_ROWS || self.bytes >= GROUP_BYTES {
            true => self.write_group(),
            false => Ok(()),
        }
    }

    fn write_group(&mut self) -> Result<(), ParquetError> {
        let mut group = self.file.next_row_group()?;
        for Buffer { values, levels } in &mut self.columns {
            let Some(mut writer) = group.next_column()? else {
                break;
            };
            match values {
                Values::Counts(values) => write::<Int64Type>(&mut writer, values, levels)?,
                Values::Numbers(values) => write::<DoubleType>(&mut writer, values, levels)?,
                Values::Booleans(values) => write::<BoolType>(&mut writer, values, levels)?,
                Values::Texts(values) => write::<ByteArrayType>(&mut writer, values, levels)?,
            }
            writer.close()?;
        }
        group.close()?;
        (self.rows, self.bytes, self.groups) = (0, 0, self.groups + 1);
        Ok(())
    }

    pub fn finish(mut self) -> Result<W, ParquetError> {
        if self.rows > 0 || self.groups == 0 {
            self.write_group()?;
        }
        self.file.into_inner()
    }
}

/// Writes the values of a column with definition levels, 1 for a value and 0 for a missing one, and clears both.
fn write<T: DataType>(
    writer: &mut SerializedColumnWriter<'_>,
    values: &mut Vec<T::T>,
    levels: &mut Vec<i16>,
) -> Result<(), ParquetError> {
    writer
        .typed::<T>()
        .write_batch(values, Some(levels), None)?;
    values.clear();
    levels.clear();
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::{Format, TableWriter};
    use parquet::file::reader::{FileReader, SerializedFileReader};

    fn columns() -> [(&'static str, Kind); 4] {
        [
            ("cell", Kind::Count),
            ("regret", Kind::Number),
            ("label", Kind::Text),
            ("final", Kind::Boolean),
        ]
    }

    #[test]
    fn reads_back() {
        let rows = || {
            let mut table = TableWriter::new(Format::Parquet, &columns(), Vec::new()).unwrap();
            let (number, text) = (Cell::Number, Cell::text);
            for row in [
                [
                    Cell::Count(1),
                    number(0.1),
                    Cell::Missing,
                    Cell::Boolean(true),
                ],
                [
                    Cell::Count(u64::MAX),
                    Cell::Missing,
                    text("=a,b"),
                    Cell::Missing,
                ],
                [Cell::Missing, number(-3.0), text("ü"), Cell::Boolean(false)],
            ] {
                table.row(row).unwrap();
            }
            table.finish().unwrap()
        };
        let bytes = rows();
        assert_eq!(bytes, rows());
        let reader = SerializedFileReader::new(bytes::Bytes::from(bytes)).unwrap();
        let rows = reader.get_row_iter(None).unwrap();
        let rows: Vec<String> = rows.map(|row| row.unwrap().to_string()).collect();
        assert_eq!(
            rows,
            [
                "{cell: 1, regret: 0.1, label: null, final: true}",
                "{cell: 18446744073709551615, regret: null, label: \"=a,b\", final: null}",
                "{cell: null, regret: -3E0, label: \"ü\", final: false}"
            ]
        );
        let empty: [(&str, Kind); 0] = [];
        let table = TableWriter::new(Format::Parquet, &empty, Vec::new()).unwrap();
        assert!(table.finish().is_ok());
    }

    #[test]
    fn long_tables_have_several_groups() {
        let mut table = TableWriter::new(Format::Parquet, &columns(), Vec::new()).unwrap();
        let long = "x".repeat(GROUP_BYTES / 4);
        for i in 0..GROUP_ROWS as u64 + 9 {
            let text = if i < 8 { long.as_str() } else { "short" };
            let row = [Cell::Count(i), Cell::Missing, Cell::text(text)];
            table.row(row.into_iter().chain([Cell::Missing])).unwrap();
        }
        let reader =
            SerializedFileReader::new(bytes::Bytes::from(table.finish().unwrap())).unwrap();
        let groups = reader.metadata().row_groups().iter();
        let groups: Vec<i64> = groups.map(|group| group.num_rows()).collect();
        assert_eq!(groups, [4, 4, GROUP_ROWS as i64, 1]);
    }
}
