//! Writes tables of results as CSV and Parquet.

use std::sync::Arc;

use emab_sim::results::{Column, Values};
use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::Type;

/// The table as CSV: a header, numbers in the shortest form that reads back exactly, empty cells for missing values.
///
/// ```
/// use emab_sim::results::{Column, Values};
/// let name = Column { name: "learner".into(), values: Values::Texts(vec![Some("a, b".into()), None]) };
/// let regret = Column { name: "regret".into(), values: Values::Numbers(vec![Some(1.5), Some(2.0)]) };
/// assert_eq!(emab_report::table_csv(&[name, regret]), "learner,regret\n\"a, b\",1.5\n,2\n");
/// ```
pub fn table_csv(columns: &[Column]) -> String {
    let rows = columns.first().map_or(0, |column| column.values.len());
    let names: Vec<String> = columns.iter().map(|column| quoted(&column.name)).collect();
    let mut out = names.join(",") + "\n";
    for row in 0..rows {
        let cell = |column: &Column| match &column.values {
            Values::Counts(values) => values.get(row)?.map(|n| n.to_string()),
            Values::Numbers(values) => values.get(row)?.map(|n| n.to_string()),
            Values::Texts(values) => values.get(row)?.as_deref().map(quoted),
        };
        let cells = columns
            .iter()
            .map(|column| cell(column).unwrap_or_default());
        out += &(cells.collect::<Vec<_>>().join(",") + "\n");
    }
    out
}

/// A CSV field, quoted if necessary.
fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) || text.is_empty() {
        in_quotes(text)
    } else {
        text.into()
    }
}

/// A quoted CSV field.
pub(crate) fn in_quotes(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}

/// The table as a Parquet file: 64-bit counts, doubles and UTF-8 texts, all optional.
pub fn table_parquet(columns: &[Column]) -> Result<Vec<u8>, ParquetError> {
    let fields = columns.iter().map(|column| {
        let (physical, logical) = match column.values {
            Values::Counts(_) => (Physical::INT64, Some(LogicalType::integer(64, false))),
            Values::Numbers(_) => (Physical::DOUBLE, None),
            Values::Texts(_) => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        };
        let field = Type::primitive_type_builder(&column.name, physical)
            .with_repetition(Repetition::OPTIONAL)
            .with_logical_type(logical)
            .build()?;
        Ok(Arc::new(field))
    });
    let fields = fields.collect::<Result<Vec<_>, ParquetError>>()?;
    let schema = Type::group_type_builder("table")
        .with_fields(fields)
        .build()?;
    let properties = WriterProperties::builder().build();
    let mut file = SerializedFileWriter::new(Vec::new(), Arc::new(schema), Arc::new(properties))?;
    let mut group = file.next_row_group()?;
    for column in columns {
        let Some(mut writer) = group.next_column()? else {
            break;
        };
        match &column.values {
            Values::Counts(values) => {
                let present: Vec<i64> = values.iter().flatten().map(|n| n.cast_signed()).collect();
                write::<Int64Type, _>(&mut writer, &present, values)?;
            }
            Values::Numbers(values) => {
                let present: Vec<f64> = values.iter().flatten().copied().collect();
                write::<DoubleType, _>(&mut writer, &present, values)?;
            }
            Values::Texts(values) => {
                let texts = values.iter().flatten();
                let present: Vec<ByteArray> = texts.map(|text| text.as_str().into()).collect();
                write::<ByteArrayType, _>(&mut writer, &present, values)?;
            }
        }
        writer.close()?;
    }
    group.close()?;
    file.into_inner()
}

/// Writes the values that are present, with definition levels: 1 for a value, 0 for a missing one.
fn write<T: DataType, V>(
    writer: &mut SerializedColumnWriter<'_>,
    present: &[T::T],
    values: &[Option<V>],
) -> Result<usize, ParquetError> {
    let levels = values.iter().map(|value| i16::from(value.is_some()));
    let levels: Vec<i16> = levels.collect();
    writer
        .typed::<T>()
        .write_batch(present, Some(&levels), None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use parquet::file::reader::{FileReader, SerializedFileReader};

    #[test]
    fn parquet_reads_back() {
        let columns = [
            Column {
                name: "cell".into(),
                values: Values::Counts(vec![Some(1), Some(u64::MAX), None]),
            },
            Column {
                name: "regret".into(),
                values: Values::Numbers(vec![Some(0.1), None, Some(-3.0)]),
            },
            Column {
                name: "label".into(),
                values: Values::Texts(vec![
                    None,
                    Some("feedbal:sigma2=0.1,delta=1/n".into()),
                    Some("ü".into()),
                ]),
            },
        ];
        let bytes = table_parquet(&columns).unwrap();
        assert_eq!(bytes, table_parquet(&columns).unwrap());
        let reader = SerializedFileReader::new(bytes::Bytes::from(bytes)).unwrap();
        let rows: Vec<String> = reader
            .get_row_iter(None)
            .unwrap()
            .map(|row| row.unwrap().to_string())
            .collect();
        assert_eq!(
            rows,
            [
                "{cell: 1, regret: 0.1, label: null}",
                "{cell: 18446744073709551615, regret: null, label: \"feedbal:sigma2=0.1,delta=1/n\"}",
                "{cell: null, regret: -3E0, label: \"ü\"}"
            ]
        );
        assert!(table_parquet(&[]).is_ok());
    }
}
