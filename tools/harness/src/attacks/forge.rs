//! Forged exports: events are appended and altered, every hash is computed again, and the file is imported.

use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::export::{Export, edit};
use super::{Api, Installation, Target, fixture};
use crate::Result;
use crate::checks::{Check, Findings};
use crate::environment::StoreKind;
use crate::rng::Rng;
use crate::scenarios::Report;

/// A batch of an import has 500 lines; an interruption after it leaves a part.
const PAST_EPISODES: usize = 1_200;

/// Import forged exports into live, absent and half-restored studies, and interrupt restores.
#[derive(Clone, Debug, clap::Args)]
pub struct Forge {
    /// Number of restores that are interrupted.
    #[arg(long, default_value_t = 20)]
    pub interruptions: u32,
    /// Bytes of the specification of a study that is exported and restored.
    #[arg(long, default_value_t = 15_000_000)]
    pub bytes: usize,
    /// The store.
    #[arg(long, default_value = "sqlite")]
    pub store: StoreKind,
    /// What is attacked.
    #[command(flatten)]
    pub target: Target,
}

/// A change of the JSON texts of an export's events.
type Forgery = (String, Box<dyn Fn(&mut Vec<String>)>);

impl Forge {
    /// Runs the attack.
    pub fn run(&self) -> Result<Report> {
        let installation = Installation::new(&self.target, self.store)?;
        let admin = installation.token("anna", "admin")?;
        let service = installation.start()?;
        let mut api = Api::new(service.address, &admin);
        let mut findings = Findings::default();
        fixture::populate(&mut api, "clinic", 14, &fixture::plain_value)?;
        let export = api.succeed("GET", "/v1/studies/clinic:export", "")?;
        let good = Export::read(&export.text())?;
        let mut forged = 0;

        for number in 0..appended(&good).len() {
            let name = format!("live{number}");
            fixture::populate(&mut api, &name, 7, &fixture::plain_value)?;
            let path = format!("/v1/studies/{name}:export");
            let before = api.succeed("GET", &path, "")?.body;
            let live = Export::read(&String::from_utf8_lossy(&before))?;
            let (what, forge) = appended(&live).swap_remove(number);
            let mut lines = live.texts.clone();
            forge(&mut lines);
            let response = api.import(&name, &live.write(&lines, &name))?;
            let unchanged = api.succeed("GET", &path, "")?.body == before;
            findings.check(Check::Forgery, response.status >= 400 && unchanged, || {
                format!(
                    "live study, {what}: {} {}",
                    response.status,
                    response.text()
                )
            });
            forged += 1;
        }

        for (number, (what, forge)) in altered(&good).into_iter().enumerate() {
            let name = format!("absent{number}");
            let mut lines = good.texts.clone();
            forge(&mut lines);
            let response = api.import(&name, &good.write(&lines, &name))?;
            findings.check(Check::Forgery, response.status >= 400, || {
                format!(
                    "absent study, {what}: {} {}",
                    response.status,
                    response.text()
                )
            });
            forged += 1;
        }
        self.interrupt(&mut api, service.address, &admin, &mut findings)?;
        let raced = self.race(service.address, &admin, &good);
        findings.check_result(Check::Forgery, raced);
        let moved = self.move_large(&mut api);
        findings.check_result(Check::Forgery, moved);
        findings.check_result(Check::Service, service.stop());
        let summary = format!(
            "{forged} forged exports into live and absent studies on {:?}, {} interrupted restores, a study of {} bytes restored",
            self.store, self.interruptions, self.bytes
        );
        Ok(Report {
            summary,
            disruptions: forged + self.interruptions,
            findings,
            ..Report::default()
        })
    }

    /// Four clients restore the same export at the same time: the study is that of the export, whichever is first.
    fn race(&self, address: SocketAddr, token: &str, good: &Export) -> Result<()> {
        let whole = good.write(&good.texts, "raced");
        let restore = || {
            Api::new(address, token)
                .import("raced", &whole)
                .map(|it| it.status)
        };
        let statuses = std::thread::scope(|scope| {
            let threads = [(); 4].map(|()| scope.spawn(restore));
            threads.map(|thread| thread.join())
        });
        for status in statuses {
            match status.map_err(|_| "a client panicked")?? {
                200 | 409 | 429 => {}
                status => Err(format!("four restores at the same time: {status}"))?,
            }
        }
        let mut api = Api::new(address, token);
        api.import("raced", &whole)?;
        let restored = api.succeed("GET", "/v1/studies/raced:export", "")?;
        match restored.body == whole.as_bytes() {
            true => Ok(()),
            false => Err("four restores at the same time: the export differs".into()),
        }
    }

