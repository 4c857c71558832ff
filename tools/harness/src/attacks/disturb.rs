//! Studies and tokens that disturb each other: while one of them asks for too much, the others are served.
//!
//! No times are measured here.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use serde_json::json;

use super::{Api, Installation, Target, fixture};
use crate::Result;
use crate::checks::{Check, Findings};
use crate::environment::StoreKind;
use crate::scenarios::Report;

/// More than the streams that the service allows in all.
const STREAMS: usize = 80;

/// List large studies, correct, replay and follow logs, and check that others are served meanwhile.
#[derive(Clone, Debug, clap::Args)]
pub struct Disturb {
    /// Number of large studies.
    #[arg(long, default_value_t = 20)]
    pub studies: usize,
    /// Bytes of the specification of each.
    #[arg(long, default_value_t = 6_000_000)]
    pub bytes: usize,
    /// Episodes of the study that is corrected and replayed.
    #[arg(long, default_value_t = 20_000)]
    pub episodes: usize,
    /// Episodes that a quiet token runs during each disturbance.
    #[arg(long, default_value_t = 60)]
    pub quiet: usize,
    /// Resident memory that the service may reach, in bytes for each byte of a specification, besides 200 MiB.
    #[arg(long, default_value_t = 8)]
    pub memory: u64,
    /// What is attacked.
    #[command(flatten)]
    pub target: Target,
}

struct Tokens {
    admin: String,
    noisy: [String; 3],
    quiet: [String; 2],
}

impl Disturb {
    /// Runs the attack.
    pub fn run(&self) -> Result<Report> {
        let installation = Installation::new(&self.target, StoreKind::Sqlite)?;
        let token = |name: &str, role: &str| installation.token(name, role);
        let tokens = Tokens {
            admin: token("anna", "admin")?,
            noisy: [
                token("bea", "blinded")?,
                token("otto", "operator")?,
                token("vera", "viewer")?,
            ],
            quiet: [token("olga", "operator")?, token("viktor", "viewer")?],
        };
        let service = installation.start()?;
        let address = service.address;
        let mut findings = Findings::default();
        let sizes = [self.studies, self.bytes, self.episodes];
        fixture::prepare_noise(&mut Api::new(address, &tokens.admin), "busy", sizes)?;
        let [blinded, operator, viewer] = &tokens.noisy;
        let mut rejected = 0;
        let list = || vec![("GET", "/v1/studies".to_owned(), String::new())];
        let correct = || {
            let values = [0.25, 0.75].map(|reward| {
                let body = json!({"rewards": [null, reward], "reason": format!("{reward}")});
                let path = "/v1/studies/busy/episodes/past1/outcome:amend";
                ("POST", path.to_owned(), body.to_string())
            });
            values.to_vec()
        };
        let replay = || {
            let path = format!("/v1/studies/busy/estimates?as_of={}", self.episodes);
            vec![("GET", path, String::new())]
        };
        let noise: [(&str, &String, Vec<Noise>); 3] = [
            ("lists of large studies", blinded, list()),
            ("corrections", operator, correct()),
            ("replays", viewer, replay()),
        ];
        for (what, token, requests) in noise {
            rejected += disturb(address, token, &requests, || {
                quiet(address, &tokens.quiet, (what, self.quiet), &mut findings)
            })?;
        }
        let streams = self.streams(address, &tokens, &mut findings)?;
        let peak = service.peak_memory_kib().unwrap_or_default() << 10;
        let allowed = (200 << 20) + self.memory * (self.studies * self.bytes) as u64;
        findings.check(Check::Isolation, peak <= allowed, || {
            format!(
                "the service used {} MiB, more than {} MiB",
                peak >> 20,
                allowed >> 20
            )
        });
        findings.check_result(Check::Service, service.stop());
        let summary = format!(
            "{} studies of {} bytes listed, a study of {} episodes corrected and replayed, {streams} streams of one token; \
             {rejected} noisy requests rejected; at most {} MiB of memory",
            self.studies,
            self.bytes,
            self.episodes,
            peak >> 20
        );
        Ok(Report {
            summary,
            disruptions: 4,
            findings,
            ..Report::default()
        })
    }

