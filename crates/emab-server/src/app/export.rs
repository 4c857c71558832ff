//! Exports the log of a study as newline-delimited JSON: a header, then one event with its hash on each line.

use std::io;
use std::sync::Arc;

use bytes::Bytes;
use emab_problem::json_error;
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;

use crate::app::{Service, ServiceError, head};
use crate::domain::{Head, Record, Rejection};

/// The number of events in one read.
pub const PART: usize = 100;
/// A page of events ends after about this many bytes.
const MAX_PAGE_BYTES: usize = 8 << 20;

/// The version of the format of exports. Version 1 has no header.
const VERSION: u32 = 2;

/// The first line of an export: the version of its format, the study, and the number and hash of its last event.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExportHeader {
    emab_export: u32,
    pub study: String,
    pub seq: u64,
    pub hash: String,
}

impl ExportHeader {
    fn of(head: &Head) -> ExportHeader {
        ExportHeader {
            emab_export: VERSION,
            study: head.name.clone(),
            seq: head.seq,
            hash: head.hash.clone(),
        }
    }

    /// Whether a line is meant as a header.
    pub fn matches(line: &str) -> bool {
        line.starts_with("{\"emab_export\":")
    }

    /// Parses the header of an export of this study.
    pub fn read(line: &str, study: &str) -> Result<ExportHeader, Rejection> {
        let header = ExportHeader::parse(line).map_err(Rejection::not_possible)?;
        if header.study == study {
            return Ok(header);
        }
        let what = format!(
            "this is an export of study `{}`, not of `{study}`",
            header.study
        );
        Err(Rejection::not_possible(what))
    }

    /// Parses a header; fails if its version is not known.
    pub fn parse(line: &str) -> Result<ExportHeader, String> {
        #[derive(Deserialize)]
        struct Version {
            emab_export: u64,
        }
        let wrong = |error: serde_json::Error| json_error(&error, "the first line of the export");
        let Version { emab_export } = serde_json::from_str(line).map_err(wrong)?;
        if emab_export != u64::from(VERSION) {
            return Err(format!(
                "the export has format version {emab_export}, and this program reads 1 (without a first line of its own) and {VERSION}"
            ));
        }
        serde_json::from_str(line).map_err(wrong)
    }
}

fn lines(events: &[Record]) -> String {
    events.iter().fold(String::new(), |mut text, event| {
        text.push_str(&event.line());
        text.push('\n');
        text
    })
}

/// A page of the log: at most `limit` events after `after`, as lines.
pub async fn page(
    service: &Service,
    study: String,
    after: u64,
    limit: usize,
) -> Result<String, ServiceError> {
    service
        .read(move |store| {
            let head = head(store, &study)?;
            let (mut at, mut left, mut text) = (after, limit, String::new());
            while left > 0 && text.len() < MAX_PAGE_BYTES {
                let events = store.events(head.key, at, left.min(PART))?;
                let Some(last) = events.last() else { break };
                (at, left) = (last.seq, left - events.len());
                text.push_str(&lines(&events));
            }
            Ok(text)
        })
        .await
}

/// The whole log up to the current head, as a stream of lines. The stream ends with an error if the store fails.
pub async fn export(
    service: Arc<Service>,
    study: &str,
) -> Result<(Head, ReceiverStream<io::Result<Bytes>>), ServiceError> {
    let head = service.head(study).await?;
    let (sender, receiver) = mpsc::channel(4);
    let (key, end) = (head.key, head.seq);
    let first = serde_json::to_string(&ExportHeader::of(&head));
    let first = first.map_err(|error| Rejection::internal(error.to_string()))? + "\n";
    tokio::spawn(async move {
        if sender.send(Ok(first.into())).await.is_err() {
            return;
        }
        let mut at = 0;
        while at < end {
            let from = at;
            let limit = PART.min((end - at) as usize);
            let page = service.read(move |store| Ok(store.events(key, from, limit)?));
            let chunk = match page.await {
                Ok(page) if !page.is_empty() => {
                    at = page.last().map_or(end, |event| event.seq);
                    Ok(Bytes::from(lines(&page)))
                }
                _ => Err(io::Error::other("the log could not be read")),
            };
            let failed = chunk.is_err();
            if sender.send(chunk).await.is_err() || failed {
                return;
            }
        }
    });
    Ok((head, ReceiverStream::new(receiver)))
}
