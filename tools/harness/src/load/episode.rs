//! An episode as its client plays it: what it sends, and which event that becomes.

use std::fmt::Write;

use super::key::{Key, Kind, content, name, values};
use super::studies::{STUDIES, Study};
use crate::chance::Chance;
use crate::wire::Message;

/// A request, and the event that it asks for.
#[derive(Clone, Debug)]
pub struct Request {
    /// What is sent.
    pub message: Message,
    /// The event; none if it only asks.
    pub key: Option<Key>,
}

/// A part of an outcome.
#[derive(Clone, Debug)]
struct Part {
    costs: Vec<Option<f64>>,
    rewards: Vec<Option<f64>>,
    last: bool,
}

/// An episode of a client.
#[derive(Clone, Debug)]
pub struct Episode {
    study: u8,
    client: u16,
    number: u32,
    /// The step where it is, from 1.
    pub step: usize,
    /// What is recommended there; none is `stop`.
    pub recommended: Option<String>,
    /// The decision, byte for byte.
    pub decision: Vec<u8>,
    /// Whether no more steps can be told.
    pub ended: bool,
    /// Parts of its outcome that are still to be given, the next one last.
    parts: Vec<Part>,
    /// Its rewards, once it has ended.
    rewards: Vec<f64>,
    corrections: u64,
}

impl Episode {
    /// One that is not open yet.
    pub fn new(study: u8, client: u16, number: u32) -> Episode {
        Episode {
            study,
            client,
            number,
            step: 1,
            recommended: None,
            decision: Vec::new(),
            ended: false,
            parts: Vec::new(),
            rewards: Vec::new(),
            corrections: 0,
        }
    }

