//! Calls about the log: reading it, following it, taking a study out and in.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, BodyDataStream};
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use bytes::{Bytes, BytesMut};
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;
use tokio_stream::StreamExt;
use tokio_stream::wrappers::ReceiverStream;
use utoipa::{IntoParams, ToSchema};

use super::answer::{Answer, json, typed};
use super::body::{broken_off, media_type};
use super::caller::Caller;
use super::{App, query};
use crate::command::{Body as Said, Command, Past};
use crate::event::Record;
use crate::refusal::Refusal;
use crate::replay::Replay;
use crate::service::{PAGE, Service, head};
use crate::tokens::Permission;
use crate::work::check_past;

const LINES: &str = "application/x-ndjson";
/// How often a stream looks for new events.
const POLL: Duration = Duration::from_millis(250);
/// The longest line of an import.
const MAX_LINE: usize = 4 << 20;
/// How many lines, or bytes, of an import are put in with one commit.
const BATCH: (usize, usize) = (500, 1 << 20);
/// The most mistakes that a dry run names.
const MISTAKES: usize = 100;

/// Which events.
#[derive(Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct Which {
    /// After this event; left out, from the first.
    #[param(value_type = Option<u64>, minimum = 0)]
    after: Option<query::Number>,
    /// At most so many, up to 10000.
    #[param(value_type = Option<u64>, minimum = 1, maximum = 10000)]
    limit: Option<query::Number>,
}

/// The log
///
/// One event a line, each with its hash at its end. With `Accept: text/event-stream` the events are sent as they come, as
/// server-sent events; `Last-Event-ID` takes the place of `after`.
#[utoipa::path(get, path = "/v1/studies/{study}/events", tag = "audit",
    params(("study" = String, Path, description = "The study's name"), Which),
    responses((status = 200, description = "Events", content(
        (String = "application/x-ndjson"), (String = "text/event-stream")))))]
pub async fn events(
    State(app): State<App>,
    caller: Caller,
    Path(study): Path<String>,
    which: query::Query<Which>,
    headers: HeaderMap,
) -> Answer {
    caller.may_in(Permission::Log, &study)?;
    let most = i64::MAX as u64;
    let after = query::within("after", which.after, 0, most, 0)?;
    let limit = query::within("limit", which.limit, 1, 10_000, PAGE as u64)? as usize;
    let accept = headers
        .get(header::ACCEPT)
        .and_then(|value| value.to_str().ok());
    if accept.is_some_and(|accept| accept.contains("text/event-stream")) {
        let last = headers
            .get("last-event-id")
            .and_then(|value| value.to_str().ok());
        let last = last.and_then(|value| value.parse().ok());
        return follow(app, study, last.unwrap_or(after)).await;
    }
    let lines = app.service.read(move |store| {
        let head = head(store, &study)?;
        let events = store.events(head.key, after, limit)?;
        Ok(lines(&events))
    });
    Ok(typed(StatusCode::OK, LINES, lines.await?))
}

fn lines(events: &[Record]) -> String {
    events.iter().fold(String::new(), |mut text, event| {
        text.push_str(&event.line());
        text.push('\n');
        text
    })
}

/// Events as they come.
async fn follow(app: App, study: String, after: u64) -> Answer {
    let key = app.service.head(&study).await?.key;
    let busy = |_| Refusal::too_many("too many streams are open").retry(10);
    let permit = app.streams.clone().try_acquire_owned().map_err(busy)?;
    let (sender, receiver) = mpsc::channel::<Result<Bytes, Infallible>>(4);
    tokio::spawn(async move {
        let _permit = permit;
        let (mut at, mut quiet) = (after, 0_u32);
        loop {
            let from = at;
            let page = app
                .service
                .read(move |store| Ok(store.events(key, from, PAGE)?));
            // The store may come back; whoever listens hears that we are still here.
            let page = page.await.unwrap_or_default();
            let mut text = String::new();
            for event in &page {
                at = event.seq;
                text.push_str(&format!("id: {}\ndata: {}\n\n", event.seq, event.line()));
            }
            quiet = if page.is_empty() { quiet + 1 } else { 0 };
            if quiet % 40 == 1 {
                text.push_str(": nothing new\n\n");
            }
            if !text.is_empty() && sender.send(Ok(text.into())).await.is_err() {
                return;
            }
            if sender.is_closed() {
                return;
            }
            if page.len() < PAGE {
                tokio::time::sleep(POLL).await;
            }
        }
    });
    let body = Body::from_stream(ReceiverStream::new(receiver));
    Ok(typed(StatusCode::OK, "text/event-stream", body))
}

/// Take a study out
///
/// Its whole log, one event a line: all there is to know of it. The headers `emab-seq` and `emab-hash` are those of its
/// last event. `emab audit` verifies it, and `:import` of any service takes it in.
#[utoipa::path(get, path = "/v1/studies/{study}:export", tag = "audit",
    params(("study" = String, Path, description = "The study's name")),
    responses((status = 200, description = "Events", body = String, content_type = "application/x-ndjson")))]
