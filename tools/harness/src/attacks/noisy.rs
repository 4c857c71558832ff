//! Latency of a quiet study, alone and beside noisy ones. `disturb` checks the answers; this measures.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;

use super::disturb::follow;
use super::{Api, Installation, Target, fixture};
use crate::Result;
use crate::checks::{Check, Findings};
use crate::environment::StoreKind;
use crate::environment::service_process::ServiceProcess;
use crate::scenarios::Report;

/// The pause of the quiet client between two requests: it uses little of the service.
const PAUSE: Duration = Duration::from_millis(2);

/// Measure the latency of a quiet study, alone and beside noisy ones.
#[derive(Clone, Debug, clap::Args)]
pub struct Noisy {
    /// The store.
    #[arg(long, default_value = "sqlite")]
    pub store: StoreKind,
    /// Duration of each measurement.
    #[arg(long, default_value_t = 5.0)]
    pub seconds: f64,
    /// Noisy clients.
    #[arg(long, default_value_t = 16)]
    pub clients: usize,
    /// Episodes of the study that is corrected.
    #[arg(long, default_value_t = 200_000)]
    pub episodes: usize,
    /// Number of large studies.
    #[arg(long, default_value_t = 20)]
    pub studies: usize,
    /// Bytes of the specification of each.
    #[arg(long, default_value_t = 6_000_000)]
    pub bytes: usize,
    /// What is measured.
    #[command(flatten)]
    pub target: Target,
}

/// The requests of a noisy client: the number of the client and of the request to method, path and body.
type Noise<'a> = dyn Fn(usize, u64) -> (&'static str, String, String) + Sync + 'a;

/// Latencies of the quiet clients in microseconds, sorted, and what happened meanwhile.
struct Measured {
    what: &'static str,
    writes: Vec<u32>,
    livez: Vec<u32>,
    noise: u64,
    memory_kib: u64,
}

fn percentile(latencies: &[u32], percent: usize) -> f64 {
    let index = (latencies.len() * percent / 100).min(latencies.len().saturating_sub(1));
    f64::from(latencies.get(index).copied().unwrap_or(0)) / 1000.0
}

