//! The initial protocol of a study: what is recommended to its first cases, or where nothing was observed yet.

use std::collections::HashMap;

use emab::{Action, Names, Spec};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::domain::{Rejection, json::lenient_from_one, json::lenient_u64};

/// What to recommend instead of the learner's choice, and when. It has a `sequence` or a `policy`, and applies to the `first`
/// episodes, to pairs that are `unobserved`, or to both.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Protocol {
    /// The number of first episodes that it applies to.
    #[serde(
        default,
        deserialize_with = "lenient_u64",
        skip_serializing_if = "is_zero"
    )]
    pub first: u64,
    /// The actions of the steps in turn, by name; then `stop`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sequence: Option<Vec<String>>,
    /// The action in each step and state; the learner decides where there is no row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_items = 100_000)]
    pub policy: Option<Vec<PolicyRow>>,
    /// Whether it applies to every step and state that no learned episode has visited.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unobserved: bool,
}

/// The action in one step and state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PolicyRow {
    /// The step, from 1.
    #[serde(deserialize_with = "lenient_from_one")]
    pub step: u64,
    /// The state, by name.
    pub state: String,
    /// The action, by name, or `stop`.
    pub action: String,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// A protocol whose names are resolved.
#[derive(Debug)]
pub struct ResolvedProtocol {
    first: u64,
    unobserved: bool,
    choices: Choices,
}

#[derive(Debug)]
enum Choices {
    Sequence(Vec<usize>),
    Policy(HashMap<(usize, usize), Action>),
}

const MAX_ROWS: usize = 100_000;

impl Protocol {
    /// Checks it and resolves its names.
    pub fn resolve(&self, spec: &Spec) -> Result<ResolvedProtocol, Rejection> {
        let wrong = |pointer: String, what: String| Rejection::not_possible(what).at(pointer);
        if self.first == 0 && !self.unobserved {
            let what = "a protocol applies to the `first` so many episodes, or has `unobserved`: true, or both";
            return Err(wrong("/protocol".into(), what.into()));
        }
        let choices = match (&self.sequence, &self.policy) {
            (Some(sequence), None) => Choices::Sequence(resolve_sequence(spec, sequence)?),
            (None, Some(rows)) => Choices::Policy(resolve_policy(spec, rows)?),
            _ => {
                let what = "a protocol has either a `sequence` of actions or a `policy`";
                return Err(wrong("/protocol".into(), what.into()));
            }
        };
        Ok(ResolvedProtocol {
            first: self.first,
            unobserved: self.unobserved,
            choices,
        })
    }
}

fn resolve_sequence(spec: &Spec, sequence: &[String]) -> Result<Vec<usize>, Rejection> {
    let most = spec.horizon() - 1;
    if sequence.len() > most {
        let what = format!(
            "the sequence has {} actions: at most {most} are possible before the horizon",
            sequence.len()
        );
        return Err(Rejection::not_possible(what).at("/protocol/sequence"));
    }
    let names = Finder::new(spec.actions());
    let actions = sequence.iter().enumerate().map(|(i, name)| {
        let place = || format!("/protocol/sequence/{i}");
        let found = names.find(name);
        found.ok_or_else(|| unknown("action", name, spec.actions()).at(place()))
    });
    actions.collect()
}

fn resolve_policy(
    spec: &Spec,
    rows: &[PolicyRow],
) -> Result<HashMap<(usize, usize), Action>, Rejection> {
    if rows.len() > MAX_ROWS {
        let what = format!(
            "a policy has at most {MAX_ROWS} rows, this one {}",
            rows.len()
        );
        return Err(Rejection::not_possible(what).at("/protocol/policy"));
    }
    let (states, actions) = (Finder::new(spec.states()), Finder::new(spec.actions()));
    let mut policy = HashMap::new();
    for (i, row) in rows.iter().enumerate() {
        let at = |field: &str| format!("/protocol/policy/{i}/{field}");
        let wrong = |field: &str, what: String| Rejection::not_possible(what).at(at(field));
        let PolicyRow { step, state, .. } = row;
        let t = *step as usize;
        if !(1..=spec.horizon() as u64).contains(step) {
            let what = format!(
                "step {step} is not from 1 to the horizon {}",
                spec.horizon()
            );
            return Err(wrong("step", what));
        }
        let x = states.find(state);
        let x = x.ok_or_else(|| unknown("state", state, spec.states()).at(at("state")))?;
        let action = match &*row.action {
            "stop" => Action::Stop,
            name => {
                let a = actions.find(name);
                let a =
                    a.ok_or_else(|| unknown("action", name, spec.actions()).at(at("action")))?;
                let allowed = spec.check_allowed(t, x, a);
                let allowed = allowed.map_err(|error| wrong("action", error.to_string()))?;
                if !allowed || t == spec.horizon() {
                    let what = format!("`{name}` is not allowed at step {step} in state `{state}`");
                    return Err(wrong("action", what));
                }
                Action::Continue(a)
            }
        };
        if policy.insert((t, x), action).is_some() {
            let what = format!("step {step} and state `{state}` have an earlier row");
            return Err(wrong("state", what));
        }
    }
    Ok(policy)
}

/// Finds names among many, one after another.
struct Finder<'a> {
    names: &'a Names,
    listed: HashMap<&'a str, usize>,
}

impl<'a> Finder<'a> {
    fn new(names: &'a Names) -> Finder<'a> {
        let list = match names {
            Names::List(list) => list.as_slice(),
            Names::Count(..) => &[],
        };
        let listed = list.iter().enumerate();
        Finder {
            names,
            listed: listed.map(|(i, name)| (name.as_str(), i)).collect(),
        }
    }

    fn find(&self, name: &str) -> Option<usize> {
        if let Names::List(_) = self.names {
            return self.listed.get(name).copied();
        }
        // Numbered names are not listed: there may be millions.
        let digits = name.trim_start_matches(|c: char| !c.is_ascii_digit());
        let index = digits.parse().ok().filter(|i| *i < self.names.len())?;
        (self.names.name(index) == name).then_some(index)
    }
}

fn unknown(what: &str, name: &str, names: &Names) -> Rejection {
    let instead = names.instead_of(name);
    let name = crate::domain::json::short(name);
    let stop = match (what, &*name) {
        ("action", "stop") => "; a sequence stops after its last action",
        _ => "",
    };
    let what = format!("this study has no {what} `{name}`{instead}{stop}");
    Rejection::not_possible(what)
}

impl ResolvedProtocol {
    /// What it recommends in a step and state to the episode with this number, if it applies. The number is that among the opened
    /// episodes, from 1, and none for one that was imported.
    pub fn choice(
        &self,
        spec: &Spec,
        number: Option<u64>,
        (t, x): (usize, usize),
        is_observed: bool,
    ) -> Option<Action> {
        let is_first = number.is_some_and(|number| number <= self.first);
        if !is_first && (is_observed || !self.unobserved) {
            return None;
        }
        match &self.choices {
            Choices::Policy(policy) => policy.get(&(t, x)).copied(),
            Choices::Sequence(sequence) => match sequence.get(t - 1) {
                None => Some(Action::Stop),
                // The learner decides where the action is not allowed.
                Some(&a) => spec.is_allowed(t, x, a).then_some(Action::Continue(a)),
            },
        }
    }
}
