//! Rules that every [`Store`] must satisfy, checked on SQLite and PostgreSQL.

mod discard;
mod fixtures;
mod paging;
mod transactions;
mod values;

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use emab_server::domain::event::sha256;
use emab_server::store::postgres::Postgres;
use emab_server::store::sqlite::Sqlite;
use emab_server::store::{Backend, Head, Store, StoreError};
use emab_testkit::postgres::Server;

use fixtures::must;

/// The specification of every study.
const SPEC: &str = r#"{"horizon":3,"odd":"\u0000 '\" \\ é"}"#;

/// One store: opens connections to it and creates studies with names that no other run uses.
struct Stores<'a> {
    open: &'a dyn Fn() -> Result<Box<dyn Store>, StoreError>,
    prefix: String,
}

impl Stores<'_> {
    fn open(&self) -> Box<dyn Store> {
        must((self.open)())
    }

    /// A study before its first event.
    fn new_head(&self, name: &str) -> Head {
        let hash = sha256(SPEC.as_bytes());
        Head::new(&format!("{}{name}", self.prefix), &hash, 2)
    }

    /// A connection and a new study, committed.
    #[track_caller]
    fn study(&self, name: &str) -> (Box<dyn Store>, Head) {
        let (mut store, mut head) = (self.open(), self.new_head(name));
        must(store.begin());
        let key = must(store.create(&head, SPEC));
        must(store.commit());
        assert!(key.is_some(), "the name `{}` was free", head.name);
        head.key = key.unwrap_or(0);
        (store, head)
    }
}

#[test]
fn sqlite_satisfies_the_rules_of_a_store() {
    let folder = tempfile::tempdir().unwrap();
    let store = Sqlite::open(&folder.path().join("studies.db")).unwrap();
    check_store(&|| store.writer());
}

#[test]
fn postgres_satisfies_the_rules_of_a_store_in_a_database_with_a_collation() {
    let server = Server::shared().unwrap();
    // The collation orders `a` < `B` < `é` < `z`; the columns must not use it.
    let icu = "CREATE DATABASE conformance TEMPLATE template0 ENCODING 'UTF8' LOCALE_PROVIDER icu ICU_LOCALE 'en'";
    let created = server.execute(icu);
    created
        .or_else(|_| server.execute("CREATE DATABASE conformance"))
        .unwrap();
    let store = Postgres::open(&server.url_of("conformance")).unwrap();
    check_store(&|| store.writer());
}

/// Checks the store that `open` connects to. The studies stay there.
fn check_store(open: &dyn Fn() -> Result<Box<dyn Store>, StoreError>) {
    static CALLS: AtomicU64 = AtomicU64::new(0);
    let call = CALLS.fetch_add(1, Ordering::Relaxed);
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.unwrap_or_default().as_nanos();
    let prefix = format!("rule-{now}-{}-{call}-", std::process::id());
    let stores = Stores { open, prefix };
    for rule in [
        values::studies_are_kept,
        values::specifications_restores_and_checkpoints_are_kept,
        discard::a_study_that_is_being_restored_can_be_discarded,
        values::studies_are_listed,
        values::rows_are_kept,
        values::rows_are_replaced,
        values::awaited_outcomes_follow_the_episode,
        values::sessions_are_kept_until_they_end,
        values::the_decision_follows_the_episode,
        values::studies_share_no_rows,
        values::names_of_any_characters_are_kept,
        values::numbers_are_exact,
        values::numbers_out_of_range_are_rejected,
        paging::reads_respect_limit_and_start,
        transactions::duplicates_are_rejected,
        transactions::corrections_replace_and_remove,
        transactions::a_rollback_removes_every_row,
        transactions::uncommitted_rows_are_invisible,
        transactions::a_snapshot_does_not_change,
        transactions::no_update_is_lost,
        paging::many_rows_are_read_in_pages,
    ] {
        rule(&stores);
    }
}