pub async fn export(State(app): State<App>, caller: Caller, Path(study): Path<String>) -> Answer {
    caller.may_in(Permission::Log, &study)?;
    let head = app.service.head(&study).await?;
    let (sender, receiver) = mpsc::channel::<Result<Bytes, std::io::Error>>(4);
    let (key, end) = (head.key, head.seq);
    let service = app.service.clone();
    tokio::spawn(async move {
        let mut at = 0;
        while at < end {
            let from = at;
            let limit = PAGE.min((end - at) as usize);
            let page = service.read(move |store| Ok(store.events(key, from, limit)?));
            let chunk = match page.await {
                Ok(page) if !page.is_empty() => {
                    at = page.last().map_or(end, |event| event.seq);
                    Ok(Bytes::from(lines(&page)))
                }
                // Breaking off is how a stream says that it failed.
                _ => Err(std::io::Error::other("the log could not be read")),
            };
            let failed = chunk.is_err();
            if sender.send(chunk).await.is_err() || failed {
                return;
            }
        }
    });
    let body = Body::from_stream(ReceiverStream::new(receiver));
    let mut response = typed(StatusCode::OK, LINES, body);
    let headers = response.headers_mut();
    headers.insert("emab-seq", HeaderValue::from(head.seq));
    if let Ok(hash) = HeaderValue::from_str(&head.hash) {
        headers.insert("emab-hash", hash);
    }
    Ok(response)
}

/// How to import.
#[derive(Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct How {
    /// Only look whether it could be done.
    #[serde(default)]
    dry_run: bool,
}

/// What became of an import.
#[derive(Default, Serialize, ToSchema)]
pub struct Report {
    /// Lines that were taken, or would be.
    taken: u64,
    /// Lines that were there before.
    repeated: u64,
    /// Whether nothing was written.
    dry_run: bool,
    /// What is wrong, by line; only in a dry run, which goes on after a mistake.
    mistakes: Vec<String>,
}

/// Take episodes, or a whole study, in
///
/// One JSON object a line. Either past episodes (`{"id", "actions", "feedbacks", "costs", "rewards"}`), from which the
/// learner learns at once, or the events of an exported study, which must be the same study or one that is not there yet.
/// It is streamed: what was taken before a mistake stays, and sending everything again is harmless.
#[utoipa::path(post, path = "/v1/studies/{study}:import", tag = "audit",
    params(("study" = String, Path, description = "The study's name"), How),
    request_body(content = String, content_type = "application/x-ndjson"),
    responses((status = 200, description = "What was taken", body = Report)))]
pub async fn import(
    State(app): State<App>,
    caller: Caller,
    Path(study): Path<String>,
    how: query::Query<How>,
    headers: HeaderMap,
    body: Body,
) -> Answer {
    caller.may_in(Permission::Import, &study)?;
    let kind = media_type(&headers);
    if ![
        "application/x-ndjson",
        "application/jsonl",
        "application/json",
    ]
    .contains(&&*kind)
    {
        return Err(Refusal::media_type(format!(
            "the body is said to be `{}`; this call takes `{LINES}`",
            crate::json::short(&kind)
        )));
    }
    let busy = |_| Refusal::too_many("other imports are under way").retry(5);
    let _permit = app.imports.try_acquire().map_err(busy)?;
    let mut lines = Lines::new(body.into_data_stream());
    let mut import = Import {
        service: app.service.clone(),
        by: caller.id().into(),
        study,
        replay: Replay::default(),
        report: Report {
            dry_run: how.dry_run,
            ..Report::default()
        },
    };
    let mut batch: Vec<(u64, String)> = Vec::new();
    let mut bytes = 0;
    while let Some((number, line)) = lines.next().await? {
        bytes += line.len();
        batch.push((number, line));
        if batch.len() >= BATCH.0 || bytes >= BATCH.1 {
            import.take(std::mem::take(&mut batch)).await?;
            bytes = 0;
        }
    }
    import.take(batch).await?;
    if lines.number == 0 {
        return Err(Refusal::malformed(
            "the body is empty; it has one JSON object a line",
        ));
    }
    json(StatusCode::OK, &import.report)
}

/// An import under way.
struct Import {
    service: Arc<Service>,
    by: String,
    study: String,
    /// For a dry run of a whole study: what was read of it.
    replay: Replay,
    report: Report,
}

impl Import {
    async fn take(&mut self, batch: Vec<(u64, String)>) -> Result<(), Refusal> {
        let Some((_, first)) = batch.first() else {
            return Ok(());
        };
        if Record::from_line(first).is_ok() {
            self.take_events(batch).await
        } else {
            self.take_episodes(batch).await
        }
    }

