//! The story of a study from its protocol to its closure, told by HTTP, with a kill after every chapter.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::Report;
use crate::Result;
use crate::attacks::{Api, Installation, Target};
use crate::checks::{Check, Findings};
use crate::environment::StoreKind;
use crate::environment::service_process::ServiceProcess;
use crate::http::{Request, Response};

/// Tell a whole study, with every call of the service and a kill after every chapter.
#[derive(Clone, Debug, clap::Args)]
pub struct Story {
    /// The store.
    #[arg(long, default_value = "sqlite")]
    pub store: StoreKind,
    /// The program `emab` of another build [default: this build].
    #[arg(long)]
    pub program: Option<PathBuf>,
}

/// The header in which the proxy of the clinic names the person.
const PERSON: &str = "x-forwarded-user";

fn study() -> Value {
    json!({"horizon": 3, "states": ["low", "high", "clear", "suspect"], "start": ["low", "high"],
        "actions": ["blood", "scan"], "feedbacks": ["negative", "positive"], "transition": "2 + f",
        "learning": {"sigma2": 0.25, "delta": 0.05, "reward_range": [0, 1]},
        "outcome_range": {"reward": [0, 1], "cost": [0, 1]}, "expected_delay": "1s",
        "thresholds": {"overrides": {"yellow": 0.5, "red": 0.9}},
        "protocol": {"first": 3, "sequence": ["blood"]},
        "learner": "feedbal:width=sound", "shadow": ["olp"], "missing_at_random": true})
}

/// The clinic: an installation of the service, its process, and the people who use it.
struct Clinic {
    installation: Installation,
    service: Option<ServiceProcess>,
    admin: String,
    nurse: String,
    blinded: String,
    kills: u32,
    findings: Findings,
}

impl Clinic {
    fn api(&self, token: &str) -> Result<Api> {
        let service = self.service.as_ref().ok_or("the service does not run")?;
        Ok(Api::new(service.address, token))
    }

    /// Kills the service, if it runs.
    fn kill(&mut self) -> Result<()> {
        if let Some(mut service) = self.service.take() {
            service.kill()?;
            self.kills += 1;
        }
        Ok(())
    }

    /// Kills the service and starts it again.
    fn crash(&mut self) -> Result<()> {
        self.kill()?;
        self.service = Some(self.installation.start()?);
        Ok(())
    }

    fn send(
        &mut self,
        token: &str,
        method: &'static str,
        path: &str,
        body: Value,
    ) -> Result<Response> {
        let body = if body.is_null() {
            String::new()
        } else {
            body.to_string()
        };
        let target = format!("/v1/studies/clinic{path}");
        self.api(token)?
            .exchange(Request::json(method, target, body))
    }

