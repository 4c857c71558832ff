//! How often a second a disk can be made to keep something: what no store can beat one by one.

use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use super::Figures;

/// Appends 4 KiB and waits for the disk (`fdatasync`), again and again.
pub fn syncs(folder: &Path, time: Duration) -> Result<Figures, String> {
    let path = folder.join("syncs");
    let wrong = |error: std::io::Error| format!("{}: {error}", path.display());
    let mut file = std::fs::File::create(&path).map_err(wrong)?;
    let page = [7; 4096];
    let begun = Instant::now();
    let mut times = Vec::new();
    while begun.elapsed() < time {
        let since = Instant::now();
        file.write_all(&page).map_err(wrong)?;
        file.sync_data().map_err(wrong)?;
        times.push(since.elapsed().as_micros() as u32);
    }
    let took = begun.elapsed();
    std::fs::remove_file(&path).map_err(wrong)?;
    Ok(Figures::of(times, took))
}
