//! Two worlds that a blinded token must not be able to tell apart.
//!
//! Two services get the same requests in the same order. Only outcome values differ, in a way that leaves every recommendation equal.
//! Then a blinded token calls every endpoint of both, and guesses values. Statuses, headers and bytes must be equal.

use serde_json::{Value, json};

use super::{Api, Installation, Target, fixture};
use crate::Result;
use crate::checks::{Check, Findings};
use crate::environment::StoreKind;
use crate::environment::service_process::ServiceProcess;
use crate::http::{Request, Response};
use crate::scenarios::Report;

/// Compare what a blinded token sees in two worlds with different outcomes.
#[derive(Clone, Debug, clap::Args)]
pub struct Worlds {
    /// The store.
    #[arg(long, default_value = "sqlite")]
    pub store: StoreKind,
    /// What is attacked.
    #[command(flatten)]
    pub target: Target,
}

/// Episodes of each study.
const EPISODES: usize = 14;

struct World {
    number: usize,
    _installation: Installation,
    service: Option<ServiceProcess>,
    admin: Api,
    operator: Api,
    blinded: Api,
}

/// Adds to costs and rewards so that every gain (the next reward minus the cost and the reward before) stays the same.
fn shifted(world: usize, episode: usize, position: usize) -> f64 {
    let (cost, reward) = [(0.0, 0.0), (0.25, 0.5)][world];
    let value = fixture::plain_value(episode, position);
    let is_cost = if episode == 0 {
        position == 0
    } else {
        position < 10
    };
    let step = match position {
        _ if episode == 0 => position.saturating_sub(1),
        20 => episode % 4,
        _ => position.saturating_sub(10),
    };
    match is_cost {
        true => value + cost,
        false => value + reward + cost * step as f64,
    }
}

/// The reward of each episode of the study whose outcomes come after its last decision.
fn late(world: usize, episode: usize) -> f64 {
    [[0.0, 1.0, 0.5, 0.25], [1.0, 0.0, 0.5, 0.75]][world][episode % 4]
}

impl World {
    fn new(number: usize, worlds: &Worlds) -> Result<World> {
        let installation = Installation::new(&worlds.target, worlds.store)?;
        let tokens = ["admin", "operator", "blinded"].map(|role| installation.token(role, role));
        let [admin, operator, blinded] = tokens;
        let service = installation.start()?;
        let api = |token: String| Api::new(service.address, &token);
        let mut world = World {
            number,
            admin: api(admin?),
            operator: api(operator?),
            blinded: api(blinded?),
            service: Some(service),
            _installation: installation,
        };
        let value = move |episode, position| shifted(number, episode, position);
        fixture::populate(&mut world.admin, "shifted", EPISODES, &value)?;
        world.late_outcomes()?;
        Ok(world)
    }

    /// Outcomes that no decision follows may differ in any way. A correction that changes the value in one world repeats it in the
    /// other.
    fn late_outcomes(&mut self) -> Result<()> {
        let path = "/v1/studies/late";
        self.admin.succeed("PUT", path, fixture::study(&["olp"]))?;
        let ids: Vec<String> = (0..8).map(|number| format!("l{number}")).collect();
        for id in &ids {
            let body = json!({"id": id});
            self.operator
                .succeed("POST", &format!("{path}/episodes"), body)?;
        }
        for (number, id) in ids.iter().enumerate() {
            let at = |rest: &str| format!("{path}/episodes/{id}{rest}");
            let body = json!({"step": 1, "reason": "went home"});
            self.operator.succeed("POST", &at(":stop"), body)?;
            // The last two have no outcome.
            if number < 6 {
                let body =
                    json!({"rewards": [late(self.number, number)], "final": number % 2 == 0});
                self.operator.succeed("PUT", &at("/outcome"), body)?;
            }
        }
        for id in ["l0", "l1"] {
            let body = json!({"rewards": [1.0], "reason": "checked"});
            let at = format!("{path}/episodes/{id}/outcome:amend");
            self.operator.succeed("POST", &at, body)?;
        }
        Ok(())
    }

    /// Corrects a value that the blinded token gave: in the first world to the same value, in the second one to another.
    fn correct_blinded(&mut self) -> Result<()> {
        let value = if self.number == 0 { 0.5 } else { 0.75 };
        let body = json!({"rewards": [value], "reason": "checked"});
        let at = "/v1/studies/late/episodes/l6/outcome:amend";
        self.operator.succeed("POST", at, body).map(|_| ())
    }

