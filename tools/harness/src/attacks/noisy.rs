//! Latency of a quiet study, alone and beside noisy ones. `disturb` checks the answers; this measures.
//!
//! The disk and the processor of a shared machine change from minute to minute. Each noise is therefore measured in rounds: some
//! time alone, then the same time beside it. The interval of a ratio comes from resampling the rounds.

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
use crate::rng::Rng;
use crate::scenarios::Report;

/// The pause of the quiet client between two requests: it uses little of the service.
const PAUSE: Duration = Duration::from_millis(2);
/// The time from the first noisy request to the first measured one.
const WARM_UP: Duration = Duration::from_millis(500);
/// The number of resampled sets of rounds behind an interval.
const RESAMPLES: usize = 2_000;

/// Measure the latency of a quiet study, alone and beside noisy ones.
#[derive(Clone, Debug, clap::Args)]
pub struct Noisy {
    /// The store.
    #[arg(long, default_value = "sqlite")]
    pub store: StoreKind,
    /// Rounds of each noise: a measurement alone, then one beside it.
    #[arg(long, default_value_t = 8)]
    pub rounds: u64,
    /// Duration of each measurement of a round.
    #[arg(long, default_value_t = 3.0)]
    pub seconds: f64,
    /// Noisy clients.
    #[arg(long, default_value_t = 16)]
    pub clients: u64,
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
type Noise<'a> = dyn Fn(u64, u64) -> (&'static str, String, String) + Sync + 'a;

/// Latencies of the quiet clients in microseconds.
#[derive(Clone, Default)]
struct Latencies {
    writes: Vec<u32>,
    livez: Vec<u32>,
}

/// The rounds of one noise.
struct Measured {
    what: &'static str,
    /// Each alone and beside the noise.
    rounds: Vec<[Latencies; 2]>,
    /// The number of noisy requests.
    noise: u64,
    memory_kib: u64,
}

fn percentile(latencies: &mut [u32], percent: usize) -> f64 {
    let Some(last) = latencies.len().checked_sub(1) else {
        return f64::NAN;
    };
    let index = (latencies.len() * percent / 100).min(last);
    f64::from(*latencies.select_nth_unstable(index).1) / 1000.0
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
        let opened = |client, number| {
            let body = json!({"id": format!("n{client}-{number}")}).to_string();
            ("POST", "/v1/studies/loud/episodes".into(), body)
        };
        let corrected = |client, number| {
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
            measure("a flood of writes", &operator, &opened)?,
            measure("corrections", &operator, &corrected)?,
        ];
        // Streams stay open during the reads.
        let streams = (0..80).map(|_| follow(service.address, &viewer));
        let streams = streams.collect::<Result<Vec<_>>>()?;
        all.push(measure("reads of a study and streams", &viewer, &replayed)?);
        drop(streams);
        all.push(measure("lists of large studies", &blinded, &listed)?);
        findings.check_result(Check::Service, service.stop());
        Ok(Report {
            summary: table(&all),
            findings,
            ..Report::default()
        })
    }

    /// Measures the quiet study in rounds, alone and while a token makes noise.
    fn measure(
        &self,
        service: &ServiceProcess,
        quiet: &str,
        what: &'static str,
        token: &str,
        noise: &Noise<'_>,
        findings: &mut Findings,
    ) -> Result<Measured> {
        let (address, sent) = (service.address, AtomicU64::new(0));
        let time = Duration::try_from_secs_f64(self.seconds)?;
        let mut rounds = Vec::new();
        for round in 0..self.rounds {
            let mut latencies = |beside: &str| {
                let name = format!("{what} {beside} {round}").replace(' ', "-");
                latencies(address, quiet, &name, time, findings)
            };
            let alone = latencies("alone")?;
            let done = AtomicBool::new(false);
            let beside = std::thread::scope(|scope| {
                let (done, sent) = (&done, &sent);
                for client in 0..self.clients {
                    // Every request is another one.
                    let first = round << 32;
                    scope.spawn(move || {
                        make_noise(address, token, noise, client, first, (done, sent))
                    });
                }
                std::thread::sleep(WARM_UP);
                let measured = latencies("beside");
                done.store(true, Ordering::Relaxed);
                measured
            })?;
            rounds.push([alone, beside]);
        }
        Ok(Measured {
            what,
            rounds,
            noise: sent.into_inner(),
            memory_kib: service.memory_kib().unwrap_or_default(),
        })
    }
}

