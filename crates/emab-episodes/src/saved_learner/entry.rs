//! Further lines of a saved learner: episodes, as the decision service imports them, and queries.

use std::collections::{HashMap, HashSet};

use emab::{Episode, Names, Spec};
use serde::{Deserialize, Serialize};

use super::SavedEntry;
use crate::json::{LenientU64, Name, truncate};
use crate::validate::{first_state, not_a_start, validate_from};
use emab_problem::{NAME_RULE, is_name, json_error};

/// The learner was asked for an action.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct QueryLine {
    /// Step and state.
    ask: (LenientU64, LenientU64),
}

/// The learner learned from an episode.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EpisodeLine {
    id: String,
    /// Only where the problem lists several start states.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    start: Option<Name>,
    actions: Vec<Name>,
    feedbacks: Vec<Name>,
    costs: Vec<Option<f64>>,
    rewards: Vec<Option<f64>>,
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

impl EpisodeLine {
    /// The line of a valid episode.
    pub(super) fn new(spec: &Spec, id: u64, episode: &Episode) -> EpisodeLine {
        // The service expects complete lists, with null for unknown values.
        let values = |values: &[f64], count: usize| {
            let known = |i| values.get(i).copied().filter(|value: &f64| !value.is_nan());
            (0..count).map(known).collect()
        };
        let names = |names: &Names, indices: &[usize]| {
            let name = |&i: &usize| Name::Text(names.name(i).into_owned());
            indices.iter().map(name).collect()
        };
        let taken = episode.actions.len();
        let start = first_state(spec, episode);
        let start = start.map(|x| Name::Text(spec.states().name(x).into_owned()));
        EpisodeLine {
            id: format!("learned-{id}"),
            start,
            actions: names(spec.actions(), &episode.actions),
            feedbacks: names(spec.feedbacks(), &episode.feedbacks),
            costs: values(&episode.costs, taken),
            rewards: values(&episode.rewards, taken + 1),
        }
    }
}

/// Indices of actions and feedbacks by name.
pub(super) struct NameIndex {
    actions: HashMap<String, usize>,
    feedbacks: HashMap<String, usize>,
}

impl NameIndex {
    pub(super) fn new(spec: &Spec) -> NameIndex {
        let index = |names: &Names| {
            let entry = |i| (names.name(i).into_owned(), i);
            (0..names.len()).map(entry).collect()
        };
        NameIndex {
            actions: index(spec.actions()),
            feedbacks: index(spec.feedbacks()),
        }
    }
}

/// A start state by name or index.
fn start(spec: &Spec, given: &Name) -> Result<usize, String> {
    let is_given = |x: &usize| match given {
        Name::Text(name) => *name == spec.states().name(*x),
        Name::Index(index) => *index == *x as u64,
    };
    let found = spec.starts().iter().copied().find(is_given);
    found.ok_or_else(|| not_a_start(spec, given))
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
    let line = match serde_json::from_str::<EpisodeLine>(text) {
        Ok(line) => line,
        Err(error) => {
            // An object with the field `ask` is read as a query.
            return match serde_json::from_str::<QueryLine>(text) {
                Ok(QueryLine { ask: (t, x) }) => {
                    let (t, x) = (t.index(), x.index());
                    QueryLine::new(spec, t, x)?;
                    Ok(SavedEntry::Query(t, x))
                }
                Err(other) if is_query(text) => Err(json_error_text(&other)),
                Err(_) => Err(json_error_text(&error)),
            };
        }
    };
    if !is_name(&line.id) {
        let id = truncate(&line.id);
        return Err(format!(
            "`{id}` cannot be the name of an episode: {NAME_RULE}"
        ));
    }
    let known = |value: Option<f64>| value.unwrap_or(f64::NAN);
    let taken = line.actions.len();
    for (field, count, expected) in [
        ("costs", line.costs.len(), taken),
        ("rewards", line.rewards.len(), taken + 1),
    ] {
        if count != expected {
            return Err(format!(
                "`{field}` has {count} values and the episode {expected}: write null for an unknown value"
            ));
        }
    }
    let episode = Episode {
        states: Vec::new(),
        actions: resolve("action", (&names.actions, spec.actions()), &line.actions)?,
        feedbacks: resolve(
            "feedback",
            (&names.feedbacks, spec.feedbacks()),
            &line.feedbacks,
        )?,
        costs: line.costs.into_iter().map(known).collect(),
        rewards: line.rewards.into_iter().map(known).collect(),
    };
    let start = line.start.map(|given| start(spec, &given)).transpose()?;
    let episode = validate_from(spec, start, episode)?;
    match ids.replace(line.id) {
        None => Ok(SavedEntry::Episode(episode)),
        Some(id) => Err(format!(
            "there is an episode `{id}` already: names of episodes must be unique"
        )),
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

/// Indices of names.
fn resolve(
    what: &str,
    (known, names): (&HashMap<String, usize>, &Names),
    values: &[Name],
) -> Result<Vec<usize>, String> {
    let index = |value: &Name| {
        let found = match value {
            Name::Text(name) => known.get(name).copied(),
            Name::Index(index) => usize::try_from(*index).ok().filter(|&i| i < known.len()),
        };
        found.ok_or_else(|| match value {
            Name::Text(name) if name == "stop" => {
                "`stop` is not listed among the actions: an episode ends after its last action"
                    .into()
            }
            Name::Text(name) => format!("there is no {what} {value}{}", names.instead_of(name)),
            Name::Index(_) => {
                let last = known.len() - 1;
                format!("there is no {what} {value}: indices are 0 to {last}")
            }
        })
    };
    values.iter().map(index).collect()
}

/// The error in plain words, with the character: each line is parsed by itself, so the parser's line number is always 1.
pub(super) fn json_error_text(error: &serde_json::Error) -> String {
    let subject = format!("the value that ends at character {}", error.column());
    json_error(error, &subject)
}