impl Noisy {
    /// Runs all measurements.
    pub fn run(&self) -> Result<Report> {
        let installation = Installation::new(&self.target, self.store)?;
        let admin = installation.token("anna", "admin")?;
        let quiet = installation.token("olga", "operator")?;
        let [operator, viewer, blinded] = [
            installation.token("otto", "operator")?,
            installation.token("vera", "viewer")?,
            installation.token("bea", "blinded")?,
        ];
        let service = installation.start()?;
        let sizes = [self.studies, self.bytes, self.episodes];
        fixture::prepare_noise(&mut Api::new(service.address, &admin), "loud", sizes)?;
        let mut findings = Findings::default();
        let mut measure = |what, token: &str, noise: &Noise<'_>| {
            self.measure(&service, &quiet, what, token, noise, &mut findings)
        };
        let nothing: &Noise<'_> = &|_, _| ("", String::new(), String::new());
        let opened = |client: usize, number: u64| {
            let body = json!({"id": format!("n{client}-{number}")}).to_string();
            ("POST", "/v1/studies/loud/episodes".into(), body)
        };
        let corrected = |client: usize, number: u64| {
            let path = format!("/v1/studies/loud/episodes/past{client}/outcome:amend");
            let body = json!({"rewards": [null, (number % 7) as f64 / 8.0], "reason": format!("{number}")});
            ("POST", path, body.to_string())
        };
        let replayed = |_, _| {
            let path = format!("/v1/studies/loud/estimates?as_of={}", self.episodes);
            ("GET", path, String::new())
        };
        let listed = |_, _| ("GET", "/v1/studies".into(), String::new());
        let mut all = vec![
            measure("alone", "", nothing)?,
            measure("beside a flood of writes", &operator, &opened)?,
            measure("beside corrections", &operator, &corrected)?,
        ];
        // Streams stay open during the reads.
        let streams = (0..80).map(|_| follow(service.address, &viewer));
        let streams = streams.collect::<Result<Vec<_>>>()?;
        all.push(measure(
            "beside reads of a study and streams",
            &viewer,
            &replayed,
        )?);
        drop(streams);
        all.push(measure("beside lists of large studies", &blinded, &listed)?);
        all.push(measure("alone again", "", nothing)?);
        findings.check_result(Check::Service, service.stop());
        Ok(Report {
            summary: table(&all),
            findings,
            ..Report::default()
        })
    }

    /// Measures the quiet study for some time while a token makes noise; without a token there is none.
    fn measure(
        &self,
        service: &ServiceProcess,
        quiet: &str,
        what: &'static str,
        token: &str,
        noise: &Noise<'_>,
        findings: &mut Findings,
    ) -> Result<Measured> {
        let (address, done, sent) = (service.address, AtomicBool::new(false), AtomicU64::new(0));
        let time = Duration::try_from_secs_f64(self.seconds)?;
        let clients = if token.is_empty() { 0 } else { self.clients };
        let (mut writes, mut livez) = std::thread::scope(|scope| {
            let (done, sent) = (&done, &sent);
            for client in 0..clients {
                scope.spawn(move || {
                    // A client elsewhere would not use the processor of the service and the quiet client.
                    #[cfg(target_os = "linux")]
                    let _ = rustix::process::setpriority_process(None, 10);
                    let mut api = Api::new(address, token);
                    for number in 0.. {
                        if done.load(Ordering::Relaxed) {
                            return;
                        }
                        let (method, path, body) = noise(client, number);
                        let status = api.call(method, &path, body).map(|it| it.status);
                        if !matches!(status, Ok(200..300)) {
                            // As a client that respects `Retry-After` in part.
                            std::thread::sleep(Duration::from_millis(20));
                        }
                        sent.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
            let measured = latencies(address, quiet, what, time, findings);
            done.store(true, Ordering::Relaxed);
            measured
        })?;
        writes.sort_unstable();
        livez.sort_unstable();
        Ok(Measured {
            what,
            writes,
            livez,
            noise: sent.into_inner(),
            memory_kib: service.memory_kib().unwrap_or_default(),
        })
    }
}

/// The latencies of writes in the quiet study, and of `/livez`.
fn latencies(
    address: SocketAddr,
    token: &str,
    what: &str,
    time: Duration,
    findings: &mut Findings,
) -> Result<(Vec<u32>, Vec<u32>)> {
    let (mut api, mut live) = (Api::new(address, token), Api::new(address, token));
    let (mut writes, mut livez) = (Vec::new(), Vec::new());
    // The noise begins first.
    std::thread::sleep(time / 10);
    let (begun, mut number) = (Instant::now(), 0);
    while begun.elapsed() < time {
        let id = json!({"id": format!("{}-{number}", what.replace(' ', "-"))});
        let sent = Instant::now();
        let response = api.call("POST", "/v1/studies/quiet/episodes", id)?;
        writes.push(sent.elapsed().as_micros() as u32);
        findings.check(Check::Isolation, response.status == 201, || {
            format!("{what}: {} {}", response.status, response.text())
        });
        let sent = Instant::now();
        live.get("/livez")?;
        livez.push(sent.elapsed().as_micros() as u32);
        number += 1;
        std::thread::sleep(PAUSE);
    }
    Ok((writes, livez))
}

fn table(all: &[Measured]) -> String {
    let ends = [all.first(), all.last()].into_iter().flatten();
    let alone = ends.map(|it| percentile(&it.writes, 99)).sum::<f64>() / 2.0;
    let mut text = format!(
        "{:<40} {:>7} {:>8} {:>8} {:>8} {:>6} {:>9} {:>8} {:>8}\n",
        "the quiet study",
        "writes",
        "p50 ms",
        "p99 ms",
        "longest",
        "ratio",
        "/livez p99",
        "noise",
        "MiB"
    );
    for it in all {
        let [p50, p99, longest] = [50, 99, 100].map(|percent| percentile(&it.writes, percent));
        text += &format!(
            "{:<40} {:>7} {p50:>8.2} {p99:>8.2} {longest:>8.2} {:>6.2} {:>9.2} {:>8} {:>8}\n",
            it.what,
            it.writes.len(),
            p99 / alone,
            percentile(&it.livez, 99),
            it.noise,
            it.memory_kib >> 10
        );
    }
    text + "The ratio is to the mean p99 of the two measurements alone; it should be at most 2."
}
