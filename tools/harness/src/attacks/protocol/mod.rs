//! Random sequences of requests, compared with a model of the protocol.

mod model;

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};

use self::model::{Call, HORIZON, Model, OUTLIER, Role, Sent, Values};
use super::{Api, Installation, Target};
use crate::Result;
use crate::checks::{Check, Findings};
use crate::environment::StoreKind;
use crate::rng::Rng;
use crate::scenarios::Report;

const STUDY: &str = r#"{"horizon": 3, "states": 3, "actions": ["blood", "scan"], "feedbacks": ["negative", "positive"],
    "transition": "min(x + f, 2)", "learning": {"sigma2": 0.25, "delta": 0.05, "reward_range": [0, 1]}, "learner": "feedbal",
    "outcome_range": {"reward": [0, 1], "cost": [0, 1]}}"#;
/// Sequences in one study: a correction takes time in proportion to its episodes.
const PER_STUDY: u64 = 50;
/// Requests after those that end the first episode.
const REQUESTS: u64 = 24;
/// The position of the blinded token.
const BLINDED: usize = 3;
const REASONS: [&str; 2] = ["A", "B"];
const VALUES: [f64; 3] = [0.0, 0.5, 1.0];

/// Send random sequences of requests and compare every response with a model of the protocol.
#[derive(Clone, Debug, clap::Args)]
pub struct Protocol {
    /// Number of sequences.
    #[arg(long, default_value_t = 9_000)]
    pub sequences: u64,
    /// The store.
    #[arg(long, default_value = "sqlite")]
    pub store: StoreKind,
    /// Clients that send sequences at the same time.
    #[arg(long, default_value_t = 8)]
    pub clients: u64,
    /// Neither `request` ids nor a blinded token nor `outcome_range`: builds of 87d6868 and before have other rules for them.
    #[arg(long)]
    pub plain: bool,
    /// What is attacked.
    #[command(flatten)]
    pub target: Target,
}

impl Protocol {
    /// Runs the attack.
    pub fn run(&self) -> Result<Report> {
        let installation = Installation::new(&self.target, self.store)?;
        let mut tokens = vec![
            installation.token("anna", "admin")?,
            installation.token("otto", "operator")?,
            installation.token("olga", "operator")?,
        ];
        if !self.plain {
            tokens.push(installation.token("bea", "blinded")?);
        }
        let service = installation.start()?;
        let next = AtomicU64::new(0);
        let mut findings = Findings::default();
        let (mut requests, mut violated) = (0, 0);
        std::thread::scope(|scope| -> Result<()> {
            let run = || self.run_client(service.address, &tokens, &next);
            let threads: Vec<_> = (0..self.clients).map(|_| scope.spawn(run)).collect();
            for thread in threads {
                let client = thread.join().map_err(|_| "a client panicked")??;
                requests += client.requests;
                violated += client.violated;
                findings.append(&mut { client.findings });
            }
            Ok(())
        })?;
        findings.check_result(Check::Service, service.stop());
        let audit = installation.audit(&installation.store, &[])?;
        findings.check(Check::Replay, audit.is_clean, || audit.text);
        let summary = format!(
            "{} random sequences on {:?} with {requests} requests of {} tokens; {violated} sequences contradict the model",
            self.sequences,
            self.store,
            tokens.len()
        );
        Ok(Report {
            summary,
            disruptions: violated,
            findings,
            ..Report::default()
        })
    }

    fn run_client(
        &self,
        address: SocketAddr,
        tokens: &[String],
        next: &AtomicU64,
    ) -> Result<Client> {
        let mut client = Client {
            apis: tokens
                .iter()
                .map(|token| Api::new(address, token))
                .collect(),
            plain: self.plain,
            rng: Rng::new(0),
            findings: Findings::default(),
            requests: 0,
            violated: 0,
        };
        let (mut study, mut in_study) = (String::new(), PER_STUDY);
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= self.sequences {
                return Ok(client);
            }
            if in_study >= PER_STUDY {
                study = format!("/v1/studies/s{number}");
                in_study = 0;
                let mut body: serde_json::Value = serde_json::from_str(STUDY)?;
                if self.plain
                    && let Some(fields) = body.as_object_mut()
                {
                    fields.remove("outcome_range");
                }
                client.apis[0].succeed("PUT", &study, body)?;
            }
            in_study += 1;
            client.rng = Rng::stream(self.target.seed, number);
            client.sequence(&study, number)?;
        }
    }
}

struct Client {
    /// One connection for each token; the fourth one is blinded.
    apis: Vec<Api>,
    plain: bool,
    rng: Rng,
    findings: Findings,
    requests: u64,
    violated: u32,
}

