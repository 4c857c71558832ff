//! Reads lines of limited length.

use std::io::{BufRead, Read};

use crate::saved_learner::SavedLearnerError;

/// Longest line: a problem with large tables fits.
const MAX_LINE: u64 = 256 << 20;

/// Reads a file line by line.
pub(crate) struct LineReader<R> {
    from: R,
    bytes: Vec<u8>,
    number: usize,
    max_line: u64,
}

impl<R: BufRead> LineReader<R> {
    pub(crate) fn new(from: R) -> LineReader<R> {
        LineReader {
            from,
            bytes: Vec::new(),
            number: 0,
            max_line: MAX_LINE,
        }
    }

    /// The next line that is not blank, with its number (from 1).
    pub(crate) fn next(&mut self) -> Result<Option<(usize, &str)>, SavedLearnerError> {
        loop {
            self.bytes.clear();
            let mut line = (&mut self.from).take(self.max_line + 1);
            if line.read_until(b'\n', &mut self.bytes)? == 0 {
                return Ok(None);
            }
            self.number += 1;
            if self.bytes.len() as u64 > self.max_line {
                let what = format!("it is longer than {} bytes", self.max_line);
                return Err(self.error(what));
            }
            if !self.bytes.trim_ascii().is_empty() {
                break;
            }
        }
        match std::str::from_utf8(&self.bytes) {
            Ok(text) => Ok(Some((self.number, text.trim()))),
            Err(invalid) => {
                let at = invalid.valid_up_to();
                Err(self.error(format!("it is not UTF-8: byte {at} is invalid")))
            }
        }
    }

    fn error(&self, what: String) -> SavedLearnerError {
        SavedLearnerError::Line {
            line: self.number,
            what,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejects_a_line_without_end() {
        let mut reader = LineReader::new(std::io::BufReader::new(std::io::repeat(b' ')));
        reader.max_line = 1000;
        let error = reader.next().unwrap_err().to_string();
        assert_eq!(error, "line 1: it is longer than 1000 bytes");
        assert_eq!(reader.bytes.len(), 1001);
    }

    #[test]
    fn skips_blank_lines_but_counts_them() {
        let mut reader = LineReader::new(&b"\n one \r\n\r\n two"[..]);
        assert_eq!(reader.next().unwrap(), Some((2, "one")));
        assert_eq!(reader.next().unwrap(), Some((4, "two")));
        assert_eq!(reader.next().unwrap(), None);
    }
}
