//! Input that people write: counts in several notations, and suggestions for misspelled names.

/// Reads a count: digits, optionally with `_` between them, a fraction or an exponent, if the value is a whole number
/// below 2^64. The error says what is wrong, without the text.
///
/// ```
/// use emab::input::parse_count;
/// assert_eq!(parse_count("1e5"), Ok(100_000));
/// assert_eq!(parse_count("2.5e4"), Ok(25_000));
/// assert_eq!(parse_count("100_000"), Ok(100_000));
/// assert_eq!(parse_count("1.5"), Err("is not a whole number"));
/// assert_eq!(parse_count("1e20"), Err("is larger than 2^64 - 1"));
/// assert_eq!(parse_count("-3"), Err("is negative"));
/// assert_eq!(parse_count("many"), Err("is not a number"));
/// ```
pub fn parse_count(text: &str) -> Result<u64, &'static str> {
    const NO_NUMBER: Result<u64, &str> = Err("is not a number");
    let text = text.trim();
    let (negative, text) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let is_digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
    // An underscore stands between two digits.
    let between = |part: &str| part.split('_').all(|group| !group.is_empty()) || part.is_empty();
    let digits: String = [whole, fraction].concat().replace('_', "");
    if digits.is_empty() || !is_digits(&digits) || !between(whole) || !between(fraction) {
        return NO_NUMBER;
    }
    let unsigned = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    if unsigned.is_empty() || !is_digits(unsigned) {
        return NO_NUMBER;
    }
    let significant = digits.trim_start_matches('0');
    if significant.is_empty() {
        return Ok(0);
    }
    if negative {
        return Err("is negative");
    }
    // Nine digits of an exponent are beyond every limit already.
    let size = unsigned
        .trim_start_matches('0')
        .get(..9)
        .unwrap_or(unsigned);
    let size: i64 = size.parse().unwrap_or(0);
    let exponent = if exponent.starts_with('-') {
        -size
    } else {
        size
    };
    let decimals = fraction.replace('_', "").len() as i64;
    let trimmed = significant.trim_end_matches('0');
    let zeros = exponent - decimals + (significant.len() - trimmed.len()) as i64;
    match zeros {
        ..0 => Err("is not a whole number"),
        // 2^64 has 20 digits.
        0..=19 => {
            let zeros = "0".repeat(zeros as usize);
            let parsed = format!("{trimmed}{zeros}").parse();
            parsed.map_err(|_| "is larger than 2^64 - 1")
        }
        _ => Err("is larger than 2^64 - 1"),
    }
}

/// The name nearest to `word` by edit distance, if it is near enough for a suggestion. Case and the choice between `-`, `_` and a
/// space do not count.
///
/// ```
/// use emab::input::nearest;
/// let names = ["feedbal", "feedbal-model", "thompson"];
/// assert_eq!(nearest("FeedBAL_Model", names), Some("feedbal-model"));
/// assert_eq!(nearest("fedebal", names), Some("feedbal"));
/// assert_eq!(nearest("thompson-sampling", names), Some("thompson"));
/// assert_eq!(nearest("xyz", names), None);
/// ```
pub fn nearest<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // Limits on untrusted input: the time grows with the number of names and the square of their lengths.
    const LONGEST: usize = 200;
    const MOST: usize = 10_000;
    if word.len() > LONGEST {
        return None;
    }
    let word = folded(word);
    let short = names.into_iter().take(MOST);
    let near = short
        .filter(|name| name.len() <= LONGEST)
        .filter_map(|name| {
            let folded = folded(name);
            let (limit, length) = (1 + folded.len() / 4, word.len().min(folded.len()));
            if length >= 4 && (word.starts_with(&folded) || folded.starts_with(&word)) {
                return Some((distance(&word, &folded), name));
            }
            // The distance is at least the difference of the lengths.
            let distance =
                (word.len().abs_diff(folded.len()) <= limit).then(|| distance(&word, &folded));
            // At least one letter is the same: `g` is no misspelled `a`.
            let limit = limit.min(word.len().max(folded.len()).saturating_sub(1));
            Some((distance.filter(|distance| *distance <= limit)?, name))
        });
    near.min().map(|(_, name)| name)
}

