//! Past episodes, one JSON object per line, as the decision service imports them.

use std::collections::{HashMap, HashSet};
use std::io::{BufRead, Write};

use emab::{Episode, Names, Spec};
use serde::{Deserialize, Serialize};

use crate::json::{Name, truncate};
use crate::line_reader::LineReader;
use crate::saved_learner::SavedLearnerError;
use crate::validate::{first_state, not_a_start, validate_from};
use emab_problem::{NAME_RULE, is_name, json_error};

/// The fields of a past episode.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PastEpisodeLine {
    id: String,
    /// Only where the problem lists several start states.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    start: Option<Name>,
    actions: Vec<Name>,
    feedbacks: Vec<Name>,
    costs: Vec<Option<f64>>,
    rewards: Vec<Option<f64>>,
    /// What the service is told of a value outside its range.
    #[serde(default, skip_serializing, rename = "outlier")]
    _outlier: bool,
    #[serde(default, skip_serializing, rename = "reason")]
    _reason: Option<String>,
}

impl PastEpisodeLine {
    /// The line of a valid episode.
    pub(crate) fn new(spec: &Spec, name: &str, id: u64, episode: &Episode) -> PastEpisodeLine {
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
        PastEpisodeLine {
            id: format!("{name}-{id}"),
            start,
            actions: names(spec.actions(), &episode.actions),
            feedbacks: names(spec.feedbacks(), &episode.feedbacks),
            costs: values(&episode.costs, taken),
            rewards: values(&episode.rewards, taken + 1),
            _outlier: false,
            _reason: None,
        }
    }

    /// The episode, if the specification allows it. Names of episodes must be unique: the service treats a second episode of the
    /// same name as a repetition.
    pub(crate) fn episode(
        self,
        spec: &Spec,
        names: &NameIndex,
        ids: &mut HashSet<String>,
    ) -> Result<Episode, String> {
        if !is_name(&self.id) {
            let id = truncate(&self.id);
            return Err(format!(
                "`{id}` cannot be the name of an episode: {NAME_RULE}"
            ));
        }
        let known = |value: Option<f64>| value.unwrap_or(f64::NAN);
        let taken = self.actions.len();
        for (field, count, expected) in [
            ("costs", self.costs.len(), taken),
            ("rewards", self.rewards.len(), taken + 1),
        ] {
            if count != expected {
                return Err(format!(
                    "`{field}` has {count} values and the episode {expected}: write null for an unknown value"
                ));
            }
        }
        let episode = Episode {
            states: Vec::new(),
            actions: resolve("action", (&names.actions, spec.actions()), &self.actions)?,
            feedbacks: resolve(
                "feedback",
                (&names.feedbacks, spec.feedbacks()),
                &self.feedbacks,
            )?,
            costs: self.costs.into_iter().map(known).collect(),
            rewards: self.rewards.into_iter().map(known).collect(),
        };
        let start = self.start.map(|given| start(spec, &given)).transpose()?;
        let episode = validate_from(spec, start, episode)?;
        match ids.replace(self.id) {
            None => Ok(episode),
            Some(id) => Err(format!(
                "there is an episode `{id}` already: names of episodes must be unique"
            )),
        }
    }
}

/// Indices of actions and feedbacks by name.
pub(crate) struct NameIndex {
    actions: HashMap<String, usize>,
    feedbacks: HashMap<String, usize>,
}

impl NameIndex {
    pub(crate) fn new(spec: &Spec) -> NameIndex {
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

/// Reads a file of past episodes, each with its name, and validates them against the specification.
///
/// ```
/// let file = emab_problem::ProblemFile::find("resource").unwrap();
/// let lines = r#"{"id": "p1", "actions": ["cont"], "feedbacks": [1], "costs": [0.1], "rewards": [0, null]}"#;
/// let episodes = emab_episodes::read_past_episodes(file.spec(), lines.as_bytes()).unwrap();
/// assert_eq!((&*episodes[0].0, &episodes[0].1.states[..]), ("p1", &[0, 1][..]));
/// let error = emab_episodes::read_past_episodes(file.spec(), &b"{}"[..]).unwrap_err();
/// assert!(error.to_string().starts_with("line 1: "));
/// ```
pub fn read_past_episodes(
    spec: &Spec,
    from: impl BufRead,
) -> Result<Vec<(String, Episode)>, SavedLearnerError> {
    let mut lines = LineReader::new(from);
    let (names, mut ids, mut episodes) = (NameIndex::new(spec), HashSet::new(), Vec::new());
    while let Some((line, text)) = lines.next()? {
        let read = serde_json::from_str::<PastEpisodeLine>(text);
        let read = read.map_err(|error| json_error_text(&error));
        let read = read.and_then(|it| Ok((it.id.clone(), it.episode(spec, &names, &mut ids)?)));
        episodes.push(read.map_err(|what| SavedLearnerError::Line { line, what })?);
    }
    Ok(episodes)
}

/// Writes an episode as one line of JSON, in the format that [`read_past_episodes`] reads. Its name is `NAME-ID`.
pub fn write_past_episode(
    out: &mut dyn Write,
    spec: &Spec,
    (name, id): (&str, u64),
    episode: &Episode,
) -> std::io::Result<()> {
    serde_json::to_writer(&mut *out, &PastEpisodeLine::new(spec, name, id, episode))?;
    out.write_all(b"\n")
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
pub(crate) fn json_error_text(error: &serde_json::Error) -> String {
    let subject = format!("the value that ends at character {}", error.column());
    json_error(error, &subject)
}