/// Sends noisy requests until it is done, and counts them.
fn make_noise(
    address: SocketAddr,
    token: &str,
    noise: &Noise<'_>,
    client: u64,
    first: u64,
    (done, sent): (&AtomicBool, &AtomicU64),
) {
    // A client elsewhere would not use the processor of the service and the quiet client.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::setpriority_process(None, 10);
    let mut api = Api::new(address, token);
    for number in first.. {
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
}

/// The latencies of writes in the quiet study, and of `/livez`.
fn latencies(
    address: SocketAddr,
    token: &str,
    name: &str,
    time: Duration,
    findings: &mut Findings,
) -> Result<Latencies> {
    let (mut api, mut live) = (Api::new(address, token), Api::new(address, token));
    let mut measured = Latencies::default();
    let (begun, mut number) = (Instant::now(), 0);
    while begun.elapsed() < time {
        let id = json!({"id": format!("{name}-{number}")});
        let sent = Instant::now();
        let response = api.call("POST", "/v1/studies/quiet/episodes", id)?;
        measured.writes.push(sent.elapsed().as_micros() as u32);
        findings.check(Check::Isolation, response.status == 201, || {
            format!("{name}: {} {}", response.status, response.text())
        });
        let sent = Instant::now();
        live.get("/livez")?;
        measured.livez.push(sent.elapsed().as_micros() as u32);
        number += 1;
        std::thread::sleep(PAUSE);
    }
    Ok(measured)
}

/// A percentile of the writes of some rounds, alone and beside the noise.
fn percentiles<'a>(
    rounds: impl Iterator<Item = &'a [Latencies; 2]> + Clone,
    percent: usize,
) -> [f64; 2] {
    [0, 1].map(|i| {
        let writes = rounds.clone().flat_map(|round| &round[i].writes).copied();
        percentile(&mut writes.collect::<Vec<_>>(), percent)
    })
}

/// The 95 % interval of the ratio of the 99th percentiles, by resampling rounds.
fn interval(rounds: &[[Latencies; 2]]) -> [f64; 2] {
    let mut rng = Rng::new(1);
    let ratios = (0..RESAMPLES).map(|_| {
        let sample = rounds.iter().filter_map(|_| rng.choose(rounds));
        let sample: Vec<_> = sample.collect();
        let [alone, beside] = percentiles(sample.into_iter(), 99);
        beside / alone
    });
    let mut ratios: Vec<f64> = ratios.collect();
    ratios.sort_unstable_by(f64::total_cmp);
    [RESAMPLES / 40, RESAMPLES - RESAMPLES / 40].map(|i| ratios.get(i).copied().unwrap_or(f64::NAN))
}

fn table(all: &[Measured]) -> String {
    let mut text = format!(
        "{:<29} {:>7} {:>17} {:>17} {:>8} {:>21} {:>10} {:>8} {:>6}\n",
        "the quiet study beside",
        "writes",
        "p50 ms (alone)",
        "p99 ms (alone)",
        "longest",
        "ratio (95 % interval)",
        "/livez p99",
        "noise",
        "MiB"
    );
    for it in all {
        let rounds = it.rounds.iter();
        let [p50, p99, longest] = [50, 99, 100].map(|percent| percentiles(rounds.clone(), percent));
        let [low, high] = interval(&it.rounds);
        let beside = rounds.map(|[_, beside]| beside);
        let writes: usize = beside.clone().map(|it| it.writes.len()).sum();
        let mut livez: Vec<u32> = beside.flat_map(|it| it.livez.clone()).collect();
        text += &format!(
            "{:<29} {writes:>7} {:>17} {:>17} {:>8.2} {:>21} {:>10.2} {:>8} {:>6}\n",
            it.what,
            format!("{:.2} ({:.2})", p50[1], p50[0]),
            format!("{:.2} ({:.2})", p99[1], p99[0]),
            longest[1],
            format!("{:.2} ({low:.2} to {high:.2})", p99[1] / p99[0]),
            percentile(&mut livez, 99),
            it.noise,
            it.memory_kib >> 10
        );
    }
    text + "The ratio is of the p99 beside the noise to that alone; it should be at most 2."
}
