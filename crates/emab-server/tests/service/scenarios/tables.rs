//! Episodes, decisions and estimates as CSV and Parquet.

use std::collections::BTreeMap;

use axum::http::HeaderMap;
use bytes::Bytes;
use emab_server::domain::tables::{self, Column};
use emab_server::store::sqlite::Sqlite;
use emab_server::tables::{Format, Table, write};
use emab_testkit::postgres::Server;
use http_body_util::BodyExt;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use serde_json::{Value, json};
use tower::ServiceExt;

use super::postgres_replicas::copy;
use crate::support::study::{StudyClient, clinic};
use crate::support::{STUDY, TestServer, request, study_with};

const CSV: &str = "text/csv";
const PARQUET: &str = "application/vnd.apache.parquet";

/// A row by the names of its columns; a missing value has none.
type Row = BTreeMap<String, String>;

/// The rows of a CSV text, as any reader of RFC 4180 reads them.
fn read_csv(text: &str) -> Vec<Vec<Option<String>>> {
    let (mut rows, mut row) = (Vec::new(), Vec::new());
    let mut rest = text;
    while !rest.is_empty() {
        let field = match rest.strip_prefix('"') {
            Some(quoted) => {
                let mut field = String::new();
                let mut quoted = quoted;
                loop {
                    let (part, after) = quoted.split_once('"').unwrap();
                    field.push_str(part);
                    match after.strip_prefix('"') {
                        Some(_) => field.push('"'),
                        None => {
                            rest = after;
                            break;
                        }
                    }
                    quoted = &after[1..];
                }
                Some(field)
            }
            None => {
                let end = rest.find([',', '\n']).unwrap();
                let field = rest[..end].to_owned();
                rest = &rest[end..];
                Some(field).filter(|field| !field.is_empty())
            }
        };
        row.push(field);
        if rest.starts_with('\n') {
            rows.push(std::mem::take(&mut row));
        }
        rest = &rest[1..];
    }
    rows
}

fn csv_rows(text: &str) -> Vec<Row> {
    let mut rows = read_csv(text).into_iter();
    let names: Vec<String> = rows.next().unwrap().into_iter().flatten().collect();
    let row = |cells: Vec<Option<String>>| {
        assert_eq!(cells.len(), names.len());
        let cells = names.iter().cloned().zip(cells);
        cells
            .filter_map(|(name, cell)| Some((name, cell?)))
            .collect()
    };
    rows.map(row).collect()
}

fn parquet_rows(bytes: Bytes) -> Vec<Row> {
    let reader = SerializedFileReader::new(bytes).unwrap();
    let rows = reader.get_row_iter(None).unwrap().map(|row| {
        let cells = row.unwrap().into_columns().into_iter();
        cells
            .filter_map(|(name, field)| match field {
                Field::Null => None,
                Field::Str(text) => Some((name, text)),
                Field::Double(value) => Some((name, value.to_string())),
                Field::ULong(value) => Some((name, value.to_string())),
                Field::Bool(value) => Some((name, value.to_string())),
                other => panic!("{name}: {other}"),
            })
            .collect()
    });
    rows.collect()
}

impl StudyClient {
    async fn table(&self, token: &str, path: &str, accept: &str) -> (HeaderMap, Bytes) {
        let path = self.path(path);
        let request = request(token, "GET", &path, &[("accept", accept)], "");
        let (status, headers, bytes) = self.server.send_for_bytes(request).await;
        assert_eq!(status, 200, "{}", String::from_utf8_lossy(&bytes));
        (headers, bytes)
    }

    async fn csv(&self, path: &str) -> Vec<Row> {
        let (headers, bytes) = self.table(&self.server.admin, path, CSV).await;
        assert_eq!(headers["content-type"], "text/csv; charset=utf-8");
        csv_rows(std::str::from_utf8(&bytes).unwrap())
    }
}

fn text(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        Value::Number(number) if number.is_f64() => Some(number.as_f64().unwrap().to_string()),
        other => Some(other.to_string()),
    }
}

async fn every_command() -> StudyClient {
    let client = clinic().await;
    client.send_all().await;
    client
}

