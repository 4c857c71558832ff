//! The progress of a study over its log: overrides, agreement of the shadow learners, certificates and gains.
//!
//! The log and the learned episodes are read in blocks of consecutive entries, at most [`POINTS`] each. The blocks tile up to
//! [`WHOLE`] entries. Of more entries, each block is a sample of [`SAMPLE`] at an evenly spaced place, so that the time is bounded
//! whatever the length.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use emab::stats::{Moments, NORMAL_975, half_width};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::domain::{Head, unpack};
use crate::store::{Record, Store, StoreError};

/// The largest number of blocks.
pub const POINTS: u64 = 40;
/// The largest number of entries that are read in full.
pub const WHOLE: u64 = 20_000;
/// The number of entries of a block if there are more.
pub const SAMPLE: u64 = 500;
/// The smallest blocks of events and of learned episodes.
const EVENTS: u64 = 50;
const EPISODES: u64 = 10;
/// The largest number of blocks that are cached, of all studies.
const CACHED: usize = 4_000;

/// The entries that are read: blocks among the numbers from 1 to `count`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The number of entries.
    pub count: u64,
    /// The distance between the beginnings of two blocks.
    pub stride: u64,
    /// The number of entries of a block.
    pub length: u64,
}

impl Plan {
    /// Blocks of at least this length. The distance is doubled as the log grows, so that earlier blocks stay the same and can be
    /// cached.
    fn new(count: u64, least: u64) -> Plan {
        let mut stride = least;
        // One more block may end the log.
        while count.div_ceil(stride) >= POINTS {
            stride *= 2;
        }
        let length = if count <= WHOLE {
            stride
        } else {
            stride.min(SAMPLE)
        };
        Plan {
            count,
            stride,
            length,
        }
    }

    /// Whether the blocks contain every entry.
    pub fn is_whole(&self) -> bool {
        self.length == self.stride
    }

    /// The entry before each block, and its length.
    fn blocks(&self) -> Vec<(u64, u64)> {
        let begins = (0..self.count.div_ceil(self.stride)).map(|i| i * self.stride);
        let block = |after: u64| (after, self.length.min(self.count - after));
        let mut blocks: Vec<(u64, u64)> = begins.map(block).collect();
        if let Some((after, length)) = blocks.last().copied() {
            let end = after + length;
            if end < self.count {
                // The latest entries.
                let from = end.max(self.count - self.length);
                blocks.push((from, self.count - from));
            }
        }
        // The interval of a short block would be wide: it is joined to the one before it, if they are neighbours.
        if let [.., (before, earlier), (after, last)] = &mut blocks[..]
            && 2 * *last < self.length
            && *before + *earlier == *after
        {
            *earlier += *last;
            blocks.pop();
        }
        blocks
    }
}

/// A number of cases among others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Share {
    pub hits: u64,
    pub of: u64,
}

impl Share {
    fn add(&mut self, hit: bool) {
        self.hits += u64::from(hit);
        self.of += 1;
    }

    /// The share; none of nothing.
    pub fn value(self) -> Option<f64> {
        (self.of > 0).then(|| self.hits as f64 / self.of as f64)
    }

    /// Its 95 % interval (Wilson 1927).
    pub fn interval(self) -> Option<(f64, f64)> {
        let share = self.value()?;
        let (n, z) = (self.of as f64, NORMAL_975);
        let scale = 1.0 + z * z / n;
        let centre = (share + z * z / (2.0 * n)) / scale;
        let half = z * (share * (1.0 - share) / n + z * z / (4.0 * n * n)).sqrt() / scale;
        // Rounding must not exclude the share itself.
        Some((
            (centre - half).clamp(0.0, share),
            (centre + half).clamp(share, 1.0),
        ))
    }
}

/// A mean with half the width of its 95 % interval by Student's t; infinite for one value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mean {
    pub count: u64,
    pub mean: f64,
    pub half: f64,
}

impl Mean {
    fn of(values: &Moments) -> Option<Mean> {
        let count = values.count();
        (count > 0).then(|| Mean {
            count,
            mean: values.mean(),
            half: half_width(values.stderr(), count),
        })
    }
}

/// What the events of a block say.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EventBlock {
    /// The numbers of its first and last event, and the time of the last.
    pub first: u64,
    pub last: u64,
    pub to: String,
    /// Reported choices that were not the recommended ones, as they were first reported.
    pub overrides: Share,
    /// Decisions in which each shadow learner chose the same.
    pub shadows: Vec<(String, Share)>,
    /// Decisions without a certificate.
    pub uncertified: Share,
    /// The mean of the certificates of the others.
    pub certificate: Option<Mean>,
}

/// What the learned episodes of a block say, as they are known now.
#[derive(Clone, Debug, PartialEq)]
pub struct GainBlock {
    /// Their numbers in the learning order, from 1.
    pub first: u64,
    pub last: u64,
    /// The mean of the known gains.
    pub gain: Option<Mean>,
    /// The number of episodes whose gain is not known: a cost or the last terminal reward is missing.
    pub unknown: u64,
}

