//! Measures the pages of the console on a study with many cases: the first time each is opened, and under a steady load.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use hyper::header::SET_COOKIE;
use tokio::task::JoinSet;
use tokio::time::{interval_at, sleep_until};

use super::Report;
use crate::Result;
use crate::environment::{Environment, StoreKind};
use crate::http::{Connection, Request, runtime};
use crate::load::studies::STUDIES;
use crate::rng::Rng;
use crate::scenarios::large::past_episode;

/// Cases of one import.
const IMPORT: u64 = 20_000;
/// Open cases beside the imported ones.
const OPEN: usize = 200;
/// Connections, each of which sends one request after the other.
const CONNECTIONS: u32 = 64;

/// Measure the pages of the console.
#[derive(Clone, Debug, clap::Args)]
pub struct Pages {
    /// Number of cases.
    #[arg(long, default_value_t = 1_000_000)]
    pub cases: u64,
    /// Requests per second.
    #[arg(long, default_value_t = 500)]
    pub rate: u32,
    /// Duration of the load.
    #[arg(long, default_value_t = 20)]
    pub seconds: u64,
    /// The store.
    #[arg(long, default_value = "sqlite")]
    pub store: StoreKind,
    /// Another program with the command `serve`, such as `emab`.
    #[arg(long)]
    pub program: Option<PathBuf>,
}

impl Pages {
    /// Imports the cases, starts the service again, opens every page, then all of them in turn at a steady rate.
    pub fn run(&self) -> Result<Report> {
        let name = STUDIES[0].name;
        let environment = Environment::new(self.program.as_deref(), self.store, None)?;
        let service = environment.start_with_study()?;
        let mut client = environment.connect(&service)?;
        let mut rng = Rng::new(1);
        for start in (0..self.cases).step_by(IMPORT as usize) {
            let numbers = start..self.cases.min(start + IMPORT);
            let body = numbers.map(|number| past_episode(number, &mut rng));
            let target = format!("/v1/studies/{name}:import");
            client.send(Request::ndjson(target, body.collect()))?;
        }
        for number in 0..OPEN {
            let target = format!("/v1/studies/{name}/episodes");
            let open = format!(r#"{{"id":"now-{number}"}}"#);
            client.send(Request::json("POST", target, open))?;
        }
        drop(client);
        service.stop()?;

        let service = environment.command.start()?;
        let mut client = environment.connect(&service)?;
        let signed_in = client.exchange(Request::sign_in(&environment.token))?;
        let cookie = signed_in
            .headers
            .get(SET_COOKIE)
            .ok_or("no session was begun")?;
        let cookie = cookie
            .to_str()?
            .split(';')
            .next()
            .unwrap_or_default()
            .to_owned();
        let study = format!("/studies/{name}");
        let pages: Vec<String> = [
            "/".into(),
            "/worklist?of=everyone".into(),
            study.clone(),
            format!("{study}/cases"),
            format!("{study}/cases?id=past-9"),
            format!("{study}/cases?show=open"),
            format!("{study}/cases/now-1"),
            format!("{study}/cases/past-1"),
            format!("{study}/policy"),
            format!("{study}/progress"),
            format!("{study}/log"),
        ]
        .into();
        let mut summary = format!("{} cases and {OPEN} open ones in one study\n", self.cases);
        summary +=
            "page: first opening, then p50, p99 and longest at the steady rate, in ms; size\n";
        let mut first = Vec::new();
        for page in &pages {
            let since = Instant::now();
            let answer = client.send(Request::page(page, &cookie))?;
            first.push((since.elapsed(), answer.body.len()));
        }
        let (address, token) = (service.address, environment.token.clone());
        let load = self.load(address, &token, &cookie, &pages);
        let latencies = runtime()?.block_on(load)?;
        let mut all: Vec<Duration> = latencies.iter().flatten().copied().collect();
        for ((page, (first, size)), mut latencies) in pages.iter().zip(first).zip(latencies) {
            let [p50, p99, longest] = percentiles(&mut latencies);
            let first = first.as_secs_f64() * 1e3;
            summary +=
                &format!("{page}: {first:.1}; {p50:.1}, {p99:.1}, {longest:.1}; {size} bytes\n");
        }
        let [p50, p99, longest] = percentiles(&mut all);
        summary += &format!(
            "all: {} requests at {} a second, p50 {p50:.1}, p99 {p99:.1}, longest {longest:.1} ms",
            all.len(),
            self.rate
        );
        service.stop()?;
        Ok(Report {
            summary,
            ..Report::default()
        })
    }

    /// The latencies of each page. A request that waits for a connection counts from the time at which it was due.
    async fn load(
        &self,
        address: std::net::SocketAddr,
        token: &str,
        cookie: &str,
        pages: &[String],
    ) -> Result<Vec<Vec<Duration>>> {
        let (mut tasks, mut clients) = (JoinSet::new(), JoinSet::new());
        let start = tokio::time::Instant::now() + Duration::from_millis(100);
        let end = start + Duration::from_secs(self.seconds);
        for number in 0..CONNECTIONS {
            let mut connection = Connection::open(address, token, &mut tasks).await?;
            let (pages, cookie) = (pages.to_vec(), cookie.to_owned());
            let each = Duration::from_secs(1) / self.rate;
            let first = start + each * number;
            let mut due = interval_at(first, each * CONNECTIONS);
            clients.spawn(async move {
                let mut latencies = vec![Vec::new(); pages.len()];
                sleep_until(first).await;
                for turn in number as usize.. {
                    let due = due.tick().await;
                    if due >= end {
                        break;
                    }
                    let page = turn % pages.len();
                    let answer = connection.send(Request::page(&pages[page], &cookie));
                    let answer = answer.await.map_err(|error| error.to_string())?;
                    if answer.status != 200 {
                        return Err(format!("{}: {}", pages[page], answer.text()));
                    }
                    latencies[page].push(due.elapsed());
                }
                Ok(latencies)
            });
        }
        let mut all = vec![Vec::new(); pages.len()];
        while let Some(client) = clients.join_next().await {
            for (all, own) in all.iter_mut().zip(client??) {
                all.extend(own);
            }
        }
        Ok(all)
    }
}

/// The median, the 99th percentile and the largest, in milliseconds.
fn percentiles(latencies: &mut [Duration]) -> [f64; 3] {
    latencies.sort_unstable();
    [50, 99, 100].map(|percent| {
        let index = (latencies.len() * percent / 100).min(latencies.len().saturating_sub(1));
        latencies
            .get(index)
            .map_or(0.0, |it| it.as_secs_f64() * 1e3)
    })
}