    /// Sends a request that must be answered with this status, and returns the answer as JSON.
    fn expect(
        &mut self,
        (token, method, path): (&str, &'static str, &str),
        body: Value,
        status: u16,
    ) -> Result<Value> {
        let answer = self.send(token, method, path, body)?;
        let is = answer.status == status;
        self.findings.check(Check::Response, is, || {
            format!("{method} {path}: {} {}", answer.status, answer.text())
        });
        Ok(serde_json::from_slice(&answer.body).unwrap_or_default())
    }

    /// A request of the nurse, which must succeed.
    fn nurse(&mut self, method: &'static str, path: &str, body: Value) -> Result<Value> {
        let nurse = self.nurse.clone();
        self.expect((&nurse, method, path), body, 200)
    }

    fn open(&mut self, id: &str, start: &str) -> Result<Value> {
        let nurse = self.nurse.clone();
        let body = json!({"id": id, "start": start});
        self.expect((&nurse, "POST", "/episodes"), body, 201)
    }

    fn read(&mut self, path: &str) -> Result<Value> {
        let admin = self.admin.clone();
        self.expect((&admin, "GET", path), Value::Null, 200)
    }

    /// A value of an answer must be this.
    fn is(&mut self, answer: &Value, pointer: &str, expected: Value) {
        let found = answer.pointer(pointer).cloned().unwrap_or_default();
        self.findings.check(Check::Response, found == expected, || {
            format!("{pointer} is {found}, not {expected}: {answer}")
        });
    }

    /// One episode as recommended, with its outcome.
    fn treat(&mut self, id: &str, start: &str, feedback: &str, reward: f64) -> Result<()> {
        let mut decision = self.open(id, start)?;
        let mut rewards = vec![json!(0.25)];
        while decision["action"] != "stop" {
            let tell = json!({"step": decision["step"], "action": decision["action"], "feedback": feedback});
            decision = self.nurse("POST", &format!("/episodes/{id}:tell"), tell)?;
            rewards.push(json!(reward));
        }
        let stop = json!({"step": decision["step"]});
        self.nurse("POST", &format!("/episodes/{id}:stop"), stop)?;
        let costs = vec![0.125; rewards.len() - 1];
        let outcome = json!({"costs": costs, "rewards": rewards});
        self.nurse("PUT", &format!("/episodes/{id}/outcome"), outcome)?;
        Ok(())
    }
}

impl Story {
    /// Tells the story.
    pub fn run(&self) -> Result<Report> {
        let started = Instant::now();
        let target = Target {
            program: self.program.clone(),
            seed: 1,
        };
        let mut installation = Installation::new(&target, self.store)?;
        installation.arguments = ["--person-header", PERSON, "--trusted-proxy", "127.0.0.1"]
            .map(String::from)
            .into();
        let admin = installation.token("admin", "admin")?;
        let nurse = installation.token("ward", "operator")?;
        let blinded = installation.token("night", "blinded")?;
        let mut clinic = Clinic {
            service: Some(installation.start()?),
            installation,
            admin,
            nurse,
            blinded,
            kills: 0,
            findings: Findings::default(),
        };
        let chapters: [fn(&mut Clinic) -> Result<()>; 9] = [
            protocol,
            intake,
            corrections,
            fallback,
            pause,
            outcomes,
            monitoring,
            people,
            tables,
        ];
        for chapter in chapters {
            chapter(&mut clinic)?;
            clinic.crash()?;
        }
        closure(&mut clinic, &target)?;
        let kills = clinic.kills;
        Ok(Report {
            summary: format!(
                "a study from protocol to closure on {:?}, with {kills} kills, in {:.1} s",
                self.store,
                started.elapsed().as_secs_f64()
            ),
            disruptions: kills,
            findings: clinic.findings,
            ..Report::default()
        })
    }
}

/// The first cases follow a protocol: no override is needed.
fn protocol(clinic: &mut Clinic) -> Result<()> {
    let admin = clinic.admin.clone();
    clinic.expect((&admin, "PUT", ""), study(), 201)?;
    clinic.crash()?;
    clinic.expect((&admin, "PUT", ""), study(), 200)?;
    let decision = clinic.open("p1", "low")?;
    clinic.is(&decision, "/action", json!("blood"));
    clinic.is(&decision, "/decided_by", json!("protocol"));
    let tell = json!({"step": 1, "action": "blood", "feedback": "positive"});
    let decision = clinic.nurse("POST", "/episodes/p1:tell", tell.clone())?;
    clinic.crash()?;
    // The same request again gets the same answer.
    let again = clinic.nurse("POST", "/episodes/p1:tell", tell)?;
    clinic.is(&again, "", decision);
    clinic.nurse("POST", "/episodes/p1:stop", json!({"step": 2}))?;
    let outcome = json!({"costs": [0.125], "rewards": [0.25, 0.75]});
    clinic.nurse("PUT", "/episodes/p1/outcome", outcome)?;
    Ok(())
}

/// Patients differ at intake.
fn intake(clinic: &mut Clinic) -> Result<()> {
    let nurse = clinic.nurse.clone();
    let at = (&*nurse, "POST", "/episodes");
    clinic.expect(at, json!({"id": "p2"}), 422)?;
    clinic.expect(at, json!({"id": "p2", "start": "clear"}), 422)?;
    let decision = clinic.open("p2", "high")?;
    clinic.is(&decision, "/state", json!("high"));
    clinic.crash()?;
    clinic.expect(at, json!({"id": "p2", "start": "low"}), 409)?;
    let read = clinic.read("/episodes/p2")?;
    clinic.is(&read, "/start", json!("high"));
    Ok(())
}

/// A step was reported wrongly, and a case was entered in error.
fn corrections(clinic: &mut Clinic) -> Result<()> {
    let tell = json!({"step": 1, "action": "blood", "feedback": "negative"});
    let wrong = clinic.nurse("POST", "/episodes/p2:tell", tell)?;
    clinic.is(&wrong, "/state", json!("clear"));
    clinic.crash()?;
    let amend =
        json!({"feedback": "positive", "reason": "read the wrong line", "request": "fix-1"});
    for _ in 0..2 {
        clinic.nurse("POST", "/episodes/p2/steps/1:amend", amend.clone())?;
        clinic.crash()?;
    }
    let decision = clinic.nurse("POST", "/episodes/p2:ask", Value::Null)?;
    clinic.is(&decision, "/state", json!("suspect"));
    let replay = clinic.read("/episodes/p2/decisions/2:replay")?;
    clinic.is(&replay, "/equal", json!(true));
    clinic.nurse("POST", "/episodes/p2:stop", json!({"step": 2}))?;
    clinic.open("p3", "low")?;
    let void = json!({"reason": "entered twice"});
    let voided = clinic.nurse("POST", "/episodes/p3:void", void)?;
    clinic.is(&voided, "/status", json!("voided"));
    Ok(())
}

/// The service is down while a patient is there: the table of the policy decides.
fn fallback(clinic: &mut Clinic) -> Result<()> {
    let policy = clinic.read("/policy")?;
    clinic.kill()?;
    let rows = policy["choices"]
        .as_array()
        .ok_or("the policy has no choices")?;
    let first = rows
        .iter()
        .find(|row| row["step"] == 1 && row["state"] == "low");
    let action = first.ok_or("the policy has no row for `low`")?["action"].clone();
    // Meanwhile on paper. Later:
    clinic.service = Some(clinic.installation.start()?);
    clinic.open("p4", "low")?;
    let table = json!({"as_of": policy["as_of"], "hash": policy["hash"]});
    let step = match action == "stop" {
        true => 1,
        false => {
            let tell = json!({"step": 1, "action": action, "feedback": "negative", "decided_by": "fallback", "policy": table});
            clinic.nurse("POST", "/episodes/p4:tell", tell)?;
            2
        }
    };
    let stop = match step {
        1 => json!({"step": 1, "decided_by": "fallback", "policy": table}),
        _ => json!({"step": step, "reason": "the practice closed"}),
    };
    clinic.nurse("POST", "/episodes/p4:stop", stop)?;
    let read = clinic.read("/episodes/p4")?;
    clinic.is(&read, "/steps/0/decided_by", json!("fallback"));
    Ok(())
}

/// The device is repaired: no new cases for a day.
fn pause(clinic: &mut Clinic) -> Result<()> {
    let (admin, nurse) = (clinic.admin.clone(), clinic.nurse.clone());
    let why = |reason: &str| json!({"reason": reason});
    clinic.expect(
        (&admin, "POST", ":pause"),
        why("the device is repaired"),
        200,
    )?;
    clinic.crash()?;
    let body = json!({"id": "p5", "start": "low"});
    clinic.expect((&nurse, "POST", "/episodes"), body, 409)?;
    let outcome = json!({"costs": [0.125], "rewards": [0.25, 0.5]});
    clinic.nurse("PUT", "/episodes/p2/outcome", outcome)?;
    clinic.expect((&admin, "POST", ":resume"), why("it works again"), 200)?;
    Ok(())
}

/// Outcomes come in parts, late, out of range, wrong and never; the learner takes over.
fn outcomes(clinic: &mut Clinic) -> Result<()> {
    let nurse = clinic.nurse.clone();
    let part = json!({"rewards": [0.25, null]});
    clinic.nurse("PUT", "/episodes/p4/outcome", part)?;
    clinic.crash()?;
    let far = json!({"costs": [7], "rewards": [null, 0.5]});
    let at = (&*nurse, "PUT", "/episodes/p4/outcome");
    clinic.expect(at, far, 422)?;
    let confirmed =
        json!({"costs": [7], "rewards": [null, 0.5], "outlier": true, "reason": "a second scan"});
    clinic.expect(at, confirmed, 200)?;
    let amend = json!({"rewards": [null, 0.75], "reason": "the second reader disagrees"});
    clinic.nurse("POST", "/episodes/p4/outcome:amend", amend)?;
    for number in 0..40_u32 {
        let (start, feedback) = match number % 3 {
            0 => ("low", "negative"),
            1 => ("high", "positive"),
            _ => ("high", "negative"),
        };
        let reward = f64::from(number % 4) / 4.0;
        clinic.treat(&format!("q{number}"), start, feedback, reward)?;
        if number % 16 == 15 {
            clinic.crash()?;
        }
    }
    let decision = clinic.open("p6", "high")?;
    clinic.is(&decision, "/decided_by", json!("learner"));
    // Limits of `stop` are within what the range of rewards allows; an outlier has shown that costs may be larger than stated.
    for place in ["estimate", "runner_up"] {
        if decision[place]["action"] != "stop" {
            continue;
        }
        let limits = ["lower", "upper"].map(|side| decision[place][side].as_f64());
        let within = |limit: &Option<f64>| limit.is_none_or(|it| (0.0..=1.0).contains(&it));
        let all = limits.iter().all(within);
        clinic.findings.check(Check::Response, all, || {
            format!("{place}: the limits are {limits:?}")
        });
    }
    let why = json!({"reason": "moved away"});
    clinic.nurse("POST", "/episodes/p6:abandon", why)?;
    Ok(())
}

/// An outcome is overdue, and the check says so.
fn monitoring(clinic: &mut Clinic) -> Result<()> {
    let before = clinic.read("/health")?;
    clinic.is(&before, "/checks/0/status", json!("green"));
    for number in 0..30 {
        let id = format!("r{number}");
        let decision = clinic.open(&id, "low")?;
        let stop = json!({"step": 1, "reason": "went home"});
        let stop = match decision["action"] == "stop" {
            true => json!({"step": 1}),
            false => stop,
        };
        clinic.nurse("POST", &format!("/episodes/{id}:stop"), stop)?;
    }
    clinic.crash()?;
    std::thread::sleep(Duration::from_millis(2_100));
    let after = clinic.read("/health")?;
    clinic.is(&after, "/checks/0/name", json!("overdue"));
    clinic.is(&after, "/checks/0/status", json!("red"));
    clinic.is(&after, "/status", json!("red"));
    clinic.is(&after, "/checks/4/name", json!("drift"));
    clinic.is(&after, "/checks/4/status", json!("green"));
    let blinded = clinic.blinded.clone();
    clinic.expect((&blinded, "GET", "/health"), Value::Null, 403)?;
    let admin = clinic.admin.clone();
    let metrics = clinic.api(&admin)?.get("/metrics")?.text().into_owned();
    let line = "emab_study_check{study=\"clinic\",check=\"overdue\"} 2";
    let has = metrics.lines().any(|it| it == line);
    clinic.findings.check(Check::Response, has, || {
        format!("{line} is not in the metrics")
    });
    Ok(())
}

/// The proxy names the person; the ward gets a new secret.
fn people(clinic: &mut Clinic) -> Result<()> {
    let target = "/v1/studies/clinic/episodes/r0/outcome".to_owned();
    let mut request = Request::json("PUT", target, json!({"rewards": [0.5]}).to_string());
    request
        .headers
        .push((PERSON, "anna.meyer@clinic.example".into()));
    let nurse = clinic.nurse.clone();
    let answer = clinic.api(&nurse)?.exchange(request)?;
    clinic.is(
        &answer.json()?,
        "/outcome_by/by",
        json!("anna.meyer@clinic.example"),
    );
    clinic.is(&answer.json()?, "/opened_by/by", json!("ward"));
    let (store, tokens) = (
        clinic.installation.store.clone(),
        clinic.installation.tokens(),
    );
    let tokens = tokens.display().to_string();
    let place = match store.starts_with("sqlite:") {
        true => ["--tokens", &tokens],
        false => ["--store", &store],
    };
    let arguments = ["token", "rotate", "ward", "--grace", "0s"];
    let output = clinic
        .installation
        .program
        .run(arguments.iter().chain(&place))?;
    if !output.status.success() {
        Err(String::from_utf8_lossy(&output.stderr))?;
    }
    clinic.nurse = String::from_utf8(output.stdout)?.trim().to_owned();
    // A file is read again within about a second.
    std::thread::sleep(Duration::from_millis(1_200));
    let path = "/episodes/p1";
    clinic.expect((&nurse, "GET", path), Value::Null, 401)?;
    let nurse = clinic.nurse.clone();
    clinic.expect((&nurse, "GET", path), Value::Null, 200)?;
    Ok(())
}

/// The statistician takes the tables.
fn tables(clinic: &mut Clinic) -> Result<()> {
    let (admin, blinded) = (clinic.admin.clone(), clinic.blinded.clone());
    for (table, first) in [
        ("episodes", "episode,"),
        ("decisions", "episode,"),
        ("estimates", "step,"),
    ] {
        let path = format!("/{table}?format=csv");
        let csv = clinic.send(&admin, "GET", &path, Value::Null)?;
        let is_table =
            csv.status == 200 && csv.text().starts_with(first) && csv.text().lines().count() > 5;
        clinic.findings.check(Check::Response, is_table, || {
            format!("{path}: {} {}", csv.status, csv.text())
        });
        let path = format!("/{table}?format=parquet");
        let parquet = clinic.send(&admin, "GET", &path, Value::Null)?;
        let is_parquet = parquet.body.starts_with(b"PAR1") && parquet.body.ends_with(b"PAR1");
        clinic.findings.check(Check::Response, is_parquet, || {
            format!("{path}: {}", parquet.status)
        });
        // The command writes the same bytes from the store.
        let file = clinic
            .installation
            .path(&format!("{table}.csv"))
            .display()
            .to_string();
        let (store, out) = (clinic.installation.store.clone(), ["--out", &file]);
        let arguments = ["export", &store, "--study", "clinic", "--table", table];
        let output = clinic
            .installation
            .program
            .run(arguments.iter().chain(&out))?;
        let written = std::fs::read(&file).unwrap_or_default();
        clinic
            .findings
            .check(Check::SameBytes, written == csv.body, || {
                format!(
                    "emab export --table {table}: {}",
                    String::from_utf8_lossy(&output.stderr)
                )
            });
    }
    clinic.expect((&blinded, "GET", "/estimates?format=csv"), Value::Null, 403)?;
    Ok(())
}

/// The study is closed, reopened, closed, audited, and moved to another installation.
fn closure(clinic: &mut Clinic, target: &Target) -> Result<()> {
    let (admin, nurse) = (clinic.admin.clone(), clinic.nurse.clone());
    let why = |reason: &str| json!({"reason": reason});
    clinic.expect(
        (&admin, "POST", ":close"),
        why("the last patient was seen"),
        200,
    )?;
    clinic.crash()?;
    let body = json!({"id": "late", "start": "low"});
    clinic.expect((&nurse, "POST", "/episodes"), body.clone(), 409)?;
    clinic.expect((&admin, "POST", ":reopen"), why("one more"), 200)?;
    clinic.expect((&nurse, "POST", "/episodes"), body, 201)?;
    clinic.nurse("POST", "/episodes/late:abandon", why("it was none"))?;
    clinic.expect((&admin, "POST", ":close"), why("now it is over"), 200)?;
    let export = clinic
        .send(&admin, "GET", ":export", Value::Null)?
        .text()
        .into_owned();
    clinic.kill()?;
    let ours = clinic.installation.audit(&clinic.installation.store, &[])?;

    let other = Installation::new(target, StoreKind::Sqlite)?;
    let token = other.token("admin", "admin")?;
    let service = other.start()?;
    let answer = Api::new(service.address, &token).import("clinic", &export)?;
    clinic
        .findings
        .check(Check::Response, answer.status == 200, || {
            format!("import: {} {}", answer.status, answer.text())
        });
    service.stop()?;
    let theirs = other.audit(&other.store, &[])?;
    for (whose, audit) in [("ours", &ours), ("theirs", &theirs)] {
        clinic.findings.check(Check::Replay, audit.is_clean, || {
            format!("{whose}:\n{}", audit.text)
        });
    }
    let state = |audit: &str| {
        let line = audit
            .lines()
            .find(|line| line.trim_start().starts_with("state hash"));
        line.map(str::to_owned)
    };
    let (one, two) = (state(&ours.text), state(&theirs.text));
    clinic
        .findings
        .check(Check::Replay, one.is_some() && one == two, || {
            format!("the state is {one:?} here and {two:?} there")
        });
    Ok(())
}
