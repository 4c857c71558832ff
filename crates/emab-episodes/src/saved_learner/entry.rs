//! Further lines of a saved learner: episodes, as the decision service imports them, and queries.

use std::collections::HashSet;

use emab::Spec;
use serde::{Deserialize, Serialize};

use super::SavedEntry;
use crate::json::{LenientU64, truncate};
use crate::past_episode::{NameIndex, PastEpisodeLine, json_error_text};

/// The learner was asked for an action.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct QueryLine {
    /// Step and state.
    ask: (LenientU64, LenientU64),
}

impl QueryLine {
    /// Fails if the step or the state is out of range.
    pub(super) fn new(spec: &Spec, t: usize, x: usize) -> Result<QueryLine, String> {
        let (steps, states) = (spec.horizon(), spec.states().len());
        if !(1..=steps).contains(&t) || x >= states {
            let last = states - 1;
            return Err(format!(
                "`ask` is [{t}, {x}]: steps are 1 to {steps}, and states 0 to {last}"
            ));
        }
        Ok(QueryLine {
            ask: (LenientU64(t as u64), LenientU64(x as u64)),
        })
    }
}

/// Parses a line. Episode ids must be unique: the service treats a second episode of the same id as a repetition.
pub(super) fn read(
    spec: &Spec,
    names: &NameIndex,
    text: &str,
    ids: &mut HashSet<String>,
) -> Result<SavedEntry, String> {
    if !text.starts_with('{') {
        let got = truncate(text);
        return Err(format!(
            "the line must be a JSON object, an episode or a question, got {got}"
        ));
    }
    match serde_json::from_str::<PastEpisodeLine>(text) {
        Ok(line) => line.episode(spec, names, ids).map(SavedEntry::Episode),
        // An object with the field `ask` is read as a query.
        Err(error) => match serde_json::from_str::<QueryLine>(text) {
            Ok(QueryLine { ask: (t, x) }) => {
                let (t, x) = (t.index(), x.index());
                QueryLine::new(spec, t, x)?;
                Ok(SavedEntry::Query(t, x))
            }
            Err(other) if is_query(text) => Err(json_error_text(&other)),
            Err(_) => Err(json_error_text(&error)),
        },
    }
}

/// Whether a line of a saved learner is a query, valid or not.
///
/// ```
/// assert!(emab_episodes::is_query(r#"{"ask": [1, 0]}"#));
/// assert!(!emab_episodes::is_query(r#"{"id": "learned-1"}"#));
/// ```
pub fn is_query(line: &str) -> bool {
    #[derive(Deserialize)]
    struct HasAsk {
        #[serde(rename = "ask")]
        _ask: serde::de::IgnoredAny,
    }
    serde_json::from_str::<HasAsk>(line).is_ok()
}
