//! The records of single runs in a result folder: one of fixed size for each learner and run.
//!
//! The position of a record depends on its learner and run alone, so the order in which runs end does not change the file, and
//! memory does not grow with the number of runs. Each record has a checksum; a run that is missing or damaged is noticed.

use std::fs::{File, OpenOptions};
use std::io::{BufReader, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::PathBuf;

use super::result_folder::{FileError, Folder, FolderError, failed};
use super::run::Experiment;
use crate::error::SimError;
use crate::results::RunRecord;

/// The name of the file.
pub(super) const RECORDS: &str = "runs.bin";

/// Where the records of an experiment are.
#[derive(Clone)]
struct Layout {
    labels: Vec<String>,
    runs: Range<u64>,
    /// Recorded episodes of a run.
    episodes: usize,
}

impl Layout {
    fn new(experiment: &Experiment) -> Layout {
        let labels = experiment.learners().iter();
        Layout {
            labels: labels.map(|learner| learner.label().into()).collect(),
            runs: experiment.share(),
            episodes: experiment.recorded_episodes().len(),
        }
    }

    /// Regret and gain for each episode, flags and checksum.
    fn size(&self) -> usize {
        16 * self.episodes + 8
    }

    fn position(&self, learner: usize, run: u64) -> u64 {
        let runs = self.runs.end - self.runs.start;
        (learner as u64 * runs + (run - self.runs.start)) * self.size() as u64
    }

    fn encode(&self, record: &RunRecord, out: &mut Vec<u8>) {
        let start = out.len();
        for (regret, gain) in &record.at {
            out.extend(regret.to_le_bytes());
            out.extend(gain.to_le_bytes());
        }
        let flags = WRITTEN
            | record
                .stuck
                .map_or(0, |stuck| KNOWN | if stuck { STUCK } else { 0 });
        out.extend(flags.to_le_bytes());
        let checksum = checksum(record.run, &out[start..]);
        out.extend(checksum.to_le_bytes());
    }

    /// The record of a run; none if it is missing or damaged.
    fn decode(&self, run: u64, bytes: &[u8]) -> Option<RunRecord> {
        let (content, stored) = bytes.split_at_checked(bytes.len().checked_sub(4)?)?;
        if checksum(run, content).to_le_bytes() != stored {
            return None;
        }
        let (values, flags) = content.split_at_checked(16 * self.episodes)?;
        let flags = u32::from_le_bytes(flags.try_into().ok()?);
        let number = |bytes: &[u8]| bytes.try_into().ok().map(f64::from_le_bytes);
        let pair = |bytes: &[u8]| Some((number(&bytes[..8])?, number(&bytes[8..])?));
        let at = values.chunks_exact(16).map(pair).collect::<Option<_>>()?;
        let stuck = (flags & KNOWN != 0).then_some(flags & STUCK != 0);
        (flags & WRITTEN != 0).then_some(RunRecord { run, stuck, at })
    }
}

const WRITTEN: u32 = 1;
const KNOWN: u32 = 2;
const STUCK: u32 = 4;

/// Depends on the run too, so that a record at another position is noticed.
fn checksum(run: u64, content: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&run.to_le_bytes());
    hasher.update(content);
    hasher.finalize()
}

/// Writes the records of finished runs.
pub struct RecordWriter {
    layout: Layout,
    file: File,
    path: PathBuf,
}

