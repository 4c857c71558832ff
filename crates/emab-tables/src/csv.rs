//! Rows as CSV.

use std::io::{self, Write};

use crate::Cell;

pub struct CsvRows<W> {
    out: W,
    /// The current row.
    line: String,
    pub without_formulas: bool,
}

impl<W: Write> CsvRows<W> {
    pub fn new(names: &[&str], mut out: W) -> io::Result<CsvRows<W>> {
        let names: Vec<String> = names.iter().map(|name| quoted(name)).collect();
        writeln!(out, "{}", names.join(","))?;
        Ok(CsvRows {
            out,
            line: String::new(),
            without_formulas: false,
        })
    }

    pub fn cell(&mut self, column: usize, cell: &Cell<'_>) -> io::Result<()> {
        use std::fmt::Write;
        let line = &mut self.line;
        if column > 0 {
            line.push(',');
        }
        let written = match cell {
            Cell::Missing => Ok(()),
            Cell::Count(value) => write!(line, "{value}"),
            Cell::Number(value) => write!(line, "{value}"),
            Cell::Boolean(value) => write!(line, "{value}"),
            Cell::Text(text) if self.without_formulas && may_be_formula(text) => {
                line.push_str(&quoted(&format!("'{text}")));
                Ok(())
            }
            Cell::Text(text) => {
                line.push_str(&quoted(text));
                Ok(())
            }
        };
        written.map_err(io::Error::other)
    }

    pub fn end_row(&mut self) -> io::Result<()> {
        self.line.push('\n');
        self.out.write_all(self.line.as_bytes())?;
        self.line.clear();
        Ok(())
    }

    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }
}

pub(crate) fn may_be_formula(text: &str) -> bool {
    text.starts_with(['=', '+', '-', '@', '\t', '\r', '\''])
}

/// A field, quoted if necessary.
fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) || text.is_empty() {
        in_quotes(text)
    } else {
        text.into()
    }
}

/// A quoted CSV field.
pub fn in_quotes(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use crate::{Cell, Format, Kind, TableWriter};

    #[test]
    fn numbers_read_back_to_the_same_bits() {
        let values = [
            0.1 + 0.2,
            -0.0,
            1e100,
            -1e-300,
            5e-324,
            f64::MAX,
            1.0 / 3.0,
            2.0,
        ];
        let mut table = TableWriter::new(Format::Csv, &[("x", Kind::Number)], Vec::new()).unwrap();
        for value in values {
            table.row([Cell::Number(value)]).unwrap();
        }
        let text = String::from_utf8(table.finish().unwrap()).unwrap();
        let read = text
            .lines()
            .skip(1)
            .map(|line| line.parse::<f64>().unwrap());
        let read: Vec<u64> = read.map(f64::to_bits).collect();
        assert_eq!(read, values.map(f64::to_bits));
    }

    #[test]
    fn texts_are_quoted_and_no_formulas() {
        let columns = [("a\"b", Kind::Text), ("c", Kind::Count)];
        let table = TableWriter::new(Format::Csv, &columns, Vec::new()).unwrap();
        let mut table = table.without_formulas();
        for text in [
            "",
            "x,\"y\"\nz",
            "=A1,B1",
            "\tx",
            "-",
            "@x",
            "+1",
            "\r",
            "' ",
        ] {
            table.row([Cell::text(text), Cell::Count(1)]).unwrap();
        }
        table.row([Cell::Missing, Cell::Missing]).unwrap();
        let text = String::from_utf8(table.finish().unwrap()).unwrap();
        let expected = "\"a\"\"b\",c\n\"\",1\n\"x,\"\"y\"\"\nz\",1\n\"'=A1,B1\",1\n'\tx,1\n'-,1\n'@x,1\n'+1,1\n\"'\r\",1\n'' ,1\n,\n";
        assert_eq!(text, expected);
    }
}