    /// Its study.
    pub fn study(&self) -> &'static Study {
        &STUDIES[usize::from(self.study) % STUDIES.len()]
    }

    /// Whether it is this one.
    pub fn is(&self, key: &Key) -> bool {
        (self.study, self.client, self.number) == (key.study, key.client, key.episode)
    }

    fn key(&self, kind: Kind, step: usize, content: u64) -> Option<Key> {
        Some(Key {
            study: self.study,
            client: self.client,
            episode: self.number,
            kind,
            step: step as u16,
            content,
        })
    }

    fn request(
        &self,
        method: &'static str,
        after: &str,
        body: String,
        key: Option<Key>,
    ) -> Request {
        let study = self.study().name;
        let id = name(self.client, self.number);
        let target = format!("/v1/studies/{study}/episodes/{id}{after}");
        Request {
            message: Message::json(method, target, body),
            key,
        }
    }

    /// Opens it.
    pub fn open(&self) -> Request {
        let id = name(self.client, self.number);
        let target = format!("/v1/studies/{}/episodes", self.study().name);
        let body = format!(r#"{{"id":"{id}"}}"#);
        Request {
            message: Message::json("POST", target, body),
            key: self.key(Kind::Opened, 0, 0),
        }
    }

    /// Asks for the decision.
    pub fn ask(&self) -> Request {
        self.request("POST", ":ask", String::new(), None)
    }

    /// Tells a step, by and large as recommended.
    pub fn tell(&self, chance: &mut Chance) -> Request {
        let study = self.study();
        let other = chance.one_of(study.actions).copied().unwrap_or_default();
        let action = match &self.recommended {
            Some(action) if !chance.percent(10) => action,
            _ => other,
        };
        let feedback = chance.one_of(study.feedbacks).copied().unwrap_or_default();
        let overridden = self.recommended.as_deref() != Some(action);
        let reason = overridden.then_some("family history");
        let step = self.step;
        let mut body = format!(r#"{{"step":{step},"action":"{action}","feedback":"{feedback}""#);
        if let Some(reason) = reason {
            let _ = write!(body, r#","reason":"{reason}""#);
        }
        body.push('}');
        let key = self.key(
            Kind::StepRecorded,
            step,
            content((action, feedback, reason)),
        );
        self.request("POST", ":tell", body, key)
    }

    /// Tells the first step of an episode of everybody's: no two clients say the same.
    pub fn race(&self, client: u16, chance: &mut Chance) -> Request {
        let study = self.study();
        let action = chance.one_of(study.actions).copied().unwrap_or_default();
        let feedback = chance.one_of(study.feedbacks).copied().unwrap_or_default();
        let reason = format!("says client {client}");
        let body = format!(
            r#"{{"step":1,"action":"{action}","feedback":"{feedback}","reason":"{reason}"}}"#
        );
        let said = content((action, feedback, Some(reason.as_str())));
        self.request("POST", ":tell", body, self.key(Kind::StepRecorded, 1, said))
    }

    /// Stops it.
    pub fn stop(&self) -> Request {
        let reason = self.recommended.is_some().then_some("went home");
        let step = self.step;
        let body = match reason {
            Some(reason) => format!(r#"{{"step":{step},"reason":"{reason}"}}"#),
            None => format!(r#"{{"step":{step}}}"#),
        };
        let key = self.key(Kind::Stopped, step, content(reason));
        self.request("POST", ":stop", body, key)
    }

    /// Gives it up.
    pub fn abandon(&self) -> Request {
        let reason = "moved away";
        let body = format!(r#"{{"reason":"{reason}"}}"#);
        let key = self.key(Kind::Abandoned, 0, content(reason));
        self.request("POST", ":abandon", body, key)
    }

    /// It has ended: its outcome will come, in one part or two, or never be whole.
    pub fn end(&mut self, chance: &mut Chance) {
        self.ended = true;
        let mut draw = |count: usize| -> Vec<f64> {
            let values = (0..count).map(|_| chance.below(1000) as f64 / 1000.0);
            values.collect()
        };
        let (costs, rewards) = (draw(self.step - 1), draw(self.step));
        let known = |values: &[f64]| values.iter().copied().map(Some).collect::<Vec<_>>();
        let whole = Part {
            costs: known(&costs),
            rewards: known(&rewards),
            last: chance.percent(50),
        };
        let mut part = Part {
            costs: vec![None; costs.len()],
            rewards: vec![None; rewards.len()],
            last: false,
        };
        if let (Some(here), Some(there)) = (part.rewards.last_mut(), rewards.last()) {
            *here = Some(*there);
        }
        self.rewards = rewards;
        self.parts = match chance.below(10) {
            // The last reward is all there is, and all there will be.
            0 if self.step > 1 => {
                part.last = true;
                vec![part]
            }
            1..=4 if self.step > 1 => vec![whole, part],
            _ => vec![whole],
        };
    }

    /// The next part of its outcome; none if all of it was given.
    pub fn outcome(&self) -> Option<Request> {
        let part = self.parts.last()?;
        let body = format!(
            r#"{{"costs":{},"rewards":{},"final":{}}}"#,
            list(&part.costs),
            list(&part.rewards),
            part.last
        );
        let said = content((values(&part.costs, &part.rewards), part.last));
        let key = self.key(Kind::Outcome, 0, said);
        Some(self.request("PUT", "/outcome", body, key))
    }

    /// A part was taken.
    pub fn given(&mut self) {
        self.parts.pop();
    }

    /// Corrects the last reward.
    pub fn amend(&self) -> Request {
        let (costs, mut rewards) = (vec![None; self.step - 1], vec![None; self.step]);
        if let (Some(here), Some(there)) = (rewards.last_mut(), self.rewards.last()) {
            *here = Some(*there + 1.0 + self.corrections as f64);
        }
        let reason = "mistyped";
        let body = format!(
            r#"{{"costs":{},"rewards":{},"reason":"{reason}"}}"#,
            list(&costs),
            list(&rewards)
        );
        let said = content((values(&costs, &rewards), reason));
        self.request(
            "POST",
            "/outcome:amend",
            body,
            self.key(Kind::Amended, 0, said),
        )
    }

    /// A correction was taken.
    pub fn amended(&mut self) {
        self.corrections += 1;
    }

    /// One of the past, whole.
    pub fn import(&self, chance: &mut Chance) -> Request {
        let study = self.study();
        let steps = chance.below(study.horizon as u64) as usize;
        let mut some = |list: &[&'static str]| -> Vec<&'static str> {
            let names = (0..steps).filter_map(|_| chance.one_of(list).copied());
            names.collect()
        };
        let (actions, feedbacks) = (some(study.actions), some(study.feedbacks));
        let costs = vec![Some(0.25); steps];
        let rewards = vec![Some(chance.below(100) as f64 / 8.0); steps + 1];
        let names =
            |names: &[&str]| format!("[\"{}\"]", names.join("\",\"")).replace("[\"\"]", "[]");
        let body = format!(
            "{{\"id\":\"{}\",\"actions\":{},\"feedbacks\":{},\"costs\":{},\"rewards\":{}}}\n",
            name(self.client, self.number),
            names(&actions),
            names(&feedbacks),
            list(&costs),
            list(&rewards)
        );
        let said = content((values(&costs, &rewards), &actions, &feedbacks));
        Request {
            message: Message {
                kind: "application/x-ndjson",
                ..Message::json("POST", format!("/v1/studies/{}:import", study.name), body)
            },
            key: self.key(Kind::Imported, 0, said),
        }
    }
}

fn list(values: &[Option<f64>]) -> String {
    let texts: Vec<String> = values
        .iter()
        .map(|value| value.map_or("null".into(), |value| value.to_string()))
        .collect();
    format!("[{}]", texts.join(","))
}

/// What a decision recommends; none is `stop`. An error if it is no decision.
pub fn recommended(decision: &[u8]) -> Result<Option<String>, String> {
    const FIELD: &str = "\"action\":\"";
    let text = std::str::from_utf8(decision).map_err(|error| error.to_string())?;
    // The first of them is the advice; those after it are of estimates.
    let start = text.find(FIELD).ok_or("it has no action")? + FIELD.len();
    let action = text[start..].split('"').next().unwrap_or_default();
    Ok(Some(action)
        .filter(|action| *action != "stop")
        .map(str::to_owned))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_name_the_event_that_they_become() {
        let mut chance = Chance::new(1);
        let mut episode = Episode::new(0, 3, 4);
        assert_eq!(episode.open().message.body, r#"{"id":"c3-4"}"#);
        let tell = episode.tell(&mut chance);
        assert!(tell.message.body.contains("reason"), "stop was recommended");
        assert_eq!(tell.key.unwrap().kind, Kind::StepRecorded);
        assert!(episode.is(&tell.key.unwrap()));
        episode.step = 2;
        episode.end(&mut chance);
        while let Some(part) = episode.outcome() {
            assert!(part.message.body.contains("\"costs\":["));
            episode.given();
        }
        assert!(episode.amend().message.body.contains("[null,"));
        assert!(episode.import(&mut chance).message.body.ends_with("}\n"));
    }

    #[test]
    fn the_first_action_is_the_recommended_one() {
        let text = br#"{"study":"hot","action":"scan","estimate":{"action":"blood"}}"#;
        assert_eq!(recommended(text), Ok(Some("scan".into())));
        assert_eq!(recommended(br#"{"action":"stop"}"#), Ok(None));
        assert!(recommended(b"{}").is_err());
    }
}