impl RecordWriter {
    /// Opens the records of an experiment in a folder, which may have some already.
    pub(super) fn open(
        folder: &Folder,
        experiment: &Experiment,
    ) -> Result<RecordWriter, FileError> {
        let path = folder.file(RECORDS);
        let options = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path);
        Ok(RecordWriter {
            layout: Layout::new(experiment),
            file: options.map_err(failed("write", &path))?,
            path,
        })
    }

    /// Writes the records of some runs of a learner. Fails with [`SimError::Record`].
    pub fn write(&mut self, learner: usize, mut records: Vec<RunRecord>) -> Result<(), SimError> {
        records.sort_unstable_by_key(|record| record.run);
        let mut bytes = Vec::new();
        // Runs that follow each other are written at once.
        for runs in records.chunk_by(|one, next| one.run + 1 == next.run) {
            bytes.clear();
            runs.iter()
                .for_each(|record| self.layout.encode(record, &mut bytes));
            let position = self.layout.position(learner, runs[0].run);
            let written = self.file.seek(SeekFrom::Start(position));
            let written = written.and_then(|_| self.file.write_all(&bytes));
            let failed = failed("write", &self.path);
            written.map_err(|error| SimError::Record(failed(error).to_string()))?;
        }
        Ok(())
    }

    /// Waits until everything written is on the disk. A state that has a run must not be saved before.
    pub fn sync(&self) -> Result<(), FileError> {
        self.file.sync_data().map_err(failed("write", &self.path))
    }
}

/// The records of an experiment, or of all its shards: by learner, then by run. A clone begins anew.
pub struct RecordReader {
    parts: Vec<(Layout, PathBuf)>,
    /// The learner, the part and the run that come next.
    learner: usize,
    part: usize,
    run: u64,
    file: Option<BufReader<File>>,
}

impl RecordReader {
    /// The records in these folders, each with its part of the experiment, in the order of their runs. None if a folder has no
    /// records, as those of earlier versions.
    pub(super) fn open(parts: &[(&Folder, Experiment)]) -> Option<RecordReader> {
        let part = |(folder, experiment): &(&Folder, Experiment)| {
            let recorded = !experiment.recorded_episodes().is_empty() && folder.has(RECORDS);
            recorded.then(|| (Layout::new(experiment), folder.file(RECORDS)))
        };
        let parts: Vec<(Layout, PathBuf)> = parts.iter().map(part).collect::<Option<_>>()?;
        (!parts.is_empty()).then(|| RecordReader::of(parts))
    }

    fn of(parts: Vec<(Layout, PathBuf)>) -> RecordReader {
        let run = parts.first().map_or(0, |(layout, _)| layout.runs.start);
        RecordReader {
            parts,
            learner: 0,
            part: 0,
            run,
            file: None,
        }
    }

    fn read(&mut self) -> Result<Option<(usize, RunRecord)>, FolderError> {
        loop {
            let Some((layout, path)) = self.parts.get(self.part) else {
                let Some((first, _)) = self.parts.first() else {
                    return Ok(None); // after an error
                };
                self.run = first.runs.start;
                (self.part, self.learner, self.file) = (0, self.learner + 1, None);
                continue;
            };
            let Some(label) = layout.labels.get(self.learner) else {
                return Ok(None);
            };
            if self.run == layout.runs.end {
                (self.part, self.file) = (self.part + 1, None);
                self.run = self
                    .parts
                    .get(self.part)
                    .map_or(0, |(layout, _)| layout.runs.start);
                continue;
            }
            let failed = failed("read", path);
            let file = match &mut self.file {
                Some(file) => file,
                None => {
                    let mut file = File::open(path).map_err(&failed)?;
                    let position = layout.position(self.learner, self.run);
                    file.seek(SeekFrom::Start(position)).map_err(&failed)?;
                    self.file.insert(BufReader::with_capacity(1 << 16, file))
                }
            };
            let mut bytes = vec![0; layout.size()];
            let read = file.read_exact(&mut bytes);
            let record = read.ok().and_then(|()| layout.decode(self.run, &bytes));
            let Some(record) = record else {
                let what = format!(
                    "the record of run {} of {label} is missing or changed",
                    self.run
                );
                return Err(FolderError::Damaged(path.display().to_string(), what));
            };
            self.run += 1;
            return Ok(Some((self.learner, record)));
        }
    }
}

impl Clone for RecordReader {
    fn clone(&self) -> RecordReader {
        RecordReader::of(self.parts.clone())
    }
}

impl Iterator for RecordReader {
    type Item = Result<(usize, RunRecord), FolderError>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.read();
        if next.is_err() {
            self.parts.clear();
        }
        next.transpose()
    }
}
