//! Who requests something, and the stamp that a request leaves: its time and its person.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::domain::{Event, Rejection, json::short};

/// Who requests something: a person, with a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Author {
    /// The id of the token.
    pub token: String,
    /// The owner of the token, or the person that a trusted proxy has authenticated.
    pub person: String,
}

impl std::fmt::Display for Author {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{} ({})", self.token, self.person)
    }
}

/// When something was recorded, and who requested it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Stamp {
    /// The time, RFC 3339.
    pub at: String,
    /// The person.
    pub by: String,
}

impl Stamp {
    /// The stamp of an event; none if its study follows rules before 4, whose events name no person.
    pub fn of(event: &Event) -> Option<Stamp> {
        Some(Stamp {
            at: event.at.clone(),
            by: event.person.clone()?,
        })
    }
}

/// The largest number of characters in the name of a person.
const MAX_PERSON: usize = 128;

/// Marks that change the direction of the text around them, and characters that are not seen.
const INVISIBLE: [std::ops::RangeInclusive<char>; 14] = [
    '\u{ad}'..='\u{ad}',
    '\u{61c}'..='\u{61c}',
    '\u{115f}'..='\u{1160}',
    '\u{17b4}'..='\u{17b5}',
    '\u{180b}'..='\u{180f}',
    '\u{200b}'..='\u{200f}',
    '\u{2028}'..='\u{202e}',
    '\u{2060}'..='\u{206f}',
    '\u{3164}'..='\u{3164}',
    '\u{fe00}'..='\u{fe0f}',
    '\u{feff}'..='\u{feff}',
    '\u{ffa0}'..='\u{ffa0}',
    '\u{fff0}'..='\u{fffb}',
    '\u{e0000}'..='\u{e0fff}',
];

/// A name of a person: it appears in logs, tables and pages.
pub fn check_person(name: &str) -> Result<(), Rejection> {
    let invisible = |c: char| INVISIBLE.iter().any(|range| range.contains(&c));
    let length = name.chars().count();
    let visible = !name.chars().any(|c| c.is_control() || invisible(c));
    if (1..=MAX_PERSON).contains(&length) && name.trim() == name && visible {
        return Ok(());
    }
    let name = short(name);
    Err(Rejection::not_possible(format!(
        "`{name}` is not the name of a person: 1 to {MAX_PERSON} characters, none of them a control or an invisible character, and no \
         space at either end"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_has_a_visible_name() {
        for good in [
            "x",
            "Dr. Müller-Lüdenscheidt",
            "anna@clinic.example",
            "auth0|5f7c8ec7",
            "李小龍",
            "O'Brien <ward 3>",
            &"é".repeat(128),
        ] {
            check_person(good).unwrap();
        }
        for bad in [
            "",
            " ",
            " a",
            "a ",
            "a\nb",
            "a\u{0}",
            "a\u{202e}b",
            "a\u{200b}",
            "a\u{61c}b",
            "a\u{ad}b",
            "a\u{3164}",
            "a\u{e0041}",
            &"é".repeat(129),
        ] {
            assert!(check_person(bad).is_err(), "{bad:?}");
        }
    }
}
