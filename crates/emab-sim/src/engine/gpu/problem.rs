//! A problem in the memory of a card: the records of its rows, and what choices cost.

use emab::Noise;

use super::card::{Card, GpuError, Memory, Number};
use super::job::{Job, NoiseTransform};
use super::losses::Losses;
use crate::engine::stuck::BenchmarkPairs;
use crate::engine::tables::{START, Tables, WORDS};

/// Bytes of the record of a row without its actions, and of an action.
const ROW: usize = 16;
const ACTION: usize = 32;

/// Bytes of a short row.
const SHORT_ROW: usize = 32;

/// Marks a row of the last step.
const LAST_STEP: u32 = 1 << 31;

/// Marks a row without entries.
pub(crate) const NO_ENTRY: u32 = u32::MAX;
const NO_SHORT_ENTRY: u16 = u16::MAX;

/// The entries of a learner's table: for each row one for each action, then one for `stop`.
///
/// Rows in which nothing but `stop` is allowed have none, unless entries of all rows are needed: nothing is decided there.
pub(crate) struct Entries {
    /// By row: its first entry.
    of_row: Vec<u32>,
    /// By entry: the sum before the first observation; minus infinity for an action that is not allowed.
    first_sums: Vec<f64>,
}

impl Entries {
    pub(crate) fn new(tables: &Tables, of_all_rows: bool) -> Entries {
        let mut entries = Entries {
            of_row: Vec::new(),
            first_sums: Vec::new(),
        };
        for row in rows(tables) {
            let allowed = |a| tables.allows(row, a);
            if of_all_rows || (0..tables.actions).any(allowed) {
                entries.of_row.push(entries.first_sums.len() as u32);
                let sum = |column| match column == tables.actions || allowed(column) {
                    true => 0.0,
                    false => f64::NEG_INFINITY,
                };
                entries.first_sums.extend((0..=tables.actions).map(sum));
            } else {
                entries.of_row.push(NO_ENTRY);
            }
        }
        if entries.first_sums.is_empty() {
            // Rows without entries read the first ones.
            entries.first_sums.resize(tables.actions + 1, 0.0);
        }
        entries
    }

    /// The first entry of a row, by its number.
    pub(crate) fn of_row(&self, number: usize) -> u32 {
        self.of_row[number]
    }

    /// The number of entries.
    pub(crate) fn len(&self) -> usize {
        self.first_sums.len()
    }
}

/// The rows of the tables, by offset.
pub(crate) fn rows(tables: &Tables) -> impl Iterator<Item = usize> {
    (START..tables.end).step_by(tables.row)
}

/// The number of rows.
pub(crate) fn row_count(tables: &Tables) -> usize {
    (tables.end - START) / tables.row
}

/// Bytes of all records.
pub(crate) fn records_size(tables: &Tables) -> usize {
    row_count(tables) * record_size(tables)
}

fn record_size(tables: &Tables) -> usize {
    ROW + ACTION * tables.actions
}

/// The problem on a card.
pub(crate) struct CardProblem<'c> {
    rows: Memory<'c>,
    short_rows: Option<Memory<'c>>,
    bounds: Memory<'c>,
    nexts: Memory<'c>,
    starts: Memory<'c>,
    losses: Memory<'c>,
    first_sums: Memory<'c>,
    benchmark_entries: Memory<'c>,
    good: Memory<'c>,
    job: Job,
}

impl<'c> CardProblem<'c> {
    pub(crate) fn new(
        card: &'c dyn Card,
        tables: &Tables,
        horizon: usize,
        entries: &Entries,
        is_sparse: bool,
        benchmark: Option<&BenchmarkPairs>,
    ) -> Result<CardProblem<'c>, GpuError> {
        let size = record_size(tables);
        let offset = |row: usize| ((row - START) / tables.row * size) as u32;
        let nexts: Vec<u32> = tables
            .nexts
            .iter()
            .map(|&row| offset(row as usize))
            .collect();
        // An action that is not allowed refers to the first entries.
        let padded = |n: usize| n.max(tables.feedbacks);
        let mut bounds = tables.bounds.clone();
        bounds.resize(padded(bounds.len()), 0.0);
        let mut nexts = nexts;
        nexts.resize(padded(nexts.len()), 0);

        let mut records = Vec::with_capacity(records_size(tables));
        for (number, row) in rows(tables).enumerate() {
            let stop = row + WORDS * tables.actions;
            let (t, _) = tables.step_and_state(stop);
            let last = if t >= horizon { LAST_STEP } else { 0 };
            let entry = entries.of_row[number];
            records.extend(tables.words[stop].to_ne_bytes());
            records.extend(u32::bytes(&[entry, number as u32 | last]));
            for a in 0..tables.actions {
                add_action(&mut records, tables, row, a, offset);
            }
        }
        let row_entries = rows(tables).zip(entries.of_row.iter().copied());
        let losses = match is_sparse {
            true => Losses::by_row(tables, row_entries),
            false => Losses::by_cause(tables, row_entries),
        };