#[tokio::test]
async fn the_decisions_contain_every_episode() {
    let client = every_command().await;
    let rows = client.csv("/decisions").await;
    let episodes = client.get("/episodes").await.is(200).at("/episodes");
    let mut left = rows.as_slice();
    for episode in episodes.as_array().unwrap() {
        let id = episode["episode"].as_str().unwrap();
        let view = client.get(&format!("/episodes/{id}")).await.is(200).json();
        let steps = view["steps"].as_array().unwrap();
        let (of_episode, rest) = left.split_at(steps.len());
        left = rest;
        for ((i, row), step) in of_episode.iter().enumerate().zip(steps) {
            let decision = &step["decision"];
            let outcome = |list: &str| view["outcome"][list][i].clone();
            let by = match &step["decided_by"] {
                Value::Null => decision["decided_by"].clone(),
                by => by.clone(),
            };
            for (column, value) in [
                ("episode", &view["episode"]),
                ("step", &step["step"]),
                ("state", &step["state"]),
                ("recommended", &decision["action"]),
                ("decided_by", &by),
                ("action", &step["action"]),
                ("feedback", &step["feedback"]),
                ("override", &step["override"]),
                ("reason", &step["reason"]),
                ("corrected", &step["corrected"]),
                ("cost", &outcome("costs")),
                ("reward", &outcome("rewards")),
                ("status", &view["status"]),
                ("learned", &view["learned"]),
                ("imported", &view["imported"]),
                ("explored", &decision["explored"]),
                ("certificate", &decision["certificate"]),
                ("withheld", &decision["withheld"]),
                ("count", &decision["estimate"]["count"]),
                ("mean", &decision["estimate"]["mean"]),
                ("upper", &decision["estimate"]["upper"]),
                ("runner_up", &decision["runner_up"]["action"]),
                ("runner_up_lower", &decision["runner_up"]["lower"]),
            ] {
                assert_eq!(row.get(column).cloned(), text(value), "{id} {i} {column}");
            }
            let seq = decision["as_of"]
                .as_u64()
                .map(|as_of| (as_of + 1).to_string());
            assert_eq!(row.get("event").cloned(), seq);
        }
    }
    assert!(left.is_empty());
    // Times are those of the events.
    let log = client.export().await;
    let log: Vec<Value> = log
        .lines()
        .map(|it| serde_json::from_str(it).unwrap())
        .collect();
    let timed = rows
        .iter()
        .filter_map(|row| Some((row.get("event")?, row.get("at"))));
    for (event, at) in timed {
        let event = &log[event.parse::<usize>().unwrap() - 1];
        assert_eq!(at.cloned(), text(&event["at"]));
    }
}