    /// One token opens as many streams as it gets; another one gets one, too.
    fn streams(
        &self,
        address: SocketAddr,
        tokens: &Tokens,
        findings: &mut Findings,
    ) -> Result<usize> {
        let mut open = Vec::new();
        for _ in 0..STREAMS {
            let (stream, status) = follow(address, &tokens.noisy[2])?;
            if status == 200 {
                open.push(stream);
            }
        }
        let (_stream, status) = follow(address, &tokens.quiet[1])?;
        let count = open.len();
        findings.check(Check::Isolation, status == 200, || {
            format!("one token has {count} streams; the first stream of another one: {status}")
        });
        Ok(count)
    }
}

type Noise = (&'static str, String, String);

/// Sends requests on four connections while `quiet` runs; returns how many of them were rejected.
fn disturb(
    address: SocketAddr,
    token: &str,
    requests: &[Noise],
    quiet: impl FnOnce() -> Result<()>,
) -> Result<u64> {
    let (done, rejected, sent) = (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut api = Api::new(address, token);
                for (method, path, body) in requests.iter().cycle() {
                    if done.load(Ordering::Relaxed) {
                        break;
                    }
                    match api.call(method, path, body) {
                        Ok(response) if response.status < 300 => {}
                        _ => {
                            rejected.fetch_add(1, Ordering::Relaxed);
                            std::thread::sleep(Duration::from_millis(1));
                        }
                    }
                    sent.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let result = quiet();
        // Every connection has had an answer.
        while sent.load(Ordering::Relaxed) < 8 {
            std::thread::sleep(Duration::from_millis(5));
        }
        done.store(true, Ordering::Relaxed);
        result
    })?;
    Ok(rejected.into_inner())
}

/// Requests of others: all of them succeed.
fn quiet(
    address: SocketAddr,
    [operator, viewer]: &[String; 2],
    (during, episodes): (&str, usize),
    findings: &mut Findings,
) -> Result<()> {
    let mut operator = Api::new(address, operator);
    let mut viewer = Api::new(address, viewer);
    let mut check = |what: &str, response: Result<crate::http::Response>| {
        let status = response.map_or(0, |response| response.status);
        findings.check(Check::Isolation, matches!(status, 200 | 201), || {
            format!("{what} during {during}: {status}")
        });
    };
    for number in 0..episodes {
        let id = format!("{}-{number}", during.replace(' ', "-"));
        let path = "/v1/studies/quiet/episodes";
        check("open", operator.call("POST", path, json!({"id": id})));
        let stop = json!({"step": 1, "reason": "went home"});
        check(
            "stop",
            operator.call("POST", &format!("{path}/{id}:stop"), stop),
        );
        check("/livez", viewer.get("/livez"));
        check("read", viewer.get(&format!("{path}/{id}")));
        if number % 10 == 0 {
            check("replay", viewer.get("/v1/studies/quiet/estimates?as_of=2"));
        }
    }
    Ok(())
}

/// Follows a log; returns the connection and the status.
pub(super) fn follow(address: SocketAddr, token: &str) -> Result<(TcpStream, u16)> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(Duration::from_secs(30)))?;
    write!(
        stream,
        "GET /v1/studies/quiet/events HTTP/1.1\r\nHost: emab\r\nAuthorization: Bearer {token}\r\n\
         Accept: text/event-stream\r\n\r\n"
    )?;
    let mut line = String::new();
    BufReader::new(stream.try_clone()?).read_line(&mut line)?;
    let status = line
        .split(' ')
        .nth(1)
        .and_then(|status| status.parse().ok());
    Ok((stream, status.unwrap_or_default()))
}
