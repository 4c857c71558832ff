//! A large store: how long a start on it takes until somebody is answered, and what a correction costs there.

use std::fmt::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::chance::Chance;
use crate::load::studies::STUDIES;
use crate::scene::{Kind, Scene};
use crate::wire::{Answer, Caller, Message};

/// Lines of one import.
const LINES: u64 = 20_000;

/// How large.
#[derive(Clone, Debug)]
pub struct Large {
    /// The program that serves.
    pub program: PathBuf,
    /// Where it keeps its data.
    pub store: Kind,
    /// How many events.
    pub events: u64,
}

/// What was measured.
#[derive(Clone, Debug)]
pub struct Report {
    /// How many events there are in one study, most of them imported episodes, all of them learned from.
    pub events: u64,
    /// How long it took to put them in.
    pub filling: Duration,
    /// From the start of the service until it listened.
    pub ready: Duration,
    /// From its start until an episode was opened and a step of it told.
    pub first: Duration,
    /// Another one, once it is warm.
    pub second: Duration,
    /// A correction of one outcome, and the decision after it.
    pub amended: Duration,
    /// Its memory before and after, in MiB.
    pub memory: (Option<u64>, Option<u64>),
}

impl std::fmt::Display for Report {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mib = |value: Option<u64>| value.map_or("?".into(), |value| value.to_string());
        writeln!(
            f,
            "{} events in one study, put in within {:.1} s\nlistens after {} ms, has answered an open and a tell after {} \
             ms, the next pair takes {} ms\na correction and the decision after it take {} ms\nmemory {} MiB after the \
             start, {} MiB at the end",
            self.events,
            self.filling.as_secs_f64(),
            self.ready.as_millis(),
            self.first.as_millis(),
            self.second.as_millis(),
            self.amended.as_millis(),
            mib(self.memory.0),
            mib(self.memory.1)
        )
    }
}

/// Fills a store and starts on it.
pub fn large(large: &Large) -> Result<Report, String> {
    let scene = Scene::new(large.program.clone(), large.store, None)?;
    let service = scene.recipe.start()?;
    scene.create_studies(&service)?;
    let begun = Instant::now();
    let mut caller = Caller::new(service.address, &scene.token)?;
    let mut chance = Chance::new(1);
    let mut put = 0;
    while put < large.events {
        let count = LINES.min(large.events - put);
        let body = (put..put + count).fold(String::new(), |mut body, number| {
            line(&mut body, number, &mut chance);
            body
        });
        let target = format!("/v1/studies/{}:import", STUDIES[0].name);
        let message = Message {
            kind: "application/x-ndjson",
            ..Message::json("POST", target, body)
        };
        good(caller.call(&message)?)?;
        put += count;
    }
    let filling = begun.elapsed();
    drop(caller);
    service.stop()?;

    let begun = Instant::now();
    let service = scene.recipe.start()?;
    let mut caller = Caller::new(service.address, &scene.token)?;
    open_and_tell(&mut caller, "first")?;
    let first = begun.elapsed();
    let memory = service.memory();
    let since = Instant::now();
    open_and_tell(&mut caller, "second")?;
    let second = since.elapsed();
    let since = Instant::now();
    let target = format!(
        "/v1/studies/{}/episodes/past-0/outcome:amend",
        STUDIES[0].name
    );
    let body = r#"{"rewards":[0.123,null],"reason":"mistyped"}"#;
    good(caller.call(&Message::json("POST", target, body.into()))?)?;
    open_and_tell(&mut caller, "third")?;
    let amended = since.elapsed();
    let report = Report {
        events: put + 6,
        filling,
        ready: service.ready,
        first,
        second,
        amended,
        memory: (
            memory.map(|kib| kib >> 10),
            service.memory().map(|kib| kib >> 10),
        ),
    };
    drop(caller);
    service.stop()?;
    Ok(report)
}

/// A past episode of one step.
fn line(body: &mut String, number: u64, chance: &mut Chance) {
    let study = &STUDIES[0];
    let action = chance.one_of(study.actions).copied().unwrap_or_default();
    let feedback = chance.one_of(study.feedbacks).copied().unwrap_or_default();
    let reward = chance.below(1000) as f64 / 1000.0;
    // Writing to a string cannot fail.
    let _ = writeln!(
        body,
        r#"{{"id":"past-{number}","actions":["{action}"],"feedbacks":["{feedback}"],"costs":[0.1],"rewards":[0.2,{reward}]}}"#
    );
}

fn good(answer: Answer) -> Result<Answer, String> {
    match answer.status {
        200..300 => Ok(answer),
        status => Err(format!("{status} {}", answer.text())),
    }
}

fn open_and_tell(caller: &mut Caller, id: &str) -> Result<(), String> {
    let episodes = format!("/v1/studies/{}/episodes", STUDIES[0].name);
    let open = format!(r#"{{"id":"{id}"}}"#);
    good(caller.call(&Message::json("POST", episodes.clone(), open))?)?;
    let tell = r#"{"step":1,"action":"scan","feedback":"positive","reason":"to be sure"}"#;
    let target = format!("{episodes}/{id}:tell");
    good(caller.call(&Message::json("POST", target, tell.into()))?)?;
    Ok(())
}