    /// The recommended actions of a study, as an administrator sees them.
    fn recommendations(&mut self, study: &str) -> Result<Vec<String>> {
        let log =
            self.admin
                .succeed("GET", &format!("/v1/studies/{study}/events?limit=1000"), "")?;
        let text = log.text();
        let events = text
            .lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let actions = events.map(|event| event["data"]["decision"]["action"].to_string());
        Ok(actions.collect())
    }
}

impl Worlds {
    /// Runs the attack.
    pub fn run(&self) -> Result<Report> {
        let mut worlds = [World::new(0, self)?, World::new(1, self)?];
        for study in ["shifted", "late"] {
            let [a, b] = &mut worlds;
            if a.recommendations(study)? != b.recommendations(study)? {
                Err(format!(
                    "study {study}: the recommendations of the worlds differ"
                ))?;
            }
        }
        let mut findings = Findings::default();
        let mut requests = requests(&mut worlds[0])?;
        let own = |body: Value| {
            let target = "/v1/studies/late/episodes/l6/outcome";
            Request::json("PUT", target.into(), body.to_string())
        };
        requests.insert(0, own(json!({"rewards": [0.5]})));
        let count = requests.len();
        for (number, request) in requests.into_iter().enumerate() {
            if number == 1 {
                for world in &mut worlds {
                    world.correct_blinded()?;
                }
            }
            let [a, b] = &mut worlds;
            let pair = [a, b].map(|world| world.blinded.exchange(request.clone()));
            let [a, b] = pair;
            let [a, b] = [view(a?), view(b?)];
            findings.check(Check::Blinding, a == b, || {
                format!("{request}\n      world A: {a}\n      world B: {b}")
            });
        }
        for world in &mut worlds {
            if let Some(service) = world.service.take() {
                findings.check_result(Check::Service, service.stop());
            }
        }
        Ok(Report {
            summary: format!(
                "{count} requests of a blinded token in two worlds on {:?}",
                self.store
            ),
            disruptions: count as u32,
            findings,
            ..Report::default()
        })
    }
}

/// Status, headers without the date, and the body without times, which depend on when the requests were sent.
fn view(response: Response) -> String {
    let mut headers: Vec<String> = (response.headers.iter())
        .filter(|(name, _)| *name != "date")
        .map(|(name, value)| format!("{name}: {}", String::from_utf8_lossy(value.as_bytes())))
        .collect();
    headers.sort();
    format!(
        "{} {} {}",
        response.status,
        headers.join(", "),
        without_times(&response.text())
    )
}

/// The text with every quoted time of an event replaced.
fn without_times(text: &str) -> String {
    let is_time =
        |part: &str| part.len() == 27 && part[10..].starts_with('T') && part.ends_with('Z');
    let parts = text.split('"');
    let parts = parts.map(|part| {
        if part.is_ascii() && is_time(part) {
            "TIME"
        } else {
            part
        }
    });
    parts.collect::<Vec<_>>().join("\"")
}

/// Every call that the service documents, and guesses of every value.
fn requests(world: &mut World) -> Result<Vec<Request>> {
    let document = world.blinded.succeed("GET", "/openapi.json", "")?.json()?;
    let mut list = Vec::new();
    for (path, methods) in document["paths"].as_object().into_iter().flatten() {
        for method in ["GET", "PUT", "POST"] {
            let operation = &methods[method.to_ascii_lowercase()];
            if operation.is_null() {
                continue;
            }
            for path in filled(path) {
                let bodies = bodies(method, &path);
                for (query, body) in queries(operation)
                    .iter()
                    .flat_map(|query| bodies.iter().map(move |body| (query, body)))
                {
                    let target = format!("{path}{query}");
                    list.push(Request::json(method, target, body.clone()));
                }
            }
        }
    }
    // Guesses come first: other requests could end what they ask about.
    let mut all = guesses();
    all.append(&mut list);
    all.extend(guesses());
    Ok(all)
}

/// A path with names of studies, episodes and steps.
fn filled(path: &str) -> Vec<String> {
    let mut list = vec![path.to_owned()];
    let names: [(&str, &[&str]); 3] = [
        ("{study}", &["shifted", "late", "unknown"]),
        (
            "{episode}",
            &[
                "e1", "e2", "e3", "e5", "e6", "past", "l0", "l2", "l7", "unknown",
            ],
        ),
        ("{step}", &["1", "2", "9"]),
    ];
    for (place, values) in names {
        if path.contains(place) {
            let fill = |path: String| values.iter().map(move |value| path.replace(place, value));
            list = list.into_iter().flat_map(fill).collect();
        }
    }
    list
}

