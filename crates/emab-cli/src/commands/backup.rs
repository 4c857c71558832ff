//! `emab backup`: copies a SQLite store, also while the service runs.

use std::path::{Path, PathBuf};

use emab_server::store::sqlite::backup as copy;
use emab_server::store::{Address, StoreError};
use serde_json::json;

use crate::args::Backup;
use crate::error::CommandError;
use crate::terminal;

pub fn backup(args: &Backup, as_json: bool) -> Result<(), CommandError> {
    let from = source(&args.store)?;
    // Names the missing file before a target is created.
    std::fs::metadata(&from)
        .map_err(|error| CommandError::Input(format!("cannot read {}: {error}", from.display())))?;
    let bar = terminal::progress(0);
    bar.set_message("copying");
    let mut watch = |copied, pages| {
        bar.set_length(pages);
        bar.set_position(copied);
    };
    let copied = copy(&from, &args.to, args.force, &mut watch);
    bar.finish_and_clear();
    copied.map_err(|error| match error {
        // Its text names the file, which may be the target.
        StoreError::Unavailable(what) => CommandError::Work(what),
        other => CommandError::Work(other.to_string()),
    })?;
    let bytes = std::fs::metadata(&args.to).map_or(0, |found| found.len());
    let document = json!({ "file": args.to, "bytes": bytes });
    terminal::show(as_json, &document, || {
        let to = args.to.display();
        format!("{to}: {bytes} bytes; `emab audit {to}` verifies it")
    })
}

/// The file of a SQLite store.
fn source(place: &str) -> Result<PathBuf, CommandError> {
    match place.split_once(':') {
        Some(("postgres" | "postgresql", _)) => Err(CommandError::input(
            "a PostgreSQL store is backed up with its own tools: `pg_dump --format=custom --file=FILE`, restored with \
             `pg_restore`; `emab audit` verifies the restored database",
        )),
        Some(("sqlite", _)) => match place.parse().map_err(CommandError::Input)? {
            Address::Sqlite(file) => Ok(file),
            Address::Postgres(_) => Err(CommandError::input("a SQLite store is expected")),
        },
        _ => Ok(Path::new(place).to_path_buf()),
    }
}
