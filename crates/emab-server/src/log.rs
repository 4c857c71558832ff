//! The log of the service: lines go through a bounded queue to a thread that writes them, so that a reader of the log that stalls
//! does not stall the service. Lines that do not fit are dropped and counted.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use prometheus_client::metrics::counter::Counter;

/// The largest number of queued bytes.
const QUEUE: usize = 256 << 10;
/// The pause before a write to a full, non-blocking output is tried again.
const PAUSE: Duration = Duration::from_millis(20);

#[derive(Default)]
struct Queue {
    lines: VecDeque<Vec<u8>>,
    bytes: usize,
    /// Whether the thread is writing a line.
    writing: bool,
    /// Lines dropped since the last line that says so.
    dropped: u64,
}

struct Shared {
    queue: Mutex<Queue>,
    changed: Condvar,
    dropped: Counter,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        // The queue is consistent whenever the lock is released, also by a panic.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn drop_lines(&self, queue: &mut Queue, lines: u64) {
        queue.dropped += lines;
        self.dropped.inc_by(lines);
    }
}

/// Writes log lines without blocking. Each call of [`Write::write`] is one line; clones share the queue.
#[derive(Clone)]
pub struct LogWriter(Arc<Shared>);

impl LogWriter {
    /// Starts the thread that writes to `out`; `dropped` counts the lines that are lost.
    pub fn start(out: impl Write + Send + 'static, dropped: Counter) -> io::Result<LogWriter> {
        let shared = Arc::new(Shared {
            queue: Mutex::default(),
            changed: Condvar::new(),
            dropped,
        });
        let queue = shared.clone();
        let thread = std::thread::Builder::new().name("log".into());
        thread.spawn(move || write_lines(&queue, out))?;
        Ok(LogWriter(shared))
    }

    /// Waits until all queued lines are written, but no longer than `limit`.
    pub fn flush_within(&self, limit: Duration) {
        let waiting = |queue: &mut Queue| queue.writing || !queue.lines.is_empty();
        let queue = self.0.lock();
        let _ = self.0.changed.wait_timeout_while(queue, limit, waiting);
    }
}

impl Write for LogWriter {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let mut queue = self.0.lock();
        if queue.bytes + line.len() > QUEUE {
            self.0.drop_lines(&mut queue, 1);
        } else {
            queue.bytes += line.len();
            queue.lines.push_back(line.into());
            self.0.changed.notify_all();
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn write_lines(shared: &Shared, mut out: impl Write) {
    loop {
        let mut queue = shared.lock();
        queue.writing = false;
        shared.changed.notify_all();
        let idle = |queue: &mut Queue| queue.lines.is_empty();
        let waited = shared.changed.wait_while(queue, idle);
        queue = waited.unwrap_or_else(PoisonError::into_inner);
        queue.writing = true;
        let Some(line) = queue.lines.pop_front() else {
            continue;
        };
        queue.bytes -= line.len();
        drop(queue);
        let written = write_line(&mut out, &line);
        let mut queue = shared.lock();
        if written.is_err() {
            shared.drop_lines(&mut queue, 1);
            continue;
        }
        let lines = std::mem::take(&mut queue.dropped);
        drop(queue);
        if lines > 0 && write_line(&mut out, dropped_line(lines).as_bytes()).is_err() {
            // Reported after the next line that can be written; the metric counts them already.
            shared.lock().dropped += lines;
        }
    }
}

/// In the form of the other lines.
fn dropped_line(lines: u64) -> String {
    let now = humantime::format_rfc3339_micros(crate::clock::now());
    let message = "log lines were dropped: the reader of the log is too slow";
    let fields = serde_json::json!({ "message": message, "lines": lines });
    format!(
        "{{\"timestamp\":\"{now}\",\"level\":\"WARN\",\"fields\":{fields},\"target\":\"{}\"}}\n",
        module_path!()
    )
}

fn write_line(out: &mut impl Write, mut line: &[u8]) -> io::Result<()> {
    while !line.is_empty() {
        match out.write(line) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(n) => line = &line[n..],
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => std::thread::sleep(PAUSE),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};

    use super::*;

    #[test]
    fn drops_and_counts_lines_while_the_output_is_blocked() {
        let (reader, pipe) = io::pipe().unwrap();
        let dropped = Counter::default();
        let mut log = LogWriter::start(pipe, dropped.clone()).unwrap();
        let line = [&[b'x'; 1023][..], b"\n"].concat();
        // More than the queue and any pipe hold.
        for _ in 0..3 * QUEUE / line.len() {
            log.write_all(&line).unwrap();
        }
        let lost = dropped.get();
        assert!(lost > 0);
        log.flush_within(Duration::from_millis(1));

        let mut said = 0;
        // It stays open: a closed output drops lines, too.
        let mut reader = BufReader::new(reader);
        for line in (&mut reader).lines().map(Result::unwrap) {
            if line.starts_with('{') {
                let line: serde_json::Value = serde_json::from_str(&line).unwrap();
                said += line["fields"]["lines"].as_u64().unwrap();
                assert_eq!(line["level"], "WARN");
            }
            if said == lost {
                break;
            }
        }
        assert_eq!(dropped.get(), lost);
    }

    #[test]
    fn a_closed_output_drops_lines() {
        let (reader, pipe) = io::pipe().unwrap();
        drop(reader);
        let dropped = Counter::default();
        let mut log = LogWriter::start(pipe, dropped.clone()).unwrap();
        log.write_all(b"line\n").unwrap();
        log.flush_within(Duration::from_secs(20));
        assert_eq!(dropped.get(), 1);
    }
}
