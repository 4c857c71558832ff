//! The other lines of a learner's file: episodes, as the decision service imports them, and questions.

use std::collections::{HashMap, HashSet};

use emab::{Episode, Names, Spec};
use serde::{Deserialize, Serialize};

use super::SavedEntry;
use super::number::{Name, Whole};
use crate::validate::checked;
use emab_problem::{NAME_RULE, is_name};

/// A learner was asked.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Question {
    /// The step and the state.
    ask: (Whole, Whole),
}

/// A learner learned from an episode.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Past {
    id: String,
    actions: Vec<Name>,
    feedbacks: Vec<Name>,
    costs: Vec<Option<f64>>,
    rewards: Vec<Option<f64>>,
}

impl Question {
    /// If it can be asked.
    pub(super) fn of(spec: &Spec, t: usize, x: usize) -> Result<Question, String> {
        let (steps, states) = (spec.horizon(), spec.states().len());
        if !(1..=steps).contains(&t) || x >= states {
            return Err(format!(
                "`ask` is [{t}, {x}]: steps are 1 to {steps}, and states 0 to {}",
                states - 1
            ));
        }
        Ok(Question {
            ask: (Whole(t as u64), Whole(x as u64)),
        })
    }
}

impl Past {
    /// An episode that was checked.
    pub(super) fn of(spec: &Spec, number: u64, episode: &Episode) -> Past {
        // Lists are whole, as the service expects them: what is not known stands there as such.
        let known = |values: &[f64], count: usize| {
            let known = |i| values.get(i).copied().filter(|value: &f64| !value.is_nan());
            (0..count).map(known).collect()
        };
        let names = |names: &Names, of: &[usize]| {
            let name = |&i: &usize| Name::Text(names.name(i).into_owned());
            of.iter().map(name).collect()
        };
        let taken = episode.actions.len();
        Past {
            id: format!("learned-{number}"),
            actions: names(spec.actions(), &episode.actions),
            feedbacks: names(spec.feedbacks(), &episode.feedbacks),
            costs: known(&episode.costs, taken),
            rewards: known(&episode.rewards, taken + 1),
        }
    }
}

/// Actions and feedbacks by name.
pub(super) struct Indices {
    actions: HashMap<String, usize>,
    feedbacks: HashMap<String, usize>,
}

impl Indices {
    pub(super) fn of(spec: &Spec) -> Indices {
        let index = |names: &Names| {
            let index = |i| (names.name(i).into_owned(), i);
            (0..names.len()).map(index).collect()
        };
        Indices {
            actions: index(spec.actions()),
            feedbacks: index(spec.feedbacks()),
        }
    }
}

/// Reads a line. No two episodes go by one name: the service would take the second for a repetition of the first.
pub(super) fn read(
    spec: &Spec,
    indices: &Indices,
    text: &str,
    ids: &mut HashSet<String>,
) -> Result<SavedEntry, String> {
    if !text.starts_with('{') {
        return Err(format!(
            "expected a JSON object, an episode or a question, got {}",
            short(text)
        ));
    }
    let past = match serde_json::from_str::<Past>(text) {
        Ok(past) => past,
        Err(error) => {
            // What has an `ask` is meant to be a question.
            return match serde_json::from_str::<Question>(text) {
                Ok(Question { ask: (t, x) }) => {
                    let (t, x) = (t.index(), x.index());
                    Question::of(spec, t, x)?;
                    Ok(SavedEntry::Asked(t, x))
                }
                Err(other) if is_query(text) => Err(words(&other)),
                Err(_) => Err(words(&error)),
            };
        }
    };
    if !is_name(&past.id) {
        return Err(format!(
            "`{}` cannot be the name of an episode: {NAME_RULE}",
            short(&past.id)
        ));
    }
    let values = |values: Vec<Option<f64>>| {
        let values = values.into_iter().map(|value| value.unwrap_or(f64::NAN));
        values.collect::<Vec<f64>>()
    };
    let taken = past.actions.len();
    for (field, count, expected) in [
        ("costs", past.costs.len(), taken),
        ("rewards", past.rewards.len(), taken + 1),
    ] {
        if count != expected {
            return Err(format!(
                "`{field}` has {count} values and the episode {expected}: write null for what is not known"
            ));
        }
    }
    let episode = Episode {
        states: Vec::new(),
        actions: numbers("action", &indices.actions, &past.actions)?,
        feedbacks: numbers("feedback", &indices.feedbacks, &past.feedbacks)?,
        costs: values(past.costs),
        rewards: values(past.rewards),
    };
    let episode = checked(spec, episode)?;
    if let Some(id) = ids.replace(past.id) {
        return Err(format!(
            "there is an episode `{id}` already: each has a name of its own"
        ));
    }
    Ok(SavedEntry::Learned(episode))
}

/// Whether a line of a learner's file is a question, or is meant to be one.
///
/// ```
/// assert!(emab_problem::is_question(r#"{"ask": [1, 0]}"#));
/// assert!(!emab_problem::is_question(r#"{"id": "learned-1"}"#));
/// ```
pub fn is_query(line: &str) -> bool {
    #[derive(Deserialize)]
    struct Has {
        #[serde(rename = "ask")]
        _it: serde::de::IgnoredAny,
    }
    serde_json::from_str::<Has>(line).is_ok()
}

/// Names or numbers as numbers.
fn numbers(
    what: &str,
    known: &HashMap<String, usize>,
    values: &[Name],
) -> Result<Vec<usize>, String> {
    let number = |value: &Name| {
        let found = match value {
            Name::Text(name) => known.get(name).copied(),
            Name::Index(index) => usize::try_from(*index).ok().filter(|&i| i < known.len()),
        };
        found.ok_or_else(|| match value {
            Name::Text(name) if name == "stop" => {
                "`stop` is not among the actions: an episode ends where they do".into()
            }
            Name::Text(name) => format!("there is no {what} `{}`", short(name)),
            Name::Index(index) => {
                format!(
                    "there is no {what} {index}: they are 0 to {}",
                    known.len() - 1
                )
            }
        })
    };
    values.iter().map(number).collect()
}

/// What is wrong with a line, with its column: that it is the first of the text says nothing.
pub(super) fn words(error: &serde_json::Error) -> String {
    let (text, column) = (error.to_string(), error.column());
    let place = format!(" at line {} column {column}", error.line());
    match text.strip_suffix(&place) {
        Some(what) => format!("{what}, at column {column}"),
        None => text,
    }
}

/// A text from a stranger, cut for a message.
fn short(text: &str) -> String {
    match text.char_indices().nth(60) {
        None => text.into(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}
