//! An episode of a client: the requests that it sends, and the event that each becomes.

use bytes::Bytes;
use serde_json::{Value, json};

use super::event_key::{EventKey, episode_id, hash, hash_outcome};
use super::studies::{PAUSED, STUDIES, Study};
use crate::Result;
use crate::http::Request;
use crate::rng::Rng;

/// A request and the key of the event that it asks for; `None` for a read.
pub(crate) type KeyedRequest = (Request, Option<EventKey>);

/// A part of an outcome.
#[derive(Clone, Debug)]
struct Part {
    costs: Vec<Option<f64>>,
    rewards: Vec<Option<f64>>,
    last: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Episode {
    study: u8,
    client: u16,
    number: u32,
    /// The current step, from 1.
    pub step: usize,
    /// The recommended action; `None` is `stop`.
    pub recommended: Option<String>,
    /// The bytes of the current decision.
    pub decision: Bytes,
    /// Parts of the outcome that are not yet sent, the next one last.
    parts: Vec<Part>,
    /// The reward of the last step.
    reward: Option<f64>,
    /// The feedback of the first step, as it is recorded.
    first_feedback: Option<&'static str>,
    corrections: u64,
    /// The policy that its first step is decided from, if there is one.
    pub policy: Option<Policy>,
}

/// What a table of the policy recommends at the first step of an episode.
#[derive(Clone, Debug)]
pub(crate) struct Policy {
    as_of: u64,
    hash: String,
    action: String,
}

impl Policy {
    /// Reads a table; `None` if it recommends `stop` or cannot be read.
    pub(crate) fn read(body: &[u8], episode: &Episode) -> Option<Policy> {
        let table: Value = serde_json::from_slice(body).ok()?;
        let rows = table["choices"].as_array()?;
        let start = episode.start();
        let is_first =
            |row: &&Value| row["step"] == 1 && start.is_none_or(|start| row["state"] == start);
        let action = rows.iter().find(is_first)?["action"].as_str()?;
        (action != "stop").then_some(Policy {
            as_of: table["as_of"].as_u64()?,
            hash: table["hash"].as_str()?.into(),
            action: action.into(),
        })
    }
}

/// The requests that one client sends about the whole study, in turn: each of them changes it.
pub(crate) fn change_study(client: u16, number: u32) -> KeyedRequest {
    let changes = [
        (":pause", "paused"),
        (":resume", "resumed"),
        (":close", "closed"),
        (":reopen", "reopened"),
    ];
    let (call, kind) = changes[number as usize % changes.len()];
    let study = STUDIES[usize::from(PAUSED)].name;
    let body = json!({"reason": "an exercise", "request": episode_id(client, number)});
    let request = Request::json(
        "POST",
        format!("/v1/studies/{study}{call}"),
        body.to_string(),
    );
    let key = EventKey {
        study: PAUSED,
        client,
        episode: number,
        kind,
        step: 0,
        content: 0,
    };
    (request, Some(key))
}

impl Episode {
    pub(crate) fn new(study: u8, client: u16, number: u32) -> Episode {
        Episode {
            study,
            client,
            number,
            step: 1,
            recommended: None,
            decision: Bytes::new(),
            parts: Vec::new(),
            reward: None,
            first_feedback: None,
            corrections: 0,
            policy: None,
        }
    }

    /// The state in which it begins, where there are several.
    fn start(&self) -> Option<&'static str> {
        let starts = self.study().starts;
        starts
            .get(self.number as usize % starts.len().max(1))
            .copied()
    }

    /// Reads the policy of its study.
    pub(crate) fn read_policy(&self) -> KeyedRequest {
        let target = format!("/v1/studies/{}/policy", self.study().name);
        (Request::json("GET", target, String::new()), None)
    }

