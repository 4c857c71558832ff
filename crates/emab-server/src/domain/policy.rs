//! The policy of a study at an event: what is recommended in every step and state, for clients that cannot reach the service.

use std::collections::BTreeMap;

use emab::Action;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::domain::{
    CHECKED_PAIRS, Decision, Rejection, StudyState, is_hex, json::lenient_from_one, sha256,
};

/// What is recommended to the next episode in every step and state that it can reach.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PolicyTable {
    /// The study.
    pub study: String,
    /// The version of this format.
    pub version: u32,
    /// The sequence number of the last event that it is based on.
    pub as_of: u64,
    /// The time of that event, RFC 3339; left out for a study of rules before 4.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// SHA-256 of the study, `as_of` and the choices.
    pub hash: String,
    /// In the order of steps and states.
    pub choices: Vec<PolicyChoice>,
}

/// The recommendation in one step and state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PolicyChoice {
    /// The step, from 1.
    pub step: usize,
    /// The state, by name.
    pub state: String,
    /// The action, by name, or `stop`.
    pub action: String,
    /// The state at the next step after each feedback, by name; empty after `stop`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub next: BTreeMap<String, String>,
}

/// The table that a step was decided from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PolicyReference {
    /// The sequence number of the last event that it is based on.
    #[schema(minimum = 1)]
    #[serde(deserialize_with = "lenient_from_one")]
    pub as_of: u64,
    /// Its hash.
    #[schema(pattern = "^[0-9a-f]{64}$")]
    pub hash: String,
}

impl PolicyReference {
    /// Checks its form: it is of an event up to this one.
    pub fn check(&self, last: u64) -> Result<(), Rejection> {
        if !(1..=last).contains(&self.as_of) {
            let (as_of, what) = (self.as_of, "is not an event of this study");
            return Err(
                Rejection::not_possible(format!("`as_of` is {as_of}, which {what}"))
                    .at("/policy/as_of"),
            );
        }
        if !is_hex(&self.hash, 64) {
            let what = "`hash` is 64 hexadecimal digits in lower case, as the policy has it";
            return Err(Rejection::not_possible(what).at("/policy/hash"));
        }
        Ok(())
    }
}

/// The largest length of all names in a table.
const MAX_BYTES: usize = 32 << 20;

impl PolicyTable {
    /// The version of the format.
    const VERSION: u32 = 1;

    /// The table at the present event; fails if too many pairs can be reached.
    pub fn of(state: &mut StudyState) -> Result<PolicyTable, Rejection> {
        state.settle_expired();
        let (study, number) = (state.study.clone(), state.next_number());
        let spec = &study.spec;
        let wrong = |error: emab::spec::PointError| Rejection::not_possible(error.to_string());
        let reachable = spec.reachable(CHECKED_PAIRS).map_err(wrong)?;
        if !reachable.complete {
            let what = format!(
                "more than {CHECKED_PAIRS} steps and states, or ten times as many outcomes, can be reached: too many for a table"
            );
            return Err(Rejection::not_possible(what));
        }
        let (mut choices, mut bytes) = (Vec::with_capacity(reachable.pairs.len()), 0);
        for (t, x) in reachable.pairs {
            let (action, _) = Decision::choice(&study, &mut state.learners, number, (t, x));
            let mut next = BTreeMap::new();
            if let Action::Continue(a) = action {
                for f in 0..spec.feedbacks().len() {
                    // Feedbacks without a next state are left out.
                    if let Ok(y) = spec.next(t, x, a, f) {
                        let feedback = spec.feedbacks().name(f).into_owned();
                        let state = spec.states().name(y).into_owned();
                        bytes += feedback.len() + state.len();
                        next.insert(feedback, state);
                    }
                }
            }
            let state = spec.states().name(x).into_owned();
            bytes += state.len();
            if bytes > MAX_BYTES {
                let what = format!("the table has more than {} MiB of names", MAX_BYTES >> 20);
                return Err(Rejection::not_possible(what));
            }
            choices.push(PolicyChoice {
                step: t,
                state,
                action: spec.action_name(action).into_owned(),
                next,
            });
        }
        let as_of = state.head.seq;
        let text = serde_json::to_string(&(&study.name, as_of, &choices));
        let text = text.map_err(|error| Rejection::internal(error.to_string()))?;
        Ok(PolicyTable {
            study: study.name.clone(),
            version: Self::VERSION,
            as_of,
            at: state.head.details.at.clone(),
            hash: sha256(text.as_bytes()),
            choices,
        })
    }

    /// The action in a step and state, by names.
    pub fn action(&self, step: usize, state: &str) -> Option<&str> {
        let found = self
            .choices
            .iter()
            .find(|it| it.step == step && it.state == state);
        found.map(|it| it.action.as_str())
    }
}
