//! `emab export`: writes a table of a study, also while the service runs.

use std::fs::File;
use std::io::{Read, Write};

use emab_server::log_source::find_study;
use emab_server::store::{Address, Head, Store};
use emab_server::tables::{Format, Table, codebook, write};
use emab_sim::{NewFile, quoted};
use serde_json::json;

use crate::args::{self, Export};
use crate::commands::ending;
use crate::error::CommandError;
use crate::terminal;

pub fn export(args: &Export, as_json: bool) -> Result<(), CommandError> {
    let format = format(args)?;
    let name = args.table.name();
    if args.table == Table::Codebook {
        let bytes = codebook(format).map_err(work)?;
        let file = NewFile::reserve(&args.out, args.force)?;
        file.write(|mut out| {
            out.write_all(&bytes).map_err(work)?;
            Ok::<_, CommandError>((out, ()))
        })?;
        let document = json!({ "file": args.out, "table": name });
        return terminal::show(as_json, &document, || quoted(&args.out));
    }
    let mut store = open(&address(args)?)?;
    let head = find_study(&mut *store, args.study.as_deref())?;
    let file = NewFile::reserve(&args.out, args.force)?;
    let rows =
        file.write(|out| write(&mut *store, &head, args.table, format, out).map_err(work))?;
    let Head {
        name: study,
        seq,
        hash,
        details,
        ..
    } = &head;
    let at = details.at.as_ref();
    let document = json!({
        "file": args.out, "table": name, "rows": rows, "study": study, "seq": seq, "at": at, "hash": hash,
    });
    terminal::show(as_json, &document, || {
        let out = quoted(&args.out);
        let of = at.map_or(String::new(), |at| format!(" of {at}"));
        format!("{out}: {rows} rows of study {study}, up to event {seq}{of}")
    })
}

fn work(error: impl std::fmt::Display) -> CommandError {
    CommandError::Work(error.to_string())
}

/// The format that is named, or the one of the file's ending.
fn format(args: &Export) -> Result<Format, CommandError> {
    let named = args.format.as_deref();
    match named.unwrap_or_else(|| ending(&args.out)) {
        "csv" => Ok(Format::Csv),
        "parquet" => Ok(Format::Parquet),
        _ => Err(CommandError::Input(format!(
            "{} ends neither in .csv nor in .parquet: name the format with --format",
            quoted(&args.out)
        ))),
    }
}

/// The store that is named, or that of `EMAB_STORE`.
fn address(args: &Export) -> Result<Address, CommandError> {
    let Some(place) = args.store.as_deref() else {
        let store = args::store(None)?;
        return store.ok_or_else(|| CommandError::input("name a store, or set EMAB_STORE to one"));
    };
    match place.split_once(':') {
        Some(("postgres" | "postgresql" | "sqlite", _)) => {
            place.parse().map_err(CommandError::Input)
        }
        Some(("http" | "https", rest)) if rest.starts_with("//") => Err(CommandError::input(
            "a store is expected, not the URL of a service; GET …/studies/NAME/decisions of the service with `Accept: text/csv` \
             is the same table",
        )),
        _ => Ok(Address::Sqlite(place.into())),
    }
}

/// Opens a snapshot of a store: the service may write meanwhile.
fn open(address: &Address) -> Result<Box<dyn Store>, CommandError> {
    if let Address::Sqlite(file) = address {
        let mut begin = Vec::new();
        File::open(file)
            .and_then(|opened| opened.take(16).read_to_end(&mut begin))
            .map_err(|error| {
                CommandError::Input(format!("cannot read {}: {error}", quoted(file)))
            })?;
        let what = match begin.first() {
            // A new store is an empty file.
            None => "",
            Some(b'{') => {
                "is JSON, such as an export of a study, and a store is needed: POST …/studies/NAME:import of a service takes an \
                 export, and `emab audit` checks one"
            }
            Some(_) if !begin.starts_with(b"SQLite format 3") => {
                "is not a store: name the SQLite file of `emab serve`"
            }
            Some(_) => "",
        };
        if !what.is_empty() {
            return Err(CommandError::Input(format!("{} {what}", quoted(file))));
        }
    }
    let mut store = address.inspect().map_err(work)?;
    store.begin_snapshot().map_err(work)?;
    Ok(store)
}