    pub(crate) fn study(&self) -> &'static Study {
        &STUDIES[usize::from(self.study)]
    }

    pub(crate) fn id(&self) -> String {
        episode_id(self.client, self.number)
    }

    /// Whether the key is of an event of this episode.
    pub(crate) fn is_of(&self, key: &EventKey) -> bool {
        (self.study, self.client, self.number) == (key.study, key.client, key.episode)
    }

    fn key(&self, kind: &'static str, step: usize, content: u64) -> Option<EventKey> {
        Some(EventKey {
            study: self.study,
            client: self.client,
            episode: self.number,
            kind,
            step: step as u16,
            content,
        })
    }

    fn request(&self, method: &'static str, action: &str, body: impl ToString) -> Request {
        let (study, id) = (self.study().name, self.id());
        let target = format!("/v1/studies/{study}/episodes/{id}{action}");
        Request::json(method, target, body.to_string())
    }

    pub(crate) fn open(&self) -> KeyedRequest {
        let target = format!("/v1/studies/{}/episodes", self.study().name);
        let mut body = json!({"id": self.id()});
        if let Some(start) = self.start() {
            body["start"] = start.into();
        }
        let request = Request::json("POST", target, body.to_string());
        (request, self.key("opened", 0, hash(self.start())))
    }

    pub(crate) fn ask(&self) -> KeyedRequest {
        (self.request("POST", ":ask", ""), None)
    }

    /// Reports a step, usually with the recommended action.
    pub(crate) fn tell(&mut self, rng: &mut Rng) -> KeyedRequest {
        let study = self.study();
        if let Some(policy) = self.policy.take() {
            let feedback = rng.name(study.feedbacks);
            self.first_feedback.get_or_insert(feedback);
            return self.tell_from(&policy, feedback);
        }
        let other = rng.name(study.actions);
        let action = match &self.recommended {
            Some(action) if !rng.percent(10) => action,
            _ => other,
        };
        let feedback = rng.name(study.feedbacks);
        self.first_feedback.get_or_insert(feedback);
        let overridden = self.recommended.as_deref() != Some(action);
        self.tell_step(action, feedback, overridden.then_some("family history"))
    }

    /// Reports the first step of a shared episode. The reason differs between clients.
    pub(crate) fn tell_shared(&self, client: u16, rng: &mut Rng) -> KeyedRequest {
        let study = self.study();
        let (action, feedback) = (rng.name(study.actions), rng.name(study.feedbacks));
        let reason = format!("says client {client}");
        self.tell_step(action, feedback, Some(&reason))
    }

    fn tell_step(&self, action: &str, feedback: &str, reason: Option<&str>) -> KeyedRequest {
        let mut body = json!({"step": self.step, "action": action, "feedback": feedback});
        if let Some(reason) = reason {
            body["reason"] = reason.into();
        }
        let none = None::<u64>;
        let content = hash((action, feedback, reason, none));
        let key = self.key("told", self.step, content);
        (self.request("POST", ":tell", body), key)
    }

    /// Reports a step that was decided from a table of the policy.
    fn tell_from(&self, policy: &Policy, feedback: &str) -> KeyedRequest {
        let (step, action) = (self.step, &*policy.action);
        let body = json!({"step": step, "action": action, "feedback": feedback, "decided_by": "fallback",
            "policy": {"as_of": policy.as_of, "hash": policy.hash}});
        let content = hash((action, feedback, None::<&str>, Some(policy.as_of)));
        let key = self.key("told", step, content);
        (self.request("POST", ":tell", body), key)
    }

    pub(crate) fn stop(&self) -> KeyedRequest {
        let reason = self.recommended.is_some().then_some("went home");
        let mut body = json!({"step": self.step});
        if let Some(reason) = reason {
            body["reason"] = reason.into();
        }
        let key = self.key("stopped", self.step, hash(reason));
        (self.request("POST", ":stop", body), key)
    }

    pub(crate) fn abandon(&self) -> KeyedRequest {
        let reason = "moved away";
        let key = self.key("abandoned", 0, hash(reason));
        let body = json!({"reason": reason});
        (self.request("POST", ":abandon", body), key)
    }

    /// Draws the outcome after the last step: complete, in two parts, or with values missing for good.
    pub(crate) fn draw_outcome(&mut self, rng: &mut Rng) {
        let mut draw = |count: usize| -> Vec<Option<f64>> {
            let values = (0..count).map(|_| Some(rng.below(1000) as f64 / 1000.0));
            values.collect()
        };
        let (costs, rewards) = (draw(self.step - 1), draw(self.step));
        self.reward = rewards[self.step - 1];
        let complete = Part {
            costs,
            rewards,
            last: rng.percent(50),
        };
        let mut last_reward = self.last_reward(self.reward);
        self.parts = match rng.below(10) {
            0 if self.step > 1 => {
                last_reward.last = true;
                vec![last_reward]
            }
            1..=4 if self.step > 1 => vec![complete, last_reward],
            _ => vec![complete],
        };
    }

    /// Sends the next part of the outcome; `None` if all parts were accepted.
    pub(crate) fn outcome(&self) -> Option<KeyedRequest> {
        let Part {
            costs,
            rewards,
            last,
        } = self.parts.last()?;
        let body = json!({"costs": costs, "rewards": rewards, "final": last});
        let key = self.key("outcome", 0, hash((hash_outcome(costs, rewards), *last)));
        Some((self.request("PUT", "/outcome", body), key))
    }

    pub(crate) fn outcome_accepted(&mut self) {
        self.parts.pop();
    }

    /// A part with the reward of the last step only.
    fn last_reward(&self, reward: Option<f64>) -> Part {
        let mut rewards = vec![None; self.step];
        rewards[self.step - 1] = reward;
        Part {
            costs: vec![None; self.step - 1],
            rewards,
            last: false,
        }
    }

    /// Corrects the last reward.
    pub(crate) fn amend(&self) -> KeyedRequest {
        let corrected = self
            .reward
            .map(|reward| reward + 1.0 + self.corrections as f64);
        let Part { costs, rewards, .. } = self.last_reward(corrected);
        let reason = "mistyped";
        let body = json!({"costs": costs, "rewards": rewards, "reason": reason});
        let content = hash((hash_outcome(&costs, &rewards), reason));
        let key = self.key("amended", 0, content);
        (self.request("POST", "/outcome:amend", body), key)
    }

    pub(crate) fn amendment_accepted(&mut self) {
        self.corrections += 1;
    }

    /// Corrects the feedback of the first step; `None` if there is none.
    pub(crate) fn amend_step(&self) -> Option<KeyedRequest> {
        let feedback = self.other_feedback()?;
        let reason = format!("correction {}", self.corrections);
        let body = json!({"feedback": feedback, "reason": reason});
        let key = self.key("step_amended", 1, hash((feedback, &*reason)));
        Some((self.request("POST", "/steps/1:amend", body), key))
    }

    pub(crate) fn step_amended(&mut self) {
        self.first_feedback = self.other_feedback();
        self.corrections += 1;
    }

    fn other_feedback(&self) -> Option<&'static str> {
        let known = self.first_feedback?;
        let feedbacks = self.study().feedbacks.iter();
        feedbacks.copied().find(|feedback| *feedback != known)
    }

    /// Marks it as entered in error.
    pub(crate) fn void(&self) -> KeyedRequest {
        let reason = "entered twice";
        let key = self.key("voided", 0, hash(reason));
        (
            self.request("POST", ":void", json!({"reason": reason})),
            key,
        )
    }

    /// Imports a complete past episode.
    pub(crate) fn import(&self, rng: &mut Rng) -> KeyedRequest {
        let study = self.study();
        let steps = rng.below(study.horizon as u64) as usize;
        let mut draw = |list: &[&'static str]| -> Vec<&'static str> {
            (0..steps).map(|_| rng.name(list)).collect()
        };
        let (actions, feedbacks) = (draw(study.actions), draw(study.feedbacks));
        let costs = vec![Some(0.25); steps];
        let rewards = vec![Some(rng.below(100) as f64 / 8.0); steps + 1];
        let mut body = json!({"id": self.id(), "actions": actions, "feedbacks": feedbacks, "costs": costs, "rewards": rewards});
        if let Some(start) = self.start() {
            body["start"] = start.into();
        }
        let outcome = hash_outcome(&costs, &rewards);
        let content = hash((outcome, &actions, &feedbacks, self.start()));
        let request = Request::ndjson(
            format!("/v1/studies/{}:import", study.name),
            format!("{body}\n"),
        );
        (request, self.key("imported", 0, content))
    }
}

