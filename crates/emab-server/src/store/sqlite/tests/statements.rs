//! Plans and preparation of the statements.

use rusqlite::StatementStatus;

use super::*;
use crate::store::{StoredDecision, Which, sql};

#[test]
fn every_statement_uses_an_index() {
    let (_folder, _file, owner, _) = new_store();
    let connection = connect(&owner.file, Role::Read).unwrap();
    // All but plain inserts, and those of the next test.
    for sql in [
        connection::WRITE_HEAD,
        sql::HEAD,
        sql::KEY,
        sql::HEADS,
        sql::UNCOVERED,
        sql::SPEC,
        sql::RESTORE,
        sql::DISCARD,
        sql::CHECKPOINT,
        sql::SESSION,
        sql::REMOVE_SESSION,
        sql::EPISODES_AFTER,
        connection::OPEN_EPISODES_AFTER,
        connection::AWAITED_EPISODES_AFTER,
        sql::DECISION,
        <SqliteConnection as sql::Sql>::CURRENT_DECISION,
        sql::DECISIONS,
        sql::EVENTS,
        sql::LEARNED,
        sql::GAIN_SUMS,
    ] {
        let plan = format!("EXPLAIN QUERY PLAN {sql}");
        let mut statement = connection.prepare(&plan).unwrap();
        let ones = rusqlite::params_from_iter(vec![1; statement.parameter_count()]);
        let steps = statement.query_map(ones, |row| row.get(3)).unwrap();
        let steps: Vec<String> = steps.collect::<Result<_, _>>().unwrap();
        let is_search = |step: &String| {
            ["SEARCH ", "CORRELATED "]
                .iter()
                .any(|it| step.starts_with(it))
        };
        let searches = !steps.is_empty() && steps.iter().all(is_search);
        assert!(searches, "{steps:?}: {sql}");
    }
    let events_at = <SqliteConnection as sql::Sql>::EVENTS_AT;
    let plan = format!("EXPLAIN QUERY PLAN {events_at}");
    let step = connection.query_row(&plan, ("1", "[]"), |row| row.get::<_, String>(3));
    assert!(step.unwrap().contains("(study=? AND seq=?)"));
    let plan = format!("EXPLAIN QUERY PLAN {}", sql::GAIN_SUMS);
    let step = connection.query_row(&plan, [1; 5], |row| row.get(3));
    let step: String = step.unwrap();
    assert!(step.contains("(t,x,a)>(?,?,?)"), "{step}");
}

#[test]
fn no_statement_is_prepared_twice() {
    let (_folder, _file, owner, _) = new_store();
    let mut store = direct(&owner);
    let head = study(&mut store, 1);
    let changes = Changes {
        decisions: vec![StoredDecision {
            episode: "a".into(),
            step: 1,
            text: "{}".into(),
        }],
        ..Changes::default()
    };
    store.begin().unwrap();
    store.write(&head, &changes).unwrap();
    store.commit().unwrap();
    for name in ["a", "b", "c"] {
        store.decision(head.key, name, None).unwrap();
        store.episodes(head.key, &[name]).unwrap();
        for which in [Which::Open, Which::Awaited] {
            store.episodes_after(head.key, name, which, 10).unwrap();
        }
    }
    for sql in [
        <SqliteConnection as sql::Sql>::CURRENT_DECISION,
        connection::EPISODES,
        connection::OPEN_EPISODES_AFTER,
        connection::AWAITED_EPISODES_AFTER,
    ] {
        let statement = store.connection.prepare_cached(sql).unwrap();
        assert_eq!(statement.get_status(StatementStatus::Run), 3);
        assert_eq!(statement.get_status(StatementStatus::RePrepare), 0, "{sql}");
    }
}
