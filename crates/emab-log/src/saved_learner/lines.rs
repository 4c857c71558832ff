//! The lines of a file, none of them longer than can be one of a learner's.

use std::io::{BufRead, Read};

use super::SavedLearnerError;

/// Longer lines are none of ours; so long may be a problem.
const LONGEST: u64 = 256 << 20;

/// Lines.
pub(super) struct Lines<R> {
    from: R,
    bytes: Vec<u8>,
    number: usize,
    longest: u64,
}

impl<R: BufRead> Lines<R> {
    pub(super) fn new(from: R) -> Lines<R> {
        Lines {
            from,
            bytes: Vec::new(),
            number: 0,
            longest: LONGEST,
        }
    }

    /// The next line that is not blank, with its number from 1.
    pub(super) fn next(&mut self) -> Result<Option<(usize, &str)>, SavedLearnerError> {
        loop {
            self.bytes.clear();
            let mut line = (&mut self.from).take(self.longest + 1);
            if line.read_until(b'\n', &mut self.bytes)? == 0 {
                return Ok(None);
            }
            self.number += 1;
            if self.bytes.len() as u64 > self.longest {
                let what = format!("it is longer than {} bytes", self.longest);
                return Err(self.wrong(what));
            }
            if !self.bytes.trim_ascii().is_empty() {
                break;
            }
        }
        match std::str::from_utf8(&self.bytes) {
            Ok(text) => Ok(Some((self.number, text.trim()))),
            Err(error) => {
                let at = error.valid_up_to();
                Err(self.wrong(format!("it is not UTF-8: byte {at} does not belong there")))
            }
        }
    }

    fn wrong(&self, what: String) -> SavedLearnerError {
        SavedLearnerError::Line {
            line: self.number,
            what,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;

    #[test]
    fn no_line_is_taken_in_that_never_ends() {
        let mut lines = Lines::new(std::io::BufReader::new(std::io::repeat(b' ')));
        lines.longest = 1000;
        let error = lines.next().unwrap_err().to_string();
        assert_eq!(error, "line 1: it is longer than 1000 bytes");
        assert_eq!(lines.bytes.len(), 1001);
    }

    #[test]
    fn blank_lines_count_and_are_left_out() {
        let mut lines = Lines::new(&b"\n one \r\n\r\n two"[..]);
        assert_eq!(lines.next().unwrap(), Some((2, "one")));
        assert_eq!(lines.next().unwrap(), Some((4, "two")));
        assert_eq!(lines.next().unwrap(), None);
    }
}