        let (mut benchmark_entries, mut good) = (Vec::new(), Vec::new());
        for (number, row) in rows(tables).enumerate() {
            let choices = benchmark.and_then(|pairs| pairs.good_choices(tables, row));
            if let Some(choices) = choices.filter(|_| entries.of_row[number] != NO_ENTRY) {
                benchmark_entries.push(entries.of_row[number]);
                good.extend(choices.iter().map(|&is_good| u8::from(is_good)));
            }
        }

        let noises = [tables.reward_noise, tables.cost_noise];
        let any = |is: fn(&Noise) -> bool| u32::from(noises.iter().any(is));
        let has_normal = any(|noise| matches!(noise, Noise::Normal { .. }));
        let has_uniform = any(|noise| matches!(noise, Noise::Uniform { .. } | Noise::Bernoulli));
        let job = Job {
            rows_size: records.len() as u64,
            reward_noise: transform(tables.reward_noise),
            cost_noise: transform(tables.cost_noise),
            has_normal,
            // Without normal noise the processor draws three words for each step.
            has_uniform: has_uniform.max(1 - has_normal),
            actions: tables.actions as u32,
            feedbacks: tables.feedbacks as u32,
            start_count: tables.start_bounds().len() as u32,
            row_count: row_count(tables) as u32,
            record_size: size as u32,
            entries: entries.len() as u32,
            benchmark_count: benchmark_entries.len() as u32,
            row_losses: losses.of_row,
            cause_ends: losses.cause_ends,
            first_entry: entries.of_row[0],
            ..Job::default()
        };
        let is_short = tables.actions == 1
            && (job.feedbacks, job.start_count) == (2, 1)
            && (job.has_normal, job.has_uniform) == (1, 0)
            && !is_sparse;
        let short_rows = is_short.then(|| Memory::of(card, &short_rows(tables, entries)));
        Ok(CardProblem {
            rows: Memory::of(card, &records)?,
            short_rows: short_rows.transpose()?,
            bounds: Memory::of(card, &bounds)?,
            nexts: Memory::of(card, &nexts)?,
            starts: Memory::of(card, tables.start_bounds())?,
            losses: Memory::of(card, &losses.bytes)?,
            first_sums: Memory::of(card, &entries.first_sums)?,
            benchmark_entries: Memory::of(card, &benchmark_entries)?,
            good: Memory::of(card, &good)?,
            job,
        })
    }

    /// The problem's part of a job.
    pub(crate) fn job(&self) -> Job {
        Job {
            rows: self.rows.address,
            bounds: self.bounds.address,
            nexts: self.nexts.address,
            starts: self.starts.address,
            losses: self.losses.address,
            first_sums: self.first_sums.address,
            benchmark_entries: self.benchmark_entries.address,
            good: self.good.address,
            ..self.job
        }
    }

    /// The bytes of the short rows, if the problem has them.
    pub(crate) fn short_size(&self) -> Option<usize> {
        self.short_rows.as_ref().map(Memory::size)
    }

    /// The same job with short rows, if the problem has them.
    pub(crate) fn shortened(&self, job: Job) -> Job {
        match &self.short_rows {
            Some(rows) => Job {
                rows: rows.address,
                rows_size: rows.size() as u64,
                first_entry: job.first_entry.min(NO_SHORT_ENTRY.into()),
                ..job
            },
            None => job,
        }
    }
}

fn add_action(
    records: &mut Vec<u8>,
    tables: &Tables,
    row: usize,
    a: usize,
    offset: impl Fn(usize) -> u32,
) {
    let at = row + WORDS * a;
    let allowed = tables.allows(row, a);
    let (mut bound, mut next, mut first) = (0.0, [0; 2], 0);
    if allowed {
        match tables.two_next_rows(at) {
            Some(rows) => {
                bound = tables.words[at + 1];
                next = rows.map(offset);
            }
            None => first = tables.words[at + 1].to_bits() as u32,
        }
    }
    records.extend(f64::bytes(&[tables.words[at], bound]));
    records.extend(u32::bytes(&[next[0], next[1], first, u32::from(allowed)]));
}

/// The rows of a problem with one action, see `kernel/job.h`.
fn short_rows(tables: &Tables, entries: &Entries) -> Vec<u8> {
    let mut bytes = Vec::new();
    for row in rows(tables) {
        let (mut bound, mut next) = (0.0, [0; 2]);
        if tables.allows(row, 0)
            && let Some(rows) = tables.two_next_rows(row)
        {
            bound = tables.words[row + 1];
            next = rows.map(|row| (row - START) / tables.row);
        }
        let reward = tables.words[row + WORDS];
        bytes.extend(f64::bytes(&[reward, tables.words[row], bound]));
        let short = |entry: u32| u32::from(u16::try_from(entry).unwrap_or(NO_SHORT_ENTRY));
        let packed = next.map(|row| (row * SHORT_ROW) as u32 | short(entries.of_row[row]) << 16);
        bytes.extend(u32::bytes(&packed));
    }
    bytes
}

fn transform(noise: Noise) -> NoiseTransform {
    let (scale, slope, offset) = noise.transform();
    NoiseTransform {
        scale,
        slope,
        offset,
        is_bernoulli: u64::from(noise == Noise::Bernoulli),
    }
}
