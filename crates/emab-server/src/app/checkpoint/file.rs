//! The file of checkpoints, on another disk or machine. A thread appends to it, so that a slow or missing disk does not delay
//! writes; what cannot be written is tried again.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use prometheus_client::metrics::counter::Counter;

/// The pause before a failed write is tried again.
const PAUSE: Duration = Duration::from_secs(1);
/// How long the end of the service waits for the file.
const END: Duration = Duration::from_secs(2);
/// No line is longer.
const MAX_LINE: u64 = 4_096;
/// How every line begins.
const BEGIN: &[u8] = b"{\"emab_checkpoint\":";

#[derive(Default)]
struct Queue {
    /// The latest statement of each study.
    lines: BTreeMap<String, String>,
    writing: bool,
}

struct Shared {
    queue: Mutex<Queue>,
    changed: Condvar,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        // The queue is consistent whenever the lock is released, also by a panic.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Appends to the file. Dropping it waits briefly for what is queued.
pub struct CheckpointFile(Arc<Shared>);

impl CheckpointFile {
    /// Starts the thread; `errors` counts failed writes.
    pub fn start(path: PathBuf, errors: Counter) -> io::Result<CheckpointFile> {
        let shared = Arc::new(Shared {
            queue: Mutex::default(),
            changed: Condvar::new(),
        });
        let queue = shared.clone();
        let thread = std::thread::Builder::new().name("checkpoints".into());
        thread.spawn(move || write_lines(&queue, &path, &errors))?;
        Ok(CheckpointFile(shared))
    }

    /// Queues the statement of a study; an earlier one that is not written yet is replaced.
    pub fn append(&self, study: String, line: String) {
        self.0.lock().lines.insert(study, line);
        self.0.changed.notify_all();
    }
}

impl Drop for CheckpointFile {
    fn drop(&mut self) {
        let waiting = |queue: &mut Queue| queue.writing || !queue.lines.is_empty();
        let _ = self
            .0
            .changed
            .wait_timeout_while(self.0.lock(), END, waiting);
    }
}

fn write_lines(shared: &Shared, path: &Path, errors: &Counter) {
    let mut failing = false;
    loop {
        let mut queue = shared.lock();
        queue.writing = false;
        shared.changed.notify_all();
        let idle = |queue: &mut Queue| queue.lines.is_empty();
        let waited = shared.changed.wait_while(queue, idle);
        queue = waited.unwrap_or_else(PoisonError::into_inner);
        queue.writing = true;
        let lines = std::mem::take(&mut queue.lines);
        drop(queue);
        let text: String = lines.values().flat_map(|line| [line, "\n"]).collect();
        match append(path, text.as_bytes()) {
            Ok(()) if failing => {
                failing = false;
                tracing::info!(file = %path.display(), "checkpoints are written again");
            }
            Ok(()) => {}
            Err(error) => {
                errors.inc();
                if !std::mem::replace(&mut failing, true) {
                    tracing::warn!(%error, file = %path.display(), "checkpoints cannot be written");
                }
                let mut queue = shared.lock();
                for (study, line) in lines {
                    queue.lines.entry(study).or_insert(line);
                }
                drop(queue);
                std::thread::sleep(PAUSE);
            }
        }
    }
}

/// Appends whole lines and waits until they are on disk. The file is opened each time: it may be moved or mounted meanwhile.
fn append(path: &Path, lines: &[u8]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let mut file = options.read(true).append(true).create(true).open(path)?;
    let length = file.metadata()?.len();
    let mut first = Vec::new();
    (&file).take(BEGIN.len() as u64).read_to_end(&mut first)?;
    if !BEGIN.starts_with(&first) {
        return Err(io::Error::other("the file contains something else"));
    }
    // A line that a crash has cut off is removed.
    let mut tail = Vec::new();
    file.seek(SeekFrom::Start(length.saturating_sub(MAX_LINE)))?;
    (&file).take(MAX_LINE).read_to_end(&mut tail)?;
    let cut = tail.iter().rev().take_while(|byte| **byte != b'\n').count();
    if cut > 0 {
        file.set_len(length - cut as u64)?;
    }
    file.write_all(lines)?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removes_a_line_that_is_cut_off() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("checkpoints");
        let [one, two, cut] = ["1}\n", "2}\n", "2"].map(|end| [BEGIN, end.as_bytes()].concat());
        append(&path, &[&*one, &*cut].concat()).unwrap();
        append(&path, &two).unwrap();
        append(&path, &one).unwrap();
        let whole = [&*one, &*two, &*one].concat();
        assert_eq!(std::fs::read(&path).unwrap(), whole);
        std::fs::write(&path, "another file").unwrap();
        append(&path, &one).unwrap_err();
        assert_eq!(std::fs::read(&path).unwrap(), b"another file");
    }

    #[test]
    fn writes_when_the_file_is_there_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("elsewhere/checkpoints");
        let errors = Counter::default();
        let file = CheckpointFile::start(path.clone(), errors.clone()).unwrap();
        file.append("a".into(), "old".into());
        while errors.get() == 0 {
            std::thread::sleep(Duration::from_millis(5));
        }
        file.append("a".into(), "new".into());
        file.append("b".into(), "other".into());
        std::fs::create_dir(folder.path().join("elsewhere")).unwrap();
        drop(file);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "new\nother\n");
    }
}
