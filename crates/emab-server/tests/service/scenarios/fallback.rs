//! The table of the policy, and steps that were decided from it while the service could not be reached.

use emab_server::app::audit::{Options, audit_export_with, audit_study};
use emab_server::decision_log::of_export;
use emab_server::store::sqlite::Sqlite;
use serde_json::{Value, json};

use crate::support::study::{StudyClient, clinic};
use crate::support::{Answer, TestServer, request, study_with};

/// The rows of a table, each as `step state action`.
fn rows(table: &Answer) -> Vec<String> {
    let rows = table.at("/choices");
    let rows = rows.as_array().unwrap().iter();
    let word = |value: &Value| value.as_str().map_or(value.to_string(), str::to_owned);
    rows.map(|row| {
        ["step", "state", "action"]
            .map(|field| word(&row[field]))
            .join(" ")
    })
    .collect()
}

/// A study in which `scan` is best at first, and its table.
async fn learned() -> (StudyClient, Answer) {
    let client = clinic().await;
    client.episode("a", "scan positive 0", &[0.0, 1.0]).await;
    client.episode("b", "blood negative 1", &[0.0, 0.1]).await;
    let table = client.get("/policy").await.is(200);
    (client, table)
}

#[tokio::test]
async fn the_table_has_what_would_be_recommended() {
    let (client, table) = learned().await;
    let seq = client.seq().await;
    table
        .clone()
        .has(json!({"study": "clinic", "version": 1, "as_of": seq}));
    let found = rows(&table);
    assert_eq!(found.len(), 5, "{found:?}");
    // The decision of an episode that is opened now.
    let decision = client.open("p").await;
    let first = format!("1 unknown {}", decision.at("/action").as_str().unwrap());
    assert_eq!(found[0], first);
    assert_eq!(
        table.at("/choices/0/next"),
        json!({"negative": "clear", "positive": "suspect"})
    );
    assert!(found.contains(&"3 clear stop".into()));
    // Its changes would show a blinded token what was learned.
    for (token, status) in [
        (&client.server.operator, 200),
        (&client.server.viewer, 200),
        (&client.server.blinded, 403),
    ] {
        let path = client.path("/policy");
        let answer = client.server.call_as(token, "GET", &path, None).await;
        assert_eq!(answer.status.as_u16(), status);
    }
    // As a page.
    let accept = [("accept", "text/html")];
    let asked = request(
        &client.server.admin,
        "GET",
        &client.path("/policy"),
        &accept,
        "",
    );
    let page = client.server.send(asked).await.is(200);
    assert!(
        page.text.contains("<th scope=\"col\">Action</th>"),
        "{}",
        page.text
    );
    assert!(page.text.contains("positive: suspect"));
}

#[tokio::test]
async fn a_protocol_is_part_of_the_table() {
    let protocol = json!({"first": 1, "sequence": ["scan", "blood"]});
    let spec = study_with(json!({ "protocol": protocol }));
    let client = TestServer::new().new_study("clinic", &spec).await;
    let found = rows(&client.get("/policy").await.is(200));
    let expected = [
        "1 unknown scan",
        "2 clear blood",
        "2 suspect blood",
        "3 clear stop",
        "3 suspect stop",
    ];
    assert_eq!(found, expected);
}

/// Reports a step as decided from a table.
async fn report(client: &StudyClient, table: &Answer, action: &str) -> Answer {
    let policy = json!({"as_of": table.at("/as_of"), "hash": table.at("/hash")});
    let body = json!({"step": 1, "action": action, "feedback": "positive", "decided_by": "fallback", "policy": policy});
    client.post("/episodes/p:tell", &body.to_string()).await
}

