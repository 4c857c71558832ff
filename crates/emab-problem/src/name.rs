//! Names of studies and episodes.

/// Whether a text is a valid name of a study or an episode. Names are part of URLs.
///
/// ```
/// use emab_problem::is_name;
/// assert!(is_name("patient-7") && !is_name("a/b") && !is_name(""));
/// ```
pub fn is_name(name: &str) -> bool {
    let valid = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    (1..=128).contains(&name.len())
        && name.chars().all(valid)
        && name.starts_with(|c: char| c.is_ascii_alphanumeric())
}

/// The rule that [`is_name`] checks.
pub const NAME_RULE: &str =
    "1 to 128 letters, digits, `.`, `_` and `-`, beginning with a letter or digit";