#[tokio::test]
async fn the_episodes_are_those_of_the_list() {
    let client = every_command().await;
    let rows = client.csv("/episodes").await;
    let list = client.get("/episodes").await.is(200).at("/episodes");
    let list = list.as_array().unwrap();
    assert_eq!(rows.len(), list.len());
    for (row, view) in rows.iter().zip(list) {
        for column in "episode status step state learned voided imported opened touched".split(' ')
        {
            assert_eq!(
                row.get(column).cloned(),
                text(&view[column]),
                "{column} of {view}"
            );
        }
        let values = |list: &str| -> Option<Vec<f64>> {
            let values = view["outcome"][list].as_array()?;
            values.iter().map(Value::as_f64).collect()
        };
        let cost =
            values("costs").map(|costs| costs.iter().fold(0.0, |sum, it| sum + it).to_string());
        assert_eq!(row.get("cost").cloned(), cost, "{view}");
        assert_eq!(row["final"], (view["outcome"]["final"] == true).to_string());
        assert!(row["opened_at"].ends_with('Z') && row["touched_at"] >= row["opened_at"]);
    }
    let row = |id: &str| rows.iter().find(|row| row["episode"] == id).unwrap();
    assert_eq!(
        (
            row("p1")["reward"].as_str(),
            row("p1")["overrides"].as_str()
        ),
        ("0.65", "2")
    );
    assert_eq!(
        (row("p4")["end"].as_str(), row("p4")["reason"].as_str()),
        ("abandon", "moved away")
    );
    assert_eq!(
        (row("p3")["final"].as_str(), row("p3")["missing"].as_str()),
        ("true", "true")
    );
    // Open ones only, and a part.
    client
        .post(":reopen", r#"{"reason": "more"}"#)
        .await
        .is(200);
    client.open("q1").await.is(201);
    let open = client.csv("/episodes?open=true").await;
    assert_eq!(
        open.iter().map(|row| &*row["episode"]).collect::<Vec<_>>(),
        ["q1"]
    );
    let part = client.csv("/episodes?after=p1&limit=2").await;
    assert_eq!(
        part.iter().map(|row| &*row["episode"]).collect::<Vec<_>>(),
        ["p2", "p3"]
    );
    let part = client.csv("/decisions?after=p1&limit=3").await;
    assert_eq!(
        part.iter().map(|row| &*row["episode"]).collect::<Vec<_>>(),
        ["p2", "p2", "p3", "p3", "p3"]
    );
}

#[tokio::test]
async fn parquet_has_the_rows_of_csv_and_of_the_store() {
    let client = every_command().await;
    let admin = &client.server.admin;
    let mut store = Sqlite::inspect(&client.server.file()).unwrap();
    store.begin_snapshot().unwrap();
    let head = store.head("clinic").unwrap().unwrap();
    for table in Table::ALL {
        let path = format!("/{}", table.name());
        for (accept, format, ending) in [
            (CSV, Format::Csv, "csv"),
            (PARQUET, Format::Parquet, "parquet"),
        ] {
            let (headers, bytes) = match table {
                Table::Codebook => {
                    let request = request(admin, "GET", "/v1/codebook", &[("accept", accept)], "");
                    let (_, headers, bytes) = client.server.send_for_bytes(request).await;
                    (headers, bytes)
                }
                _ => client.table(admin, &path, accept).await,
            };
            let mut name = format!("clinic-{}.{ending}", table.name());
            if table == Table::Codebook {
                name = format!("codebook.{ending}");
            } else {
                assert_eq!(headers["emab-seq"], head.seq.to_string());
                assert_eq!(headers["emab-hash"], head.hash);
            }
            let disposition = headers["content-disposition"].to_str().unwrap();
            assert_eq!(disposition, format!("attachment; filename=\"{name}\""));
            let (file, rows) = write(&mut *store, &head, table, format, Vec::new()).unwrap();
            assert!(file == bytes, "{table:?} {format:?}");
            let found = match format {
                Format::Csv => csv_rows(std::str::from_utf8(&bytes).unwrap()),
                Format::Parquet => parquet_rows(bytes),
            };
            assert_eq!(found.len() as u64, rows);
            let (csv, _) = write(&mut *store, &head, table, Format::Csv, Vec::new()).unwrap();
            assert_eq!(found, csv_rows(std::str::from_utf8(&csv).unwrap()));
        }
    }
}

#[tokio::test]
async fn the_estimates_are_those_of_json() {
    let client = every_command().await;
    for query in ["", "?as_of=14"] {
        let json = client
            .get(&format!("/estimates{query}"))
            .await
            .is(200)
            .json();
        let (headers, bytes) = client
            .table(&client.server.viewer, &format!("/estimates{query}"), CSV)
            .await;
        assert_eq!(headers["emab-seq"], json["as_of"].to_string());
        let rows = csv_rows(std::str::from_utf8(&bytes).unwrap());
        let list = json["estimates"].as_array().unwrap();
        assert!(!list.is_empty() && rows.len() == list.len());
        for (row, value) in rows.iter().zip(list) {
            let value = value.as_object().unwrap().iter();
            let value: Row = value
                .filter_map(|(name, it)| Some((name.clone(), text(it)?)))
                .collect();
            assert_eq!(*row, value);
        }
    }
}

#[tokio::test]
async fn pages_of_decisions_are_the_table() {
    let client = every_command().await;
    let table = client.csv("/decisions").await;
    let mut rows = Vec::new();
    let mut after = String::new();
    let mut pages = 0;
    loop {
        let page = client
            .get(&format!("/decisions?limit=2&after={after}"))
            .await
            .is(200);
        for row in page.at("/decisions").as_array().unwrap() {
            let row = row.as_object().unwrap();
            assert_eq!(row.len(), tables::DECISIONS.len());
            let row = row
                .iter()
                .filter_map(|(name, it)| Some((name.clone(), text(it)?)));
            rows.push(row.collect::<Row>());
        }
        pages += 1;
        match page.at("/next") {
            Value::String(next) => after = next,
            _ => break,
        }
    }
    assert!(pages > 3);
    assert_eq!(rows, table);
}

#[tokio::test]
async fn the_form_is_negotiated() {
    let client = every_command().await;
    let server = &client.server;
    for path in ["/episodes", "/decisions", "/estimates"] {
        let path = client.path(path);
        let ask = async |path: &str, accept: &str| {
            let request = request(&server.admin, "GET", path, &[("accept", accept)], "");
            server.send(request).await
        };
        let refused = ask(&path, "text/html, application/xml;q=0.9").await;
        refused.expect_error(406).says("text/csv");
        let json = ask(&path, "*/*").await.is(200);
        assert_eq!(json.header("content-type"), "application/json");
        let csv = ask(&format!("{path}?format=csv"), "text/html")
            .await
            .is(200);
        assert_eq!(csv.header("content-type"), "text/csv; charset=utf-8");
        assert_eq!(csv.text, ask(&path, CSV).await.text);
        ask(&format!("{path}?format=xlsx"), "*/*")
            .await
            .expect_error(400);
    }
    let nowhere = server.study("nowhere");
    let request = request(
        &server.admin,
        "GET",
        &nowhere.path("/decisions"),
        &[("accept", CSV)],
        "",
    );
    server.send(request).await.expect_error(404);
}

/// The columns that JSON hides from a blinded token are empty, and so is everything that follows from outcomes.
#[tokio::test]
async fn a_blinded_token_gets_the_shown_columns_only() {
    fn hidden<R>(columns: &[Column<R>], shown: &str) -> Vec<&'static str> {
        let shown: Vec<&str> = shown.split(' ').collect();
        let names = columns.iter().map(|column| column.name);
        names.filter(|name| !shown.contains(name)).collect()
    }
    let client = every_command().await;
    let server = &client.server;
    let of_episodes = hidden(
        tables::EPISODES,
        "episode status step state end reason overrides imported opened opened_at touched start opened_by ended_at ended_by",
    );
    let of_decisions = hidden(
        tables::DECISIONS,
        "episode step state recommended action feedback override reason status imported event at reported_at reported_by",
    );
    for (path, hidden) in [("/episodes", of_episodes), ("/decisions", of_decisions)] {
        let full = client.csv(path).await;
        let (headers, bytes) = client.table(&server.blinded, path, CSV).await;
        assert!(!headers.contains_key("emab-hash"));
        let rows = csv_rows(std::str::from_utf8(&bytes).unwrap());
        let (_, bytes) = client.table(&server.blinded, path, PARQUET).await;
        assert_eq!(parquet_rows(bytes), rows);
        let page = client.path(&format!("{path}?limit=1000"));
        let page = server
            .call_as(&server.blinded, "GET", &page, None)
            .await
            .is(200);
        assert_eq!(rows.len(), full.len());
        for (row, full) in rows.iter().zip(&full) {
            let mut expected = full.clone();
            expected.retain(|name, _| !hidden.contains(&name.as_str()));
            assert_eq!(*row, expected);
        }
        if path == "/decisions" {
            for row in page.at("/decisions").as_array().unwrap() {
                assert!(hidden.iter().all(|name| row[name].is_null()), "{row}");
            }
        }
    }
    for accept in [CSV, PARQUET, "application/json"] {
        let path = client.path("/estimates");
        let request = request(&server.blinded, "GET", &path, &[("accept", accept)], "");
        server.send(request).await.expect_error(403);
    }
}