fn queries(operation: &Value) -> Vec<String> {
    let mut list = vec![String::new()];
    for parameter in operation["parameters"].as_array().into_iter().flatten() {
        match parameter["name"].as_str() {
            Some("limit") => list.extend(["?limit=1".into(), "?limit=0".into()]),
            Some("open") => list.push("?open=true".into()),
            Some("after") => list.push("?after=e2".into()),
            Some("as_of") => list.push("?as_of=3".into()),
            Some("dry_run") => list.push("?dry_run=true".into()),
            _ => {}
        }
    }
    list
}

/// Bodies of a call: right and wrong ones. Episodes are opened by name, so that both worlds have the same names.
fn bodies(method: &str, path: &str) -> Vec<String> {
    let values: Vec<Value> = match path.rsplit(['/', ':']).next() {
        _ if method == "GET" => return vec![String::new()],
        Some("tell") => vec![
            json!({"step": 1, "action": "blood", "feedback": "negative", "reason": "seen"}),
            json!({"step": 2, "action": "scan", "feedback": "positive"}),
            json!({"step": 9, "action": "scan", "feedback": "positive"}),
        ],
        Some("stop") => vec![
            json!({"step": 1, "reason": "went home"}),
            json!({"step": 3}),
        ],
        Some("abandon") => vec![json!({"reason": "did not come back"})],
        Some("episodes") if path.contains("shifted") => {
            vec![
                json!({"id": "b1"}),
                json!({"id": "e1"}),
                json!({"id": "past"}),
            ]
        }
        // A decision in this study would depend on the outcomes.
        Some("episodes") => vec![json!({"id": "l0"}), json!({"id": ""})],
        Some("outcome" | "amend") => vec![json!({}), json!({"rewards": [], "final": true})],
        _ => vec![json!({}), fixture::study(&["olp"]), fixture::study(&[])],
    };
    let mut list: Vec<String> = values.iter().map(Value::to_string).collect();
    // Without a body an episode gets a generated name, which differs.
    if !path.ends_with("/episodes") {
        list.push(String::new());
    }
    list
}

/// Outcomes as they are in world A and in world B, in whole and in part, with and without the id of a request.
fn guesses() -> Vec<Request> {
    let mut list = Vec::new();
    let mut add = |study: &str, episode: &str, body: Value| {
        let target = format!("/v1/studies/{study}/episodes/{episode}/outcome");
        list.push(Request::json("PUT", target.clone(), body.to_string()));
        let mut with_id = body.clone();
        with_id["request"] = "guess".into();
        list.push(Request::json("PUT", target.clone(), with_id.to_string()));
        let mut amend = body;
        amend["reason"] = "guess".into();
        if let Some(fields) = amend.as_object_mut() {
            fields.remove("final");
        }
        list.push(Request::json(
            "POST",
            format!("{target}:amend"),
            amend.to_string(),
        ));
    };
    for world in 0..2 {
        add("late", "l6", json!({"rewards": [0.5]}));
        add("late", "l6", json!({"rewards": [0.5], "final": true}));
        add("late", "l6", json!({"rewards": [0.75]}));
        for number in 0..8 {
            for last in [false, true] {
                let reward = late(world, number);
                let body = json!({"rewards": [reward], "final": last});
                add("late", &format!("l{number}"), body);
            }
        }
        for number in 1..=EPISODES {
            let steps = number % 4;
            let costs: Vec<f64> = (0..steps).map(|i| shifted(world, number, i)).collect();
            let mut rewards: Vec<f64> = (0..=steps)
                .map(|i| shifted(world, number, 10 + i))
                .collect();
            let mut first = vec![Value::Null; rewards.len()];
            first[0] = rewards[0].into();
            let id = format!("e{number}");
            add(
                "shifted",
                &id,
                json!({"rewards": first, "final": number % 7 == 4}),
            );
            add("shifted", &id, json!({"costs": costs, "rewards": rewards}));
            rewards[steps] = shifted(world, number, 20);
            add(
                "shifted",
                &id,
                json!({"costs": costs, "rewards": rewards, "final": true}),
            );
        }
    }
    list
}