/// The progress of a study.
#[derive(Clone, Debug)]
pub struct Progress {
    pub events: Plan,
    pub learned: Plan,
    pub event_blocks: Vec<Arc<EventBlock>>,
    pub gain_blocks: Vec<Arc<GainBlock>>,
}

/// The study, a version of its learned episodes, and a block.
type Key = (i64, u64, (u64, u64));
type Cached<B> = Mutex<HashMap<Key, Arc<B>>>;

/// Blocks that were computed before.
#[derive(Clone, Debug, Default)]
pub struct ProgressCache {
    events: Arc<Cached<EventBlock>>,
    gains: Arc<Cached<GainBlock>>,
}

impl ProgressCache {
    /// The progress of a study up to its head. Inside a snapshot of the store.
    pub fn read(&self, store: &mut dyn Store, head: &Head) -> Result<Progress, StoreError> {
        let (events, learned) = (
            Plan::new(head.seq, EVENTS),
            Plan::new(head.learned, EPISODES),
        );
        let mut event_blocks = Vec::new();
        for block @ (after, length) in events.blocks() {
            // The log is append-only.
            let read = || event_block(&store.events(head.key, after, length as usize)?);
            event_blocks.push(cached(&self.events, (head.key, 0, block), read)?);
        }
        let mut gain_blocks = Vec::new();
        for block @ (from, length) in learned.blocks() {
            let read = || {
                let rows = store.learned_episodes(head.key, from, length as usize)?;
                Ok(gain_block(from, rows.iter().map(|row| &*row.bytes)))
            };
            gain_blocks.push(cached(
                &self.gains,
                (head.key, head.relearned, block),
                read,
            )?);
        }
        Ok(Progress {
            events,
            learned,
            event_blocks,
            gain_blocks,
        })
    }
}

fn cached<B>(
    cache: &Cached<B>,
    key: Key,
    read: impl FnOnce() -> Result<B, StoreError>,
) -> Result<Arc<B>, StoreError> {
    let locked = || cache.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = locked().get(&key) {
        return Ok(known.clone());
    }
    let block = Arc::new(read()?);
    let mut blocks = locked();
    if blocks.len() >= CACHED {
        blocks.clear();
    }
    blocks.insert(key, block.clone());
    Ok(block)
}

/// The fields of an event that are read here. Its hash and its other fields are the concern of audits.
#[derive(Deserialize)]
struct Line<'a> {
    #[serde(borrow)]
    at: Cow<'a, str>,
    #[serde(borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    data: &'a RawValue,
}

#[derive(Deserialize)]
struct Report<'a> {
    #[serde(default, rename = "override")]
    overridden: bool,
    #[serde(borrow, default)]
    decision: Option<Choice<'a>>,
    #[serde(borrow, default)]
    shadow: Vec<ShadowChoice<'a>>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(borrow)]
    action: Cow<'a, str>,
    certificate: Option<f64>,
}

#[derive(Deserialize)]
struct ShadowChoice<'a> {
    #[serde(borrow)]
    learner: Cow<'a, str>,
    #[serde(borrow)]
    action: Cow<'a, str>,
}

fn event_block(records: &[Record]) -> Result<EventBlock, StoreError> {
    let (mut block, mut certificates) = (EventBlock::default(), Moments::default());
    for record in records {
        let damaged = |error| StoreError::Damaged(format!("event {}: {error}", record.seq));
        let line: Line<'_> = serde_json::from_str(&record.text).map_err(damaged)?;
        if block.first == 0 {
            block.first = record.seq;
        }
        (block.last, block.to) = (record.seq, line.at.into_owned());
        let is_choice = matches!(&*line.kind, "told" | "stopped");
        if !is_choice && !matches!(&*line.kind, "opened" | "step_amended") {
            continue;
        }
        let report: Report<'_> = serde_json::from_str(line.data.get()).map_err(damaged)?;
        if is_choice {
            block.overrides.add(report.overridden);
        }
        let Some(decision) = report.decision else {
            continue;
        };
        block.uncertified.add(decision.certificate.is_none());
        decision
            .certificate
            .into_iter()
            .for_each(|it| certificates.add(it));
        for choice in report.shadow {
            let agrees = choice.action == decision.action;
            match block.shadows.iter_mut().find(|it| it.0 == choice.learner) {
                Some((_, share)) => share.add(agrees),
                None => {
                    let mut share = Share::default();
                    share.add(agrees);
                    block.shadows.push((choice.learner.into_owned(), share));
                }
            }
        }
    }
    block.certificate = Mean::of(&certificates);
    Ok(block)
}

fn gain_block<'a>(from: u64, rows: impl ExactSizeIterator<Item = &'a [u8]>) -> GainBlock {
    let last = from + rows.len() as u64;
    let (mut gains, mut unknown) = (Moments::default(), 0);
    for episode in rows.filter_map(unpack) {
        let gain = episode.gain();
        match episode.states.is_empty() {
            // It was voided.
            true => {}
            false if gain.is_nan() => unknown += 1,
            false => gains.add(gain),
        }
    }
    GainBlock {
        first: from + 1,
        last,
        gain: Mean::of(&gains),
        unknown,
    }
}

