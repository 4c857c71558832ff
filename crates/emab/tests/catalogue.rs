//! The catalogue: its documented table, and user-defined learners outside of it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use emab::learners::{CATALOGUE, LearnerConfig};

const BEGIN: &str = "<!-- table of learners, written by tools/regenerate -->\n";
const END: &str = "<!-- end of table -->";

#[test]
fn the_documented_learners_are_those_of_the_catalogue() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/learners.md");
    let page = fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once(BEGIN).unwrap();
    let (table, after) = rest.split_once(END).unwrap();
    let mut now =
        String::from("\n| learner | reads | choices depend on | method |\n|---|---|---|---|\n");
    for entry in CATALOGUE {
        let (access, basis) = (entry.access.description(), entry.choice_basis.name());
        let (name, about) = (entry.name, entry.about);
        now += &format!("| `{name}` | {access} | {basis} | {about} |\n");
    }
    now += "\n";
    if std::env::var_os("EMAB_REGENERATE").is_some() {
        fs::write(&path, format!("{before}{BEGIN}{now}{END}{after}")).unwrap();
        return;
    }
    assert_eq!(table, now, "docs/learners.md: run `tools/regenerate`");
}

#[test]
fn user_defined_learners_work_in_their_thread_context() {
    let entered = Arc::new(AtomicBool::new(false));
    let flag = entered.clone();
    let config = LearnerConfig::user_defined("cautious", |_spec| unreachable!());
    let config = config.with_thread_context(move |work| {
        flag.store(true, Ordering::Relaxed);
        work();
    });
    let mut worked = false;
    config.in_thread_context(&mut || worked = true);
    assert!(worked && entered.load(Ordering::Relaxed));
}