/// What people type is data, not a formula; names and reasons read back.
#[tokio::test]
async fn texts_are_no_formulas() {
    let server = TestServer::new();
    let spec = study_with(json!({"actions": ["-5 mg", "a,\"b\""], "feedbacks": ["@low", "+high"]}));
    let client = server.new_study("clinic", &spec).await;
    client.open("p1").await.is(201);
    let reason = "=HYPERLINK(\"http://x\",\"y\")\nnext line";
    let body = json!({"step": 1, "action": "-5 mg", "feedback": "@low", "reason": reason});
    client
        .post("/episodes/p1:tell", &body.to_string())
        .await
        .is(200);
    let (_, bytes) = client.table(&server.admin, "/decisions", CSV).await;
    let row = &csv_rows(std::str::from_utf8(&bytes).unwrap())[0];
    assert_eq!(row["action"], "'-5 mg");
    assert_eq!(row["feedback"], "'@low");
    assert_eq!(row["reason"], format!("'{reason}"));
    let (_, bytes) = client.table(&server.admin, "/decisions", PARQUET).await;
    assert_eq!(parquet_rows(bytes)[0]["reason"], reason);
}

/// Past episodes, as one document.
fn past(count: usize) -> String {
    let episodes = (0..count).map(|i| {
        json!({"id": format!("past-{i:05}"), "actions": ["blood"], "feedbacks": ["positive"],
            "costs": [i as f64 / 7.0], "rewards": [0.1, null]})
    });
    json!({"episodes": episodes.collect::<Vec<_>>()}).to_string()
}

