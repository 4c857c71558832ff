//! Audits an export: newline-delimited JSON, each event with its hash.

use std::io::{BufRead, Read};

use super::walk::Walk;
use super::{Options, Report, by_event, fallbacks, report};
use crate::app::CHANGED;
use crate::app::export::ExportHeader;
use crate::domain::{MAX_LINE, Record};

/// Audits an export.
///
/// ```
/// let report = emab_server::audit::audit_export("{}\n".as_bytes());
/// assert_eq!(report.findings[0].place, "line 1");
/// ```
pub fn audit_export(reader: impl BufRead) -> Report {
    audit_export_with(reader, Options::default())
}

/// Audits an export, with options.
pub fn audit_export_with(mut reader: impl BufRead, mut options: Options<'_>) -> Report {
    let mut walk = Walk::new(options.expect, false);
    walk.checkpoints = by_event(&mut options);
    let mut bytes = Vec::new();
    let mut line = 0_u64;
    let mut header = None;
    loop {
        bytes.clear();
        line += 1;
        let place = || format!("line {line}");
        let most = MAX_LINE as u64 + 1;
        match reader.by_ref().take(most).read_until(b'\n', &mut bytes) {
            Ok(0) => break,
            Ok(_) => {}
            Err(error) => {
                walk.lost(place(), format!("it cannot be read: {error}"));
                break;
            }
        }
        let whole = bytes.pop_if(|byte| *byte == b'\n').is_some();
        if bytes.is_empty() {
            // Shells add empty lines.
            continue;
        }
        if bytes.len() > MAX_LINE {
            let what = format!("longer than {} MiB: not an event", MAX_LINE >> 20);
            walk.lost(place(), what);
            match reader.skip_until(b'\n') {
                Ok(_) => continue,
                Err(error) => {
                    walk.found
                        .add(place(), format!("it cannot be read: {error}"));
                    break;
                }
            }
        }
        let text = std::str::from_utf8(&bytes).map_err(|error| error.to_string());
        if let (1, Ok(text)) = (line, &text)
            && ExportHeader::matches(text)
        {
            match ExportHeader::parse(text) {
                Ok(found) => header = Some(found),
                Err(what) => walk.found.add(place(), what),
            }
            continue;
        }
        let record =
            text.and_then(|text| Record::from_line(text).map_err(|wrong| wrong.to_string()));
        match record {
            // The number itself may have been changed.
            Ok(record) if record.seq != walk.next && !record.is_intact() => {
                walk.lost(place(), CHANGED);
            }
            Ok(record) => {
                walk.take(&record);
                if !whole {
                    let what = "no newline at the end: the export may be cut off after it";
                    walk.found.add(place(), what);
                }
            }
            Err(_) if !whole => walk.lost(place(), "it is cut off"),
            Err(what) => walk.lost(place(), what),
        }
        if line.is_multiple_of(1_000)
            && let Some(progress) = &mut options.progress
        {
            progress(walk.found.events);
        }
    }
    if walk.found.events == 0 && walk.found.is_clean() {
        walk.found.add("line 1", "the export is empty");
    }
    let mut claims = std::mem::take(&mut walk.claims);
    fallbacks::drop_voided(&mut claims, &walk.replay);
    if walk.is_whole() && !claims.is_empty() {
        match options.reopen_export.map(|reopen| reopen()) {
            Some(Ok(again)) => {
                let lines = again.lines().map_while(Result::ok);
                let events = lines.filter(|line| !ExportHeader::matches(line));
                let records = events.filter_map(|line| Record::from_line(&line).ok());
                fallbacks::check(claims, records, &mut walk.found);
            }
            _ => {
                walk.found.fallbacks_not_recomputed =
                    claims.values().map(|it| it.len() as u64).sum()
            }
        }
    }
    let mut report = report(walk);
    if let Some(header) = header {
        header.compare(&mut report);
    }
    report
}

impl ExportHeader {
    /// Compares the end of an export with its first line.
    fn compare(&self, report: &mut Report) {
        let ExportHeader { seq, hash, .. } = self;
        if report.head_hash != *hash {
            let what = format!(
                "it names event {seq} with hash {hash} as the last one, and the last event has another hash"
            );
            report.add("line 1", what);
        }
        if let Some(study) = report.study.clone().filter(|study| *study != self.study) {
            let what = format!(
                "it names study `{}`, and the events are of `{study}`",
                self.study
            );
            report.add("line 1", what);
        }
    }
}
