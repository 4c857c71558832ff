//! Shards: the K-th of N parts of an experiment. Each run or cell belongs to exactly one shard.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use emab::input::parse_count;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// One of N parts of nearly equal size.
///
/// ```
/// use emab_sim::Shard;
/// let shard: Shard = "3/16".parse().unwrap();
/// assert_eq!(shard.share(100), 12..18);
/// assert_eq!("0/3".parse::<Shard>().unwrap_err().to_string(),
///     "a shard is `K/N` with K from 1 to N, such as 3/16, got `0/3`");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Shard {
    /// Its number, from 1.
    number: u64,
    /// The number of shards.
    of: u64,
}

/// Text that is not a shard.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("a shard is `K/N` with K from 1 to N, such as 3/16, got `{0}`")]
pub struct ShardError(String);

impl Shard {
    /// The undivided experiment.
    pub const WHOLE: Shard = Shard { number: 1, of: 1 };

    /// Its number, from 1.
    pub fn number(self) -> u64 {
        self.number
    }

    /// The number of shards.
    pub fn of(self) -> u64 {
        self.of
    }

    /// All shards of the same division.
    pub fn all(self) -> impl Iterator<Item = Shard> {
        let of = self.of;
        (1..=of).map(move |number| Shard { number, of })
    }

    /// The shard's range out of `pieces`; the sizes of two shards differ by at most one.
    pub fn share(self, pieces: u64) -> Range<u64> {
        let cut = |number| (u128::from(pieces) * u128::from(number) / u128::from(self.of)) as u64;
        cut(self.number - 1)..cut(self.number)
    }
}

impl Default for Shard {
    fn default() -> Shard {
        Shard::WHOLE
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}/{}", self.number, self.of)
    }
}

impl FromStr for Shard {
    type Err = ShardError;

    fn from_str(text: &str) -> Result<Shard, ShardError> {
        let parts = text.split_once('/');
        let parse = |(number, of)| Some((parse_count(number).ok()?, parse_count(of).ok()?));
        match parts.and_then(parse) {
            Some((number, of)) if 1 <= number && number <= of => Ok(Shard { number, of }),
            _ => Err(ShardError(text.into())),
        }
    }
}

impl TryFrom<String> for Shard {
    type Error = ShardError;

    fn try_from(text: String) -> Result<Shard, ShardError> {
        text.parse()
    }
}

impl From<Shard> for String {
    fn from(shard: Shard) -> String {
        shard.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_disjoint_and_complete() {
        for (pieces, of) in [(0, 1), (1, 3), (100, 7), (5, 5), (u64::MAX, 1000)] {
            let mut at = 0;
            for shard in (Shard { number: 1, of }).all() {
                let share = shard.share(pieces);
                assert_eq!(share.start, at);
                assert!(share.end - share.start <= pieces / of + 1);
                at = share.end;
            }
            assert_eq!(at, pieces);
        }
    }

    #[test]
    fn rejects_text_that_is_not_a_shard() {
        for text in [
            "", "3", "3/", "/3", "4/3", "0/0", "-1/3", "1/3/5", "a/b", "1.5/2",
        ] {
            assert!(text.parse::<Shard>().is_err(), "{text}");
        }
    }
}