    async fn take_events(&mut self, batch: Vec<(u64, String)>) -> Result<(), Refusal> {
        let mut records = Vec::with_capacity(batch.len());
        for (number, line) in batch {
            let record = Record::from_line(&line);
            records.push(
                record.map_err(|error| Refusal::malformed(format!("line {number}: {error}")))?,
            );
        }
        if self.report.dry_run {
            for record in &records {
                match self.replay.feed(record) {
                    Ok(None) => self.report.taken += 1,
                    Ok(Some(_)) => {
                        self.mistake(format!(
                            "event {}: its decision is not what the log leads to",
                            record.seq
                        ));
                    }
                    Err(what) => {
                        // Nothing after it can be judged.
                        return Err(Refusal::impossible(format!("event {}: {what}", record.seq)));
                    }
                }
            }
            return Ok(());
        }
        self.submit(Command::Restore(records)).await
    }

    async fn take_episodes(&mut self, batch: Vec<(u64, String)>) -> Result<(), Refusal> {
        let mut list = Vec::with_capacity(batch.len());
        for (number, line) in batch {
            match crate::json::read::<Past>(line.as_bytes()) {
                Ok(past) => list.push((number, past)),
                Err(refusal) => {
                    let refusal = Refusal {
                        detail: format!("line {number}: {}", refusal.detail),
                        ..refusal
                    };
                    if !self.report.dry_run {
                        // What came before it on the way here is taken all the same.
                        self.submit(Command::Import(list)).await?;
                        return Err(refusal);
                    }
                    self.mistake(refusal.detail);
                }
            }
        }
        if !self.report.dry_run {
            return self.submit(Command::Import(list)).await;
        }
        let (study, service) = (self.study.clone(), self.service.clone());
        let checked = self.service.read(move |store| {
            let head = head(store, &study)?;
            let study = service.study(&head)?;
            let ids: Vec<&str> = list.iter().map(|(_, past)| past.id.as_str()).collect();
            let there = store.cases(head.key, &ids)?;
            let check = |(number, past): &(u64, Past)| {
                let there = there.iter().find(|case| case.id == past.id);
                (
                    *number,
                    check_past(&study, past, there).map(|new| new.is_some()),
                )
            };
            Ok(list.iter().map(check).collect::<Vec<_>>())
        });
        for (number, result) in checked.await? {
            match result {
                Ok(true) => self.report.taken += 1,
                Ok(false) => self.report.repeated += 1,
                Err(refusal) => self.mistake(format!("line {number}: {}", refusal.detail)),
            }
        }
        Ok(())
    }

    fn mistake(&mut self, what: String) {
        if self.report.mistakes.len() < MISTAKES {
            self.report.mistakes.push(what);
        }
    }

    async fn submit(&mut self, command: Command) -> Result<(), Refusal> {
        let reply = self.service.submit(&self.study, command, &self.by).await?;
        if let Said::Taken { new, repeated } = reply.body {
            self.report.taken += new;
            self.report.repeated += repeated;
        }
        Ok(())
    }
}

/// The lines of a body, as they come.
struct Lines {
    stream: BodyDataStream,
    buffer: BytesMut,
    searched: usize,
    ended: bool,
    number: u64,
}

impl Lines {
    fn new(stream: BodyDataStream) -> Lines {
        Lines {
            stream,
            buffer: BytesMut::new(),
            searched: 0,
            ended: false,
            number: 0,
        }
    }

    /// The next line that is not blank, with its number from 1.
    async fn next(&mut self) -> Result<Option<(u64, String)>, Refusal> {
        loop {
            let found = self.buffer[self.searched..]
                .iter()
                .position(|&byte| byte == b'\n');
            let line = match found {
                Some(at) => {
                    let mut line = self.buffer.split_to(self.searched + at + 1);
                    line.truncate(line.len() - 1);
                    line
                }
                None if self.ended && self.buffer.is_empty() => return Ok(None),
                None if self.ended => self.buffer.split(),
                None => {
                    self.searched = self.buffer.len();
                    self.more().await?;
                    continue;
                }
            };
            self.searched = 0;
            self.number += 1;
            let number = self.number;
            let text = std::str::from_utf8(&line).map_err(|error| {
                Refusal::malformed(format!("line {number} is not UTF-8: {error}"))
            })?;
            if !text.trim().is_empty() {
                return Ok(Some((number, text.trim().to_owned())));
            }
        }
    }

    async fn more(&mut self) -> Result<(), Refusal> {
        if self.buffer.len() > MAX_LINE {
            return Err(Refusal::too_large(format!(
                "line {} is longer than {MAX_LINE} bytes",
                self.number + 1
            )));
        }
        let patience = Duration::from_secs(60);
        match tokio::time::timeout(patience, self.stream.next()).await {
            Err(_) => Err(Refusal::malformed("nothing came for a minute")),
            Ok(None) => {
                self.ended = true;
                Ok(())
            }
            Ok(Some(Ok(chunk))) => {
                self.buffer.extend_from_slice(&chunk);
                Ok(())
            }
            Ok(Some(Err(error))) => Err(broken_off(&error)),
        }
    }
}