impl StudyClient {
    async fn import_past(&self, count: usize) {
        let kind = [("content-type", "application/vnd.emab.episodes+json")];
        let (token, path) = (&self.server.admin, self.path(":import"));
        let request = request(token, "POST", &path, &kind, past(count));
        let answer = self.server.send(request).await.is(200);
        assert_eq!(answer.at("/taken"), count);
    }
}

/// Writes go on while a client reads, and the table has none of them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_table_is_of_one_moment() {
    let client = clinic().await;
    client.import_past(6_000).await;
    let seq = client.seq().await;
    let path = client.path("/decisions");
    let ask = request(&client.server.admin, "GET", &path, &[("accept", CSV)], "");
    let response = client.server.router.clone().oneshot(ask).await.unwrap();
    assert_eq!(response.headers()["emab-seq"], seq.to_string());
    let mut body = response.into_body();
    let first = body.frame().await.unwrap().unwrap().into_data().unwrap();
    // Far less than the table is read ahead.
    assert!(first.len() < 100_000);
    client.open("zebra").await.is(201);
    let amend = r#"{"costs": [123456.75], "reason": "mistyped"}"#;
    client.amend("past-05999", amend).await.is(200);
    let rest = body.collect().await.unwrap().to_bytes();
    let text = String::from_utf8([first, rest].concat()).unwrap();
    assert!(text.len() > 700_000, "{}", text.len());
    let rows = csv_rows(&text);
    assert_eq!(rows.len(), 12_000);
    assert!(!text.contains("zebra") && !text.contains("123456.75"));
    assert_eq!(rows[11_998]["cost"].parse::<f64>().unwrap(), 5999.0 / 7.0);
    assert_eq!(client.csv("/decisions").await.len(), 12_001);
}

/// A client that goes away in the middle frees the connection.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tables_that_are_not_read_are_limited_and_freed() {
    let client = clinic().await;
    client.import_past(6_000).await;
    let path = client.path("/decisions");
    let ask = || request(&client.server.viewer, "GET", &path, &[("accept", CSV)], "");
    let router = &client.server.router;
    let mut open = Vec::new();
    for _ in 0..2 {
        open.push(router.clone().oneshot(ask()).await.unwrap());
    }
    // A third one of this token waits; another token does not.
    let third = router.clone().oneshot(ask());
    let wait = std::time::Duration::from_millis(300);
    assert!(tokio::time::timeout(wait, third).await.is_err());
    assert_eq!(client.csv("/episodes").await.len(), 6_000);
    open.clear();
    let answer = router.clone().oneshot(ask()).await.unwrap();
    assert_eq!(answer.status(), 200);
}

