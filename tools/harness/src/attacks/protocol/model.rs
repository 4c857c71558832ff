//! A model of one study's episodes, written from docs/service.md alone: it shares no code with the service.
//!
//! It predicts the status of every request and the values of every episode. Its central rule: a request that was acknowledged changes
//! nothing when it is delivered again, at any later time.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::http::Response;

/// The step at which only `stop` is possible.
pub(super) const HORIZON: usize = 3;

/// A value outside the `outcome_range` of the study.
pub(super) const OUTLIER: f64 = 7.0;

pub(super) type Values = Vec<Option<f64>>;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Call {
    Open,
    Ask,
    Tell {
        step: usize,
        action: &'static str,
        feedback: &'static str,
        reason: Option<&'static str>,
    },
    Stop {
        step: usize,
        reason: Option<&'static str>,
    },
    Abandon {
        reason: &'static str,
    },
    Outcome {
        costs: Values,
        rewards: Values,
        last: bool,
    },
    Amend {
        costs: Values,
        rewards: Values,
        reason: &'static str,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Operator,
    Blinded,
}

/// A request as it is sent.
#[derive(Clone, Debug)]
pub(super) struct Sent {
    pub episode: String,
    pub call: Call,
    /// The optional `request` id.
    pub id: Option<String>,
    /// The number of the token, and its role.
    pub token: usize,
    pub role: Role,
}

impl Sent {
    /// Method, path after the study, and body.
    pub(super) fn wire(&self) -> (&'static str, String, String) {
        let (method, rest, mut body) = match &self.call {
            Call::Open => ("POST", None, json!({"id": self.episode})),
            Call::Ask => ("POST", Some(":ask"), Value::Null),
            Call::Tell {
                step,
                action,
                feedback,
                reason,
            } => {
                let body =
                    json!({"step": step, "action": action, "feedback": feedback, "reason": reason});
                ("POST", Some(":tell"), body)
            }
            Call::Stop { step, reason } => (
                "POST",
                Some(":stop"),
                json!({"step": step, "reason": reason}),
            ),
            Call::Abandon { reason } => ("POST", Some(":abandon"), json!({"reason": reason})),
            Call::Outcome {
                costs,
                rewards,
                last,
            } => {
                let body = json!({"costs": costs, "rewards": rewards, "final": last});
                ("PUT", Some("/outcome"), body)
            }
            Call::Amend {
                costs,
                rewards,
                reason,
            } => {
                let body = json!({"costs": costs, "rewards": rewards, "reason": reason});
                ("POST", Some("/outcome:amend"), body)
            }
        };
        if let (Some(id), Some(fields)) = (&self.id, body.as_object_mut()) {
            fields.insert("request".into(), id.as_str().into());
        }
        let path = match rest {
            None => "/episodes".into(),
            Some(rest) => format!("/episodes/{}{rest}", self.episode),
        };
        let body = match body {
            Value::Null => String::new(),
            body => body.to_string(),
        };
        (method, path, body)
    }
}

/// A value of an outcome and the token that gave it.
type Given = Option<(f64, usize)>;

#[derive(Debug, Default)]
struct Episode {
    steps: Vec<(&'static str, &'static str, Option<&'static str>)>,
    /// The recommendation of each step, as it was answered first; the second one is for blinded tokens.
    decisions: Vec<[Option<String>; 2]>,
    /// Whether it was abandoned, and the reason.
    end: Option<(bool, Option<&'static str>)>,
    costs: Vec<Given>,
    rewards: Vec<Given>,
    last: bool,
    /// Outcomes and corrections that were acknowledged, with their token and id.
    acknowledged: Vec<(usize, Option<String>, Call)>,
}

impl Episode {
    fn step(&self) -> usize {
        self.steps.len() + 1
    }

    /// The recommended action of the current step.
    fn recommended(&self) -> Option<String> {
        let decision = self.decisions.last()?.iter().flatten().next()?;
        let decision: Value = serde_json::from_str(decision).ok()?;
        decision["action"].as_str().map(str::to_owned)
    }

    fn is_complete(&self) -> bool {
        self.costs.iter().chain(&self.rewards).all(Option::is_some)
    }

    fn status(&self) -> &'static str {
        match self.end {
            None => "open",
            Some(_) if self.last || self.is_complete() => "learned",
            Some((true, _)) => "abandoned",
            Some((false, _)) => "stopped",
        }
    }
}

/// What a request does.
enum Effect {
    /// Rejected with one of these statuses; nothing changes.
    Rejected(&'static [u16]),
    /// Acknowledged; nothing changes. Answers with the decision of a step, or with the episode.
    Repeated(Option<usize>),
    New,
}

#[derive(Debug, Default)]
pub(super) struct Model {
    episodes: BTreeMap<String, Episode>,
}

impl Model {
    /// Compares a response with the prediction, and follows it.
    pub(super) fn check(&mut self, sent: &Sent, response: &Response) -> Result<(), String> {
        let status = response.status;
        let effect = self.predict(sent);
        let expected: &[u16] = match effect {
            Effect::Rejected(statuses) => statuses,
            Effect::Repeated(_) => &[200],
            Effect::New if sent.call == Call::Open => &[201],
            Effect::New => &[200],
        };
        if !expected.contains(&status) {
            let text = response.text();
            return Err(format!("answered {status}, expected {expected:?}: {text}"));
        }
        let step = match effect {
            Effect::Rejected(_) => return Ok(()),
            Effect::Repeated(step) => {
                // Also acknowledged: its own copies are harmless whatever follows.
                let is_outcome = matches!(sent.call, Call::Outcome { .. } | Call::Amend { .. });
                if let (true, Some(episode)) = (is_outcome, self.episodes.get_mut(&sent.episode)) {
                    let known = (sent.token, sent.id.clone(), sent.call.clone());
                    episode.acknowledged.push(known);
                }
                step
            }
            Effect::New => self.apply(sent),
        };
        let blinded = sent.role == Role::Blinded;
        let Some(episode) = self.episodes.get_mut(&sent.episode) else {
            return Err("the model has no such episode".into());
        };
        match step {
            None => compare(episode, &response.text(), blinded),
            Some(step) => {
                let first = episode.decisions[step - 1][usize::from(blinded)]
                    .get_or_insert_with(|| response.text().into_owned());
                match *first == response.text() {
                    true => Ok(()),
                    false => Err(format!(
                        "decision {step} was answered with {first}, now with {}",
                        response.text()
                    )),
                }
            }
        }
    }

    /// Compares an episode that was read with the model.
    pub(super) fn check_read(&self, id: &str, response: &Response) -> Result<(), String> {
        match self.episodes.get(id) {
            None if response.status == 404 => Ok(()),
            None => Err(format!("{id}: read with status {}", response.status)),
            Some(episode) => compare(episode, &response.text(), false),
        }
    }

    pub(super) fn step(&self, id: &str) -> usize {
        self.episodes.get(id).map_or(1, Episode::step)
    }

    pub(super) fn recommended(&self, id: &str) -> Option<String> {
        self.episodes.get(id)?.recommended()
    }

    /// The known costs and rewards.
    pub(super) fn values(&self, id: &str) -> (Values, Values) {
        let values = |list: &[Given]| {
            list.iter()
                .map(|given| given.map(|(value, _)| value))
                .collect()
        };
        self.episodes
            .get(id)
            .map_or_else(Default::default, |episode| {
                (values(&episode.costs), values(&episode.rewards))
            })
    }

    pub(super) fn has_ended(&self, id: &str) -> Option<bool> {
        Some(self.episodes.get(id)?.end.is_some())
    }

    fn predict(&self, sent: &Sent) -> Effect {
        use Effect::{New, Rejected, Repeated};
        let blinded = sent.role == Role::Blinded;
        if blinded && matches!(sent.call, Call::Amend { .. }) {
            return Rejected(&[403]);
        }
        let Some(episode) = self.episodes.get(&sent.episode) else {
            return match sent.call {
                Call::Open => New,
                _ => Rejected(&[404]),
            };
        };
        let now = episode.step();
        let recommended = episode.recommended();
        match &sent.call {
            Call::Open => Repeated(Some(1)),
            Call::Ask => Repeated(Some(now)),
            Call::Tell {
                step,
                action,
                feedback,
                reason,
            } => {
                if *step < now {
                    let (a, f, r) = episode.steps[step - 1];
                    let same = (a, f) == (*action, *feedback) && (reason.is_none() || *reason == r);
                    return match same {
                        true => Repeated(Some(step + 1)),
                        false => Rejected(&[409]),
                    };
                }
                let overridden = recommended.as_deref() != Some(action);
                match () {
                    () if episode.end.is_some() || *step != now => Rejected(&[409]),
                    () if now == HORIZON || (overridden && reason.is_none()) => Rejected(&[422]),
                    () => New,
                }
            }
            Call::Stop { step, reason } => match episode.end {
                Some((false, given)) if *step == now && (reason.is_none() || *reason == given) => {
                    Repeated(None)
                }
                Some(_) => Rejected(&[409]),
                None if *step != now => Rejected(&[409]),
                None if recommended.as_deref() != Some("stop") && reason.is_none() => {
                    Rejected(&[422])
                }
                None => New,
            },
            Call::Abandon { reason } => match episode.end {
                None => New,
                Some((true, Some(given))) if given == *reason => Repeated(None),
                Some(_) => Rejected(&[409]),
            },
            Call::Outcome { costs, rewards, .. } | Call::Amend { costs, rewards, .. } => {
                self.predict_values(sent, episode, costs, rewards)
            }
        }
    }

    /// The effect of an outcome or a correction.
    fn predict_values(
        &self,
        sent: &Sent,
        episode: &Episode,
        costs: &Values,
        rewards: &Values,
    ) -> Effect {
        use Effect::{New, Rejected, Repeated};
        if episode.end.is_none() {
            return Rejected(&[409]);
        }
        if costs.len() + 1 != episode.step() || rewards.len() != episode.step() {
            return Rejected(&[422]);
        }
        let blinded = sent.role == Role::Blinded;
        // A blinded caller is told that a request is a repetition only if it sent the request itself.
        let mut earlier =
            (episode.acknowledged.iter()).filter(|(token, ..)| !blinded || *token == sent.token);
        if let Some(id) = &sent.id {
            let of_id = earlier.find(|(_, known, _)| known.as_ref() == Some(id));
            match of_id {
                Some((.., call)) if *call == sent.call => return Repeated(None),
                Some(_) => return Rejected(&[409]),
                None => {}
            }
        } else if earlier.any(|(.., call)| *call == sent.call) {
            return Repeated(None);
        }
        let is_outlier = costs
            .iter()
            .chain(rewards)
            .any(|value| *value == Some(OUTLIER));
        let accepted = match is_outlier {
            true => Rejected(&[422]),
            false => New,
        };
        if matches!(sent.call, Call::Amend { .. }) {
            return accepted;
        }
        let known = episode.costs.iter().chain(&episode.rewards);
        for (known, given) in known.zip(costs.iter().chain(rewards)) {
            match (known, given) {
                (Some((value, token)), Some(given))
                    if value != given || (blinded && *token != sent.token) =>
                {
                    return Rejected(&[409]);
                }
                (None, Some(_)) if episode.last => return Rejected(&[409]),
                _ => {}
            }
        }
        accepted
    }

    /// Follows an accepted request; returns the step whose decision is answered.
    fn apply(&mut self, sent: &Sent) -> Option<usize> {
        let episode = self.episodes.entry(sent.episode.clone()).or_default();
        match &sent.call {
            Call::Open => {
                episode.decisions.push([None, None]);
                return Some(1);
            }
            Call::Ask => return Some(episode.step()),
            Call::Tell {
                action,
                feedback,
                reason,
                ..
            } => {
                episode.steps.push((action, feedback, *reason));
                episode.decisions.push([None, None]);
                return Some(episode.step());
            }
            Call::Stop { reason, .. } => episode.end = Some((false, *reason)),
            Call::Abandon { reason } => episode.end = Some((true, Some(reason))),
            Call::Outcome { costs, rewards, .. } | Call::Amend { costs, rewards, .. } => {
                for (known, given) in [(&mut episode.costs, costs), (&mut episode.rewards, rewards)]
                {
                    known.resize(given.len(), None);
                    for (known, given) in known.iter_mut().zip(given) {
                        // The token that gave a value last, equal or not, is its giver.
                        *known = given.map(|value| (value, sent.token)).or(*known);
                    }
                }
                if let Call::Outcome { last, .. } = sent.call {
                    episode.last |= last;
                }
                let acknowledged = (sent.token, sent.id.clone(), sent.call.clone());
                episode.acknowledged.push(acknowledged);
            }
        }
        if episode.end.is_some() && episode.rewards.is_empty() {
            episode.costs = vec![None; episode.steps.len()];
            episode.rewards = vec![None; episode.step()];
        }
        None
    }
}

/// Compares an episode in a response with the model.
fn compare(episode: &Episode, text: &str, blinded: bool) -> Result<(), String> {
    let read: Value = serde_json::from_str(text).map_err(|error| format!("{error}: {text}"))?;
    let mut expected = json!({"status": episode.status(), "step": episode.step()});
    let mut found = json!({"status": read["status"], "step": read["step"]});
    if episode.end.is_some() && !blinded {
        let values = |list: &[Given]| -> Values {
            list.iter()
                .map(|given| given.map(|(value, _)| value))
                .collect()
        };
        expected["costs"] = json!(values(&episode.costs));
        expected["rewards"] = json!(values(&episode.rewards));
        for list in ["costs", "rewards"] {
            found[list] = read["outcome"][list].clone();
        }
        // A complete outcome is final whether a request says so or not.
        if !episode.is_complete() {
            expected["final"] = episode.last.into();
            found["final"] = read["outcome"]["final"].clone();
        }
    }
    match expected == found {
        true => Ok(()),
        false => Err(format!("the episode is {found}, expected {expected}")),
    }
}
