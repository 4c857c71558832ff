//! Numbers as text, for messages and tables.

/// A number for display: enough digits to compare, thousands separated by commas.
///
/// ```
/// use emab_sim::results::number;
/// assert_eq!(number(1680.4211), "1,680.4");
/// assert_eq!(number(17.1749), "17.17");
/// assert_eq!(number(1.605673568), "1.6057");
/// assert_eq!(number(7.0), "7");
/// assert_eq!(number(0.0), "0");
/// assert_eq!(number(-0.00001234), "-1.23e-5");
/// ```
pub fn number(value: f64) -> String {
    let size = value.abs();
    if value == 0.0 {
        return "0".into();
    }
    if !(1e-3..1e9).contains(&size) {
        return format!("{value:.2e}");
    }
    let decimals = match size {
        s if s.fract() == 0.0 => 0,
        s if s >= 10_000.0 => 0,
        s if s >= 100.0 => 1,
        s if s >= 10.0 => 2,
        _ => 4,
    };
    fixed(value, decimals)
}

/// A number with this many decimals, thousands separated by commas.
pub fn fixed(value: f64, decimals: usize) -> String {
    let text = format!("{:.decimals$}", value.abs());
    let (whole, rest) = text.split_at(text.find('.').unwrap_or(text.len()));
    let zero = text.chars().all(|c| c == '0' || c == '.');
    let sign = if value < 0.0 && !zero { "-" } else { "" };
    let mut out = format!("{sign}{whole}{rest}");
    for at in (1..whole.len()).filter(|at| at.is_multiple_of(3)) {
        out.insert(sign.len() + whole.len() - at, ',');
    }
    out
}
