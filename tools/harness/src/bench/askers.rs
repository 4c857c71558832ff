//! Those who only ask, for the decisions of episodes that are open.

use std::time::Duration;

use crate::chance::Chance;
use crate::load::{Next, Talker};
use crate::wire::{Answer, Message};

/// Episodes that each of them opens.
const EPISODES: usize = 16;

/// Somebody who asks.
#[derive(Debug)]
pub struct Asker {
    study: &'static str,
    name: String,
    chance: Chance,
    opened: Vec<Message>,
    /// How long answers took, in microseconds, once all episodes are open.
    pub times: Vec<u32>,
    /// Answers that were not a decision.
    pub wrong: u64,
}

impl Asker {
    /// One of them, in a study.
    pub fn new(number: usize, study: &'static str) -> Asker {
        Asker {
            study,
            name: format!("ask{number}"),
            chance: Chance::of(3, number as u64),
            opened: Vec::new(),
            times: Vec::new(),
            wrong: 0,
        }
    }

    fn id(&self, number: usize) -> String {
        format!("{}-{number}", self.name)
    }
}

impl Talker for Asker {
    fn next(&mut self) -> Next {
        if self.opened.len() < EPISODES {
            let body = format!(r#"{{"id":"{}"}}"#, self.id(self.opened.len()));
            let target = format!("/v1/studies/{}/episodes", self.study);
            return Next::Send(Message::json("POST", target, body));
        }
        match self.chance.one_of(&self.opened) {
            Some(message) => Next::Send(message.clone()),
            None => Next::Done,
        }
    }

    fn answered(&mut self, answer: Answer, took: Duration) {
        let opening = self.opened.len() < EPISODES;
        self.wrong += u64::from(!(200..300).contains(&answer.status));
        if opening {
            let id = self.id(self.opened.len());
            let target = format!("/v1/studies/{}/episodes/{id}:ask", self.study);
            self.opened
                .push(Message::json("POST", target, String::new()));
        } else {
            self.times.push(took.as_micros() as u32);
        }
    }

    fn broken(&mut self) {
        self.wrong += 1;
    }
}