/// The action that a decision recommends; `None` is `stop`. Fails if the text has no action.
pub(crate) fn recommended(decision: &[u8]) -> Result<Option<String>> {
    const FIELD: &str = "\"action\":\"";
    let text = std::str::from_utf8(decision)?;
    // The first action is the recommended one; estimates follow.
    let start = text.find(FIELD).ok_or("it has no action")? + FIELD.len();
    let action = text[start..].split('"').next().unwrap_or_default();
    Ok((action != "stop").then(|| action.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_carry_the_key_of_their_event() {
        let mut rng = Rng::new(1);
        let mut episode = Episode::new(0, 3, 4);
        assert_eq!(episode.open().0.body, r#"{"id":"c3-4"}"#);
        let (tell, key) = episode.tell(&mut rng);
        assert!(tell.body.contains("reason"), "stop was recommended");
        let key = key.unwrap();
        assert_eq!(key.kind, "told");
        assert!(episode.is_of(&key));
        episode.step = 2;
        episode.draw_outcome(&mut rng);
        while let Some((part, _)) = episode.outcome() {
            assert!(part.body.contains("\"costs\":["));
            episode.outcome_accepted();
        }
        assert!(episode.amend().0.body.contains("[null,"));
        assert!(episode.import(&mut rng).0.body.ends_with("}\n"));
    }

    #[test]
    fn the_first_action_of_a_decision_is_the_recommended_one() {
        let text = br#"{"study":"hot","action":"scan","estimate":{"action":"blood"}}"#;
        assert_eq!(recommended(text).unwrap().as_deref(), Some("scan"));
        assert_eq!(recommended(br#"{"action":"stop"}"#).unwrap(), None);
        assert!(recommended(b"{}").is_err());
    }
}