impl Client {
    /// Sends a sequence on two new episodes, up to the first violation.
    fn sequence(&mut self, study: &str, number: u64) -> Result<()> {
        let episodes = [format!("p{number}"), format!("q{number}")];
        let (mut model, mut acknowledged, mut trace) = (Model::default(), Vec::new(), Vec::new());
        for position in 0..REQUESTS {
            let old = match self.rng.percent(35) {
                true => self.rng.choose(&acknowledged).cloned(),
                false => None,
            };
            let sent = match old {
                Some(old) => old,
                None => self.draw(&model, &episodes, position),
            };
            let (method, path, body) = sent.wire();
            let api = &mut self.apis[sent.token];
            let response = api.call(method, &format!("{study}{path}"), &body)?;
            self.requests += 1;
            let status = response.status;
            trace.push(format!(
                "token {}: {method} {path} {body} -> {status}",
                sent.token
            ));
            if status < 300 {
                acknowledged.push(sent.clone());
            }
            if !self.check(model.check(&sent, &response), &trace) {
                return Ok(());
            }
        }
        for id in &episodes {
            let response = self.apis[0].get(&format!("{study}/episodes/{id}"))?;
            if !self.check(model.check_read(id, &response), &trace) {
                break;
            }
        }
        Ok(())
    }

    fn check(&mut self, checked: std::result::Result<(), String>, trace: &[String]) -> bool {
        let holds = checked.is_ok();
        self.violated += u32::from(!holds);
        self.findings.check(Check::Model, holds, || {
            let what = checked.err().unwrap_or_default();
            format!("{what}\n      {}", trace.join("\n      "))
        });
        holds
    }

    /// A new request, most often one that is possible.
    fn draw(&mut self, model: &Model, episodes: &[String; 2], position: u64) -> Sent {
        // The second episode is used now and then.
        let episode = &episodes[usize::from(self.rng.percent(20))];
        let token = self.rng.below(self.apis.len() as u64) as usize;
        let rng = &mut self.rng;
        let now = model.step(episode);
        let wrong = rng.percent(6);
        let step = if wrong {
            1 + rng.below(HORIZON as u64) as usize
        } else {
            now
        };
        let reason = Some(rng.name(&REASONS)).filter(|_| !wrong);
        let call = match model.has_ended(episode) {
            None if rng.percent(95) => Call::Open,
            Some(false) if rng.percent(95) => {
                let recommended = model.recommended(episode);
                match rng.below(10) {
                    0..=2 if now < HORIZON => {
                        let action = rng.name(&["blood", "scan"]);
                        let needed = recommended.as_deref() != Some(action) || rng.percent(20);
                        Call::Tell {
                            step,
                            action,
                            feedback: rng.name(&["negative", "positive"]),
                            reason: reason.filter(|_| needed),
                        }
                    }
                    3 => Call::Ask,
                    4 if position > 6 => Call::Abandon {
                        reason: rng.name(&REASONS),
                    },
                    _ => Call::Stop {
                        step,
                        reason: reason.filter(|_| recommended.as_deref() != Some("stop")),
                    },
                }
            }
            _ => {
                let steps = if wrong { HORIZON - 1 } else { now };
                let (mut costs, mut rewards) = (self.values(steps - 1), self.values(steps));
                let rng = &mut self.rng;
                // Many requests repeat what is known: those are the ones that change nothing.
                if rng.percent(35) {
                    let (known_costs, known_rewards) = model.values(episode);
                    for (value, known) in (costs.iter_mut().zip(known_costs))
                        .chain(rewards.iter_mut().zip(known_rewards))
                    {
                        *value = known.or(*value);
                    }
                }
                match rng.percent(50) {
                    true => Call::Outcome {
                        costs,
                        rewards,
                        last: rng.percent(25),
                    },
                    false => Call::Amend {
                        costs,
                        rewards,
                        reason: rng.name(&REASONS),
                    },
                }
            }
        };
        // The id of any other request is recorded and has no effect.
        let id = match !self.plain && self.rng.percent(30) {
            true => Some(format!("r{}", self.rng.below(4))),
            false => None,
        };
        let role = match token == BLINDED {
            true => Role::Blinded,
            false => Role::Operator,
        };
        Sent {
            episode: episode.clone(),
            call,
            id,
            token,
            role,
        }
    }

    fn values(&mut self, count: usize) -> Values {
        let mut value = || {
            let known = self.rng.percent(70);
            match !self.plain && self.rng.percent(3) {
                true => Some(OUTLIER),
                false => self.rng.choose(&VALUES).copied().filter(|_| known),
            }
        };
        (0..count).map(|_| value()).collect()
    }
}
