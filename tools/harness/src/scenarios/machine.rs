//! The machine of a measurement: its description, processor time, and the rate of its disk.

use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use crate::Result;

/// One line with date, processors, memory, load and build.
pub(crate) fn describe() -> String {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let [processors, memory, loads] = ["/proc/cpuinfo", "/proc/meminfo", "/proc/loadavg"].map(read);
    let model = field(&processors, "model name").unwrap_or("an unknown processor");
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let kib = field(&memory, "MemTotal").and_then(|it| it.split(' ').next()?.parse::<u64>().ok());
    let memory = kib.map_or("unknown memory".into(), |kib| format!("{} GiB", kib >> 20));
    let load = loads.split_whitespace().next().unwrap_or("unknown");
    let build = match cfg!(debug_assertions) {
        true => "debug",
        false => "release",
    };
    let now = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    let date = now.split('T').next().unwrap_or_default();
    format!(
        "{date}, {cores} cores of {model}, {memory}, load before {load}, {build} build, server and clients on this machine"
    )
}

fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let mut lines = text.lines();
    let rest = lines.find_map(|line| line.strip_prefix(name))?;
    Some(rest.trim_start_matches([' ', '\t', ':']))
}

/// The processor time of a process in seconds; `None` without Linux's /proc.
pub(crate) fn processor_time(id: u32) -> Option<f64> {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // The name in parentheses may contain spaces.
    let (_, rest) = stat.rsplit_once(") ")?;
    let mut fields = rest.split_whitespace().skip(11);
    let user: f64 = fields.next()?.parse().ok()?;
    let system: f64 = fields.next()?.parse().ok()?;
    Some((user + system) / rustix::param::clock_ticks_per_second() as f64)
}

/// Appends 4 KiB and calls `fdatasync` repeatedly; returns the latencies in microseconds.
pub(crate) fn disk_latencies(folder: &Path, time: Duration) -> Result<Vec<u32>> {
    let path = folder.join("disk");
    let mut file = std::fs::File::create(&path)?;
    let (started, mut latencies) = (Instant::now(), Vec::new());
    while started.elapsed() < time {
        let since = Instant::now();
        file.write_all(&[7; 4096])?;
        file.sync_data()?;
        latencies.push(since.elapsed().as_micros() as u32);
    }
    std::fs::remove_file(&path)?;
    Ok(latencies)
}