/// ` (did you mean …?)` with the name nearest to `word`, or nothing: a part of error messages.
///
/// ```
/// use emab::input::did_you_mean;
/// assert_eq!(did_you_mean("horizn", ["horizon", "states"]), " (did you mean `horizon`?)");
/// assert_eq!(did_you_mean("xyz", ["horizon", "states"]), "");
/// ```
pub fn did_you_mean<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    nearest(word, names).map_or(String::new(), |near| format!(" (did you mean `{near}`?)"))
}

/// A number of things, with the noun in the plural unless there is one.
///
/// ```
/// use emab::input::counted;
/// assert_eq!(counted(1, "probability"), "1 probability");
/// assert_eq!(counted(3, "probability"), "3 probabilities");
/// assert_eq!(counted(0, "value"), "0 values");
/// ```
pub fn counted(count: usize, noun: &str) -> String {
    match (count, noun.strip_suffix('y')) {
        (1, _) => format!("1 {noun}"),
        (_, Some(stem)) => format!("{count} {stem}ies"),
        (_, None) => format!("{count} {noun}s"),
    }
}

fn folded(name: &str) -> Vec<char> {
    let lower = name.trim().chars().flat_map(char::to_lowercase);
    lower
        .map(|c| if c == '_' || c == ' ' { '-' } else { c })
        .collect()
}

/// The edit distance with insertions, deletions, replacements and transpositions of neighbours.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut next = vec![i];
        for j in 1..=b.len() {
            let replace = row[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut least = replace.min(row[j] + 1).min(next[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(before[j - 2] + 1);
            }
            next.push(least);
        }
        before = std::mem::replace(&mut row, next);
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_counts_in_every_notation() {
        for (text, count) in [
            ("0", 0),
            ("-0", 0),
            ("0e99999999999999999999", 0),
            ("007", 7),
            ("+12", 12),
            ("1e5", 100_000),
            ("1E+5", 100_000),
            ("1.e2", 100),
            (".5e1", 5),
            ("100000e-5", 1),
            ("1_000_000", 1_000_000),
            ("18446744073709551615", u64::MAX),
            ("1844674407370955161.5e1", u64::MAX),
            ("1e19", 10_u64.pow(19)),
        ] {
            assert_eq!(parse_count(text), Ok(count), "{text}");
        }
        for (text, why) in [
            ("", "is not a number"),
            (".", "is not a number"),
            ("e5", "is not a number"),
            ("1e", "is not a number"),
            ("1e+", "is not a number"),
            ("1e5.5", "is not a number"),
            ("0x10", "is not a number"),
            ("1 000", "is not a number"),
            ("1,000", "is not a number"),
            ("_1", "is not a number"),
            ("1__0", "is not a number"),
            ("inf", "is not a number"),
            ("nan", "is not a number"),
            ("1.5", "is not a whole number"),
            ("1e-5", "is not a whole number"),
            ("1e-99999999999999999999", "is not a whole number"),
            ("18446744073709551616", "is larger than 2^64 - 1"),
            ("1e99999999999999999999", "is larger than 2^64 - 1"),
            ("-1", "is negative"),
        ] {
            assert_eq!(parse_count(text), Err(why), "{text}");
        }
    }

    #[test]
    fn suggests_names_that_are_near() {
        let names = ["feedback", "feedbal", "cost", "reward", "reward_noise", "a"];
        for (word, near) in [
            ("feedbak", Some("feedback")),
            ("fedbal", Some("feedbal")),
            ("csot", Some("cost")),
            ("Reward", Some("reward")),
            ("reward-noise", Some("reward_noise")),
            ("rewards", Some("reward")),
            ("q", None),
            ("A", Some("a")),
            ("aa", Some("a")),
            ("horizon", None),
        ] {
            assert_eq!(nearest(word, names), near, "{word}");
        }
        assert_eq!(nearest(&"x".repeat(100_000), names), None);
    }
}