#[cfg(test)]
mod tests {
    use emab::Episode;

    use super::*;
    use crate::domain::pack;

    #[test]
    fn blocks_tile_a_short_log_and_sample_a_long_one() {
        assert_eq!(Plan::new(0, EVENTS).blocks(), []);
        assert_eq!(Plan::new(1, EVENTS).blocks(), [(0, 1)]);
        assert_eq!(Plan::new(120, EVENTS).blocks(), [(0, 50), (50, 70)]);
        assert_eq!(
            Plan::new(130, EVENTS).blocks(),
            [(0, 50), (50, 50), (100, 30)]
        );
        for count in (1..60_000)
            .step_by(37)
            .chain([20_000, 20_001, 1_000_000, 40_000_000])
        {
            let plan = Plan::new(count, EVENTS);
            let blocks = plan.blocks();
            assert!(blocks.len() as u64 <= POINTS, "{count}");
            assert_eq!(blocks[0].0, 0);
            let (after, length) = blocks[blocks.len() - 1];
            assert_eq!(after + length, count);
            let read: u64 = blocks.iter().map(|it| it.1).sum();
            assert_eq!(plan.is_whole(), count <= WHOLE);
            assert!(
                if count <= WHOLE {
                    read == count
                } else {
                    read <= 20_500
                },
                "{count}: {read}"
            );
            for pair in blocks.windows(2) {
                assert!(pair[0].0 + pair[0].1 <= pair[1].0, "{count}: {pair:?}");
            }
        }
    }

    #[test]
    fn finished_blocks_stay_as_the_log_grows() {
        let (few, more) = (
            Plan::new(1_000, EVENTS).blocks(),
            Plan::new(1_049, EVENTS).blocks(),
        );
        assert_eq!(few[..19], more[..19]);
    }

    #[test]
    fn wilson_intervals() {
        let share = |hits, of| Share { hits, of }.interval().unwrap();
        // Agresti and Coull 1998, and R's prop.test(…, correct = FALSE).
        let near = |(low, high): (f64, f64), l: f64, h: f64| {
            (low - l).abs() < 5e-5 && (high - h).abs() < 5e-5
        };
        assert!(near(share(0, 10), 0.0, 0.2775));
        assert!(near(share(5, 10), 0.2366, 0.7634));
        assert!(near(share(81, 263), 0.2553, 0.3662));
        assert_eq!(share(10, 10).1, 1.0);
        assert_eq!(Share::default().interval(), None);
    }

    fn record(seq: u64, kind: &str, data: &str) -> Record {
        let text = format!(
            r#"{{"seq":{seq},"at":"2026-01-0{seq}T00:00:00Z","by":"a","previous":"","kind":"{kind}","data":{data}}}"#
        );
        Record::new(seq, text)
    }

    #[test]
    fn counts_choices_decisions_and_shadows() {
        let shadow = r#"[{"learner":"ucb","action":"scan"},{"learner":"b\"c","action":"blood"}]"#;
        let records = [
            record(1, "created", r#"{"study":"x","spec":{}}"#),
            record(
                2,
                "opened",
                &format!(
                    r#"{{"episode":"p","decision":{{"action":"scan","certificate":null}},"shadow":{shadow}}}"#
                ),
            ),
            record(
                3,
                "told",
                &format!(
                    r#"{{"episode":"p","override":true,"decision":{{"action":"blood","certificate":0.5}},"shadow":{shadow}}}"#
                ),
            ),
            record(4, "stopped", r#"{"episode":"p","override":false}"#),
            record(5, "step_amended", r#"{"episode":"p","override":true}"#),
        ];
        let block = event_block(&records).unwrap();
        assert_eq!((block.first, block.last), (1, 5));
        assert_eq!(block.to, "2026-01-05T00:00:00Z");
        assert_eq!(block.overrides, Share { hits: 1, of: 2 });
        assert_eq!(block.uncertified, Share { hits: 1, of: 2 });
        assert_eq!(block.certificate.unwrap().mean, 0.5);
        let half = Share { hits: 1, of: 2 };
        assert_eq!(block.shadows, [("ucb".into(), half), ("b\"c".into(), half)]);
        let damaged = event_block(&[Record::new(7, "{".into())]).unwrap_err();
        assert!(damaged.to_string().contains("event 7"), "{damaged}");
    }

    #[test]
    fn gains_are_those_of_known_episodes() {
        let episode = |reward: f64| {
            let mut episode = Episode::default();
            episode.begin(0);
            episode.advance(0, 0, 1);
            episode.costs.push(0.5);
            episode.rewards.extend([f64::NAN, reward]);
            pack(&episode)
        };
        let rows = [
            episode(1.0),
            episode(2.0),
            episode(f64::NAN),
            pack(&Episode::default()),
        ];
        let block = gain_block(20, rows.iter().map(|row| &**row));
        assert_eq!((block.first, block.last, block.unknown), (21, 24, 1));
        let gain = block.gain.unwrap();
        assert_eq!((gain.count, gain.mean), (2, 1.0));
    }
}