/// The places that an audit of the store, and one of the export, find.
async fn audited(client: &StudyClient) -> [Vec<String>; 2] {
    let mut store = Sqlite::inspect(&client.server.file()).unwrap();
    store.begin_snapshot().unwrap();
    let head = store.head(&client.study).unwrap().unwrap();
    let of_store = audit_study(&mut *store, head).unwrap();
    let export = client.export_file().await;
    let text = export.clone();
    let again = move || -> std::io::Result<Box<dyn std::io::BufRead>> {
        Ok(Box::new(std::io::Cursor::new(text.clone())))
    };
    let options = Options {
        reopen_export: Some(&again),
        ..Options::default()
    };
    let of_export = audit_export_with(export.as_bytes(), options);
    let once = audit_export_with(export.as_bytes(), Options::default());
    assert_eq!(once.fallbacks_not_recomputed, 1);
    [of_store, of_export].map(|report| {
        let found = report.findings.iter();
        found
            .map(|it| format!("{}: {}", it.place, it.what))
            .collect()
    })
}

#[tokio::test]
async fn a_step_from_the_table_is_no_override_and_is_recomputed() {
    let (client, table) = learned().await;
    let action = table.at("/choices/0/action");
    // Meanwhile another episode is learned.
    client.episode("c", "blood positive 0", &[0.0, 1.0]).await;
    client.episode("d", "blood positive 0", &[0.0, 1.0]).await;
    client.open("p").await.is(201);
    report(&client, &table, action.as_str().unwrap())
        .await
        .is(200);
    // A repeated report changes nothing, and who decided is a part of it.
    let again = report(&client, &table, action.as_str().unwrap()).await;
    again.is(200);
    let plain = json!({"step": 1, "action": action, "feedback": "positive"});
    let plain = client.post("/episodes/p:tell", &plain.to_string()).await;
    plain.expect_error(409);
    let shown = client.get("/episodes/p").await;
    assert_eq!(shown.at("/steps/0/override"), false);
    assert_eq!(shown.at("/steps/0/decided_by"), "fallback");
    assert_eq!(audited(&client).await, [vec![], vec![] as Vec<String>]);
    client.assert_consistent().await;
}

#[tokio::test]
async fn a_false_report_is_found_by_the_audit() {
    let (client, table) = learned().await;
    let action = table.at("/choices/0/action");
    let other = if action == "scan" { "blood" } else { "scan" };
    client.open("p").await.is(201);
    report(&client, &table, other).await.is(200);
    // It is no override, whatever was recommended meanwhile.
    let log = of_export(client.export_file().await.as_bytes(), |_| {}).unwrap();
    let p = log.episodes.iter().find(|it| it.id == "p").unwrap();
    assert_eq!(p.first_override(), None);
    assert_ne!(p.decisions[0].recommended, p.action(1));
    for found in audited(&client).await {
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("step 1 of episode p: "), "{found:?}");
        assert!(found[0].contains("which has"), "{found:?}");
    }
    // Another table.
    let (client, mut table) = learned().await;
    table.text = table
        .text
        .replace(table.at("/hash").as_str().unwrap(), &"0".repeat(64));
    client.open("p").await.is(201);
    report(&client, &table, action.as_str().unwrap())
        .await
        .is(200);
    for found in audited(&client).await {
        assert!(
            found.len() == 1 && found[0].contains("the log leads to"),
            "{found:?}"
        );
    }
}

#[tokio::test]
async fn invalid_reports_are_rejected() {
    let (client, _) = learned().await;
    let script = r#"
        open p
        POST /episodes/p:tell {"step": 1, "action": "scan", "feedback": "positive", "decided_by": "fallback"} -> 422 /policy
        POST /episodes/p:tell {"step": 1, "action": "scan", "feedback": "positive", "policy": {"as_of": 1, "hash": "0"}} -> 422 /policy
        POST /episodes/p:tell {"step": 1, "action": "scan", "feedback": "positive", "decided_by": "me"} -> 400
        POST /episodes/p:tell {"step": 1, "action": "scan", "feedback": "positive", "decided_by": "fallback", "policy": {"as_of": 1, "hash": "0"}} -> 422 /policy/hash
        POST /episodes/p:tell {"step": 1, "action": "scan", "feedback": "positive", "decided_by": "fallback", "policy": {"as_of": 99, "hash": "0"}} -> 422 /policy/as_of
        view -> {"seq": 10}
    "#;
    client.run(script).await;
}