    /// Whatever can be created can be exported and restored, to the same bytes.
    fn move_large(&self, api: &mut Api) -> Result<()> {
        let body = fixture::large_study(self.bytes);
        api.succeed("PUT", "/v1/studies/huge", body)?;
        let export = api.succeed("GET", "/v1/studies/huge:export", "")?;
        let good = Export::read(&export.text())?;
        let moved = good.write(&good.texts, "moved");
        let response = api.import("moved", &moved)?;
        if response.status != 200 {
            Err(format!(
                "a large study is not restored: {} {}",
                response.status,
                response.text()
            ))?;
        }
        let restored = api.succeed("GET", "/v1/studies/moved:export", "")?;
        match restored.body == moved.as_bytes() {
            true => Ok(()),
            false => Err("a large study is restored to other bytes".into()),
        }
    }

    /// Interrupts restores at random lines. Meanwhile nothing else is accepted; the same file continues to the same bytes.
    fn interrupt(
        &self,
        api: &mut Api,
        address: SocketAddr,
        token: &str,
        findings: &mut Findings,
    ) -> Result<()> {
        api.succeed("PUT", "/v1/studies/large", fixture::study(&[]))?;
        let past: String = (0..PAST_EPISODES)
            .map(|number| {
                let line = json!({"id": format!("past{number}"), "actions": ["scan"],
                    "feedbacks": ["positive"], "costs": [0.5], "rewards": [0.25, number % 2]});
                format!("{line}\n")
            })
            .collect();
        api.import("large", &past)?;
        let export = api.succeed("GET", "/v1/studies/large:export", "")?;
        let good = Export::read(&export.text())?;
        let mut rng = Rng::new(self.target.seed);
        for number in 0..self.interruptions {
            let name = format!("restored{number}");
            let whole = good.write(&good.texts, &name);
            let cut = 600 + rng.below(good.texts.len() as u64 - 600) as usize;
            let end = whole
                .match_indices('\n')
                .nth(cut)
                .map_or(0, |(at, _)| at + 1);
            let path = format!("/v1/studies/{name}");
            // A token has one import at a time: the service may not have noticed the end of the last one.
            let mut attempts = 0;
            loop {
                let connection = send_part(address, token, &name, whole.as_bytes(), end)?;
                if begun(api, &path)? {
                    drop(connection);
                    break;
                }
                attempts += 1;
                if attempts > 20 {
                    Err("a restore leaves no study after its first batch")?;
                }
            }
            let mut rejects = |what: &str, status: u16| {
                findings.check(Check::Forgery, status == 409, || {
                    format!(
                        "restore interrupted after line {cut}: {what} is answered with {status}"
                    )
                });
            };
            let open = api.call("POST", &format!("{path}/episodes"), json!({"id": "x"}))?;
            rejects("open", open.status);
            rejects(
                "close",
                api.call("POST", &format!("{path}:close"), "")?.status,
            );
            let mut other = good.texts.clone();
            other.pop();
            let other = api.import(&name, &good.write(&other, &name))?;
            rejects("the export of an earlier time", other.status);
            let mut other = good.texts.clone();
            edit(&mut other, 1000, |event| {
                event["data"]["rewards"][0] = json!(0.75)
            });
            let other = api.import(&name, &good.write(&other, &name))?;
            rejects("another file", other.status);
            let same = api.import(&name, &whole)?;
            findings.check(Check::Forgery, same.status == 200, || {
                format!(
                    "restore continued after line {cut}: {} {}",
                    same.status,
                    same.text()
                )
            });
            let restored = api.get(&format!("{path}:export"))?;
            findings.check(Check::Forgery, restored.body == whole.as_bytes(), || {
                format!("restore continued after line {cut}: the export differs")
            });
            let again = api.import(&name, &whole)?.status;
            findings.check(Check::Forgery, matches!(again, 200 | 409), || {
                format!("the same file after the restore: {again}")
            });
        }
        Ok(())
    }
}

/// Sends the beginning of an import; dropping the connection interrupts it.
fn send_part(
    address: SocketAddr,
    token: &str,
    study: &str,
    body: &[u8],
    end: usize,
) -> Result<TcpStream> {
    let mut stream = TcpStream::connect(address)?;
    let length = body.len();
    write!(
        stream,
        "POST /v1/studies/{study}:import HTTP/1.1\r\nHost: emab\r\nAuthorization: Bearer {token}\r\n\
         Content-Type: application/x-ndjson\r\nContent-Length: {length}\r\n\r\n"
    )?;
    stream.write_all(&body[..end])?;
    stream.flush()?;
    Ok(stream)
}