#[tokio::test]
async fn past_episodes_are_imported_as_one_document() {
    let client = clinic().await;
    client.import_past(3).await;
    let send = async |kind: &str, body: String| {
        let path = client.path(":import");
        let request = request(
            &client.server.admin,
            "POST",
            &path,
            &[("content-type", kind)],
            body,
        );
        client.server.send(request).await
    };
    let document = "application/vnd.emab.episodes+json";
    assert_eq!(send(document, past(3)).await.is(200).at("/repeated"), 3);
    let lines = r#"{"id": "line", "actions": [], "feedbacks": [], "costs": [], "rewards": [1]}"#;
    let file = send("application/octet-stream", lines.into()).await.is(200);
    assert_eq!(file.at("/taken"), 1);
    let wrong = past(2)
        .replacen("blood", "surgery", 2)
        .replace("past-", "new-");
    let answer = send(document, wrong).await;
    answer.expect_error_at(422, "/episodes/0/actions/0");
    for body in [
        "",
        "[]",
        "{}",
        r#"{"episodes": []}"#,
        r#"{"episodes": [], "more": 1}"#,
        r#"{"episodes": {}}"#,
    ] {
        send(document, body.into()).await.expect_error(400);
    }
    send(document, r#"{"episodes": [7]}"#.into())
        .await
        .expect_error_at(400, "/episodes/0");
    send("text/csv", past(1))
        .await
        .expect_error(415)
        .says("octet-stream");
    client.assert_consistent().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tables_of_postgres_are_those_of_sqlite() {
    let made = tokio::task::spawn_blocking(|| {
        let server = Server::shared().unwrap();
        let url = server.database("tables").unwrap();
        (server, copy(&url))
    });
    let (_server, other) = made.await.unwrap();
    let client = every_command().await;
    let there = other.study("clinic");
    there.import(&client.export_file().await).await.is(200);
    for path in ["/episodes", "/decisions", "/estimates"] {
        for accept in [CSV, PARQUET] {
            let (_, one) = client.table(&client.server.admin, path, accept).await;
            let (_, two) = there.table(&other.admin, path, accept).await;
            assert!(one == two, "{path} {accept}");
        }
    }
    there.server.service.finish();
}

/// An answer that cannot be completed does not end as if it were complete.
#[tokio::test]
async fn a_table_of_a_damaged_store_is_cut_off() {
    let client = every_command().await;
    let connection = rusqlite::Connection::open(client.server.file()).unwrap();
    let damage = "UPDATE answers SET text = '{}' WHERE episode = 'p5' AND step = 2";
    assert_eq!(connection.execute(damage, []).unwrap(), 1);
    for accept in [CSV, PARQUET] {
        let path = client.path("/decisions");
        let ask = request(
            &client.server.admin,
            "GET",
            &path,
            &[("accept", accept)],
            "",
        );
        let response = client.server.router.clone().oneshot(ask).await.unwrap();
        assert_eq!(response.status(), 200);
        assert!(response.into_body().collect().await.is_err(), "{accept}");
    }
    client.get("/decisions").await.expect_error(503);
}

/// Types that generated clients know.
#[tokio::test]
async fn the_export_is_a_file_and_the_metrics_are_text() {
    let client = every_command().await;
    let server = &client.server;
    let ask = async |path: &str, accept: &str| {
        let request = request(&server.admin, "GET", path, &[("accept", accept)], "");
        server.send(request).await.is(200)
    };
    let path = client.path(":export");
    let file = ask(&path, "application/octet-stream").await;
    assert_eq!(file.header("content-type"), "application/octet-stream");
    assert_eq!(file.text, client.export_file().await);
    let of_prometheus =
        "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
    for (accept, kind) in [
        ("text/plain", "text/plain; charset=utf-8"),
        (
            of_prometheus,
            "application/openmetrics-text; version=1.0.0; charset=utf-8",
        ),
        (
            "*/*",
            "application/openmetrics-text; version=1.0.0; charset=utf-8",
        ),
    ] {
        assert_eq!(ask("/metrics", accept).await.header("content-type"), kind);
    }
}

/// docs/tables.md lists every column.
#[test]
fn the_documentation_lists_the_columns() {
    let docs = include_str!("../../../../../docs/tables.md");
    fn listed<R>(columns: &[Column<R>]) -> String {
        let rows = columns.iter().map(|column| {
            format!(
                "| `{}` | {} | {} |\n",
                column.name,
                column.kind.name(),
                column.about
            )
        });
        format!(
            "| column | type | meaning |\n|---|---|---|\n{}",
            rows.collect::<String>()
        )
    }
    for table in [
        listed(tables::EPISODES),
        listed(tables::DECISIONS),
        listed(tables::ESTIMATES),
    ] {
        assert!(
            docs.contains(&table),
            "docs/tables.md must contain\n{table}"
        );
    }
}

#[tokio::test]
async fn an_empty_study_has_tables_without_rows() {
    let server = TestServer::new();
    let client = server.new_study("clinic", STUDY).await;
    for path in ["/episodes", "/decisions", "/estimates"] {
        assert_eq!(client.csv(path).await, Vec::<Row>::new());
        let (_, bytes) = client.table(&server.admin, path, PARQUET).await;
        assert_eq!(parquet_rows(bytes), Vec::<Row>::new());
    }
    assert_eq!(
        client.get("/decisions").await.is(200).json(),
        json!({"decisions": [], "next": null})
    );
}
