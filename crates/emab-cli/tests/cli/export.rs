//! `emab export`: tables from a store.

use std::fs;

use crate::audit::{write, written};
use crate::common::{json, said};
use crate::test_dir::TestDir;
use emab_server::store::postgres::Postgres;
use emab_server::store::sqlite::Sqlite;
use emab_server::store::{Backend, Store};
use emab_server::tables::{self, Format, Table};
use emab_testkit::postgres::Server;

/// The bytes that the service sends.
fn sent(store: &mut dyn Store, table: Table, format: Format) -> Vec<u8> {
    store.begin_snapshot().unwrap();
    let head = store.head("clinic").unwrap().unwrap();
    let bytes = tables::write(store, &head, table, format, Vec::new());
    store.rollback();
    bytes.unwrap().0
}

#[test]
fn the_file_has_the_bytes_of_the_service() {
    let (dir, events) = written();
    let mut store = Sqlite::inspect(dir.at("studies.db").as_ref()).unwrap();
    for table in Table::ALL {
        let name = table.name();
        for (ending, format) in [("csv", Format::Csv), ("parquet", Format::Parquet)] {
            let file = format!("{name}.{ending}");
            let call = format!("export @/studies.db --study clinic --table {name} --out @/{file}");
            let (out, _) = said(&dir.call(&call));
            assert!(out.contains(&file), "{out}");
            let found = fs::read(dir.at(&file)).unwrap();
            assert!(found == sent(&mut *store, table, format), "{file}");
        }
    }
    let call =
        "export sqlite:@/studies.db --study clinic --table decisions --format csv --out @/x --json";
    let document = json(&dir.call(call));
    assert_eq!(document["rows"], 1);
    assert_eq!(document["seq"], 3);
    assert_eq!(document["hash"], events[2].hash);
    let text = fs::read_to_string(dir.at("x")).unwrap();
    let row = text.lines().nth(1).unwrap();
    assert!(row.starts_with("p1,1,0,stop,learner,,,false,did not come back,,,,abandoned,false,true,,false,2,2026-01-01T00:00:00.000000Z,"), "{row}");
    // No part of a file is left.
    let files = fs::read_dir(dir.at(".")).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    assert!(!names.into_iter().any(|name| name.contains(".part")));
}

#[test]
fn an_existing_file_is_kept() {
    let (dir, _) = written();
    let file = dir.write("old.csv", "mine");
    dir.write("export.jsonl", "{\"emab_export\":2}\n");
    dir.rejects_each(
        2,
        "
        export @/studies.db --study clinic --table episodes --out @/old.csv => exists | --force
        export @/studies.db --study clinic --table episodes --out @/new.txt => --format
        export @/studies.db --study clinic --table cases --out @/new.csv    => episodes | codebook
        export @/studies.db --study nowhere --table episodes --out @/new.csv => no study `nowhere`
        export @/studies.db --study clinc --table episodes --out @/new.csv  => did you mean `clinic`?
        export @/studies.db --table episodes --out @/new.csv                => several studies; there are `clinic`, `ward` | --study
        export @/old.csv --table episodes --out @/new.csv                   => old.csv is not a store
        export @/export.jsonl --table episodes --out @/new.csv              => is JSON, such as an export of a study | emab audit
        export @/none.db --table episodes --out @/new.csv                   => cannot read
        export http://x/ --table episodes --out @/new.csv                   => text/csv
        ",
    );
    dir.rejects_each(
        1,
        "
        export @/studies.db --study clinic --table episodes --out @/no/x.csv => cannot write
        ",
    );
    assert_eq!(fs::read_to_string(&file).unwrap(), "mine");
    assert!(fs::metadata(dir.at("new.csv")).is_err());
    said(&dir.call("export @/studies.db --study ward --table episodes --out @/old.csv --force"));
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.starts_with("episode,status,"), "{text}");
    assert!(
        text.contains("\np1,abandoned,1,0,abandon,did not come back,0,"),
        "{text}"
    );
}

#[test]
fn tables_of_a_postgres_store() {
    let server = Server::shared().unwrap();
    let url = server.database("export_tables").unwrap();
    let dir = TestDir::new();
    {
        let store = Postgres::open(&url).unwrap();
        write(&mut *store.writer().unwrap(), "clinic");
    }
    said(&dir.call(&format!(
        "export {url} --table decisions --out @/decisions.csv"
    )));
    let mut store = Postgres::inspect(&url).unwrap();
    let found = fs::read(dir.at("decisions.csv")).unwrap();
    assert!(found == sent(&mut *store, Table::Decisions, Format::Csv));
}