/// Waits until a study exists.
fn begun(api: &mut Api, path: &str) -> Result<bool> {
    let end = Instant::now() + Duration::from_secs(2);
    while Instant::now() < end {
        if api.get(path)?.status == 200 {
            return Ok(true);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(false)
}

/// The position of the first event of a kind.
fn first(export: &Export, kind: &str) -> usize {
    let kind = format!("\"kind\":\"{kind}\"");
    let found = export.texts.iter().position(|text| text.contains(&kind));
    found.unwrap_or_default()
}

/// The redundant copy of an outcome.
fn redundant(export: &Export) -> Value {
    let text = &export.texts[first(export, "outcome")];
    serde_json::from_str::<Value>(text).unwrap_or_default()["data"].clone()
}

const WRONG: [&str; 3] = ["", "yesterday\r\n<script>", "\u{200b}"];

/// Events after the last one, most of them well-formed.
fn appended(export: &Export) -> Vec<Forgery> {
    let mut list: Vec<(String, String)> = Vec::new();
    let closed = |by: &str, at: &str| export.next(by, at, "closed", json!({}));
    list.push((
        "an event of 2019".into(),
        closed("0123abcd", "2019-01-01T00:00:00.000000Z"),
    ));
    for wrong in WRONG {
        list.push((format!("`at` {wrong:?}"), closed("0123abcd", wrong)));
        list.push((
            format!("`by` {wrong:?}"),
            closed(wrong, "2026-11-16T00:00:00.000000Z"),
        ));
    }
    let outcome = export.next(
        "0123abcd",
        "2026-11-16T00:00:00.000000Z",
        "outcome",
        redundant(export),
    );
    list.push(("a redundant outcome".into(), outcome));
    let add = |(what, event): (String, String)| -> Forgery {
        (what, Box::new(move |texts| texts.push(event.clone())))
    };
    let mut list: Vec<Forgery> = list.into_iter().map(add).collect();
    // The same file again and past values: also nothing for a live study.
    let last = export.texts.len() - 1;
    list.push((
        "another last event".into(),
        Box::new(move |texts| {
            edit(texts, last, |event| {
                event["at"] = json!("2019-01-01T00:00:00.000000Z")
            });
        }),
    ));
    list
}

/// Events that the service would not have written.
fn altered(export: &Export) -> Vec<Forgery> {
    let mut list: Vec<Forgery> = Vec::new();
    let mut add = |what: String, index: usize, change: fn(&mut Value, &str), value: &str| {
        let value = value.to_owned();
        list.push((
            what,
            Box::new(move |texts| edit(texts, index, |event| change(event, &value))),
        ));
    };
    let opened = first(export, "opened");
    let times = [
        "2019-02-30T00:00:00.000000Z",
        "2019-01-01",
        "2019-01-01T00:00:00+25:00",
    ];
    for wrong in WRONG.iter().chain(&times) {
        add(
            format!("`at` {wrong:?}"),
            opened,
            |event, value| event["at"] = value.into(),
            wrong,
        );
    }
    let long = "x".repeat(300);
    for wrong in WRONG.into_iter().chain([&*long]) {
        add(
            format!("`by` {wrong:?}"),
            opened,
            |event, value| event["by"] = value.into(),
            wrong,
        );
    }
    for wrong in ["", " x", "a\nb", "a\u{202e}b", &*long] {
        add(
            format!("`person` {wrong:?}"),
            opened,
            |event, value| event["person"] = value.into(),
            wrong,
        );
    }
    for wrong in ["", " ", "\u{200b}"] {
        let change = |event: &mut Value, value: &str| event["data"]["reason"] = value.into();
        add(
            format!("reason {wrong:?}"),
            first(export, "abandoned"),
            change,
            wrong,
        );
    }
    let transition = |event: &mut Value, value: &str| {
        event["data"]["spec"]["problem"]["transition"] = value.into();
    };
    add(
        "a transition out of range".into(),
        0,
        transition,
        "x + f + 7",
    );
    let outcome = export.next(
        "0123abcd",
        "2026-11-16T00:00:00.000000Z",
        "outcome",
        redundant(export),
    );
    list.push((
        "a redundant outcome".into(),
        Box::new(move |texts| texts.push(outcome.clone())),
    ));
    list
}
